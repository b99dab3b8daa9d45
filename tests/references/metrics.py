"""Slow, simple versions of the clustering metrics, in exact fractions, independent of the library.

A clustering is a list of sets of mentions. Each function follows the definition in its paper, with 0/0 = 0, and
returns (recall numerator, recall denominator, precision numerator, precision denominator).
"""

import itertools
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import partial

Mention = Hashable
Clustering = list[set[Mention]]
Counts = tuple[Fraction, Fraction, Fraction, Fraction]
Triple = tuple[Fraction, Fraction, Fraction]
Link = frozenset[Mention]


def clusters(labels: Sequence[Hashable | None], mentions: Sequence[Mention] | None = None) -> Clustering:
    """Clusters of the mentions with the same label; mentions labelled None are in none."""
    names = range(len(labels)) if mentions is None else mentions
    found: dict[Hashable, set[Mention]] = {}
    for mention, label in zip(names, labels, strict=True):
        if label is not None:
            found.setdefault(label, set()).add(mention)
    return list(found.values())


def without_singletons(clustering: Clustering) -> Clustering:
    return [entity for entity in clustering if len(entity) > 1]


def mentions_of(clustering: Clustering) -> set[Mention]:
    return set().union(*clustering)


def ratio(numerator: Fraction, denominator: Fraction) -> Fraction:
    return numerator / denominator if denominator else Fraction(0)


def triple(counts: Counts) -> Triple:
    recall, precision = ratio(counts[0], counts[1]), ratio(counts[2], counts[3])
    return recall, precision, ratio(2 * recall * precision, recall + precision)


# --- one side of each metric -------------------------------------------------------------------------------


def muc_side(key: Clustering, response: Clustering) -> tuple[Fraction, Fraction]:
    """Vilain et al. (1995): an entity's size minus the number of parts into which the other side divides it."""
    found, wanted = 0, 0
    for entity in key:
        others = [entity & other for other in response if entity & other]
        alone = entity - mentions_of(response)
        found += len(entity) - (len(others) + len(alone))
        wanted += len(entity) - 1
    return Fraction(found), Fraction(wanted)


def b3_side(key: Clustering, response: Clustering) -> tuple[Fraction, Fraction]:
    """Bagga & Baldwin (1998): for each mention, the share of its entity that the other side puts together with it."""
    total, n = Fraction(0), 0
    for entity in key:
        for mention in entity:
            with_it: set[Mention] = next((other for other in response if mention in other), set())
            total += Fraction(len(entity & with_it), len(entity))
            n += 1
    return total, Fraction(n)


def entity_links(entity: set[Mention]) -> set[Link]:
    """Links of an entity; a singleton is linked with itself."""
    if len(entity) == 1:
        return {frozenset(entity)}
    return {frozenset(pair) for pair in itertools.combinations(entity, 2)}


def lea_side(key: Clustering, response: Clustering) -> tuple[Fraction, Fraction]:
    """Moosavi & Strube (2016): importance (size) times resolution (share of links found), over importance."""
    total, importance = Fraction(0), 0
    for entity in key:
        links = entity_links(entity)
        found = sum(len(links & entity_links(other)) for other in response)
        total += len(entity) * Fraction(found, len(links))
        importance += len(entity)
    return total, Fraction(importance)


def two_sided(
    side: Callable[[Clustering, Clustering], tuple[Fraction, Fraction]], key: Clustering, response: Clustering
) -> Counts:
    return (*side(key, response), *side(response, key))


# --- CEAF --------------------------------------------------------------------------------------------------


def dice(a: set[Mention], b: set[Mention]) -> Fraction:
    return Fraction(2 * len(a & b), len(a) + len(b))


def common(a: set[Mention], b: set[Mention]) -> Fraction:
    return Fraction(len(a & b))


