"""One document with its pre-scored mentions, the type that readers yield and counters take.

`BaseDocument` is the base class of scored and annotated documents.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from corefsample import _checks
from corefsample._arrays import ByValue, Ints, Ints32, pd
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._clusterings import map_clustering
from corefsample.documents._faults import checked_mentions, share_fault
from corefsample.documents._tokens import Tokens, counted
from corefsample.errors import ParameterError

FIELDS = ("version", "doc_id", "date", "parse", "samples", "mentions", "antecedents", "scores", "tokens", "gold")
# Field of the metadata that records the recalibrations of a document's scores.
RECALIBRATION_FIELD = "recalibration"
Unannotated = Literal["skip", "single"]
UNANNOTATED: tuple[Unannotated, ...] = ("skip", "single")
_WORDS_OF_HTML = 400
_GOLDEN_ANGLE = 137.508  # degrees: successive hues are far apart for any number of them


def require_one_each(name: str, length: int, noun: str, expected: int, item: str = "entry") -> None:
    """Raise if a field does not have the expected number of entries: one per mention, or per sentence."""
    _checks.require(name, length == expected, f"must have one {item} per {noun} ({expected})", length)


def day_of(value: object) -> datetime.date | None:
    """Day of a date, an ISO text, or a time of datetime, pandas or NumPy at midnight; raise if a value is no day."""
    day: Any = value
    if isinstance(value, str):
        day = _checks.iso_date(value)
    elif isinstance(value, np.datetime64) and value == value.astype("datetime64[D]"):
        day = value.astype("datetime64[D]").item()
    elif isinstance(value, datetime.datetime) and value == value and value.time() == datetime.time():  # NaT is not NaT
        day = value.date()
    if value is None or type(day) is datetime.date:
        return day  # type: ignore[no-any-return]
    rule = "must be a datetime.date, a text such as 2024-05-31, or a pandas.Timestamp, without time of day"
    raise ParameterError(f"{rule}, got {value!r}", parameter="date")


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
        good = isinstance(self.doc_id, str) and self.doc_id
        _checks.require("doc_id", good, "must be a non-empty string", repr(self.doc_id))
        mentions = checked_mentions(self.mentions, None if self.tokens is None else len(self.tokens))
        object.__setattr__(self, "mentions", mentions)
        object.__setattr__(self, "date", day_of(self.date))
        for name in FIELDS:
            _checks.require("metadata", name not in self.metadata, "must contain no field of the document", repr(name))

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
            location = f"doc_id {self.doc_id!r}"
            raise ParameterError("tokens is missing, without which mentions have no text", place=location)
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

    def _html(self, labels: Sequence[int], hints: Sequence[str]) -> str:
        """HTML of the document for a notebook, with the first words of its text.

        Parameters
        ----------
        labels
            Entity of each mention; entities of several mentions have a colour and a number, others a dotted line. A
            mention that crosses an earlier mention is not marked.
        hints
            Text that is shown for each mention on hover.
        """
        facts = escape(", ".join([type(self).__name__, *self._facts()]))
        pieces = [f"<div><b>{escape(self.doc_id)}</b> <small>{facts}</small><br>"]
        sizes, texts = Counter(labels), [] if self.tokens is None else self.tokens.text
        repeated_labels = (label for label in dict.fromkeys(labels) if sizes[label] > 1)
        numbers = {label: number for number, label in enumerate(repeated_labels, start=1)}
        mentions = list(zip(self.mentions.tolist(), labels, hints, strict=True))
        open_marks: list[tuple[int, int]] = []  # end, and number of the entity or 0
        for t, text in enumerate(texts[:_WORDS_OF_HTML]):
            if self.tokens is not None and t and self.tokens.sent[t] != self.tokens.sent[t - 1]:
                pieces.append(" " if open_marks else "<br>")
            while mentions and mentions[0][0][0] == t:
                (_, end, _), label, hint = mentions.pop(0)
                if not open_marks or end <= open_marks[-1][0]:
                    number = numbers.get(label, 0)
                    look = "background: none; color: inherit; border-bottom: 1px dotted"
                    if number:
                        hue = f"hsl({number * _GOLDEN_ANGLE % 360.0:.0f} 75% 82%)"
                        look = f"background: {hue}; color: #000; border-radius: 3px; padding: 0 2px"
                    open_marks.append((end, number))
                    pieces.append(f'<mark style="{look}" title="{escape(hint)}">')
            pieces.append(escape(str(text)))
            while open_marks and open_marks[-1][0] == t + 1:
                number = open_marks.pop()[1]
                pieces.append(f'<sub style="font-size: 65%">{number}</sub></mark>' if number else "</mark>")
            if self.tokens is not None and self.tokens.extra.get("space_after", texts)[t]:
                pieces.append(" ")
        return "".join([*pieces, *["</mark>"] * len(open_marks), *["..."] * (len(texts) > _WORDS_OF_HTML), "</div>"])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScoredDocument(BaseDocument):
    """A document, its mentions, and the distribution over their antecedents.

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
        Date of the document, which counting events needs; also an ISO text or a pandas.Timestamp. By default unknown.
    tokens
        Words of the document and their parse, which counting events needs. By default the document has no words.
    gold
        Annotated entity of each mention, or None for a mention that is not annotated. By default there is no gold.
    metadata
        All other fields of the document in its file.
    parse, samples
        For one of several parses of a text: its number, and the range [first, end) of the drawn parses that are equal
        to it. The parses of a text are documents with one doc_id, one after another, whose ranges follow each other
        from 0; each has the share of the document's samples that its range has. By default there is one parse.

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
    parse: int = 0
    samples: tuple[int, int] | None = None

    if TYPE_CHECKING:  # what is accepted, and becomes the types above

        def __init__(
            self,
            doc_id: str,
            mentions: np.typing.ArrayLike,
            antecedents: AntecedentDistribution,
            date: datetime.date | str | np.datetime64 | None = None,
            tokens: Tokens | None = None,
            gold: Sequence[int | np.integer | str | None] | np.typing.NDArray[Any] | None = None,
            metadata: Mapping[str, Any] = ...,
            parse: int = 0,
            samples: tuple[int, int] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        self._check_common_fields()
        AntecedentDistribution.require(self.antecedents)
        require_one_each("antecedents", self.antecedents.n_mentions, "mention", self.n_mentions, "list")
        fault = share_fault(self.parse, self.samples)
        if fault is not None:
            raise ParameterError(fault)
        if self.gold is None:
            return
        require_one_each("gold", len(self.gold), "mention", self.n_mentions)
        gold = [entity.item() if isinstance(entity, np.generic) else entity for entity in self.gold]
        object.__setattr__(self, "gold", gold)
        for i, entity in enumerate(gold):
            if entity is not None and (not isinstance(entity, (int, str)) or isinstance(entity, bool)):
                raise ParameterError(f"gold[{i}] must be a whole number, a string or None, got {entity!r}")

    def _repr_html_(self) -> str:
        """HTML of the text, with entities by likeliest antecedents; on hover, a mention shows its antecedents."""
        labels, hints = map_clustering(self.antecedents).tolist(), [""] * self.n_mentions
        for i in range(self.n_mentions if self.tokens is not None else 0):
            candidates, probs = self.antecedents.row(i)
            choices = [(float(self.antecedents.new_probs[i]), "NEW")]
            for c in (-probs).argsort(kind="stable")[:3].tolist():
                words = self.mention_text(int(candidates[c])).split(" ")
                choices.append((float(probs[c]), " ".join(words[:6])))
            choices.sort(key=lambda choice: -choice[0])
            hints[i] = f"{i}: " + ", ".join(f"{text} {p:.2f}" for p, text in choices[:3] if p >= 0.005)
        return self._html(labels, hints)

    def _facts(self) -> list[str]:
        facts = [*BaseDocument._facts(self), counted(self.antecedents.n_candidates, "candidate antecedent")]
        facts += ["gold entities"] if self.gold is not None else []
        if self.samples is not None:
            facts.append(f"parse {self.parse}, samples {self.samples[0]} to {self.samples[1]}")
        return facts

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


def is_another_parse(document: ScoredDocument, previous: ScoredDocument) -> bool:
    """True if a document is another parse of the text of the document before it."""
    return document.samples is not None and previous.samples is not None and document.doc_id == previous.doc_id


def gold_codes(document: ScoredDocument, unannotated: Unannotated = "skip") -> Ints:
    """Number the annotated entities of a document's mentions.

    Parameters
    ----------
    document
        Document with gold.
    unannotated
        Treatment of a mention without an annotated entity (null): "skip" (the default) treats it as unknown and leaves
        out every pair with it; "single" treats it as a separate entity, for corpora that do not annotate singletons.

    Returns
    -------
    array of shape (n_mentions,), int64
        Code of each mention's entity, numbered from 0 by first mention; -1 for skipped mentions.

    Raises
    ------
    ParameterError
        If the document has no gold, or `unannotated` is neither "skip" nor "single".
    """
    _checks.choice("unannotated", unannotated, UNANNOTATED)
    if document.gold is None:
        raise ParameterError("gold is missing", place=f"doc_id {document.doc_id!r}")
    numbers: dict[object, int] = {}
    codes = np.empty(document.n_mentions, np.int64)
    for i, entity in enumerate(document.gold):
        if entity is not None:
            # 1 and "1" are two entities, as in the file.
            codes[i] = numbers.setdefault((type(entity), entity), len(numbers))
        elif unannotated == "skip":
            codes[i] = -1
        else:
            codes[i] = numbers.setdefault((None, i), len(numbers))
    return codes
