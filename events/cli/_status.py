"""Exit status of the program."""

from __future__ import annotations

__all__ = ["BAD_INPUT", "FAILURE", "INTERRUPTED", "USAGE"]

USAGE, BAD_INPUT, FAILURE, INTERRUPTED = 2, 3, 1, 130
