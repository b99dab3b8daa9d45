"""What hypothesis draws: distributions, documents as JSON objects, and ways to break a document or a line."""

import copy
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from references.coreference import FIELDS

from corefsample import AntecedentDistribution, ScoredDocument, Tokens

Json = Any
Document = dict[str, Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]


class Lists(NamedTuple):
    """A distribution as a user writes it."""

    antecedents: list[list[int]]
    scores: list[list[float]]


# --- distributions -----------------------------------------------------------------------------------------

# Ties, certainties (exp(-800) is exactly 0), and everything between.
any_scores = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 700.0, -700.0, 800.0, -800.0]),
    st.floats(-5.0, 5.0, allow_subnormal=False),
    st.floats(-1e6, 1e6, allow_subnormal=False),
)
# Quarters: sums and exponentials of different ones never come so close that rounding could make them a tie.
quarter_scores = st.integers(-12, 12).map(lambda quarters: quarters / 4)
mild_scores = st.floats(-3.0, 3.0, allow_subnormal=False)


@st.composite
def antecedent_lists(
    draw: Draw, min_mentions: int = 0, max_mentions: int = 6, scores: st.SearchStrategy[float] = any_scores
) -> Lists:
    """Candidates (any subset of the mentions before, in any order) and scores of each mention."""
    antecedents: list[list[int]] = []
    for i in range(draw(st.integers(min_mentions, max_mentions))):
        candidates = draw(st.lists(st.integers(0, i - 1), unique=True)) if i else []
        antecedents.append(candidates)
    return Lists(antecedents, [draw(st.lists(scores, min_size=len(row), max_size=len(row))) for row in antecedents])


# --- documents ---------------------------------------------------------------------------------------------

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
identifiers = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
metadata_names = words.filter(lambda name: name not in FIELDS)
entity_ids = st.none() | st.integers() | words


@st.composite
def token_columns(draw: Draw, n_tokens: int) -> dict[str, list[Any]]:
    """Token columns of a given length: random trees in an order of their own, sentences, further lists."""

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        drawn: list[Any] = draw(st.lists(values, min_size=n_tokens, max_size=n_tokens))
        return drawn

    order = draw(st.permutations(range(n_tokens)))
    heads = [-1] * n_tokens
    for place, token in enumerate(order):  # a head comes earlier in `order`, so that there is no cycle
        heads[token] = draw(st.sampled_from([-1, *order[:place]]))
    steps = column(st.integers(0, 2))
    sentences = [sum(steps[1 : t + 1]) for t in range(n_tokens)]
    columns = {"text": column(words), "lemma": column(words), "upos": column(words), "dep": column(words)}
    columns |= {"head": heads, "sent": sentences}
    for name in draw(st.lists(st.sampled_from(["xpos", "feats", "space_after", ""]), unique=True, max_size=2)):
        columns[name] = column(json_values)
    return columns


def mention_lists(n_tokens: int, most: int) -> st.SearchStrategy[list[Any]]:
    """Mentions in their order: start, end and head."""
    spans = st.integers(0, n_tokens - 1).flatmap(
        lambda start: st.integers(start + 1, n_tokens).flatmap(
            lambda end: st.tuples(st.just(start), st.just(end), st.integers(start, end - 1))
        )
    )
    return st.lists(spans, max_size=most).map(lambda drawn: sorted(drawn, key=lambda span: (span[0], -span[1])))


@st.composite
def documents(draw: Draw) -> Document:
    """Any valid document."""

    def maybe() -> bool:
        return bool(draw(st.booleans()))

    n_tokens = draw(st.integers(1, 6))
    mentions = draw(mention_lists(n_tokens, 5))
    antecedents, scores = draw(antecedent_lists(len(mentions), len(mentions)))
    document: Document = {"doc_id": draw(identifiers)}
    if maybe():
        document["version"] = 1
    if maybe():
        document["date"] = draw(st.dates()).isoformat()
    document |= {"mentions": [list(span) for span in mentions], "antecedents": antecedents, "scores": scores}
    if maybe():
        document["tokens"] = draw(token_columns(n_tokens))
    if maybe():
        document["gold"] = draw(st.lists(entity_ids, min_size=len(mentions), max_size=len(mentions)))
    metadata: Document = draw(st.dictionaries(metadata_names, json_values, max_size=2))
    return document | metadata


def one_word_document(lists: Any, gold: Any = None, doc_id: str = "d", **columns: Any) -> ScoredDocument:
    """A document of one-word mentions; it has tokens if some of their columns are given."""
    n, tokens = len(lists[0]), None
    if columns:
        blank = dict.fromkeys(("text", "lemma", "upos", "dep"), ["x"] * n)
        tokens = Tokens(**{**blank, "head": [-1] * n, "sent": [0] * n, **columns})
    mentions = np.array([[i, i + 1, i] for i in range(n)], np.int32).reshape(-1, 3)
    return ScoredDocument(doc_id, mentions, AntecedentDistribution.from_lists(*lists), tokens=tokens, gold=gold)


