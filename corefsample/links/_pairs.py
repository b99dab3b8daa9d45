"""Link marginals against annotated entities: the pairs that calibration is measured on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bytes, Floats, Ints, Ints8, Ints32
from corefsample._lazy import pd
from corefsample._results import Result
from corefsample.coreference._clusterings import link_marginals
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import ParameterError

Unannotated = Literal["skip", "single"]
UNANNOTATED: tuple[Unannotated, ...] = ("skip", "single")

# Kind of a mention by the part of speech of its head: name, noun (all others), pronoun ("this", "those" are DET).
_NAME, _NOUN, _PRONOUN = 0, 1, 2
_KIND_OF_UPOS = {"PROPN": _NAME, "PRON": _PRONOUN, "DET": _PRONOUN}
# Pairs of kinds, in either order.
PAIR_KINDS = ("name-name", "name-noun", "name-pronoun", "noun-noun", "noun-pronoun", "pronoun-pronoun")
_PAIR_CODE = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]], np.int32)  # by kind of the earlier and of the later mention
# Distance in mentions between the two of a pair.
DISTANCES = ("1", "2-3", "4-7", "8-15", "16-31", "32-63", "64-127", "128+")
_DISTANCE_CODE = np.array([0, *(d.bit_length() - 1 for d in range(1, 2 ** (len(DISTANCES) - 1) + 1))], np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class LinkPairs(Result):
    """Pairs of annotated mentions of one document, with the probability of each link and its gold label.

    Pairs are sorted by the later mention, then by the earlier one. Arrays are read-only.

    Attributes
    ----------
    doc_id
        Id of the document.
    q
        float64 (n_pairs,) in [0, 1]: exact link marginal.
    y
        uint8 (n_pairs,): 1 if both mentions belong to one annotated entity, else 0.
    distances
        int32 (n_pairs,): distance of the two mentions, counted in mentions, at least 1.
    pair_kinds
        int32 (n_pairs,): kind of each pair, as an index into PAIR_KINDS; None if the document has no tokens.
    n_unannotated
        Number of mentions whose entity is not annotated.
    """

    doc_id: str
    q: Floats
    y: Bytes
    distances: Ints32
    pair_kinds: Ints32 | None
    n_unannotated: int

    def __repr__(self) -> str:
        counts = f"n_pairs={self.n_pairs}, n_linked={int(self.y.sum())}, n_unannotated={self.n_unannotated}"
        return f"LinkPairs(doc_id={self.doc_id!r}, {counts})"

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return int(self.q.shape[0])

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per pair: doc_id, q, y, distance, and pair_kind if there are tokens."""
        frame = pd.DataFrame({"doc_id": self.doc_id, "q": self.q, "y": self.y, "distance": self.distances})
        if self.pair_kinds is not None:
            frame["pair_kind"] = np.array(PAIR_KINDS)[self.pair_kinds]
        return frame


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


