"""The study `later` of benchmarks/studies.py: whether calibration helps what is computed from the probabilities.

Section 7 of Nguyen & O'Connor (2015) asks it of intervals, of estimates of minimum risk, of expectations, and of
pipelines. Here, on GUM: the same with the scores as they are, with scores that are overconfident on purpose, and
recalibrated by documents of other folds; and counts from words with parses sampled at temperature 1 and at the
calibrated one. Differences are paired by document. See docs/papers.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import parse_counts
from error_types import GUM
from query_study import QueryTable, match_queries
from summaries_study import N_DRAWS, corpus_f1
from tagger_studies.corpora import require
from tagger_studies.results import Output, ends_of, holds, resamples, shown

from corefsample import ScoredDocument, map_clustering, read_documents, sample_clusterings
from corefsample._arrays import Floats
from corefsample.documents._scored import gold_codes
from corefsample.formats.annotated._corefud import read_corefud
from corefsample.metrics._scores import ClusteringScores, clustering_scores, metric_posterior
from corefsample.recalibration import RecalibrationFitter
from corefsample.recalibration._model import Recalibration
from corefsample.scorers import load_scorer
from corefsample.summaries import expected_loss, point_estimate
from events.counts import count_pmf
from events.counts._credible_intervals import quantile_interval

OVERCONFIDENT, AS_SCORED, RECALIBRATED = "overconfident (scores times 2)", "as scored", "recalibrated"
METRICS = ("muc", "b3", "ceafe", "lea")
LEAST = 20  # documents of a query whose interval is checked
N_SAMPLES = 100
PARSES = 10
Variants = dict[str, list[Recalibration]]  # of each document


def variants_of(documents: Sequence[ScoredDocument]) -> Variants:
    """What is done to the scores of each document; recalibrations were fitted to the links of other documents."""
    fitted = RecalibrationFitter(documents, objective="links-log", unannotated="single").cross_fit(5)
    fold = dict(zip(fitted.doc_ids, fitted.folds.tolist(), strict=True))
    return {
        OVERCONFIDENT: [Recalibration(temperature=0.5)] * len(documents),
        AS_SCORED: [Recalibration()] * len(documents),
        RECALIBRATED: [fitted.recalibrations[fold[each.doc_id]] for each in documents],
    }


# --- estimates of minimum risk -----------------------------------------------------------------------------


def estimates(documents: Sequence[ScoredDocument], variants: Variants, output: Output) -> None:
    """CoNLL and VI of estimates, and the posterior's own expectation of both, by variant."""
    found = {name: [estimated(*each) for each in zip(documents, variants[name], strict=True)] for name in variants}
    weights = np.vstack((np.ones(len(documents)), resamples(len(documents), N_DRAWS)))

    def conll(name: str, estimate: str) -> Floats:
        counts = {m: np.array([each[estimate]["scores"].counts[m] for each in found[name]]) for m in METRICS}
        return 100.0 * corpus_f1(counts, weights)["conll"]

    def mean(name: str, estimate: str, of: str) -> Floats:
        values = np.array([each[estimate][of] for each in found[name]])
        return np.asarray(weights @ values / weights.sum(axis=1))

    rows = []
    for name in variants:
        conll_gap = 100.0 * (mean(name, "conll", "expected conll") - mean(name, "conll", "conll"))
        vi_gap = mean(name, "vi", "expected vi") - mean(name, "vi", "vi")
        row = {
            "scores": name,
            "CoNLL: likeliest antecedents": interval(conll(name, "map"), 2),
            "CoNLL estimate": interval(conll(name, "conll"), 2),
            "minus likeliest": interval(conll(name, "conll") - conll(name, "map"), 2),
            "expected minus achieved": interval(conll_gap, 2),
            "VI to gold: VI estimate": interval(mean(name, "vi", "vi"), 3),
            "VI, expected minus achieved": interval(vi_gap, 3),
        }
        rows.append(row)
    output.table("later-estimates", "Estimates of minimum risk", pd.DataFrame(rows))
    for before in (OVERCONFIDENT, AS_SCORED):
        change = conll(RECALIBRATED, "conll") - conll(before, "conll")
        claim(
            output,
            f"higher CoNLL of the minimum-risk estimate than {before} (task calibration error)",
            change,
            2,
            below=False,
        )
        change = mean(RECALIBRATED, "vi", "vi") - mean(before, "vi", "vi")
        claim(output, f"lower VI of the minimum-risk estimate than {before}", change, 3, below=True)
        gaps = [np.abs(mean(name, "vi", "expected vi") - mean(name, "vi", "vi")) for name in (RECALIBRATED, before)]
        claim(output, f"expected VI nearer to the achieved than {before}", gaps[0] - gaps[1], 3, below=True)