def renamed(many: Sequence[Document]) -> list[Document]:
    """The same documents with doc_ids that differ."""
    return [{**document, "doc_id": f"{document['doc_id']}-{number}"} for number, document in enumerate(many)]


corpora = st.lists(documents(), max_size=4).map(renamed)


COMPLETE: Document = {
    "version": 1,
    "doc_id": "complete",
    "date": "2024-05-06",
    "mentions": [[0, 3, 1], [0, 1, 0], [2, 3, 2]],
    "antecedents": [[], [0], [1, 0]],
    "scores": [[], [0.5], [-1.0, 2.0]],
    "tokens": {
        "text": ["American", "troops", "left"],
        "lemma": ["American", "troop", "leave"],
        "upos": ["ADJ", "NOUN", "VERB"],
        "dep": ["amod", "nsubj", "root"],
        "head": [1, 2, -1],
        "sent": [0, 0, 0],
        "xpos": ["JJ", "NNS", "VBD"],
    },
    "gold": ["e1", None, 7],
    "genre": "news",
}


# --- ways to break a document ------------------------------------------------------------------------------

Pick = Callable[[Sequence[Any]], Any]
Fragments = tuple[str, ...]


@dataclass(frozen=True)
class Breakage:
    """One way to break one rule; `edit` changes a document in place and returns what the message must say."""

    name: str
    edit: Callable[[Document, Pick], Fragments]

    def __repr__(self) -> str:
        return self.name


BREAKAGES: list[Breakage] = []


def put(field: str, value: Json, *expected: str, name: str) -> None:
    """Add the way that sets `field` (or `tokens.column`) to a value."""

    def edit(document: Document, pick: Pick) -> Fragments:
        owner, _, column = field.rpartition(".")
        (document[owner] if owner else document)[column] = copy.deepcopy(value)
        return (field, *expected)

    BREAKAGES.append(Breakage(name, edit))


def put_at(field: str, value: Json, *expected: str, name: str) -> None:
    """Add the way that sets one element of a list, of rows or of neither, to a value."""

    def edit(document: Document, pick: Pick) -> Fragments:
        owner, _, column = field.rpartition(".")
        values = (document[owner] if owner else document)[column]
        if field in ("antecedents", "scores", "mentions"):
            i = pick([i for i, row in enumerate(values) if row])
            k = pick(range(len(values[i])))
            values[i][k] = value
            return (f"{field}[{i}][{k}]", *expected)
        i = pick(range(len(values)))
        values[i] = value
        return (f"{field}[{i}]", *expected)

    BREAKAGES.append(Breakage(name, edit))


def remove(field: str) -> None:
    """Add the way that leaves `field` (or `tokens.column`) out."""

    def edit(document: Document, pick: Pick) -> Fragments:
        owner, _, column = field.rpartition(".")
        del (document[owner] if owner else document)[column]
        return (f"{field} is missing",)

    BREAKAGES.append(Breakage(f"{field}_missing", edit))


for _version in (2, 3, 0, "1", True, False, [1], {"is": 1}):
    put("version", _version, "must be 1", f"got {_version!r}", name=f"version_{_version!r}")
put("doc_id", "", "non-empty", "got ''", name="doc_id_empty")
put("doc_id", None, "null", name="doc_id_null")
put("doc_id", 7, "int", name="doc_id_number")
for _date in ("2024-13-01", "2024-02-30", "2024-1-1", "20240101", "2024-01-01T00:00:00", "soon", "", "٢٠٢٤-٠١-٠١"):
    put("date", _date, "ISO date", f"got {_date!r}", name=f"date_{_date or 'empty'}")
put("date", 20240101, "int", name="date_number")
for _field in ("mentions", "antecedents", "scores"):
    put(_field, None, "null", name=f"{_field}_null")
    put(_field, {}, "object", name=f"{_field}_object")
    put_at(_field, None, "null", name=f"{_field}_element_null")
    put_at(_field, "1", "str", name=f"{_field}_element_string")
    put_at(_field, True, "bool", name=f"{_field}_element_bool")
for _field in ("mentions", "antecedents", "tokens.head", "tokens.sent"):
    put_at(_field, 0.5, "int", "float", name=f"{_field}_element_float")
    put_at(_field, 2**31, "2147483647", "got 2147483648", name=f"{_field}_past_int32")
    put_at(_field, -(2**31) - 1, "-2147483648", "got -2147483649", name=f"{_field}_below_int32")
for _value in (math.nan, math.inf, -math.inf):
    put_at("scores", _value, "must be finite", f"got {_value}", name=f"score_{_value}")
for _column in ("text", "lemma", "upos", "dep"):
    put_at(f"tokens.{_column}", None, "null", name=f"{_column}_element_null")
    put_at(f"tokens.{_column}", 5, "int", name=f"{_column}_element_number")
    put(f"tokens.{_column}", "word", "str", name=f"{_column}_string")
put("tokens.xpos", "NN", "str", name="further_column_string")
put("tokens", [], "array", name="tokens_list")
put_at("gold", 1.5, "float", name="gold_element_float")
put_at("gold", ["e1"], "array", name="gold_element_list")
for _field in ("doc_id", "mentions", "antecedents", "scores"):
    remove(_field)
