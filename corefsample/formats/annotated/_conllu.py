"""CoNLL-U, read and written: sentences as columns of words, with their comments and further rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corefsample._checks import shown
from corefsample.documents._annotated import AnnotatedDocument, SentenceNotes
from corefsample.documents._scored import FIELDS
from corefsample.documents._tokens import EMPTY_COLUMN, NO_SPEAKER, SPEAKER, STRING_COLUMNS, Tokens
from corefsample.errors import ParameterError
from corefsample.formats.annotated._annotated_stream import Lines
from corefsample.formats.annotated._brackets import BracketPosition, DocumentFaultError

META = "meta::"
NEWDOC = re.compile(r"#\s*newdoc(?:\s+id\s*=\s?(.*))?\s*")
COMMENT = re.compile(r"#\s*([^=]*?)\s*=\s?(.*)")
_RANGE = re.compile(r"([0-9]+)-([0-9]+)")
_EMPTY = re.compile(r"([0-9]+)\.([0-9]+)")
_COLUMNS = ("id", "text", "lemma", "upos", "xpos", "feats", "head", "dep", "deps", "misc")
_ID, _TEXT, _UPOS, _MISC = (_COLUMNS.index(name) for name in ("id", "text", "upos", "misc"))
_ENTITY = "Entity="


def metadata_name(key: str) -> str:
    """Name in the metadata of a comment's key: without meta::, unless a field of documents has that name."""
    bare = key.removeprefix(META)
    return key if bare in FIELDS else bare


