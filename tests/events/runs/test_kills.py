"""Runs that are stopped, damaged, or meet each other: real processes that are really killed."""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from expected_errors import error
from places import PROJECT
from run_cases import Case, complete, left, slowly, started, stop_after, wait_for
from worker_processes import is_alive, workers_of

from corefsample import ParameterError
from events.runs._store import LOCK_NAME, PartStore

pytestmark = [
    pytest.mark.skipif(not Path("/proc").exists(), reason="processes are found in /proc"),
    pytest.mark.filterwarnings("ignore"),  # the cluster's
]
ENGINES: dict[str, tuple[Any, ...]] = {"here": (), "workers": ("--workers", 2)}
# Any two of command, engine and signal meet once, as each takes seconds.
SENT = [
    *(("events", "here", signal.SIGINT), ("score", "here", signal.SIGTERM), ("events", "here", signal.SIGKILL)),
    *(("score", "workers", signal.SIGINT), ("events", "workers", signal.SIGTERM), ("score", "workers", signal.SIGKILL)),
]


def require_continued(case: Case, out: Path, reference: dict[str, bytes]) -> None:
    """The same call computes what is missing, and leaves nothing but the output."""
    assert not out.exists() or os.listdir(out) == ["parts"]
    assert case.n_left(case.run(out)) > 0
    assert case.content(out) == reference
    assert {path.name for path in out.parent.iterdir()} <= {"slow", *names_of(out)}


def told(printed: str) -> list[str]:
    """Lines of the error stream, but for the warning that the model knows few words of these short articles."""
    return [line for line in printed.splitlines() if line and "the model knows" not in line]


@pytest.mark.parametrize(("case", "engine", "sent"), SENT, indirect=["case"])
def test_a_stopped_job_ends_with_its_workers_and_the_same_command_continues(
    case: Case, reference: dict[str, bytes], tmp_path: Path, engine: str, sent: signal.Signals
) -> None:
    out = case.out(tmp_path)
    with started(tmp_path, case.command(out, *ENGINES[engine]), slow=0.3) as job:
        wait_for(lambda: complete(out), job)
        workers = workers_of(job.pid)
        for _ in range(5):  # an interrupt is lost if it meets the callback of a library, so a person presses again
            # A terminal interrupts all processes of a job.
            os.killpg(job.pid, sent) if sent == signal.SIGINT else job.send_signal(sent)
            with suppress(subprocess.TimeoutExpired):
                _, printed = job.communicate(timeout=6)
                break
    assert len(workers) == (2 if engine == "workers" else 0)
    wait_for(lambda: not any(map(is_alive, workers)), seconds=20)
    if sent == signal.SIGINT:
        assert job.returncode in (130, -signal.SIGINT)  # see test_cli: shells show both as 130
        (line,) = told(printed)
        assert "complete parts are in " in line
        assert line.endswith("the same command continues")
    require_continued(case, out, reference)


def test_a_job_killed_at_random_moments_loses_nothing(case: Case, reference: dict[str, bytes], tmp_path: Path) -> None:
    rng = random.Random(os.environ.get("COREFSAMPLE_KILLS_SEED", "1"))
    out = case.out(tmp_path)
    for _ in range(int(os.environ.get("COREFSAMPLE_KILLS", "4"))):
        with started(tmp_path, case.command(out), slow=0.1) as job:
            wait_for(lambda: left(out).exists() or job.poll() is not None)
            time.sleep(rng.uniform(0.0, 0.5))
            job.kill()
            job.communicate()
    case.run(out, overwrite=True)
    assert case.content(out) == reference
    assert {path.name for path in tmp_path.iterdir()} <= {"slow", *names_of(out)}


def test_the_same_command_continues_after_the_death_of_a_worker(
    case: Case, reference: dict[str, bytes], tmp_path: Path
) -> None:
    out = case.out(tmp_path)
    with started(tmp_path, case.command(out, "--workers", 2), slow=0.3) as job:
        wait_for(lambda: complete(out) and len(workers_of(job.pid)) == 2, job)
        workers = workers_of(job.pid)
        os.kill(workers[0], signal.SIGKILL)
        _, printed = job.communicate(timeout=60)
    assert job.returncode == 1
    (line,) = told(printed)
    assert line.startswith("corefsample: workers must live until ")
    assert "use fewer workers or smaller parts; " in line
    assert line.endswith("and the same command continues)")
    assert not any(map(is_alive, workers))
    require_continued(case, out, reference)


def names_of(out: Path) -> set[str]:
    """Names of what a command writes beside its output."""
    return {out.name, f"{out.name}.scoring.json", f"{out.name}.parts"}


