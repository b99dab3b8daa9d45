"""The documents with gold of a fit, as flat arrays, and the gold antecedents of their mentions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bytes, Floats, Ints
from corefsample.documents import ScoredDocument
from corefsample.errors import ParameterError
from corefsample.links import Unannotated, gold_codes
from corefsample.recalibration import _kernels as kernels
from corefsample.recalibration._applied import applied_to, described
from corefsample.recalibration._model import GoldCounts

MISSING = ("skip", "floor")


@dataclass(frozen=True, slots=True, eq=False)
class GoldSet:
    """The documents with gold, in their order, and their gold antecedents.

    Attributes
    ----------
    documents
        Those with an annotated mention.
    counts
        Counts of annotated documents and mentions.
    bounds, indptr, scores
        Where the mentions of each document begin, where the candidates of each mention begin, and their scores.
    base
        Recalibrations that all their scores have had already: see `applied_to`.
    kinds, candidates
        uint8, of each mention and each candidate: see `corefsample.recalibration._kernels.gold_antecedents`.
    """

    documents: tuple[ScoredDocument, ...]
    counts: GoldCounts
    bounds: Ints
    indptr: Ints
    scores: Floats
    kinds: Bytes
    candidates: Bytes
    base: str = ""

    @classmethod
    def of(cls, documents: Iterable[ScoredDocument], *, missing: str, unannotated: Unannotated) -> GoldSet:
        """Collect the documents with gold; raise ParameterError if there are none."""
        _checks.choice("missing", missing, MISSING)
        annotated: list[ScoredDocument] = []
        mention_kinds: list[Bytes] = []
        candidate_marks: list[Bytes] = []
        n_documents = n_missing = n_unannotated = 0
        doc_ids: set[str] = set()
        for document in documents:
            n_documents += 1
            if document.doc_id in doc_ids:
                raise ParameterError(f"must have unique doc_ids, got {document.doc_id!r} twice", parameter="documents")
            doc_ids.add(document.doc_id)
            if document.gold is None:
                continue
            entities = gold_codes(document, unannotated)
            if not (entities >= 0).any():
                continue
            dist = document.antecedents
            kinds, candidates = np.empty(dist.n_mentions, np.uint8), np.empty(dist.n_candidates, np.uint8)
            kernels.gold_antecedents(dist.indptr, dist.antecedents, entities, kinds, candidates)
            n_missing += int(np.count_nonzero(kinds == kernels.MISSING))
            n_unannotated += sum(entity is None for entity in document.gold)
            if missing == "floor":
                kernels.floor_missing(dist.indptr, dist.scores, kinds, candidates)
            annotated.append(document)
            mention_kinds.append(kinds)
            candidate_marks.append(candidates)
        if not annotated:
            raise ParameterError(f"gold must annotate a mention of some document, got none in {n_documents} documents")
        kinds = np.concatenate(mention_kinds)
        floored = n_missing - int(np.count_nonzero(kinds == kernels.MISSING))
        counts = GoldCounts(
            n_documents=len(annotated),
            n_without_gold=n_documents - len(annotated),
            n_mentions=int(kinds.shape[0]),
            n_unannotated=n_unannotated,
            n_new=int(np.count_nonzero(kinds == kernels.IS_NEW)),
            n_linked=int(np.count_nonzero(kinds == kernels.HAS_ANTECEDENT)) - floored,
            n_missing=n_missing,
            n_floored=floored,
        )
        distributions = [document.antecedents for document in annotated]
        widths = np.concatenate([np.diff(each.indptr) for each in distributions])
        return cls(
            documents=tuple(annotated),
            counts=counts,
            bounds=np.concatenate(([0], np.cumsum([each.n_mentions for each in distributions]))).astype(np.int64),
            indptr=np.concatenate(([0], np.cumsum(widths))).astype(np.int64),
            scores=np.concatenate([each.scores for each in distributions]),
            kinds=kinds,
            candidates=np.concatenate(candidate_marks),
            base=_common_base(annotated),
        )

    @property
    def doc_ids(self) -> tuple[str, ...]:
        """doc_id of each document with gold."""
        return tuple(document.doc_id for document in self.documents)

    @property
    def n_terms(self) -> Floats:
        """float64 (n_documents,): mentions of each document that have a term in the likelihood."""
        has_term = (self.kinds == kernels.IS_NEW) | (self.kinds == kernels.HAS_ANTECEDENT)
        return np.add.reduceat(has_term, self.bounds[:-1], dtype=np.float64)


def _common_base(documents: list[ScoredDocument]) -> str:
    first = applied_to(documents[0].metadata)
    for document in documents:
        applied = applied_to(document.metadata)
        if applied != first:
            rule = f"must have had the same recalibration in all documents ({described(first)})"
            raise ParameterError(f"scores {rule}, got {described(applied)}", place=f"doc_id {document.doc_id!r}")
    return first
