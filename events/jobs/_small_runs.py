"""Small runs of the commands that compile their kernels at the first call, so that a warm-up compiles these too.

The kernels and their types are those of the commands by construction; no list of them has to be kept.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from corefsample.formats import write_documents
from events.audit import METHODS, estimate_total
from events.jobs.calibrate_links import CalibrateOptions, run_calibrate
from events.jobs.calibrate_queries import QueryReportOptions, run_query_report
from events.jobs.recalibrate import RecalibrateOptions, run_recalibrate
from events.jobs.training import TrainOptions, run_train
from events.simulation import simulate_documents

__all__ = ["SMALL_RUNS", "compile_by_small_runs"]

SMALL_RUNS = ("calibrate", "calibrate-queries", "recalibrate", "train", "audit estimate")
_DOCUMENTS, _SAMPLES, _DRAWS = 12, 100, 2


def compile_by_small_runs() -> None:
    """Run the commands on simulated documents in a temporary folder; of an audit, the estimate by each method."""
    for method in METHODS:
        estimate_total([1, 4], [10, 5], [50, 10], method=method)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        news = folder / "news.parquet"
        write_documents((each.document for each in simulate_documents(_DOCUMENTS, seed=0, event_share=1.0)), news)
        run_calibrate(news, options=CalibrateOptions(bin_size=50, n_resamples=_DRAWS))
        run_query_report(news, options=QueryReportOptions(n_folds=2, n_samples=_SAMPLES, n_boot=_DRAWS), pictures=False)
        for objective in ("joint", "likelihood", "links", "links-log", "queries", "queries-log"):
            options = RecalibrateOptions(objective=objective, n_folds=2, n_samples=_SAMPLES, n_boot=_DRAWS)
            run_recalibrate(news, news, folder / "news.jsonl", options, overwrite=True)
        run_train(news, folder / "model.npz", TrainOptions(held_out_share=0.3, epochs=1, bits=10, min_count=1))
