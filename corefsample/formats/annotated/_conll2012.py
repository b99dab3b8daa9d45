"""CoNLL-2012 (and 2011): one word per row, columns between blanks, coreference in the last one.

``(12|(3)|12)``: entity 12 opens, entity 3 is one word, entity 12 closes. Each part of a document is read as a document,
with name and number of the part as its doc_id (``bc/cctv/00/cctv_0000_0``).

If tabs separate the columns, the last column may be empty: in some rows of a document, which have no coreference, or in
all rows, after the coreference.

Columns 5 to 11 become the tokens' further columns xpos, parse_bit, predicate_lemma, frameset, sense, speaker and
named_entity; the columns of predicates' arguments become `arguments`, with blanks between them. Files with fewer
columns are read as well: name, part, number, word, some of these columns in order, and coreference. The lemma is the
predicate's lemma if the row has one, otherwise the word itself; the universal part of speech follows from the English
Penn tag. The format has no dependencies: every head is -1 and every label "_", which no dependency scheme has, so that
rules over a parse reject such a document instead of counting it as a document without events.

The head of a mention comes from the parse bits: the last noun before its postmodifiers, or for coordinated nouns the
head of the first one (`head_of`). Without parse bits it is the last word of the mention.

References
----------
Pradhan et al. (2012), CoNLL-2012 Shared Task; Pradhan et al. (2014), the reference scorer. Heads after Collins (1999),
appendix A, of noun phrases alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, groupby, pairwise
from typing import NamedTuple

import numpy as np

from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._faults import Rejected
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError, shown
from corefsample.files._paths import PathLike
from corefsample.formats.annotated import _annotations as annotated


def read_conll2012(
    inputs: PathLike | Iterable[PathLike],
    *,
    on_crossing_sentences: annotated.OnCrossing = "skip",
    on_rejected: Callable[[Rejected], None] | None = None,
) -> annotated.AnnotatedStream:
    """Read documents one after another, in constant memory.

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
        At the first bad document, with file, line, doc_id and sentence: brackets that do not match, rows of one
        sentence that differ in columns, parse bits that are no tree, a document without an end, rows outside of
        documents, a repeated doc_id; or if a file is missing, incomplete, or without documents.

    Examples
    --------
    >>> document = next(read_conll2012("cctv_0000.v4_gold_conll"))  # doctest: +SKIP
    >>> document.doc_id, document.tokens.extra["speaker"][0]  # doctest: +SKIP
    ('bc/cctv/00/cctv_0000_0', 'Speaker#1')
    """
    return annotated.AnnotatedStream(inputs, _split, on_crossing_sentences, on_rejected)


def write_conll2012(
    documents: Iterable[AnnotatedDocument],
    path: PathLike,
    *,
    singletons: bool = True,
    overwrite: bool = False,
) -> annotated.WriteCounts:
    """Write documents to a new file, which the usual scorers of coreference read.

    Documents that came from such a file are equal when they are read back. For others the format has no place for
    dependencies, lemmas, the date and metadata; heads are then derived again when read. Entities keep their names if
    all of a document's are whole numbers, as scorers require; otherwise they are numbered from 0 by first mention. A
    blank within a word becomes ``_``. The format cannot represent mentions that cross the bounds of a sentence or
    another mention of their entity: they are left out (the later of two), and counted in the result.

    Parameters
    ----------
    documents
        Documents to write; any iterable is consumed as a stream. `AnnotatedDocument.from_scored` makes one of a scored
        document with any clustering.
    path
        Path of the new file, compressed with gzip if it ends in .gz. The file appears when it is complete.
    singletons
        True (the default) if entities of one mention are written; OntoNotes has none.
    overwrite
        True if an existing file may be replaced; by default it may not.

    Raises
    ------
    ParameterError
        If the file exists and `overwrite` is false, or the format cannot represent a document.
    OutputError
        If the file cannot be written.
    """
    return annotated.write_annotated(documents, path, _lines, singletons=singletons, overwrite=overwrite)


def _lines(document: AnnotatedDocument, mentions: Sequence[int]) -> Iterator[str]:
    """Lines of one document; `mentions` are the indices of the mentions to write."""
    # Name and part that were read, if the doc_id still consists of them; otherwise the doc_id and no part.
    name, number = str(document.metadata.get("document")), document.metadata.get("part")
    has_part = isinstance(number, str) and re.fullmatch("[0-9]+", number) is not None
    if not has_part or _doc_id(name, number) != document.doc_id:
        name, number = document.doc_id, None
    if re.search(r"[\r\n]", name) or name != name.strip() or not name:
        rule = "name must be one line without blanks at its ends to be written"
        raise ParameterError(f"{rule}, got {name!r}", place=f"doc_id {document.doc_id!r}")
    yield f"#begin document ({name});" + ("" if number is None else f" part {number}")
    tokens = document.tokens
    missing = {name: ["-"] * len(tokens) for name in COLUMNS} | {"named_entity": ["*"] * len(tokens)}
    columns_by_name = {**missing, "xpos": tokens.upos, "arguments": [""] * len(tokens), **tokens.extra}
    columns = [columns_by_name[name] for name in COLUMNS]
    arguments = columns_by_name["arguments"]
    coreference = _coreference(document, mentions)
    first_column = re.sub(r"^#", "_", _cell(name))
    for start, end in tokens.sentences().values():
        rows = [str(arguments[t]).split() for t in range(start, end)]
        width = max(map(len, rows))
        for t in range(start, end):
            cells = [first_column, str(int(number or 0)), str(t - start), _cell(tokens.text[t])]
            cells += [_cell(column[t]) for column in columns]
            cells += rows[t - start] + ["*"] * (width - len(rows[t - start]))
            yield " ".join([*cells, coreference.get(t, "-")])
        yield ""
    yield "#end document"


def _coreference(document: AnnotatedDocument, mentions: Sequence[int]) -> dict[int, str]:
    """The last column of each token that has brackets."""
    names = [document.entities[i] for i in mentions]
    if not all(re.fullmatch("[0-9]+", name) for name in names):
        numbers: dict[str, int] = {}
        names = [str(numbers.setdefault(name, len(numbers))) for name in names]
    column = {}
    for token, (openings, closings, singles) in annotated.layout(
        document.mentions[list(mentions), :2].tolist()
    ).items():
        pieces = [f"({names[i]}" for i in openings] + [f"({names[i]})" for i in singles]
        column[token] = "|".join(pieces + [f"{names[i]})" for i in closings])
    return column


def _cell(value: object) -> str:
    return re.sub(r"[ \t\r\n\v\f]", "_", str(value)) or "_"


COLUMNS = ("xpos", "parse_bit", "predicate_lemma", "frameset", "sense", "speaker", "named_entity")
_WORD, _FIRST = 3, 4  # columns of the word, and of the first of COLUMNS; arguments of predicates follow the last
_FEWEST = 5  # smallest number of columns
_BEGIN = re.compile(r"#\s*begin document\s+(.*\S)\s*")
_END = re.compile(r"#\s*end document\b.*")
_NAME = re.compile(r"\((.*)\);?(?:\s*part\s*([0-9]+))?")
_PIECE = re.compile(r"(\()?([^()|]+)(\))?")


def _doc_id(name: str, number: str | None) -> str:
    """Return the doc_id of a part of a document: its name and the number of the part, as in the outputs of systems."""
    return name if number is None else f"{name}_{int(number)}"


def _split(
    path: str, lines: Iterable[tuple[int, str]], on_crossing: annotated.OnCrossing
) -> Iterator[annotated.RawDocument]:
    """Yield the documents of a file; rows outside of all documents make one that is invalid."""
    raw: annotated.RawDocument | None = None
    for numbered in lines:
        text = numbered[1]
        begin = _BEGIN.fullmatch(text)
        if begin is not None or (raw is None and text.strip() and not text.startswith("#")):
            if raw is not None:
                yield raw
            match = _NAME.fullmatch(begin[1]) if begin else None
            name, part = (match[1], match[2]) if match else (begin[1] if begin else "", None)
            block = [numbered]
            raw = annotated.RawDocument(_doc_id(name, part), block, partial(_document, name, part, block, on_crossing))
        elif raw is not None:
            raw.lines.append(numbered)
            if _END.fullmatch(text):
                yield raw
                raw = None
    if raw is not None:
        yield raw


def _document(
    name: str, part: str | None, lines: annotated.Lines, on_crossing: annotated.OnCrossing
) -> AnnotatedDocument:
    """Parse one part of a document."""
    if not name:
        rule = "a row must be between #begin document (name); and #end document"
        raise annotated.DocumentFaultError(lines[0][0], "", f"{rule}, got {shown(lines[0][1])}")
    sentences = _sentences(lines[1:])
    last_number, last_text = lines[-1]
    if not _END.fullmatch(last_text):
        rule = "a document must end with #end document"
        raise annotated.DocumentFaultError(last_number, "", f"{rule}, got {shown(last_text)} last")
    rows = [cells for sentence in sentences for _, cells in sentence]
    middles = [cells[_FIRST:-1] for cells in rows]
    columns = {
        column: [middle[k] if k < len(middle) else "-" for middle in middles] for k, column in enumerate(COLUMNS)
    }
    names = [f"sentence {k + 1}" for k in range(len(sentences))]
    first_tokens = list(accumulate(map(len, sentences), initial=0))
    trees = []
    for k, (start, end) in enumerate(pairwise(first_tokens)):
        try:
            trees.append(sentence_tree(columns["parse_bit"][start:end], columns["xpos"][start:end]))
        except ValueError as error:
            number, cells = sentences[k][error.args[0]]
            reason = f"the parse bits of a sentence must be a tree, got {shown(cells[_FIRST + 1])}"
            raise annotated.DocumentFaultError(number, names[k], reason) from None
    matched, skipped = annotated.match_brackets(_brackets(sentences, names), "coreference", on_crossing, names)
    sent = np.repeat(np.arange(len(sentences), dtype=np.int32), list(map(len, sentences)))
    mentions = []
    for mention in matched:
        start, end = mention.spans[0]
        first = first_tokens[sent[start]]
        mentions.append((start, end, first + head_of(trees[sent[start]], start - first, end - first)))
    text = [cells[_WORD] for cells in rows]
    lemmas = zip(columns["predicate_lemma"], text, strict=True)
    genre = name.partition("/")[0]
    return AnnotatedDocument(
        doc_id=_doc_id(name, part),
        tokens=Tokens(
            text=text,
            lemma=[word if lemma == "-" else lemma for lemma, word in lemmas],
            upos=["_" if tag == "-" else _UNIVERSAL.get(tag, "X") for tag in columns["xpos"]],
            dep=["_"] * len(text),
            head=np.full(len(text), -1, np.int32),
            sent=sent,
            extra={**columns, "arguments": [" ".join(middle[len(COLUMNS) :]) for middle in middles]},
        ),
        mentions=np.array(mentions, np.int32).reshape(-1, 3),
        entities=[mention.bracket.entity for mention in matched],
        metadata={"document": name}
        | ({} if part is None else {"part": part})
        | ({"genre": genre} if genre != name else {}),
        skipped=skipped,
    )


def _sentences(lines: annotated.Lines) -> list[list[tuple[int, list[str]]]]:
    """Line and cells of each row, by sentence; the rows of one sentence have equally many cells."""
    lines = [(number, text) for number, text in lines if not text.startswith("#")]
    cells_of = _row_reader([text for _, text in lines if text.strip()])
    sentences: list[list[tuple[int, list[str]]]] = []
    for is_row, group in groupby(lines, key=lambda numbered: bool(numbered[1].strip())):
        if not is_row:
            continue
        sentence = [(number, cells_of(text)) for number, text in group]
        sentences.append(sentence)
        width = max(len(sentence[0][1]), _FEWEST)
        for number, cells in sentence:
            if len(cells) != width:
                reason = f"a row must have {width} columns, as all rows of the sentence, got {len(cells)}"
                raise annotated.DocumentFaultError(number, f"sentence {len(sentences)}", reason)
    return sentences


def _brackets(
    sentences: Sequence[Sequence[tuple[int, list[str]]]], names: Sequence[str]
) -> Iterator[annotated.Bracket]:
    """Yield the brackets of a document."""
    rows = [(k, number, cells[-1]) for k, sentence in enumerate(sentences) for number, cells in sentence]
    for token, (k, number, value) in enumerate(rows):
        position = annotated.BracketPosition(token, token + 1, token, k, number)
        for piece in value.split("|") if value not in ("-", "_") else ():
            match = _PIECE.fullmatch(piece)
            if match is None or not (match[1] or match[3]):
                rule = "must be - or brackets like (1), (1 or 1), bars between them"
                raise annotated.DocumentFaultError(number, names[k], f"coreference: {rule}, got {shown(value)}")
            yield annotated.Bracket(match[2], bool(match[1]), bool(match[3]), position, piece, match[2])


def _row_reader(rows: list[str]) -> Callable[[str], list[str]]:
    """Choose the function that splits a row of a document into cells.

    Columns are separated by blanks or tabs. If they are separated by tabs, the last cell may be empty. If it is empty
    in some rows, it is the coreference, and an empty cell means none. If it is empty in all rows, the column before it
    is the coreference, unless that column contains a star, as arguments of predicates and named entities do.
    """
    tabbed = [_cells_between_tabs(row) for row in rows]
    are_words = all(len(cells) >= _FEWEST and all(cells[:-1]) and " " not in "".join(cells) for cells in tabbed)
    if not rows or not are_words or all(cells[-1] for cells in tabbed):
        return lambda row: re.split(r"[ \t]+", row.strip(" \t"))
    if any(cells[-1] for cells in tabbed) or any("*" in cells[-2] for cells in tabbed):
        return lambda row: [cell or "-" for cell in _cells_between_tabs(row)]
    return lambda row: _cells_between_tabs(row)[:-1]


def _cells_between_tabs(row: str) -> list[str]:
    return [cell.strip(" ") for cell in row.split("\t")]


_BIT = re.compile(r"\([^()*\s]*|\*|\)")
_NOMINAL = frozenset({"NP", "NX", "NML", "NAC", "WHNP", "QP"})
_NOUN_TAGS = frozenset({"NN", "NNS", "NNP", "NNPS", "PRP", "WP", "EX"})

_LATER = (
    (False, frozenset({"NP", "NX", "NML", "WHNP"})),
    (True, frozenset({"PRP$", "WP$", "$", "ADJP", "PRN"})),
    (True, frozenset({"CD"})),
    (True, frozenset({"JJ", "JJR", "JJS", "RB", "QP", "DT", "WDT"})),
)  # whether to search from the right, and for which children, if there is no noun

# Universal part of speech of each English Penn tag.
_UNIVERSAL = {
    tag: upos
    for upos, tags in {
        "ADJ": "JJ JJR JJS AFX",
        "ADP": "IN",
        "ADV": "RB RBR RBS WRB",
        "AUX": "MD",
        "CCONJ": "CC",
        "DET": "DT PDT WDT",
        "INTJ": "UH",
        "NOUN": "NN NNS",
        "NUM": "CD",
        "PART": "POS RP TO",
        "PRON": "EX PRP PRP$ WP WP$",
        "PROPN": "NNP NNPS",
        "PUNCT": ". , : `` '' -LRB- -RRB- HYPH NFP",
        "SYM": "# $ SYM",
        "VERB": "VB VBD VBG VBN VBP VBZ",
        "X": "ADD FW LS XX",
    }.items()
    for tag in tags.split()
}


class Constituent(NamedTuple):
    """A node of a phrase structure: a word, which has no children, or a phrase."""

    label: str
    start: int
    end: int
    children: Sequence[Constituent] = ()


def sentence_tree(bits: Sequence[str], tags: Sequence[str]) -> Constituent | None:
    """Build the tree of a sentence from the parse bit and the tag of each word; None if the bits have none.

    Raises
    ------
    ValueError
        With the index of the word, if the bits are no tree.
    """
    if not any("(" in bit for bit in bits):
        return None
    stack: list[tuple[str, int, list[Constituent]]] = [("", 0, [])]  # label, start and children of each open phrase
    for word, (bit, tag) in enumerate(zip(bits, tags, strict=True)):
        pieces = _BIT.findall(bit)
        if "".join(pieces) != bit or bit.count("*") != 1:
            raise ValueError(word)
        for piece in pieces:
            if piece == "*":
                stack[-1][2].append(Constituent(tag, word, word + 1))
            elif piece == ")":
                if len(stack) == 1:
                    raise ValueError(word)
                label, start, children = stack.pop()
                stack[-1][2].append(Constituent(label, start, word + 1, children))
            else:
                stack.append((piece[1:], word, []))
    if len(stack) > 1:
        raise ValueError(stack[-1][1])
    return Constituent("", 0, len(bits), stack[0][2])


def head_of(tree: Constituent | None, start: int, end: int) -> int:
    """Head word of a span: the last noun of its noun phrase before the postmodifiers.

    Take the lowest phrase that covers the span. In a noun phrase the head is the last noun or pronoun among its words,
    for coordinated nouns that of the first part; without one, the head of its first noun phrase; then the last
    possessive pronoun, number or adjective. The head of any other phrase, and of a span without a tree, is the last
    word.
    """
    if tree is None:
        return end - 1
    node = tree
    while inner := next((c for c in node.children if c.start <= start and end <= c.end), None):
        node = inner
    children: Sequence[Constituent] = [c for c in node.children if start <= c.start and c.end <= end]
    while node.label.partition("-")[0] in _NOMINAL and children:
        node = _head_child(children)
        children = node.children
        if not children:
            return node.start
    return min(node.end, end) - 1


def _head_child(children: Sequence[Constituent]) -> Constituent:
    conjunctions = (i for i, child in enumerate(children) if child.label in ("CC", "CONJP") and i)
    children = children[: next(conjunctions, len(children))]
    for child in reversed(children):
        if child.label in _NOUN_TAGS:
            return child
    for from_right, labels in _LATER:
        for child in reversed(children) if from_right else children:
            if child.label.partition("-")[0] in labels:
                return child
    return children[-1]
