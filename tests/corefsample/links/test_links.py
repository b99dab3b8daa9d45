"""Pairs of mentions against annotated entities, and the tables that sum them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given
from hypothesis import strategies as st
from strategies import documents as strategies

from corefsample import AntecedentDistribution, ParameterError, ScoredDocument, Tokens, link_marginals
from corefsample.links import _pairs as links
from corefsample.links._pairs import DISTANCES, PAIR_KINDS, gold_codes, link_pairs, link_tables


def document(
    lists: tuple[list[list[int]], list[list[float]]], gold: list[int | str | None] | None, upos: list[str] | None = None
) -> ScoredDocument:
    """One-word mentions, one after the other."""
    n = len(lists[0])
    tokens = None
    if upos is not None:
        tokens = Tokens(text=["w"] * n, lemma=["w"] * n, upos=upos, head=[-1] * n, dep=["root"] * n, sent=[0] * n)
    mentions = np.array([[i, i + 1, i] for i in range(n)], np.int32).reshape(-1, 3)
    return ScoredDocument("d", mentions, AntecedentDistribution.from_lists(*lists), tokens=tokens, gold=gold)


THREE = ([[], [0], [0, 1]], [[], [0.0], [0.0, 0.0]])


def test_pairs_with_an_unannotated_mention_are_left_out() -> None:
    pairs = link_pairs(document(THREE, ["a", None, "a"]))
    assert (pairs.y.tolist(), pairs.distances.tolist(), pairs.n_unannotated) == ([1], [2], 1)
    assert pairs.pair_kinds is None


def test_a_number_and_its_text_are_two_entities() -> None:
    assert gold_codes(document(THREE, [1, "1", 1])).tolist() == [0, 1, 0]


@given(
    strategies.antecedent_lists(max_mentions=7),
    st.data(),
    st.sampled_from(["skip", "single"]),
)
def test_pairs_equal_those_of_a_plain_loop(
    lists: strategies.Lists, data: st.DataObject, unannotated: links.Unannotated
) -> None:
    n = len(lists[0])
    gold = data.draw(st.lists(st.sampled_from([None, 1, 2, "x"]), min_size=n, max_size=n))
    upos = data.draw(st.lists(st.sampled_from(["PROPN", "NOUN", "PRON", "DET", "X"]), min_size=n, max_size=n))
    one = document((lists[0], lists[1]), gold, upos)
    pairs = link_pairs(one, unannotated=unannotated)
    marginals = link_marginals(one.antecedents)
    kind = {"PROPN": "name", "PRON": "pronoun", "DET": "pronoun"}
    expected = []
    for i, j in sorted(itertools.combinations(range(n), 2), key=lambda pair: pair[::-1]):
        if unannotated == "skip" and (gold[i] is None or gold[j] is None):
            continue
        linked = gold[i] is not None and gold[i] == gold[j]
        kinds = "-".join(sorted((kind.get(upos[i], "noun"), kind.get(upos[j], "noun"))))
        expected.append((marginals[j, i], int(linked), j - i, kinds))
    assert pairs.pair_kinds is not None
    found = zip(
        pairs.q.tolist(),
        pairs.y.tolist(),
        pairs.distances.tolist(),
        (PAIR_KINDS[k] for k in pairs.pair_kinds),
        strict=True,
    )
    assert list(found) == expected


def test_a_frame_has_a_row_a_pair() -> None:
    frame = link_pairs(document(THREE, ["a", "b", "a"], ["PROPN", "NOUN", "PRON"])).to_frame()
    assert frame.columns.tolist() == ["doc_id", "q", "y", "distance", "pair_kind"]
    assert len(frame) == 3


def test_documents_without_gold_and_unknown_options_raise() -> None:
    with pytest.raises(ParameterError, match=r"^doc_id 'd': gold is missing$"):
        link_pairs(document(THREE, None))
    with error(ParameterError, "unannotated"):
        link_pairs(document(THREE, [1, 1, 1]), unannotated="new")  # type: ignore[arg-type]


# --- tables ------------------------------------------------------------------------------------------------


def chain(n: int) -> ScoredDocument:
    """n mentions, each linked to the one before with P = 1/2, all of one entity."""
    return document(([[], *([i - 1] for i in range(1, n))], [[], *[[0.0]] * (n - 1)]), ["e"] * n)


def test_distances_belong_to_their_groups() -> None:
    # Of n mentions, n - d pairs have distance d.
    tables = link_tables([chain(141)])
    for first, name in ((1, "1"), (2, "2-3"), (4, "4-7"), (8, "8-15"), (64, "64-127"), (128, "128+")):
        last = 140 if name == "128+" else 2 * first - 1
        assert tables.by_distance.group(name).n_pairs == sum(141 - d for d in range(first, last + 1))
    assert set(tables.by_distance.groups) == set(DISTANCES)


def test_tables_have_every_pair_once_by_group() -> None:
    tables = link_tables([chain(5), document(THREE, None)])
    # Of 5 mentions 4 pairs have distance 1, 3 + 2 have distance 2 or 3, 1 has distance 4.
    by_name = {name: tables.by_distance.group(name).n_pairs for name in ("1", "2-3", "4-7")}
    assert by_name == {"1": 4, "2-3": 5, "4-7": 1}
    assert (tables.n_documents, tables.n_without_gold, tables.n_unannotated) == (1, 1, 0)
    assert tables.by_distance.n_pairs == 10
    assert tables.by_kind.n_pairs == 0
