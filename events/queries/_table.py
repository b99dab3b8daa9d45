"""The queries of a corpus as prediction-label pairs: P from samples, truth from gold entities."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from corefsample.errors import ParameterError
from corefsample.recalibration import Recalibration
from events.queries._queries import MENTION_TYPES, DocumentQueries

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["QueryTable"]

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int32]
Number = TypeVar("Number", np.float64, np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class QueryTable:
    """Every query of every document that holds it, with its truth.

    Attributes
    ----------
    documents
        Those that hold a query, with gold.
    queries
        Type of mention and verb of each query, sorted.
    pair_documents, pair_queries
        int32 (n_pairs,), read-only: indices of the two.
    truth
        bool (n_pairs,), read-only: whether the query is true of the document by gold.
    """

    documents: tuple[DocumentQueries, ...]
    queries: tuple[tuple[str, str], ...]
    pair_documents: Labels
    pair_queries: Labels
    truth: npt.NDArray[np.bool_]

    def __post_init__(self) -> None:
        for array in (self.pair_documents, self.pair_queries, self.truth):
            array.flags.writeable = False

    @classmethod
    def of(cls, documents: Iterable[DocumentQueries]) -> QueryTable:
        """Collect the queries of documents that were matched with gold.

        Raises
        ------
        ParameterError
            If a document has no gold, or none holds a query.
        """
        kept = []
        for document in documents:
            if document.truth is None:
                raise ParameterError(f"doc_id {document.doc_id!r}: gold must be there for a query table, got none")
            if document.n_queries:
                kept.append(document)
        if not kept:
            raise ParameterError("documents must hold a query (a typed mention and a pronoun in its role), got none")
        named = [[(MENTION_TYPES[m], each.verbs[v]) for v, m in _held(each)] for each in kept]
        queries = tuple(sorted({name for names in named for name in names}))
        number = {name: n for n, name in enumerate(queries)}
        return cls(
            documents=tuple(kept),
            queries=queries,
            pair_documents=np.repeat(np.arange(len(kept), dtype=np.int32), [len(names) for names in named]),
            pair_queries=np.array([number[name] for names in named for name in names], np.int32),
            truth=np.concatenate([_flat(each, np.asarray(each.truth)) for each in kept]),
        )

    @property
    def n_pairs(self) -> int:
        """Number of pairs of a document and a query it holds."""
        return int(self.truth.shape[0])

    @property
    def doc_ids(self) -> tuple[str, ...]:
        """doc_id of each document."""
        return tuple(document.doc_id for document in self.documents)

    def probabilities(
        self,
        recalibrations: Recalibration | Sequence[Recalibration],
        *,
        n_samples: int = 1000,
        seed: int = 0,
        first_sample: int = 0,
    ) -> FloatArray:
        """Share of samples in which each query is true of the document: float64 (n_pairs,), whole multiples of 1/S.

        Parameters
        ----------
        recalibrations
            One for all documents, or one for each.
        n_samples
            S, at least 1.
        seed, first_sample
            As of `corefsample.coreference.sample_clusterings`.
        """
        each = [recalibrations] * len(self.documents) if isinstance(recalibrations, Recalibration) else recalibrations
        if len(each) != len(self.documents):
            raise ParameterError(f"recalibrations must be one a document ({len(self.documents)}), got {len(each)}")

        def shares(document: DocumentQueries, recalibration: Recalibration) -> FloatArray:
            hits = document.hits(recalibration, n_samples=n_samples, seed=seed, first_sample=first_sample)
            return _flat(document, hits / n_samples)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return np.concatenate(list(pool.map(shares, self.documents, each)))

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a pair: doc_id, mention_type, verb, n_documents (that hold the query), truth."""
        import pandas as pd

        names = [self.queries[q] for q in self.pair_queries.tolist()]
        return pd.DataFrame(
            {
                "doc_id": [self.doc_ids[d] for d in self.pair_documents.tolist()],
                "mention_type": [mention_type for mention_type, _ in names],
                "verb": [verb for _, verb in names],
                "n_documents": np.bincount(self.pair_queries)[self.pair_queries],
                "truth": self.truth,
            }
        )


def _held(document: DocumentQueries) -> list[tuple[int, int]]:
    """Verb and type of each query of a document, in the order of its pairs."""
    return [(v, int(m)) for v in range(len(document.verbs)) for m in np.flatnonzero(document.held_types)]


def _flat(document: DocumentQueries, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Values (n_verbs, n_types) of the queries that the document holds."""
    return values[:, document.held_types].ravel()