def has_client(address: str) -> bool:
    """Whether a program is connected to an address of this machine."""
    port = f":{int(address.rpartition(':')[2]):04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    return any(row[1].endswith(port) and row[3] == "01" for row in rows)


@pytest.mark.parametrize(("case", "has_worker"), [("events", True), ("score", False)], indirect=["case"])
def test_a_lost_scheduler_ends_the_job_in_one_line_and_loses_nothing(
    case: Case, reference: dict[str, bytes], tmp_path: Path, has_worker: bool
) -> None:
    pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    out, ready = case.out(tmp_path), tmp_path / "scheduler.json"
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": PROJECT}
    quiet["env"] = slowly(tmp_path, 0.5)
    program = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--no-show"]
    options = ["--host", "127.0.0.1", "--scheduler-file", str(ready)]
    with subprocess.Popen([*program, *options], **quiet) as scheduler:
        wait_for(ready.exists)
        address = json.loads(ready.read_text())["address"]
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
        worker += ["--no-dashboard", "--death-timeout", "2", "--local-directory", str(tmp_path)]
        with started(tmp_path, case.command(out, "--scheduler", address), slow=0.3) as job:
            wait_for(left(out).is_dir, job)
            with subprocess.Popen(worker if has_worker else ["true"], **quiet) as helper:
                if has_worker:
                    wait_for(lambda: complete(out), job)
                else:
                    wait_for(lambda: has_client(address), job)
                    time.sleep(0.5)  # until the two have greeted each other
                scheduler.kill()
                _, printed = job.communicate(timeout=60)
                helper.kill()
    assert job.returncode == 75  # try again
    (line,) = told(printed)
    assert line.startswith(f"corefsample: {address}: scheduler must stay reachable, got no answer (")
    assert line.endswith("the same command continues)")
    case.run(out)
    assert case.content(out) == reference


LIMITED = """
import resource, sys
import events.runs._count_run, events.runs._score_run, corefsample.coreference
from events.commands._program import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
main(sys.argv[2:])
"""


@pytest.mark.parametrize("limit", [1000, 6000])
def test_a_full_disk_loses_nothing(case: Case, reference: dict[str, bytes], tmp_path: Path, limit: int) -> None:
    out = case.out(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        case.run(out, on_progress=stop_after(2, out))
    n_complete = len(complete(out))
    command = [sys.executable, "-c", LIMITED, str(limit), *case.command(out)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    (line,) = told(done.stderr)
    assert "output must be writable, got: " in line
    assert "File too large" in line
    assert "the same command continues" in line
    assert len(complete(out)) >= n_complete
    require_continued(case, out, reference)
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != limit


# --- damage ------------------------------------------------------------------------------------------------


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_a_part_that_is_no_longer_as_recorded_is_computed_again(
    case: Case, reference: dict[str, bytes], tmp_path: Path
) -> None:
    before, out = case.out(tmp_path / "before"), case.out(tmp_path / "after")
    with pytest.raises(KeyboardInterrupt):
        case.run(before, on_progress=stop_after(2, before))
    part, other = (record.parent.relative_to(before.parent) for record in complete(before))
    names = [path.name for path in (before.parent / part).iterdir()]
    key = part.name.partition("-")[0]
    assert PartStore(left(before)).find(key) is not None
    harms = [(harm, [name]) for name in names for harm in (truncated, damaged, Path.unlink)]
    # The last one has the result of another part.
    for harm, harmed in [*harms, (lambda path: shutil.copy(before.parent / other / path.name, path), names)]:
        shutil.rmtree(out.parent)
        shutil.copytree(before.parent, out.parent)
        for name in harmed:
            harm(out.parent / part / name)
        assert PartStore(left(out)).find(key) is None  # the part is removed, unless its record is damaged
    shutil.rmtree(out.parent)
    shutil.copytree(before.parent, out.parent)
    damaged(out.parent / part / next(name for name in names if name != "record.json"))
    assert case.n_left(case.run(out)) == (1 if case.name == "events" else 16)
    assert case.content(out) == reference


# --- two runs ----------------------------------------------------------------------------------------------


def test_a_second_run_is_refused_while_one_works_there(case: Case, reference: dict[str, bytes], tmp_path: Path) -> None:
    out = case.out(tmp_path)
    with started(tmp_path, case.command(out), slow=0.3) as job:
        wait_for(lambda: complete(out), job)
        before = {path: path.read_bytes() for path in complete(out)}
        for overwrite in (False, True):
            with error(ParameterError, place=str(out)) as caught:
                case.run(out, overwrite=overwrite)
            assert "must not be in use" in caught.value.message
        assert before.items() <= {path: path.read_bytes() for path in complete(out)}.items()
        job.kill()
        job.communicate()
    assert (left(out) / LOCK_NAME).exists()  # but its process is dead
    require_continued(case, out, reference)
