"""Kernels compiled ahead are all those of the commands, of the same types; processes end with their parent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest
from places import EN_GUM_UD, PROJECT

from corefsample import _jit
from events.jobs import _compiling as compiling
from events.jobs._main_kernels import COMMANDS, GROUPS

pytestmark = pytest.mark.skipif(
    numba.config.DISABLE_JIT,  # type: ignore[attr-defined]
    reason="nothing is compiled",
)

# Prints the kernels that the commands call from Python and that have other signatures after than before.
PROGRAM = """
import sys
from events.jobs._compiling import load_kernels
from events.jobs._main_kernels import COMMANDS
from events.jobs.demo import run_demo
from events.jobs.scoring import ScoreOptions, run_score

def signatures():
    modules = [module for name, module in sys.modules.items() if name.endswith("kernels")]
    found = {value for module in modules for value in vars(module).values() if hasattr(value, "signatures")}
    return {kernel.py_func.__qualname__: len(kernel.signatures) for kernel in found}

load_kernels(*COMMANDS)
before = signatures()
folder = sys.argv[1]
news = run_demo(f"{folder}/demo", n_documents=40).news
for mentions in ("annotated", "parse"):
    run_score(news, f"{folder}/{mentions}.parquet", ScoreOptions(mentions=mentions))
after = signatures()
print([name for name, number in after.items() if number != before.get(name, 0)])
"""


def test_the_commands_need_no_kernel_besides(tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    finished = subprocess.run(arguments, cwd=PROJECT, capture_output=True, text=True, check=True)
    assert finished.stdout.splitlines()[-1] == "[]"


# Prints the numbers of signatures of the kernels of sampled parses, compiled ahead and after use.
SAMPLED_PARSES = """
import sys
import spacy
from corefsample.mention_ranking import _reuse_kernels as reuse, english_model, score_parses
from corefsample.spacy_bridge import _transition_kernels as transitions, parse_samples
from corefsample.spacy_bridge.documents import tokens_of_doc
from events.jobs._compiling import load_kernels

