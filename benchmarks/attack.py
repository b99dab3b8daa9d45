"""Damage every kind of file of a run, and see whether the next call notices.

    python benchmarks/attack.py [--damages 2000] [--seed 0]

Runs of a small corpus with repeated and invalid documents are kept in four states: `events` finished, finished with one
more input to come, and interrupted; `score` interrupted. For each damage one file of a copy is changed: at its
beginning, at its end or anywhere, a bit is flipped, a byte or digit replaced, removed or added, bytes are doubled or
set to zero, or the rest is cut off. Then the same command runs again. The exit status is 1 if a table is wrong.

A result is "noticed" if the command ends with one line; "recomputed" if it makes the tables of a clean run again;
"harmless" if it leaves them, or does not need what was damaged; else WRONG.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import logging
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from corefsample import CorefsampleError, ScoredDocument, write_documents
from events import simulate_documents
from events.commands import EventsOptions, ScoreOptions, run_events, run_score

RESULTS = ("noticed", "recomputed", "harmless", "WRONG")
POSITIONS: dict[str, Callable[[random.Random, int], int]] = {
    "beginning": lambda rng, n: rng.randrange(min(n, 48)),
    "end": lambda rng, n: n - 1 - rng.randrange(min(n, 48)),
    "anywhere": lambda rng, n: rng.randrange(n),
}


def _replaced(content: bytes, at: int, new: bytes, n: int = 1) -> bytes:
    return content[:at] + new + content[at + n :]


def _other_digit(rng: random.Random, content: bytes, at: int) -> bytes:
    """Replace the next digit, or the byte where none follows."""
    found = re.compile(rb"[0-9]").search(content, at)
    return _replaced(content, at if found is None else found.start(), b"%d" % rng.randrange(10))


DAMAGES: dict[str, Callable[[random.Random, bytes, int], bytes]] = {
    "bit": lambda rng, content, at: _replaced(content, at, bytes([content[at] ^ 1 << rng.randrange(8)])),
    "byte": lambda rng, content, at: _replaced(content, at, rng.randbytes(1)),
    "digit": _other_digit,
    "removed": lambda _, content, at: _replaced(content, at, b""),
    "added": lambda rng, content, at: _replaced(content, at, rng.randbytes(1), 0),
    "doubled": lambda _, content, at: _replaced(content, at, content[at : at + 9], 0),
    "zeros": lambda _, content, at: _replaced(content, at, bytes(16), 16),
    "cut": lambda _, content, at: content[:at],
}


Call = Callable[[Path], tuple[Any, int]]  # a command in a folder: the numbers of its summary, and of computed parts


@dataclasses.dataclass(frozen=True)
class State:
    """A run to be damaged, the next call, what that has to find, and the number of parts that it computes."""

    name: str
    folder: Path
    call: Call
    expected: Any
    n_computed: int

    def kinds(self) -> dict[str, list[Path]]:
        """The files on which the next call may depend, by kind: a name without the numbers of parts."""
        found = collections.defaultdict(list)
        for path in sorted(self.folder.rglob("*")):
            name = str(path.relative_to(self.folder))
            if path.is_file() and path.stat().st_size and (self.name != "growing" or "parts" in name):
                found[re.sub(r"[0-9a-f]{64}-[0-9a-f]{16}", "KEY", name)].append(path)
        return found


def _tables(folder: Path) -> dict[str, bytes]:
    paths = [*folder.glob("run/*.*"), *folder.glob("scored.jsonl")]
    return {path.name: path.read_bytes() for path in paths if path.name != "run.json"}


def _stopping(folder: Path, stops: bool, *_: int) -> None:
    if stops and len([*folder.glob("run/parts/*/record.json"), *folder.glob("*.parts/*/record.json")]) > 1:
        raise KeyboardInterrupt


def _events(*inputs: str, stops: bool = False) -> Call:
    def call(folder: Path) -> tuple[Any, int]:
        options = EventsOptions(out=f"{folder}/run", n_samples=40, on_error="quarantine", pictures=False, threads=1)
        run = run_events(inputs, options, on_progress=partial(_stopping, folder, stops)).result
        numbers = {name: run[name] for name in run.keys() - {"out", "seconds", "n_computed", "counts", "totals"}}
        return numbers, run["n_computed"]

    return call


def _score(path: str, *, stops: bool = False) -> Call:
    def call(folder: Path) -> tuple[Any, int]:
        options = ScoreOptions(out=f"{folder}/scored.jsonl", part_size=16)
        run = run_score(path, options, on_progress=partial(_stopping, folder, stops)).values
        return run["n_documents"], -run["n_resumed"]

    return call


def _states(work: Path) -> list[State]:
    """Make the runs."""
    made = [each.document for each in simulate_documents(60, seed=5, event_share=0.6, median_mentions=12)]

    def file(name: str, documents: list[ScoredDocument], more: str = "") -> str:
        path = work / f"{name}.jsonl"
        write_documents(documents, path)
        path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")
        return str(path)

    def state(name: str, begin: Call, call: Call) -> State:
        folder, clean, undamaged = (work / part / name for part in ("begun", "clean", "undamaged"))
        folder.mkdir(parents=True)
        with contextlib.suppress(KeyboardInterrupt):
            begin(folder)
        shutil.copytree(folder, undamaged)
        clean.mkdir(parents=True)
        numbers, _ = call(clean)
        _, n_computed = call(undamaged)
        if _tables(clean) != _tables(undamaged):
            raise SystemExit(f"{name}: the tables differ without any damage")
        return State(name, folder, call, (_tables(clean), numbers), n_computed)

    a, b = file("a", made[:18], '{"doc_id": "bad"}\n'), file("b", [*made[33:36], *made[18:30]], "[]\n")
    c, d = file("c", [*made[10:14], *made[30:40]]), file("d", [*made[2:4], *made[40:48]])
    return [
        state("finished", _events(a, b, c), _events(a, b, c)),
        state("growing", _events(a, b, c), _events(a, b, c, d)),
        state("interrupted", _events(a, b, c, stops=True), _events(a, b, c)),
        state("score", _score(scores := file("scores", made), stops=True), _score(scores)),
    ]


def _after(state: State, path: Path, content: bytes, copy: Path) -> str:
    """What the next call makes of a run in which one file has another content."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(state.folder, copy)
    (copy / path.relative_to(state.folder)).write_bytes(content)
    try:
        numbers, n_computed = state.call(copy)
    except CorefsampleError as error:
        return "WRONG" if "\n" in str(error) else "noticed"
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return "WRONG"
    if (_tables(copy), numbers) != state.expected:
        return "WRONG"
    return "harmless" if n_computed == state.n_computed else "recomputed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--damages", type=int, default=2000, help="at least; the same number for each kind of file")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, totals = random.Random(options.seed), collections.Counter[str]()
    logging.disable()
    with tempfile.TemporaryDirectory() as work:
        states = _states(Path(work).resolve())
        each = -(-options.damages // sum(len(state.kinds()) for state in states))
        print("| run | file | damages | " + " | ".join(RESULTS) + " |\n|---|---|" + "---|" * 5)
        for state in states:
            for kind, paths in state.kinds().items():
                found = collections.Counter[str]()
                for n in range(each):
                    path, position, damage = rng.choice(paths), [*POSITIONS][n % 3], [*DAMAGES][n // 3 % len(DAMAGES)]
                    content = path.read_bytes()
                    content = DAMAGES[damage](rng, content, POSITIONS[position](rng, len(content)))
                    result = _after(state, path, content, Path(work) / "copy")
                    found[result] += 1
                    if result == "WRONG":
                        print(f"WRONG: {state.name}: {path.name}: {damage} at {position}, number {n}", file=sys.stderr)
                totals += found
                print(f"| {state.name} | {kind} | {each} | " + " | ".join(f"{found[name]}" for name in RESULTS) + " |")
    print(f"| all | | {totals.total()} | " + " | ".join(f"{totals[name]}" for name in RESULTS) + " |")
    sys.exit(1 if totals["WRONG"] else 0)


if __name__ == "__main__":
    main()
