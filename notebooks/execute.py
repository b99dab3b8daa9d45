"""Execute the notebooks of this folder from top to bottom: python notebooks/execute.py [--only 03] [--keep FOLDER].

An error in a cell fails, and so does a warning that points at code of ours or at the notebook's own. Nothing is written
beside the notebooks; --keep writes what a reader would see: .ipynb files, and the pictures in them as .png.

The site's gallery is docs/gallery, .ipynb files with outputs: --gallery writes them. They are executed where no corpora
of others are in reach, so that no text of one enters the project. --check compares a gallery with what was just
executed: the cells, and the text of the outputs of notebooks that use no such corpus.

Needs the extra `notebooks`: python -m pip install -e ".[notebooks]".
"""

from __future__ import annotations

import argparse
import base64
import os
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
AT_ONCE = 2  # notebooks
OURS = r"(corefsample|events|__main__)(\.|$)"
# Of a command that a notebook runs, a warning is a line of its output: ".../corefsample/_jit.py:12: UserWarning: ...".
WARNING_LINE = re.compile(r"^\S*\b(corefsample|events)\S*\.py:\d+: \w*Warning: .*", re.M)
CHANGING = re.compile(r"\b\d[\d.,]* (?:s|ms|seconds?|minutes?)\b|\S*/tmp/\S*|0x[0-9a-f]+")
# A slow machine prints progress every 30 seconds.
PROGRESS = re.compile(r"^corefsample: (?:[a-z ]+: [\d,]+ \w+, .*\b(?:left|a second)\b.*|finalising: .*)\n", re.M)
LINK_TO_PAGE = re.compile(r"\]\(\.\./docs/([^)]+)\)")
LINK_TO_NOTEBOOK = re.compile(r"\]\((\d\d_\w+)\.py\)")
LINK_TO_FILE = re.compile(r"\]\(([a-z_]+\.(?:conllu|py))\)")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
STRICT = f"import warnings\nwarnings.filterwarnings('error', module=r'{OURS}')"


def notebooks() -> list[Path]:
    """The notebooks, in order."""
    return sorted(FOLDER.glob("[0-9][0-9]_*.py"))


def execute(path: Path, *, timeout: int) -> Any:
    """Run one notebook in its own folder; return it with its outputs, or raise RuntimeError with what went wrong."""
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


def copied(folder: Path) -> Path:
    """Copy the notebooks, and what they import, to where ../../shared is not in reach; return their folder."""
    for name in ("notebooks", "benchmarks"):
        ignored = shutil.ignore_patterns("__pycache__", "*-demo")
        shutil.copytree(FOLDER.parent / name, folder / "project" / name, ignore=ignored)
    return folder / "project" / "notebooks"


def shown(notebook: Any) -> list[str]:
    """Text of each cell's output, without times, progress and temporary folders, which differ from run to run."""
    texts = [
        # Two prints are one output or two, as it happens.
        "".join(
            output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", ())
        )
        for cell in notebook.cells
    ]
    return [CHANGING.sub("...", PROGRESS.sub("", text)) for text in texts]


def differences(notebook: Any, path: Path, gallery: Path) -> list[str]:
    """What a gallery's copy of a notebook does not show as it is now."""
    import nbformat

    kept_path = gallery / f"{path.stem}.ipynb"
    if not kept_path.exists():
        return [f"{kept_path.name} is missing"]
    kept = nbformat.read(kept_path, as_version=4)
    if [(cell.cell_type, cell.source) for cell in kept.cells] != [
        (cell.cell_type, gallery_source(cell)) for cell in notebook.cells
    ]:
        return [f"{kept_path.name} has other cells"]
    if "shared" in path.read_text(encoding="utf-8"):
        return []
    pairs = zip(shown(kept), shown(notebook), strict=False)
    changed = [f"{kept_path.name} shows {old[:80]!r}, now {new[:80]!r}" for old, new in pairs if old != new]
    if len(shown(kept)) != len(shown(notebook)):
        changed.append(f"{kept_path.name} has {len(shown(kept))} outputs, now {len(shown(notebook))}")
    return changed


def gallery_source(cell: Any) -> str:
    """Source of a cell, with links to pages and notebooks as they are seen from the gallery."""
    if cell.cell_type != "markdown":
        return str(cell.source)
    text = LINK_TO_PAGE.sub(r"](../\1)", cell.source)
    text = LINK_TO_NOTEBOOK.sub(r"](\1.ipynb)", text)
    return LINK_TO_FILE.sub(r"](../../notebooks/\1)", text)


def write_gallery(notebook: Any, name: str, gallery: Path) -> None:
    """Write a notebook with its outputs as the site shows it."""
    import nbformat

    gallery.mkdir(parents=True, exist_ok=True)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"{name[:2]}-{number}"  # those of jupytext are random
        cell.source = gallery_source(cell)
        cell.metadata.pop("execution", None)
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(notebook, gallery / f"{name}.ipynb")


def is_done(path: Path, folder: Path, options: argparse.Namespace) -> tuple[bool, float]:
    """Execute a notebook of a folder, check and keep it as the options say, and print it; whether all was well."""
    started, error = time.perf_counter(), None
    try:
        notebook = execute(folder / path.name, timeout=options.timeout)
        if options.check is not None and (changed := differences(notebook, path, options.check)):
            raise RuntimeError("\n".join([*changed, f"python {Path(__file__).name} --gallery {options.check}"]))
        if options.keep is not None:
            keep(notebook, path.stem, options.keep)
        if options.gallery is not None:
            write_gallery(notebook, path.stem, options.gallery)
    except RuntimeError as raised:
        error = raised
        print(error, file=sys.stderr)
    seconds = time.perf_counter() - started
    print(f"{path.stem:<28}{seconds:6.1f} s  {'done' if error is None else 'FAILED'}", flush=True)
    return error is None, seconds


def main() -> int:
    """Execute the notebooks; return 1 if one fails."""
    parser = argparse.ArgumentParser(description="Execute the notebooks; an error or a warning of ours fails.")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="part of a notebook's name: 03")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write .ipynb files and their pictures there")
    parser.add_argument("--gallery", type=Path, metavar="FOLDER", help="write .ipynb files there, without corpora")
    parser.add_argument("--check", type=Path, metavar="FOLDER", help="fail if this gallery is out of date")
    parser.add_argument("--timeout", type=int, default=300, help="seconds a cell may take (300)")
    options = parser.parse_args()
    chosen = [path for path in notebooks() if not options.only or any(part in path.stem for part in options.only)]
    if not chosen:
        parser.error(f"--only must be part of a notebook's name, got {', '.join(options.only)}")
    # An interactive debugger's check of frozen modules is of no use here, and loud.
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    with tempfile.TemporaryDirectory() as copies, ThreadPoolExecutor(AT_ONCE) as pool:
        folder = FOLDER if options.gallery is None else copied(Path(copies))
        results = list(pool.map(partial(is_done, folder=folder, options=options), chosen))
    n_failed = sum(not done for done, _ in results)
    print(f"{'together':<28}{sum(seconds for _, seconds in results):6.1f} s  {n_failed} of {len(chosen)} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
