"""CorefUD: from the lines of a CoNLL-U file to annotated documents."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from corefsample._checks import iso_date
from corefsample.documents._annotated import AnnotatedDocument, SentenceNotes
from corefsample.documents._scored import FIELDS
from corefsample.documents._tokens import EMPTY_COLUMN, SPEAKER, STRING_COLUMNS, Tokens
from corefsample.errors import shown
from corefsample.formats.annotated import _annotations as annotated

META = "meta::"
NEWDOC = re.compile(r"#\s*newdoc(?:\s+id\s*=\s?(.*))?\s*")
COMMENT = re.compile(r"#\s*([^=]*?)\s*=\s?(.*)")
DEFAULT_FIELDS = "eid-etype-head-other"
DATE_KEYS = ("meta::dateCreated", "meta::date", "date")  # keys of comments with the date; the first one counts
IDS = ("eid", "GRP")
PARTS = "parts"  # attribute of discontinuous mentions
_DECLARATION = "global.Entity"
_ENTITY = "Entity="
_COLUMNS = ("id", "text", "lemma", "upos", "xpos", "feats", "head", "dep", "deps", "misc")
_ID, _TEXT, _UPOS, _MISC = (_COLUMNS.index(name) for name in ("id", "text", "upos", "misc"))
_RANGE = re.compile(r"[0-9]+-([0-9]+)")
_CHUNK = re.compile(r"\([^()]*\)?|[^()]+\)")
_PART = re.compile(r"(.+)\[([0-9]+)/([0-9]+)\]", re.DOTALL)
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


def split_corefud(
    path: str, lines: Iterable[tuple[int, str]], on_crossing: annotated.OnCrossing
) -> Iterator[annotated.RawDocument]:
    """Yield the documents of a file: each begins at ``# newdoc``, the first one at the first sentence."""
    stem = os.path.basename(path).removesuffix(".gz").removesuffix(".conllu") if path != "-" else "stdin"
    raw: annotated.RawDocument | None = None
    declared: str | None = None
    count = 0
    for block in _blocks(lines):
        matches = [NEWDOC.fullmatch(text) for _, text in block if text.startswith("#")]
        newdoc = next((match for match in matches if match), None)
        if raw is None or newdoc:
            if raw is not None:
                yield raw
            count += 1
            doc_id = (newdoc and newdoc[1]) or (stem if newdoc is None else f"{stem}-{count}")
            sentences: list[annotated.Lines] = []
            raw = annotated.RawDocument(doc_id, [], partial(_document, doc_id, sentences, declared, on_crossing))
        sentences.append(block)
        raw.lines.extend([*block, (block[-1][0] + 1, "")])
        for _, text in block:
            match = COMMENT.fullmatch(text) if text.startswith("#") and _DECLARATION in text else None
            declared = match[2].strip() if match and match[1] == _DECLARATION else declared
    if raw is not None:
        yield raw


def _blocks(lines: Iterable[tuple[int, str]]) -> Iterator[annotated.Lines]:
    """Yield the lines between blank lines."""
    block: annotated.Lines = []
    for number, text in lines:
        if text and not text.isspace():
            block.append((number, text))
        elif block:
            yield block
            block = []
    if block:
        yield block


