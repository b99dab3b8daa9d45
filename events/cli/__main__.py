"""``python -m events.cli`` is the program `corefsample`."""

from events.cli._program import main

main()
