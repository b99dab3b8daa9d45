"""CorefUD: CoNLL-U files with entities in MISC, ``Entity=``, by the fields that ``# global.Entity`` declares.

An opening bracket has the fields, with hyphens between them: ``(e5-person-2-``. Further hyphens belong to the last
field, and trailing fields may be missing. A closing bracket has only the id: ``e5)``. The id is the field ``eid`` or
``GRP``; a part of a discontinuous mention has its number in brackets, ``e5[1/2]``. In an id, a character with a meaning
in the format is written as its percent code (``-`` as ``%2D``).

The head of a mention is the word that the field ``head`` names by its number in the span. If that field is not
declared, is missing, or names an empty node, the head is the first word of the span whose syntactic head lies outside
it (a root's head counts as outside). A ``minspan`` stays an attribute: it contains the words that a system must find,
which may be several, and in a span without a single head it often ends in another word.

Words are the tokens; other empty nodes and multiword tokens are kept separately, to be written back. In a document
where an empty node is in a mention, or nothing is annotated, the empty nodes that are pronouns or in mentions (zeros,
such as dropped subjects) are tokens too: without text, marked in the further column `empty`, and hanging on the first
word among their enhanced heads. Tokens carry the further columns xpos, feats, deps, misc (without Entity) and
space_after, which is false within a multiword token.

References
----------
Nedoluzhko et al. (2022), CorefUD 1.0: Coreference Meets Universal Dependencies; format: ufal.mff.cuni.cz/corefud.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, get_args

import numpy as np

from corefsample._checks import choice, shown
from corefsample.documents._annotated import REFERENCES, AnnotatedDocument
from corefsample.documents._faults import Rejected
from corefsample.errors import ParameterError, ParameterHint
from corefsample.files._paths import PathLike
from corefsample.formats.annotated import _corefud_reading
from corefsample.formats.annotated._annotated_stream import (
    AnnotatedStream,
    OnUnwritable,
    WriteCounts,
    layout,
    write_annotated,
)
from corefsample.formats.annotated._brackets import OnCrossing
from corefsample.formats.annotated._conllu import COMMENT, META, conllu_lines, metadata_name
from corefsample.formats.annotated._corefud_reading import DATE_KEYS


def read_corefud(
    inputs: PathLike | Iterable[PathLike],
    *,
    entity_fields: str | None = None,
    on_crossing_sentences: OnCrossing = "skip",
    on_rejected: Callable[[Rejected], None] | None = None,
) -> AnnotatedStream:
    """Read documents one after another, in constant memory.

    A document begins at ``# newdoc id``. A document without an id is named after the file and its number in it, and a
    file without ``# newdoc`` is one document, named after the file. Its date is in the comment meta::dateCreated,
    meta::date or date of its first sentence, and must be an ISO date. The span of a mention in parts that do not adjoin
    is the part with its head, and the attribute `parts` has all, so that they are written back. The span of a mention
    of words and empty nodes that are no tokens is the words.

    Parameters
    ----------
    inputs
        Files, plain or gzip, globs, or "-" for standard input.
    entity_fields
        Fields of ``Entity=`` for a file that does not declare them, usually "eid-etype-head-other". By default such a
        file is rejected.
    on_crossing_sentences
        Treatment of a mention that closes in another sentence than it opens: "skip" (the default) leaves it out and
        counts it in `AnnotatedDocument.skipped`, "keep" keeps it.
    on_rejected
        Function that is called with each invalid document, which is then left out. By default the first invalid
        document raises InputError.

    Raises
    ------
    ParameterError
        If `on_crossing_sentences` is neither "skip" nor "keep", or `entity_fields` is invalid.
    InputError
        At the first bad document, with file, line, doc_id and sentence: brackets that do not match, a row without ten
        columns, ids out of order, heads that are no words of the sentence or form a cycle, ``Entity=`` without a
        declaration, a repeated doc_id; or if a file is missing, incomplete, or without documents.

    Examples
    --------
    >>> document = next(read_corefud("en_gum-ud-dev.conllu.gz"))  # doctest: +SKIP
    >>> document.mention_text(0), document.entities[0]  # doctest: +SKIP
    ('Introduction', '1')
    """
    choice("on_crossing_sentences", on_crossing_sentences, get_args(OnCrossing))
    if entity_fields is not None:
        _corefud_reading.require_fields(entity_fields)
    options: dict[str, Any] = {"entity_fields": entity_fields, "on_crossing": on_crossing_sentences}
    return AnnotatedStream(inputs, partial(_corefud_reading.split_corefud, **options), on_rejected)


def write_corefud(
    documents: Iterable[AnnotatedDocument],
    path: PathLike,
    *,
    entity_fields: str | None = None,
    singletons: bool = True,
    on_unwritable: OnUnwritable = "refuse",
    overwrite: bool = False,
) -> WriteCounts:
    """Write documents to a new file; they are equal when they are read back.

    An ``eid`` denotes one entity throughout a file, as scorers read it, so an id that an earlier document uses gets the
    number of its document added (``e1.2``); a ``GRP`` is unique only in its document, and stays unchanged.

    Comments, multiword tokens and empty nodes that came with a document are written in their places, bridging and
    split antecedents if their entities are written. A sentence without comments gets a sent_id, its speaker and its
    text. Metadata that is not a one-line string is written as JSON. Empty words and labels become ``_``.

    Parameters
    ----------
    documents
        Documents to write; any iterable is consumed as a stream. `AnnotatedDocument.with_clustering` and `.from_scored`
        make documents with any clustering.
    path
        Path of the new file, compressed with gzip if it ends in .gz. The file appears when it is complete.
    entity_fields
        Fields of ``Entity=``: eid or GRP for the entity, head for the head's number in the span, others for
        attributes. By default those of the first document, or "eid-etype-head-other". They are the same in the whole
        file. If head is not among them, a reader determines heads by its own rule.
    singletons
        True (the default) if entities of one mention are written.
    on_unwritable
        Treatment of documents and annotation that the format cannot represent: see `write_conll2012`.
    overwrite
        True if an existing file may be replaced; by default it may not.

    Raises
    ------
    ParameterError
        If an option is invalid, the file exists and `overwrite` is false, or the format cannot represent a
        document.
    OutputError
        If the file cannot be written.
    """
    if entity_fields is not None:
        _corefud_reading.require_fields(entity_fields)
    lines = CorefudLines(entity_fields)
    return write_annotated(
        documents, path, lines.of, singletons=singletons, on_unwritable=on_unwritable, overwrite=overwrite
    )


_FORBIDDEN = re.compile(r"[()|\t\r\n]")  # in any field
_MEANT = frozenset("%-=|()[]<>,: \t")  # characters with a meaning in the format, which are encoded in an id


class CorefudLines:
    """Lines of the documents of one file, which share the fields of ``Entity=`` and the ids of entities.

    Parameters
    ----------
    entity_fields
        Fields of ``Entity=``. None stands for those of the first document.
    """

    def __init__(self, entity_fields: str | None) -> None:
        self._fields = entity_fields or ""
        self._is_chosen = entity_fields is not None
        self._used: set[str] = set()
        self._n_documents = 0

    def of(self, document: AnnotatedDocument, mentions: Sequence[int]) -> Iterator[str]:
        """Yield the lines of one document; `mentions` are the indices of the mentions to write."""
        declared = "-".join(document.entity_fields or ()) or _corefud_reading.DEFAULT_FIELDS
        _corefud_reading.require_fields(declared)
        self._fields = self._fields or declared
        if not self._is_chosen and declared != self._fields:
            raise ParameterError(
                f"fields of Entity= must be the same in a file ({self._fields}), got {declared}",
                place=f"doc_id {document.doc_id!r}",
                hint=ParameterHint("entity_fields", "can choose"),
            )
        fields = self._fields.split("-")
        ids = self._ids(document, mentions, unique="GRP" not in fields)
        dated, header = _dated(document)
        extra = dict(document.tokens.extra)
        if "misc" in extra:
            ids_written = {_encoded(entity): name for entity, name in ids.items()}
            extra["misc"] = [_with_references(ids_written, misc) for misc in extra["misc"]]
            dated = dataclasses.replace(dated, tokens=dataclasses.replace(dated.tokens, extra=extra))
        pieces = _parts(document, mentions)
        bracket_texts = _opened(document, fields, ids, pieces)
        entities = [""] * len(document.tokens)
        brackets = layout(np.array([(*each.span, 0) for each in pieces]).reshape(-1, 3))
        for token, (openings, closings, singles) in brackets.items():
            closed = [pieces[i] for i in closings]
            closing = "".join(f"{ids[document.entities[piece.mention]]}{piece.number})" for piece in closed)
            opening = "".join(f"({bracket_texts[i]}" for i in openings)
            single = "".join(f"({bracket_texts[i]})" for i in singles)
            # The order that validators require.
            entities[token] = closing + opening + single if opening else single + closing
        return conllu_lines(dated, self._fields, entities, header)

    def _ids(self, document: AnnotatedDocument, mentions: Sequence[int], *, unique: bool) -> dict[str, str]:
        """Id of each entity of the mentions to write: an eid is unique in a file, a GRP in its document."""
        self._n_documents += 1
        ids: dict[str, str] = {}
        for entity in dict.fromkeys(document.entities[i] for i in mentions):
            ids[entity] = _encoded(entity)
            while unique and ids[entity] in self._used:
                ids[entity] += f".{self._n_documents}"
            if unique:
                self._used.add(ids[entity])
        return ids


class _Part(NamedTuple):
    """One part of a mention: its span, the mention, its number in the file ("" for an only part), and all spans."""

    span: tuple[int, int]
    mention: int
    number: str
    spans: tuple[tuple[int, int], ...]


def _parts(document: AnnotatedDocument, mentions: Sequence[int]) -> list[_Part]:
    """Parts of the mentions to write, sorted by start, then longest first."""
    part_texts = document.attributes.get(_corefud_reading.PARTS, [""] * document.n_mentions)
    pieces = []
    for i in mentions:
        start, end, _ = document.mentions[i].tolist()
        bounds = (text.split("-") for text in part_texts[i].split())
        spans = tuple((int(start), int(end)) for start, end in bounds) or ((start, end),)
        for number, span in enumerate(spans, start=1):
            pieces.append(_Part(span, i, f"[{number}/{len(spans)}]" if len(spans) > 1 else "", spans))
    return sorted(pieces, key=lambda piece: (piece.span[0], -piece.span[1]))


def _opened(
    document: AnnotatedDocument, fields: Sequence[str], ids: Mapping[str, str], pieces: Sequence[_Part]
) -> list[str]:
    """Fields of each opening bracket."""
    numbers = node_numbers(document)
    missing = [""] * document.n_mentions
    columns = [document.attributes.get(_corefud_reading.attribute_name(name), missing) for name in fields]
    texts = []
    for _, i, number, spans in pieces:
        values = [column[i] for column in columns]
        for k, name in enumerate(fields):
            if name in _corefud_reading.IDS:
                values[k] = ids[document.entities[i]] + number
            elif name == "head":
                head = int(document.mentions[i, 2])
                before = sum(numbers[end - 1] - numbers[start] + 1 for start, end in spans if end <= head)
                start = next(start for start, end in spans if start <= head < end)
                values[k] = str(before + numbers[head] - numbers[start] + 1)
            elif _FORBIDDEN.search(values[k]) or ("-" in values[k] and k < len(fields) - 1):
                rule = "must contain no bracket, bar, tab or line break, and no hyphen except in the last field"
                location = f"doc_id {document.doc_id!r}"
                raise ParameterError(f"{name}[{i}] {rule}, got {shown(values[k])}", place=location)
        while values[-1] == "":
            values.pop()
        texts.append("-".join(values))
    return texts


def _dated(document: AnnotatedDocument) -> tuple[AnnotatedDocument, list[str]]:
    """Return the document with its date in its date comment, and the comment lines to add if it has no such comment."""
    if document.date is None:
        return document, []
    iso = document.date.isoformat()
    for key in DATE_KEYS:
        name = metadata_name(key)
        if key.startswith(META) and name in document.metadata:
            if str(document.metadata[name]).strip() == iso:
                return document, []
            return dataclasses.replace(document, metadata={**document.metadata, name: iso}), []
        comments = document.sentences[0].comments if document.sentences else ()
        for k, comment in enumerate(comments):
            match = COMMENT.fullmatch(comment)
            if match and match[1] == key:
                changed = comment if match[2].strip() == iso else f"# {key} = {iso}"
                first = dataclasses.replace(
                    document.sentences[0], comments=(*comments[:k], changed, *comments[k + 1 :])
                )
                return dataclasses.replace(document, sentences=(first, *document.sentences[1:])), []
    return document, [f"# {DATE_KEYS[0]} = {iso}"]


def _with_references(ids: Mapping[str, str], misc: Any) -> Any:
    """MISC with only the bridging and split antecedents whose entities are written, by their ids in the file."""
    if not isinstance(misc, str) or ("Bridge=" not in misc and "Split" not in misc):
        return misc
    attributes = []
    for attribute in misc.split("|"):
        name, _, value = attribute.partition("=")
        if name in REFERENCES:
            pairs = [_reference(ids, pair) for pair in value.split(",")]
            attribute = f"{name}={','.join(filter(None, pairs))}" if any(pairs) else ""
        attributes.append(attribute)
    return "|".join(filter(None, attributes)) or "_"


def _reference(ids: Mapping[str, str], pair: str) -> str:
    """A reference such as ``e173<e188:part`` with the ids of the file; "" if one of the entities is not written."""
    entities, colon, relation = pair.partition(":")
    names = entities.split("<")
    return "<".join(ids[name] for name in names) + colon + relation if all(name in ids for name in names) else ""


def _encoded(name: str) -> str:
    """An id with percent codes for characters that have a meaning in the format."""
    return "".join(
        "".join(f"%{byte:02X}" for byte in c.encode()) if c in _MEANT or c.isspace() or not c.isprintable() else c
        for c in name
    )


def node_numbers(document: AnnotatedDocument) -> list[int]:
    """Number of words and empty nodes of the document before each token."""
    n_tokens = len(document.tokens)
    numbers = list(range(n_tokens))
    if not any(notes.further_rows for notes in document.sentences):
        return numbers
    bounds = document.tokens.sentences().values()
    n_tokens_before = [
        start + n_words
        for (start, _), notes in zip(bounds, document.sentences, strict=True)
        for n_words, row in notes.further_rows
        if "." in row.partition("\t")[0]
    ]
    n_passed = 0
    for token in range(n_tokens):
        while n_passed < len(n_tokens_before) and n_tokens_before[n_passed] <= token:
            n_passed += 1
        numbers[token] += n_passed
    return numbers