def heaviest(
    similarity: Callable[[set[Mention], set[Mention]], Fraction], key: Clustering, response: Clustering
) -> Fraction:
    """Largest total of a one-to-one assignment, by trying all."""
    few, many = sorted((key, response), key=len)
    return max(
        sum((similarity(a, b) for a, b in zip(few, chosen, strict=True)), Fraction(0))
        for chosen in itertools.permutations(many, len(few))
    )


def ceaf(similarity: Callable[[set[Mention], set[Mention]], Fraction], key: Clustering, response: Clustering) -> Counts:
    """Luo (2005)."""
    total = heaviest(similarity, key, response)
    of_key = sum((similarity(entity, entity) for entity in key), Fraction(0))
    of_response = sum((similarity(entity, entity) for entity in response), Fraction(0))
    return total, of_key, total, of_response


COUNTS: dict[str, Callable[[Clustering, Clustering], Counts]] = {
    "muc": partial(two_sided, muc_side),
    "b3": partial(two_sided, b3_side),
    "ceafe": partial(ceaf, dice),
    "ceafm": partial(ceaf, common),
    "lea": partial(two_sided, lea_side),
}


# --- BLANC -------------------------------------------------------------------------------------------------


def coreference_links(clustering: Clustering) -> set[Link]:
    return {frozenset(pair) for entity in clustering for pair in itertools.combinations(entity, 2)}


def all_links(clustering: Clustering) -> set[Link]:
    return {frozenset(pair) for pair in itertools.combinations(mentions_of(clustering), 2)}


def blanc_counts(key: Clustering, response: Clustering) -> tuple[int, int, int, int, int, int]:
    """Correct links, links of the key, links of the response: of coreference, then of non-coreference."""
    together = coreference_links(key), coreference_links(response)
    apart = all_links(key) - together[0], all_links(response) - together[1]
    return (
        len(together[0] & together[1]),
        len(together[0]),
        len(together[1]),
        len(apart[0] & apart[1]),
        len(apart[0]),
        len(apart[1]),
    )


def link_triple(correct: int, of_key: int, of_response: int) -> Triple:
    return triple((Fraction(correct), Fraction(of_key), Fraction(correct), Fraction(of_response)))


def blanc_triple(counts: Sequence[int], same_mentions: bool) -> Triple:
    """Luo et al. (2014); if the key has only one kind of links or neither, with the convention of the library."""
    together, apart = link_triple(*counts[:3]), link_triple(*counts[3:])
    if counts[1] and counts[4]:
        recall, precision, f1 = ((a + b) / 2 for a, b in zip(together, apart, strict=True))
        return recall, precision, f1
    if counts[1]:
        return together
    if counts[4]:
        return apart
    return (Fraction(1),) * 3 if same_mentions else (Fraction(0),) * 3


# --- all ---------------------------------------------------------------------------------------------------


def scores(key: Clustering, response: Clustering) -> dict[str, Triple]:
    """Recall, precision and F1 by every metric."""
    return corpus_scores([(key, response)])


def corpus_scores(documents: Sequence[tuple[Clustering, Clustering]]) -> dict[str, Triple]:
    """The same of summed counts."""
    found = {}
    for metric, counts in COUNTS.items():
        per_document = [counts(key, response) for key, response in documents]
        a, b, c, d = (sum((row[column] for row in per_document), Fraction(0)) for column in range(4))
        found[metric] = triple((a, b, c, d))
    per_document_links = [blanc_counts(key, response) for key, response in documents]
    links = [sum(row[column] for row in per_document_links) for column in range(6)]
    same = all(mentions_of(key) == mentions_of(response) for key, response in documents)
    same = same and any(mentions_of(key) for key, _ in documents)
    found["blanc"] = blanc_triple(links, same)
    recall, precision, f1 = (
        sum((found[metric][part] for metric in ("muc", "b3", "ceafe")), Fraction(0)) / 3 for part in range(3)
    )
    found["conll"] = (recall, precision, f1)
    return found
