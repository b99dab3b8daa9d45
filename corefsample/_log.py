"""Loggers of the library: under the name `corefsample`, and silent unless a program adds a handler."""

from __future__ import annotations

import logging

ROOT = "corefsample"
STEPS = "steps"


def logger(name: str = "") -> logging.Logger:
    """Logger of a part of the library, below the logger `corefsample`, or that itself.

    Levels: DEBUG for single files and kernels; INFO for progress and what takes long; WARNING for what may be wrong.
    """
    root = logging.getLogger(ROOT)
    # Without a handler, the standard library prints warnings to standard error.
    if not root.handlers:
        root.addHandler(logging.NullHandler())
    return root.getChild(name) if name else root


def log_step(message: str, *values: object) -> None:
    """Log one of many steps of long work, to the logger `steps` as INFO; programs show one every so often."""
    logger(STEPS).info(message, *values)
