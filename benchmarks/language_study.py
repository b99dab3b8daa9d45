"""Accuracy in another language: python benchmarks/language_study.py [CORPUS] [--language CODE ...] [--folds K].

The documents of an annotated corpus are cut into K parts in their order, by default two; each part is scored by a
model that was trained on the others. Printed are the figures of the whole corpus: CoNLL F1 without singletons of the
likeliest antecedents' clusterings, with annotated mentions (zeros included) by a model trained on these, and with
those of the parse by a model trained on these, where a mention that is not annotated with this span is scored as the
annotated one of the same head; the loss per annotated mention in nats; and the calibration error of links (RMS). By
default: AnCora (part 1), with the resources of Spanish, of English, and of none. --words leaves zeros out: they are in
the key as mentions that nobody found. --both trains one model as those that ship: on both kinds of mentions, and on
windows. --recalibrated recalibrates all scores by kind, each document without its fifth; the loss is that before.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from held_out_scores import held_out_figures

from corefsample import ScoredDocument, calibration, link_marginals, map_clustering
from corefsample._arrays import Bools, Floats
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.formats.annotated._corefud import read_corefud
from corefsample.languages._language import load_language
from corefsample.metrics._scores import clustering_scores, corpus_scores
from corefsample.recalibration import RecalibrationFitter
from corefsample.scorers import score_documents
from corefsample.scorers._scoring import gold_of_parse
from corefsample.scorers.log_linear._model import AntecedentModel
from corefsample.scorers.log_linear._training import Start, train
from corefsample.scorers.protocol import HeldOutFigures, MentionSource

ANCORA = Path(__file__).parents[1] / ".." / "shared" / "data" / "ancora" / "es_ancora-part1.conllu.gz"
RECALIBRATION_FOLDS = 5


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
        places = gold_of_parse(document.mentions, list(range(document.n_mentions)), response.mentions)
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
    return 100 * corpus_scores(found).conll.f1


def link_pairs(scored: Sequence[ScoredDocument]) -> tuple[Floats, Bools]:
    """Link marginals of all pairs of mentions of one document, and whether they are of one entity."""
    marginals, truths = [], []
    for document in scored:
        later, earlier = np.tril_indices(document.n_mentions, -1)
        names = [f"alone {i}" if name is None else f"in {name}" for i, name in enumerate(document.gold or ())]
        entities = np.unique(names, return_inverse=True)[1]
        marginals.append(link_marginals(document.antecedents)[later, earlier])
        truths.append(entities[later] == entities[earlier])
    return np.concatenate(marginals), np.concatenate(truths)


def calibration_error(scored: Sequence[ScoredDocument]) -> float:
    """Calibration error of the link marginals of all pairs of mentions."""
    q, y = link_pairs(scored)
    return calibration.calibration_error(q, y.astype(float), interval=None, debiased=False).estimate


@dataclasses.dataclass(frozen=True, slots=True)
class TestedPart:
    """Scores of one part of the corpus by models trained on the others, in the order of its documents."""

    annotated: list[ScoredDocument]
    parse: list[ScoredDocument]
    loss: HeldOutFigures


def recalibrated(scored: Sequence[ScoredDocument]) -> list[ScoredDocument]:
    """Scores with a recalibration of the kind that ships, fitted to the documents of other folds."""
    fitter = RecalibrationFitter(scored, objective="links-log", form="kinds", unannotated="single")
    fit = fitter.cross_fit(RECALIBRATION_FOLDS)
    folds = dict(zip(fit.doc_ids, fit.folds.tolist(), strict=True))
    return [fit.recalibrations[folds[each.doc_id]].apply_document(each) for each in scored]


def tested(
    seen: Sequence[AnnotatedDocument],
    unseen: Sequence[AnnotatedDocument],
    language: str,
    *,
    zeros: bool,
    both: bool,
    start: Start | None,
) -> TestedPart:
    """Scores of one part by the models of the others."""

    def trained(mentions: MentionSource) -> AntecedentModel:
        documents = seen if zeros else [without_zeros(each) for each in seen]
        recipe: dict[str, Any] = {"mentions": "both", "windows": True} if both else {"mentions": mentions}
        return train(documents, language=load_language(language), epochs=3, start=start, **recipe)

    model = trained("annotated")
    readable = unseen if zeros else [without_zeros(each) for each in unseen]
    of_parse = score_documents(model if both else trained("parse"), readable, mentions="parse")
    own = list(score_documents(model, readable))
    return TestedPart(own, list(of_parse), held_out_figures(model, readable))


def figures(
    parts: Sequence[TestedPart], documents: Sequence[AnnotatedDocument], *, recalibrate: bool
) -> dict[str, float]:
    """Figures of the whole corpus, whose documents are those of the parts in their order."""
    own, parse = ([each for part in parts for each in getattr(part, name)] for name in ("annotated", "parse"))
    if recalibrate:
        own, parse = recalibrated(own), recalibrated(parse)
    n_mentions = [sum(each.n_mentions for each in part.annotated) for part in parts]
    return {
        "annotated": conll(own, documents),
        "parse": conll(parse, documents),
        "loss": float(np.average([part.loss.loss for part in parts], weights=n_mentions)),
        "calibration error": calibration_error(own),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="?", type=Path, default=ANCORA)
    parser.add_argument("--language", nargs="+", default=["es", "none", "en"])
    parser.add_argument("--folds", type=int, default=2, help="parts of the corpus")
    parser.add_argument("--words", action="store_true")
    parser.add_argument("--both", action="store_true", help="one model, by the recipe of the models that ship")
    parser.add_argument("--recalibrated", action="store_true", help="recalibrate scores, fitted to other documents")
    parser.add_argument(
        "--start", choices=get_args(Start), help="what models begin with; by default as `train` chooses"
    )
    arguments = parser.parse_args()
    documents = [each for each in read_corefud(arguments.corpus) if each.n_mentions]
    edges = np.arange(arguments.folds + 1) * len(documents) // arguments.folds
    print(f"{len(documents)} documents, {sum(each.n_mentions for each in documents):,} annotated mentions")
    options = {"zeros": not arguments.words, "both": arguments.both, "start": arguments.start}
    for language in arguments.language:
        parts = [
            tested([*documents[:start], *documents[end:]], documents[start:end], language, **options)
            for start, end in itertools.pairwise(edges.tolist())
        ]
        values = figures(parts, documents, recalibrate=arguments.recalibrated)
        print(f"{language:5}", *(f"{name} {value:.4g}" for name, value in values.items()), sep="  ", flush=True)


if __name__ == "__main__":
    main()
