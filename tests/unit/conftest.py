"""What several unit tests share: the command line without a process, and a running server."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from pytest_novelty.cli import main
from tests.serving import Server, serving
from tests.serving.raw import forget


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """(status, stdout, stderr) of a command of ``pytest-novelty``."""

    def call(*arguments: object) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.fixture(scope="module")
def shared() -> Iterator[Server]:
    """One server a module; a test asks for ``server`` instead."""
    with serving() as server:
        yield server


@pytest.fixture
def server(shared: Server) -> Server:
    """The module's server, told to forget what it was told before."""
    forget(shared)
    return shared
