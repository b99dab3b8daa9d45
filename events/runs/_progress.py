"""What is told about progress."""

from collections.abc import Callable

Progress = Callable[[int, int, int], None]  # bytes read, bytes in all, documents
