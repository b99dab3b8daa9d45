"""Part of speech of tweets, and whether a word is a verb."""

from __future__ import annotations

from functools import partial

import pandas as pd

from corefsample.calibration import calibration_error
from corefsample.tagging import ConditionalRandomField, HiddenMarkovModel
from corefsample.tagging._labelled import SequenceModel
from tagger_studies import corpora
from tagger_studies.results import (
    DOES_NOT_HOLD,
    Output,
    accuracy,
    blocks_of,
    curves_figure,
    difference,
    holds,
    measured,
    shown,
    squared_ratio,
    verdict,
)

PSEUDOCOUNTS = (0.001, 0.01, 0.1, 1.0)
L2 = {"basic": (0.01, 0.1, 1.0), "advanced": (0.02, 0.1, 0.5)}
ITERATIONS = 100
BIN_SIZE = 500
TAG = "V"
ONE, CHOSEN, BASIC, ADVANCED = "HMM, pseudocount 1", "HMM, pseudocount chosen on dev", "CRF-basic", "CRF-advanced"


def run(output: Output) -> None:
    """Run the study `tweets`."""
    split = corpora.tweets()
    output.say(f"Tweets: {split.described()}")
    rows = []

    def fitted(model: HiddenMarkovModel | ConditionalRandomField) -> tuple[float, SequenceModel]:
        result = accuracy(model.fit(split.train), split.dev)
        rows.append({"model": repr(model), "accuracy on dev": result})
        return result, model

    hmms = {c: fitted(HiddenMarkovModel(pseudocount=c)) for c in PSEUDOCOUNTS}
    crf = partial(ConditionalRandomField, max_iterations=20 if output.quick else ITERATIONS)
    crfs = {
        features: max((fitted(crf(features=features, l2=l2)) for l2 in grid[-1 if output.quick else 0 :]), key=first)
        for features, grid in L2.items()
    }
    output.table("tweets-settings", "Settings, by accuracy on dev", pd.DataFrame(rows))
    models = {
        ONE: hmms[1.0][1],
        CHOSEN: max(hmms.values(), key=first)[1],
        BASIC: crfs["basic"][1],
        ADVANCED: crfs["advanced"][1],
    }
    found = {name: measured(model, split.test) for name, model in models.items()}
    verbs = {name: each.pairs.of(TAG) for name, each in found.items()}
    table = []
    for name, each in found.items():
        q, y, documents = verbs[name].q, verbs[name].y, verbs[name].documents
        error = calibration_error(q, y, bin_size=BIN_SIZE, documents=documents, debiased=False)
        table.append(
            {
                "model": name,
                "accuracy": each.accuracy(),
                "confidence - accuracy": each.overconfidence(),
                f'CalibErr of "{TAG}", bins of {BIN_SIZE}': shown(error.estimate, (error.lower, error.upper)),
                "its square (CalibMSE)": f"{error.estimate**2:.5f}",
                "CalibErr of all tags, bins of 5,000": each.error(5000),
            }
        )
    output.table("tweets-models", "Models: tweets, test", pd.DataFrame(table))
    for one, other in ((BASIC, CHOSEN), (BASIC, ONE), (ADVANCED, BASIC)):
        blocks = blocks_of(verbs[one], BIN_SIZE), blocks_of(verbs[other], BIN_SIZE)
        change, ends = difference(*blocks)
        name, lower = f'error of "{TAG}": {one} against {other}', holds(ends, True)
        output.claim(f"{name}: lower", "lower", f"RMS difference {shown(change, ends)}", lower)
        here, about_half = squared_ratio(*blocks)
        about_half = DOES_NOT_HOLD if lower == DOES_NOT_HOLD else about_half
        output.claim(f"{name}: about a half", "ratio of MSE about 1/2", f"ratio of MSE {here}", about_half)
    right, (low, high) = found[ADVANCED].right()
    here = shown(right, (low, high))
    output.claim("accuracy of CRF-advanced", "about 87%", here, verdict(low <= 0.87 <= high))
    output.figure("study-tweets-curves", curves_figure(verbs, BIN_SIZE))
    output.write_claims("tweets")


def first(result: tuple[float, SequenceModel]) -> float:
    """Accuracy of a fitted model."""
    return result[0]