def estimated(document: ScoredDocument, recalibration: Recalibration) -> dict[str, dict[str, Any]]:
    """Scores against gold of the likeliest antecedents and of two estimates, and what the posterior expects."""
    dist = recalibration.apply_document(document).antecedents
    samples = sample_clusterings(dist, n_samples=N_SAMPLES, doc_id=document.doc_id)
    gold = gold_codes(document, "single")
    labels = {"map": map_clustering(dist)}
    labels |= {name: point_estimate(dist, loss=name, samples=samples).labels for name in ("conll", "vi")}  # type: ignore[arg-type]
    found = {}
    for name, own in labels.items():
        scores: ClusteringScores = clustering_scores(gold, own)
        found[name] = {
            "scores": scores,
            "conll": scores.conll.f1,
            "expected conll": metric_posterior(own, samples, metric="conll").mean,
            "vi": expected_loss(gold[None].astype(np.int32), own, loss="vi").value,
            "expected vi": expected_loss(samples, own, loss="vi").value,
        }
    return found


# --- intervals of counts -----------------------------------------------------------------------------------


def coverage(documents: Sequence[ScoredDocument], variants: Variants, output: Output) -> None:
    """Brier score of queries, and intervals of their counts over many documents, by variant."""
    by_id = {each.doc_id: k for k, each in enumerate(documents)}
    table = QueryTable(match_queries(each, unannotated="single") for each in documents)
    probs = {
        name: table.probabilities([each[by_id[doc_id]] for doc_id in table.doc_ids]) for name, each in variants.items()
    }
    n = len(table.documents)
    weights = np.vstack((np.ones(n), halves(n)))
    held, widths = {}, {}
    for name, p in probs.items():
        held[name], widths[name] = map(centred, counted(table, p, weights))
    sums = np.bincount(table.pair_documents, minlength=n)

    def brier(name: str) -> Floats:
        losses = np.bincount(table.pair_documents, (probs[name] - table.truth) ** 2, n)
        return centred((weights @ losses) / (weights @ sums))

    rows = [
        {
            "scores": name,
            "Brier score": interval(brier(name), 4),
            f"counts over {LEAST} documents or more: true count in the 95% interval": interval(held[name], 3),
            "mean width": interval(widths[name], 2),
        }
        for name in variants
    ]
    output.table("later-coverage", "Queries and intervals of their counts", pd.DataFrame(rows))
    for before in (OVERCONFIDENT, AS_SCORED):
        claim(output, f"lower Brier score of events than {before}", brier(RECALIBRATED) - brier(before), 4, below=True)
        change = held[RECALIBRATED] - held[before]
        claim(output, f"more intervals contain the true count than {before}", change, 3, below=False)
    change = widths[OVERCONFIDENT] - widths[RECALIBRATED]
    name = "overconfidence makes intervals narrower"
    output.claim(name, "section 7: too narrow", f"width {interval(change, 2)}", holds(ends_of(change[1:]), True))


