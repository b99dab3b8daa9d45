"""Libraries that not every user needs."""

from __future__ import annotations

import importlib
from typing import Any

from corefsample.errors import ParameterError


def require_extra(module: str, package: str, extra: str) -> Any:
    """Import a module of an optional library, or raise with the extra that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        hint = f"pip install 'corefsample[{extra}]'"
        raise ParameterError(f"{package} must be installed, got no module {module}", hint=hint) from None
