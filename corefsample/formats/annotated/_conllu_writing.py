"""CoNLL-U: the lines of one document, with the value of ``Entity=`` of each token."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from corefsample._checks import shown
from corefsample.documents._annotated import AnnotatedDocument, SentenceNotes
from corefsample.documents._tokens import EMPTY_COLUMN, Tokens
from corefsample.errors import ParameterError
from corefsample.formats.annotated._conllu_reading import META, metadata_name


def conllu_lines(
    document: AnnotatedDocument, declared: str, entities: Sequence[str], header: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the lines of one document.

    Parameters
    ----------
    document
        What to write; it must have a token.
    declared
        The value of ``# global.Entity``.
    entities
        The value of Entity= of each token, "" for none.
    header
        Further comments of the document.
    """
    if not len(document.tokens):
        place = f"doc_id {document.doc_id!r}"
        raise ParameterError("tokens must not be empty to be written, got none", place=place)
    rows = _rows(document, entities)
    yield from _header(document, declared)
    yield from header
    for k, (start, end) in enumerate(document.tokens.sentences().values()):
        notes = document.sentences[k] if document.sentences else _generated(document, k, start, end)
        yield from (_one_line(document, comment) for comment in notes.comments)
        further = list(notes.further_rows)
        for token in range(start, end):
            while further and further[0][0] <= token - start:
                yield _one_line(document, further.pop(0)[1])
            yield rows[token]
        yield from (_one_line(document, row) for _, row in further)
        yield ""


def _rows(document: AnnotatedDocument, entities: Sequence[str]) -> list[str]:
    """Lines of the words."""
    tokens, extra = document.tokens, document.tokens.extra
    place = f"doc_id {document.doc_id!r}"
    empty = extra.get(EMPTY_COLUMN, [""] * len(tokens))
    numbers: list[str] = []
    heads: list[str] = []
    for start, end in tokens.sentences().values():
        n_words = n_empty = 0
        for token in range(start, end):
            n_words, n_empty = (n_words, n_empty + 1) if empty[token] else (n_words + 1, 0)
            numbers.append(f"{n_words}.{n_empty}" if n_empty else str(n_words))
        for token, head in enumerate(tokens.head[start:end].tolist(), start=start):
            if head >= 0 and not start <= head < end:
                rule = f"tokens.head[{token}] must lie in its sentence ({start} to {end - 1}) to be written"
                raise ParameterError(f"{rule}, got {head}", place=place)
            heads.append("_" if empty[token] else numbers[head] if head >= 0 else "0")
    dep = ["_" if form else label for form, label in zip(empty, tokens.dep, strict=True)]
    text = [form or word for form, word in zip(empty, tokens.text, strict=True)]
    xpos, feats, deps = (extra.get(name, [""] * len(tokens)) for name in ("xpos", "feats", "deps"))
    misc = extra.get("misc") or ["_" if spaced else "SpaceAfter=No" for spaced in _spaces(tokens)]
    rows = []
    columns = (numbers, text, tokens.lemma, tokens.upos, xpos, feats, heads, dep, deps, misc)
    for values, entity in zip(zip(*columns, strict=True), entities, strict=True):
        cells = ["_" if value is None or value == "" else str(value) for value in values]
        for cell in cells:
            if re.search(r"[\t\n\r]", cell):
                rule = "tokens must contain no tab or line break to be written"
                raise ParameterError(f"{rule}, got {shown(cell)}", place=place)
        rows.append("\t".join([*cells[:-1], _with_entity(cells[-1], entity)]))
    return rows


def _header(document: AnnotatedDocument, declared: str) -> Iterator[str]:
    yield _one_line(document, f"# newdoc id = {document.doc_id}")
    yield f"# global.Entity = {declared}"
    for name, value in document.metadata.items():
        if not re.fullmatch(r"[^\s=]([^=\r\n]*[^\s=])?", name):
            rule = "metadata must have names that a comment can represent"
            raise ParameterError(f"{rule}, got {shown(name)}", place=f"doc_id {document.doc_id!r}")
        plain = isinstance(value, str) and "\n" not in value and "\r" not in value
        prefix = "" if name.startswith(META) and metadata_name(name) == name else META
        yield f"# {prefix}{name} = {value if plain else json.dumps(value)}"


def _generated(document: AnnotatedDocument, k: int, start: int, end: int) -> SentenceNotes:
    """Make sent_id and text of a sentence that came without; a slash has a meaning in a sent_id."""
    empty = document.tokens.extra.get(EMPTY_COLUMN, [""] * end)
    words = ["" if empty[token] else document.tokens.text[token] or "_" for token in range(start, end)]
    blanks = [" " if spaced else "" for spaced in _spaces(document.tokens)[start : end - 1]] + [""]
    text = "".join(word + blank for word, blank in zip(words, blanks, strict=True))
    doc_id = re.sub(r"[/\s]", "_", document.doc_id)
    return SentenceNotes((f"# sent_id = {doc_id}-{k + 1}", f"# text = {text}"))


def _spaces(tokens: Tokens) -> Sequence[bool]:
    """Whether a blank follows each token."""
    return tokens.extra.get("space_after", [True] * len(tokens))


def _with_entity(misc: str, entity: str) -> str:
    """Insert Entity= in alphabetical order, by which the attributes of MISC are sorted by convention."""
    parts = [] if misc == "_" else [part for part in misc.split("|") if not part.startswith("Entity=")]
    if entity:
        after = (i for i, part in enumerate(parts) if part.lower() > "entity=")
        parts.insert(next(after, len(parts)), f"Entity={entity}")
    return "|".join(parts) or "_"


def _one_line(document: AnnotatedDocument, text: str) -> str:
    if "\n" in text or "\r" in text:
        rule = "doc_id and comments must be one line to be written"
        raise ParameterError(f"{rule}, got {shown(text)}", place=f"doc_id {document.doc_id!r}")
    return text
