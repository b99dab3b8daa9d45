"""CorefUD: from the lines of a CoNLL-U file to annotated documents."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from corefsample._checks import iso_date, shown
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._tokens import SPEAKER
from corefsample.errors import ParameterError, ParameterHint
from corefsample.formats.annotated._annotated_stream import Lines
from corefsample.formats.annotated._brackets import (
    Bracket,
    BracketPosition,
    DocumentFaultError,
    MatchedMention,
    MentionCollector,
    OnCrossing,
)
from corefsample.formats.annotated._conllu import (
    COMMENT,
    META,
    NEWDOC,
    ConlluRows,
    blocks,
    has_zeros,
    metadata_name,
)

DEFAULT_FIELDS = "eid-etype-head-other"
DATE_KEYS = ("meta::dateCreated", "meta::date", "date")  # keys of comments with the date; the first one counts
IDS = ("eid", "GRP")
PARTS = "parts"  # attribute of discontinuous mentions
_DECLARATION = "global.Entity"
_CHUNK = re.compile(r"\([^()]*\)?|[^()]+\)")
_PART = re.compile(r"(.+)\[([0-9]+)/([0-9]+)\]", re.DOTALL)
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


@dataclass
class _CorefudLines:
    """The blocks of one document, the declaration of fields before them, and the fields where there is none."""

    doc_id: str
    declared: str | None
    entity_fields: str | None
    on_crossing: OnCrossing
    blocks: list[Lines] = field(default_factory=list)

    @property
    def lines(self) -> Lines:
        """Lines of the document, with a blank line after each sentence."""
        return [numbered for block in self.blocks for numbered in [*block, (block[-1][0] + 1, "")]]

    def document(self) -> AnnotatedDocument:
        """Parse the lines."""
        comments = _Comments(self.declared)
        rows = ConlluRows(has_zeros(text for _, text in self.lines if not text.startswith("#")))
        for k, block in enumerate(self.blocks):
            name, sentence_comments = comments.of_sentence(k, block)
            rows.add(block, sentence_comments, name)
        fields = self._fields(comments, rows)
        mentions, skipped = _mentions(rows, fields, self.on_crossing) if fields else ([], {})
        tokens = rows.tokens(comments.speakers)
        heads = tokens.head.tolist()
        mention_heads = [_head(mention, fields, rows, heads) for mention in mentions]
        # The span of a discontinuous mention is the part with the head.
        spans = [
            (*next(span for span in mention.spans if span[0] <= head < span[1]), head)
            for mention, head in zip(mentions, mention_heads, strict=True)
        ]
        order = sorted(range(len(spans)), key=lambda i: (spans[i][0], -spans[i][1]))
        mentions, spans = [mentions[i] for i in order], [spans[i] for i in order]
        part_texts = [written_parts(mention.spans) for mention in mentions]
        values = [mention.bracket.values for mention in mentions]
        return AnnotatedDocument(
            doc_id=self.doc_id,
            tokens=tokens,
            mentions=np.array(spans, np.int32).reshape(-1, 3),
            entities=[_decoded(mention.bracket.entity) for mention in mentions],
            date=comments.date,
            attributes={
                attribute_name(name): [row[i] if i < len(row) else "" for row in values]
                for i, name in enumerate(fields)
                if name not in IDS and name != "head"
            }
            | ({PARTS: part_texts} if any(part_texts) else {}),
            metadata=comments.metadata,
            skipped=skipped,
            entity_fields=fields or None,
            sentences=tuple(rows.notes),
        )

    def _fields(self, comments: _Comments, rows: ConlluRows) -> tuple[str, ...]:
        """Return the fields of Entity= in order; none if the document has neither Entity= nor a declaration."""
        declared = comments.declared or self.entity_fields
        if declared is None and not rows.annotations:
            return ()
        if declared is None:
            position = rows.annotations[0][1]
            reason = f"{_DECLARATION}: must be declared in a document with Entity=, got none"
            hint = ParameterHint("entity_fields", f"declares the fields, usually {DEFAULT_FIELDS!r}")
            raise DocumentFaultError(position.line, rows.sentences[position.sentence], reason, hint)
        fault = fault_of_fields(declared)
        if fault is not None:
            raise DocumentFaultError(comments.declared_line or self.lines[0][0], "", f"{_DECLARATION}: {fault}")
        return tuple(declared.split("-"))


def split_corefud(
    path: str, lines: Iterable[tuple[int, str]], *, entity_fields: str | None, on_crossing: OnCrossing
) -> Iterator[_CorefudLines]:
    """Yield the documents of a file: each begins at ``# newdoc``, the first one at the first sentence."""
    stem = os.path.basename(path).removesuffix(".gz").removesuffix(".conllu") if path != "-" else "stdin"
    raw: _CorefudLines | None = None
    declared: str | None = None
    count = 0
    for block in blocks(lines):
        matches = [NEWDOC.fullmatch(text) for _, text in block if text.startswith("#")]
        newdoc = next((match for match in matches if match), None)
        if raw is None or newdoc:
            if raw is not None:
                yield raw
            count += 1
            unnamed = stem if newdoc is None else f"{stem}-{count}"
            raw = _CorefudLines((newdoc and newdoc[1]) or unnamed, declared, entity_fields, on_crossing)
        raw.blocks.append(block)
        for _, text in block:
            match = COMMENT.fullmatch(text) if text.startswith("#") and _DECLARATION in text else None
            declared = match[2].strip() if match and match[1] == _DECLARATION else declared
    if raw is not None:
        yield raw


