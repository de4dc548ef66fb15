"""Our quantiles are scipy's, over the range that the intervals use."""

from __future__ import annotations

import math

import pytest
from scipy import special

from pytest_novelty.metrics.distributions import beta_cdf, beta_quantile, normal_cdf, normal_quantile, t_quantile

SIZES = [0.5, 1.0, 1.37, 2.0, 7.0, 36.5, 154.0, 1_000.0, 12_345.6, 100_000.0]
SHARES = [1e-9, 1e-4, 0.004, 0.025, 0.3, 0.5, 0.8, 0.975, 0.9999]


@pytest.mark.parametrize("a", SIZES)
@pytest.mark.parametrize("b", SIZES)
def test_beta(a: float, b: float) -> None:
    for p in SHARES:
        expected = float(special.betaincinv(a, b, p))
        assert beta_quantile(a, b, p) == pytest.approx(expected, rel=1e-8, abs=1e-14)
        for x in (expected, p):
            assert beta_cdf(a, b, x) == pytest.approx(float(special.betainc(a, b, x)), rel=1e-8, abs=1e-13)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_beta_at_the_ends(p: float) -> None:
    assert beta_quantile(3.0, 4.0, p) == p
    assert beta_cdf(3.0, 4.0, p) == p


@pytest.mark.parametrize("degrees", [1, 2, 3, 10, 19, 65, 1_000, 100_000])
def test_t(degrees: int) -> None:
    for p in (0.6, 0.9, 0.975, 0.995, 0.9995):
        assert t_quantile(degrees, p) == pytest.approx(float(special.stdtrit(degrees, p)), rel=1e-8)


def test_normal() -> None:
    for p in (1e-12, 1e-5, 0.025, 0.5, 0.975, 1 - 1e-9):
        assert normal_quantile(p) == pytest.approx(float(special.ndtri(p)), rel=1e-9, abs=1e-12)
        assert normal_cdf(normal_quantile(p)) == pytest.approx(p, rel=1e-9)
    assert normal_quantile(0.0) == -math.inf
    assert normal_quantile(1.0) == math.inf
