"""CoNLL-2012 (and 2011): one word per row, columns between blanks, coreference in the last one.

``(12|(3)|12)``: entity 12 opens, entity 3 is one word, entity 12 closes. Each part of a document is read as a document,
with name and number of the part as its doc_id (``bc/cctv/00/cctv_0000_0``).

Where tabs separate the columns, the last one may be empty: in some rows of a document, for none, or in all, after the
coreference.

Columns 5 to 11 become the tokens' further columns xpos, parse_bit, predicate_lemma, frameset, sense, speaker and
named_entity, those of predicates' arguments become `arguments`, with blanks between them. Files with fewer columns are
read as well: name, part, number, word, any of those in order, and coreference. The lemma is the predicate's if there is
one, otherwise the word itself; the universal part of speech is that of the English Penn tag. The format has no
dependencies: every head is -1 and every label "_", which no dependency scheme has, so that rules over a parse reject
such a document instead of counting it as one without events.

The head of a mention comes from the parse bits: the last noun before its postmodifiers, for coordinated nouns that of
the first part (`_penn_trees.head_of`). Without parse bits it is the last word of the mention.

References
----------
Pradhan et al. (2012), CoNLL-2012 Shared Task; Pradhan et al. (2014), the reference scorer. Heads after Collins (1999),
appendix A, of noun phrases alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from corefsample._checks import choice
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._rejected import Rejected
from corefsample.errors import ParameterError
from corefsample.files._paths import PathLike
from corefsample.formats.annotated._brackets import ON_FAULT, OnFault
from corefsample.formats.annotated._conll2012_reading import COLUMNS, document_name, split_conll2012
from corefsample.formats.annotated._stream import AnnotatedStream
from corefsample.formats.annotated._writing import Written, layout, write_annotated

_MISSING = {"named_entity": "*"}


def read_conll2012(
    inputs: PathLike | Iterable[PathLike],
    *,
    on_crossing_sentences: OnFault = "skip",
    on_rejected: Callable[[Rejected], None] | None = None,
) -> AnnotatedStream:
    """Read documents one after another, in constant memory.

    Parameters
    ----------
    inputs
        Files, plain or gzip, globs, or "-" for standard input.
    on_crossing_sentences
        A mention that closes in another sentence than it opens: "skip" counts it in `AnnotatedDocument.skipped`,
        "refuse" rejects the document.
    on_rejected
        Called with each bad document, which is then left out. By default the first one raises.

    Raises
    ------
    ParameterError
        If an option has another value.
    InputError
        At the first bad document, with file, line, doc_id and sentence: brackets that do not match, rows of one
        sentence that differ in columns, parse bits that are no tree, a document without an end, rows outside of
        documents, a repeated doc_id; or if a file is missing, incomplete, or without documents.

    Examples
    --------
    >>> document = next(read_conll2012("cctv_0000.v4_gold_conll"))  # doctest: +SKIP
    >>> document.doc_id, document.tokens.extra["speaker"][0]  # doctest: +SKIP
    ('bc/cctv/00/cctv_0000_0', 'Speaker#1')
    """
    choice("on_crossing_sentences", on_crossing_sentences, ON_FAULT)
    on_fault = {"crossing_sentences": on_crossing_sentences}
    return AnnotatedStream(inputs, partial(split_conll2012, on_fault=on_fault), on_rejected)


def write_conll2012(
    documents: Iterable[AnnotatedDocument],
    path: PathLike,
    *,
    singletons: bool = True,
    on_unwritable: OnFault = "refuse",
    overwrite: bool = False,
) -> Written:
    """Write documents to a new file, which the usual scorers of coreference read.

    Documents that came from such a file are equal when they are read back. For others the format has no place for
    dependencies, lemmas, the date and metadata; heads are then derived again when read. Entities keep their names if
    all of a document's are whole numbers, as scorers require; otherwise they are numbered from 0 by first mention. A
    blank within a word becomes ``_``.

    Parameters
    ----------
    documents
        Any iterable; it is consumed as a stream. `AnnotatedDocument.with_clustering` and `.from_scored` make
        documents of any clustering.
    path
        Gzip if it ends in .gz. The file appears when it is complete.
    singletons
        Whether entities of one mention are written; OntoNotes has none.
    on_unwritable
        Mentions that the format cannot represent, because they cross the bounds of a sentence or another mention of
        their entity: "refuse" raises, "skip" leaves them out (the later of two) and counts them in the result.
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
    return write_annotated(
        documents, path, _lines, singletons=singletons, on_unwritable=on_unwritable, overwrite=overwrite
    )


def _lines(document: AnnotatedDocument, kept: Sequence[int]) -> Iterator[str]:
    """Lines of one document with the mentions `kept`."""
    name, part = _name_and_part(document)
    if re.search(r"[\r\n]", name) or not name.strip() or name != name.strip():
        rule = "name must be one line without blanks at its ends to be written"
        raise ParameterError(f"{rule}, got {name!r}", place=f"doc_id {document.doc_id!r}")
    yield f"#begin document ({name});" + ("" if part is None else f" part {part}")
    tokens = document.tokens
    given = {name: tokens.extra[name] for name in (*COLUMNS, "arguments") if name in tokens.extra}
    given.setdefault("xpos", tokens.upos)
    missing = {name: [_MISSING.get(name, "-")] * len(tokens) for name in COLUMNS}
    columns = [given.get(name, missing[name]) for name in COLUMNS]
    arguments = given.get("arguments", [""] * len(tokens))
    coreference = _coreference(document, kept)
    first_column = re.sub(r"^#", "_", _cell(name))
    for start, end in tokens.sentences().values():
        rows = [str(arguments[t]).split() for t in range(start, end)]
        width = max(map(len, rows))
        for t in range(start, end):
            cells = [first_column, str(int(part or 0)), str(t - start), _cell(tokens.text[t])]
            cells += [_cell(column[t]) for column in columns]
            cells += rows[t - start] + ["*"] * (width - len(rows[t - start]))
            yield " ".join([*cells, coreference.get(t, "-")])
        yield ""
    yield "#end document"


def _name_and_part(document: AnnotatedDocument) -> tuple[str, str | None]:
    """Name and part as they were read, if they still make the doc_id; otherwise the doc_id, and no part."""
    name, part = document.metadata.get("document"), document.metadata.get("part")
    numbered = isinstance(part, str) and re.fullmatch("[0-9]+", part)
    if isinstance(name, str) and numbered and document_name(name, part) == document.doc_id:
        return name, part
    return document.doc_id, None


def _coreference(document: AnnotatedDocument, kept: Sequence[int]) -> dict[int, str]:
    """The last column of each token that has brackets."""
    names = [document.entities[i] for i in kept]
    if not all(re.fullmatch("[0-9]+", name) for name in names):
        numbers: dict[str, int] = {}
        names = [str(numbers.setdefault(name, len(numbers))) for name in names]
    column = {}
    for token, brackets in layout(document.mentions[list(kept)]).items():
        pieces = [f"({names[i]}" for i in brackets.opening] + [f"({names[i]})" for i in brackets.single]
        column[token] = "|".join(pieces + [f"{names[i]})" for i in brackets.closing])
    return column


def _cell(value: object) -> str:
    return re.sub(r"[ \t\r\n\v\f]", "_", str(value)) or "_"
