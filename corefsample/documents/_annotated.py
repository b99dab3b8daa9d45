"""One document with its annotated entities, the type that readers of coreference corpora yield and writers accept."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import msgspec
import numpy as np

from corefsample import _checks
from corefsample._arrays import Ints32, pd
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.documents._scored import BaseDocument, ScoredDocument, require_one_each
from corefsample.documents._tokens import Tokens, counted
from corefsample.errors import ParameterError

NOTES_FIELD = "conllu"  # metadata of a scored document: `CorefudNotes`
_SPAN_COLUMNS = ("doc_id", "mention", "start", "end", "head", "entity", "text")


@dataclass(frozen=True, slots=True)
class SentenceNotes:
    """Comments and further rows of a CoNLL-U sentence, kept so that they can be written back.

    Attributes
    ----------
    comments
        Comment lines, unchanged (sent_id, text ...), without those that are fields of the document.
    further_rows
        Multiword tokens and empty nodes: the number of words before each, and its line.
    """

    comments: tuple[str, ...] = ()
    further_rows: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CorefudNotes:
    """What a document of CoNLL-U has beyond the fields of a scored document, whose metadata keeps it.

    Attributes
    ----------
    entity_fields, sentences
        Fields of `AnnotatedDocument` with these names.
    mentions
        Start, end, entity and attributes by name of each annotated mention.
    """

    entity_fields: tuple[str, ...] | None = None
    sentences: tuple[SentenceNotes, ...] = ()
    mentions: tuple[tuple[int, int, str, dict[str, str]], ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AnnotatedDocument(BaseDocument):
    """A document and the entity that each of its mentions was annotated with.

    Attributes
    ----------
    doc_id
        Id of the document: a non-empty string, unique in the corpus.
    tokens
        Words of the document and their parse. A corpus without dependencies has every head -1 and every label "_".
    mentions
        int32 (n_mentions, 3), read-only: token offsets start, end (exclusive) and head of each mention, sorted by
        start, then longest first; equal spans in the order of the file.
    entities
        Name of each mention's entity, never empty. Mentions with equal names belong to one entity.
    date
        Date of the text; None if it is unknown.
    attributes
        Further annotation of the mentions by name: n_mentions strings, "" for a mention without this annotation.
    metadata
        All other information on the document in its file.
    skipped
        Number of mentions of the file that the document lacks, by reason.
    entity_fields
        Fields of ``Entity=`` in the order that the file declared (CorefUD), or None.
    sentences
        Comments and further rows of each sentence, for writing them back; empty for formats without them.

    Raises
    ------
    ParameterError
        On construction, if a field violates its description above.
    """

    doc_id: str
    tokens: Tokens
    mentions: Ints32
    entities: Sequence[str]
    date: datetime.date | None = None
    attributes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    entity_fields: tuple[str, ...] | None = None
    sentences: tuple[SentenceNotes, ...] = ()

    def __post_init__(self) -> None:
        self._check_common_fields()
        object.__setattr__(self, "entities", tuple(self.entities))
        for name, column in {"entities": self.entities, **self.attributes}.items():
            require_one_each(name, len(column), "mention", self.n_mentions)
        for i, entity in enumerate(self.entities):
            if not isinstance(entity, str) or not entity:
                raise ParameterError(f"entities[{i}] must be a non-empty string, got {entity!r}")
        for name in self.attributes:
            if name in _SPAN_COLUMNS:
                raise ParameterError(f"must contain no field of the document, got {name!r}", parameter="attributes")
        if self.sentences:
            require_one_each("sentences", len(self.sentences), "sentence", self.n_sentences)

    @classmethod
    def from_scored(cls, document: ScoredDocument, labels: np.typing.ArrayLike | None = None) -> Self:
        """Make an annotated document from a scored one, with its gold entities or with any clustering.

        Parameters
        ----------
        document
            Scored document with tokens. What CoNLL-U has beyond its fields is in its metadata if it was scored by this
            library; attributes of mentions belong to the gold entities.
        labels
            Integers (n_mentions,): mentions with equal labels belong to one entity, as in `map_clustering` and in one
            row of `ClusteringSamples.labels`. By default the document's gold entities are used; mentions without a gold
            entity are left out, and counted in `skipped` as "not_annotated".

        Raises
        ------
        ParameterError
            If the document has no tokens, labels are not one integer per mention, or the document has no gold and
            `labels` is None.
        """
        location = f"doc_id {document.doc_id!r}"
        if document.tokens is None:
            raise ParameterError("tokens is missing, which an annotated document needs", place=location)
        entities: Sequence[str | None]
        if labels is not None:
            entities = _names_of_labels(labels, document.n_mentions)
        elif document.gold is not None:
            # The number 1 and the text "1" stay apart, by quotation marks where names would be alike or empty.
            distinct = {entity for entity in document.gold if entity is not None}
            text_of = str if "" not in distinct and len(set(map(str, distinct))) == len(distinct) else repr
            entities = [None if entity is None else text_of(entity) for entity in document.gold]
        else:
            raise ParameterError("is required for a document without gold", parameter="labels", place=location)
        annotated = [i for i, entity in enumerate(entities) if entity is not None]
        n_left_out, mentions = len(entities) - len(annotated), document.mentions[annotated]
        names = [entity for entity in entities if entity is not None]
        metadata = dict(document.metadata)
        try:
            notes = msgspec.convert(metadata.pop(NOTES_FIELD, {}), CorefudNotes)
        except msgspec.ValidationError as error:
            rule = f"must be as `corefsample score` writes it, got: {error}"
            raise ParameterError(rule, parameter=NOTES_FIELD, place=location) from None
        attributes: dict[str, list[str]] = {}
        if labels is None:
            rows: dict[tuple[int, int, str], list[dict[str, str]]] = {}
            for start, end, entity, values in reversed(notes.mentions):
                rows.setdefault((start, end, entity), []).append(values)
            keys = [(start, end, entity) for (start, end, _), entity in zip(mentions.tolist(), names, strict=True)]
            by_mention = [(rows.get(key) or [{}]).pop() for key in keys]  # mentions that were not annotated have none
            for name in dict.fromkeys(name for *_, values in notes.mentions for name in values):
                attributes[name] = [values.get(name, "") for values in by_mention]
        return cls(
            doc_id=document.doc_id,
            tokens=document.tokens,
            mentions=mentions,
            entities=names,
            date=document.date,
            attributes=attributes,
            metadata=metadata,
            skipped={"not_annotated": n_left_out} if n_left_out else {},
            entity_fields=notes.entity_fields if labels is None else None,
            sentences=notes.sentences,
        )

    @property
    def n_sentences(self) -> int:
        """Number of sentences that have words."""
        return len(np.unique(self.tokens.sent))

    @property
    def labels(self) -> Ints32:
        """int32 (n_mentions,): the index of the first mention of each mention's entity."""
        first_mentions: dict[str, int] = {}
        return np.array([first_mentions.setdefault(entity, i) for i, entity in enumerate(self.entities)], np.int32)

    def scored(self, antecedents: AntecedentDistribution) -> ScoredDocument:
        """Return a scored document of these mentions; the annotated entities are its gold."""
        return ScoredDocument(
            doc_id=self.doc_id,
            mentions=self.mentions,
            antecedents=antecedents,
            date=self.date,
            tokens=self.tokens,
            gold=list(self.entities),
            metadata=self.scored_metadata,
        )

    @property
    def scored_metadata(self) -> dict[str, Any]:
        """Metadata for a scored document, with what `from_scored` needs to make the annotated document again."""
        rows = enumerate(zip(self.mentions.tolist(), self.entities, strict=True))
        mentions = tuple(
            (start, end, entity, {name: column[i] for name, column in self.attributes.items()})
            for i, ((start, end, _), entity) in rows
            if self.attributes
        )
        notes = CorefudNotes(self.entity_fields, self.sentences, mentions)
        if notes == CorefudNotes():
            return dict(self.metadata)
        return {**self.metadata, NOTES_FIELD: msgspec.to_builtins(notes)}

    def _repr_html_(self) -> str:
        return self._html(self.labels.tolist(), self.entities)

    def _facts(self) -> list[str]:
        return [*BaseDocument._facts(self), counted(len(set(self.entities)), "entity", "entities")]

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per mention: doc_id, mention, start, end, head, entity, text, and each attribute."""
        texts = [self.mention_text(i) for i in range(self.n_mentions)]
        attributes = {name: list(column) for name, column in self.attributes.items()}
        return pd.DataFrame(self._mention_columns() | {"entity": list(self.entities), "text": texts} | attributes)


def _names_of_labels(labels: np.typing.ArrayLike, n_mentions: int) -> list[str]:
    """Names of entities, e1, e2 ..., in the order of their first mentions."""
    array = _checks.integers("labels", labels)
    require_one_each("labels", len(array), "mention", n_mentions)
    numbers: dict[int, int] = {}
    return [f"e{numbers.setdefault(label, len(numbers) + 1)}" for label in array.tolist()]
