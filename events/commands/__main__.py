"""``python -m events.commands`` is the program `corefsample`."""

from events.commands._program import main

main()
