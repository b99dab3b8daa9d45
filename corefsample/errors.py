"""The one family of exceptions that corefsample raises for what a user can mend."""

from __future__ import annotations

__all__ = ["CorefsampleError", "InputError", "OutputError", "ParameterError"]


class CorefsampleError(Exception):
    """Base of every error that corefsample raises on purpose; its text is one line."""


class ParameterError(CorefsampleError, ValueError):
    """A parameter breaks its rule: the text names the parameter, the rule and the value found."""


class InputError(CorefsampleError, ValueError):
    """A file breaks its format: the text names the place, the field, the rule and the value found."""


class OutputError(CorefsampleError, OSError):
    """Results cannot be written: the text names the place and the reason."""