def halves(n: int, n_draws: int = 200) -> Floats:
    """Random halves of the documents: (n_draws, n).

    An estimate from half of the documents, drawn without replacement, varies around its mean as one from all varies
    around the truth. Resampling with replacement would count documents twice, and these counts have wider
    distributions than those of different documents.
    """
    rng = np.random.default_rng(0)
    return np.array([rng.permutation(n) < n // 2 for _ in range(n_draws)], float)


def centred(values: Floats) -> Floats:
    """The estimate, and the draws moved such that their mean is the estimate."""
    return np.concatenate((values[:1], values[1:] + (values[0] - values[1:].mean())))


def counted(table: QueryTable, p: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Share of the counts whose 95% interval contains the true one, and mean width, for each choice of documents."""
    order = np.argsort(table.pair_queries, kind="stable")
    pairs_of = np.split(order, np.cumsum(np.bincount(table.pair_queries))[:-1])
    chosen = [pairs for pairs in pairs_of if len(pairs) >= LEAST]
    found = np.zeros((2, len(weights)))
    for draw, own in enumerate(weights):
        for pairs in chosen:
            used = pairs[own[table.pair_documents[pairs]] > 0.0]
            lower, upper = quantile_interval(count_pmf(p[used]), 0.95)
            found[:, draw] += lower <= table.truth[used].sum() <= upper, upper - lower
    return found[0] / len(chosen), found[1] / len(chosen)


# --- parses ------------------------------------------------------------------------------------------------


def parses(output: Output) -> None:
    """Counts from words with one parse, and with parses sampled at temperature 1 and at the calibrated one."""
    import spacy

    if not parse_counts.PIPELINE.exists():
        output.say("Parses: skipped, models/en_gum_ud must be in ../shared.")
        return
    nlp, model = spacy.load(parse_counts.PIPELINE), load_scorer()
    documents = [each for path in parse_counts.PARTS for each in read_corefud(path)][:: 10 if output.quick else 1]
    truths = [parse_counts.gold_queries(each) for each in documents]
    names: dict[str, float | None] = {"temperature 1": 1.0, "calibrated temperature": None}
    losses: dict[str, list[float]] = {name: [] for name in ("one parse", *names)}
    sizes = []
    for document, truth in zip(documents, truths, strict=True):
        parsed = nlp(parse_counts.spacy_doc(document, nlp))
        drawn = {
            name: parse_counts.parse_samples(nlp, parsed, PARSES, temperature=temperature, doc_id=document.doc_id)
            for name, temperature in names.items()
        }
        drawn["one parse"] = [parsed]
        shares = {name: parse_counts.document_shares(each, document.doc_id, model) for name, each in drawn.items()}
        queries = {*truth, *(query for each in shares.values() for query in each)}
        sizes.append(len(queries))
        for name, own in shares.items():
            losses[name].append(sum((own.get(query, 0.0) - truth.get(query, False)) ** 2 for query in queries))
    weights = np.vstack((np.ones(len(sizes)), resamples(len(sizes))))

    def brier(name: str) -> Floats:
        return np.asarray((weights @ np.array(losses[name])) / (weights @ np.array(sizes, float)))

    output.say(f"{len(documents)} documents, {PARSES} parses of each")
    rows = [{"parses": name, "Brier score": interval(brier(name), 4)} for name in losses]
    output.table("later-parses", "Counts from words", pd.DataFrame(rows))
    for before in ("one parse", "temperature 1"):
        change = brier("calibrated temperature") - brier(before)
        claim(output, f"parses at the calibrated temperature: lower Brier score than {before}", change, 4, below=True)


# --- common ------------------------------------------------------------------------------------------------


def interval(values: Floats, digits: int) -> str:
    """The first value with the percentile interval of the others, which are resamples of documents."""
    return shown(float(values[0]), ends_of(values[1:]), digits)


def claim(output: Output, name: str, change: Floats, digits: int, *, below: bool) -> None:
    """A claim that recalibration changes something, by the sign of the change."""
    verdict = holds(ends_of(change[1:]), below)
    output.claim(f"recalibrated: {name}", "section 7: asked", f"difference {interval(change, digits)}", verdict)


def run(output: Output) -> None:
    """Run the study `later`."""
    require(GUM)
    documents = list(read_documents(GUM))
    if output.quick:
        documents = documents[::6]
    variants = variants_of(documents)
    coverage(documents, variants, output)
    some = slice(None, None, 4 if output.quick else 5)
    estimates(documents[some], {name: each[some] for name, each in variants.items()}, output)
    parses(output)
    output.write_claims("later")
