"""The queries of a corpus as pairs of a probability (from samples) and a truth (from gold entities)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bools, Floats, Ints32
from corefsample._html import HtmlTable
from corefsample._lazy import pd
from corefsample._machine import processors
from corefsample.errors import ParameterError
from corefsample.recalibration._model import Recalibration
from events.queries._queries import MENTION_TYPES, DocumentQueries

Number = TypeVar("Number", np.float64, np.bool_)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class QueryTable(HtmlTable):
    """Every query of every document that contains it, with its truth.

    Attributes
    ----------
    documents
        Documents with gold and at least one query.
    queries
        Type of mention and verb of each query, sorted.
    pair_documents, pair_queries
        int32 (n_pairs,), read-only: index of the document and of the query of each pair.
    truth
        bool (n_pairs,), read-only: whether the query is true of the document by gold.
    """

    documents: tuple[DocumentQueries, ...]
    queries: tuple[tuple[str, str], ...]
    pair_documents: Ints32
    pair_queries: Ints32
    truth: Bools

    def __post_init__(self) -> None:
        for array in (self.pair_documents, self.pair_queries, self.truth):
            array.flags.writeable = False

    @classmethod
    def of(cls, documents: Iterable[DocumentQueries]) -> QueryTable:
        """Collect the queries of documents that were matched with gold.

        Raises
        ------
        ParameterError
            If no document has a query.
        """
        with_queries = [document for document in documents if document.n_queries]
        if not with_queries:
            rule = "must contain a query (a mention with a type, and a pronoun in the role)"
            raise ParameterError(f"{rule}, got none", parameter="documents")
        named = [[(MENTION_TYPES[m], each.verbs[v]) for v, m in _pairs(each)] for each in with_queries]
        queries = tuple(sorted({name for names in named for name in names}))
        number = {name: n for n, name in enumerate(queries)}
        return cls(
            documents=tuple(with_queries),
            queries=queries,
            pair_documents=np.repeat(np.arange(len(with_queries), dtype=np.int32), [len(names) for names in named]),
            pair_queries=np.array([number[name] for names in named for name in names], np.int32),
            truth=np.concatenate([_flat(each, np.asarray(each.truth)) for each in with_queries]),
        )

    def __repr__(self) -> str:
        n_documents, n_queries = len(self.documents), len(self.queries)
        return f"QueryTable({self.n_pairs:,} pairs of {n_documents:,} documents and {n_queries:,} queries)"

    @property
    def n_pairs(self) -> int:
        """Number of pairs of a document and one of its queries."""
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
    ) -> Floats:
        """Share of samples in which each query is true of the document: float64 (n_pairs,), multiples of 1/S.

        Parameters
        ----------
        recalibrations
            One for all documents, or one per document.
        n_samples
            S, at least 1.
        seed, first_sample
            As in `corefsample.sample_clusterings`.
        """
        each = [recalibrations] * len(self.documents) if isinstance(recalibrations, Recalibration) else recalibrations
        if len(each) != len(self.documents):
            rule = f"must be one per document ({len(self.documents)})"
            raise ParameterError(f"{rule}, got {len(each)}", parameter="recalibrations")

        def shares(document: DocumentQueries, recalibration: Recalibration) -> Floats:
            hits = document.hits(recalibration, n_samples=n_samples, seed=seed, first_sample=first_sample)
            return _flat(document, hits / n_samples)

        with ThreadPoolExecutor(processors()) as pool:
            return np.concatenate(list(pool.map(shares, self.documents, each)))

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row for each pair: doc_id, mention_type, verb, n_documents (with the query), truth."""
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


def _pairs(document: DocumentQueries) -> list[tuple[int, int]]:
    """Verb and type of each query of a document, in the order of its pairs."""
    return [(v, int(m)) for v in range(len(document.verbs)) for m in np.flatnonzero(document.present_types)]


def _flat(document: DocumentQueries, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Flatten values (n_verbs, n_types) to those of the document's queries."""
    return values[:, document.present_types].ravel()
