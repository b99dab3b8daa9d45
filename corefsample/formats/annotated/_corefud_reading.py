"""CorefUD: from the lines of a CoNLL-U file to annotated documents."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NoReturn

import numpy as np

from corefsample._checks import iso_date
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._scored import FIELDS
from corefsample.documents._tokens import SPEAKER
from corefsample.errors import ParameterError, ParameterHint, shown
from corefsample.formats.annotated._annotated_stream import Lines, RawDocument
from corefsample.formats.annotated._brackets import (
    Bracket,
    BracketPosition,
    DocumentFaultError,
    MatchedMention,
    OnCrossing,
    match_brackets,
)
from corefsample.formats.annotated._conllu import ConlluRows, blocks, has_zeros

META = "meta::"
NEWDOC = re.compile(r"#\s*newdoc(?:\s+id\s*=\s?(.*))?\s*")
COMMENT = re.compile(r"#\s*([^=]*?)\s*=\s?(.*)")
DEFAULT_FIELDS = "eid-etype-head-other"
DATE_KEYS = ("meta::dateCreated", "meta::date", "date")  # keys of comments with the date; the first one counts
IDS = ("eid", "GRP")
PARTS = "parts"  # attribute of discontinuous mentions
_DECLARATION = "global.Entity"
_CHUNK = re.compile(r"\([^()]*\)?|[^()]+\)")
_PART = re.compile(r"(.+)\[([0-9]+)/([0-9]+)\]", re.DOTALL)
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


def split_corefud(
    path: str, lines: Iterable[tuple[int, str]], *, entity_fields: str | None, on_crossing: OnCrossing
) -> Iterator[RawDocument]:
    """Yield the documents of a file: each begins at ``# newdoc``, the first one at the first sentence."""
    stem = os.path.basename(path).removesuffix(".gz").removesuffix(".conllu") if path != "-" else "stdin"
    raw: RawDocument | None = None
    declared: str | None = None
    count = 0
    for block in blocks(lines):
        matches = [NEWDOC.fullmatch(text) for _, text in block if text.startswith("#")]
        newdoc = next((match for match in matches if match), None)
        if raw is None or newdoc:
            if raw is not None:
                yield raw
            count += 1
            doc_id = (newdoc and newdoc[1]) or (stem if newdoc is None else f"{stem}-{count}")
            sentences: list[Lines] = []
            raw = RawDocument(doc_id, [], partial(_document, doc_id, sentences, declared, entity_fields, on_crossing))
        sentences.append(block)
        raw.lines.extend([*block, (block[-1][0] + 1, "")])
        for _, text in block:
            match = COMMENT.fullmatch(text) if text.startswith("#") and _DECLARATION in text else None
            declared = match[2].strip() if match and match[1] == _DECLARATION else declared
    if raw is not None:
        yield raw


def _document(
    doc_id: str, sentences: list[Lines], declared: str | None, entity_fields: str | None, on_crossing: OnCrossing
) -> AnnotatedDocument:
    """Parse a document; `declared` are the fields declared before it, `entity_fields` those without a declaration."""
    rows = ConlluRows(has_zeros(text for block in sentences for _, text in block if not text.startswith("#")))
    metadata: dict[str, str] = {}
    speakers: list[str] = []
    declared_line = sentences[0][0][0]
    for k, block in enumerate(sentences):
        name, speaker, comments = f"sentence {k + 1}", "", list[str]()
        for number, text in block:
            if not text.startswith("#"):
                break
            match = COMMENT.fullmatch(text)
            key, value = (match[1], match[2]) if match else ("", "")
            if key == "sent_id":
                name = f"sent_id {shown(value.strip())}"
            elif key == SPEAKER:
                speaker = value.strip()
            if key == _DECLARATION:
                if k > 0 and value.strip() != declared:
                    rule = f"must not change within a document ({declared or 'none before'})"
                    raise DocumentFaultError(number, name, f"{_DECLARATION}: {rule}, got {shown(value.strip())}")
                declared, declared_line = value.strip(), number
            elif key.startswith(META) and k == 0 and metadata_name(key) not in metadata:
                metadata[metadata_name(key)] = value
            elif not NEWDOC.fullmatch(text):
                comments.append(text)
        speakers.append(speaker)
        rows.add(block, tuple(comments), name)
    date = _date(sentences[0])
    fields = _fields(declared or entity_fields, declared_line, rows)
    brackets = _brackets(rows, fields)
    mentions, skipped = match_brackets(brackets, "Entity", on_crossing, rows.sentences)
    tokens = rows.tokens(speakers)
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
        attributes[PARTS] = [written_parts(mention.spans) for mention in mentions]
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


