"""A damaged or edited folder of a run is refused by whatever reads it, with one line."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from run_cases import CountOptions, count_events

from corefsample import CorefsampleError, InputError, write_documents
from corefsample.recalibration._uncertain import read_recalibration
from events import simulate_documents
from events.audit._audit_frame import read_run_documents
from events.audit._learning import RunFeatures
from events.counts import read_count_posterior, read_count_samples
from events.pages._report_content import read_report


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose counts share the uncertainty of a recalibration."""
    folder, change = tmp_path_factory.mktemp("run"), read_recalibration("english").recalibration
    simulated = simulate_documents(20, seed=3, event_share=0.9, median_mentions=10)
    write_documents((change.apply_document(each.document) for each in simulated), folder / "news.parquet")
    count_events(folder / "news.parquet", folder / "run", CountOptions(n_samples=50, period="year", rule_error="none"))
    return folder / "run"


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "copy"))


READERS: dict[str, list[Callable[[Path], object]]] = {
    "counts.parquet": [read_report],
    "count_samples.parquet": [read_report],
    "totals.csv": [read_report],
    "near_half.csv": [read_report],
    "evidence.parquet": [
        *(read_report, read_count_samples, lambda run: read_count_posterior(run, "USA", "1999")),
        lambda run: RunFeatures(read_run_documents(run), run),
    ],
    "documents.parquet": [read_report],
    "all_documents.parquet": [read_report, read_run_documents, read_count_samples],
}


@pytest.mark.parametrize("name", READERS)
def test_a_changed_bit_of_a_table_is_noticed(copy: Path, name: str) -> None:
    whole = (copy / name).read_bytes()
    generator = random.Random(name)
    for reader in READERS[name]:
        for _ in range(3):
            content = bytearray(whole)
            content[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
            (copy / name).write_bytes(content)
            with pytest.raises(CorefsampleError) as caught:
                reader(copy)
            assert len(str(caught.value).splitlines()) == 1
    (copy / name).write_bytes(whole)
    read_report(copy)
    (copy / name).unlink()
    if name != "count_samples.parquet":  # a run of independent documents has none
        with pytest.raises(InputError):
            read_report(copy)


@pytest.mark.parametrize("content", ["[]", "{}", "[" * 100_000, "no\nsuch thing"])
def test_a_record_that_is_none_is_refused(copy: Path, content: str) -> None:
    (copy / "run.json").write_text(content)
    for reader in (read_report, read_run_documents, read_count_samples):
        with pytest.raises(InputError):
            reader(copy)


def test_an_edited_record_and_tables_of_another_run_are_refused(copy: Path, tmp_path: Path) -> None:
    text = (copy / "run.json").read_text()
    (copy / "run.json").write_text(json.dumps({**json.loads(text), "lexicon": "other"}))
    with pytest.raises(InputError, match="record must be as a command wrote it"):
        read_report(copy)
    (copy / "run.json").write_text(text)
    other = tmp_path / "other"
    count_events(copy.with_name("copy") / "documents.parquet", other, CountOptions(n_samples=20, period="year"))
    shutil.copy(other / "all_documents.parquet", copy)
    with pytest.raises(InputError, match=r"all_documents\.parquet must be as it was written"):
        read_run_documents(copy)