def written_parts(spans: Sequence[tuple[int, int]]) -> str:
    """Parts of a discontinuous mention as text: start and exclusive end of each; "" for a mention in one piece."""
    return " ".join(f"{start}-{end}" for start, end in spans) if len(spans) > 1 else ""


def attribute_name(name: str) -> str:
    """Name of the attribute for a field of ``Entity=``; early files call the entity's type ``entity``."""
    return "etype" if name == "entity" else name


@dataclass
class _Comments:
    """Information that the comments of a document contain."""

    declared: str | None
    declared_line: int = 0
    metadata: dict[str, str] = field(default_factory=dict)
    date: datetime.date | None = None
    speakers: list[str] = field(default_factory=list)  # of each sentence

    def of_sentence(self, k: int, block: Lines) -> tuple[str, tuple[str, ...]]:
        """Read the comments of sentence `k`; return its name for messages, and the comments that belong to it."""
        comments: list[str] = []
        name = f"sentence {k + 1}"
        dates: dict[str, tuple[int, str]] = {}
        self.speakers.append("")
        for number, text in block:
            if not text.startswith("#"):
                break
            match = COMMENT.fullmatch(text)
            key, value = (match[1], match[2]) if match else ("", "")
            if key == "sent_id":
                name = f"sent_id {shown(value.strip())}"
            if key == _DECLARATION:
                self._declare(value.strip(), k, number, name)
            elif key.startswith(META) and k == 0 and metadata_name(key) not in self.metadata:
                self.metadata[metadata_name(key)] = value
            elif not NEWDOC.fullmatch(text):
                comments.append(text)
            if key == SPEAKER:
                self.speakers[-1] = value.strip()
            if k == 0 and key in DATE_KEYS:
                dates.setdefault(key, (number, value.strip()))
        key = next((key for key in DATE_KEYS if key in dates), None)
        if key is not None:
            number, value = dates[key]
            self.date = iso_date(value)
            if self.date is None:
                raise DocumentFaultError(number, "", f"{key}: must be an ISO date (2024-05-31), got {shown(value)}")
        return name, tuple(comments)

    def _declare(self, value: str, k: int, number: int, name: str) -> None:
        if k > 0 and value != self.declared:
            rule = f"must not change within a document ({self.declared or 'none before'})"
            raise DocumentFaultError(number, name, f"{_DECLARATION}: {rule}, got {shown(value)}")
        self.declared, self.declared_line = value, number


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


def _mentions(
    rows: ConlluRows, fields: Sequence[str], on_crossing: OnCrossing
) -> tuple[list[MatchedMention], Mapping[str, int]]:
    """Match the brackets of a document."""
    collector = MentionCollector("Entity", on_crossing, rows.sentences)
    id_field = next(i for i, name in enumerate(fields) if name in IDS)
    for value, position in rows.annotations:
        chunks = _CHUNK.findall(value)
        if not value or "".join(chunks) != value:
            _raise_fault(rows, position, f"must be brackets like (e1-...), (e1-... or e1), got {shown(value)}")
        for chunk in chunks:
            if chunk[0] != "(":
                collector.close(chunk[:-1], position, chunk)
                continue
            values = tuple(chunk[1:].rstrip(")").split("-", len(fields) - 1))
            name = values[id_field] if id_field < len(values) else ""
            match = _PART.fullmatch(name)
            entity, i, n = (match[1], int(match[2]), int(match[3])) if match else (name, 1, 1)
            if not entity or not 1 <= i <= n:
                rule = f"an opening bracket must contain an id in field {id_field + 1}, parts as [1/2]"
                _raise_fault(rows, position, f"{rule}, got {shown(chunk)}")
            collector.open(name, Bracket(entity, position, chunk, values, i, n))
            if chunk.endswith(")"):
                collector.close(name, position, chunk)
    return collector.finish(), dict(collector.skipped)


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
