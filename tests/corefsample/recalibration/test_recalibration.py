"""Recalibration: losses against plain loops and enumeration, fits against the parameters that generated gold.

The second half is about recalibration by kind of mention, and about recalibrations that are uncertain.
"""

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tolerance
from expected_errors import error
from hypothesis import assume, given, settings, strategies as st
from references import recalibration as rr
from strategies import documents as strategies
from strategies.documents import Lists

from corefsample import AntecedentDistribution, InputError, ParameterError, ScoredDocument, Tokens, sample_clusterings
from corefsample._arrays import Floats
from corefsample.posterior._posterior import DrawnRecalibration
from corefsample.recalibration import RecalibrationFitter, _uncertain as uncertainty, read_recalibration
from corefsample.recalibration._fitter import CrossFit, RecalibrationFit, domain_variation
from corefsample.recalibration._losses import GoldSet, Likelihood, LinkLosses, Losses
from corefsample.recalibration._model import N_PARAMETERS, Recalibration
from corefsample.scorers.protocol import MENTION_SOURCES, SHIPPED as SHIPPED_SCORERS
from corefsample.syntax._words import MENTION_KINDS, mention_kinds


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


def losses_of(
    documents: list[ScoredDocument], kind: type[Losses] = Likelihood, rule: Any = "skip", *, by_kind: bool = False
) -> Any:
    return kind(GoldSet(documents, unannotated=rule), by_kind=by_kind)


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
    losses = losses_of([rr.document(lists, gold)])
    np.testing.assert_allclose(
        losses.at(change), [math.fsum(x for x in expected if x is not None)], rtol=1e-9, atol=1e-9
    )
    assert losses.n_terms.tolist() == [sum(x is not None for x in expected)]


def test_scores_far_apart_do_not_overflow() -> None:
    # Mention 2 is in the entity of mention 0, whose score lies 1,600 below the other's: a loss of 1,600.
    losses = losses_of([rr.document(Lists([[], [], [0, 1]], [[], [], [-800.0, 800.0]]), ["a", "b", "a"])])
    found = losses.derivatives(np.zeros(2))
    assert found.losses[0] == pytest.approx(1600.0)
    assert np.isfinite(found.gradients).all()


@pytest.mark.kernels
@settings(max_examples=40)
@given(annotated())
def test_link_losses_equal_enumeration(case: tuple[Lists, list[int | str | None]]) -> None:
    lists, gold = case
    losses = losses_of([rr.document(lists, gold)], LinkLosses)
    expected = rr.link_loss(rr.recalibrated(lists, 1.5, -0.25), gold)
    assert losses.at(Recalibration(1.5, -0.25)) == pytest.approx([expected], abs=1e-9)
    n = sum(entity is not None for entity in gold)
    assert losses.n_terms.tolist() == [n * (n - 1) / 2]


def test_a_link_loss_over_hundreds_of_pairs_does_not_underflow() -> None:
    # 80 mentions without candidates, one gold entity: every pair is impossible and costs -log 1e-6. The last mention's
    # 79 pairs together have 1e-474, which is below the smallest float.
    lists = Lists([[] for _ in range(80)], [[] for _ in range(80)])
    loss = losses_of([rr.document(lists, ["a"] * 80)], LinkLosses).at(Recalibration())
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
    document = rr.document(PARTLY, PARTLY_GOLD)
    n_terms = [losses_of([document], LinkLosses, rule).n_terms[0] for rule in ("single", "skip")]
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
@pytest.mark.parametrize(("factor", "shift"), [(0.5, 0.0), (30.0, 0.0), (1.0, 0.7)])
def test_multiplied_and_shifted_scores_have_another_temperature_and_bias(
    calibrated: list[ScoredDocument], objective: Any, factor: float, shift: float
) -> None:
    documents = calibrated[:8]
    changed = [Recalibration(1 / factor, -shift).apply_document(document) for document in documents]
    plain = fit_recalibration(documents, objective=objective).recalibration
    found = fit_recalibration(changed, objective=objective).recalibration
    assert found.temperature == pytest.approx(factor * plain.temperature, rel=1e-4)
    # (s + 0.7) / T - b: the bias compensates for 0.7 / T.
    assert found.new_bias == pytest.approx(plain.new_bias + shift / plain.temperature, abs=1e-4)


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
        losses = losses_of([document])
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


# --- recalibration by kind of mention ---------------------------------------------------------------------------