for _column in ("text", "lemma", "upos", "dep", "head", "sent"):
    remove(f"tokens.{_column}")
# Lists that do not fit the others of COMPLETE, or break a rule beside them.
for _column, _values in (
    ("lemma", "ab"),
    ("upos", "ab"),
    ("dep", "ab"),
    ("head", (-1, 0)),
    ("sent", (0, 0)),
    ("xpos", "ab"),
):
    put(f"tokens.{_column}", list(_values), "must be as long as tokens.text (3)", "got 2", name=f"{_column}_short")
for _field, _rows in (("antecedents", [[]] * 4), ("scores", [[]] * 4), ("gold", [None] * 4)):
    put(_field, _rows, "must be as long as mentions (3)", "got 4", name=f"{_field}_of_more_mentions")
for _name, _field, _rows, _message in (
    ("itself", "antecedents", [[], [0], [1, 2]], "antecedents[2][1] must be a mention before 2, got 2"),
    ("negative", "antecedents", [[], [-1], [1, 0]], "antecedents[1][0] must be a mention before 1, got -1"),
    ("repeated", "antecedents", [[], [0], [1, 1]], "antecedents[2] must be distinct, got 1 twice"),
    ("few_scores", "scores", [[], [0.5], [1.0]], "scores[2] must be as long as antecedents[2] (2), got 1"),
    ("own_head", "tokens.head", [1, 1, -1], "tokens.head[1] must not be the token itself, got 1"),
    ("far_head", "tokens.head", [1, 2, 3], "tokens.head[2] must be -1 or a token (0 to 2), got 3"),
    ("cycle", "tokens.head", [1, 2, 0], "tokens.head must form trees, got a cycle"),
    ("from_one", "tokens.sent", [1, 1, 1], "tokens.sent must count from 0, got 1"),
    ("falling", "tokens.sent", [0, 1, 0], "tokens.sent[2] must not fall, got 0 after 1"),
):
    put(_field, _rows, *_message.split(" ... "), name=_name)
for _name, _place, _span, _message in (
    ("two_numbers", 1, [0, 1], "mentions[1] ... length 3 ... got [0, 1]"),
    ("before_text", 0, [-1, 3, 1], "mentions[0]: start must be at least 0, got [-1, "),
    ("empty", 1, [0, 0, 0], "mentions[1]: end must be past start, got [0, 0, "),
    ("past_text", 2, [2, 4, 2], "mentions[2]: end must be at most the number of tokens (3) ... got [2, 4, 2]"),
    ("head_after", 0, [0, 3, 3], "mentions[0]: head must lie in the span ... got [0, 3, 3]"),
    ("late", 0, [1, 2, 1], "mentions[1] must come in order ... got [0, 1, 0] after [1, 2, 1]"),
    ("shorter", 2, [0, 2, 0], "mentions[2] must come in order ... got [0, 2, 0] after [0, 1, 0]"),
):
    _spans = [*COMPLETE["mentions"][:_place], _span, *COMPLETE["mentions"][_place + 1 :]]
    put("mentions", _spans, *_message.split(" ... "), name=_name)


# --- arbitrary edits ---------------------------------------------------------------------------------------

strange_values = st.one_of(
    json_values,
    st.sampled_from([-1, 0, 1, 2**31, -(2**31) - 1, 2**63, 2**64, 10**30, 10**400]),
    st.floats(),  # NaN and the infinities among them
    st.text(max_size=3),  # lone surrogates among them
)


def _paths(value: Json, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    else:
        items = []
    return [*([path] if path else []), *(p for key, inner in items for p in _paths(inner, (*path, key)))]


def _edit(document: Document, draw: Draw) -> None:
    paths = _paths(document)
    if not paths:
        return
    *above, key = draw(st.sampled_from(paths))
    owner: Any = document
    for step in above:
        owner = owner[step]
    kind = draw(st.sampled_from(["delete", "replace", "insert", "repeat"]))
    if kind == "delete":
        del owner[key]
    elif kind == "replace":
        owner[key] = draw(strange_values)
    elif isinstance(owner, list):
        owner.insert(key, draw(strange_values) if kind == "insert" else copy.deepcopy(owner[key]))
    else:
        owner[draw(st.text(max_size=3))] = draw(strange_values) if kind == "insert" else copy.deepcopy(owner[key])


@st.composite
def edited_lines(draw: Draw) -> bytes:
    """A line that held a valid document before a few arbitrary edits."""
    document = copy.deepcopy(draw(documents()))
    for _ in range(draw(st.integers(1, 3))):
        _edit(document, draw)
    return json.dumps(document).encode()


fields = st.sampled_from(["doc_id", "mentions", "antecedents", "scores", "x"])
arbitrary_lines = st.one_of(
    st.binary(max_size=40),
    (strange_values | st.dictionaries(fields, strange_values)).map(lambda value: json.dumps(value).encode()),
)
