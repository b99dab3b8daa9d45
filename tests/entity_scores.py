"""Scores of clusterings that tests give as sets of mentions."""

from collections.abc import Hashable, Iterable, Sequence

from corefsample.metrics._scores import ClusteringScores, clustering_scores


def entity_scores(
    key: Sequence[Iterable[Hashable]], response: Sequence[Iterable[Hashable]], *, singletons: bool = True
) -> ClusteringScores:
    numbers: dict[Hashable, int] = {}
    key_rows, response_rows = (
        [(numbers.setdefault(mention, len(numbers)), e) for e, entity in enumerate(side) for mention in entity]
        for side in (key, response)
    )
    return clustering_scores(
        [entity for _, entity in key_rows],
        [entity for _, entity in response_rows],
        key_spans=[(number, number + 1) for number, _ in key_rows],
        response_spans=[(number, number + 1) for number, _ in response_rows],
        singletons=singletons,
    )