N_KINDS = len(MENTION_KINDS)
# A word of each kind, its lemma and universal part of speech.
WORDS = (
    *(("Ada", "Ada", "PROPN"), ("dogs", "dog", "NOUN"), ("dog", "dog", "NOUN"), ("her", "she", "PRON")),
    *(("its", "its", "PRON"), ("them", "they", "PRON"), ("you", "you", "PRON"), ("those", "that", "DET")),
    ("running", "run", "VERB"),
)


def tokens_of(kinds: list[int], **extra: list[str]) -> Tokens:
    text, lemma, upos = zip(*(WORDS[kind] for kind in kinds), strict=True)
    n = len(kinds)
    return Tokens(list(text), list(lemma), list(upos), ["root"] * n, np.full(n, -1), np.arange(n), extra)


def vector(seed: int, sd: float = 0.4) -> Floats:
    return np.random.default_rng(seed).normal(0.0, sd, N_PARAMETERS)


def made_document(rng: np.random.Generator, n: int, doc_id: str, change: Recalibration | None = None) -> ScoredDocument:
    """A document of random kinds, whose gold is drawn from its scores after a recalibration."""
    lists = rr.random_lists(rng, n)
    kinds = rng.integers(0, N_KINDS, n).tolist()
    document = dataclasses.replace(rr.document(lists, None, doc_id), tokens=tokens_of(kinds))
    drawn = document.antecedents if change is None else change.apply(document.antecedents, kinds)
    labels = sample_clusterings(drawn, n_samples=1, seed=5, doc_id=doc_id).labels[0].tolist()
    return dataclasses.replace(document, gold=labels)


def made_documents(n_documents: int, n_mentions: int, seed: int, change: Recalibration | None = None) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [made_document(rng, n_mentions, f"doc {d}", change) for d in range(n_documents)]


def loop_scores(document: ScoredDocument, kinds: list[int], parameters: Floats) -> Lists:
    """Recalibrated scores by a plain loop."""
    new, links = parameters[2 : 2 + N_KINDS], parameters[2 + N_KINDS :].reshape(N_KINDS, N_KINDS)
    rows, scores = [], []
    for i in range(document.n_mentions):
        row, values = document.antecedents.row(i)[0].tolist(), document.antecedents
        start = int(values.indptr[i])
        changed = []
        for place, k in enumerate(row):
            score = float(values.scores[start + place]) / math.exp(parameters[0]) - parameters[1]
            changed.append(score - new[kinds[i]] + links[kinds[i], kinds[k]])
        rows.append(row)
        scores.append(changed)
    return Lists(rows, scores)


@pytest.mark.parametrize(
    ("word", "upos", "extra", "kind"),
    [
        ("sheep", "NOUN", {"xpos": "NNS"}, "plural noun"),
        ("sheep", "NOUN", {"feats": "Number=Plur"}, "plural noun"),
        ("sheep", "NOUN", {"xpos": "NN"}, "singular noun"),
        ("sie", "PRON", {"feats": "Number=Plur|Person=3|PronType=Prs"}, "they"),
        ("elle", "PRON", {"feats": "Gender=Fem|Number=Sing|Person=3|PronType=Prs"}, "he or she"),
        ("nous", "PRON", {"feats": "Number=Plur|Person=1|PronType=Prs"}, "first or second person"),
        ("who", "PRON", {}, "other pronoun"),
        ("themselves", "PRON", {}, "they"),
        ("hers", "PRON", {"xpos": "PRP$"}, "he or she"),
        ("seven", "NUM", {}, "other"),
    ],
)
def test_kinds_follow_tags_and_features(word: str, upos: str, extra: dict[str, str], kind: str) -> None:
    further = {name: [value, ""] for name, value in extra.items()}
    # The label of the dependency has no part in it: the three schemes give the same kinds, in the order of mentions.
    for label in ("nsubj", "obl", "pobj"):
        words = [word, "seven"]
        tokens = Tokens(words, words, [upos, "NUM"], [label] * 2, np.array([-1, 0]), np.zeros(2, int), further)
        kinds = mention_kinds(tokens, [[0, 2, 1], [0, 1, 0]])
        assert [MENTION_KINDS[k] for k in kinds] == ["other", kind]


# --- application --------------------------------------------------------------------------------------------


