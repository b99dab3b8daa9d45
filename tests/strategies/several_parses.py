"""What hypothesis draws: documents with several parses, as JSON objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from strategies.documents import (
    Document,
    antecedent_lists,
    entity_ids,
    identifiers,
    json_values,
    mention_lists,
    metadata_names,
    renamed,
    token_columns,
    words,
)

Draw = Callable[[st.SearchStrategy[Any]], Any]

weights = st.one_of(st.integers(0, 20), st.floats(0.0, 1e6, allow_subnormal=False))


@st.composite
def parses(draw: Draw, text: list[str], with_gold: bool) -> Document:
    """One parse of the given words, with all token columns."""
    n = len(text)
    mentions = draw(mention_lists(n, 4))
    antecedents, scores = draw(antecedent_lists(len(mentions), len(mentions)))
    parse = {
        "weight": draw(weights),
        "tokens": draw(token_columns(n)) | {"text": text},
        "mentions": [list(span) for span in mentions],
        "antecedents": antecedents,
        "scores": scores,
    }
    if with_gold:
        parse["gold"] = draw(st.lists(entity_ids, min_size=len(mentions), max_size=len(mentions)))
    return parse


@st.composite
def mixtures(draw: Draw, min_parses: int = 1) -> Document:
    """Any valid document of version 2; each parse has its tokens complete, and there are none beside the parses."""
    text = draw(st.lists(words, min_size=1, max_size=5))
    with_gold = draw(st.booleans())
    several = draw(st.lists(parses(text, with_gold), min_size=min_parses, max_size=4))
    if not any(parse["weight"] for parse in several):
        several[-1]["weight"] = 1
    names = metadata_names.filter(lambda name: name not in ("parses", "weight"))
    document: Document = {"version": 2, "doc_id": draw(identifiers)}
    if draw(st.booleans()):
        document["date"] = draw(st.dates()).isoformat()
    metadata = draw(st.dictionaries(names, json_values, max_size=2))
    return document | metadata | {"tokens": {}, "parses": several}


corpora = st.lists(mixtures(), max_size=3).map(renamed)


def one_parse(document: Document, parse: int) -> Document:
    """A document of version 1 with one of the parses."""
    own = {name: value for name, value in document["parses"][parse].items() if name != "weight"}
    tokens = {**document["tokens"], **own["tokens"]}
    rest = {name: value for name, value in document.items() if name not in ("version", "parses", "tokens")}
    return rest | own | {"tokens": tokens}
