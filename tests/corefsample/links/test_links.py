"""Pairs of mentions against annotated entities: tables, calibration, and two scorers compared."""

import dataclasses
import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given, strategies as st
from references.paired import paired_comparison
from strategies import documents as strategies
from strategies.documents import one_word_document as document
from tolerance import plausible_counts, plausible_means

import corefsample as cs
from corefsample import ParameterError
from corefsample._arrays import Floats, Ints
from corefsample.documents._scored import Unannotated, gold_codes
from corefsample.links import calibrate_links, compare_links
from corefsample.links._calibration import (
    DISTANCES,
    PAIR_KINDS,
    LinkCalibration,
    LinkTables,
    PairedComparison,
    link_tables,
)

THREE = ([[], [0], [0, 1]], [[], [0.0], [0.0, 0.0]])


def test_pairs_with_an_unannotated_mention_are_left_out() -> None:
    pairs = link_tables([document(THREE, ["a", None, "a"])])
    assert (pairs.y.tolist(), [DISTANCES[d] for d in pairs.distances], pairs.n_unannotated) == ([1], ["2-3"], 1)
    assert "digests=<1>" in repr(pairs)  # without its bytes


@given(strategies.antecedent_lists(max_mentions=7), st.data(), st.sampled_from(["skip", "single"]))
def test_pairs_are_those_of_a_loop(lists: strategies.Lists, data: st.DataObject, unannotated: Unannotated) -> None:
    n = len(lists[0])
    gold = data.draw(st.lists(st.sampled_from([None, 1, 2, "x"]), min_size=n, max_size=n))
    upos = data.draw(st.lists(st.sampled_from(["PROPN", "NOUN", "PRON", "DET", "X"]), min_size=n, max_size=n))
    one = document(lists, gold, upos=upos)
    pairs = link_tables([one], unannotated=unannotated)
    marginals = cs.link_marginals(one.antecedents)
    kind = {"PROPN": "name", "PRON": "pronoun", "DET": "pronoun"}
    expected = []
    for i, j in sorted(itertools.combinations(range(n), 2), key=lambda pair: pair[::-1]):
        if unannotated == "skip" and (gold[i] is None or gold[j] is None):
            continue
        linked = gold[i] is not None and gold[i] == gold[j]
        kinds = "-".join(sorted((kind.get(upos[i], "noun"), kind.get(upos[j], "noun"))))
        expected.append((marginals[j, i], int(linked), min((j - i).bit_length() - 1, 7), kinds))
    found = zip(
        pairs.q.tolist(),
        pairs.y.tolist(),
        pairs.distances.tolist(),
        (PAIR_KINDS[k] for k in pairs.pair_kinds),
        strict=True,
    )
    assert list(found) == expected


def test_documents_without_gold_and_unknown_options_raise() -> None:
    with error(cs.ParameterError, place="doc_id 'd'"):
        gold_codes(document(THREE))
    with error(cs.ParameterError, "unannotated"):
        link_tables([document(THREE, [1, 1, 1])], unannotated="new")  # type: ignore[arg-type]


# --- tables ------------------------------------------------------------------------------------------------


def chain(n: int) -> cs.ScoredDocument:
    """n mentions, each linked to the one before with P = 1/2, all of one entity."""
    return document(([[], *([i - 1] for i in range(1, n))], [[], *[[0.0]] * (n - 1)]), ["e"] * n)


def n_by_distance(tables: LinkTables) -> dict[str, int]:
    return dict(zip(DISTANCES, np.bincount(tables.distances, minlength=len(DISTANCES)).tolist(), strict=True))


def test_distances_belong_to_their_groups() -> None:
    # Of n mentions, n - d pairs have distance d.
    counts = n_by_distance(link_tables([chain(141)]))
    for first, name in ((1, "1"), (2, "2-3"), (4, "4-7"), (8, "8-15"), (64, "64-127"), (128, "128+")):
        last = 140 if name == "128+" else 2 * first - 1
        assert counts[name] == sum(141 - d for d in range(first, last + 1))


def test_tables_name_the_document_of_each_pair_whatever_their_order() -> None:
    two, one = chain(3), dataclasses.replace(chain(2), doc_id="a")
    tables = link_tables([two, one])
    assert tables.doc_ids == ("a", two.doc_id)
    assert tables.documents.tolist() == [1, 1, 1, 0]
    assert tables.q.tolist() == [0.5, 0.25, 0.5, 0.5]


# --- calibration of link marginals, overall and by group ------------------------------------------------------


def calibrated_documents(n_documents: int, n_mentions: int, sharpness: float = 1.0) -> Iterator[cs.ScoredDocument]:
    """Documents whose gold is drawn from their antecedents: calibrated if the sharpness is 1."""
    rng = np.random.default_rng(5)
    rows = [list(range(i)) for i in range(n_mentions)]
    for d in range(n_documents):
        scores = [rng.normal(-1.0, 1.5, i) for i in range(n_mentions)]
        truth = cs.AntecedentDistribution.from_lists(rows, [row.tolist() for row in scores])
        gold = cs.sample_clusterings(truth, n_samples=1, seed=7, doc_id=str(d)).labels[0].tolist()
        yield document((rows, [(sharpness * row).tolist() for row in scores]), gold, f"d{d:02}")


