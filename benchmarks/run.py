"""Measure against named baselines and peers in the same run: python benchmarks/run.py [--quick] [--json] [--only WORD].

The rows of `--only scale` take minutes, or with the whole corpus of benchmarks/large_corpus.py, whose folder the
environment then names as COREFSAMPLE_LARGE_CORPUS, half an hour.

Machines are noisy, so every row is a ratio: the two sides run in turn, and the ratio of their medians is printed with
the figure it is to meet. Ratios above 1 mean that corefsample is faster.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from antecedent_model import LENGTH, cut, documents_of
from baselines import networkx_components, numpy_forward, numpy_pair_counts, scipy_components
from calibration import calibration_rows
from conditioning_study import long_document
from measure import Row, faster, in_turn, within
from parsing import parsing_rows
from reading import read_columns
from scale import peak, peak_of, scale_rows
from starting import cold_start, start_up
from summaries import summary_rows
from tagging import tagging_rows

from corefsample import (
    AntecedentDistribution,
    _random_kernels,
    link_marginals,
    read_documents,
    sample_clusterings,
    write_documents,
)
from corefsample.calibration._binning import block_bin_pairs
from corefsample.calibration._error import error_interval
from corefsample.coreference import _kernels
from corefsample.formats import DocumentStream
from corefsample.links._calibration import link_tables
from corefsample.recalibration import RecalibrationFitter
from corefsample.recalibration._uncertain import Uncertainty, read_recalibration
from corefsample.scorers import load_scorer, score_documents
from events.commands import EventsOptions, run_events
from events.simulation._documents import simulate_documents

SHARED = Path(__file__).parents[1] / ".." / "shared"
GUM = SHARED / "data" / "gum" / "gum-scored.jsonl.gz"
PIPELINE = SHARED / "models" / "en_gum_ud"
N_MENTIONS, N_SAMPLES = 146, 1000
EIGHT_RULES = ("attack", "attack_target", "conflict", "arrest", "kill", "force", "protest", "meet")
BUSIEST_RULE = "meet"  # of the simulated news: it samples the most documents
ONE_CORE = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")  # read when NumPy is loaded


# --- the engine --------------------------------------------------------------------------------------------


def sampling(runs: int) -> Iterator[Row]:
    rng = np.random.default_rng(0)
    indptr = np.concatenate(([0], np.cumsum(np.arange(N_MENTIONS)))).astype(np.int64)
    antecedents = np.concatenate([np.arange(i) for i in range(N_MENTIONS)]).astype(np.int32)
    scores = rng.normal(-4.0, 2.0, len(antecedents))
    csr = indptr, antecedents, scores

    def ours() -> object:
        return sample_clusterings(AntecedentDistribution.from_csr(*csr), n_samples=N_SAMPLES)

    work = "1,000 clusterings from scores, N = 146"
    peers = (
        ("Generator.choice + csgraph components", scipy_components, 500, runs),
        ("Generator.choice + forward pass over labels", numpy_forward, 25, runs * 3),
        ("Generator.choice + networkx, in a loop", networkx_components, 5000, 3),
    )
    for name, peer, figure, n in peers:
        yield faster(work, name, in_turn(ours, lambda peer=peer: peer(*csr, N_SAMPLES), n, each=25), figure)  # type: ignore[misc]

    distribution = AntecedentDistribution.from_csr(*csr)
    n_cells = distribution.n_candidates + distribution.n_mentions
    cells, values = np.empty(n_cells, np.uint64), np.empty(n_cells, np.uint32)
    parts = distribution.indptr, distribution.antecedents, distribution.probs, distribution.new_probs
    _kernels.alias_tables(*parts, cells, values)
    labels = np.empty((N_MENTIONS, N_SAMPLES), np.int32)
    words = np.empty(N_MENTIONS * N_SAMPLES, np.uint64)
    sides = in_turn(
        lambda: _kernels.sample_labels(distribution.indptr, cells, values, np.uint64(1), 0, labels),
        lambda: _random_kernels.splitmix64(np.uint64(1), 0, words),
        runs * 20,
        each=9,  # the words of the other side do not fit into the second-level cache together with the tables
    )
    yield within("draw loop alone", "SplitMix64 filling as many words", sides, 4.5)
    sides = in_turn(
        lambda: link_marginals(distribution),
        lambda: numpy_pair_counts(sample_clusterings(distribution, n_samples=N_SAMPLES).labels.T),
        runs * 3,
        each=9,
    )
    yield faster("exact link marginals, N = 146", "1,000 clusterings + NumPy pair counts", sides, 20)
    tangled, pairs = long_document(np.random.default_rng(1), 1.0)
    condition: dict[str, Any] = {"n_samples": N_SAMPLES, "cannot_link": pairs}
    chains, _ = in_turn(lambda: sample_clusterings(tangled, **condition), lambda: None, runs * 3)
    yield within("1,000 conditioned clusterings by chains, 150 mentions", "50 ms", (chains, 0.05), 1)


def exact_against_blas(runs: int) -> Iterator[Row]:
    """Link marginals against a matrix product of the same size, in a process in which BLAS has one core."""
    command = [sys.executable, str(Path(__file__).with_name("exact_against_blas.py")), str(runs)]
    environment = {**os.environ, **dict.fromkeys(ONE_CORE, "1")}
    done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    yield within(
        "exact link marginals, N = 1,000 dense",
        "BLAS product of the same size, one core",
        tuple(json.loads(done.stdout)),
        3,
    )


def real_file(runs: int) -> Iterator[Row]:
    if not GUM.exists():
        print(f"left out: the GUM rows, as {GUM.name} is not there", file=sys.stderr)
        return
    distributions = [batch.antecedents(row) for batch in DocumentStream(GUM) for row in range(len(batch))]
    pairs = sum(d.n_mentions * (d.n_mentions - 1) // 2 for d in distributions)

    def marginals() -> None:
        for distribution in distributions:
            link_marginals(distribution)

    def read() -> None:
        for _ in DocumentStream(GUM):
            pass

    yield within(
        f"link marginals of all {pairs / 1e6:.2f}M pairs of GUM", "reading the file", in_turn(marginals, read, runs), 1
    )
    documents = list(read_documents(GUM))

    def calibration() -> None:
        links = link_tables(documents)
        blocks = block_bin_pairs(links.q, links.y, links.documents, bin_size=5000)
        error_interval(blocks, n_resamples=10_000)
        error_interval(blocks.bins, n_resamples=10_000)

    yield within(
        "GUM: marginals, pairs, sums by document, both intervals",
        "reading the file",
        in_turn(calibration, read, runs),
        3,
    )


# --- the job -----------------------------------------------------------------------------------------------


def events_job(runs: int, n_documents: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        news = str(Path(folder) / "news.parquet")
        write_documents((each.document for each in simulate_documents(n_documents)), news)
        out = str(Path(folder) / "run")

        def job(**options: str) -> Callable[[], object]:
            def run() -> None:
                shutil.rmtree(out, ignore_errors=True)  # parts, which a second run would use
                run_events(news, EventsOptions(out=out, pictures=False, **options))

            return run

        paper, eight_rules = job(preset="paper"), job(rule=EIGHT_RULES, preset="paper")
        busiest_rule = job(rule=BUSIEST_RULE, preset="paper")
        name = f"events job, preset paper, {n_documents:,} documents, 1,000 samples"
        yield within(name, "pyarrow reading its columns", in_turn(paper, lambda: read_columns([news]), runs), 5)
        # Time follows the documents in which an event is possible; the busiest rule has nearly all of them.
        sides = in_turn(eight_rules, busiest_rule, runs)
        yield within("events job, eight rules at once", f"the busiest of them ({BUSIEST_RULE})", sides, 1.5)
        ours, theirs = in_turn(eight_rules, paper, runs)
        yield Row("events job, eight rules at once", "attack alone", ours, theirs, ours / theirs, "", None)
        ours, theirs = in_turn(job(), paper, 1)  # minutes
        yield Row("events job, preset asserted", "preset paper", ours, theirs, ours / theirs, "", None)
        yield from memory(folder, news, n_documents)


def memory(folder: str, news: str, n_documents: int) -> Iterator[Row]:
    """Peak memory of the whole command, start-up and pictures included, at two sizes."""
    four = str(Path(folder) / "four.parquet")
    repeat(news, four, 4)
    small, large = peak([news], folder), peak([four], folder)
    yield Row(
        f"peak memory, {n_documents:,} documents", "1 GiB", small, 2**30, small / 2**30, "<= 1x of it", small <= 2**30
    )
    ratio = large / small
    yield Row(
        f"peak memory, {4 * n_documents:,} documents",
        f"{n_documents:,} documents",
        large,
        small,
        ratio,
        "<= 1.1x of it",
        ratio <= 1.1,
    )


def repeat(source: str, target: str, times: int) -> None:
    """Copy a corpus several times over, with doc_ids of their own."""
    file = pq.ParquetFile(source)
    with pq.ParquetWriter(target, file.schema_arrow, compression="zstd") as writer:
        for turn in range(times):
            for batch in file.iter_batches(batch_size=256):
                ids = pc.binary_join_element_wise(batch.column("doc_id"), str(turn), "-")
                writer.write_batch(batch.set_column(0, "doc_id", ids))


# --- the antecedent model ----------------------------------------------------------------------------------


def scoring(runs: int) -> Iterator[Row]:
    """The English model on documents of 150 mentions, against the parser that comes before it."""
    if not GUM.exists() or not PIPELINE.exists():
        print(f"left out: the rows of the model, as {GUM.name} or {PIPELINE.name} is not there", file=sys.stderr)
        return
    import spacy

    model = load_scorer()
    short = [cut(each, LENGTH) for each in documents_of("test") if each.n_mentions >= LENGTH]
    nlp = spacy.load(PIPELINE.resolve())
    texts = [" ".join(tokens.text) for tokens, _ in short]

    def score() -> None:
        for tokens, mentions in short:
            model.score([tokens], [mentions])

    def parse() -> None:
        for _ in nlp.pipe(texts):
            pass

    ours, theirs = in_turn(score, parse, runs)
    work = f"scores of {len(short)} documents of {LENGTH} mentions"
    budget = len(short) / 100
    yield Row(work, "a hundred documents per second", ours, budget, budget / ours, ">= 1x faster", ours <= budget)
    yield faster(work, "spaCy's parse of them (en_gum_ud)", (ours, theirs), 1)


def recalibrating() -> Iterator[Row]:
    """A fit by kind with cross-validation and 100 refits, once."""
    if not GUM.exists():
        print(f"left out: the row of recalibration, as {GUM.name} is not there", file=sys.stderr)
        return
    documents = [document for document in read_documents(GUM) if document.gold is not None]
    begun = time.perf_counter()
    fitter = RecalibrationFitter(documents, form="kinds")
    fitter.fit()
    fitter.cross_fit()
    fitter.bootstrap(100)
    ours, budget = time.perf_counter() - begun, 60.0
    work = f"fit by kind to {len(documents)} documents, 5 folds, 100 refits"
    yield Row(work, "a minute", ours, budget, budget / ours, ">= 1x faster", ours <= budget)


def counting_with_uncertainty(runs: int) -> Iterator[Row]:
    """Processor time of counting scores of the English model with the uncertainty of its recalibration, and without."""
    change = read_recalibration("english").recalibration
    corpora = {"simulated articles": (change.apply_document(each.document) for each in simulate_documents(500))}
    if GUM.exists():
        corpora["documents of GUM"] = map(
            read_recalibration("english-annotated").recalibration.apply_document,
            score_documents(load_scorer(), documents_of("train")),
        )
    else:
        print(f"left out: the row of uncertainty in real text, as {GUM.name} is not there", file=sys.stderr)
    for name, documents in corpora.items():
        with tempfile.TemporaryDirectory() as folder:
            scored, out = str(Path(folder) / "scored.parquet"), str(Path(folder) / "run")
            write_documents(documents, scored)

            def seconds(uncertainty: Uncertainty | None, scored: str = scored, out: str = out) -> float:
                chosen = {"rule": EIGHT_RULES, "period": "year", "uncertainty": uncertainty}
                options = EventsOptions(**chosen, out=out, overwrite=True, pictures=False)
                begun = time.process_time()
                run_events(scored, options)
                return time.process_time() - begun

            seconds(None), seconds("none")
            sides = [(seconds(None), seconds("none")) for _ in range(runs)]
            ours, theirs = (min(side) for side in zip(*sides, strict=True))
            summary = json.loads((Path(out) / "run.json").read_text(encoding="utf-8"))["summary"]
        work = f"events, eight rules, {summary['n_documents']:,} {name}, {summary['n_sampled']} sampled: processor time"
        yield Row(work, "the same with --uncertainty none", ours, theirs, ours / theirs, "", None)


def recounting(runs: int, n_documents: int) -> Iterator[Row]:
    """Time and peak memory of counting the evidence of a run again, by month and outlet."""
    with tempfile.TemporaryDirectory() as folder:
        lines, news, many, run = (f"{folder}/{name}" for name in ("a.jsonl", "news.parquet", "many.parquet", "run"))
        write_documents((each.document for each in simulate_documents(n_documents)), lines)
        outlets = (replace(each, metadata={"outlet": f"{k % 10}"}) for k, each in enumerate(read_documents(lines)))
        write_documents(outlets, news)
        repeat(news, many, 10)
        run_events(many, EventsOptions(out=run, pictures=False, workers=os.cpu_count()))
        command = ["count", run, "--period", "month", "--by", "outlet", "--out", f"{folder}/again", "--overwrite"]
        work, seconds, bytes_of_peaks = f"count, {10 * n_documents:,} documents by month and ten outlets", [], []
        for _ in range(runs):
            begun = time.perf_counter()
            bytes_of_peaks.append(peak_of(*command))
            seconds.append(time.perf_counter() - begun)
    for what, ours, unit, most in (
        ("", min(seconds), "10 seconds", 10.0),
        (", peak", max(bytes_of_peaks), "1 GiB", 2**30),
    ):
        yield Row(f"{work}{what}", unit, ours, most, ours / most, "<= 1x of it", ours <= most)


# --- the table ---------------------------------------------------------------------------------------------


# Rows of each group, for a number of runs and of documents.
GROUPS: dict[str, Callable[[int, int], Iterable[Row]]] = {
    "engine": lambda runs, n_documents: sampling(runs),
    "exact": lambda runs, n_documents: exact_against_blas(runs),
    "real": lambda runs, n_documents: real_file(runs),
    "calibration": lambda runs, n_documents: calibration_rows(runs),
    "job": events_job,
    "summaries": lambda runs, n_documents: summary_rows(runs),
    "scale": lambda runs, n_documents: scale_rows(runs),
    "model": lambda runs, n_documents: scoring(runs),
    "recalibration": lambda runs, n_documents: recalibrating(),
    "uncertainty": lambda runs, n_documents: counting_with_uncertainty(runs),
    "recount": recounting,
    "tagging": lambda runs, n_documents: tagging_rows(runs),
    "parsing": lambda runs, n_documents: parsing_rows(runs),
    "startup": lambda runs, n_documents: start_up(runs),
    "cold": lambda runs, n_documents: cold_start(runs),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer runs and documents, for a rough figure")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--only", choices=GROUPS, help="one group of rows; without it, all but scale")
    chosen = parser.parse_args()
    runs, n_documents = (1, 1000) if chosen.quick else (5, 10_000)
    rows = []
    for name, part in GROUPS.items():
        if chosen.only == name or (not chosen.only and name != "scale"):
            for row in part(runs, n_documents):
                rows.append(row)
                print(f"measured: {row.work} against {row.against}: {row.ratio:.3g}", file=sys.stderr)
    if chosen.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
        return
    table = [["work", "against", "ours", "theirs", "ratio", "figure", "met"], *(row.cells() for row in rows)]
    widths = [max(len(line[c]) for line in table) for c in range(len(table[0]))]
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


if __name__ == "__main__":
    main()
