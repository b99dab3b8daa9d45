"""CorefUD: CoNLL-U files with entities in MISC, ``Entity=``, by the fields that ``# global.Entity`` declares.

An opening bracket holds the fields, hyphens between them: ``(e5-person-2-``. What is more than the fields asked for
belongs to the last one, and trailing fields may be missing. A closing bracket holds the id alone: ``e5)``. The id is
the field ``eid`` or ``GRP``; a part of a discontinuous mention carries its number, ``e5[1/2]``. In an id, a character
that means something to the format is written as its percent code (``-`` as ``%2D``).

The head of a mention is the word that the field ``head`` names by its number in the span. Where that field is not
declared, is missing, or names an empty node, the head is the first word of the span whose syntactic head lies outside
it (the head of a sentence's root does). A ``minspan`` stays an attribute: it holds the words that a system must find,
which may be several, and where a span has no single head it often ends in another word.

Words are the tokens; empty nodes and multiword tokens are kept aside, to be written back. Tokens carry the further
columns xpos, feats, deps, misc (without Entity) and space_after, which is false within a multiword token.

References
----------
Nedoluzhko et al. (2022), CorefUD 1.0: Coreference Meets Universal Dependencies; format: ufal.mff.cuni.cz/corefud.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from corefsample._checks import shown
from corefsample.annotated import REFERENCES, AnnotatedDocument
from corefsample.document_batch import Rejected
from corefsample.errors import ParameterError
from corefsample.formats._annotated_stream import AnnotatedStream, Written
from corefsample.formats._conllu_reading import COMMENT, META, metadata_name
from corefsample.formats._conllu_writing import conllu_lines, node_numbers
from corefsample.formats._corefud_reading import (
    DEFAULT_FIELDS,
    IDS,
    CorefudOptions,
    attribute_name,
    fault_of_fields,
    split_corefud,
)
from corefsample.formats._entity_brackets import OnFault, checked_on_fault, kept_mentions, layout
from corefsample.formats._text_files import PathLike, new_text_file

__all__ = ["DATE_KEYS", "read_corefud", "write_corefud"]

DATE_KEYS = ("meta::dateCreated", "meta::date", "date")
_MEANT = frozenset("%-=|()[]<>,: \t")  # characters of an id that mean something to the format


def read_corefud(
    inputs: PathLike | Iterable[PathLike],
    *,
    entity_fields: str | None = None,
    date_keys: Sequence[str] = DATE_KEYS,
    on_discontinuous: OnFault = "skip",
    on_crossing_sentences: OnFault = "skip",
    on_empty_nodes_only: OnFault = "skip",
    on_rejected: Callable[[Rejected], None] | None = None,
) -> AnnotatedStream:
    """Read documents one after another; memory stays flat however many there are.

    A document begins at ``# newdoc id``. One without an id is called by the file and its number in it, and a file
    without ``# newdoc`` is one document, called by the file.

    Parameters
    ----------
    inputs
        Files, plain or gzip, globs, or "-" for standard input.
    entity_fields
        Fields of ``Entity=`` where a file does not declare them; by custom "eid-etype-head-other". None: such a file
        is refused.
    date_keys
        Comments of a document's first sentence that hold its date; the first that is there counts, and must be an
        ISO date. A document that has none has no date.
    on_discontinuous, on_crossing_sentences, on_empty_nodes_only
        A mention in parts that do not adjoin; one that closes in another sentence than it opens; one without a word:
        "skip" counts it in `AnnotatedDocument.skipped`, "refuse" refuses the document. Where a mention holds words
        and empty nodes, its span is the words.
    on_rejected
        Called with each bad document, which is then left out. By default the first one raises.

    Raises
    ------
    ParameterError
        If an option is none of those above.
    InputError
        One line of file, line, doc_id, sentence, rule and value, at the first bad document: brackets that do not
        match, a row without ten columns, ids out of order, heads that are no words of the sentence or form a cycle,
        ``Entity=`` without a declaration, a doc_id a second time; or a file that is missing, is broken off, or holds
        no document.

    Examples
    --------
    >>> document = next(read_corefud("en_gum-ud-dev.conllu.gz"))  # doctest: +SKIP
    >>> document.mention_text(0), document.entities[0]  # doctest: +SKIP
    ('Introduction', '1')
    """
    on_fault = {
        "discontinuous": checked_on_fault("on_discontinuous", on_discontinuous),
        "crossing_sentences": checked_on_fault("on_crossing_sentences", on_crossing_sentences),
        "empty_nodes_only": checked_on_fault("on_empty_nodes_only", on_empty_nodes_only),
    }
    if entity_fields is not None:
        _check_fields(entity_fields)
    options = CorefudOptions(entity_fields, tuple(date_keys), on_fault)
    return AnnotatedStream(inputs, partial(split_corefud, options=options), on_rejected)


def write_corefud(
    documents: Iterable[AnnotatedDocument],
    path: PathLike,
    *,
    entity_fields: str | None = None,
    singletons: bool = True,
    on_unwritable: OnFault = "refuse",
    date_keys: Sequence[str] = DATE_KEYS,
    overwrite: bool = False,
) -> Written:
    """Write documents to a new file; read back, they are equal.

    Comments, multiword tokens and empty nodes that came with a document are written where they stood. Where a
    sentence came without, it gets a sent_id and its text. What is no one-line string in the metadata is written as
    JSON. Empty words and labels become ``_``.

    Parameters
    ----------
    documents
        Any iterable; it is consumed as a stream. `AnnotatedDocument.with_clustering` and `.from_scored` make
        documents of any clustering.
    path
        Gzip if it ends in .gz. The file appears when it is whole.
    entity_fields
        Fields of ``Entity=``: eid or GRP for the entity, head for the head's number in the span, others for
        attributes. None: those that the documents came with, or "eid-etype-head-other". All documents of a file have
        the same. Without head among them, a reader finds heads by its own rule.
    singletons
        Whether entities of one mention are written.
    on_unwritable
        What the format cannot hold, mentions that cross a sentence's bounds, and mentions of one entity that cross
        each other: "refuse", or "skip" (the later of two), counted in the result.
    date_keys
        The first of these comments that a document came with takes its date; where there is none, the first is added.
    overwrite
        Whether an existing file may be replaced.

    Raises
    ------
    ParameterError
        If an option is none of those above, or a document holds what the format cannot.
    OutputError
        If the file exists, or cannot be written.
    """
    checked_on_fault("on_unwritable", on_unwritable)
    if entity_fields is not None:
        _check_fields(entity_fields)
    fields = entity_fields
    written = Written()
    with new_text_file(path, overwrite=overwrite) as write:
        for document in documents:
            own = "-".join(document.entity_fields) if document.entity_fields else DEFAULT_FIELDS
            fields = fields or own
            if entity_fields is None and own != fields:
                rule = f"fields of Entity= must be the same in a file ({fields}; entity_fields can choose)"
                raise ParameterError(f"doc_id {document.doc_id!r}: {rule}, got {own}")
            kept = kept_mentions(
                document, singletons=singletons, on_unwritable=on_unwritable, left_out=written.left_out
            )
            write("\n".join(_lines(document, fields, kept, date_keys)) + "\n")
            written = written.plus(len(kept))
    return written


def _check_fields(entity_fields: str) -> None:
    fault = fault_of_fields(entity_fields)
    if fault is not None:
        raise ParameterError(f"entity_fields {fault}")


def _lines(document: AnnotatedDocument, fields: str, kept: Sequence[int], date_keys: Sequence[str]) -> Iterator[str]:
    """Lines of one document with the mentions `kept`."""
    dated, header = _dated(document, date_keys)
    ids = {document.entities[i]: _encoded(document.entities[i]) for i in kept}
    if len(kept) < document.n_mentions and "misc" in document.tokens.extra:
        extra = dict(document.tokens.extra)
        extra["misc"] = [_with_references_to(set(ids.values()), misc) for misc in extra["misc"]]
        dated = dataclasses.replace(dated, tokens=dataclasses.replace(dated.tokens, extra=extra))
    spans = document.mentions[list(kept)]
    opened = _opened(document, fields.split("-"), ids, kept)
    entities = [""] * len(document.tokens)
    for token, brackets in layout(spans).items():
        closing = "".join(f"{ids[document.entities[kept[i]]]})" for i in brackets.closing)
        opening = "".join(f"({opened[i]}" for i in brackets.opening)
        single = "".join(f"({opened[i]})" for i in brackets.single)
        # The order that validators ask for.
        entities[token] = closing + opening + single if opening else single + closing
    return conllu_lines(dated, fields, entities, header)


def _opened(
    document: AnnotatedDocument, fields: Sequence[str], ids: Mapping[str, str], kept: Sequence[int]
) -> list[str]:
    """Fields of each opening bracket."""
    numbers = node_numbers(document)
    missing = [""] * document.n_mentions
    columns = [document.attributes.get(attribute_name(name), missing) for name in fields]
    texts = []
    for i in kept:
        values = [column[i] for column in columns]
        for k, name in enumerate(fields):
            if name in IDS:
                values[k] = ids[document.entities[i]]
            elif name == "head":
                start, _, head = document.mentions[i].tolist()
                values[k] = str(numbers[head] - numbers[start] + 1)
            elif any(c in values[k] for c in "()|\t\r\n") or ("-" in values[k] and k < len(fields) - 1):
                rule = "must hold no bracket, bar, tab or line break, and no hyphen except in the last field"
                raise ParameterError(f"doc_id {document.doc_id!r}: {name}[{i}] {rule}, got {shown(values[k])}")
        while values[-1] == "":
            values.pop()
        texts.append("-".join(values))
    return texts


def _dated(document: AnnotatedDocument, date_keys: Sequence[str]) -> tuple[AnnotatedDocument, list[str]]:
    """Bring the comment that holds the date up to date; where there is none, return a new one."""
    if document.date is None or not date_keys:
        return document, []
    iso = document.date.isoformat()
    for key in date_keys:
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
    return document, [f"# {date_keys[0]} = {iso}"]


def _with_references_to(ids: Collection[str], misc: str) -> str:
    """MISC whose bridging and split antecedents name entities that are written."""
    if "Bridge=" not in misc and "Split" not in misc:
        return misc
    parts = []
    for part in misc.split("|"):
        name, _, value = part.partition("=")
        if name in REFERENCES:
            pairs = [pair for pair in value.split(",") if {*pair.partition(":")[0].split("<")} <= set(ids)]
            part = f"{name}={','.join(pairs)}" if pairs else ""
        parts.append(part)
    return "|".join(part for part in parts if part) or "_"


def _encoded(name: str) -> str:
    """An id with percent codes for what means something to the format."""
    return "".join(
        "".join(f"%{byte:02X}" for byte in c.encode()) if c in _MEANT or c.isspace() or not c.isprintable() else c
        for c in name
    )
