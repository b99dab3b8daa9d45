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

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from corefsample.documents._annotated import AnnotatedDocument, SentenceNotes
from corefsample.documents._faults import Rejected
from corefsample.documents._tokens import EMPTY_COLUMN, NO_SPEAKER, SPEAKER
from corefsample.errors import ParameterError, shown
from corefsample.files._paths import PathLike
from corefsample.formats.annotated import _annotations as annotated, _corefud_reading as reading

_FORBIDDEN = re.compile(r"[()|\t\r\n]")  # in any field
_NOT_WRITTEN = ("Entity=", "Bridge=", "SplitAnte=", "Split=")  # attributes of MISC that name entities
_MEANT = frozenset("%-=|()[]<>,: \t")  # characters with a meaning in the format, which are encoded in an id


def read_corefud(
    inputs: PathLike | Iterable[PathLike],
    *,
    on_crossing_sentences: annotated.OnCrossing = "skip",
    on_rejected: Callable[[Rejected], None] | None = None,
) -> annotated.AnnotatedStream:
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
    on_crossing_sentences
        Treatment of a mention that closes in another sentence than it opens: "skip" (the default) leaves it out and
        counts it in `AnnotatedDocument.skipped`, "keep" keeps it.
    on_rejected
        Function that is called with each invalid document, which is then left out. By default the first invalid
        document raises InputError.

    Raises
    ------
    ParameterError
        If `on_crossing_sentences` is neither "skip" nor "keep".
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
    return annotated.AnnotatedStream(inputs, reading.split_corefud, on_crossing_sentences, on_rejected)


def write_corefud(
    documents: Iterable[AnnotatedDocument],
    path: PathLike,
    *,
    singletons: bool = True,
    overwrite: bool = False,
) -> annotated.WriteCounts:
    """Write documents to a new file; they are equal when they are read back.

    An ``eid`` denotes one entity throughout a file, as scorers read it, so an id that an earlier document uses gets the
    number of its document added (``e1.2``); a ``GRP`` is unique only in its document, and stays unchanged.

    Comments, multiword tokens and empty nodes that came with a document are written in their places; bridging and
    split antecedents are left out. A sentence without comments gets a sent_id, its speaker and its text. Metadata that
    is not a one-line string is written as JSON. Empty words and labels become ``_``. The fields of ``Entity=`` are
    those that the first document declares, or "eid-etype-head-other". The format cannot represent mentions that cross
    the bounds of a sentence or another mention of their entity: they are left out (the later of two), and counted in
    the result.

    Parameters
    ----------
    documents
        Documents to write; any iterable is consumed as a stream. `AnnotatedDocument.from_scored` makes one of a scored
        document with any clustering.
    path
        Path of the new file, compressed with gzip if it ends in .gz. The file appears when it is complete.
    singletons
        True (the default) if entities of one mention are written.
    overwrite
        True if an existing file may be replaced; by default it may not.

    Raises
    ------
    ParameterError
        If the file exists and `overwrite` is false, the fields of ``Entity=`` that a document declares are invalid or
        not those of the first document, or the format cannot represent a document.
    OutputError
        If the file cannot be written.
    """
    fields: tuple[str, ...] = ()
    used_ids: set[str] = set()
    numbers = itertools.count(1)

    def lines_of(document: AnnotatedDocument, mentions: Sequence[int]) -> Iterator[str]:
        nonlocal fields
        declared = document.entity_fields or tuple(reading.DEFAULT_FIELDS.split("-"))
        fields, number, ids = fields or declared, next(numbers), dict[str, str]()
        fault = reading.fault_of_fields(declared)
        if fault is None and declared != fields:
            fault = f"must be the same in a file ({'-'.join(fields)}), got {'-'.join(declared)}"
        if fault is not None:
            raise ParameterError(f"fields of Entity= {fault}", place=f"doc_id {document.doc_id!r}")
        for entity in dict.fromkeys(document.entities[i] for i in mentions):
            ids[entity] = "".join(
                "".join(f"%{byte:02X}" for byte in c.encode()) if c in _MEANT or not c.isprintable() else c
                for c in entity
            )
            while ids[entity] in used_ids:
                ids[entity] += f".{number}"
            if "GRP" not in fields:
                used_ids.add(ids[entity])
        return _lines(document, mentions, fields, ids)

    return annotated.write_annotated(documents, path, lines_of, singletons=singletons, overwrite=overwrite)