def test_offsets_are_added_by_kind_of_mention_and_antecedent() -> None:
    document = made_documents(1, 12, seed=1)[0]
    kinds = mention_kinds(document.tokens, document.mentions).tolist()
    parameters = vector(1)
    after = Recalibration.from_vector(parameters).apply_document(document)
    expected = AntecedentDistribution.from_lists(*loop_scores(document, kinds, parameters))
    np.testing.assert_allclose(after.antecedents.scores, expected.scores, rtol=0, atol=1e-12)


def test_offsets_need_kinds_or_tokens() -> None:
    change = Recalibration.from_vector(vector(2))
    document = rr.document(Lists([[], [0]], [[], [1.0]]), None)
    with error(ParameterError, "kinds"):
        change.apply(document.antecedents)
    with pytest.raises(ParameterError, match="doc_id 'd': tokens are required for recalibration by kind of mention"):
        change.apply_document(document)
    for kinds in ([0], [0, 9]):
        with error(ParameterError, "kinds"):
            change.apply(document.antecedents, kinds)


# --- derivatives --------------------------------------------------------------------------------------------


@pytest.mark.kernels
def test_the_loss_by_kind_follows_the_definition() -> None:
    for seed in range(8):
        (document,) = made_documents(1, 7, seed=seed)
        gold = [None if i % 5 == 3 else entity for i, entity in enumerate(document.gold)]
        document = dataclasses.replace(document, gold=gold)
        kinds = mention_kinds(document.tokens, document.mentions).tolist()
        parameters = vector(seed)
        expected = rr.likelihood_loss(loop_scores(document, kinds, parameters), gold)
        found = losses_of([document], by_kind=True).at(Recalibration.from_vector(parameters))
        np.testing.assert_allclose(found, [expected], rtol=1e-10)


@pytest.mark.kernels
def test_gradient_and_curvature_are_those_of_the_loss() -> None:
    losses = losses_of(made_documents(2, 15, seed=4), by_kind=True)
    point, step = vector(4, 0.3), 1e-5
    found = losses.derivatives(point)
    for place in range(N_PARAMETERS):
        shift = np.zeros(N_PARAMETERS)
        shift[place] = step
        above = losses.derivatives(point + shift)
        below = losses.derivatives(point - shift)
        np.testing.assert_allclose(
            found.gradients[:, place], (above.losses - below.losses) / (2 * step), rtol=1e-5, atol=1e-6
        )
        np.testing.assert_allclose(
            found.hessians[:, place], (above.gradients - below.gradients) / (2 * step), rtol=1e-4, atol=1e-5
        )


# --- fits ---------------------------------------------------------------------------------------------------


def domains_of(documents: list[ScoredDocument], n: int) -> dict[str, str]:
    return {document.doc_id: f"domain {d % n}" for d, document in enumerate(documents)}


def test_a_fit_finds_the_offsets_that_made_gold() -> None:
    truth = vector(6, 0.0)
    truth[2 + N_KINDS] = 1.5  # names with names
    truth[2 + N_KINDS + 3 * N_KINDS + 1] = -2.0  # he or she with plural nouns
    documents = made_documents(150, 60, seed=6, change=Recalibration.from_vector(truth))
    fit = RecalibrationFitter(documents, form="kinds").fit()
    assert fit.prior_sd is not None
    assert fit.prior_sd >= 0.1
    assert fit.recalibration.offsets is not None
    table = fit.recalibration.offset_table()
    # Differences within a row do not depend on how offsets of links share with those of NEW. Some 300 mentions decide
    # the first: a standard error of about 0.2. Links that are hardly ever true say less, and the prior shrinks both.
    assert 0.75 < table[0, 0] - table[0, 1:].mean() < 2.25
    assert -3.0 < table[3, 1] - np.delete(table[3], 1).mean() < -0.4
    assert abs(math.log(fit.recalibration.temperature)) < 0.1
    assert fit.score_after < fit.score_before


def test_a_shift_between_domains_is_found() -> None:
    # Normal shifts with known standard deviations, seen with the precision of 400 units each.
    rng = np.random.default_rng(9)
    sds = {"log_temperature": 0.0, "new_bias": 0.5, "new_offsets": 0.0, "link_offsets": 0.3}
    effect = uncertainty.DomainEffect(**sds, n_domains=60)
    precision = 400.0
    slopes, curvatures = [], []
    for _ in range(60):
        shift = rng.standard_normal(N_PARAMETERS) * effect.sds()
        seen = shift + rng.standard_normal(N_PARAMETERS) / math.sqrt(precision)
        slopes.append(-precision * seen)
        curvatures.append(precision * np.eye(N_PARAMETERS))
    found = domain_variation(slopes, curvatures)
    # The standard error of a standard deviation from 60 shifts is 0.5 / sqrt(120) = 0.05; five of them.
    assert abs(found.new_bias - 0.5) < 0.25
    assert abs(found.link_offsets - 0.3) < 0.05
    assert found.log_temperature < 0.1
    assert found.new_offsets < 0.05


