"""Scripts beside the tests, as modules: of ``tests/calibration``, which is no package."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

CALIBRATION = Path(__file__).parent / "calibration"


def load_calibration(name: str) -> ModuleType:
    """A script of the folder, once, under a name that no package has."""
    known = f"calibration_{name}"
    if str(CALIBRATION) not in sys.path:
        sys.path.append(str(CALIBRATION))  # the scripts import each other
    if known not in sys.modules:
        spec = spec_from_file_location(known, CALIBRATION / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[known] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[known]