def has_zeros(rows: Iterable[str]) -> bool:
    """True if empty nodes are tokens in a document: one of them is in a mention, or nothing is annotated.

    In other annotated corpora, empty nodes stand for ellipsis only and are no mentions.
    """
    node_ids = [row.partition("\t")[0] for row in rows if _ENTITY in row]
    return not node_ids or any("." in each for each in node_ids)


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
class _Sentence:
    """State of a sentence that is being read."""

    first: int  # offset of its first token in the document
    numbers: list[int] = field(default_factory=list)  # line of each token
    ids: list[str] = field(default_factory=list)  # ID of each token: words, and empty nodes that are tokens
    n_words: int = 0
    further: list[tuple[int, str]] = field(default_factory=list)
    within: int = 0  # last word of the latest multiword token
    spaced: bool = True  # whether a blank follows that multiword token
    n_empty: int = 0  # empty nodes since the last word


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

    has_zeros: bool = False
    sentences: list[str] = field(default_factory=list)
    notes: list[SentenceNotes] = field(default_factory=list)
    annotations: list[tuple[str, BracketPosition]] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    _columns: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in _COLUMNS})
    _heads: list[int] = field(default_factory=list)
    _sent: list[int] = field(default_factory=list)
    _space_after: list[bool] = field(default_factory=list)
    _empty: list[str] = field(default_factory=list)  # FORM of an empty node, "" of a word

    def add(self, block: Lines, comments: tuple[str, ...], name: str) -> None:
        """Read one sentence; `comments` are the comments to write back, and `name` is its name for messages."""
        self.sentences.append(name)
        sentence = _Sentence(len(self._sent))
        for number, line in block:
            if not line.startswith("#"):
                self._add_row(sentence, number, line)
            elif sentence.ids or sentence.further:
                raise self._fault(number, f"comments must come before the words, got {shown(line)}")
        n_words = sentence.n_words
        if not n_words:
            raise self._fault(block[-1][0], "a sentence must have a word, got none")
        if sentence.within > n_words:
            rule = f"a multiword token must end in its sentence (of {n_words} words)"
            raise self._fault(block[-1][0], f"ID: {rule}, got it up to {sentence.within}")
        self._add_heads(sentence)
        self.notes.append(SentenceNotes(comments, tuple(sentence.further)))

    def tokens(self, speakers: Sequence[str] = ()) -> Tokens:
        """Return all tokens, with the further columns that `corefsample.formats.annotated._corefud` names.

        Parameters
        ----------
        speakers
            Speaker of each sentence, "" where the file names none.
        """
        columns: dict[str, Any] = {name: self._columns[name] for name in STRING_COLUMNS}
        extra = {name: self._columns[name] for name in ("xpos", "feats", "deps", "misc")}
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

    def _add_row(self, sentence: _Sentence, number: int, line: str) -> None:
        columns = line.split("\t")
        if len(columns) != len(_COLUMNS) or "" in columns:
            actual = "an empty one" if len(columns) == len(_COLUMNS) else len(columns)
            raise self._fault(number, f"a row must have {len(_COLUMNS)} columns, tabs between them, got {actual}")
        n_words = sentence.n_words
        if columns[_ID] == str(n_words + 1):
            self._add_token(sentence, number, columns, is_empty=False)
            sentence.n_empty = 0
            sentence.n_words += 1
            is_within = sentence.n_words <= sentence.within
            is_last = sentence.n_words == sentence.within and sentence.spaced
            self._space_after.append(is_last if is_within else _is_spaced(columns))
        elif match := _RANGE.fullmatch(columns[_ID]):
            start, end = int(match[1]), int(match[2])
            if start != n_words + 1 or end < start or n_words < sentence.within:
                rule = f"a multiword token must start at the next word ({n_words + 1}), after the one before it"
                raise self._fault(number, f"ID: {rule}, got {columns[_ID]}")
            if any(part.startswith(_ENTITY) for part in columns[_MISC].split("|")):
                raise self._fault(number, f"Entity: must not be on a multiword token, got it on {columns[_ID]}")
            sentence.within, sentence.spaced = end, _is_spaced(columns)
            sentence.further.append((len(sentence.ids), line))
        elif match := _EMPTY.fullmatch(columns[_ID]):
            sentence.n_empty += 1
            if (int(match[1]), int(match[2])) != (n_words, sentence.n_empty):
                raise self._fault(number, f"ID: must be {n_words}.{sentence.n_empty}, got {columns[_ID]}")
            if self.has_zeros and (columns[_UPOS] == "PRON" or _ENTITY in columns[_MISC]):
                self._add_token(sentence, number, columns, is_empty=True)
            else:
                self._annotate(columns, number, is_token=False)
                sentence.further.append((len(sentence.ids), "\t".join(columns)))
        else:
            raise self._fault(number, f"ID: must be {n_words + 1}, got {shown(columns[_ID])}")

    def _add_token(self, sentence: _Sentence, number: int, columns: list[str], *, is_empty: bool) -> None:
        """Add a word, or an empty node, which has no text and no blank after it."""
        self._annotate(columns, number, is_token=True)
        sentence.ids.append(columns[_ID])
        sentence.numbers.append(number)
        self._empty.append(columns[_TEXT] if is_empty else "")
        if is_empty:
            columns[_TEXT] = ""
            self._space_after.append(False)
        for name, value in zip(_COLUMNS, columns, strict=True):
            self._columns[name].append(value)
        self._sent.append(len(self.sentences) - 1)

    def _annotate(self, columns: list[str], number: int, *, is_token: bool) -> None:
        """Count the node, and move Entity= from its MISC to the annotations."""
        token, node = len(self._sent), len(self.words)
        self.words.append(token if is_token else -1)
        if _ENTITY not in columns[_MISC]:
            return
        attributes = columns[_MISC].split("|")
        values = [part.removeprefix(_ENTITY) for part in attributes if part.startswith(_ENTITY)]
        if len(values) > 1:
            raise self._fault(number, f"Entity: must appear once, got it {len(values)} times")
        if values:
            position = BracketPosition(token, token + is_token, node, len(self.sentences) - 1, number)
            self.annotations.append((values[0], position))
            columns[_MISC] = "|".join(part for part in attributes if not part.startswith(_ENTITY)) or "_"

    def _add_heads(self, sentence: _Sentence) -> None:
        """Convert heads within the sentence to token offsets, which must form trees."""
        first, numbers = sentence.first, sentence.numbers
        n_tokens = len(numbers)
        words = {each: first + i for i, each in enumerate(sentence.ids) if "." not in each}
        offsets = words | {"0": -1}
        for i, token_id in enumerate(sentence.ids):
            token = first + i
            if token_id not in words:
                self._attach(token, words)
                continue
            head_text = self._columns["head"][token]
            head = offsets.get(head_text)
            if head is None:
                rule = f"must be 0 or a word of the sentence (1 to {sentence.n_words})"
                raise self._fault(numbers[i], f"HEAD: {rule}, got {shown(head_text)}")
            if head == token:
                raise self._fault(numbers[i], f"HEAD: must not be the word itself, got {head_text}")
            self._heads.append(head)
        reached_from = [-1] * n_tokens  # the word whose walk to the root first met this one
        for i in range(n_tokens):
            word = first + i
            while word >= 0 and reached_from[word - first] < 0:
                reached_from[word - first] = i
                word = self._heads[word]
            if word >= 0 and reached_from[word - first] == i:
                raise self._fault(
                    numbers[word - first], f"HEAD: must form trees, got a cycle through {sentence.ids[word - first]}"
                )

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
        self._heads.append(next((each for each in offsets if each > token), offsets[-1]))

    def _fault(self, number: int, reason: str) -> DocumentFaultError:
        return DocumentFaultError(number, self.sentences[-1], reason)