def test_domains_need_the_form_kinds_and_three_of_them() -> None:
    documents = made_documents(6, 20, seed=10)
    with error(ParameterError, "domains"):
        RecalibrationFitter(documents).domain_effect()
    two = RecalibrationFitter(documents, form="kinds", domains=domains_of(documents, 2))
    with pytest.raises(ParameterError, match="must be at least 3 to estimate how domains differ, got 2"):
        two.domain_effect()
    with error(ParameterError, "domains"):
        RecalibrationFitter(documents, form="kinds", domains={})


# --- uncertainty --------------------------------------------------------------------------------------------


def uncertain() -> uncertainty.UncertainRecalibration:
    draws = tuple(Recalibration.from_vector(vector(seed, 0.1)) for seed in range(4))
    effect = uncertainty.DomainEffect(0.0, 0.5, 0.0, 0.0, n_domains=5)
    return uncertainty.UncertainRecalibration(Recalibration.from_vector(vector(0)), draws, effect)


def test_a_shift_belongs_to_a_domain_and_the_refits_to_all() -> None:
    refits = uncertain().sampled("fit", 4)
    shifts = {}
    for domain in ("", "news", "speech"):
        drawn = uncertain().sampled("domain", 4, seed=3, domain=domain)
        shifts[domain] = np.array([one.vector() - other.vector() for one, other in zip(drawn, refits, strict=True)])
        assert uncertain().sampled("domain", 4, seed=3, domain=domain) == drawn
        assert uncertain().sampled("fit", 4, domain=domain) == refits
    assert np.abs(shifts["news"] - shifts["speech"]).max() > 0.05
    assert np.abs(shifts["news"] - shifts[""]).max() > 0.05


def test_an_uncertain_recalibration_can_be_read_again(tmp_path: Path) -> None:
    path, before = tmp_path / "record.json", dataclasses.replace(uncertain(), domain_field="section")
    path.write_text(json.dumps({"more": 1, **before.to_json()}), encoding="utf-8")
    after = read_recalibration(path)
    assert (after.recalibration, after.domain_effect) == (before.recalibration, before.domain_effect)
    assert after.widest == "domain"
    assert after.domain_of({"section": 3, "genre": "news"}) == "3"
    assert after.domain_of({"genre": "news"}) == after.domain_of({"section": None}) == ""
    for one, other in zip(after.draws, before.draws, strict=True):
        np.testing.assert_allclose(one.vector(), other.vector(), atol=1e-5)
    path.write_text("{}", encoding="utf-8")
    for name in (str(path), "russian"):  # no name of a record of ours
        with error(InputError, None, name):
            read_recalibration(name)


def test_domain_draws_are_refits_with_a_shift() -> None:
    both = uncertain()
    refits, moved = both.sampled("fit", 400), both.sampled("domain", 400)
    shifts = np.stack([a.vector() - b.vector() for a, b in zip(moved, refits, strict=True)])
    assert np.abs(np.delete(shifts, 1, axis=1)).max() < 1e-12
    assert abs(shifts[:, 1].std() - 0.5) < 0.1  # standard error 0.5 / sqrt(800) = 0.018
    assert both.sampled("none", 400) == (both.recalibration,)
    with error(ParameterError, "uncertainty"):
        uncertainty.UncertainRecalibration(both.recalibration, both.draws).sampled("domain")
    with error(ParameterError, "uncertainty"):
        uncertainty.UncertainRecalibration(both.recalibration).sampled("fit")


def test_samples_are_divided_among_draws_in_order() -> None:
    document = made_documents(1, 15, seed=11)[0]
    kinds = mention_kinds(document.tokens, document.mentions)
    draws = uncertain().sampled("fit", 4)
    options: dict[str, Any] = {"seed": 3, "doc_id": "d"}
    drawn = DrawnRecalibration(Recalibration(), draws)
    labels, _ = drawn.labels(document.antecedents, kinds, np.arange(10), 10, **options)
    bounds = [0, 2, 5, 7, 10]  # as evenly as whole numbers allow
    for draw, first, end in zip(draws, bounds[:-1], bounds[1:], strict=True):
        own = sample_clusterings(draw.apply(document.antecedents, kinds), n_samples=end, **options).labels
        assert np.array_equal(labels.T[first:end], own[first:end])


