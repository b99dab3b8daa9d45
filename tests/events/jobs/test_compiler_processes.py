"""Processes that compile: each group by one of them, the urgent groups first; they end with the command."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numba
import pytest
from places import PROJECT

from events.jobs import _compiler_processes as processes
from events.jobs import _compiling as compiling
from events.jobs._main_kernels import GROUPS

pytestmark = [
    pytest.mark.skipif(
        numba.config.DISABLE_JIT,  # type: ignore[attr-defined]
        reason="nothing is compiled",
    ),
    pytest.mark.skipif(sys.platform != "linux", reason="only on Linux are processes forked"),
]

# Groups whose compilation appends the process and the name to a file, and then does what BODY says.
GROUPS_THAT_RECORD = """
import os, sys, time
from events.jobs import _compiler_processes as processes
from events.jobs._main_kernels import GROUPS

record = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_APPEND)

def recording(name, group):
    def compile():
        os.write(record, f"{os.getpid()} {name}\\n".encode())
        BODY
    return group._replace(compile=compile)

for name, group in list(GROUPS.items()):
    GROUPS[name] = recording(name, group)
processes.must_be_compiled = lambda *kernels: True
processes.load_compiler = lambda: None
compilers = processes.Compilers()
"""


def started(program: str, record: Path, body: str = "time.sleep(0.05)") -> subprocess.Popen[str]:
    """A process that runs a program with groups that record."""
    arguments = [sys.executable, "-c", GROUPS_THAT_RECORD.replace("BODY", body) + program, str(record)]
    return subprocess.Popen(arguments, cwd=PROJECT, stdout=subprocess.PIPE, text=True)


def finished(program: str, record: Path, body: str = "time.sleep(0.05)") -> str:
    """The output of such a process."""
    with started(program, record, body) as process:
        try:
            output = process.communicate(timeout=60)[0]
        finally:
            process.kill()
    assert process.returncode == 0
    return output


def by_process(record: Path) -> dict[int, list[str]]:
    """Names of groups by the process that compiled them, in its order."""
    taken: dict[int, list[str]] = {}
    for line in record.read_text().splitlines():
        number, _, name = line.partition(" ")
        taken.setdefault(int(number), []).append(name)
    return taken


@pytest.mark.parametrize("n", [1, 2, 3])
def test_each_group_is_compiled_by_one_of_the_processes(n: int, tmp_path: Path) -> None:
    later = "clearnlp"
    program = (
        f"compilers.start([name for name in GROUPS if name != {later!r}], {n}, fork=True);"
        f"compilers.add({later!r}); compilers.add({later!r}); compilers.wait(); print(compilers.n_processes)"
    )
    assert finished(program, tmp_path / "record") == f"{n}\n"
    taken = by_process(tmp_path / "record")
    assert len(taken) == n
    assert sorted(name for names in taken.values() for name in names) == sorted(GROUPS)
    for names in taken.values():
        urgency = [(not GROUPS[name].at_once, -GROUPS[name].cost) for name in names if name != later]
        assert urgency == sorted(urgency), "the urgent ones first, then the costliest, so that none is left for the end"


def test_a_command_waits_for_what_it_needs_at_once_only(tmp_path: Path) -> None:
    program = (
        "compilers.start(list(GROUPS), 2, fork=True); compilers.wait_at_once();"
        "print(*compilers._compiled, sep='\\n'); compilers.end()"
    )
    body = "time.sleep(0 if group.at_once else 600)"
    urgent = {name for name, group in GROUPS.items() if group.at_once}
    assert urgent
    assert set(finished(program, tmp_path / "record", body).splitlines()) == urgent
    assert_gone(by_process(tmp_path / "record"))


def test_processes_that_fail_are_not_waited_for(tmp_path: Path) -> None:
    """The command then compiles what is missing."""
    program = (
        "compilers.start(list(GROUPS), 2, fork=True); compilers.wait_at_once(); compilers.add('clearnlp');"
        "compilers.wait(); print(len(compilers._compiled))"
    )
    assert finished(program, tmp_path / "record", "os._exit(3)") == "0\n"


@pytest.mark.parametrize("fork", [True, False])
def test_a_process_that_compiles_leaves_its_kernels_in_the_cache(fork: bool, tmp_path: Path) -> None:
    """Such a process reports nothing, and a command would compile again what it did not."""
    name = "parse checks"
    program = (
        "from events.jobs._compiler_processes import Compilers; compilers = Compilers();"
        f"compilers.start([{name!r}], 1, fork={fork}); compilers.wait(); print(*compilers._compiled)"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    arguments = [sys.executable, "-c", program]
    done = subprocess.run(arguments, cwd=PROJECT, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{name}\n"
    kernels = {path.name.partition("-")[0].rpartition(".")[2] for path in tmp_path.rglob("*.nbc")}
    assert kernels == {kernel.__name__ for kernel in GROUPS[name].kernels}


def test_processes_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    """One that the parent has forked, and one that this one has forked."""
    record = tmp_path / "record"
    program = "compilers.start(['samples', 'documents'], 2, fork=True); time.sleep(600)"
    with started(program, record, "time.sleep(600)") as parent:
        wait_until(lambda: record.exists() and len(record.read_text().splitlines()) == 2)
        parent.kill()
    assert_gone(by_process(record))


def test_a_process_that_is_no_fork_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    program = (
        "import time; from events.jobs import _compiler_processes as processes;"
        "processes._Child = lambda end, wait: print(end.__self__.pid, flush=True);"
        "processes.Compilers().start(['samples'], 1); time.sleep(600)"
    )
    # An empty cache: it has seconds of work to do when its parent is killed.
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    arguments = [sys.executable, "-c", program]
    with subprocess.Popen(arguments, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
    assert_gone([child])


def test_an_error_in_the_block_ends_the_processes(tmp_path: Path) -> None:
    record = tmp_path / "record"
    program = (
        "from events.jobs import _compiling as compiling\n"
        "compiling.processors = lambda: 2\n"
        "try:\n"
        "    with compiling.compiled_ahead('events'), compiling.compiled_meanwhile('events'):\n"
        "        while len(open(sys.argv[1]).readlines()) < 2: time.sleep(0.01)\n"
        "        raise RuntimeError\n"
        "except RuntimeError: print('ended')\n"
    )
    assert finished(program, record, "time.sleep(600)") == "ended\n"
    assert_gone(by_process(record))


def test_a_block_waits_for_the_processes_that_were_started_ahead(tmp_path: Path) -> None:
    """It starts none of its own."""
    record = tmp_path / "record"
    program = (
        "from events.jobs import _compiling as compiling\n"
        "compiling.processors = lambda: 2\n"
        "with compiling.compiled_ahead('events'):\n"
        "    with compiling.compiled_meanwhile('events') as compilers: pass\n"
        "    print(len(open(sys.argv[1]).readlines()), compilers.n_processes)\n"
    )
    n_groups = len(compiling._groups_of(["events"]))
    assert finished(program, record) == f"{n_groups} 2\n"
    assert len(by_process(record)) == 2


@contextmanager
def another_thread() -> Iterator[None]:
    """A thread, while the block lasts."""
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_a_process_with_other_threads_is_not_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork has the locks of threads that it does not have."""
    nobody = processes._Child(lambda: None, lambda: None)
    monkeypatch.setattr(processes, "must_be_compiled", lambda *kernels: True)
    monkeypatch.setattr(processes, "_forked", lambda *arguments: pytest.fail("forked"))
    monkeypatch.setattr(processes, "_started", lambda ends: nobody)
    compilers = processes.Compilers()
    with another_thread():
        compilers.start(["samples"], 2, fork=True)
    compilers.wait()
    assert compilers.n_processes == 2


@pytest.mark.parametrize("fork", [True, False])
def test_an_environment_without_processes_compiles_in_this_one(fork: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: object) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(processes, "must_be_compiled", lambda *kernels: True)
    monkeypatch.setattr(processes, "_forked", failing)
    monkeypatch.setattr(processes, "_started", failing)
    compilers = processes.Compilers()
    compilers.start(["samples"], 2, fork=fork)
    compilers.wait_at_once()
    compilers.wait()
    assert compilers.n_processes == 0


def test_a_group_that_is_compiled_is_not_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_started", lambda ends: pytest.fail("nothing to compile"))
    monkeypatch.setattr(processes, "must_be_compiled", lambda *kernels: False)
    with compiling.compiled_meanwhile("score") as compilers:
        compilers.add("clearnlp")
        compilers.wait_at_once()
    assert compilers.n_processes == 0


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until a function returns true, for at most 30 seconds."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def assert_gone(process_ids: Iterable[int]) -> None:
    """There were processes, and all of them stop soon."""
    each = list(process_ids)
    assert each
    wait_until(lambda: not any(map(_is_running, each)))


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
