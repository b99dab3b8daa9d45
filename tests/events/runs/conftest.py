"""Corpora and results of uninterrupted runs for the tests of runs in parts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from references import scoring as sr
from run_cases import Case, events_case, score_case


@pytest.fixture(scope="session")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return events_case(tmp_path_factory.mktemp("events"))


@pytest.fixture(scope="session")
def scoring(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return score_case(tmp_path_factory.mktemp("score"))


@pytest.fixture(scope="session")
def model_path(scoring: Case) -> Path:
    """A small model."""
    return Path(scoring.model)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A pipeline of a few rules, installed as a package, also for new processes."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield sr.tiny_pipeline(folder)


@pytest.fixture(params=["events", "score"])
def case(request: pytest.FixtureRequest, counting: Case, scoring: Case) -> Case:
    return counting if request.param == "events" else scoring


@pytest.fixture(scope="session")
def references(counting: Case, scoring: Case, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """What a run in one process writes; that of `events` has one part."""
    folder, found = tmp_path_factory.mktemp("references"), {}
    for each, changed in ((counting, {"part_size": 1000}), (scoring, {})):
        each.run(each.out(folder), options=each.options(**changed))
        found[each.name] = each.content(each.out(folder))
    return found


@pytest.fixture
def reference(case: Case, references: dict[str, dict[str, bytes]]) -> dict[str, bytes]:
    return references[case.name]


@pytest.fixture
def counted(references: dict[str, dict[str, bytes]]) -> dict[str, bytes]:
    return references["events"]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A Dask cluster of two processes, used by its address."""
    distributed = pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as running:
        yield running
