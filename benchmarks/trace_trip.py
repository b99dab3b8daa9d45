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
- A module is a station if work is done on the document there. Making a value, or asking it something, is no station.
  A value is an instance that cannot change: of a frozen dataclass, a named tuple, an enumeration, or a frozen structure
  of msgspec. So the constructors, methods and properties of such a class are passed over, with the functions of its own
  module that they call; what they call in other modules counts as called by whoever asked the value.
- A station is entered when a function of it that carries the document is called from another one, with other libraries
  between them or not. It is numbered the first time.
- A step back is a call into a station with a smaller number than the one that calls: the trip had left it, and comes
  back by a call instead of a return value. Each pair of stations counts once, however often it calls.
- A generator that is resumed returns a value, which is no step. Neither are lambdas, comprehensions, and what a
  dataclass generates.
- Threads count as well: each has its own stack, all have the same numbers. A run has one process.
- Left out are modules that all use and that carry nothing of the document: `LEFT_OUT`. With `--all` they are counted.
  So the trip begins in the module of its command. With `--values` calls of values are counted like all others.
- Compiled kernels are invisible to Python, and belong to the module beside them that calls them. With `--kernels` the
  trip is made without the compiler, and modules of kernels are counted too.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import enum
import importlib
import importlib.util
import inspect
import io
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from corefsample import ScoredDocument

OURS = ("corefsample.", "events.")
# What all use and what carries nothing of the document; a name stands for its submodules too.
LEFT_OUT = (
    *(f"corefsample.{name}" for name in ("errors", "_checks", "_arrays", "_lazy", "_jit")),
    *(f"corefsample.{name}" for name in ("_random", "_random_kernels", "_machine")),
    "corefsample.files",  # paths, bytes, locks, digests
    "events._options",  # of the command line, as the next ones are
    *(f"events.commands.{name}" for name in ("_program", "_parser", "_screen")),
    "events.runs._outputs",  # what is said about a run
)
PIPELINE = Path(__file__).resolve().parents[2] / "shared" / "models" / "en_gum_ud"
ARTICLE = "doc_id,date,text\none,1999-05-03,American forces attacked a bridge. They had warned the village.\n"
_TRANSPARENT = {"<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<module>", "__getattr__"}
_RESUMABLE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Trip:
    """Modules in the order in which they are entered, and the calls back into earlier ones."""

    def __init__(
        self, left_out: tuple[str, ...], without: frozenset[str] = frozenset(), *, values: bool = False
    ) -> None:
        self.left_out = left_out
        self.values = values  # whether they are stations
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
        """Enter the stations on the stack, from the outermost to the last one."""
        stack = [frame for frame in _stack(last) if self._module(frame) is not None]
        calling: str | None = None
        of_value: str | None = None  # the module of the value that is being asked
        for frame in reversed(stack):
            called = str(self._module(frame))
            if not self.values and (called == of_value or _is_of_value(frame)):
                of_value = called
                continue
            of_value = None
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


def _is_of_value(frame: FrameType) -> bool:
    """Whether a frame is a method of a class whose instances cannot change."""
    names, code = frame.f_code.co_qualname.split("."), frame.f_code
    if len(names) < 2 or "<locals>" in names:
        return False
    first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    if first is None or code.co_varnames[0] not in ("self", "cls"):  # a static method
        module = sys.modules[frame.f_globals["__name__"]]
        first = reduce(lambda found, name: getattr(found, name, None), names[:-1], module)
    kind = first if isinstance(first, type) else type(first)
    if dataclasses.is_dataclass(kind):
        return bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]
    if issubclass(kind, msgspec.Struct):
        return bool(kind.__struct_config__.frozen)
    return issubclass(kind, (tuple, enum.Enum))


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


def traced(trips: tuple[Made, Made], left_out: tuple[str, ...], *, values: bool = False) -> Trip:
    """Trace a trip without a document, and with one."""
    without, with_document = trips
    with_document("untraced")
    empty = Trip(left_out)
    with contextlib.suppress(RuntimeError):
        _traced(without, "empty", empty)
    return _traced(with_document, "traced", Trip(left_out, frozenset(empty.functions), values=values))


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
    parser.add_argument("--values", action="store_true", help="Count calls of values, too.")
    parser.add_argument("--kernels", action="store_true", help="Count the modules of kernels, too.")
    parser.add_argument("--leave-out", action="append", default=[], metavar="MODULE", help="Leave out others, too.")
    arguments = parser.parse_args()
    if arguments.kernels:  # before anything imports numba
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    if arguments.trip == "score" and not PIPELINE.exists():
        parser.error(f"the trip of an article needs {PIPELINE}")
    left_out = (*arguments.leave_out, *(() if arguments.all else LEFT_OUT))
    with tempfile.TemporaryDirectory() as name:
        found = traced(TRIPS[arguments.trip](Path(name)), left_out, values=arguments.values)
    for number, what in enumerate(found.modules.values(), start=1):
        print(f"{number:3}  {what}")
    for (calling, _), what in found.back.items():
        print(f"back {calling} -> {what}")
    print(f"{arguments.trip}: {len(found.modules)} modules, {len(found.back)} steps back")
    limits = ((found.modules, arguments.max), (found.back, arguments.max_back))
    return int(any(limit is not None and len(seen) > limit for seen, limit in limits))


if __name__ == "__main__":
    sys.exit(main())
