"""The model of the errors of rules against prior sampling, and what it says of new rules."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from references.rule_error import Row, uncovered_shares, value_by_prior_sampling
from scipy.special import expit, logit, ndtri
from scipy.stats import betabinom
from tolerance import plausible_means

from events.rule_error import _counts as error_counts
from events.rule_error._model import (
    COVERED,
    FACTORS,
    MISSES,
    PRECISION,
    UNCOVERED,
    Cell,
    RuleError,
    RuleErrorModel,
    log_odds,
    normal_quantiles,
    read_reference,
    reference_model,
)

NEW = Cell("named", "bomb", "C", "x")
DOCUMENTS = np.array([20.0, 40.0, 140.0, 800.0])  # counted, and others by class
_NAMES = ("kind", "corpus", "event", "actor", "n_above", "yes_above", "n_sentence", "yes_sentence")


def table_of(rows: list[tuple[str, str, str, str, int, int, int, int]], yes_neither: int = 0) -> pd.DataFrame:
    """A reference table of `_NAMES` with 10 documents, one of them missed, in the second class; one period a row."""
    table = pd.DataFrame(rows, columns=list(_NAMES)).assign(n_document=10, yes_document=1, yes_neither=yes_neither)
    periods = [f"{2000 + i}Q1" for i in range(len(rows))]
    table = table.assign(preset="asserted", pipeline="sm", period=periods, n_documents=1000, sum_p=table["n_above"])
    yes_below = table[["yes_sentence", "yes_document", "yes_neither"]].sum(axis=1)
    return table.assign(yes_below=yes_below, n_yes=table["yes_above"] + yes_below)


ROWS = [
    ("named", "x", "attack", "A", 42, 21, 60, 11),
    ("any", "x", "bomb", "*", 80, 60, 25, 4),
    ("class noun", "y", "attack", "B", 20, 19, 50, 25),
]


def drawn(table: pd.DataFrame, cell: Cell = NEW, n: int = 20_000) -> RuleError:
    return RuleErrorModel(table).draws(cell, DOCUMENTS, n, np.random.default_rng(0))


@pytest.mark.parametrize("of_class", [None, 0, 1])
def test_a_new_cell_has_the_posterior_of_prior_sampling(of_class: int | None) -> None:
    error, rows = drawn(table_of(ROWS)), []
    for row in ROWS:
        odds = log_odds(row[4], [row[6], 10]).tolist()  # each class has its own
        of_precision = [(0, row[5], row[4])]
        of_misses = [(0, row[7], row[6]), (1, 1, 10)]
        for k, yes, size in of_precision if of_class is None else of_misses:
            rows.append(Row(*row[:4], k, odds[k], yes, size))
    values, prior = (error.precision, PRECISION) if of_class is None else (error.misses[:, of_class], MISSES)
    new = Row("named", "x", "bomb", "C", of_class or 0, float(log_odds(20, DOCUMENTS[1 + (of_class or 0)])), 0, 0)
    sample, weights = value_by_prior_sampling(rows, new, prior, 1_000_000, np.random.default_rng(1))
    mean = weights @ sample
    sd = np.sqrt(weights @ (sample - mean) ** 2)
    # The Laplace approximation and 5 factors of standard deviations: within a tenth of a standard deviation.
    assert abs(values.mean() - mean) < 0.1 * sd
    assert abs(values.std() - sd) < 0.1 * sd


def test_misses_without_word_and_name_are_a_mixture_of_two_normal_distributions() -> None:
    """Two events, of which one misses 40 in the last class and the other none: shares of new events by simulation."""
    table = pd.concat([table_of(ROWS[:1]), table_of(ROWS[1:2], yes_neither=40)])
    rng, odds, rates = np.random.default_rng(0), [log_odds(42, 958), log_odds(80, 920)], []
    for each in odds:
        rates.append(expit(np.array([rng.normal(*COVERED, 100_000), rng.normal(*UNCOVERED, 100_000)]) + each))
    shares = uncovered_shares([0, 40], rates, [1000 - 42 - 60 - 10, 1000 - 80 - 25 - 10])
    share = shares @ ((np.arange(1000) + 0.5) / 1000)
    values = drawn(table, Cell("named", "arson", "C", "x")).misses[:, 2] - log_odds(20, 980)
    assert values.mean() == pytest.approx((1 - share) * COVERED[0] + share * UNCOVERED[0], abs=0.05)
    second = (1 - share) * (COVERED[0] ** 2 + COVERED[1] ** 2) + share * (UNCOVERED[0] ** 2 + UNCOVERED[1] ** 2)
    assert (values**2).mean() == pytest.approx(second, rel=0.03)
    same = drawn(table, Cell("any", "bomb", "*", "x")).misses[:, 2]
    assert expit(same).mean() == pytest.approx(40 / 885 * 20.5 / 980.5 * 920.5 / 80.5, rel=0.1)


def test_an_empty_table_leaves_the_prior() -> None:
    error = RuleErrorModel(table_of(ROWS)[:0]).draws(Cell("any"), [10, 10, 0, 0], 20_000, np.random.default_rng(0))
    for draws, prior in ((error.precision, PRECISION), (error.misses[:, 0], MISSES)):
        variance = sum(getattr(prior, name) ** 2 for name in ("common", "of_class", "kind", "corpus"))
        variance += sum(getattr(prior, name) ** 2 for name in ("event", "actor", "cell"))  # E[factor**2] = 1
        assert draws.mean() == pytest.approx(prior.means[0], abs=0.02)
        assert draws.std() == pytest.approx(np.sqrt(variance), rel=0.05)


def test_quantiles_hardly_depend_on_the_random_stream() -> None:
    model, limits = RuleErrorModel(table_of(ROWS)), []
    for seed in range(20):
        error = model.draws(NEW, DOCUMENTS, 1000, np.random.default_rng(seed))
        limits.append(np.quantile(expit(error.precision) * 20 + expit(error.misses) @ DOCUMENTS[1:], [0.025, 0.975]))
    assert np.ptp(limits, axis=0) == pytest.approx([0.0, 0.0])
    order = [model.draws(NEW, DOCUMENTS, 1000, np.random.default_rng(seed)).precision for seed in (0, 1)]
    assert abs(np.corrcoef(order)[0, 1]) < 0.2  # the errors of two counts are independent


def test_more_answers_about_the_same_corpus_narrow_the_error() -> None:
    table = table_of(ROWS * 10)
    same, other = (drawn(table, Cell("named", "attack", "A", corpus)) for corpus in ("x", ""))
    assert same.precision.std() < 0.6 * other.precision.std()
    assert same.misses[:, 0].std() < 0.6 * other.misses[:, 0].std()


def test_a_corpus_is_recognised_by_its_named_actors() -> None:
    model = RuleErrorModel(table_of(ROWS))
    assert model.corpus_of(["A", "USA"]) == "x"
    assert model.corpus_of(["B", "USA"]) == ""  # a class noun names nobody


def test_the_shipped_reference_class_has_three_corpora() -> None:
    table = read_reference()
    assert set(table["corpus"]) == {"muc", "police", "satp"}
    assert reference_model().table.equals(table)


def test_actors_of_one_corpus_share_a_part_of_their_errors() -> None:
    """Given the common factor, the variance of one logit is shared but for the effects of actor and cell."""
    model, n = RuleErrorModel(table_of(ROWS)[:0]), 40_000
    cells = [Cell("named", "bomb", "C"), Cell("named", "bomb", "D"), Cell("country", "arrest", "C", "y")]
    errors = model.joint_draws(cells, np.tile(DOCUMENTS, (3, 1)), n, np.random.default_rng(0))
    odds2, factor2 = float(log_odds(20, 40)) ** 2, float(model._precision.weights @ FACTORS**2)
    of_all = PRECISION.common**2 + PRECISION.of_class**2 + PRECISION.slope_sd**2 * odds2
    of_corpus = PRECISION.kind**2 + PRECISION.corpus**2 + factor2 * PRECISION.event**2
    variance = of_all + of_corpus + factor2 * (PRECISION.actor**2 + PRECISION.cell**2)
    precision = np.stack([error.precision for error in errors])
    expected = np.array([(of_all + of_corpus) / variance, of_all / variance])
    assert np.abs(np.corrcoef(precision)[0, 1:] - expected).max() < 5.0 / np.sqrt(n)
    alone, quantiles = model.draws(cells[0], DOCUMENTS, n, np.random.default_rng(1)), []
    for error in (alone, errors[0]):
        values = np.column_stack([error.precision, error.misses])
        quantiles.append(np.quantile(values, [0.1, 0.5, 0.9], axis=0))
    assert quantiles[0] == pytest.approx(quantiles[1], abs=0.06)
    assert (errors[0].misses[:, 2] == errors[1].misses[:, 2]).all()  # words of one rule cover the question, or not


def test_quantiles_of_the_normal_distribution_are_those_of_scipy() -> None:
    uniform = np.linspace(0.00005, 0.99995, 999)
    np.testing.assert_allclose(normal_quantiles(uniform), ndtri(uniform), rtol=0, atol=1e-5)


# --- counts with the error of a rule ------------------------------------------------------------------------


N = 100_000
STRATA = np.array([1000]), np.array([0.0]), np.array([[0.0, 0.0, 1.0]])  # all in the class "neither"


def constant(precision: float, *misses: float, n: int = N) -> RuleError:
    """Draws without any spread; misses by class, the last of them for those that are left out."""
    of_classes = [*misses, *[misses[-1]] * (3 - len(misses))]
    return RuleError(np.full(n, logit(precision)), np.tile(logit(of_classes), (n, 1)))


@pytest.fixture(autouse=True)
def no_effects_of_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("events.rule_error._counts.PERIOD_SD", 0.0)


def test_counts_are_thinned_and_missed_documents_added_by_class() -> None:
    error, near = constant(0.8, 0.1, 0.02, 0.001), [[30, 20], [0, 60]]
    draws = error_counts.true_counts(np.tile([10, 40], (N, 1)), [100, 100], near, error, np.random.default_rng(0))
    # 10 * .8 + 30 * .1 + 20 * .02 + 40 * .001; the 60 other documents in the second period are of the second class.
    expected = [11.44, 32.0 + 60 * 0.02]
    assert plausible_means(draws.mean(axis=0), expected, draws.std(axis=0) / np.sqrt(N)).all()


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 40), st.floats(-3, 3), st.floats(-3, 5))
def test_no_count_exceeds_the_documents(counted: int, others: int, near: int, precision: float, misses: float) -> None:
    error, rng = RuleError(np.full(50, precision), np.full((50, 3), misses)), np.random.default_rng(0)
    draws = error_counts.true_counts(np.full((50, 1), counted), [counted + others], [[near, 5]], error, rng)
    assert (draws >= 0).all()
    assert (draws <= counted + others).all()


def test_a_perfect_rule_changes_nothing() -> None:
    counts, error = np.random.default_rng(0).integers(0, 5, (100, 3)), constant(1 - 1e-12, 1e-12, n=100)
    draws = error_counts.true_counts(counts, [10, 10, 10], np.ones((3, 2), int), error, np.random.default_rng(1))
    assert (draws == counts).all()


def test_periods_differ_more_than_binomial_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    variances = []
    for sd in (0.0, 0.5):
        monkeypatch.setattr("events.rule_error._counts.PERIOD_SD", sd)
        error = constant(0.5, 1e-9)
        variances.append(
            error_counts.true_counts(np.full((N, 1), 100), [100], [[0, 0]], error, np.random.default_rng(0)).var()
        )
    assert variances[0] == pytest.approx(25.0, rel=0.03)  # n p (1 - p)
    assert variances[1] > 4 * variances[0]  # about 25 + (100 * .25 * .5)**2


def test_reader_probability_is_a_mixture_of_precision_and_the_misses_of_the_class() -> None:
    (reader,) = error_counts.reader_probability([0.0, 0.5, 1.0], constant(0.75, 0.1, 0.02, 0.001, n=1))
    assert reader == pytest.approx(np.array([[0.1, 0.02, 0.001], [0.425, 0.385, 0.3755], [0.75, 0.75, 0.75]]))


def test_the_random_stream_depends_on_seed_event_and_actor() -> None:
    draws = {
        key: error_counts.error_generator(*key).random()
        for key in ((0, "a", "B"), (1, "a", "B"), (0, "a", "C"), (0, "b", "B"))
    }
    assert len(set(draws.values())) == 4
    assert error_counts.error_generator(0, "a", "B").random() == draws[0, "a", "B"]


def test_labels_weigh_the_draws_of_the_error() -> None:
    # One stratum of 50 documents that the rule counts, P = 1: the shares are .2 and .9, each half of the draws.
    error = RuleError(np.repeat(logit([0.2, 0.9]), N // 2), np.full((N, 3), -30.0))
    strata = (np.array([50]), np.array([1.0]), np.array([[0.0, 0.0, 1.0]]), np.array([6]), np.array([3]))
    shares = np.array([0.2, 0.9])
    concentration = np.maximum(1.0 / (shares * (1 - shares) * error_counts.STRATUM_SD**2) - 1.0, 1.0)
    a, b = shares * concentration, (1 - shares) * concentration
    weights = betabinom.pmf(3, 6, a, b)
    mean = 44 * (weights / weights.sum()) @ ((a + 3) / (a + b + 6))
    draws = error_counts.unlabelled_yes(*strata, error, np.random.default_rng(0))
    assert plausible_means(draws.mean(), mean, draws.std() * np.sqrt(2 / N)).all()  # resampled, then drawn
    assert draws.min() >= 0
    assert draws.max() <= 44


def test_a_label_of_yes_moves_the_misses_of_its_class() -> None:
    # Half of the draws have words that cover the question: 1 of 10,000 of the class "neither", or 1 of 10.
    error = RuleError(np.zeros(N), np.column_stack([np.full((N, 2), -30.0), np.repeat(logit([1e-4, 0.1]), N // 2)]))
    none, one = (
        error_counts.unlabelled_yes(*STRATA, np.array([20]), np.array([yes]), error, np.random.default_rng(0)).mean()
        for yes in (0, 1)
    )
    shares = np.array([1e-4, 0.1])
    concentration = np.maximum(1.0 / (shares * (1 - shares) * error_counts.STRATUM_SD**2) - 1.0, 1.0)
    a, b = shares * concentration, (1 - shares) * concentration
    for yes, mean in ((0, none), (1, one)):
        weights = betabinom.pmf(yes, 20, a, b)
        assert mean == pytest.approx(980 * (weights / weights.sum()) @ ((a + yes) / (a + b + 20)), rel=0.03)
    assert one > 4 * none


def test_shares_of_yes_follow_precision_and_misses() -> None:
    shares = error_counts.yes_shares(
        [1.0, 0.25], [[0.0, 0.0, 1.0], [0.5, 0.0, 0.5]], constant(0.8, 0.1, 0.0001, 0.02, n=1)
    )
    assert shares == pytest.approx(np.array([[0.8, 0.25 * 0.8 + 0.75 * 0.06]]))


def test_expected_width_is_the_mean_over_draws_at_even_distances() -> None:
    error = RuleError(np.linspace(-1.0, 3.0, 1000), np.linspace(-6.0, -1.0, 3000).reshape(3, -1).T)
    strata, none = (np.array([40, 1000]), np.array([1.0, 0.0]), np.full((2, 3), 1 / 3)), np.zeros(2, np.int64)
    for labels in (np.array([5, 20]), np.array([10, 90]), np.array([40, 1000])):
        rng, widths = np.random.default_rng(0), []
        others = error_counts.unlabelled_yes(*strata, none, none, error, rng)
        # Equal totals are in the order of the draws, on any processor.
        for draw in sorted(range(1000), key=others.sum(axis=1).tolist().__getitem__)[25::50]:
            yes = rng.hypergeometric(others[draw], strata[0] - others[draw], labels)
            totals = error_counts.unlabelled_yes(*strata, labels, yes, error, rng).sum(axis=1)
            widths.append(np.ptp(error_counts.central_interval(totals, 0.95)))
        assert np.mean(widths) == error_counts.expected_width(*strata, labels, error, np.random.default_rng(0))


@pytest.mark.parametrize(("level", "ends"), [(0.95, [24, 974]), (0.9, [49, 949]), (0.8, [99, 899])])
def test_ends_of_an_interval_are_the_quantiles_of_1000_draws(level: float, ends: list[int]) -> None:
    """The 25th and the 975th of 1,000 draws, whatever the rounding of 1 - level."""
    assert error_counts.central_interval(np.arange(1000), level).tolist() == ends
