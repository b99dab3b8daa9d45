"""``python -m corefsample`` is the program `corefsample`."""

import runpy

if __name__ == "__main__":  # by its name: the engine imports nothing of the layer on top
    runpy.run_module("events.commands", run_name="__main__", alter_sys=True)