def _date(block: Lines) -> datetime.date | None:
    """Date of a document, from the comments of its first sentence."""
    dates: dict[str, tuple[int, str]] = {}
    for number, text in block:
        match = COMMENT.fullmatch(text) if text.startswith("#") else None
        if match:
            dates.setdefault(match[1], (number, match[2].strip()))
    key = next((key for key in DATE_KEYS if key in dates), None)
    if key is None:
        return None
    number, value = dates[key]
    date = iso_date(value)
    if date is None:
        raise DocumentFaultError(number, "", f"{key}: must be an ISO date (2024-05-31), got {shown(value)}")
    return date


def _fields(declared: str | None, line: int, rows: ConlluRows) -> tuple[str, ...]:
    """Return the fields of Entity= in order; none if the document has neither Entity= nor a declaration."""
    if declared is not None:
        fault = fault_of_fields(declared)
        if fault is not None:
            raise DocumentFaultError(line, "", f"{_DECLARATION}: {fault}")
        return tuple(declared.split("-"))
    if rows.annotations:
        position = rows.annotations[0][1]
        reason = f"{_DECLARATION}: must be declared in a document with Entity=, got none"
        hint = ParameterHint("entity_fields", f"declares the fields, usually {DEFAULT_FIELDS!r}")
        raise DocumentFaultError(position.line, rows.sentences[position.sentence], reason, hint)
    return ()


def metadata_name(key: str) -> str:
    """Name in the metadata of a comment's key: without meta::, unless a field of documents has that name."""
    bare = key.removeprefix(META)
    return key if bare in FIELDS else bare


def written_parts(spans: Sequence[tuple[int, int]]) -> str:
    """Parts of a discontinuous mention as text: start and exclusive end of each; "" for a mention in one piece."""
    return " ".join(f"{start}-{end}" for start, end in spans) if len(spans) > 1 else ""


def attribute_name(name: str) -> str:
    """Name of the attribute for a field of ``Entity=``; early files call the entity's type ``entity``."""
    return "etype" if name == "entity" else name


def fault_of_fields(declared: str) -> str | None:
    """Describe what is wrong with a declaration of fields, or return None."""
    names = [attribute_name(name) for name in declared.split("-")]
    if len(set(names)) == len(names) and sum(name in IDS for name in names) == 1 and "" not in names:
        return None
    return f"must be distinct fields, hyphens between them, one of them eid or GRP, got {shown(declared)}"


def require_fields(entity_fields: str) -> None:
    """Raise ParameterError if a declaration of fields is invalid."""
    fault = fault_of_fields(entity_fields)
    if fault is not None:
        raise ParameterError(fault, parameter="entity_fields")


def _brackets(rows: ConlluRows, fields: Sequence[str]) -> Iterator[Bracket]:
    """Yield the brackets of a document."""
    for value, position in rows.annotations:
        chunks = _CHUNK.findall(value)
        if not value or "".join(chunks) != value:
            _raise_fault(rows, position, f"must be brackets like (e1-...), (e1-... or e1), got {shown(value)}")
        for chunk in chunks:
            if chunk[0] != "(":
                yield Bracket(chunk[:-1], False, True, position, chunk)
                continue
            values = tuple(chunk[1:].rstrip(")").split("-", len(fields) - 1))
            id_field = next(i for i, name in enumerate(fields) if name in IDS)
            name = values[id_field] if id_field < len(values) else ""
            match = _PART.fullmatch(name)
            entity, part, n_parts = (match[1], int(match[2]), int(match[3])) if match else (name, 1, 1)
            if not entity or not 1 <= part <= n_parts:
                rule = f"an opening bracket must contain an id in field {id_field + 1}, parts as [1/2]"
                _raise_fault(rows, position, f"{rule}, got {shown(chunk)}")
            yield Bracket(name, True, chunk.endswith(")"), position, chunk, entity, values, part, n_parts)


def _head(mention: MatchedMention, fields: Sequence[str], rows: ConlluRows, heads: Sequence[int]) -> int:
    """Token that the field head names, or the first token whose syntactic head lies outside the span."""
    values = dict(zip(fields, mention.bracket.values, strict=False))
    head_text = values.get("head")
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


def _raise_fault(rows: ConlluRows, position: BracketPosition, reason: str) -> NoReturn:
    raise DocumentFaultError(position.line, rows.sentences[position.sentence], f"Entity: {reason}")


def _decoded(name: str) -> str:
    """Replace the percent codes of an id; invalid ones stay."""
    if "%" not in name:
        return name

    def character(match: re.Match[str]) -> str:
        try:
            return bytes.fromhex(match[0].replace("%", "")).decode()
        except UnicodeDecodeError:
            return match[0]

    return _PERCENT.sub(character, name)