def _document(
    doc_id: str, sentences: list[annotated.Lines], declared: str | None, on_crossing: annotated.OnCrossing
) -> AnnotatedDocument:
    """Parse a document; `declared` are the fields of ``Entity=`` that are declared before it."""
    # Empty nodes are tokens if one of them is in a mention, or nothing is annotated; in other annotated corpora they
    # stand for ellipsis only and are no mentions.
    texts = (text for block in sentences for _, text in block if not text.startswith("#"))
    node_ids = [text.partition("\t")[0] for text in texts if _ENTITY in text]
    rows = _Rows(has_zeros=not node_ids or any("." in node_id for node_id in node_ids))
    metadata: dict[str, str] = {}
    dates: dict[str, tuple[int, str]] = {}
    declared_line = sentences[0][0][0]
    for k, block in enumerate(sentences):
        name, speaker, comments = f"sentence {k + 1}", "", list[str]()
        n_comments = next((i for i, (_, text) in enumerate(block) if not text.startswith("#")), len(block))
        for number, text in block[:n_comments]:
            match = COMMENT.fullmatch(text)
            key, value = (match[1], match[2].strip()) if match else ("", "")
            if key == "sent_id":
                name = f"sent_id {shown(value)}"
            elif key == SPEAKER:
                speaker = value
            elif k == 0 and key in DATE_KEYS:
                dates.setdefault(key, (number, value))
            if key == _DECLARATION:
                if k > 0 and value != declared:
                    rule = f"must not change within a document ({declared or 'none before'})"
                    raise annotated.DocumentFaultError(number, name, f"{_DECLARATION}: {rule}, got {shown(value)}")
                declared, declared_line = value, number
            elif match and key.startswith(META) and k == 0 and metadata_name(key) not in metadata:
                metadata[metadata_name(key)] = match[2]
            elif not NEWDOC.fullmatch(text):
                comments.append(text)
        rows.add(block, n_comments, name, speaker, comments)
    date = None
    for key in [key for key in DATE_KEYS if key in dates][:1]:
        number, text = dates[key]
        date = iso_date(text)
        if date is None:
            reason = f"{key}: must be an ISO date (2024-05-31), got {shown(text)}"
            raise annotated.DocumentFaultError(number, "", reason)
    fields = () if declared is None else tuple(declared.split("-"))
    fault = fault_of_fields(fields) if declared is not None else None
    if fault is not None:
        raise annotated.DocumentFaultError(declared_line, "", f"{_DECLARATION}: {fault}")
    if declared is None and rows.annotations:
        position = rows.annotations[0][1]
        reason = f"{_DECLARATION}: must be declared in a document with Entity=, got none"
        hint = f"put its fields into the first line of the file, usually # {_DECLARATION} = {DEFAULT_FIELDS}"
        raise annotated.DocumentFaultError(position.line, rows.sentences[position.sentence], reason, hint)
    mentions, skipped = annotated.match_brackets(_brackets(rows, fields), "Entity", on_crossing, rows.sentences)
    tokens = rows.tokens()
    heads = tokens.head.tolist()
    # The span of a discontinuous mention is the part with the head.
    spans = []
    for mention in mentions:
        head = _head(mention, fields, rows, heads)
        spans.append((*next(span for span in mention.spans if span[0] <= head < span[1]), head))
    order = sorted(range(len(spans)), key=lambda i: (spans[i][0], -spans[i][1]))
    mentions = [mentions[i] for i in order]
    values = [mention.bracket.values for mention in mentions]
    attributes = {
        attribute_name(name): [row[i] if i < len(row) else "" for row in values]
        for i, name in enumerate(fields)
        if name not in IDS and name != "head"
    }
    if any(len(mention.spans) > 1 for mention in mentions):
        parts = [" ".join(f"{start}-{end}" for start, end in mention.spans) for mention in mentions]
        attributes[PARTS] = [text if " " in text else "" for text in parts]
    return AnnotatedDocument(
        doc_id=doc_id,
        tokens=tokens,
        mentions=np.array([spans[i] for i in order], np.int32).reshape(-1, 3),
        entities=[_decoded(mention.bracket.entity) for mention in mentions],
        date=date,
        attributes=attributes,
        metadata=metadata,
        skipped=skipped,
        entity_fields=fields or None,
        sentences=tuple(rows.notes),
    )


def metadata_name(key: str) -> str:
    """Name in the metadata of a comment's key: without meta::, unless a field of documents has that name."""
    bare = key.removeprefix(META)
    return key if bare in FIELDS else bare


def attribute_name(name: str) -> str:
    """Name of the attribute for a field of ``Entity=``; early files call the entity's type ``entity``."""
    return "etype" if name == "entity" else name


def fault_of_fields(fields: Sequence[str]) -> str | None:
    """Describe what is wrong with a declaration of fields, or return None."""
    names = [attribute_name(name) for name in fields]
    if len(set(names)) == len(names) and sum(name in IDS for name in names) == 1 and "" not in names:
        return None
    return f"must be distinct fields, hyphens between them, one of them eid or GRP, got {shown('-'.join(fields))}"