def link_pairs(document: ScoredDocument, *, unannotated: Unannotated = "skip") -> LinkPairs:
    """List the pairs of a document's annotated mentions with their exact link marginals.

    Parameters
    ----------
    document
        Document with gold.
    unannotated
        Treatment of mentions without an annotated entity: "skip" (the default) leaves out every pair with such a
        mention; "single" treats each as a separate entity.

    Raises
    ------
    ParameterError
        If the document has no gold.

    References
    ----------
    Nguyen & O'Connor (2015), section 5.3, who estimate the marginals from 1,000 samples.
    """
    _checks.instance("document", document, ScoredDocument, "for several documents: link_tables(documents)")
    entities = gold_codes(document, unannotated)
    n_unannotated = sum(entity is None for entity in document.gold or ())
    annotated = np.flatnonzero(entities >= 0).astype(np.int32)
    later, earlier = (annotated[places] for places in np.tril_indices(annotated.size, -1))
    kinds = np.full(document.n_mentions, _NOUN, np.int32)
    if document.tokens is not None:
        upos = document.tokens.upos
        kinds[:] = [_KIND_OF_UPOS.get(upos[head], _NOUN) for head in document.mentions[:, 2].tolist()]
    q = link_marginals(document.antecedents)[later, earlier]
    y = (entities[earlier] == entities[later]).astype(np.uint8)
    distances, pair_kinds = later - earlier, _PAIR_CODE[kinds[earlier], kinds[later]]
    return LinkPairs(document.doc_id, q, y, distances, None if document.tokens is None else pair_kinds, n_unannotated)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinkTables(Result):
    """Pairs of annotated mentions of many documents, from which calibration is computed; arrays read-only.

    Attributes
    ----------
    q
        float64 (n_pairs,) in [0, 1]: exact link marginal.
    y
        uint8 (n_pairs,): 1 if both mentions belong to one annotated entity, else 0.
    documents
        int32 (n_pairs,): document of each pair, as an index into `doc_ids`.
    distances
        int8 (n_pairs,): group of the distance between the two mentions, as an index into DISTANCES.
    pair_kinds
        int8 (n_pairs,): kind of each pair, as an index into PAIR_KINDS; -1 if the document has no tokens.
    doc_ids
        Ids of the documents with gold, in ascending order.
    digests
        Checksum of mentions and gold, by doc_id: documents with the same checksum have the same pairs.
    n_documents
        Number of documents with gold.
    n_without_gold
        Number of documents without gold, which are left out.
    n_unannotated
        Number of mentions whose entity is not annotated, in the documents with gold.
    """

    q: Floats
    y: Bytes
    documents: Ints32
    distances: Ints8
    pair_kinds: Ints8
    doc_ids: tuple[str, ...]
    digests: dict[str, bytes]
    n_documents: int
    n_without_gold: int
    n_unannotated: int

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return int(self.q.shape[0])


def link_tables(documents: Iterable[ScoredDocument], *, unannotated: Unannotated = "skip") -> LinkTables:
    """List the link pairs of documents, one document at a time.

    Memory grows with the number of pairs: 15 bytes each.

    Parameters
    ----------
    documents
        Scored documents; those without gold are counted and left out.
    unannotated
        Treatment of mentions without an annotated entity: "skip" (the default) leaves out every pair with such a
        mention; "single" treats each as a separate entity.
    """
    columns: list[tuple[Floats, Bytes, Ints8, Ints8]] = []
    doc_ids: list[str] = []
    digests: dict[str, bytes] = {}
    n_without_gold = n_unannotated = 0
    for document in _checks.elements("documents", documents, ScoredDocument, hint=_checks.READS):
        if document.gold is None:
            n_without_gold += 1
            continue
        pairs = link_pairs(document, unannotated=unannotated)
        kinds = np.full(pairs.n_pairs, -1) if pairs.pair_kinds is None else pairs.pair_kinds
        distances = _DISTANCE_CODE[np.minimum(pairs.distances, len(_DISTANCE_CODE) - 1)]
        columns.append((pairs.q, pairs.y, distances.astype(np.int8), kinds.astype(np.int8)))
        doc_ids.append(pairs.doc_id)
        digests[pairs.doc_id] = _digest(document, gold_codes(document, unannotated))
        n_unannotated += pairs.n_unannotated
    names = tuple(sorted(digests))
    rank = {doc_id: code for code, doc_id in enumerate(names)}
    codes = np.repeat(np.array([rank[doc_id] for doc_id in doc_ids], np.int32), [len(q) for q, *_ in columns])
    empty = np.empty(0), np.empty(0, np.uint8), np.empty(0, np.int8), np.empty(0, np.int8)
    q, y, group, kind = (np.concatenate(column) for column in zip(*(columns or [empty]), strict=True))
    counts = len(columns), n_without_gold, n_unannotated
    return LinkTables(q, y, codes, group, kind, names, digests, *counts)


def _digest(document: ScoredDocument, entities: Ints) -> bytes:
    spans = np.ascontiguousarray(document.mentions[:, :2], np.int64)
    return hashlib.blake2b(spans.tobytes() + entities.tobytes(), digest_size=16).digest()
