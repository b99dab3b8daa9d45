"""Recalibration: losses against plain loops and enumeration, fits against the parameters that generated gold."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tolerance
from expected_errors import error
from hypothesis import assume, given, settings, strategies as st
from references import recalibration as rr
from strategies import documents as strategies
from strategies.documents import Lists

from corefsample import AntecedentDistribution, ParameterError, Recalibration, ScoredDocument
from corefsample.recalibration import RecalibrationFitter
from corefsample.recalibration._fitter import CrossFit, RecalibrationFit
from corefsample.recalibration._losses import GoldSet, Likelihood, LinkLosses, Losses


def fit_recalibration(documents: list[ScoredDocument], **options: Any) -> RecalibrationFit:
    return RecalibrationFitter(documents, **options).fit()


def cross_fit(
    documents: list[ScoredDocument], n_folds: int, *, objective: Any = "likelihood", **options: int
) -> CrossFit:
    return RecalibrationFitter(documents, objective=objective).cross_fit(n_folds, **options)


@st.composite
def annotated(draw: Callable[..., Any], max_mentions: int = 5) -> tuple[Lists, list[int | str | None]]:
    lists = draw(strategies.antecedent_lists(1, max_mentions, strategies.mild_scores))
    n = len(lists.antecedents)
    gold = draw(st.lists(st.sampled_from([None, 7, 8, "7"]), min_size=n, max_size=n))
    assume(any(entity is not None for entity in gold))
    return lists, gold


recalibrations = st.builds(Recalibration, st.floats(0.2, 5.0), st.floats(-3.0, 3.0))


def losses_of(lists: Lists, gold: list[int | str | None], unannotated: Any = "skip", *, links: bool = False) -> Losses:
    documents = GoldSet([rr.document(lists, gold)], unannotated=unannotated)
    return (LinkLosses if links else Likelihood)(documents, by_kind=False)


# --- recalibrated scores ---------------------------------------------------------------------------------


@given(strategies.antecedent_lists(1, 6, strategies.mild_scores), recalibrations)
def test_a_new_score_is_the_score_over_the_temperature_minus_the_bias(lists: Lists, change: Recalibration) -> None:
    after = change.apply(AntecedentDistribution.from_lists(*lists))
    expected = AntecedentDistribution.from_lists(*rr.recalibrated(lists, change.temperature, change.new_bias))
    for name in ("indptr", "antecedents", "scores", "probs", "new_probs"):
        np.testing.assert_array_equal(getattr(after, name), getattr(expected, name))


def test_a_recalibrated_document_has_the_same_other_fields() -> None:
    before = rr.document(Lists([[], [0]], [[], [3.0]]), ["a", None])
    after = Recalibration(2.0, 0.5).apply_document(before)
    assert after.antecedents.scores.tolist() == [1.0]  # 3 / 2 - 0.5
    assert (after.doc_id, after.gold, after.mentions.tolist()) == ("d", ["a", None], before.mentions.tolist())


def test_a_recalibration_can_be_stored_as_json() -> None:
    change = Recalibration(np.float32(0.75), 1)  # type: ignore[arg-type]
    assert change.to_json() == {"temperature": 0.75, "new_bias": 1.0}
    assert Recalibration.from_json(change.to_json()) == change


# --- losses -------------------------------------------------------------------------------------------------


@pytest.mark.kernels
@settings(max_examples=150)
@given(annotated(), recalibrations)
def test_the_likelihood_follows_the_definition(
    case: tuple[Lists, list[int | str | None]], change: Recalibration
) -> None:
    lists, gold = case
    expected = rr.mention_losses(rr.recalibrated(lists, change.temperature, change.new_bias), gold)
    losses = losses_of(lists, gold)
    np.testing.assert_allclose(
        losses.at(change), [math.fsum(x for x in expected if x is not None)], rtol=1e-9, atol=1e-9
    )
    assert losses.n_terms.tolist() == [sum(x is not None for x in expected)]


def test_scores_far_apart_do_not_overflow() -> None:
    # Mention 2 is in the entity of mention 0, whose score lies 1,600 below the other's: a loss of 1,600.
    losses = losses_of(Lists([[], [], [0, 1]], [[], [], [-800.0, 800.0]]), ["a", "b", "a"])
    found = losses.derivatives(np.zeros(2))
    assert found.losses[0] == pytest.approx(1600.0)
    assert np.isfinite(found.gradients).all()


@pytest.mark.kernels
@settings(max_examples=40)
@given(annotated())
def test_link_losses_equal_enumeration(case: tuple[Lists, list[int | str | None]]) -> None:
    lists, gold = case
    losses = losses_of(lists, gold, links=True)
    expected = rr.link_loss(rr.recalibrated(lists, 1.5, -0.25), gold)
    assert losses.at(Recalibration(1.5, -0.25)) == pytest.approx([expected], abs=1e-9)
    n = sum(entity is not None for entity in gold)
    assert losses.n_terms.tolist() == [n * (n - 1) / 2]


def test_a_link_loss_over_hundreds_of_pairs_does_not_underflow() -> None:
    # 80 mentions without candidates, one gold entity: every pair is impossible and costs -log 1e-6. The last mention's
    # 79 pairs together have 1e-474, which is below the smallest float.
    lists = Lists([[] for _ in range(80)], [[] for _ in range(80)])
    loss = losses_of(lists, ["a"] * 80, links=True).at(Recalibration())
    assert loss == pytest.approx([3160 * 6 * math.log(10)])


# --- rules for gold -----------------------------------------------------------------------------------------

# Mention 0 in entity a; 1 unknown; 2 in a, whose only candidate is unknown; 3 in a, candidates 1 and 2; 4 in b.
PARTLY = Lists([[], [0], [1], [1, 2], [3]], [[], [1.0], [0.5], [2.0, -1.0], [0.25]])
PARTLY_GOLD: list[int | str | None] = ["a", None, "a", "a", "b"]


OTHERS = [rr.document(PARTLY, gold, str(gold)) for gold in (None, [None] * 5)]


@pytest.mark.parametrize(
    ("documents", "unannotated", "expected"),
    [
        ([rr.document(PARTLY, PARTLY_GOLD)], "skip", [1, 0, 5, 1, 2, 1, 1]),
        ([rr.document(PARTLY, PARTLY_GOLD)], "single", [1, 0, 5, 1, 3, 1, 1]),
        ([OTHERS[0], rr.document(PARTLY, PARTLY_GOLD, "gold"), OTHERS[1]], "skip", [1, 2, 5, 1, 2, 1, 1]),
    ],
)
def test_gold_is_counted(documents: list[ScoredDocument], unannotated: Any, expected: list[int]) -> None:
    # Documents with and without gold, mentions: all, unannotated, first of their entity, linked, without a candidate.
    assert list(dataclasses.astuple(GoldSet(documents, unannotated=unannotated).counts)) == expected


def test_links_count_pairs_of_mentions_with_entities() -> None:
    n_terms = [losses_of(PARTLY, PARTLY_GOLD, unannotated=rule, links=True).n_terms[0] for rule in ("single", "skip")]
    assert n_terms == [10, 6]


# --- the fit ------------------------------------------------------------------------------------------------


def pairs_of(score: float, n_linked: int, n_apart: int) -> tuple[Lists, list[int]]:
    """Mentions in pairs, the second with the first as its only candidate."""
    n = n_linked + n_apart
    antecedents = [row for k in range(n) for row in ([], [2 * k])]
    scores = [row for _ in range(n) for row in ([], [score])]
    return Lists(antecedents, scores), [2 * k + (j if k >= n_linked else 0) for k in range(n) for j in (0, 1)]


def two_scores() -> list[ScoredDocument]:
    return [rr.document(*pairs_of(1.0, 5, 5), "one"), rr.document(*pairs_of(2.0, 8, 2), "two")]


@pytest.mark.parametrize("objective", ["likelihood", "links-log"])
def test_the_fit_gives_two_scores_their_two_shares_exactly(objective: Any) -> None:
    # 5 of 10 linked at score 1 and 8 of 10 at score 2: 1/T - b = ln 1 and 2/T - b = ln 4, so 1/T = b = ln 4. Pairs of
    # different entities that cannot be linked add nothing (P = 0), so shares minimise the loss of links too.
    found = fit_recalibration(two_scores(), objective=objective).recalibration
    assert found.temperature == pytest.approx(1 / math.log(4), rel=1e-6)
    assert found.new_bias == pytest.approx(math.log(4), rel=1e-6)


def test_the_scores_of_a_fit_are_means_over_terms() -> None:
    fit = fit_recalibration(two_scores())
    # As scored: P(link) is 1/(1+e^-1) and 1/(1+e^-2); first mentions have loss 0 but count.
    odds = [math.log(1 + math.exp(score)) for score in (-1, 1, -2, 2)]
    before = 5 * odds[0] + 5 * odds[1] + 8 * odds[2] + 2 * odds[3]
    after = -(10 * math.log(0.5) + 8 * math.log(0.8) + 2 * math.log(0.2))
    assert fit.n_terms == 40
    assert fit.score_before == pytest.approx(before / 40)
    assert fit.score_after == pytest.approx(after / 40)
    assert fit.gold.n_linked == 13


@pytest.fixture(scope="module")
def calibrated() -> list[ScoredDocument]:
    return rr.calibrated_documents(60, 40, seed=3)


@pytest.mark.parametrize("objective", ["likelihood", "links-log"])
def test_scores_that_generated_gold_need_no_recalibration(calibrated: list[ScoredDocument], objective: Any) -> None:
    fitter = RecalibrationFitter(calibrated, objective=objective)
    fit, draws = fitter.fit().recalibration, fitter.bootstrap(200)
    errors = np.array([draw.vector()[:2] for draw in draws]).std(axis=0, ddof=1)
    found = np.array([math.log(fit.temperature), fit.new_bias])
    assert tolerance.plausible_means(found, np.zeros(2), errors).all()
    assert not tolerance.plausible_means(found[0], math.log(0.5), errors[0]).any()  # of scores half as large


@pytest.mark.parametrize("objective", ["likelihood", "links-log"])
@pytest.mark.parametrize("factor", [0.5, 30.0])
def test_multiplied_scores_have_a_multiplied_temperature(
    calibrated: list[ScoredDocument], objective: Any, factor: float
) -> None:
    documents = calibrated[:8]
    scaled = [Recalibration(1 / factor).apply_document(document) for document in documents]
    plain = fit_recalibration(documents, objective=objective).recalibration
    found = fit_recalibration(scaled, objective=objective).recalibration
    assert found.temperature == pytest.approx(factor * plain.temperature, rel=1e-4)
    assert found.new_bias == pytest.approx(plain.new_bias, abs=1e-4)


def test_a_shift_of_the_scores_changes_the_bias(calibrated: list[ScoredDocument]) -> None:
    shifted = [Recalibration(1.0, -0.7).apply_document(document) for document in calibrated[:12]]
    plain = fit_recalibration(calibrated[:12]).recalibration
    found = fit_recalibration(shifted).recalibration
    # (s + 0.7) / T - b: the bias compensates for 0.7 / T.
    assert found.temperature == pytest.approx(plain.temperature, rel=1e-5)
    assert found.new_bias == pytest.approx(plain.new_bias + 0.7 / plain.temperature, abs=1e-5)


def test_the_order_of_documents_does_not_matter(calibrated: list[ScoredDocument]) -> None:
    one, other = (RecalibrationFitter(documents) for documents in (calibrated[:10], calibrated[9::-1]))
    crossed, again = one.cross_fit(3), other.cross_fit(3)
    assert (again.doc_ids, again.folds.tolist()) == (crossed.doc_ids[::-1], crossed.folds[::-1].tolist())
    for a, b in zip(one.bootstrap(5), other.bootstrap(5), strict=True):
        assert a.temperature == pytest.approx(b.temperature, rel=1e-6)


# --- gold that determines nothing ------------------------------------------------------------------------------

ONE_LINK = Lists([[], [0]], [[], [1.0]])


@pytest.mark.parametrize(
    ("lists", "gold"),
    [
        (ONE_LINK, ["a", "b"]),  # all NEW: the bias goes to infinity
        (ONE_LINK, ["a", "a"]),  # all linked: to minus infinity
        (Lists([[], [0], [0, 1]], [[], [-2.0], [-1.0, 3.0]]), ["a", "b", "b"]),  # separable: the temperature to 0
        (Lists([[], [0], [0]], [[], [1.0], [1.0]]), ["a", "a", "b"]),  # one score: a ridge of solutions
    ],
)
@pytest.mark.parametrize("objective", ["likelihood", "links-log"])
def test_gold_that_determines_no_recalibration_raises(
    lists: Lists, gold: list[int | str | None], objective: Any
) -> None:
    with pytest.raises(ParameterError, match="gold must determine a temperature and a bias, got documents where"):
        fit_recalibration([rr.document(lists, gold)], objective=objective)


def test_links_need_two_annotated_mentions_of_a_document() -> None:
    with pytest.raises(ParameterError, match="gold must give the objective links-log a term, got none"):
        fit_recalibration([rr.document(ONE_LINK, ["a", None])], objective="links-log")


@pytest.mark.parametrize(
    ("documents", "parameter"),
    [
        ([], None),
        ([rr.document(ONE_LINK, None)], None),
        ([rr.document(ONE_LINK, ["a", "a"])] * 2, "documents"),
        ([rr.document(Lists([[], [0]], [[], [0.0]]), ["a", "b"])], None),
        ([rr.document(Lists([[]], [[]]), ["a"])], None),
    ],
)
def test_documents_that_determine_no_fit_raise(documents: list[ScoredDocument], parameter: str | None) -> None:
    with error(ParameterError, parameter):
        fit_recalibration(documents)


LARGE = AntecedentDistribution.from_lists([[], [0]], [[], [1e300]])
BAD_CONTENT: list[Any] = [{}, {"temperature": 1.0}, {"temperature": 1, "new_bias": 0, "more": 1}, [1, 2]]
BAD: list[tuple[Callable[..., Any], str]] = [
    *[(lambda _, t=t: Recalibration(t), "temperature") for t in (0.0, -1.0, math.nan, True, "2")],  # type: ignore[misc]
    (lambda _: Recalibration(1.0, math.inf), "new_bias"),
    *[(lambda _, c=c: Recalibration.from_json(c), "recalibration") for c in BAD_CONTENT],  # type: ignore[misc]
    (lambda _: Recalibration(1e-10).apply(LARGE), "temperature"),  # a score would overflow
    (lambda documents: fit_recalibration(documents, unannotated="guess"), "unannotated"),
    (lambda documents: fit_recalibration(documents, objective="links"), "objective"),
    *[(lambda documents, n=n: cross_fit(documents, n), "n_folds") for n in (1, 2.5, 4)],  # type: ignore[misc]
    *[(lambda documents, n=n: RecalibrationFitter(documents).bootstrap(n), "n_resamples") for n in (0, 1.5)],  # type: ignore[misc]
    (lambda documents: RecalibrationFitter(documents).bootstrap(seed=-1), "seed"),
]


@pytest.mark.parametrize(("work", "parameter"), BAD)
def test_values_outside_their_range_raise(
    calibrated: list[ScoredDocument], work: Callable[..., Any], parameter: str
) -> None:
    with error(ParameterError, parameter):
        work(calibrated[:3])


# --- folds --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def held_out(calibrated: list[ScoredDocument]) -> CrossFit:
    return cross_fit(calibrated[:20], 6, seed=1)


def test_documents_are_held_out_once_in_folds_of_one_size(calibrated: list[ScoredDocument], held_out: CrossFit) -> None:
    assert np.bincount(held_out.folds).tolist() == [4, 4, 3, 3, 3, 3]  # 20 = 6 * 3 + 2
    assert cross_fit(calibrated[:20], 6, seed=2).folds.tolist() != held_out.folds.tolist()
    assert held_out.n_folds == 6


def test_a_fold_is_fitted_on_all_others(calibrated: list[ScoredDocument], held_out: CrossFit) -> None:
    documents = {document.doc_id: document for document in calibrated[:20]}
    for fold in range(6):
        outside = [documents[d] for d, f in zip(held_out.doc_ids, held_out.folds, strict=True) if f != fold]
        expected = fit_recalibration(outside).recalibration
        assert held_out.recalibrations[fold].temperature == pytest.approx(expected.temperature, rel=1e-6)
        assert held_out.recalibrations[fold].new_bias == pytest.approx(expected.new_bias, abs=1e-6)


def test_held_out_losses_are_of_the_fit_without_the_document(
    calibrated: list[ScoredDocument], held_out: CrossFit
) -> None:
    for d, document in enumerate(calibrated[:20]):
        losses = Likelihood(GoldSet([document], unannotated="skip"), by_kind=False)
        assert held_out.loss_before[d] == pytest.approx(losses.at(Recalibration())[0])
        change = held_out.recalibrations[held_out.folds[held_out.doc_ids.index(document.doc_id)]]
        assert held_out.loss_after[d] == pytest.approx(losses.at(change)[0])
    assert held_out.score_before == pytest.approx(held_out.loss_before.sum() / (20 * 40))
    assert held_out.score_after == pytest.approx(held_out.loss_after.sum() / (20 * 40))


def test_the_error_of_the_change_is_that_of_a_mean_if_documents_have_equal_size() -> None:
    # Equal numbers of terms: the ratio is a mean of per-document means, with standard error sd / sqrt(n).
    change = np.array([0.1, -0.4, 0.2, 0.5])
    fits = (Recalibration(),) * 4
    fit = CrossFit("x", tuple("abcd"), np.arange(4), fits, np.full(4, 2.0), np.zeros(4), 2 * change)
    assert fit.score_change_se == pytest.approx(change.std(ddof=1) / 2)


# --- bootstrap ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["likelihood", "links-log"])
def test_a_refit_is_near_the_fit_to_the_resampled_documents(calibrated: list[ScoredDocument], objective: Any) -> None:
    fitter = RecalibrationFitter(calibrated[:30], objective=objective)
    fit = fitter.fit().recalibration.vector()[:2]
    for row in fitter._resampled(2, 8):
        refit = fitter._overall.refit(row)
        copies = [
            dataclasses.replace(document, doc_id=f"{document.doc_id} {n}")
            for document, weight in zip(fitter.gold.documents, row, strict=True)
            for n in range(int(weight))
        ]
        exact = fit_recalibration(copies, objective=objective).recalibration.vector()[:2]
        # One Newton step has an error of second order.
        assert np.abs(refit - exact).max() < 0.15 * np.abs(exact - fit).max()


def test_the_spread_of_draws_follows_the_sandwich_formula(calibrated: list[ScoredDocument]) -> None:
    fitter = RecalibrationFitter(calibrated)
    spread = np.array([draw.vector()[:2] for draw in fitter.bootstrap(600)]).std(axis=0)
    there = fitter._overall.there
    inverse = np.linalg.inv(there.hessians.sum(axis=0))
    expected = np.sqrt(np.diag(inverse @ (there.gradients.T @ there.gradients) @ inverse))
    # The standard deviation of 600 draws has an error of 2.9%, times 4.9; terms of higher order add about 5%.
    np.testing.assert_allclose(spread, expected, rtol=0.2)


def test_draws_depend_only_on_seed_and_documents(calibrated: list[ScoredDocument]) -> None:
    one, again, other = (RecalibrationFitter(calibrated[:10]).bootstrap(8, seed=seed) for seed in (5, 5, 6))
    assert one == again != other
    assert RecalibrationFitter(calibrated[:10]).bootstrap(3, seed=5) == one[:3]
