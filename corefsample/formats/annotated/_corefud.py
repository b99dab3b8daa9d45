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
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, get_args

from corefsample._checks import choice
from corefsample.documents._annotated import REFERENCES, AnnotatedDocument, SentenceNotes
from corefsample.documents._faults import Rejected
from corefsample.documents._tokens import EMPTY_COLUMN, NO_SPEAKER, SPEAKER, Tokens
from corefsample.errors import ParameterError, ParameterHint, shown
from corefsample.files._paths import PathLike
from corefsample.formats.annotated._annotated_stream import (
    AnnotatedStream,
    OnUnwritable,
    WriteCounts,
    write_annotated,
)
from corefsample.formats.annotated._brackets import OnCrossing, layout
from corefsample.formats.annotated._corefud_reading import (
    COMMENT,
    DATE_KEYS,
    DEFAULT_FIELDS,
    IDS,
    META,
    PARTS,
    attribute_name,
    metadata_name,
    require_fields,
    split_corefud,
)

_FORBIDDEN = re.compile(r"[()|\t\r\n]")  # in any field
_MEANT = frozenset("%-=|()[]<>,: \t")  # characters with a meaning in the format, which are encoded in an id


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
        require_fields(entity_fields)
    options: dict[str, Any] = {"entity_fields": entity_fields, "on_crossing": on_crossing_sentences}
    return AnnotatedStream(inputs, partial(split_corefud, **options), on_rejected)


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
        require_fields(entity_fields)
    fields = entity_fields or ""
    used_ids: set[str] = set()
    numbers = itertools.count(1)

    def lines_of(document: AnnotatedDocument, mentions: Sequence[int]) -> Iterator[str]:
        nonlocal fields
        declared = "-".join(document.entity_fields or ()) or DEFAULT_FIELDS
        require_fields(declared)
        fields = fields or declared
        if entity_fields is None and declared != fields:
            raise ParameterError(
                f"fields of Entity= must be the same in a file ({fields}), got {declared}",
                place=f"doc_id {document.doc_id!r}",
                hint=ParameterHint("entity_fields", "can choose"),
            )
        number, ids = next(numbers), dict[str, str]()
        for entity in dict.fromkeys(document.entities[i] for i in mentions):
            ids[entity] = _encoded(entity)
            while ids[entity] in used_ids:
                ids[entity] += f".{number}"
            if "GRP" not in fields.split("-"):
                used_ids.add(ids[entity])
        return _lines(document, mentions, fields, ids)

    return write_annotated(
        documents, path, lines_of, singletons=singletons, on_unwritable=on_unwritable, overwrite=overwrite
    )


def _lines(
    document: AnnotatedDocument, mentions: Sequence[int], declared: str, ids: Mapping[str, str]
) -> Iterator[str]:
    """Yield the lines of one document.

    Parameters
    ----------
    document, mentions
        Document, and the indices of its mentions to write.
    declared
        Value of ``# global.Entity``.
    ids
        Id in the file of each entity to write.
    """
    if not len(document.tokens):
        location = f"doc_id {document.doc_id!r}"
        raise ParameterError("tokens must not be empty to be written, got none", place=location)
    document = _dated(document)
    rows = _rows(document, _entity_values(document, mentions, declared.split("-"), ids), ids)
    yield from _header(document, declared)
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


def _entity_values(
    document: AnnotatedDocument, mentions: Sequence[int], fields: Sequence[str], ids: Mapping[str, str]
) -> list[str]:
    """Value of ``Entity=`` of each token; "" for a token without brackets."""
    brackets = sorted(_brackets(document, mentions, fields, ids), key=lambda bracket: (bracket[0], -bracket[1]))
    values = [""] * len(document.tokens)
    for token, (openings, closings, singles) in layout((start, end) for start, end, _, _ in brackets).items():
        closing = "".join(f"{brackets[i][3]})" for i in closings)
        opening = "".join(f"({brackets[i][2]}" for i in openings)
        single = "".join(f"({brackets[i][2]})" for i in singles)
        # The order that validators require.
        values[token] = closing + opening + single if opening else single + closing
    return values


def _brackets(
    document: AnnotatedDocument, mentions: Sequence[int], fields: Sequence[str], ids: Mapping[str, str]
) -> Iterator[tuple[int, int, str, str]]:
    """Start, end, and texts of the opening and the closing bracket of each part of the mentions."""
    numbers = _node_numbers(document)
    missing = [""] * document.n_mentions
    columns = [document.attributes.get(attribute_name(name), missing) for name in fields]
    part_texts = document.attributes.get(PARTS, missing)
    id_field = next(k for k, name in enumerate(fields) if name in IDS)
    for i in mentions:
        first, last, head = document.mentions[i].tolist()
        bounds = (text.split("-") for text in part_texts[i].split())
        spans = [(int(start), int(end)) for start, end in bounds] or [(first, last)]
        values = [column[i] for column in columns]
        for k, name in enumerate(fields):
            if name == "head":
                before = sum(numbers[end - 1] - numbers[start] + 1 for start, end in spans if end <= head)
                start = next(start for start, end in spans if start <= head < end)
                values[k] = str(before + numbers[head] - numbers[start] + 1)
            elif k != id_field and (_FORBIDDEN.search(values[k]) or ("-" in values[k] and k < len(fields) - 1)):
                rule = "must contain no bracket, bar, tab or line break, and no hyphen except in the last field"
                location = f"doc_id {document.doc_id!r}"
                raise ParameterError(f"{name}[{i}] {rule}, got {shown(values[k])}", place=location)
        for number, (start, end) in enumerate(spans, start=1):
            part = f"[{number}/{len(spans)}]" if len(spans) > 1 else ""
            values[id_field] = ids[document.entities[i]] + part
            n_values = max(k for k, value in enumerate(values) if value) + 1
            yield start, end, "-".join(values[:n_values]), values[id_field]


def _dated(document: AnnotatedDocument) -> AnnotatedDocument:
    """Return the document with its date in its comment or metadata of the date; without them, in new metadata."""
    if document.date is None:
        return document
    iso = document.date.isoformat()
    date_name = metadata_name(DATE_KEYS[0])
    for key in DATE_KEYS:
        name = metadata_name(key)
        if key.startswith(META) and name in document.metadata:
            date_name = name
            break
        comments = document.sentences[0].comments if document.sentences else ()
        for k, comment in enumerate(comments):
            match = COMMENT.fullmatch(comment)
            if match and match[1] == key:
                if match[2].strip() == iso:
                    return document
                changed = (*comments[:k], f"# {key} = {iso}", *comments[k + 1 :])
                first = dataclasses.replace(document.sentences[0], comments=changed)
                return dataclasses.replace(document, sentences=(first, *document.sentences[1:]))
    if str(document.metadata.get(date_name, "")).strip() == iso:
        return document
    return dataclasses.replace(document, metadata={**document.metadata, date_name: iso})


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


def _node_numbers(document: AnnotatedDocument) -> list[int]:
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


def _rows(document: AnnotatedDocument, entities: Sequence[str], ids: Mapping[str, str]) -> list[str]:
    """Lines of the words with these values of ``Entity=``; references to entities get their ids in the file."""
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
    ids_written = {_encoded(entity): name for entity, name in ids.items()}
    misc = [_with_references(ids_written, attributes) for attributes in misc]
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
