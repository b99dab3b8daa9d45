"""One document with its annotated entities: what readers of coreference corpora yield and their writers take."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.coreference import AntecedentDistribution
from corefsample.documents import _faults
from corefsample.documents._scored import FIELDS, ScoredDocument, Tokens, _mention_array
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AnnotatedDocument", "SentenceNotes"]

_SPAN_COLUMNS = ("doc_id", "mention", "start", "end", "head", "entity", "text")
REFERENCES = ("Bridge", "SplitAnte", "Split")  # attributes of MISC that name entities


@dataclass(frozen=True, slots=True)
class SentenceNotes:
    """What a CoNLL-U file says of a sentence besides its words; kept so that it can be written back.

    Attributes
    ----------
    comments
        Comment lines as they came (sent_id, text ...), without those that are fields of the document.
    further_rows
        Rows that are no words, multiword tokens and empty nodes: the number of words before each, and its line.
    """

    comments: tuple[str, ...] = ()
    further_rows: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class AnnotatedDocument:
    """A document and the entity that each of its mentions was annotated with.

    Attributes
    ----------
    doc_id
        Not empty, unique in the corpus.
    tokens
        The words and their parse. A corpus without dependencies has every head -1 and every label "_".
    mentions
        int32 (n_mentions, 3), read-only: token offsets start, end (exclusive) and head of each mention, sorted by
        start, then longest first; equal spans in the order of the file.
    entities
        The entity of each mention: a name, never empty. Equal names are one entity.
    date
        Day of the text, or None.
    attributes
        Further annotation of each mention by name, n_mentions strings each ("" where there is none).
    metadata
        Everything else the file said of the document.
    skipped
        Mentions that the file has and the document has not, counted by reason.
    entity_fields
        The fields of ``Entity=`` in the order that the file declared (CorefUD), or None.
    sentences
        Notes of each sentence, for writing it back; empty where there are none.

    Raises
    ------
    ParameterError
        On construction, if a field breaks its rule.
    """

    doc_id: str
    tokens: Tokens
    mentions: npt.NDArray[np.int32]
    entities: Sequence[str]
    date: datetime.date | None = None
    attributes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    entity_fields: tuple[str, ...] | None = None
    sentences: tuple[SentenceNotes, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.doc_id, str) or not self.doc_id:
            raise ParameterError(f"doc_id must be a non-empty string, got {self.doc_id!r}")
        mentions = _mention_array(self.mentions)
        mentions.flags.writeable = False
        object.__setattr__(self, "mentions", mentions)
        object.__setattr__(self, "entities", tuple(self.entities))
        for name, column in {"entities": self.entities, **self.attributes}.items():
            if len(column) != len(mentions):
                raise ParameterError(f"{name} must have one entry a mention ({len(mentions)}), got {len(column)}")
        for i, entity in enumerate(self.entities):
            if not isinstance(entity, str) or not entity:
                raise ParameterError(f"entities[{i}] must be a non-empty string, got {entity!r}")
        for name in self.attributes:
            if name in _SPAN_COLUMNS:
                raise ParameterError(f"attributes must hold what is no other field, got {name!r}")
        for name in self.metadata:
            if name in FIELDS:
                raise ParameterError(f"metadata must hold what is no other field, got {name!r}")
        if self.sentences and len(self.sentences) != self.n_sentences:
            raise ParameterError(
                f"sentences must have one entry a sentence ({self.n_sentences}), got {len(self.sentences)}"
            )
        dated = isinstance(self.date, datetime.date) and not isinstance(self.date, datetime.datetime)
        if self.date is not None and not dated:
            raise ParameterError(f"date must be a datetime.date, got {self.date!r}")
        fault = _faults.mention_fault(mentions, len(self.tokens))
        if fault is not None:
            raise ParameterError(fault)

    @classmethod
    def from_scored(cls, document: ScoredDocument, labels: npt.ArrayLike | None = None) -> Self:
        """Take the mentions of a scored document with its annotated entities, or with any clustering.

        Parameters
        ----------
        document
            It must have tokens.
        labels
            Integers (n_mentions,): equal ones are one entity, as in `map_clustering` and in one row of
            `ClusteringSamples.labels`. None: the document's gold entities; mentions without one are left out, and
            counted in `skipped` as "not_annotated".

        Raises
        ------
        ParameterError
            If the document has no tokens, labels are not one integer a mention, or there is neither gold nor labels.
        """
        if document.tokens is None:
            raise ParameterError(f"doc_id {document.doc_id!r}: tokens must be there to write a document, got none")
        if labels is None and document.gold is None:
            raise ParameterError(f"doc_id {document.doc_id!r}: labels must be given where there is no gold, got None")
        entities: list[str | None]
        if labels is None:
            entities = _names_of_gold(document.gold or ())
        else:
            entities = list(_names_of_labels(labels, document.n_mentions))
        kept = [i for i, entity in enumerate(entities) if entity is not None]
        n_left_out = len(entities) - len(kept)
        return cls(
            doc_id=document.doc_id,
            tokens=document.tokens,
            mentions=document.mentions[kept],
            entities=[entity for entity in entities if entity is not None],
            date=document.date,
            metadata=document.metadata,
            skipped={"not_annotated": n_left_out} if n_left_out else {},
        )

    @property
    def n_mentions(self) -> int:
        """Number of mentions."""
        return int(self.mentions.shape[0])

    @property
    def n_sentences(self) -> int:
        """Number of sentences that have words."""
        return len(np.unique(self.tokens.sent))

    @property
    def labels(self) -> npt.NDArray[np.int32]:
        """int32 (n_mentions,): the index of the first mention of each mention's entity."""
        first: dict[str, int] = {}
        return np.array([first.setdefault(entity, i) for i, entity in enumerate(self.entities)], np.int32)

    def mention_text(self, mention: int) -> str:
        """Words of one mention, joined by blanks."""
        start, end, _ = self.mentions[mention]
        return " ".join(self.tokens.text[start:end])

    def with_clustering(self, labels: npt.ArrayLike) -> Self:
        """The same mentions with entities e1, e2 ... by `labels`: integers (n_mentions,), equal ones are one entity.

        What the annotation said of the entities (attributes, bridging, split antecedents) is left out: it is not of
        this clustering.
        """
        extra = dict(self.tokens.extra)
        if "misc" in extra:
            extra["misc"] = [_without_references(misc) for misc in extra["misc"]]
        return dataclasses.replace(
            self,
            tokens=dataclasses.replace(self.tokens, extra=extra),
            entities=_names_of_labels(labels, self.n_mentions),
            attributes={},
            entity_fields=None,
        )

    def scored(self, antecedents: AntecedentDistribution) -> ScoredDocument:
        """Return a scored document of these mentions; the annotated entities are its gold."""
        return ScoredDocument(
            doc_id=self.doc_id,
            mentions=self.mentions,
            antecedents=antecedents,
            date=self.date,
            tokens=self.tokens,
            gold=list(self.entities),
            metadata=self.metadata,
        )

    def to_frame(self) -> pd.DataFrame:
        """One row a mention: doc_id, mention, start, end, head, entity, text, and each attribute by its name."""
        import pandas as pd

        columns: dict[str, Any] = {"doc_id": [self.doc_id] * self.n_mentions, "mention": np.arange(self.n_mentions)}
        columns |= {name: self.mentions[:, c] for c, name in enumerate(("start", "end", "head"))}
        columns |= {
            "entity": list(self.entities),
            "text": [self.mention_text(i) for i in range(self.n_mentions)],
            **{name: list(column) for name, column in self.attributes.items()},
        }
        return pd.DataFrame(columns)


def _names_of_labels(labels: npt.ArrayLike, n_mentions: int) -> list[str]:
    """Names e1, e2 ... by first mention."""
    array = _checks.integers("labels", labels)
    if len(array) != n_mentions:
        raise ParameterError(f"labels must have one entry a mention ({n_mentions}), got {len(array)}")
    numbers: dict[int, int] = {}
    return [f"e{numbers.setdefault(label, len(numbers) + 1)}" for label in array.tolist()]


def _names_of_gold(gold: Sequence[int | str | None]) -> list[str | None]:
    """Gold entities as distinct, non-empty names; the number 1 and the text "1" stay apart."""
    names: dict[int | str, str] = {}
    texts = {entity for entity in gold if isinstance(entity, str)}
    for entity in gold:
        if entity is None or entity in names:
            continue
        name = entity if isinstance(entity, str) and entity else str(entity) or "_"
        while name != entity and (name in texts or name in names.values()):
            name += "_"
        names[entity] = name
    return [None if entity is None else names[entity] for entity in gold]


def _without_references(misc: str) -> str:
    if "=" not in misc:
        return misc
    return "|".join(part for part in misc.split("|") if part.partition("=")[0] not in REFERENCES) or "_"