def test_a_draw_under_which_a_score_overflows_raises() -> None:
    drawn = DrawnRecalibration(Recalibration(), (Recalibration(), Recalibration(1e-10)))
    large = AntecedentDistribution.from_lists([[], [0]], [[], [1e300]])
    with error(ParameterError, "temperature"):
        drawn.labels(large, None, np.arange(4), 4, seed=0, doc_id="")


# --- recalibrations on top of others ------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(N_PARAMETERS, N_PARAMETERS), (2, 2), (N_PARAMETERS, 2), (2, N_PARAMETERS)])
def test_a_relative_recalibration_replaces_the_one_applied(sizes: tuple[int, int]) -> None:
    document = made_documents(1, 15, seed=30)[0]
    wanted, applied = (
        Recalibration.from_vector(vector(seed)[:size]) for seed, size in zip((31, 32), sizes, strict=True)
    )
    expected = wanted.apply_document(document).antecedents.scores
    found = wanted.relative_to(applied).apply_document(applied.apply_document(document)).antecedents.scores
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert not np.allclose(applied.apply_document(document).antecedents.scores, expected)


def test_documents_name_their_recalibrations() -> None:
    document = dataclasses.replace(made_documents(1, 5, seed=33)[0], metadata={"genre": "news"})
    first, second = Recalibration(2.0, 0.5), Recalibration.from_vector(vector(34))
    once = first.apply_document(document)
    assert once.metadata == {"genre": "news", "recalibration": first.fingerprint()}
    twice = second.apply_document(once)
    assert Recalibration.applied_to(twice.metadata) == f"{first.fingerprint()} {second.fingerprint()}"
    assert Recalibration().apply_document(document).metadata == {"genre": "news"}  # it changes nothing
    with error(ParameterError, "scores"):
        first.apply_document(twice)
    assert Recalibration.from_json(json.loads(json.dumps(second.to_json()))).fingerprint() == second.fingerprint()
    assert Recalibration(2.0, 0.5000001).fingerprint() != first.fingerprint()


def test_gold_documents_must_have_had_one_recalibration() -> None:
    documents = made_documents(4, 30, seed=35)
    change = Recalibration(1.1, 0.1)
    fitter = RecalibrationFitter([change.apply_document(each) for each in documents])
    assert fitter.gold.base == change.fingerprint()
    with pytest.raises(ParameterError, match=r"doc_id 'doc 1': scores must have had the same recalibration"):
        RecalibrationFitter([change.apply_document(documents[0]), *documents[1:]])


# --- links --------------------------------------------------------------------------------------------------


@pytest.mark.kernels
def test_derivatives_of_link_losses_are_those_of_enumeration() -> None:
    rng, step = np.random.default_rng(40), 1e-5
    for gold in ([0, 1, 0, None, 0], [0, 0, 1, 0, 1]):
        lists = Lists([list(range(i)) for i in range(5)], [rng.normal(0.0, 1.0, i).tolist() for i in range(5)])
        kinds = rng.integers(0, N_KINDS, 5).tolist()
        document = dataclasses.replace(rr.document(lists, gold, "d"), tokens=tokens_of(kinds))
        point, losses = vector(41, 0.3), losses_of([document], LinkLosses, by_kind=True)
        losses.hessians = losses.hessians_at(point)
        found = losses.derivatives(point)
        (gradient,), (hessian,) = found.gradients, found.hessians
        assert found.losses == pytest.approx([rr.link_loss(loop_scores(document, kinds, point), gold)], abs=1e-10)
        for k in range(N_PARAMETERS):
            moved = step * np.eye(N_PARAMETERS)[k]
            up, down = (rr.link_loss(loop_scores(document, kinds, point + s * moved), gold) for s in (1, -1))
            assert gradient[k] == pytest.approx((up - down) / (2 * step), abs=1e-7)
            above, below = (losses.derivatives(point + s * moved).gradients[0] for s in (1, -1))
            np.testing.assert_allclose(hessian[k], (above - below) / (2 * step), atol=1e-4)
        assert np.count_nonzero(gradient) > 10


