"""The documents with gold of a fit, as flat arrays, and the gold antecedents of their mentions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bytes, Floats, Ints
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.documents._scored import ScoredDocument, Unannotated, gold_codes
from corefsample.errors import ParameterError
from corefsample.recalibration._kernels import HAS_ANTECEDENT, IS_NEW, MISSED, NO_TERM, RIGHT, UNKNOWN, WRONG
from corefsample.recalibration._model import Recalibration, described

MISSING = ("skip", "floor")


@dataclass(frozen=True, slots=True)
class GoldCounts:
    """Counts of the gold annotation that a fit used, and of what it left out.

    Attributes
    ----------
    n_documents
        Documents with an annotated mention.
    n_without_gold
        Other documents, which are left out.
    n_mentions
        Mentions of the documents with gold.
    n_unannotated
        Mentions of the documents with gold that have no gold entity.
    n_new
        Mentions that are the first annotated one of their entity.
    n_linked
        Mentions with a gold antecedent among their candidates.
    n_missing
        Mentions with earlier mentions of their gold entity, none of them among the candidates.
    n_floored
        Mentions counted in `n_missing` that have a term because of the rule "floor"; the others have no term.
    """

    n_documents: int
    n_without_gold: int
    n_mentions: int
    n_unannotated: int
    n_new: int
    n_linked: int
    n_missing: int
    n_floored: int

    def to_json(self) -> dict[str, int]:
        """The counts by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class GoldSet:
    """The documents with gold, in their order, and their gold antecedents.

    Attributes
    ----------
    documents
        Documents with an annotated mention.
    counts
        Counts of annotated documents and mentions.
    bounds, indptr, scores
        Index of the first mention of each document, index of the first candidate of each mention, and scores of the
        candidates.
    entities
        int64 (n_mentions,) of each document: codes of the mentions' gold entities, see `gold_codes`.
    base
        Fingerprints of the recalibrations of all documents' scores: see `Recalibration.applied_to`.
    kinds, candidates
        uint8: the gold antecedent of each mention, and each candidate according to gold; see
        `corefsample.recalibration._kernels` for the numbers.
    """

    documents: tuple[ScoredDocument, ...]
    counts: GoldCounts
    bounds: Ints
    indptr: Ints
    scores: Floats
    kinds: Bytes
    candidates: Bytes
    entities: tuple[Ints, ...]
    base: str

    @classmethod
    def of(cls, documents: Iterable[ScoredDocument], *, missing: str, unannotated: Unannotated) -> GoldSet:
        """Collect the documents with gold; raise ParameterError if there are none."""
        _checks.choice("missing", missing, MISSING)
        annotated: list[tuple[ScoredDocument, Ints]] = []
        n_documents, doc_ids = 0, set[str]()
        for document in _checks.elements("documents", documents, ScoredDocument, hint=_checks.READS):
            n_documents += 1
            if document.doc_id in doc_ids:
                raise ParameterError(f"must have unique doc_ids, got {document.doc_id!r} twice", parameter="documents")
            doc_ids.add(document.doc_id)
            if document.gold is not None and ((entities := gold_codes(document, unannotated)) >= 0).any():
                annotated.append((document, entities))
        if not annotated:
            raise ParameterError(f"gold must annotate a mention of some document, got none in {n_documents} documents")
        used, codes = zip(*annotated, strict=True)
        marks = [_marks(document.antecedents, entities) for document, entities in annotated]
        kinds, candidates = map(np.concatenate, zip(*marks, strict=True))
        widths = np.concatenate([np.diff(each.antecedents.indptr) for each in used])
        indptr = np.append(0, np.cumsum(widths)).astype(np.int64)
        scores = np.concatenate([each.antecedents.scores for each in used])
        _, n_new, n_linked, n_missing = np.bincount(kinds, minlength=MISSED + 1).tolist()
        n_floored = _floored(indptr, scores, kinds, candidates) if missing == "floor" else 0
        counts = GoldCounts(
            n_documents=len(used),
            n_without_gold=n_documents - len(used),
            n_mentions=len(kinds),
            n_unannotated=sum(entity is None for document in used for entity in document.gold or ()),
            n_new=n_new,
            n_linked=n_linked,
            n_missing=n_missing,
            n_floored=n_floored,
        )
        bounds = np.append(0, np.cumsum([each.n_mentions for each in used])).astype(np.int64)
        return cls(used, counts, bounds, indptr, scores, kinds, candidates, codes, _common_base(used))

    @property
    def doc_ids(self) -> tuple[str, ...]:
        """doc_id of each document with gold."""
        return tuple(document.doc_id for document in self.documents)

    @property
    def n_terms(self) -> Floats:
        """float64 (n_documents,): mentions of each document that have a term in the likelihood."""
        has_term = (self.kinds == IS_NEW) | (self.kinds == HAS_ANTECEDENT)
        return np.add.reduceat(has_term, self.bounds[:-1], dtype=np.float64)


def _marks(antecedents: AntecedentDistribution, entities: Ints) -> tuple[Bytes, Bytes]:
    """The gold antecedent of each mention, and each candidate by whether it is a gold antecedent."""
    mentions = np.repeat(np.arange(len(entities)), np.diff(antecedents.indptr))
    of_mentions, of_candidates = entities[mentions], entities[antecedents.antecedents]
    right, unknown = (of_mentions == of_candidates) & (of_mentions >= 0), (of_mentions < 0) | (of_candidates < 0)
    kinds = np.full(len(entities), MISSED, np.uint8)
    kinds[np.unique(entities, return_index=True)[1]] = IS_NEW
    kinds[mentions[right]] = HAS_ANTECEDENT
    kinds[entities < 0] = NO_TERM
    return kinds, np.select([unknown, right], [UNKNOWN, RIGHT], WRONG).astype(np.uint8)


def _floored(indptr: Ints, scores: Floats, kinds: Bytes, candidates: Bytes) -> int:
    """Mark the lowest candidate as right, of each mention whose gold antecedents are all missing; return how many."""
    n_floored = 0
    for mention in np.flatnonzero(kinds == MISSED):
        first, end = indptr[mention : mention + 2]
        wrong = first + np.flatnonzero(candidates[first:end] == WRONG)
        if wrong.size:
            candidates[wrong[np.argmin(scores[wrong])]], kinds[mention] = RIGHT, HAS_ANTECEDENT
            n_floored += 1
    return n_floored


def _common_base(documents: tuple[ScoredDocument, ...]) -> str:
    first = Recalibration.applied_to(documents[0].metadata)
    for document in documents:
        applied = Recalibration.applied_to(document.metadata)
        if applied != first:
            rule = f"must have had the same recalibration in all documents ({described(first)})"
            raise ParameterError(f"scores {rule}, got {described(applied)}", place=f"doc_id {document.doc_id!r}")
    return first
