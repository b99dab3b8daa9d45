"""Texts of a report's documents with mentions, entities and antecedents, packed for the page.

A part is some documents as JSON, deflated, in base64; the browser unpacks a part when it is needed. A document has

===== ====================================================================================================
tokens    words, each with a blank before it if the text has one
sentences first token of each sentence
mentions  start, end and entity of each mention; entity 0 is a mention alone
estimate  entity of each mention in the estimate with the smallest Binder loss, numbered in the same way
links     for each mention: antecedents, the likeliest first, with their probability p in thousandths
new       for each mention: probability of NEW, in thousandths
best      for each mention: its likeliest antecedent, -1 for NEW
about     names and values of the document's metadata, without the fingerprint of its recalibration
events    by number of the actor: instances, descriptions, reasons, and parses at the triggers, as in `places`
===== ====================================================================================================
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._clusterings import map_clustering
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._scored import RECALIBRATION_FIELD, ScoredDocument
from corefsample.errors import InputError
from corefsample.formats import DocumentStream
from corefsample.summaries import point_estimate
from events.pages._marked_texts import spaced
from events.pages._rendering import packed_parts

Places = list[tuple[int, str]]  # the evidence of a document: number of the actor, and the column `places`

_MAX_ANTECEDENTS = 5  # per mention
_MIN_PROBABILITY = 0.001  # of an antecedent in the page
_MAX_VALUE_LENGTH = 400  # letters of a metadata value


def document_texts(path: Path, wanted: Mapping[str, Places]) -> tuple[list[str], dict[str, int]]:
    """Read texts of documents from a run's folder, and pack them.

    Parameters
    ----------
    path
        documents.parquet of the run.
    wanted
        The documents to read: doc_id and the places of its events.

    Returns
    -------
    list of str
        The packed parts.
    dict of str to int
        Number of each document, by doc_id; divided by `PER_PART`, the quotient is the part and the remainder the place
        in it.

    Raises
    ------
    InputError
        If the file lacks one of the documents, or an event lies outside its document.
    """
    numbers: dict[str, int] = {}

    def contents() -> Iterator[dict[str, Any]]:
        batch: DocumentBatch
        for batch in DocumentStream(path, needs=("date", "tokens")) if wanted else ():
            for row, doc_id in enumerate(batch.doc_ids):
                if doc_id in wanted:
                    numbers[doc_id] = len(numbers)
                    yield _content(batch.document(row), wanted[doc_id], f"{path}: doc_id {doc_id!r}")

    parts = packed_parts(contents())
    missing = [doc_id for doc_id in wanted if doc_id not in numbers]
    if missing:
        raise InputError(f"doc_id {missing[0]!r} of the evidence is missing", place=str(path))
    return parts, numbers


def _content(document: ScoredDocument, places: Places, place: str) -> dict[str, Any]:
    tokens, antecedents = document.tokens, document.antecedents
    if tokens is None:
        raise InputError("tokens are missing", place=place)
    spans = document.mentions[:, :2].tolist()
    entities = _entities(map_clustering(antecedents).tolist())
    estimate = point_estimate(antecedents, loss="binder")  # from exact link marginals
    return {
        "tokens": spaced(tokens),
        "sentences": [start for start, _ in tokens.sentences().values()],
        "mentions": [
            {"start": start, "end": end, "entity": entity} for (start, end), entity in zip(spans, entities, strict=True)
        ],
        "estimate": _entities(estimate.labels.tolist()),
        "links": [_likeliest(antecedents, i) for i in range(document.n_mentions)],
        "new": np.rint(1000.0 * antecedents.new_probs).astype(int).tolist(),
        "best": [_best(antecedents, i) for i in range(document.n_mentions)],
        "about": [[name, _short(value)] for name, value in document.metadata.items() if name != RECALIBRATION_FIELD],
        "events": {actor: named_places(text) for actor, text in places},
    }


def named_places(text: str) -> dict[str, Any]:
    """Content of the column `places` for the page, with probabilities in thousandths.

    Its numbers are those of tokens and mentions, of which -1 stands for a role that nothing fills.
    """
    places = json.loads(text)
    content: dict[str, list[dict[str, Any]]] = {
        "instances": [
            {"trigger": trigger, "mentions": [m for m in mentions if m != -1], "p": _thousandths(p)}
            for trigger, mentions, p in places["instances"]
        ],
        "descriptions": [
            {"mention": mention, "words": words, "p": _thousandths(p)}
            for mention, _, words, p in places["descriptions"]
        ],
        "reasons": [
            {"text": name, "p": _thousandths(p), "mentions": [m for m, _ in others if m != -1]}
            for name, p, others in places["reasons"]
        ],
    }
    if places.get("parses") is not None:
        content["parses"] = [
            {"trigger": trigger, "text": text, "share": _thousandths(share), "p": _thousandths(p)}
            for trigger, text, share, p in places["parses"]
        ]
    return content


def _entities(labels: Sequence[int]) -> list[int]:
    """Number the entities with several mentions from 1, in the order of the text; other mentions get 0."""
    sizes: dict[int, int] = {}
    for label in labels:
        sizes[label] = sizes.get(label, 0) + 1
    numbers: dict[int, int] = {}
    return [numbers.setdefault(label, len(numbers) + 1) if sizes[label] > 1 else 0 for label in labels]


def _likeliest(antecedents: AntecedentDistribution, mention: int) -> list[dict[str, int]]:
    candidates, probabilities = antecedents.row(mention)
    # Among equal ones the nearer first, as in the one best clustering.
    order = np.lexsort((-candidates, -probabilities))[:_MAX_ANTECEDENTS]
    likely = [k for k in order.tolist() if probabilities[k] >= _MIN_PROBABILITY]
    return [{"antecedent": int(candidates[k]), "p": _thousandths(probabilities[k])} for k in likely]


def _best(antecedents: AntecedentDistribution, mention: int) -> int:
    candidates, probabilities = antecedents.row(mention)
    if not probabilities.size or antecedents.new_probs[mention] >= probabilities.max():
        return -1
    return int(candidates[np.flatnonzero(probabilities == probabilities.max())[-1]])


def _thousandths(probability: float) -> int:
    return round(1000.0 * probability)


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[:_MAX_VALUE_LENGTH]}..."