class _Rows:
    """The words of a document, read sentence by sentence.

    Attributes
    ----------
    has_zeros
        True if empty nodes that are pronouns, or have Entity=, are tokens.
    sentences
        Name of each sentence, for messages.
    notes
        Comments and further rows of each sentence.
    annotations
        Values of Entity= in MISC with their positions, in order.
    words
        Token offset of each node; -1 for an empty node that is no token.
    """

    def __init__(self, *, has_zeros: bool) -> None:
        self.has_zeros = has_zeros
        self.sentences: list[str] = []
        self.notes: list[SentenceNotes] = []
        self.annotations: list[tuple[str, annotated.BracketPosition]] = []
        self.words: list[int] = []
        self._columns: dict[str, list[str]] = {name: [] for name in _COLUMNS}
        self._heads: list[int] = []
        self._sent: list[int] = []
        # Form of an empty node ("" of a word), speaker, and whether a blank follows, by token.
        self._further: dict[str, list[Any]] = {EMPTY_COLUMN: [], SPEAKER: [], "space_after": []}

    def add(self, block: annotated.Lines, n_comments: int, name: str, speaker: str, comments: list[str]) -> None:
        """Read one sentence: `n_comments` is the number of its first lines to skip, `comments` those to write back."""
        self.sentences.append(name)
        numbers: list[int] = []  # line of each token: words, and empty nodes that are tokens
        further_rows: list[tuple[int, str]] = []
        n_words = n_empty = 0  # words of the sentence, and empty nodes since the last word
        last_within, is_spaced_after = 0, True  # last word of the latest multiword token, and whether a blank follows
        for number, line in block[n_comments:]:
            cells = line.split("\t")
            if len(cells) != len(_COLUMNS) or "" in cells:
                actual = "an empty one" if len(cells) == len(_COLUMNS) else len(cells)
                raise self._fault(number, f"a row must have {len(_COLUMNS)} columns, tabs between them, got {actual}")
            node_id, attributes = cells[_ID], cells[_MISC].split("|")
            entities = [part.removeprefix(_ENTITY) for part in attributes if part.startswith(_ENTITY)]
            is_spaced = "SpaceAfter=No" not in attributes
            if match := _RANGE.fullmatch(node_id):
                if entities:
                    raise self._fault(number, f"Entity: must not be on a multiword token, got it on {node_id}")
                last_within, is_spaced_after = int(match[1]), is_spaced
                further_rows.append((len(numbers), line))
                continue
            is_word = node_id == str(n_words + 1)
            if not is_word and node_id != f"{n_words}.{n_empty + 1}":
                rule = f"must be {n_words + 1}, or {n_words}.{n_empty + 1} of an empty node"
                raise self._fault(number, f"ID: {rule}, got {shown(node_id)}")
            n_words, n_empty = (n_words + 1, 0) if is_word else (n_words, n_empty + 1)
            is_token = is_word or (self.has_zeros and (cells[_UPOS] == "PRON" or bool(entities)))
            if len(entities) > 1:
                raise self._fault(number, f"Entity: must appear once, got it {len(entities)} times")
            token = len(self._sent)
            if entities:
                position = annotated.BracketPosition(
                    token, token + is_token, len(self.words), len(self.sentences) - 1, number
                )
                self.annotations.append((entities[0], position))
                cells[_MISC] = "|".join(part for part in attributes if not part.startswith(_ENTITY)) or "_"
            self.words.append(token if is_token else -1)
            if not is_token:
                further_rows.append((len(numbers), "\t".join(cells)))
                continue
            numbers.append(number)
            self._sent.append(len(self.sentences) - 1)
            if n_words <= last_within:
                is_spaced = n_words == last_within and is_spaced_after
            self._further["space_after"].append(is_spaced and is_word)
            self._further[EMPTY_COLUMN].append("" if is_word else cells[_TEXT])
            self._further[SPEAKER].append(speaker)
            cells[_TEXT] = cells[_TEXT] if is_word else ""
            for column, cell in zip(self._columns.values(), cells, strict=True):
                column.append(cell)
        if not n_words:
            raise self._fault(block[-1][0], "a sentence must have a word, got none")
        self._add_heads(numbers)
        self.notes.append(SentenceNotes(tuple(comments), tuple(further_rows)))

    def _add_heads(self, numbers: list[int]) -> None:
        """Convert heads within the sentence to token offsets; `numbers` are the lines of its tokens."""
        first = len(self._heads)
        ids = self._columns["id"][first:]
        words = {node_id: token for token, node_id in enumerate(ids, start=first) if "." not in node_id}
        for token, (node_id, number) in enumerate(zip(ids, numbers, strict=True), start=first):
            if node_id not in words:
                self._heads.append(self._attached(token, words))
                continue
            text = self._columns["head"][token]
            if text != "0" and text not in words:
                rule = f"must be 0 or a word of the sentence (1 to {len(words)})"
                raise self._fault(number, f"HEAD: {rule}, got {shown(text)}")
            self._heads.append(words.get(text, -1))

    def _attached(self, token: int, words: Mapping[str, int]) -> int:
        """Head of an empty node: the first word among its enhanced heads, otherwise the next word, by "dep"."""
        for relation in self._columns["deps"][token].split("|"):
            head, _, label = relation.partition(":")
            if head in words:
                base, _, subtype = label.partition(":")
                self._columns["dep"][token] = f"{base}:pass" if subtype.startswith("pass") else base
                return words[head]
        self._columns["dep"][token] = "dep"
        return next((offset for offset in words.values() if offset > token), max(words.values()))

    def tokens(self) -> Tokens:
        """Return all tokens, with the further columns that `corefsample.formats.annotated._corefud` names."""
        columns: dict[str, Any] = {name: self._columns[name] for name in STRING_COLUMNS}
        extra: dict[str, Any] = {name: self._columns[name] for name in ("xpos", "feats", "deps", "misc")}
        extra |= {name: column for name, column in self._further.items() if name == "space_after" or any(column)}
        heads, sent = np.array(self._heads, np.int32), np.array(self._sent, np.int32)
        return Tokens(**columns, head=heads, sent=sent, extra=extra)

    def _fault(self, number: int, reason: str) -> annotated.DocumentFaultError:
        return annotated.DocumentFaultError(number, self.sentences[-1], reason)


