"""Print the modules of corefsample and events that one document enters, in order, and the steps back.

    python benchmarks/trace_trip.py events         one scored document, from the command `events` to counts.csv
    python benchmarks/trace_trip.py score          one article, from the command `score` to the file of its scores
    python benchmarks/trace_trip.py calibration    pairs (q, y), from `calibration_error` to its result
    python benchmarks/trace_trip.py events --max 18 --max-back 0     status 1 if there are more

The rule:

- The trip is made three times: once untraced, because modules and caches load; once on a file without a document, which
  is rejected where a document would be read; once with a document. A function carries the document if it is called in
  the third trip and not in the second, or if it is on the stack when such a function is called. What loads options,
  rules, lexicon and pipeline, or finds paths and locks files, carries nothing of it. (Of pairs (q, y), each function
  carries them.)
- A module is entered when a function of it that carries the document is called from another module of ours, with other
  libraries between them or not. It is numbered the first time.
- A step back is a call into a module with a smaller number than the module that calls: the trip had left it, and comes
  back by a call instead of a return value. Each pair of modules counts once, however often it calls.
- A generator that is resumed returns a value, which is no step. Neither are lambdas, comprehensions, and what a
  dataclass generates.
- Threads count as well: each has its own stack, all have the same numbers. A run has one process.
- Left out are modules that all use and that carry nothing of the document: `LEFT_OUT`. With `--all` they are counted.
- Compiled kernels are invisible to Python, and belong to the module beside them that calls them. With `--kernels` the
  trip is made without the compiler, and modules of kernels are counted too.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import inspect
import io
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corefsample import ScoredDocument

OURS = ("corefsample.", "events.")
# What all use and what carries nothing of the document; a name stands for its submodules too.
LEFT_OUT = (
    *(f"corefsample.{name}" for name in ("errors", "_checks", "_arrays", "_log", "_extras", "_jit", "_monte_carlo")),
    *(f"corefsample.{name}" for name in ("_random", "_random_kernels", "_processors", "_processes", "_memory")),
    "corefsample.files",  # paths, bytes, locks, digests
    *(f"events.{name}" for name in ("_options", "_shared_options", "commands._screen")),  # of the command line
    "events.runs._record",  # what is said about a run
)
PIPELINE = Path(__file__).resolve().parents[2] / "shared" / "models" / "en_gum_ud"
ARTICLE = "doc_id,date,text\none,1999-05-03,American forces attacked a bridge. They had warned the village.\n"
_TRANSPARENT = {"<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<module>", "__getattr__"}
_RESUMABLE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Trip:
    """Modules in the order in which they are entered, and the calls back into earlier ones."""

    def __init__(self, left_out: tuple[str, ...], without: frozenset[str] = frozenset()) -> None:
        self.left_out = left_out
        self.without = without  # functions that are called without a document too
        self.functions: set[str] = set()
        self.modules: dict[str, str] = {}  # by module, the function that was entered first
        self.back: dict[tuple[str, str], str] = {}  # by (calling, called), the function of the first such call
        self._places: dict[str, int] = {}
        self._lock = threading.Lock()

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Note a call, as a function for `sys.setprofile`."""
        if event != "call" or self._module(frame) is None:
            return
        with self._lock:
            name = _name(frame)
            self.functions.add(name)
            if name in self.without:
                return
            main = threading.main_thread().ident
            if not self.modules and main is not None and main != threading.get_ident():
                self._enter(sys._current_frames()[main])
            self._enter(frame)

    def _enter(self, last: FrameType) -> None:
        """Enter the modules on the stack, from the outermost to the last one."""
        stack = [frame for frame in _stack(last) if self._module(frame) is not None]
        calling: str | None = None
        for frame in reversed(stack):
            called = str(self._module(frame))
            number = self._places.setdefault(called, len(self._places))
            self.modules.setdefault(called, _name(frame))
            # Below a generator on the stack is what resumes it, not what called it.
            is_call = not frame.f_code.co_flags & _RESUMABLE
            if calling is not None and is_call and number < self._places[calling]:
                self.back.setdefault((calling, called), _name(frame))
            calling = called

    def _module(self, frame: FrameType) -> str | None:
        """The module of ours to which a frame counts, if any."""
        name, code = str(frame.f_globals.get("__name__")), frame.f_code
        if not name.startswith(OURS) or code.co_filename.startswith("<") or code.co_name in _TRANSPARENT:
            return None
        return None if any(name == each or name.startswith(f"{each}.") for each in self.left_out) else name


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _name(frame: FrameType) -> str:
    return f"{frame.f_globals['__name__']}.{frame.f_code.co_qualname}"


