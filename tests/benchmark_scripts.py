"""Scripts of benchmarks/ as modules."""

import importlib.util
import sys
from types import ModuleType

import pytest
from places import PROJECT


def script(name: str) -> ModuleType:
    """Load benchmarks/NAME.py; skip the tests of the module that asks if the script is not beside them."""
    path = PROJECT / "benchmarks" / f"{name}.py"
    if not path.exists():
        pytest.skip("benchmarks are beside the sources alone", allow_module_level=True)
    specification = importlib.util.spec_from_file_location(f"benchmarks_{name}", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module