def _is_spaced(columns: list[str]) -> bool:
    return "SpaceAfter=No" not in columns[_MISC].split("|")


def conllu_lines(
    document: AnnotatedDocument, declared: str, entities: Sequence[str], header: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the lines of one document.

    Parameters
    ----------
    document
        Document to write; it has at least one token.
    declared
        Value of ``# global.Entity``.
    entities
        Value of Entity= of each token; "" for a token without it.
    header
        Further comment lines of the document. By default there are none.
    """
    if not len(document.tokens):
        location = f"doc_id {document.doc_id!r}"
        raise ParameterError("tokens must not be empty to be written, got none", place=location)
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
    location = f"doc_id {document.doc_id!r}"
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
                raise ParameterError(f"{rule}, got {head}", place=location)
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
                raise ParameterError(f"{rule}, got {shown(cell)}", place=location)
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
    """Make sent_id, speaker and text of a sentence without comments; a slash has a meaning in ids, and is replaced."""
    empty = document.tokens.extra.get(EMPTY_COLUMN, [""] * end)
    words = ["" if empty[token] else document.tokens.text[token] or "_" for token in range(start, end)]
    blanks = [" " if spaced else "" for spaced in _spaces(document.tokens)[start : end - 1]] + [""]
    text = "".join(word + blank for word, blank in zip(words, blanks, strict=True))
    doc_id = re.sub(r"[/\s]", "_", document.doc_id)
    speakers = document.tokens.extra.get(SPEAKER, [""] * end)[start:end]
    spoken = [f"# {SPEAKER} = {speaker}" for speaker in speakers if speaker and speaker not in NO_SPEAKER][:1]
    return SentenceNotes((f"# sent_id = {doc_id}-{k + 1}", *spoken, f"# text = {text}"))


def _spaces(tokens: Tokens) -> Sequence[bool]:
    """True for each token that is followed by a blank."""
    return tokens.extra.get("space_after", [True] * len(tokens))


def _with_entity(misc: str, entity: str) -> str:
    """Insert Entity= in alphabetical order, by which the attributes of MISC are sorted by convention."""
    attributes = [] if misc == "_" else [part for part in misc.split("|") if not part.startswith("Entity=")]
    if entity:
        after = (i for i, part in enumerate(attributes) if part.lower() > "entity=")
        attributes.insert(next(after, len(attributes)), f"Entity={entity}")
    return "|".join(attributes) or "_"


def _one_line(document: AnnotatedDocument, text: str) -> str:
    if "\n" in text or "\r" in text:
        rule = "doc_id and comments must be one line to be written"
        raise ParameterError(f"{rule}, got {shown(text)}", place=f"doc_id {document.doc_id!r}")
    return text
