"""A recalibration of antecedent scores: temperature, NEW bias and offsets by kind, as a vector and in metadata."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bytes, Floats, HtmlTable, Ints, Ints32
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.documents._scored import RECALIBRATION_FIELD, ScoredDocument
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError, shown
from corefsample.languages._language import Language
from corefsample.syntax._words import MENTION_KINDS, mention_kinds

N_KINDS = len(MENTION_KINDS)
N_GLOBAL, N_OFFSETS = 2, N_KINDS + N_KINDS * N_KINDS
N_PARAMETERS = N_GLOBAL + N_OFFSETS
# Groups of parameters in their vector: log temperature, NEW bias, an offset of NEW for each kind of mention, and an
# offset for each kind of mention with each kind of antecedent.
BLOCKS = {
    "log_temperature": slice(0, 1),
    "new_bias": slice(1, N_GLOBAL),
    "new_offsets": slice(N_GLOBAL, N_GLOBAL + N_KINDS),
    "link_offsets": slice(N_GLOBAL + N_KINDS, N_PARAMETERS),
}


def json_fields(parameter: str, record: Any, names: Sequence[str], optional: Collection[str] = ()) -> tuple[Any, ...]:
    """Values of the fields of a JSON object in this order; raise if one is missing, or there are others."""
    if not isinstance(record, Mapping) or set(record) - set(optional) != set(names):
        fields = ", ".join(map(str, record)) if isinstance(record, Mapping) else type(record).__name__
        raise ParameterError(f"must have the fields {', '.join(names)}, got {fields or 'none'}", parameter=parameter)
    return tuple(record[name] for name in names)


def described(applied: str) -> str:
    """Text for messages that describes the recalibrations of scores."""
    return f"scores with the recalibration {applied}" if applied else "scores without a recalibration"


@dataclass(frozen=True, slots=True)
class Recalibration(HtmlTable):
    """A change of antecedent scores: new score = score / temperature - new_bias, while NEW stays at 0.

    A temperature above 1 reduces confidence, one below 1 increases it. A positive new_bias makes NEW more likely (it
    is subtracted from every antecedent's score), a negative one less likely. Offsets by kind of link are added to that;
    without them the order of a mention's antecedents does not change. Antecedents that are not candidates keep
    probability 0.

    Attributes
    ----------
    temperature
        Divisor of the scores, above 0 and finite. With 1, the default, scores are not divided.
    new_bias
        Number that is subtracted from the scores, finite, in natural-log units. 0 by default.
    offsets
        Offsets by kind, in natural-log units: one of NEW for each kind of mention, which makes NEW more likely if it is
        positive, and one for each kind of mention with each kind of antecedent, row-major. The second minus the first
        is added to a score. There are nine kinds, such as names, singular nouns and the pronoun "it", which follow from
        the tokens of a document or are passed to `apply`. Fits of the form "kinds" have offsets. By default, there are
        none.

    Raises
    ------
    ParameterError
        On construction, if an attribute is outside its range.

    Examples
    --------
    >>> calm = Recalibration(temperature=2.0, new_bias=0.5)
    >>> calm.apply(AntecedentDistribution.from_lists([[], [0]], [[], [3.0]])).scores
    array([1.])
    """

    temperature: float = 1.0
    new_bias: float = 0.0
    offsets: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "temperature", _checks.above_zero("temperature", self.temperature))
        object.__setattr__(self, "new_bias", _checks.finite("new_bias", self.new_bias))
        if self.offsets is not None:
            offsets = _checks.regular_array("offsets", self.offsets)
            good = offsets.shape == (N_OFFSETS,) and offsets.dtype.kind in "iuf" and np.isfinite(offsets).all()
            rule = f"must be {N_OFFSETS} finite numbers, one for each kind and pair of kinds"
            _checks.require("offsets", good, rule, self.offsets)
            object.__setattr__(self, "offsets", tuple(offsets.astype(np.float64).tolist()))

    def __repr__(self) -> str:
        by_kind = "" if self.offsets is None else ", offsets by kind"
        return f"Recalibration(temperature={self.temperature!r}, new_bias={self.new_bias!r}{by_kind})"

    def apply(
        self, antecedents: AntecedentDistribution, kinds: np.typing.ArrayLike | None = None
    ) -> AntecedentDistribution:
        """Recalibrate the distribution over antecedents of one document.

        Parameters
        ----------
        antecedents
            Distribution to recalibrate.
        kinds
            int (n_mentions,): kind of each mention, from `mention_kinds`; required if there are offsets by kind, and
            not used otherwise.

        Raises
        ------
        ParameterError
            If a score would overflow, or kinds are missing or not one per mention.
        """
        AntecedentDistribution.require(antecedents)
        offsets = None if self.offsets is None else self.offset_table().ravel()[places_of(antecedents, kinds)]
        return antecedents.with_scores(
            recalibrated_scores(antecedents.scores, self.temperature, self.new_bias, offsets)
        )

    def offset_table(self) -> Floats:
        """Offsets of scores by kind of mention and of antecedent: float64 (n_kinds, n_kinds)."""
        new, links = np.split(self.vector()[N_GLOBAL:], [N_KINDS])
        return np.asarray(links.reshape(N_KINDS, N_KINDS) - new[:, None])

    @staticmethod
    def applied_to(metadata: Mapping[str, Any]) -> str:
        """Fingerprints of the recalibrations of a document's scores, first to last, separated by blanks.

        Parameters
        ----------
        metadata
            Metadata of the document. Without the field `recalibration`, the result is "".

        Raises
        ------
        ParameterError
            If the field `recalibration` of the metadata is not a text.
        """
        fingerprints = metadata.get(RECALIBRATION_FIELD, "")
        if not isinstance(fingerprints, str):
            rule = f"metadata.{RECALIBRATION_FIELD} must be the fingerprints of recalibrations as a text"
            raise ParameterError(f"{rule}, got {fingerprints!r}")
        return fingerprints

    def apply_document(self, document: ScoredDocument) -> ScoredDocument:
        """Return the document with recalibrated scores, and with the fingerprint of the recalibration in its metadata.

        The fingerprint is added to the field `recalibration`, so that no recalibration is applied twice.

        Raises
        ------
        ParameterError
            If a score would overflow, the scores have this recalibration already, or there are offsets by kind and
            the document has no tokens.
        """
        _checks.instance("document", document, ScoredDocument)
        fingerprint, applied = self.fingerprint(), self.applied_to(document.metadata)
        is_new = not fingerprint or fingerprint not in applied.split()
        actual = f"{RECALIBRATION_FIELD} {applied!r}"
        _checks.require("scores", is_new, "must not have had this recalibration already", actual)
        metadata = dict(document.metadata)
        if fingerprint:
            metadata[RECALIBRATION_FIELD] = f"{applied} {fingerprint}".strip()
        changed = self.apply(document.antecedents, None if self.offsets is None else document_kinds(document))
        return dataclasses.replace(document, antecedents=changed, metadata=metadata)

    def relative_to(self, applied: Recalibration) -> Recalibration:
        """Recalibration that turns scores to which another one, `applied`, was applied into scores of this one.

        With T and o of this one and T' and o' of the other, where o has bias and offsets: scores s / T' + o' become
        s / T + o by the temperature T / T' and the offsets o - o' T' / T.
        """
        ratio = applied.temperature / self.temperature
        vector, applied_vector = self.vector(), applied.vector()
        relative = vector - ratio * applied_vector
        relative[0] = vector[0] - applied_vector[0]
        by_kind = self.offsets is not None or applied.offsets is not None
        return Recalibration.from_vector(relative if by_kind else relative[:N_GLOBAL])

    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that depend on all numbers; "" if scores stay as they are."""
        return "" if self == Recalibration() else _fingerprint(self)

    def vector(self) -> Floats:
        """Log temperature, NEW bias and offsets (0 without any) as one vector, the order of fits."""
        offsets = np.zeros(N_OFFSETS) if self.offsets is None else self.offsets
        return np.append([np.log(self.temperature), self.new_bias], offsets)

    @classmethod
    def from_vector(cls, vector: Floats) -> Self:
        """Build from a `vector` of log temperature and NEW bias, or of these and all offsets."""
        offsets = None if len(vector) == N_GLOBAL else tuple(vector[N_GLOBAL:].tolist())
        return cls(float(np.exp(vector[0])), float(vector[1]), offsets)

    def to_json(self) -> dict[str, Any]:
        """Temperature and NEW bias by name, and the offsets by kind if there are any."""
        fields: dict[str, Any] = {"temperature": self.temperature, "new_bias": self.new_bias}
        if self.offsets is not None:
            new, *links = (
                dict(zip(MENTION_KINDS, row, strict=True)) for row in np.reshape(self.offsets, (-1, N_KINDS)).tolist()
            )
            fields["offsets"] = {"new": new, "links": dict(zip(MENTION_KINDS, links, strict=True))}
        return fields

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Build from `record`, the result of `to_json`.

        Raises
        ------
        ParameterError
            If a number is missing or outside its range, or there is another field.
        """
        temperature, new_bias = json_fields("recalibration", record, ("temperature", "new_bias"), ("offsets",))
        if "offsets" not in record:
            return cls(temperature, new_bias)
        new, links = json_fields("offsets", record["offsets"], ("new", "links"))
        rows = [json_fields("new", new, MENTION_KINDS)]
        rows += [json_fields("links", row, MENTION_KINDS) for row in json_fields("links", links, MENTION_KINDS)]
        return cls(temperature, new_bias, tuple(value for row in rows for value in row))


@lru_cache(maxsize=64)  # once for a corpus, not for each document
def _fingerprint(recalibration: Recalibration) -> str:
    return hashlib.sha256(json.dumps(recalibration.to_json(), sort_keys=True).encode()).hexdigest()[:12]


def recalibrated_scores(
    scores: Floats, temperature: Floats | float, new_bias: Floats | float, offsets: Floats | None = None
) -> Floats:
    """Scores over the temperature minus the bias, plus offsets; raise if one would overflow."""
    with np.errstate(over="ignore"):
        changed = np.asarray(scores / temperature)
        changed -= new_bias  # in place: the arrays are large
    if offsets is not None:
        changed += offsets
    is_finite = np.isfinite(changed).all()
    _checks.require("temperature", is_finite, "must leave every score finite", float(np.min(temperature)))
    return changed


def places_of(antecedents: AntecedentDistribution, kinds: np.typing.ArrayLike | None) -> Ints:
    """Place of each candidate's kinds in the flat table of offsets; kinds as for `Recalibration.apply`."""
    if kinds is None:
        hint = "use apply_document, which finds them"
        raise ParameterError("are required by offsets by kind, got None", parameter="kinds", hint=hint)
    codes, n = _checks.integers("kinds", kinds), antecedents.n_mentions
    if codes.shape != (n,) or not ((codes >= 0) & (codes < N_KINDS)).all():
        rule = f"must be from 0 to {N_KINDS - 1} for each of {n} mentions"
        raise ParameterError(f"{rule}, got {shown(codes.tolist())}", parameter="kinds")
    places: Ints = np.repeat(codes * N_KINDS, np.diff(antecedents.indptr)) + codes[antecedents.antecedents]
    return places


def document_kinds(document: ScoredDocument) -> Bytes:
    """Kind of each mention of a document; raises ParameterError if it has no tokens."""
    return kinds_of(document.tokens, document.mentions, document.metadata, document.doc_id)


def kinds_of(tokens: Tokens | None, mentions: Ints32, metadata: Mapping[str, Any], doc_id: str) -> Bytes:
    """Do as `document_kinds` does, of a document in parts."""
    if tokens is None:
        rule = "tokens are required for recalibration by kind of mention"
        raise ParameterError(rule, place=f"doc_id {doc_id!r}")
    return mention_kinds(tokens, mentions, Language.of_document(metadata))
