"""Annotated documents for tests: strategies, plain content to compare, slow and simple readers."""

import dataclasses
import datetime
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._tokens import Tokens

Draw = st.DrawFn
Span = tuple[int, int]

# --- files ---------------------------------------------------------------------------------------------------


def read_text(reader: Callable[..., Any], text: str, name: str, **options: Any) -> list[AnnotatedDocument]:
    """What a reader makes of a text in a file of this name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8", newline="")
        return list(reader(path, **options))


def written_text(writer: Callable[..., Any], documents: Sequence[AnnotatedDocument], **options: Any) -> tuple[str, Any]:
    """The text that a writer makes, and its summary."""
    with tempfile.TemporaryDirectory() as folder:
        summary = writer(documents, Path(folder) / "out", **options)
        return (Path(folder) / "out").read_bytes().decode(), summary


# --- content -----------------------------------------------------------------------------------------------


def parse(tokens: Tokens) -> Tokens:
    """The columns that every document has."""
    return dataclasses.replace(tokens, extra={})


def spans(document: AnnotatedDocument) -> list[tuple[int, int, str]]:
    """Start, end and entity of each mention."""
    pairs = zip(document.mentions.tolist(), document.entities, strict=True)
    return [(start, end, entity) for (start, end, _), entity in pairs]


def plain_document(n_tokens: int, spans_of: Sequence[tuple[int, int, str]], **fields: Any) -> AnnotatedDocument:
    """A document of words a, b, c ... with mentions by start, end and entity; the first word is the head of each."""
    tokens = Tokens(
        text=[chr(97 + i) for i in range(n_tokens)],
        lemma=[""] * n_tokens,
        upos=["X"] * n_tokens,
        dep=["dep"] * n_tokens,
        head=fields.pop("head", np.arange(-1, n_tokens - 1, dtype=np.int32)),
        sent=fields.pop("sent", np.zeros(n_tokens, np.int32)),
        extra=fields.pop("extra", {}),
    )
    mentions = np.array([(s, e, s) for s, e, _ in spans_of], np.int32).reshape(-1, 3)
    return AnnotatedDocument(fields.pop("doc_id", "d"), tokens, mentions, [e for *_, e in spans_of], **fields)


def clusters(document: AnnotatedDocument) -> Counter[tuple[Span, ...]]:
    """Entities as their spans, names aside."""
    names = sorted(set(document.entities))
    spans = [(s, e) for s, e, _ in document.mentions.tolist()]
    return Counter(
        tuple(sorted(span for span, other in zip(spans, document.entities, strict=True) if other == name))
        for name in names
    )


# --- slow readings -----------------------------------------------------------------------------------------


def bracket_spans(cells: Sequence[list[str]]) -> Counter[tuple[int, int, str]]:
    """Spans (start, end, id) of cells of pieces "(id", "(id)", "id)": each opening seeks its closing by depth."""
    flat = [(token, piece) for token, cell in enumerate(cells) for piece in cell]
    found: Counter[tuple[int, int, str]] = Counter()
    for k, (start, piece) in enumerate(flat):
        name = piece.strip("()")
        if piece == f"({name})":
            found[start, start + 1, name] += 1
        elif piece == f"({name}":
            depth = 1
            for end, other in flat[k + 1 :]:
                depth += (other == f"({name}") - (other == f"{name})")
                if depth == 0:
                    found[start, end + 1, name] += 1
                    break
    return found


def corefud_cells(text: str, n_fields: int) -> list[list[str]]:
    """Pieces of Entity= of each word of a CoNLL-U text, ids alone; the id must be the first field."""
    cells = []
    for line in text.splitlines():
        if re.match(r"[0-9]+\t", line):
            found = re.findall(r"(?:^|\|)Entity=([^|]*)", line.split("\t")[9])
            pieces = re.findall(r"\([^()]*\)?|[^()]+\)", found[0] if found else "")
            cells.append([re.sub(r"^(\([^-()]*)-[^()]*", r"\1", piece) for piece in pieces])
    return cells


def conll2012_cells(text: str) -> list[list[str]]:
    """Pieces of the last column of each word."""
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return [[] if row[-1] == "-" else row[-1].split("|") for row in rows]


def head_by_parse(heads: Sequence[int], start: int, end: int) -> int:
    """The first token of a span whose head is no token of the span."""
    inside = list(range(start, end))
    for token in inside:
        if heads[token] not in inside:
            return token
    raise AssertionError("a tree has no span in which every head is inside")


def crosses(one: Span, other: Span) -> bool:
    """Whether two spans share tokens and neither contains the other."""
    shared = set(range(*one)) & set(range(*other))
    return bool(shared) and shared not in (set(range(*one)), set(range(*other)))


def writable(document: AnnotatedDocument) -> list[int]:
    """Mentions that brackets can contain, the earlier of two that cross in one entity."""
    remaining: list[int] = []
    spans = [(s, e) for s, e, _ in document.mentions.tolist()]
    sents = document.tokens.sent.tolist()
    for i, (start, end) in enumerate(spans):
        rivals = [spans[k] for k in remaining if document.entities[k] == document.entities[i]]
        if sents[start] == sents[end - 1] and not any(crosses((start, end), rival) for rival in rivals):
            remaining.append(i)
    return remaining


# --- what hypothesis draws ---------------------------------------------------------------------------------

# What a cell may contain: no control characters, no blank at an end, and not the sign for "nothing".
words = st.text(
    st.characters(exclude_categories=["C", "Z"], exclude_characters="|"), min_size=1, max_size=4
) | st.sampled_from(["-", "(", "#", "1", "a b", "Entity=x", "O'Neill"])
TAGS = ["NOUN", "VERB", "PROPN", "X", "_"]
names = st.sampled_from(["e1", "e-1", "1", "12", "e5[1/2]", "a(b)", "100%", "%2D", "x|y", "é é", "e1.2", "-", "\u2028"])
values = st.sampled_from(["", "person", "giv:act", "n_n", "a-b-c"])
plain = st.text(st.characters(exclude_categories=["C"]), max_size=6)


def tree_heads(lengths: list[int], rng: np.random.Generator) -> list[int]:
    """Heads of sentences of these lengths: each a tree, or several."""
    heads: list[int] = []
    for length in lengths:
        order = rng.permutation(length).tolist()
        own = [-1] * length
        for k, word in enumerate(order[1:], start=1):
            head = int(rng.integers(-1, k))
            own[word] = -1 if head < 0 else len(heads) + order[head]
        heads += own
    return heads


@st.composite
def token_lists(draw: Draw) -> Tokens:
    """One to three sentences of up to six words; words are drawn, parses made of a drawn seed, which is quick."""
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    n = sum(lengths)
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))

    def column(cells: Sequence[Any]) -> list[Any]:
        return [cells[i] for i in rng.integers(len(cells), size=n)]

    text = draw(st.lists(words, min_size=n, max_size=n))
    extra = {"xpos": column(TAGS), "space_after": column([True, False])}
    return Tokens(
        text=text,
        lemma=column([*text, "be", "_"]),
        upos=column(TAGS),
        dep=column(["nsubj", "root", "acl:relcl", "_"]),
        head=np.array(tree_heads(lengths, rng), np.int32),
        sent=np.repeat(np.arange(len(lengths), dtype=np.int32), lengths),
        extra=extra if draw(st.booleans()) else {},
    )


@st.composite
def annotated_documents(draw: Draw, *, by_rule: bool = False) -> AnnotatedDocument:
    """Any spans of a text, nested, crossing, equal or over the ends of sentences, in any entities.

    With `by_rule`, heads are those of the parse, and there are attributes in GUM's manner.
    """
    tokens = draw(token_lists())
    n = len(tokens)
    spans = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(1, 6)), max_size=12))
    ordered = sorted(((s, min(s + width, n)) for s, width in spans), key=lambda span: (span[0], -span[1]))
    pool = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    heads = tokens.head.tolist()
    mentions = [(s, e, head_by_parse(heads, s, e) if by_rule else draw(st.integers(s, e - 1))) for s, e in ordered]

    def column(cells: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(cells, min_size=len(mentions), max_size=len(mentions)))

    fields = ("GRP", "etype", "identity") if by_rule else ("eid", "etype", "head", "other")
    return AnnotatedDocument(
        doc_id=draw(st.sampled_from(["d", "GUM_a", "a/b c", "x); part 3", " é "])),
        tokens=tokens,
        mentions=np.array(mentions, np.int32).reshape(-1, 3),
        entities=column(st.sampled_from(pool)),
        date=draw(st.none() | st.dates(datetime.date(1700, 1, 1))),
        attributes={"etype": column(values.filter(lambda v: "-" not in v)), fields[-1]: column(values)},
        metadata=draw(st.dictionaries(st.sampled_from(["genre", "title", "meta::date x", "a b"]), plain, max_size=2)),
        entity_fields=fields,
    )
