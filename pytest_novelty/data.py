"""Where the shipped data folders are: inside an installed wheel, or beside the package in a checkout."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from pathlib import Path


@lru_cache(maxsize=8)
def data_folder(kind: str) -> Path:
    """The folder ``suites``, ``prompts`` or ``golden``. Raises FileNotFoundError if the installation lacks it."""
    package = Path(str(files("pytest_novelty")))
    installed = package / "_data" / kind
    if installed.is_dir():
        return installed
    checkout = package.parent / kind
    if checkout.is_dir() and (package.parent / "pyproject.toml").is_file():
        return checkout
    raise FileNotFoundError(f"pytest-novelty is installed without its {kind} folder: reinstall it")