def test_a_fit_by_kind_to_links_is_a_minimum() -> None:
    documents = made_documents(6, 25, seed=42, change=Recalibration.from_vector(vector(43, 0.2)))
    fitter = RecalibrationFitter(documents, objective="links-log", form="kinds")
    fit = fitter.fit()
    assert fit.prior_sd is not None
    point = fit.recalibration.vector()

    def value(vector: Floats) -> float:
        penalty = float((vector[2:] ** 2).sum()) / (2.0 * float(fit.prior_sd or 1.0) ** 2)
        return float(fitter._losses.at(Recalibration.from_vector(vector)).sum()) + penalty

    best = value(point)
    rng = np.random.default_rng(44)
    for _ in range(20):  # steps of about 0.1 in all directions
        assert value(point + rng.normal(0.0, 0.02, N_PARAMETERS)) > best - 1e-6
    assert best < value(np.zeros(N_PARAMETERS))


# --- broken records -----------------------------------------------------------------------------------------


def record() -> dict[str, Any]:
    draws = Recalibration.from_vector(vector(50)), Recalibration.from_vector(vector(51))
    effect = uncertainty.DomainEffect(0.1, 0.2, 0.1, 0.1, n_domains=5)
    return uncertainty.UncertainRecalibration(Recalibration.from_vector(vector(52)), draws, effect).to_json()


@pytest.mark.parametrize(
    ("path", "value", "parameter"),
    [
        ("recalibration temperature", math.nan, "temperature"),
        ("recalibration offsets new name", math.nan, "offsets"),
        ("recalibration offsets links it", {}, "links"),
        ("recalibration", {"temperature": 1.0, "bias": 0.0}, "recalibration"),
        ("draws temperature", [1.0, math.nan], "draws.temperature"),
        ("draws temperature", [1.0], "draws.new_bias"),
        ("recalibration offsets new", {"name": 0.0}, "new"),
        ("draws offsets", [[0.0], [1.0, 2.0]], "draws.offsets"),
        ("draws offsets", [["a"] * 90] * 2, "draws.offsets"),
        ("draws", [], "draws"),
        ("domain_effect new_bias", -0.1, "domain_effect.new_bias"),
        ("domain_effect", {"new_bias": 0.1}, "domain_effect"),
        ("domain_field", 3, "domain_field"),
    ],
)
def test_a_broken_record_names_its_part(path: str, value: Any, parameter: str) -> None:
    content = record()
    inner, (*outer, last) = content, path.split()
    for name in outer:
        inner = inner[name]
    inner[last] = value
    with error(ParameterError, parameter):
        uncertainty.UncertainRecalibration.from_json(content)


# --- the recalibrations of the models of the package ----------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "model", "of_parse", "of_annotated"),
    [
        (None, None, "english", "english-annotated"),
        (None, "es", "spanish", None),
        (None, "own.npz", None, None),
        ("none", None, None, None),
        ("none", "es", None, None),
        ("spanish", "own.npz", "spanish", None),
        ("english-annotated", None, "english-annotated", "english-annotated"),
        ("own.json", "es", "own.json", "own.json"),
    ],
)
def test_models_have_a_recalibration(
    choice: str | None, model: str | None, of_parse: str | None, of_annotated: str | None
) -> None:
    assert [uncertainty.chosen_recalibration(choice, model, mentions) for mentions in ("parse", "annotated")] == [
        of_parse, of_annotated,
    ]  # fmt: skip


def test_each_is_of_a_model_and_says_its_language() -> None:
    assert {
        uncertainty.chosen_recalibration(None, model, mentions)
        for model in SHIPPED_SCORERS
        for mentions in MENTION_SOURCES
    } == {None, *uncertainty.SHIPPED}
    languages = {name: read_recalibration(name).language for name in uncertainty.SHIPPED}
    assert languages == {name: "en" if name.startswith("english") else "es" for name in uncertainty.SHIPPED}


def test_the_scores_that_had_one_are_known_by_its_fingerprint() -> None:
    marks = {name: read_recalibration(name).recalibration.fingerprint() for name in uncertainty.SHIPPED}
    assert len({*marks.values()}) == len(uncertainty.SHIPPED)
    for name, mark in marks.items():
        known = uncertainty.known_recalibration(mark)
        assert known is not None
        assert known.to_json() == read_recalibration(name).to_json()
    assert uncertainty.known_recalibration("") is uncertainty.known_recalibration("0" * 12) is None