def program() -> Callable[[list[str]], object]:
    """The function `main` of the command line."""
    main: Callable[[list[str]], object] = importlib.import_module("events.commands._program").main
    return main


def run(*arguments: str) -> None:
    """Run a command, in silence."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
        try:
            program()(list(arguments))
        except SystemExit as end:
            if end.code:
                raise RuntimeError(f"{' '.join(arguments)}: {errors.getvalue()}") from None


Made = Callable[[str], None]  # a trip whose output has this name


def events_trip(folder: Path) -> tuple[Made, Made]:
    from corefsample import write_documents
    from events import simulate_documents

    def trip(documents: list[ScoredDocument]) -> Made:
        scored = folder / f"{len(documents)}.jsonl.gz"
        write_documents(documents, scored)
        return lambda name: run("events", str(scored), "--out", str(folder / name), "--no-pictures")

    return trip([]), trip([each.document for each in simulate_documents(1, seed=3, event_share=1.0)])


def score_trip(folder: Path) -> tuple[Made, Made]:
    def trip(name: str, text: str) -> Made:
        news = folder / f"{name}.csv"
        news.write_text(text)
        arguments = ["score", str(news), "--pipeline", str(PIPELINE), "--out"]
        return lambda out: run(*arguments, str(folder / f"{out}.parquet"))

    return trip("none", ARTICLE.partition("\n")[0] + "\n"), trip("one", ARTICLE)


def calibration_trip(_folder: Path) -> tuple[Made, Made]:
    import numpy as np

    from corefsample.calibration import calibration_error

    random = np.random.default_rng(0)
    q = random.uniform(size=400)
    y = random.uniform(size=400) < q

    def trip(_name: str) -> None:
        calibration_error(q, y, bin_size=100)

    return lambda _name: None, trip


TRIPS = {"events": events_trip, "score": score_trip, "calibration": calibration_trip}


def traced(trips: tuple[Made, Made], left_out: tuple[str, ...]) -> Trip:
    """Trace a trip without a document, and with one."""
    without, with_document = trips
    with_document("untraced")
    empty = Trip(left_out)
    with contextlib.suppress(RuntimeError):
        _traced(without, "empty", empty)
    return _traced(with_document, "traced", Trip(left_out, frozenset(empty.functions)))


def _traced(trip: Made, name: str, found: Trip) -> Trip:
    threading.setprofile(found)
    sys.setprofile(found)
    try:
        trip(name)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return found


def main() -> int:
    """Print a trip; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trip", choices=TRIPS)
    parser.add_argument("--max", type=int, help="Fail if more modules are entered.")
    parser.add_argument("--max-back", type=int, help="Fail if there are more steps back.")
    parser.add_argument("--all", action="store_true", help="Count the modules that all use, too.")
    parser.add_argument("--kernels", action="store_true", help="Count the modules of kernels, too.")
    parser.add_argument("--leave-out", action="append", default=[], metavar="MODULE", help="Leave out others, too.")
    arguments = parser.parse_args()
    if arguments.kernels:  # before anything imports numba
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    if arguments.trip == "score" and not PIPELINE.exists():
        parser.error(f"the trip of an article needs {PIPELINE}")
    left_out = (*arguments.leave_out, *(() if arguments.all else LEFT_OUT))
    with tempfile.TemporaryDirectory() as name:
        found = traced(TRIPS[arguments.trip](Path(name)), left_out)
    for number, what in enumerate(found.modules.values(), start=1):
        print(f"{number:3}  {what}")
    for (calling, _), what in found.back.items():
        print(f"back {calling} -> {what}")
    print(f"{arguments.trip}: {len(found.modules)} modules, {len(found.back)} steps back")
    limits = ((found.modules, arguments.max), (found.back, arguments.max_back))
    return int(any(limit is not None and len(seen) > limit for seen, limit in limits))


if __name__ == "__main__":
    sys.exit(main())
