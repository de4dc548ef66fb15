"""What conftests and plugins registered, checked."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.errors import SettingsError


def merge_names(kind: str, found: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The mappings that hooks returned, as one. Raises SettingsError for a name given twice or a wrong return value."""
    merged: dict[str, Any] = {}
    for mapping in found:
        if not hasattr(mapping, "items"):
            raise SettingsError(
                f"pytest_novelty_{kind}s returned {type(mapping).__name__}", hint="Return {name: " + kind + "}"
            )
        for name, value in mapping.items():
            if not isinstance(name, str) or not name.strip():
                raise SettingsError(f"pytest_novelty_{kind}s returned the name {name!r}", hint="Names are texts")
            if name in merged and merged[name] is not value:
                raise SettingsError(f"two {kind}s are registered as {name!r}", hint="Rename one of them")
            merged[name] = value
    return merged


def merge_gates(found: Iterable[Any]) -> list[str]:
    """What the hooks returned, as one list. Raises SettingsError unless each returned a list of texts."""
    for gates in found:
        if not isinstance(gates, (list, tuple)) or not all(isinstance(gate, str) for gate in gates):
            raise SettingsError(
                f"pytest_novelty_gates returned {gates!r:.80}", hint="Return a list of gate expressions"
            )
    return [gate for gates in found for gate in gates]


def conftests_read(config: pytest.Config) -> str:
    files = [
        str(path)
        for plugin in config.pluginmanager.get_plugins()
        if (path := getattr(plugin, "__file__", None)) and Path(path).name == "conftest.py"
    ]
    return (
        ", ".join(sorted(files))
        or "none (one must lie in the rootdir, in a folder named on the command line, or in test*/ below)"
    )
