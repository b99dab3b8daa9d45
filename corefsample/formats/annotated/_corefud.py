"""CorefUD: CoNLL-U files with entities in MISC, ``Entity=``, by the fields that ``# global.Entity`` declares.

An opening bracket has the fields, with hyphens between them: ``(e5-person-2-``. Further hyphens belong to the last
field, and trailing fields may be missing. A closing bracket has only the id: ``e5)``. The id is the field ``eid`` or
``GRP``; a part of a discontinuous mention has its number in brackets, ``e5[1/2]``. In an id, a character with a meaning
in the format is written as its percent code (``-`` as ``%2D``).

The head of a mention is the word that the field ``head`` names by its number in the span. If that field is not
declared, is missing, or names an empty node, the head is the first word of the span whose syntactic head lies outside
it (as that of a sentence's root does). A ``minspan`` stays an attribute: it contains the words that a system must find,
which may be several, and in a span without a single head it often ends in another word.

Words are the tokens; empty nodes and multiword tokens are kept separately, to be written back. Tokens carry the further
columns xpos, feats, deps, misc (without Entity) and space_after, which is false within a multiword token.

References
----------
Nedoluzhko et al. (2022), CorefUD 1.0: Coreference Meets Universal Dependencies; format: ufal.mff.cuni.cz/corefud.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from corefsample._checks import choice
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._rejected import Rejected
from corefsample.files._paths import PathLike
from corefsample.formats.annotated._brackets import ON_FAULT, OnFault
from corefsample.formats.annotated._corefud_reading import CorefudOptions, require_fields, split_corefud
from corefsample.formats.annotated._corefud_writing import CorefudLines
from corefsample.formats.annotated._stream import AnnotatedStream
from corefsample.formats.annotated._writing import Written, write_annotated

DATE_KEYS = ("meta::dateCreated", "meta::date", "date")


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
    """Read documents one after another, in constant memory.

    A document begins at ``# newdoc id``. A document without an id is named after the file and its number in it, and a
    file without ``# newdoc`` is one document, named after the file.

    Parameters
    ----------
    inputs
        Files, plain or gzip, globs, or "-" for standard input.
    entity_fields
        Fields of ``Entity=`` for a file that does not declare them, usually "eid-etype-head-other". None: such a file
        is rejected.
    date_keys
        Comments of a document's first sentence that contain its date; the first one present is used, and must be an ISO
        date. A document without any has no date.
    on_discontinuous, on_crossing_sentences, on_empty_nodes_only
        A mention in parts that do not adjoin; one that closes in another sentence than it opens; one without a word:
        "skip" counts it in `AnnotatedDocument.skipped`, "refuse" rejects the document. The span of a mention of words
        and empty nodes is the words.
    on_rejected
        Called with each bad document, which is then left out. By default the first one raises.

    Raises
    ------
    ParameterError
        If an option has another value.
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
    on_fault = {
        "discontinuous": on_discontinuous,
        "crossing_sentences": on_crossing_sentences,
        "empty_nodes_only": on_empty_nodes_only,
    }
    for fault, value in on_fault.items():
        choice(f"on_{fault}", value, ON_FAULT)
    if entity_fields is not None:
        require_fields(entity_fields)
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
    """Write documents to a new file; they are equal when they are read back.

    An ``eid`` denotes one entity throughout a file, as scorers read it, so an id that an earlier document uses gets the
    number of its document added (``e1.2``); a ``GRP`` is unique only in its document, and stays unchanged.

    Comments, multiword tokens and empty nodes that came with a document are written in their places, bridging and
    split antecedents if their entities are written. A sentence without comments gets a sent_id and its text. Metadata
    that is not a one-line string is written as JSON. Empty words and labels become ``_``.

    Parameters
    ----------
    documents
        Any iterable; it is consumed as a stream. `AnnotatedDocument.with_clustering` and `.from_scored` make
        documents of any clustering.
    path
        Gzip if it ends in .gz. The file appears when it is complete.
    entity_fields
        Fields of ``Entity=``: eid or GRP for the entity, head for the head's number in the span, others for
        attributes. None: those of the documents, or "eid-etype-head-other". They are the same in a whole file. Without
        head among them, a reader finds heads by its own rule.
    singletons
        Whether entities of one mention are written.
    on_unwritable
        As of `write_conll2012`.
    date_keys
        The first of these comments that a document has gets its date; if it has none, the first is added.
    overwrite
        Whether an existing file may be replaced.

    Raises
    ------
    ParameterError
        If an option has another value, the file exists and `overwrite` is false, or the format cannot represent a
        document.
    OutputError
        If the file cannot be written.
    """
    if entity_fields is not None:
        require_fields(entity_fields)
    lines = CorefudLines(entity_fields, date_keys)
    return write_annotated(
        documents, path, lines.of, singletons=singletons, on_unwritable=on_unwritable, overwrite=overwrite
    )
