"""CoNLL-U: documents as text, with what was kept of the file that they came from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from corefsample._checks import shown
from corefsample.documents import AnnotatedDocument, SentenceNotes, Tokens
from corefsample.errors import ParameterError
from corefsample.formats.annotated._conllu_reading import META, metadata_name

__all__ = ["conllu_lines", "node_numbers"]


def node_numbers(document: AnnotatedDocument) -> list[int]:
    """For each token, the words and empty nodes of the document before it."""
    n_tokens = len(document.tokens)
    numbers = list(range(n_tokens))
    if not any(notes.further_rows for notes in document.sentences):
        return numbers
    bounds = document.tokens.sentences().values()
    before = [
        start + n_words
        for (start, _), notes in zip(bounds, document.sentences, strict=True)
        for n_words, row in notes.further_rows
        if "." in row.partition("\t")[0]
    ]
    done = 0
    for token in range(n_tokens):
        while done < len(before) and before[done] <= token:
            done += 1
        numbers[token] += done
    return numbers


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
    tokens = document.tokens
    if not len(tokens):
        raise ParameterError(f"doc_id {document.doc_id!r}: tokens must hold one or more to be written, got none")
    bounds = list(tokens.sentences().values())
    rows = _Rows(document)
    yield from _header(document, declared)
    yield from header
    for k, (start, end) in enumerate(bounds):
        notes = document.sentences[k] if document.sentences else _generated(document, k, start, end)
        yield from (_one_line(document, comment) for comment in notes.comments)
        further = list(notes.further_rows)
        for token in range(start, end):
            while further and further[0][0] <= token - start:
                yield _one_line(document, further.pop(0)[1])
            yield rows.row(token, start, end, entities[token])
        yield from (_one_line(document, row) for _, row in further)
        yield ""


class _Rows:
    """The rows of a document's words."""

    def __init__(self, document: AnnotatedDocument) -> None:
        self._document = document
        tokens = document.tokens
        none = [""] * len(tokens)
        self._columns = (tokens.text, tokens.lemma, tokens.upos, tokens.extra.get("xpos", none))
        self._feats = tokens.extra.get("feats", none)
        self._deps = tokens.extra.get("deps", none)
        self._misc = tokens.extra.get("misc") or _misc_of_spaces(tokens)
        self._heads: list[int] = tokens.head.tolist()

    def row(self, token: int, start: int, end: int, entity: str) -> str:
        """Write one word of the sentence from `start` to `end`."""
        head = self._heads[token]
        if head >= 0 and not start <= head < end:
            raise ParameterError(
                f"doc_id {self._document.doc_id!r}: tokens.head[{token}] must lie in its sentence "
                f"({start} to {end - 1}) to be written, got {head}"
            )
        cells = [
            str(token - start + 1),
            *(self._cell(column[token]) for column in self._columns),
            self._cell(self._feats[token]),
            str(head - start + 1 if head >= 0 else 0),
            self._cell(self._document.tokens.dep[token]),
            self._cell(self._deps[token]),
            _with_entity(self._cell(self._misc[token]), entity),
        ]
        return "\t".join(cells)

    def _cell(self, value: Any) -> str:
        text = "_" if value is None or value == "" else str(value)
        if "\t" in text or "\n" in text or "\r" in text:
            raise ParameterError(
                f"doc_id {self._document.doc_id!r}: tokens must hold no tab or line break to be written, "
                f"got {shown(text)}"
            )
        return text


def _header(document: AnnotatedDocument, declared: str) -> Iterator[str]:
    yield _one_line(document, f"# newdoc id = {document.doc_id}")
    yield f"# global.Entity = {declared}"
    for name, value in document.metadata.items():
        if not re.fullmatch(r"[^\s=]([^=\r\n]*[^\s=])?", name):
            rule = "metadata must have names that a comment can hold"
            raise ParameterError(f"doc_id {document.doc_id!r}: {rule}, got {shown(name)}")
        plain = isinstance(value, str) and "\n" not in value and "\r" not in value
        prefix = "" if name.startswith(META) and metadata_name(name) == name else META
        yield f"# {prefix}{name} = {value if plain else json.dumps(value)}"


def _generated(document: AnnotatedDocument, k: int, start: int, end: int) -> SentenceNotes:
    """Make sent_id and text of a sentence that came without; a slash means something in a sent_id."""
    tokens = document.tokens
    spaces = tokens.extra.get("space_after", [True] * len(tokens))
    words = [word if word else "_" for word in tokens.text[start:end]]
    blanks = [" " if spaced else "" for spaced in spaces[start : end - 1]] + [""]
    text = "".join(word + blank for word, blank in zip(words, blanks, strict=True))
    doc_id = re.sub(r"[/\s]", "_", document.doc_id)
    return SentenceNotes((f"# sent_id = {doc_id}-{k + 1}", f"# text = {text}"))


def _misc_of_spaces(tokens: Tokens) -> list[str]:
    spaces = tokens.extra.get("space_after", [True] * len(tokens))
    return ["_" if spaced else "SpaceAfter=No" for spaced in spaces]


def _with_entity(misc: str, entity: str) -> str:
    """Put Entity= where the alphabet has it, as the attributes of MISC are sorted by convention."""
    parts = [] if misc == "_" else [part for part in misc.split("|") if not part.startswith("Entity=")]
    if entity:
        after = (i for i, part in enumerate(parts) if part.lower() > "entity=")
        parts.insert(next(after, len(parts)), f"Entity={entity}")
    return "|".join(parts) or "_"


def _one_line(document: AnnotatedDocument, text: str) -> str:
    if "\n" in text or "\r" in text:
        raise ParameterError(
            f"doc_id {document.doc_id!r}: doc_id and comments must be one line to be written, got {shown(text)}"
        )
    return text
