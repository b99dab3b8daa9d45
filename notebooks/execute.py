"""Execute the notebooks of this folder from top to bottom: python notebooks/execute.py [--only 03] [--keep FOLDER].

An error in a cell fails, and so does a warning that points at code of ours or at the notebook's own. Nothing is written
beside the notebooks; --keep writes what a reader would see: .ipynb files, and the pictures in them as .png.

Needs the extra `notebooks`: python -m pip install -e ".[notebooks]".
"""

from __future__ import annotations

import argparse
import base64
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
OURS = r"(corefsample|events|__main__)(\.|$)"
# Of a command that a notebook runs, a warning is a line of its output: ".../corefsample/exact.py:12: UserWarning: ...".
WARNING_LINE = re.compile(r"^\S*\b(corefsample|events)\S*\.py:\d+: \w*Warning: .*", re.M)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
STRICT = f"import warnings\nwarnings.filterwarnings('error', module=r'{OURS}')"


def notebooks() -> list[Path]:
    """The notebooks, in order."""
    return sorted(FOLDER.glob("[0-9][0-9]_*.py"))


def execute(path: Path, *, timeout: int) -> Any:
    """Run one notebook in its folder; return it with its outputs, or raise RuntimeError with what went wrong."""
    import jupytext
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    notebook = jupytext.read(path)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(STRICT))
    client = NotebookClient(
        notebook, timeout=timeout, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    )
    manager = client.create_kernel_manager()
    with tempfile.TemporaryDirectory() as sockets:
        if os.name == "posix":
            manager.transport = "ipc"  # sockets are files; over TCP anyone on this machine could listen
            # Their names are relative without it, and kernel and client have different working folders.
            manager.connection_file = os.path.join(sockets, "kernel.json")
            manager.ip = os.path.join(sockets, "kernel-ipc")
        try:
            client.execute()
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            raise RuntimeError(COLOUR.sub("", str(error))) from None
        finally:
            del notebook.cells[0]
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            found = WARNING_LINE.search(output.get("text", ""))
            if found:
                raise RuntimeError(f"a warning of ours: {found.group()}")
    return notebook


def keep(notebook: Any, name: str, folder: Path) -> None:
    """Write a notebook with its outputs, and its pictures beside it."""
    import nbformat

    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / f"{name}.ipynb")
    pictures = [
        output["data"]["image/png"]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", {})
    ]
    for number, picture in enumerate(pictures, start=1):
        (folder / f"{name}-{number}.png").write_bytes(base64.b64decode(picture))


def main() -> int:
    """Execute the notebooks; return 1 if one fails."""
    parser = argparse.ArgumentParser(description="Execute the notebooks; an error or a warning of ours fails.")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="part of a notebook's name: 03")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write .ipynb files and their pictures there")
    parser.add_argument("--timeout", type=int, default=300, help="seconds a cell may take (300)")
    options = parser.parse_args()
    chosen = [path for path in notebooks() if not options.only or any(part in path.stem for part in options.only)]
    if not chosen:
        parser.error(f"--only must be part of a notebook's name, got {', '.join(options.only)}")
    # An interactive debugger's check of frozen modules is of no use here, and loud.
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    failed, total = [], 0.0
    for path in chosen:
        started = time.perf_counter()
        try:
            notebook = execute(path, timeout=options.timeout)
        except RuntimeError as error:
            failed.append(path.stem)
            print(error, file=sys.stderr)
        else:
            if options.keep is not None:
                keep(notebook, path.stem, options.keep)
        seconds = time.perf_counter() - started
        total += seconds
        print(f"{path.stem:<28}{seconds:6.1f} s  {'FAILED' if path.stem in failed else 'done'}", flush=True)
    print(f"{'together':<28}{total:6.1f} s  {len(failed)} of {len(chosen)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
