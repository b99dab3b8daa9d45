"""Are links of short texts calibrated? python benchmarks/window_calibration.py [--sentences N] [--model FILE].

GUM's dev and test documents are cut into windows of two sentences, and the mentions of each are scored as
`corefsample score` does: by the model of the package, recalibrated, or by another model, as it scores. Tables compare
the link probabilities with the truth, for annotated mentions and for those of the parse, which have the gold of their
span or head, or else are of no entity but their own.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import pairwise

import held_out_scores as held_out
import numpy as np
import pandas as pd

from corefsample import link_tables
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.recalibration._uncertain import chosen_recalibration, read_recalibration
from corefsample.scorers import load_scorer, score_documents
from corefsample.scorers._scoring import gold_entities, required_tokens
from corefsample.scorers.log_linear._examples import Reading, readings, window_of
from corefsample.scorers.protocol import MENTION_SOURCES, MentionSource

BOUNDS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
SCHEME = "ud2"  # a window may have labels of several schemes only


def windows(documents: Sequence[AnnotatedDocument], mentions: MentionSource, size: int) -> Iterator[AnnotatedDocument]:
    """Each run of some sentences with the mentions in it, as a document of its own."""
    for document in documents:
        own = Reading(required_tokens(document), document.mentions, gold_entities(document) or [], SCHEME)
        (whole,) = readings(own, mentions, None, document.doc_id)
        numbers = whole.tokens.sent // size
        for number in np.unique(numbers).tolist():
            cut = window_of(whole, numbers == number)
            yield AnnotatedDocument(f"{document.doc_id}-{number}", cut.tokens, cut.mentions, [*map(str, cut.gold)])


def compared(probs: np.typing.NDArray[np.float64], truth: np.typing.NDArray[np.uint8]) -> pd.DataFrame:
    """Mean probability and share of true links by probability; of all above one half, and of all."""
    parts = {f"{low:g} to {high:g}": (probs > low) & (probs <= high) for low, high in pairwise(BOUNDS)}
    parts |= {"above .5": probs > 0.5, "all": probs >= 0.0}
    rows = [(name, int(own.sum()), probs[own].mean(), truth[own].mean()) for name, own in parts.items()]
    return pd.DataFrame(rows, columns=["P", "links", "mean P", "true"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=2, help="of a window")
    parser.add_argument("--model", metavar="FILE", help="whose scores are not recalibrated; default: the package's")
    arguments = parser.parse_args()
    for mentions in MENTION_SOURCES:
        cut = windows(held_out.gum(("dev", "test")), mentions, arguments.sentences)
        model = load_scorer() if arguments.model is None else load_scorer(arguments.model)
        scored = score_documents(model, cut, scheme=SCHEME)
        if arguments.model is None:
            name = chosen_recalibration("english", mentions=mentions) or ""
            scored = map(read_recalibration(name).recalibration.apply_document, scored)
        pairs = link_tables(scored)
        table = compared(pairs.q, pairs.y).round(4).to_string(index=False)
        print(f"{pairs.n_documents:,} windows, mentions {mentions}\n{table}\n", flush=True)


if __name__ == "__main__":
    main()
