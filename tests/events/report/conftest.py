"""A finished run for pages: simulated news, and hand-made documents that would break an unsafe page."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from page_documents import LEXICON, crossing, hostile

from corefsample import write_documents
from events.jobs.count_events import EventsOptions, run_events
from events.simulation import simulate_documents


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a finished run."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "lexicon.yaml").write_text(LEXICON, encoding="utf-8")
    news = folder / "news.parquet"
    simulated = [
        each.document
        for each in simulate_documents(
            160,
            seed=3,
            event_share=0.6,
            median_mentions=30,
            start=datetime.date(1995, 1, 1),
            end=datetime.date(1996, 12, 31),
        )
    ]
    write_documents([*simulated, hostile(), crossing()], news)
    options = EventsOptions(n_samples=200, lexicon=str(folder / "lexicon.yaml"), threads=1)
    run_events(str(news), folder / "run", options, pictures=False)
    return folder / "run"
