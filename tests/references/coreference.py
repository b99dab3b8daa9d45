"""Slow, simple versions of the coreference algorithms, independent of the library.

A distribution is a list of rows, one per mention: row i maps each candidate antecedent to its probability, and
i itself to the probability of NEW. A clustering is a tuple of labels, each the first mention of its entity.
"""

import hashlib
import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

Row = dict[int, float]
Clustering = tuple[int, ...]
ClusteringProbs = dict[Clustering, float]

# --- probabilities -----------------------------------------------------------------------------------------


def softmax_rows(antecedents: Sequence[Sequence[int]], scores: Sequence[Sequence[float]]) -> list[Row]:
    """Antecedent probabilities of each mention, NEW's score being 0."""
    rows = []
    for i, (candidates, row_scores) in enumerate(zip(antecedents, scores, strict=True)):
        named = {**dict(zip(candidates, row_scores, strict=True)), i: 0.0}
        largest = max(named.values())
        weights = {k: math.exp(score - largest) for k, score in named.items()}
        total = math.fsum(weights.values())
        rows.append({k: weight / total for k, weight in weights.items()})
    return rows


# --- enumeration -------------------------------------------------------------------------------------------


def antecedent_vectors(rows: Sequence[Row]) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every antecedent vector (i at place i: NEW) with its probability."""
    for vector in itertools.product(*(row.items() for row in rows)):
        yield tuple(k for k, _ in vector), math.prod(p for _, p in vector)


def connected_components(vector: Sequence[int]) -> Clustering:
    """Clustering of one antecedent vector: the connected components of its links."""
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(vector)))
    graph.add_edges_from((i, k) for i, k in enumerate(vector) if k != i)
    labels = [0] * len(vector)
    for component in nx.connected_components(graph):
        for mention in component:
            labels[mention] = min(component)
    return tuple(labels)


def clustering_probs(rows: Sequence[Row]) -> ClusteringProbs:
    """Probability of every clustering."""
    parts: dict[Clustering, list[float]] = defaultdict(list)
    for vector, probability in antecedent_vectors(rows):
        parts[connected_components(vector)].append(probability)
    return {clustering: math.fsum(terms) for clustering, terms in parts.items()}


def all_clusterings(n_mentions: int) -> list[Clustering]:
    """Every partition of the mentions, possible or not under some distribution."""
    everyone = [dict.fromkeys(range(i + 1), 1.0 / (i + 1)) for i in range(n_mentions)]
    return sorted(clustering_probs(everyone))


def link_marginals(probs: ClusteringProbs, n_mentions: int) -> npt.NDArray[np.float64]:
    """P(i and j belong to one entity)."""
    together = [
        [math.fsum(p for labels, p in probs.items() if labels[i] == labels[j]) for j in range(n_mentions)]
        for i in range(n_mentions)
    ]
    return np.array(together).reshape(n_mentions, n_mentions)


def root_posterior(probs: ClusteringProbs, n_mentions: int) -> npt.NDArray[np.float64]:
    """P(r is the first mention of i's entity)."""
    first = [
        [math.fsum(p for labels, p in probs.items() if labels[i] == r) for r in range(n_mentions)]
        for i in range(n_mentions)
    ]
    return np.array(first).reshape(n_mentions, n_mentions)


def entity_count_pmf(probs: ClusteringProbs, n_mentions: int) -> npt.NDArray[np.float64]:
    """P(c entities), for c from 0."""
    counts = range(n_mentions + 1)
    return np.array([math.fsum(p for labels, p in probs.items() if len(set(labels)) == c) for c in counts])


def poisson_binomial_pmf(probs: Sequence[float]) -> npt.NDArray[np.float64]:
    """P(c successes), by adding up all 2^n outcomes."""
    terms: list[list[float]] = [[] for _ in range(len(probs) + 1)]
    for outcome in itertools.product((0, 1), repeat=len(probs)):
        terms[sum(outcome)].append(math.prod(p if hit else 1.0 - p for hit, p in zip(outcome, probs, strict=True)))
    return np.array([math.fsum(t) for t in terms])


def map_clustering(rows: Sequence[Row]) -> Clustering:
    """Clustering by likeliest antecedents; ties go to NEW (the last choice, i), then to the nearest."""
    return connected_components([max((p, k) for k, p in row.items())[1] for row in rows])


# --- random words ------------------------------------------------------------------------------------------

MASK = 2**64 - 1


def splitmix64(seed: int, n: int) -> list[int]:
    """First n outputs of SplitMix64."""
    state, outputs = seed, []
    for _ in range(n):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        outputs.append(z ^ (z >> 31))
    return outputs


def document_key(seed: int, doc_id: str) -> int:
    """Key of a document's stream: BLAKE2b, 64 bits, of the seed (little-endian) and the UTF-8 id."""
    message = bytes((seed >> (8 * place)) & 0xFF for place in range(8)) + doc_id.encode()
    return sum(byte << (8 * place) for place, byte in enumerate(hashlib.blake2b(message, digest_size=8).digest()))


def mention_words(key: int, n_mentions: int, n_samples: int) -> list[list[int]]:
    """The random word of each mention (row) and sample (column)."""
    return [splitmix64(mention_key, n_samples) for mention_key in splitmix64(key, n_mentions)]


# --- sampling ----------------------------------------------------------------------------------------------

Cell = tuple[int, int, int]  # its own value, its alias, its threshold of 32 bits
Table = list[Cell]


def table_probabilities(table: Table) -> Row:
    """Probability of each value by an alias table: a cell stands for its own value below the threshold."""
    mass: dict[int, int] = defaultdict(int)
    for own, alias, threshold in table:
        mass[own] += threshold
        mass[alias] += 2**32 - threshold
    return {value: units / (len(table) * 2**32) for value, units in mass.items()}


def choose(table: Table, word: int) -> int:
    """Value that a word of 64 bits chooses: its high half chooses the cell, its low half its own value or its alias."""
    own, alias, threshold = table[((word >> 32) * len(table)) >> 32]
    return own if (word & 0xFFFFFFFF) < threshold else alias


def sample_labels(tables: Sequence[Table], key: int, n_samples: int) -> npt.NDArray[np.int64]:
    """Draw clusterings (n_samples, n_mentions): antecedents by table and word, then connected components."""
    words = mention_words(key, len(tables), n_samples)
    samples = [
        connected_components([choose(table, words[i][s]) for i, table in enumerate(tables)]) for s in range(n_samples)
    ]
    return np.array(samples, np.int64).reshape(n_samples, len(tables))


# --- documents ---------------------------------------------------------------------------------------------

TOKEN_COLUMNS = ("text", "lemma", "upos", "dep", "head", "sent")
FIELDS = ("version", "doc_id", "date", "parse", "samples", "mentions", "antecedents", "scores", "tokens", "gold")


def content_of_json(document: Mapping[str, Any]) -> dict[str, Any]:
    """Content of a JSON document, without the order of candidates."""
    tokens = document.get("tokens")
    rows = zip(document["antecedents"], document["scores"], strict=True)
    return {
        "doc_id": document["doc_id"],
        "date": document.get("date"),
        "parse": (document.get("parse") or 0, document.get("samples")),
        "mentions": [list(mention) for mention in document["mentions"]],
        "candidates": [dict(zip(row, map(float, scores), strict=True)) for row, scores in rows],
        "tokens": None if tokens is None else dict(tokens),
        "gold": document.get("gold"),
        "metadata": {name: value for name, value in document.items() if name not in FIELDS},
    }


def content(document: Any) -> dict[str, Any]:
    """Content of a document object, in the same form."""
    rows, tokens = document.antecedents, document.tokens
    columns = None
    if tokens is not None:
        columns = {name: list(getattr(tokens, name)) for name in TOKEN_COLUMNS}
        columns |= {name: list(column) for name, column in tokens.extra.items()}
    return {
        "doc_id": document.doc_id,
        "date": None if document.date is None else document.date.isoformat(),
        "parse": (document.parse, None if document.samples is None else list(document.samples)),
        "mentions": document.mentions.tolist(),
        "candidates": [
            dict(zip(rows.antecedents[a:b].tolist(), rows.scores[a:b].tolist(), strict=True))
            for a, b in itertools.pairwise(rows.indptr.tolist())
        ],
        "tokens": columns,
        "gold": None if document.gold is None else list(document.gold),
        "metadata": dict(document.metadata),
    }