N_DOCUMENTS, N_MENTIONS = 60, 12


def documents(sharpness: float = 1.0) -> Iterator[cs.ScoredDocument]:
    return calibrated_documents(N_DOCUMENTS, N_MENTIONS, sharpness)


def measured(sharpness: float = 1.0) -> LinkCalibration:
    return calibrate_links(link_tables(documents(sharpness)), bin_size=200, n_resamples=500)


def test_a_calibrated_model_passes_and_an_overconfident_one_does_not() -> None:
    calibrated, overconfident = measured().overall, measured(3.0).overall
    assert calibrated.p_value is not None
    assert overconfident.p_value is not None
    assert calibrated.p_value > 1e-6
    assert overconfident.p_value == 1 / 501
    assert overconfident.by_document is not None
    assert calibrated.by_document is not None
    assert overconfident.by_document.lower > calibrated.by_document.upper


def test_groups_without_a_pair_are_left_out_and_the_rest_add_up() -> None:
    calibration = measured()
    by_distance = [group for group in calibration.groups if group.partition == "distance"]
    assert [group.group for group in by_distance] == ["1", "2-3", "4-7", "8-15"]
    assert sum(group.curve.bins.n_pairs for group in by_distance) == calibration.overall.curve.bins.n_pairs
    assert not [group for group in calibration.groups if group.partition == "kind"]  # these have no tokens


def test_tables_have_a_row_a_group_and_a_row_a_bin() -> None:
    calibration = measured()
    frame, curves = calibration.to_frame(), calibration.curves_frame()
    assert frame["group"].tolist() == ["all pairs", "1", "2-3", "4-7", "8-15"]
    names = "partition group n_documents n_pairs n_bins mean_q share_true"
    assert frame.columns.tolist()[:7] == names.split()
    assert len(curves) == frame["n_bins"].sum()
    assert curves.groupby("group")["n"].sum().to_dict() == frame.set_index("group")["n_pairs"].to_dict()


def test_a_single_document_has_no_interval_by_document() -> None:
    calibration = calibrate_links(link_tables([next(documents())]), bin_size=20, n_resamples=50)
    assert calibration.overall.by_document is None
    assert calibration.overall.p_value is None
    assert calibration.to_frame()["lower"].isna().all()


def test_gold_without_a_pair_raises() -> None:
    with pytest.raises(cs.InputError, match="gold must annotate at least two mentions"):
        calibrate_links(link_tables([]))


# --- two scorers of the same documents compared by their link marginals ---------------------------------------


def few_documents(sharpness: float = 1.0, n_documents: int = 12) -> Iterator[cs.ScoredDocument]:
    return calibrated_documents(n_documents, 8, sharpness)


def test_the_comparison_is_that_of_all_pairs_and_ignores_the_order_of_documents() -> None:
    second = list(few_documents(3.0))
    both = [link_tables(few_documents()), link_tables(second)]
    q, names = [tables.q for tables in both], np.array(both[0].doc_ids)[both[0].documents]
    expected = paired_comparison(*q, both[0].y, names, bin_size=1, n_resamples=200)
    found = compare_links(link_tables(few_documents()), link_tables(reversed(second)), bin_size=1, n_resamples=200)
    for name in ("first", "second", "difference", "lower", "upper", "sd"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9)
    assert (found.n_pairs, found.n_blocks) == (expected.n_pairs, expected.n_blocks)
    assert found.lower[1] > 0


def test_other_documents_mentions_or_gold_are_bad_input() -> None:
    links, own = link_tables(few_documents()), list(few_documents())
    with pytest.raises(cs.InputError, match=r"must be the same for both scorers, got doc_id 'd11' only for the first$"):
        compare_links(links, link_tables(own[:-1]))
    with error(cs.InputError):
        compare_links(link_tables(own[:-1]), links)
    moved = dataclasses.replace(own[3], mentions=own[3].mentions + 1)
    other_gold = dataclasses.replace(own[3], gold=list(range(8)))
    for changed in (moved, other_gold):
        other = link_tables([*own[:3], changed, *own[4:]])
        with error(cs.InputError, None, "doc_id 'd03'"):
            compare_links(links, other)


def test_a_single_document_cannot_be_compared() -> None:
    links = link_tables(few_documents(n_documents=1))
    with pytest.raises(cs.InputError, match="in each of at least 2 documents to compare scorers, got 1 such documents"):
        compare_links(links, links)


# --- two scorers compared by a paired bootstrap, from arrays of pairs and from documents ------------------


