"""One document with its pre-scored mentions, in one parse or in several weighted parses; readers yield such documents.

`BaseDocument` is the base class of scored and annotated documents. `sample_parses` draws the parse of each sample.
"""

from __future__ import annotations

import datetime
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Ints32
from corefsample._checks import shown
from corefsample._lazy import pd
from corefsample._random import document_key
from corefsample._random_kernels import GAMMA, splitmix64
from corefsample._results import ByValue
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._clusterings import map_clustering
from corefsample.documents._faults import checked_mentions, parses_fault, weight_fault
from corefsample.documents._tokens import Tokens, counted
from corefsample.documents._viewer import antecedent_hints, marked_text
from corefsample.errors import ParameterError

FIELDS = ("version", "doc_id", "date", "mentions", "antecedents", "scores", "tokens", "gold")
# Field of the metadata that records the recalibrations of a document's scores.
RECALIBRATION_FIELD = "recalibration"


def require_one_each(name: str, length: int, noun: str, expected: int, item: str = "entry") -> None:
    """Raise if a field does not have the expected number of entries: one per mention, or per sentence."""
    if length != expected:
        raise ParameterError(f"must have one {item} per {noun} ({expected}), got {length}", parameter=name)


class BaseDocument(ByValue):
    """Base class of documents: validation of their common fields, and their display."""

    __slots__ = ()

    doc_id: str
    mentions: Ints32
    tokens: Tokens | None
    date: datetime.date | None
    metadata: Mapping[str, Any]

    def _check_common_fields(self) -> None:
        """Validate the fields that all documents have, and store mentions as an array."""
        if not isinstance(self.doc_id, str) or not self.doc_id:
            raise ParameterError(f"must be a non-empty string, got {self.doc_id!r}", parameter="doc_id")
        mentions = checked_mentions(self.mentions, None if self.tokens is None else len(self.tokens))
        object.__setattr__(self, "mentions", mentions)
        if self.date is not None and (
            not isinstance(self.date, datetime.date) or isinstance(self.date, datetime.datetime)
        ):
            raise ParameterError(f"must be a datetime.date, got {self.date!r}", parameter="date")
        for name in FIELDS:
            if name in self.metadata:
                raise ParameterError(f"must contain no field of the document, got {name!r}", parameter="metadata")

    @property
    def n_mentions(self) -> int:
        """Number of mentions."""
        return int(self.mentions.shape[0])

    def mention_text(self, mention: int) -> str:
        """Words of one mention, joined by blanks.

        Raises
        ------
        ParameterError
            If the document has no tokens.
        """
        if self.tokens is None:
            raise ParameterError(
                "tokens is missing, without which mentions have no text", place=f"doc_id {self.doc_id!r}"
            )
        start, end, _ = self.mentions[mention]
        return " ".join(self.tokens.text[start:end])

    def _mention_columns(self) -> dict[str, Any]:
        """First columns of a table with one row for each mention."""
        columns: dict[str, Any] = {"doc_id": [self.doc_id] * self.n_mentions, "mention": np.arange(self.n_mentions)}
        return columns | {name: self.mentions[:, c] for c, name in enumerate(("start", "end", "head"))}

    def _facts(self) -> list[str]:
        """Facts about the document for its display, each in a few words."""
        facts = [] if self.date is None else [self.date.isoformat()]
        facts.append(counted(self.n_mentions, "mention"))
        return facts if self.tokens is None else [*facts, self.tokens.size_in_words()]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join([repr(self.doc_id), *self._facts()])})"

    def _marked_text(self, tokens: Tokens) -> str:
        """HTML of the text, with its entities."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        text = "" if self.tokens is None else self._marked_text(self.tokens)
        facts = html.escape(", ".join([type(self).__name__, *self._facts()]))
        return f"<div><b>{html.escape(self.doc_id)}</b> <small>{facts}</small><br>{text}</div>"


_PARSE_WORD = 2**62  # index of the random word that determines draws of parses; mentions use the first words
_HIGH_BITS = np.uint64(11)  # a double has 53


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Parse(ByValue):
    """One of the parses of a document, its mentions, and the distribution over their antecedents.

    Attributes
    ----------
    weight
        Weight of the parse: finite, at least 0. Its share of the sum over the document's parses is the probability of
        this parse. For sampled parses the number of samples is a good weight.
    tokens
        Words of the document with this parse.
    mentions
        int32 (n_mentions, 3), read-only: token offsets start, end (exclusive) and head of each mention in this parse;
        see `ScoredDocument`.
    antecedents
        Distribution over antecedents of these mentions.
    gold
        Annotated entity of each mention, or None for a mention that is not annotated. By default there is no gold.

    Raises
    ------
    ParameterError
        On construction, if the weight is invalid, tokens or antecedents have another type, or mentions are invalid.
    """

    weight: float
    tokens: Tokens
    mentions: Ints32
    antecedents: AntecedentDistribution
    gold: Sequence[int | str | None] | None = None

    def __post_init__(self) -> None:
        fault = weight_fault(self.weight)
        if fault is not None:
            raise ParameterError(fault)
        if not isinstance(self.tokens, Tokens):
            raise ParameterError(f"must be Tokens, got {_checks.shown(self.tokens)}", parameter="tokens")
        AntecedentDistribution.require(self.antecedents)
        object.__setattr__(self, "weight", float(self.weight))
        object.__setattr__(self, "mentions", checked_mentions(self.mentions, len(self.tokens)))

    def __repr__(self) -> str:
        mentions = counted(len(self.mentions), "mention")
        return f"Parse(weight {self.weight:g}, {mentions}, {self.tokens.size_in_words()})"


def sample_parses(weights: Sequence[float], *, n_samples: int = 1000, seed: int = 0, doc_id: str = "") -> Ints32:
    """Draw the parse of each sample of a document.

    Sample s has the parse at (u + s / phi) mod 1 of the cumulative weights, where u is uniform and fixed by seed and
    doc_id, and phi is the golden ratio. Each sample alone has exactly the probabilities of the weights, to 53 bits.
    Together they cover the parses more evenly than independent draws: the share of each parse differs from its weight
    by about log(n) / n instead of 1 / sqrt(n), which makes estimates from them more precise, and never depends on
    n_samples: the first 100 of 1,000 are the same as 100.

    Parameters
    ----------
    weights
        (n_parses,): weight of each parse, finite, at least 0, not all 0.
    n_samples
        Number of samples, at least 1.
    seed
        Seed of the random stream, in [0, 2**64).
    doc_id
        Id of the document: documents with different ids have independent random streams.

    Returns
    -------
    int32 (n_samples,)
        Index of the parse of each sample.

    Raises
    ------
    ParameterError
        If a weight is negative or not finite, all weights are 0, or `n_samples` or `seed` is out of range.

    References
    ----------
    Cranley & Patterson (1976), "Randomization of number theoretic methods for multiple integration"; Weyl (1916).
    The steps are those of SplitMix64 (Steele, Lea & Flood 2014), whose increment is 2**64 / phi.

    Examples
    --------
    >>> import numpy as np
    >>> np.bincount(sample_parses([7, 0, 3], n_samples=1000))
    array([699,   0, 301])
    """
    n_samples = _checks.n_samples(n_samples, 1)
    array = _checks.floats("weights", weights)
    if array.ndim != 1 or not array.size or not (np.isfinite(array) & (array >= 0)).all() or not array.sum() > 0:
        rule = "must be finite numbers of at least 0, not all 0"
        raise ParameterError(f"{rule}, got {_checks.shown(weights)}", parameter="weights")
    start = np.empty(1, np.uint64)
    splitmix64(np.uint64(document_key(seed, doc_id)), _PARSE_WORD, start)
    words = start + np.arange(n_samples, dtype=np.uint64) * GAMMA
    uniform = (words >> _HIGH_BITS).astype(np.float64) * 2.0**-53
    bounds = np.cumsum(array)
    # Parses of weight 0 at the end begin at 1, which no uniform number reaches.
    return np.searchsorted(bounds / bounds[-1], uniform, side="right").astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScoredDocument(BaseDocument):
    """A document, its mentions, and the distribution over their antecedents.

    A document may have several weighted parses: see `of_parses`.

    Attributes
    ----------
    doc_id
        Id of the document: a non-empty string, unique in the corpus.
    mentions
        int32 (n_mentions, 3), read-only: token offsets start, end (exclusive) and head of each mention, sorted by
        start, then longest first.
    antecedents
        Distribution over antecedents of these mentions.
    date
        Date of the document, which counting events needs. By default it is unknown.
    tokens
        Words of the document and their parse, which counting events needs. By default the document has no words.
    gold
        Annotated entity of each mention, or None for a mention that is not annotated. By default there is no gold.
    metadata
        All other fields of the document in its file.
    parses
        Parses of the document if it has several, otherwise empty. Tokens, mentions, antecedents and gold are then those
        of the first parse; `corefsample score` puts first the parse that the pipeline returns without sampling.

    Raises
    ------
    ParameterError
        On construction, if a field violates its description above.
    """

    doc_id: str
    mentions: Ints32
    antecedents: AntecedentDistribution
    date: datetime.date | None = None
    tokens: Tokens | None = None
    gold: Sequence[int | str | None] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    parses: tuple[Parse, ...] = ()

    if TYPE_CHECKING:  # what is accepted, and becomes the types above

        def __init__(
            self,
            doc_id: str,
            mentions: npt.ArrayLike,
            antecedents: AntecedentDistribution,
            date: datetime.date | None = None,
            tokens: Tokens | None = None,
            gold: Sequence[int | np.integer | str | None] | npt.NDArray[Any] | None = None,
            metadata: Mapping[str, Any] = ...,
            parses: tuple[Parse, ...] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        self._check_common_fields()
        AntecedentDistribution.require(self.antecedents)
        require_one_each("antecedents", self.antecedents.n_mentions, "mention", self.n_mentions, "list")
        if self.parses:
            self._check_parses()
        if self.gold is None:
            return
        require_one_each("gold", len(self.gold), "mention", self.n_mentions)
        if any(isinstance(entity, np.generic) for entity in self.gold):
            gold = [entity.item() if isinstance(entity, np.generic) else entity for entity in self.gold]
            object.__setattr__(self, "gold", gold)
        for i, entity in enumerate(self.gold):
            if entity is not None and (not isinstance(entity, (int, str)) or isinstance(entity, bool)):
                raise ParameterError(f"gold[{i}] must be a whole number, a string or None, got {entity!r}")

    def _check_parses(self) -> None:
        """Raise unless the fields of the document are those of its first parse, and all parses have its words."""
        first = self.parses[0]
        same = self.tokens is first.tokens and self.antecedents is first.antecedents
        if not same or not np.array_equal(self.mentions, first.mentions):
            rule = "parses[0] must have the tokens, mentions and antecedents of the document, got others"
            raise ParameterError(rule, hint="ScoredDocument.of_parses makes a document of parses")
        if "parses" in self.metadata:
            raise ParameterError("must contain no field of the document, got 'parses'", parameter="metadata")
        fault = parses_fault([parse.tokens.text for parse in self.parses], [parse.weight for parse in self.parses])
        if fault is not None:
            raise ParameterError(fault)

    @classmethod
    def of_parses(
        cls,
        doc_id: str,
        parses: Sequence[Parse],
        *,
        date: datetime.date | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Self:
        """Make a document from weighted parses; a single parse makes a document without `parses`.

        Parameters
        ----------
        doc_id
            Id of the document: a non-empty string, unique in the corpus.
        parses
            Parses of the document, at least one, all of the same words. The first parse provides the document's tokens,
            mentions, antecedents and gold; its weight may be 0.
        date, metadata
            Date and further fields of the document: see `ScoredDocument`.

        Raises
        ------
        ParameterError
            If `parses` is empty, all of several parses have weight 0, or the words of a parse differ from the words of
            the first parse.
        """
        parses = list(_checks.elements("parses", parses, Parse))
        if not parses:
            raise ParameterError(f"must be at least one Parse, got {shown(parses)}", parameter="parses")
        first, several_parses = parses[0], tuple(parses) if len(parses) > 1 else ()
        fields = (first.mentions, first.antecedents, date, first.tokens, first.gold, metadata or {}, several_parses)
        return cls(doc_id, *fields)

    @property
    def n_parses(self) -> int:
        """Number of parses."""
        return max(1, len(self.parses))

    def with_parse(self, parse: int) -> ScoredDocument:
        """Return the document with one of its parses alone.

        Parameters
        ----------
        parse
            Index of the parse, from 0.

        Raises
        ------
        ParameterError
            If `parse` is not the index of one of the document's parses.
        """
        if not 0 <= parse < self.n_parses:
            raise ParameterError(
                f"must be below the number of parses ({self.n_parses}), got {parse}", parameter="parse"
            )
        if not self.parses:
            return self
        selected = self.parses[parse]
        fields = (selected.mentions, selected.antecedents, self.date, selected.tokens, selected.gold, self.metadata)
        return ScoredDocument(self.doc_id, *fields)

    def _marked_text(self, tokens: Tokens) -> str:
        """HTML of the text, with entities by likeliest antecedents; on hover, a mention shows its antecedents."""
        hints = antecedent_hints(tokens, self.mentions, self.antecedents)
        return marked_text(tokens, self.mentions, map_clustering(self.antecedents).tolist(), hints)

    def _facts(self) -> list[str]:
        facts = [*BaseDocument._facts(self), counted(self.antecedents.n_candidates, "candidate antecedent")]
        facts += ["gold entities"] if self.gold is not None else []
        return facts + ([counted(len(self.parses), "parse")] if self.parses else [])

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per mention: doc_id, mention, start, end, head, new_prob, text (with tokens), gold.

        The candidates are in ``antecedents.to_frame()``, the tokens in ``tokens.to_frame()``.
        """
        columns = self._mention_columns()
        columns["new_prob"] = self.antecedents.new_probs
        if self.tokens is not None:
            columns["text"] = [self.mention_text(i) for i in range(self.n_mentions)]
        if self.gold is not None:
            columns["gold"] = np.array([*self.gold, None], object)[:-1]  # 1 and "1" stay apart
        return pd.DataFrame(columns)
