"""Naive Bayes against logistic regression: sentences of informative prose against others.

The task is made from the written part of MASC. Positive sentences come from newspapers, journals, essays, non-fiction,
technical texts, government documents and travel guides; negative ones from blogs, email, letters, fiction and jokes.
There are equally many of both, as in the paper. Documents do not cross the split.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB

from corefsample.calibration import calibration_error
from tagger_studies import corpora
from tagger_studies.results import (
    DOES_NOT_HOLD,
    NOT_DECIDED,
    Measured,
    Output,
    blocks_of,
    curves_figure,
    difference,
    ends_of,
    errors,
    holds,
    measured,
    ratio,
    resamples,
    shown,
    verdict,
)
from tagger_studies.texts import LabelledText, TextClassifier

INFORMATIVE = ("newspaper", "journal", "essays", "non-fiction", "technical", "govt-docs", "travel-guides")
OTHER = ("blog", "email", "letters", "fiction", "ficlets", "jokes")
YES, NO = "informative", "other"
PSEUDOCOUNTS = (0.001, 0.003, 0.01, 0.1, 1.0)
L2 = (1.0, 3.0, 10.0, 30.0)
BIN_SIZE = 250
SHORTEST = 5  # words of a sentence


def run(output: Output) -> None:
    """Run the study `classification`."""
    texts = task()
    for name, part in zip(("train", "dev", "test"), texts, strict=True):
        n_documents = len({text.doc_id for text in part})
        output.say(f"{name}: {len(part):,} sentences of {n_documents} documents, {share(part):.1%} informative")
    train, dev, test = texts
    rows, best = [], {}
    for name, models in (
        ("naive Bayes", [TextClassifier(BernoulliNB(alpha=c)) for c in PSEUDOCOUNTS]),
        (
            "logistic regression",
            [TextClassifier(LogisticRegression(C=1.0 / l2, max_iter=1_000, tol=1e-6)) for l2 in L2],
        ),
    ):
        for model in models[2:3] if output.quick else models:
            found = measured(model.fit(train), dev)
            score = f1(found)[0]
            rows.append({"model": repr(model), "F1 on dev": score})
            if name not in best or score > best[name][0]:
                best[name] = score, model
    output.table("classification-settings", "Settings, by F1 on dev", pd.DataFrame(rows))
    found = {name: measured(model, test) for name, (_, model) in best.items()}
    pairs = {name: each.pairs.of(YES) for name, each in found.items()}
    table = []
    for name, each in found.items():
        q, y, documents = pairs[name].q, pairs[name].y, pairs[name].documents
        error = calibration_error(q, y, bin_size=BIN_SIZE, documents=documents, debiased=False)
        table.append(
            {
                "model": repr(best[name][1]),
                "F1": shown(*f1(each)),
                "confidence - accuracy": each.overconfidence(),
                f"CalibErr, bins of {BIN_SIZE}": shown(error.estimate, (error.lower, error.upper)),
            }
        )
    output.table("classification-models", "Models: test", pd.DataFrame(table))
    claims(found, pairs, output)
    output.figure("study-classification-curves", curves_figure(pairs, BIN_SIZE))


def claims(found: dict[str, Measured], pairs: dict, output: Output) -> None:
    bayes, logistic = (blocks_of(pairs[name], BIN_SIZE) for name in ("naive Bayes", "logistic regression"))
    change, ends = difference(logistic, bayes)
    weights = resamples(logistic.n_blocks)
    whole = np.ones((1, logistic.n_blocks))
    part = float((errors(logistic, whole) / errors(bayes, whole))[0])
    ratio_ends = ends_of(errors(logistic, weights) / errors(bayes, weights))
    here = f"LR minus NB {shown(change, ends)}"
    output.claim("logistic regression has the lower error", "0.041 against 0.105", here, holds(ends, True))
    half = holds((ratio_ends[0] - 0.5, ratio_ends[1] - 0.5), True)
    output.claim("it has less than half the error", "ratio 0.39", f"ratio {shown(part, ratio_ends, 2)}", half)
    scores = {name: f1(each)[0] for name, each in found.items()}
    here = f"NB {scores['naive Bayes']:.1%}, LR {scores['logistic regression']:.1%}"
    like = abs(scores["naive Bayes"] - scores["logistic regression"]) < 0.02
    output.claim("at like F1 (within 2 points)", "NB 73.8%, LR 72.9%", here, verdict(like))
    for name in found:
        blocks = blocks_of(pairs[name], BIN_SIZE)
        low = blocks.bins.mean_q < 0.5
        gaps = blocks.sum_y - blocks.sum_q
        below, above = (ratio(gaps[:, c].sum(1), blocks.n[:, c].sum(1), blocks.n_blocks) for c in (low, ~low))
        here = f"labels minus predictions: {shown(*below, 3)} below 1/2, {shown(*above, 3)} above"
        verdicts = {holds(below[1], False), holds(above[1], True)}
        good = verdicts.pop() if len(verdicts) == 1 else DOES_NOT_HOLD if DOES_NOT_HOLD in verdicts else NOT_DECIDED
        output.claim(f"{name}: predictions too low in the lower range, too high in the higher", "figure 2", here, good)
    output.write_claims("classification")


def task() -> tuple[list[LabelledText], list[LabelledText], list[LabelledText]]:
    """Texts for training, dev and test: equally many of both labels in each, split by document."""
    sentences = [each for each in corpora.masc_sentences(*INFORMATIVE, *OTHER) if len(each.words) >= SHORTEST]
    split = corpora.split_by_document(sentences)
    parts = []
    for part in (split.train, split.dev, split.test):
        texts = [
            LabelledText(
                tuple(word.lower() for word in each.words),
                YES if each.doc_id.partition("/")[0] in INFORMATIVE else NO,
                each.doc_id,
            )
            for each in part
        ]
        parts.append(balanced(texts))
    return parts[0], parts[1], parts[2]


def balanced(texts: Sequence[LabelledText]) -> list[LabelledText]:
    """Leave out texts of the more frequent label, at random, until there are equally many of both."""
    groups = [[number for number, text in enumerate(texts) if text.label == label] for label in (YES, NO)]
    n = min(map(len, groups))
    rng = np.random.default_rng(0)
    chosen = np.concatenate([rng.choice(group, n, replace=False) for group in groups])
    return [texts[number] for number in np.sort(chosen)]


def share(texts: Sequence[LabelledText]) -> float:
    return sum(text.label == YES for text in texts) / len(texts)


def f1(found: Measured) -> tuple[float, tuple[float, float]]:
    """F1 of the positive label, with its interval by document."""
    pairs = found.pairs.of(YES)
    counts = np.zeros((len(pairs.doc_ids), 3))
    yes, gold = pairs.q > 0.5, pairs.y == 1.0
    for place, hits in enumerate((yes & gold, yes, gold)):
        np.add.at(counts[:, place], pairs.documents, hits)
    score = 2.0 * counts[:, 0].sum() / counts[:, 1:].sum()
    drawn = resamples(counts.shape[0]) @ counts
    return float(score), ends_of(2.0 * drawn[:, 0] / drawn[:, 1:].sum(axis=1))
