"""What every run needs: hypothesis profiles, the markers of kernel and slow tests, the real file if it exists."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Before NumPy loads, and for all processes of the tests: with a thread for each processor in each of several processes,
# threads of OpenBLAS wait for each other in a loop, which takes most of the time of many small fits.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import numba
import pytest
from places import EN_CORE_WEB_SM, EN_GUM_UD, GUM_SCORED
from remote_files import memory

SLOW_TESTS = Path(__file__).parent / "data" / "slow_tests.txt"

hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("dist", "no") == "load":
        # Each worker begins with half of the files, so that it alone makes their fixtures; then it helps the other.
        config.option.dist = "worksteal"
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell without job control starts background jobs with the interrupt ignored, and so would our children be.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line(
        "markers", "kernels: runs compiled loops on input small enough for plain Python (NUMBA_DISABLE_JIT=1)"
    )
    config.addinivalue_line(
        "markers", "slow: listed in tests/data/slow_tests.txt; left out by default, see CONTRIBUTING"
    )
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        # Compiled, unsigned numbers wrap around in silence, as they should; NumPy's scalars warn of it.
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered in scalar:RuntimeWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # One list instead of marks in forty files, as it follows measured times.
    slow = {line for line in SLOW_TESTS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")}
    for item in items:
        if not slow.isdisjoint((item.nodeid, item.nodeid.partition("[")[0], item.nodeid.partition("::")[0])):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def gum_path() -> Path:
    """237 real documents with scores."""
    if not GUM_SCORED.exists():
        pytest.skip(f"the real corpus is missing: {GUM_SCORED.name}")
    return GUM_SCORED


@pytest.fixture(scope="session", params=[EN_CORE_WEB_SM, EN_GUM_UD], ids=lambda path: path.name)
def pipeline(request: pytest.FixtureRequest) -> Path:
    """Folder of a real pipeline: of labels of ClearNLP, and of Universal Dependencies."""
    path: Path = request.param
    if not path.exists():
        pytest.skip(f"the pipeline is missing: {path.name}")
    return path


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Files at memory://. The current folder is new, and so is that of temporary files, which has to be empty then."""
    for name in ("temporary", "work"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path / "work")
    yield memory()
    assert not [*(tmp_path / "temporary").iterdir()]
    memory()
