"""Loggers of the library: under the name `corefsample`, and silent unless a program adds a handler."""

from __future__ import annotations

import logging

ROOT = "corefsample"
STEPS = "steps"


def logger(name: str = "") -> logging.Logger:
    """Logger below the logger `corefsample`, by default this logger itself.

    Levels: DEBUG for single files and kernels; INFO for progress and long steps; WARNING for possible mistakes.
    """
    root = logging.getLogger(ROOT)
    # Without a handler, the standard library prints warnings to standard error.
    if not root.handlers:
        root.addHandler(logging.NullHandler())
    return root.getChild(name) if name else root


def log_step(message: str, *values: object) -> None:
    """Log a step of long work to the logger `steps` as INFO; programs show only some of these steps."""
    logger(STEPS).info(message, *values)
