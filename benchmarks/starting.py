"""Rows of benchmarks/run.py about start-up: imports, help, the first run of a command, and a repeated one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from measure import Row, in_turn, within

PIPELINE = Path(__file__).parents[1] / ".." / "shared" / "models" / "en_gum_ud"
EMPTY = "import click; cli = click.Group(); cli.main(['--help'])"


def start_up(runs: int) -> Iterator[Row]:
    def python(code: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)

    ours = python("from events.commands._program import main; main(['--help'])")
    yield within("corefsample --help", "an empty click program", in_turn(ours, python(EMPTY), runs * 3), 2)
    sides = in_turn(python("import corefsample"), python("import numpy, numba, pyarrow"), runs * 3)
    yield within("import corefsample", "import numpy, numba, pyarrow", sides, 1)


ARTICLES = """doc_id,date,text
one,1999-05-03,"American forces attacked a bridge. The president said that they had warned the village."
two,1999-06-10,"Iraqi soldiers attacked a convoy near the border. They were later attacked by Turkey."
"""


def cold_start(runs: int) -> Iterator[Row]:
    """The first run of a command, which compiles its kernels, against a second one; on two short articles.

    A last row is about a finished run that is repeated.
    """
    if not PIPELINE.exists():
        print(f"left out: the rows of the first run, as {PIPELINE.name} is not there", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "news.csv").write_text(ARTICLES)
        scored = folder / "scored.parquet"
        arguments = {
            "score": (folder / "news.csv", "--pipeline", PIPELINE.resolve(), "--out", scored),
            "events": (scored, "--out", folder / "run"),
        }

        def run(command: str, cache: Path) -> None:
            for parts in (Path(f"{scored}.parts"), folder / "run" / "parts"):
                shutil.rmtree(parts, ignore_errors=True)
            line = [sys.executable, "-m", "events.commands", command, *map(str, arguments[command]), "--overwrite"]
            environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
            subprocess.run(line, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def first(command: str) -> None:
            with tempfile.TemporaryDirectory() as cache:
                run(command, Path(cache))

        for command, figure in (("score", 12 / 2.4), ("events", 6 / 1.9)):
            again = folder / command  # the cache of the second runs
            run(command, again)
            sides = in_turn(
                lambda command=command: first(command),  # type: ignore[misc]
                lambda command=command, cache=again: run(command, cache),  # type: ignore[misc]
                runs,
                warm=False,
            )
            yield within(f"{command}, two articles, no compiled kernels", "second run", sides, round(figure, 1))
        line = [
            sys.executable,
            "-m",
            "events.commands",
            "run",
            *map(str, arguments["score"][:-1]),
            str(folder / "whole"),
        ]

        def whole(*more: str) -> None:
            subprocess.run([*line, *more], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        whole()
        sides = in_turn(whole, lambda: whole("--overwrite"), runs)
        yield within("run, two articles, repeated", "the same with --overwrite", sides, 0.25)
