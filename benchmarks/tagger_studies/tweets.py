"""Part of speech of tweets, and whether a word is a verb."""

from __future__ import annotations

from functools import partial

import pandas as pd

from corefsample.calibration import calibration_error
from corefsample.tagging import ConditionalRandomField, HiddenMarkovModel
from corefsample.tagging._sentences import SequenceModel
from tagger_studies import corpora
from tagger_studies.results import (
    Output,
    accuracy,
    blocks_of,
    curves_figure,
    difference,
    errors,
    holds,
    measured,
    resamples,
    shown,
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
        error = calibration_error(verbs[name].q, verbs[name].y, bin_size=BIN_SIZE, documents=verbs[name].documents)
        table.append(
            {
                "model": name,
                "accuracy": each.accuracy(),
                "confidence - accuracy": each.overconfidence(),
                f'CalibErr of "{TAG}", bins of {BIN_SIZE}': shown(error.estimate, (error.lower, error.upper)),
                "CalibErr of all tags, bins of 5,000": each.error(5000),
            }
        )
    output.table("tweets-models", "Models: tweets, test", pd.DataFrame(table))
    for one, other, source in (
        (BASIC, ONE, "about 1/2"),
        (BASIC, CHOSEN, "about 1/2"),
        (ADVANCED, BASIC, "about 1/2"),
    ):
        blocks = blocks_of(verbs[one], BIN_SIZE), blocks_of(verbs[other], BIN_SIZE)
        change, ends = difference(*blocks)
        weights = resamples(len(verbs[one].doc_ids))
        parts = errors(blocks[0], weights) / errors(blocks[1], weights)
        ratio = errors(blocks[0], weights[:1] * 0 + 1) / errors(blocks[1], weights[:1] * 0 + 1)
        lower, upper = (
            float(parts[order]) for order in parts.argsort()[[int(0.025 * len(parts)), int(0.975 * len(parts))]]
        )
        here = f"ratio {shown(float(ratio[0]), (lower, upper), 2)}, difference {shown(change, ends)}"
        output.claim(f'error of "{TAG}": {one} against {other}', source, here, holds(ends, True))
    right, (low, high) = found[ADVANCED].right()
    good = "yes" if low <= 0.87 <= high else "no"
    output.claim("accuracy of CRF-advanced", "about 87%", shown(right, (low, high)), good)
    output.figure("study-tweets-curves", curves_figure(verbs, BIN_SIZE))
    output.write_claims("tweets")


def first(result: tuple[float, SequenceModel]) -> float:
    """Accuracy of a fitted model."""
    return result[0]
