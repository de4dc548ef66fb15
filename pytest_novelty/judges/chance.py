"""A fair coin. Its metrics are known in closed form, so it tests the metrics; a judge no better than it is worth nothing."""

from __future__ import annotations

from typing import Any

from pytest_novelty.model import Request


class Chance:
    """Decides by the request's seed: the same in every run, independent between votes."""

    version = "1"
    protocols = ("pointwise", "pairwise", "similarity", "entailment")
    uses_prompt = False
    ignores = ("effort", "temperature", "params")
    cost_usd_per_call = 0.0

    def __call__(self, request: Request) -> dict[str, Any]:
        heads = bool(_mix(request.seed) & 1)
        if request.protocol == "pairwise":
            return {"winner": "A" if heads else "B"}
        if request.protocol == "similarity":
            spans = [paper.text.partition(". ")[0] for paper in request.papers]
            cited = {"evidence_a": spans[0], "evidence_b": spans[1], "reason": "The coin fell so."}
            return {"is_similar": heads, **(cited if heads else {})}
        return {"supported" if request.protocol == "entailment" else "novel": heads}


def _mix(seed: int) -> int:
    """The finalizer of SplitMix64: neighbouring seeds give unrelated bits."""
    value = (seed + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    return value ^ (value >> 31)
