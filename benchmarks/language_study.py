"""Accuracy in another language: python benchmarks/language_study.py [CORPUS] [--language CODE ...].

The documents of an annotated corpus are cut into halves in their order; a model is trained on each half and tested on
the other. Printed are means over both: CoNLL F1 without singletons of the likeliest antecedents' clusterings, with
annotated mentions (zeros included) by a model trained on these, and with those of the parse by a model trained on
these, where a mention that is not annotated with this span is scored as the annotated one of the same head; the loss
per annotated mention in nats; and the calibration error of links (RMS). By default: AnCora (part 1), with the resources
of Spanish, of English, and of none. --words leaves zeros out: they are in the key as mentions that nobody found.
--both trains one model as those that ship: on both kinds of mentions, and on windows.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from corefsample import ScoredDocument, calibration, link_marginals, map_clustering
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.formats.annotated._corefud import read_corefud
from corefsample.languages._language import load_language
from corefsample.mention_ranking import AntecedentModel, score_documents
from corefsample.mention_ranking._model import MentionSource
from corefsample.mention_ranking._readings import gold_of_found
from corefsample.mention_ranking._training import held_out_figures, train
from corefsample.metrics import corpus_scores
from corefsample.metrics._posterior import clustering_scores

ANCORA = Path(__file__).parents[1] / ".." / "shared" / "data" / "ancora" / "es_ancora-part1.conllu.gz"


def without_zeros(document: AnnotatedDocument) -> AnnotatedDocument:
    """The document without the mentions of empty nodes."""
    empty = document.tokens.extra.get("empty", [""] * len(document.tokens))
    kept = [i for i, head in enumerate(document.mentions[:, 2].tolist()) if not empty[head]]
    entities = [document.entities[i] for i in kept]
    return dataclasses.replace(document, mentions=document.mentions[kept], entities=entities, attributes={})


def conll(scored: Sequence[ScoredDocument], key: Sequence[AnnotatedDocument]) -> float:
    """CoNLL F1 without singletons, in percent; a response's mention is the annotated one of its span or its head."""
    found = []
    for document, response in zip(key, scored, strict=True):
        places = gold_of_found(document.mentions, list(range(document.n_mentions)), response.mentions)
        spans = response.mentions.copy()
        for i, place in enumerate(places):
            if place is not None:
                spans[i] = document.mentions[int(place)]
        labels = map_clustering(response.antecedents)
        found.append(
            clustering_scores(
                list(document.entities), labels, key_spans=document.mentions, response_spans=spans, singletons=False
            )
        )
    return 100 * corpus_scores(found).corpus.conll.f1


def calibration_error(scored: Sequence[ScoredDocument]) -> float:
    """Calibration error of the link marginals of all pairs of mentions."""
    marginals, truths = [], []
    for document in scored:
        later, earlier = np.tril_indices(document.n_mentions, -1)
        entities = np.unique([str(each) for each in document.gold or ()], return_inverse=True)[1]
        marginals.append(link_marginals(document.antecedents)[later, earlier])
        truths.append(entities[later] == entities[earlier])
    q, y = np.concatenate(marginals), np.concatenate(truths).astype(float)
    return calibration.calibration_error(q, y, interval=None).estimate


def tested(
    seen: Sequence[AnnotatedDocument], unseen: Sequence[AnnotatedDocument], language: str, *, zeros: bool, both: bool
) -> dict[str, float]:
    """Figures of the models of one half on the other half."""

    def trained(mentions: MentionSource) -> AntecedentModel:
        documents = seen if zeros else [without_zeros(each) for each in seen]
        recipe: dict[str, Any] = {"mentions": "both", "windows": True} if both else {"mentions": mentions}
        return train(documents, language=load_language(language), epochs=3, n_threads=1, **recipe)

    model = trained("annotated")
    readable = unseen if zeros else [without_zeros(each) for each in unseen]
    own = list(score_documents(model, readable))
    of_parse = list(score_documents(model if both else trained("parse"), readable, mentions="parse"))
    return {
        "annotated": conll(own, unseen),
        "parse": conll(of_parse, unseen),
        "loss": held_out_figures(model, readable).loss,
        "calibration error": calibration_error(own),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="?", type=Path, default=ANCORA)
    parser.add_argument("--language", nargs="+", default=["es", "none", "en"])
    parser.add_argument("--words", action="store_true")
    parser.add_argument("--both", action="store_true", help="one model, by the recipe of the models that ship")
    arguments = parser.parse_args()
    documents = [each for each in read_corefud(arguments.corpus) if each.n_mentions]
    half = len(documents) // 2
    halves = documents[:half], documents[half:]
    print(f"{len(documents)} documents, {sum(each.n_mentions for each in documents):,} annotated mentions")
    for language in arguments.language:
        rows = [
            tested(*pair, language, zeros=not arguments.words, both=arguments.both) for pair in (halves, halves[::-1])
        ]
        mean = pd.DataFrame(rows).mean().round(4)
        print(
            f"{language:5}", *(f"{name} {np.round(value, 4):g}" for name, value in mean.items()), sep="  ", flush=True
        )


if __name__ == "__main__":
    main()