def drawn(n_documents: int, seed: int, *, n_each: int = 40) -> tuple[Floats, Floats, Ints, Ints]:
    """A calibrated scorer, one that is too low and noisy, labels, and documents."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(-0.5, 1.5, n_documents * n_each)
    y = (rng.random(logit.size) < 1.0 / (1.0 + np.exp(-logit))).astype(np.int64)
    other = 0.7 * logit - 0.5 + rng.normal(0.0, 0.5, logit.size)
    documents = np.repeat(np.arange(n_documents), n_each)
    return 1.0 / (1.0 + np.exp(-logit)), 1.0 / (1.0 + np.exp(-other)), y, documents


def plain_measures(q: Floats, y: Ints, bin_of: Ints, documents: Ints, noise: float) -> list[float]:
    """Root mean square error less `noise`, mean log loss, and refinement, by a loop over bins."""
    square = refinement = 0.0
    for b in set(bin_of.tolist()):
        inside = bin_of == b
        gap, share = q[inside].mean() - y[inside].mean(), y[inside].mean()
        square += inside.sum() * gap**2 / len(q)
        refinement += inside.sum() * share * (1 - share) / len(q)
    losses = [-math.log(p if label else 1 - p) for p, label in zip(q, y, strict=True)]
    return [math.sqrt(max(square - noise, 0.0)), sum(losses) / len(q), refinement]


def plain_noise(q: Floats, y: Ints, bin_of: Ints, documents: Ints) -> float:
    """Sum over bins of their weight times the squared standard error of their gap, by documents."""
    total = 0.0
    for b in set(bin_of.tolist()):
        inside = bin_of == b
        gap = (q - y)[inside].mean()
        sums = [((q - y)[inside & (documents == d)] - gap).sum() for d in set(documents.tolist())]
        total += sum(each**2 for each in sums) / inside.sum() / len(q)
    return total


def bins_of(q: Floats, bin_size: int) -> Ints:
    """Bins of equal size; the number of pairs is a multiple of it and there are no ties."""
    found = np.empty(len(q), np.int64)
    found[np.argsort(q)] = np.arange(len(q)) // bin_size
    return found


def test_differences_and_their_spread_are_those_of_a_plain_loop() -> None:
    first, second, y, documents = drawn(20, seed=1)
    result = paired_comparison(first, second, y, documents, bin_size=100, n_resamples=4000)
    expected, draws = [], []
    rng = np.random.default_rng(2)
    picks = [rng.integers(0, 20, 20) for _ in range(400)]
    for q in (first, second):
        bin_of = bins_of(q, 100)
        noise = plain_noise(q, y, bin_of, documents)
        expected.append(plain_measures(q, y, bin_of, documents, noise))
        rows = [np.concatenate([np.flatnonzero(documents == d) for d in pick]) for pick in picks]
        draws.append([plain_measures(q[r], y[r], bin_of[r], documents[r], 2 * noise) for r in rows])
    spread = (np.array(draws[1]) - np.array(draws[0])).std(axis=0, ddof=1)
    np.testing.assert_allclose([result.first, result.second], expected, rtol=1e-9)
    assert (result.difference == result.second - result.first).all()
    # The standard deviation of n draws that are roughly normal has a relative error of about 1 / sqrt(2 n).
    assert plausible_means(result.sd / spread, 1.0, 1.2 * math.sqrt(1 / 800 + 1 / 8000)).all()
    assert (result.n_pairs, result.n_blocks, result.n_bins) == (800, 20, (8, 8))


def test_intervals_contain_the_difference_of_a_large_sample() -> None:
    def compared(n_documents: int, seed: int) -> PairedComparison:
        bin_size = n_documents * 40 // 10  # ten bins, as the true errors have
        return paired_comparison(*drawn(n_documents, seed), bin_size=bin_size, n_resamples=300, seed=seed)

    truth = compared(4000, seed=0).difference
    n_sets, n_inside = 150, np.zeros(3, int)
    for s in range(n_sets):
        found = compared(50, seed=1 + s)
        n_inside += (found.lower <= truth) & (truth <= found.upper)
    # Intervals by bootstrap hold less often than their level in few documents: 0.9 for 0.95.
    assert plausible_counts(np.minimum(n_inside, int(0.9 * n_sets)), n_sets, 0.9).all(), n_inside


def test_a_certain_and_wrong_prediction_costs_the_floor() -> None:
    result = paired_comparison([0.0, 1.0], [0.5, 0.5], [1, 0], [0, 1], bin_size=1, n_resamples=10)
    assert (result.first[1], result.second[1]) == pytest.approx((-math.log(1e-6), math.log(2)))


@pytest.mark.parametrize("option", [{"norm": "l1"}, {"level": 1.0}, {"n_resamples": 1}])
def test_an_option_outside_its_range_raises(option: dict[str, object]) -> None:
    with error(ParameterError, *option):
        paired_comparison(*drawn(10, seed=7), **option)  # type: ignore[arg-type]