load_kernels("score with sampled parses")
kernels = transitions.perturbed_scores, reuse.fill_known, reuse.fill_changed, reuse.score_again
before = [len(kernel.signatures) for kernel in kernels]
nlp = spacy.load(sys.argv[1])
parses = parse_samples(nlp, nlp.make_doc("They met."), 2)
score_parses(english_model(), [tokens_of_doc(parse) for parse in parses])
print(*before, *(len(kernel.signatures) for kernel in kernels))
"""


@pytest.mark.skipif(not EN_GUM_UD.exists(), reason="en_gum_ud is not there")
def test_sampled_parses_need_no_kernel_besides() -> None:
    arguments = [sys.executable, "-c", SAMPLED_PARSES, str(EN_GUM_UD)]
    finished = subprocess.run(arguments, cwd=PROJECT, capture_output=True, text=True, check=True)
    assert finished.stdout.split() == ["1"] * 8


# Writes what it takes from a pipe to its standard output, like a process that compiles.
TAKER = "import os, sys, time\nwhile taken := os.read(int(sys.argv[1]), 1): os.write(1, taken); time.sleep(0.05)"


@pytest.mark.parametrize("n", [1, 2, 3])
def test_each_group_is_compiled_by_one_of_the_processes(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def taker(queue: int) -> subprocess.Popen[bytes]:
        arguments = [sys.executable, "-S", "-c", TAKER, str(queue)]
        return subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(queue,))

    monkeypatch.setattr(compiling, "_started", taker)
    monkeypatch.setattr(compiling, "must_be_compiled", lambda *kernels: True)
    compilers = compiling.Compilers()
    later = "clearnlp"
    compilers.start([name for name in GROUPS if name != later], n)
    compilers.add(later)
    compilers.wait()
    taken = [[list(GROUPS)[number] for number in process.communicate()[0]] for process in compilers.processes]
    assert len(taken) == n
    assert sorted(name for names in taken for name in names) == sorted(GROUPS)
    for names in taken:
        costs = [GROUPS[name].cost for name in names if name != later]
        assert costs == sorted(costs, reverse=True), "the costliest first, so that none is left for the end"


def test_a_group_that_is_compiled_is_not_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_started", lambda queue: pytest.fail("nothing to compile"))
    monkeypatch.setattr(compiling, "must_be_compiled", lambda *kernels: False)
    with compiling.compiled_meanwhile("score") as compilers:
        compilers.add("clearnlp")
    assert compilers.processes == []


def test_a_group_names_all_kernels_that_it_compiles() -> None:
    named = {id(kernel) for group in GROUPS.values() for kernel in group.kernels}
    assert len(named) == sum(len(group.kernels) for group in GROUPS.values())
    assert {name for groups in COMMANDS.values() for name in groups} == set(GROUPS)


@pytest.fixture
def _cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """All kernels count as missing, and there are two processors."""
    monkeypatch.setattr(compiling, "must_be_compiled", lambda *kernels: True)
    monkeypatch.setattr(compiling, "processors", lambda: 2)


@pytest.mark.usefixtures("_cold")
def test_processes_end_with_the_block_and_with_an_error_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def sleeping(queue: int) -> subprocess.Popen[bytes]:
        program = f"import time; time.sleep({0 if is_short else 600})"
        started.append(subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE))
        return started[-1]

    monkeypatch.setattr(compiling, "_started", sleeping)
    is_short = True
    with compiling.compiled_meanwhile("events"):
        assert len(started) == 2
    assert [process.returncode for process in started] == [0, 0], "waited for"
    is_short = False
    with pytest.raises(RuntimeError, match="stop"), compiling.compiled_meanwhile("events"):
        raise RuntimeError("stop")
    assert [process.returncode for process in started[2:]] == [-signal.SIGKILL] * 2


@pytest.mark.usefixtures("_cold")
def test_an_environment_without_processes_compiles_in_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(queue: int) -> subprocess.Popen[bytes]:
        raise OSError("no more processes")

    monkeypatch.setattr(compiling, "_started", failing)
    with compiling.compiled_meanwhile("events"):
        pass


def test_a_process_that_compiles_leaves_its_kernels_in_the_cache(tmp_path: Path) -> None:
    """Such a process reports nothing, and a command would compile again what it did not."""
    name = "parse checks"
    program = (
        "import sys; from events.jobs._compiling import Compilers; compilers = Compilers();"
        f"compilers.start([{name!r}], 1); compilers.wait(); print(compilers.processes[0].returncode)"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    arguments = [sys.executable, "-c", program]
    finished = subprocess.run(arguments, cwd=PROJECT, env=environment, capture_output=True, text=True, check=True)
    assert finished.stdout == "0\n"
    kernels = {path.name.partition("-")[0].rpartition(".")[2] for path in tmp_path.rglob("*.nbc")}
    assert kernels == {kernel.__name__ for kernel in GROUPS[name].kernels}


def test_a_process_that_compiles_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    program = (
        "import sys, time; from events.jobs._compiling import Compilers; compilers = Compilers();"
        "compilers.start(['samples'], 1); print(compilers.processes[0].pid, flush=True); time.sleep(600)"
    )
    # An empty cache: it has seconds of work to do when its parent is killed.
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    arguments = [sys.executable, "-c", program]
    with subprocess.Popen(arguments, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and _is_running(child):
        time.sleep(0.05)
    assert not _is_running(child)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_warm_up_says_where_the_kernels_are() -> None:
    arguments = [sys.executable, "-m", "events.cli", "warm-up", "--json"]
    finished = subprocess.run(arguments, cwd=PROJECT, capture_output=True, text=True, check=True)
    content = json.loads(finished.stdout)
    assert content["commands"] == ["score", "events", "demo", "report"]
    assert content["n_kernels"] == sum(len(group.kernels) for group in GROUPS.values())
    folders = {_jit.cache_folders(kernel)[0] for group in GROUPS.values() for kernel in group.kernels}
    assert set(content["folders"]) == folders
    assert all(list(Path(folder).glob("*.nbc")) for folder in folders)


def test_warm_up_without_a_compiler_is_an_error() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    arguments = [sys.executable, "-m", "events.cli", "warm-up"]
    finished = subprocess.run(arguments, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr.startswith("corefsample: a folder for compiled kernels must be writable")
    assert finished.stderr.count("\n") == 1
