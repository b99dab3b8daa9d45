"""Rows of CoNLL-U: the words of a document as columns, with the rows beside them and the values of ``Entity=``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corefsample.documents._annotated import SentenceNotes
from corefsample.documents._tokens import EMPTY_COLUMN, SPEAKER, STRING_COLUMNS, Tokens
from corefsample.errors import shown
from corefsample.formats.annotated._annotated_stream import Lines
from corefsample.formats.annotated._brackets import BracketPosition, DocumentFaultError

_RANGE = re.compile(r"([0-9]+)-([0-9]+)")
_EMPTY = re.compile(r"([0-9]+)\.([0-9]+)")
_COLUMNS = ("id", "text", "lemma", "upos", "xpos", "feats", "head", "dep", "deps", "misc")
_ID, _TEXT, _UPOS, _MISC = (_COLUMNS.index(name) for name in ("id", "text", "upos", "misc"))
_ENTITY = "Entity="


def has_zeros(rows: Iterable[str]) -> bool:
    """True if empty nodes are tokens in a document: one of them is in a mention, or nothing is annotated.

    In other annotated corpora, empty nodes stand for ellipsis only and are no mentions.
    """
    node_ids = [row.partition("\t")[0] for row in rows if _ENTITY in row]
    return not node_ids or any("." in node_id for node_id in node_ids)


def blocks(lines: Iterable[tuple[int, str]]) -> Iterator[Lines]:
    """Yield the lines between blank lines."""
    block: Lines = []
    for numbered in lines:
        if numbered[1] and not numbered[1].isspace():
            block.append(numbered)
        elif block:
            yield block
            block = []
    if block:
        yield block


@dataclass
class ConlluRows:
    """The words of a document, read sentence by sentence.

    Attributes
    ----------
    has_zeros
        True if empty nodes that are pronouns, or have Entity=, are tokens: see the function `has_zeros`.
    sentences
        Name of each sentence, for messages.
    notes
        Comments and further rows of each sentence.
    annotations
        Values of Entity= in MISC with their positions, in order.
    words
        Token offset of each node; -1 for an empty node that is no token.
    """

    has_zeros: bool
    sentences: list[str] = field(default_factory=list)
    notes: list[SentenceNotes] = field(default_factory=list)
    annotations: list[tuple[str, BracketPosition]] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    _columns: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in _COLUMNS})
    _heads: list[int] = field(default_factory=list)
    _sent: list[int] = field(default_factory=list)
    _space_after: list[bool] = field(default_factory=list)
    _empty: list[str] = field(default_factory=list)  # FORM of an empty node, "" of a word

    def add(self, block: Lines, comments: tuple[str, ...], name: str) -> None:
        """Read one sentence; `comments` are the comments to write back, and `name` is its name for messages."""
        self.sentences.append(name)
        ids: list[str] = []  # ID and line of each token: words, and empty nodes that are tokens
        lines: list[int] = []
        further: list[tuple[int, str]] = []
        n_words = n_empty = 0  # words of the sentence, and empty nodes since the last word
        last_within, is_spaced_after = 0, True  # last word of the latest multiword token, and whether a blank follows
        for number, line in block:
            if line.startswith("#"):
                if ids or further:
                    raise self._fault(number, f"comments must come before the words, got {shown(line)}")
                continue
            cells = line.split("\t")
            if len(cells) != len(_COLUMNS) or "" in cells:
                actual = "an empty one" if len(cells) == len(_COLUMNS) else len(cells)
                raise self._fault(number, f"a row must have {len(_COLUMNS)} columns, tabs between them, got {actual}")
            is_word = is_token = cells[_ID] == str(n_words + 1)
            if is_word:
                n_words, n_empty = n_words + 1, 0
            elif match := _RANGE.fullmatch(cells[_ID]):
                start, end = int(match[1]), int(match[2])
                if start != n_words + 1 or end < start or n_words < last_within:
                    rule = f"a multiword token must start at the next word ({n_words + 1}), after the one before it"
                    raise self._fault(number, f"ID: {rule}, got {cells[_ID]}")
                if any(part.startswith(_ENTITY) for part in cells[_MISC].split("|")):
                    raise self._fault(number, f"Entity: must not be on a multiword token, got it on {cells[_ID]}")
                last_within, is_spaced_after = end, _is_spaced(cells)
                further.append((len(ids), line))
                continue
            elif match := _EMPTY.fullmatch(cells[_ID]):
                n_empty += 1
                if (int(match[1]), int(match[2])) != (n_words, n_empty):
                    raise self._fault(number, f"ID: must be {n_words}.{n_empty}, got {cells[_ID]}")
                is_token = self.has_zeros and (cells[_UPOS] == "PRON" or _ENTITY in cells[_MISC])
            else:
                raise self._fault(number, f"ID: must be {n_words + 1}, got {shown(cells[_ID])}")
            self._annotate(cells, number, is_token=is_token)
            if not is_token:
                further.append((len(ids), "\t".join(cells)))
                continue
            ids.append(cells[_ID])
            lines.append(number)
            self._sent.append(len(self.sentences) - 1)
            if not is_word:
                is_spaced = False
            elif n_words <= last_within:
                is_spaced = n_words == last_within and is_spaced_after
            else:
                is_spaced = _is_spaced(cells)
            self._space_after.append(is_spaced)
            self._empty.append("" if is_word else cells[_TEXT])
            cells[_TEXT] = cells[_TEXT] if is_word else ""
            for column, cell in zip(self._columns.values(), cells, strict=True):
                column.append(cell)
        if not n_words:
            raise self._fault(block[-1][0], "a sentence must have a word, got none")
        if last_within > n_words:
            rule = f"a multiword token must end in its sentence (of {n_words} words)"
            raise self._fault(block[-1][0], f"ID: {rule}, got it up to {last_within}")
        self._add_heads(ids, lines)
        self.notes.append(SentenceNotes(comments, tuple(further)))

    def tokens(self, speakers: Sequence[str]) -> Tokens:
        """Return all tokens, with the further columns that `corefsample.formats.annotated._corefud` names.

        Parameters
        ----------
        speakers
            Speaker of each sentence, "" where the file names none.
        """
        columns: dict[str, Any] = {name: self._columns[name] for name in STRING_COLUMNS}
        extra: dict[str, Any] = {name: self._columns[name] for name in ("xpos", "feats", "deps", "misc")}
        if any(self._empty):
            extra[EMPTY_COLUMN] = self._empty
        if any(speakers):
            extra[SPEAKER] = [speakers[sentence] for sentence in self._sent]
        return Tokens(
            **columns,
            head=np.array(self._heads, np.int32),
            sent=np.array(self._sent, np.int32),
            extra={**extra, "space_after": self._space_after},
        )

    def _annotate(self, cells: list[str], number: int, *, is_token: bool) -> None:
        """Count the node, and move Entity= from its MISC to the annotations."""
        token, node = len(self._sent), len(self.words)
        self.words.append(token if is_token else -1)
        if _ENTITY not in cells[_MISC]:
            return
        attributes = cells[_MISC].split("|")
        values = [part.removeprefix(_ENTITY) for part in attributes if part.startswith(_ENTITY)]
        if len(values) > 1:
            raise self._fault(number, f"Entity: must appear once, got it {len(values)} times")
        if values:
            position = BracketPosition(token, token + is_token, node, len(self.sentences) - 1, number)
            self.annotations.append((values[0], position))
            cells[_MISC] = "|".join(part for part in attributes if not part.startswith(_ENTITY)) or "_"

    def _add_heads(self, ids: list[str], lines: list[int]) -> None:
        """Convert heads within the sentence to token offsets, which must form trees."""
        first = len(self._heads)
        words = {node_id: token for token, node_id in enumerate(ids, start=first) if "." not in node_id}
        for token, (node_id, number) in enumerate(zip(ids, lines, strict=True), start=first):
            if node_id not in words:
                self._attach(token, words)
                continue
            head_text = self._columns["head"][token]
            head = -1 if head_text == "0" else words.get(head_text)
            if head is None:
                rule = f"must be 0 or a word of the sentence (1 to {len(words)})"
                raise self._fault(number, f"HEAD: {rule}, got {shown(head_text)}")
            if head == token:
                raise self._fault(number, f"HEAD: must not be the word itself, got {head_text}")
            self._heads.append(head)
        reached_from = [-1] * len(ids)  # the word whose walk to the root first met this one
        for i in range(len(ids)):
            word = first + i
            while word >= 0 and reached_from[word - first] < 0:
                reached_from[word - first] = i
                word = self._heads[word]
            if word >= 0 and reached_from[word - first] == i:
                reason = f"HEAD: must form trees, got a cycle through {ids[word - first]}"
                raise self._fault(lines[word - first], reason)

    def _attach(self, token: int, words: Mapping[str, int]) -> None:
        """Attach an empty node to the first word among its enhanced heads, otherwise to the next word as "dep"."""
        for relation in self._columns["deps"][token].split("|"):
            head, _, label = relation.partition(":")
            if head in words:
                base, _, subtype = label.partition(":")
                self._columns["dep"][token] = f"{base}:pass" if subtype.startswith("pass") else base
                self._heads.append(words[head])
                return
        offsets = list(words.values())
        self._columns["dep"][token] = "dep"
        self._heads.append(next((offset for offset in offsets if offset > token), offsets[-1]))

    def _fault(self, number: int, reason: str) -> DocumentFaultError:
        return DocumentFaultError(number, self.sentences[-1], reason)


def _is_spaced(cells: list[str]) -> bool:
    return "SpaceAfter=No" not in cells[_MISC].split("|")