def _brackets(rows: _Rows, fields: Sequence[str]) -> Iterator[annotated.Bracket]:
    """Yield the brackets of a document."""
    for value, position in rows.annotations:
        chunks = _CHUNK.findall(value)
        if not value or "".join(chunks) != value:
            _raise_fault(rows, position, f"must be brackets like (e1-...), (e1-... or e1), got {shown(value)}")
        for chunk in chunks:
            if chunk[0] != "(":
                yield annotated.Bracket(chunk[:-1], False, True, position, chunk)
                continue
            values = tuple(chunk[1:].rstrip(")").split("-", len(fields) - 1))
            id_field = next(i for i, name in enumerate(fields) if name in IDS)
            name = values[id_field] if id_field < len(values) else ""
            match = _PART.fullmatch(name)
            entity, part, n_parts = (match[1], int(match[2]), int(match[3])) if match else (name, 1, 1)
            if not entity or not 1 <= part <= n_parts:
                rule = f"an opening bracket must contain an id in field {id_field + 1}, parts as [1/2]"
                _raise_fault(rows, position, f"{rule}, got {shown(chunk)}")
            yield annotated.Bracket(name, True, chunk.endswith(")"), position, chunk, entity, values, part, n_parts)


def _head(mention: annotated.MatchedMention, fields: Sequence[str], rows: _Rows, heads: Sequence[int]) -> int:
    """Token that the field head names, or the first token whose syntactic head lies outside the span."""
    head_text = dict(zip(fields, mention.bracket.values, strict=False)).get("head")
    if head_text:
        number = int(head_text) if re.fullmatch("[0-9]{1,9}", head_text) else 0
        if not 1 <= number <= len(mention.nodes):
            rule = f"head must be a word of the mention (1 to {len(mention.nodes)})"
            actual = f"{shown(head_text)} in {shown(mention.bracket.text)}"
            _raise_fault(rows, mention.bracket.position, f"{rule}, got {actual}")
        token = rows.words[mention.nodes[number - 1]]
        if token >= 0:
            return token
    span_tokens = [token for start, end in mention.spans for token in range(start, end)]
    return next(token for token in span_tokens if heads[token] not in span_tokens)


def _raise_fault(rows: _Rows, position: annotated.BracketPosition, reason: str) -> NoReturn:
    raise annotated.DocumentFaultError(position.line, rows.sentences[position.sentence], f"Entity: {reason}")


def _decoded(name: str) -> str:
    """Replace the percent codes of an id; invalid ones stay."""

    def character(match: re.Match[str]) -> str:
        try:
            return bytes.fromhex(match[0].replace("%", "")).decode()
        except UnicodeDecodeError:
            return match[0]

    return _PERCENT.sub(character, name)
