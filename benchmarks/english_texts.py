"""What the English model is trained on: documents of GUM and LitBank; all, or without genres of GUM.

LitBank annotates people, places, organisations, vehicles and the like alone, and its predicates and appositions are
entities by themselves, which GUM merges. So these mentions are left out, as are all phrases that it does not annotate,
and NEW has weights of its own for its documents. Its losses have a smaller weight, which was chosen by the losses of
links on genres left out of GUM and on half of LitBank.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from corefsample.documents._annotated import AnnotatedDocument
from corefsample.formats.annotated._corefud import read_corefud
from corefsample.scorers.log_linear._examples import TrainingTexts
from corefsample.scorers.log_linear._training import train

# GUM's genres whose texts are CC BY or in the public domain, and their licences.
LICENCES = {
    "academic": "CC BY 4.0",
    "conversation": "CC BY",
    "court": "CC BY 4.0",
    "interview": "CC BY 2.5",
    "news": "CC BY 2.5",
    "speech": "public domain",
    "textbook": "CC BY",
    "vlog": "CC BY",
}
ENGLISH_GENRES = tuple(LICENCES)
SHARED = Path(__file__).parents[1] / ".." / "shared"
GUM_TRAIN = SHARED / "data" / "gum" / "en_gum-ud-train.conllu.gz"
LITBANK = SHARED / "data" / "litbank" / "litbank-part1.conllu.gz"
LITBANK_WEIGHT = 0.6


def genre_of(doc_id: str) -> str:
    """Genre of a document of GUM: GUM_news_asylum is news."""
    return doc_id.split("_")[1]


@cache
def gum_documents() -> tuple[AnnotatedDocument, ...]:
    """Documents of GUM's train part whose texts have a free licence."""
    return tuple(each for each in read_corefud(GUM_TRAIN) if genre_of(each.doc_id) in LICENCES)


@cache
def litbank_documents() -> tuple[AnnotatedDocument, ...]:
    """Documents of LitBank without the predicates and appositions that are entities by themselves."""
    return tuple(map(_without_predicates, read_corefud(LITBANK)))


def _without_predicates(document: AnnotatedDocument) -> AnnotatedDocument:
    tokens, n_mentions = document.tokens, Counter(document.entities)
    predicates = {int(tokens.head[t]) for t, label in enumerate(tokens.dep) if label == "cop"}
    predicates |= {t for t, label in enumerate(tokens.dep) if label == "appos"}
    heads = document.mentions[:, 2].tolist()
    is_kept = np.array(
        [
            n_mentions[entity] > 1 or head not in predicates
            for entity, head in zip(document.entities, heads, strict=True)
        ]
    )
    entities = [entity for entity, kept in zip(document.entities, is_kept, strict=True) if kept]
    return dataclasses.replace(document, mentions=document.mentions[is_kept], entities=entities, attributes={})


def trained(without: Collection[str] = (), **options: Any) -> Any:
    """Train the English model without genres of GUM; further options are those of `train`."""
    return train(
        [each for each in gum_documents() if genre_of(each.doc_id) not in without],
        mentions="both",
        windows=True,
        further=[TrainingTexts(litbank_documents(), LITBANK_WEIGHT, mentions="both", windows=True, partial=True)],
        **{"epochs": 3, "orders": 3, "link_weight": 15.0, **options},
    )


def sources() -> Iterator[dict[str, str]]:
    """Document, genre, licence, author, title and source of each text."""
    for document in gum_documents():
        notes = {key.removeprefix("meta::"): str(value) for key, value in document.metadata.items()}
        genre = notes["genre"]
        author = notes.get("author") or notes.get("speakerList") or ""
        yield {
            "doc_id": document.doc_id,
            "genre": genre,
            "licence": LICENCES[genre],
            "author": author,
            "title": notes.get("title", ""),
            "source": notes["sourceURL"],
        }
    for document in litbank_documents():
        number, _, title = document.doc_id.removesuffix("_brat_0").partition("_")
        yield {
            "doc_id": document.doc_id,
            "genre": "novel",
            "licence": "public domain",
            "author": "",
            "title": title.replace("_", " "),
            "source": f"https://www.gutenberg.org/ebooks/{number}",
        }