def _lines(
    document: AnnotatedDocument, mentions: Sequence[int], fields: Sequence[str], ids: Mapping[str, str]
) -> Iterator[str]:
    """Yield the lines of one document.

    Parameters
    ----------
    document, mentions
        Document, and the indices of its mentions to write.
    fields
        Fields of ``Entity=``.
    ids
        Id in the file of each entity to write.
    """
    location = f"doc_id {document.doc_id!r}"
    if not len(document.tokens):
        raise ParameterError("tokens must not be empty to be written, got none", place=location)
    rows = _rows(document, _entity_values(document, mentions, fields, ids), location)
    header = [f"# newdoc id = {document.doc_id}", f"# global.Entity = {'-'.join(fields)}"]
    for name, value in _dated_metadata(document).items():
        if not re.fullmatch(r"[^\s=]([^=\r\n]*[^\s=])?", name):
            rule = "metadata must have names that a comment can represent"
            raise ParameterError(f"{rule}, got {shown(name)}", place=location)
        plain = isinstance(value, str) and "\n" not in value and "\r" not in value
        prefix = "" if name.startswith(reading.META) and reading.metadata_name(name) == name else reading.META
        header.append(f"# {prefix}{name} = {value if plain else json.dumps(value)}")
    for k, (start, end) in enumerate(document.tokens.sentences().values()):
        notes = document.sentences[k] if document.sentences else _generated(document, k, start, end)
        lines, further = [*header, *notes.comments], list(notes.further_rows)
        for token in range(start, end):
            while further and further[0][0] <= token - start:
                lines.append(further.pop(0)[1])
            lines.append(rows[token])
        for line in (*lines, *(row for _, row in further)):
            if "\n" in line or "\r" in line:
                rule = "doc_id, comments and tokens must be one line to be written"
                raise ParameterError(f"{rule}, got {shown(line)}", place=location)
            yield line
        yield ""
        header = []


def _entity_values(
    document: AnnotatedDocument, mentions: Sequence[int], fields: Sequence[str], ids: Mapping[str, str]
) -> list[str]:
    """Value of ``Entity=`` of each token; "" for a token without brackets."""
    brackets = sorted(_brackets(document, mentions, fields, ids), key=lambda bracket: (bracket[0], -bracket[1]))
    values = [""] * len(document.tokens)
    for token, (openings, closings, singles) in annotated.layout((start, end) for start, end, _, _ in brackets).items():
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
    n_tokens_before = [
        start + n_words
        for (start, _), notes in zip(document.tokens.sentences().values(), document.sentences, strict=False)
        for n_words, row in notes.further_rows
        if "." in row.partition("\t")[0]
    ]
    tokens = np.arange(len(document.tokens))
    # Number of words and empty nodes of the document before each token.
    numbers = (tokens + np.searchsorted(np.array(n_tokens_before, np.int64), tokens, side="right")).tolist()
    missing = [""] * document.n_mentions
    columns = [document.attributes.get(reading.attribute_name(name), missing) for name in fields]
    part_texts = document.attributes.get(reading.PARTS, missing)
    id_field = next(k for k, name in enumerate(fields) if name in reading.IDS)
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


def _dated_metadata(document: AnnotatedDocument) -> dict[str, Any]:
    """Metadata of a document, with its date unless a reader finds this date in its metadata or comments."""
    comments = document.sentences[0].comments if document.sentences else ()
    texts: dict[str, Any] = {match[1]: match[2] for match in map(reading.COMMENT.fullmatch, comments) if match}
    texts |= {
        key: document.metadata.get(reading.metadata_name(key))
        for key in reading.DATE_KEYS
        if key.startswith(reading.META)
    }
    text = next((str(texts[key]).strip() for key in reading.DATE_KEYS if texts.get(key)), None)
    if document.date is None or text == document.date.isoformat():
        return dict(document.metadata)
    return {**document.metadata, reading.metadata_name(reading.DATE_KEYS[0]): document.date.isoformat()}


def _rows(document: AnnotatedDocument, entities: Sequence[str], location: str) -> list[str]:
    """Lines of the words with these values of ``Entity=``."""
    tokens, extra = document.tokens, document.tokens.extra
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
    spaces = extra.get("space_after", [True] * len(tokens))
    misc = extra.get("misc") or ["_" if spaced else "SpaceAfter=No" for spaced in spaces]
    rows = []
    columns = (numbers, text, tokens.lemma, tokens.upos, xpos, feats, heads, dep, deps, misc)
    for values, entity in zip(zip(*columns, strict=True), entities, strict=True):
        cells = ["_" if value is None or value == "" else str(value) for value in values]
        for cell in cells:
            if "\t" in cell:
                raise ParameterError(f"tokens must contain no tab to be written, got {shown(cell)}", place=location)
        attributes = [part for part in cells[-1].split("|") if not part.startswith(_NOT_WRITTEN) and part != "_"]
        if entity:  # in alphabetical order, by which the attributes of MISC are sorted by convention
            after = (i for i, part in enumerate(attributes) if part.lower() > "entity=")
            attributes.insert(next(after, len(attributes)), f"Entity={entity}")
        rows.append("\t".join([*cells[:-1], "|".join(attributes) or "_"]))
    return rows


def _generated(document: AnnotatedDocument, k: int, start: int, end: int) -> SentenceNotes:
    """Make sent_id, speaker and text of a sentence without comments; a slash has a meaning in ids, and is replaced."""
    empty = document.tokens.extra.get(EMPTY_COLUMN, [""] * end)
    words = ["" if empty[token] else document.tokens.text[token] or "_" for token in range(start, end)]
    spaces = document.tokens.extra.get("space_after", [True] * end)
    blanks = [" " if spaced else "" for spaced in spaces[start : end - 1]] + [""]
    text = "".join(word + blank for word, blank in zip(words, blanks, strict=True))
    doc_id = re.sub(r"[/\s]", "_", document.doc_id)
    speakers = document.tokens.extra.get(SPEAKER, [""] * end)[start:end]
    spoken = [f"# {SPEAKER} = {speaker}" for speaker in speakers if speaker and speaker not in NO_SPEAKER][:1]
    return SentenceNotes((f"# sent_id = {doc_id}-{k + 1}", *spoken, f"# text = {text}"))
