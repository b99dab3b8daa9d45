"""The model of the errors of rules against prior sampling, and what it says of new rules."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from references.rule_error import Row, uncovered_shares, value_by_prior_sampling
from scipy.special import expit, ndtri

from events.rule_error._model import (
    COVERED,
    FACTORS,
    MISSES,
    PRECISION,
    UNCOVERED,
    Cell,
    RuleError,
    fit_rule_error,
    log_odds,
    normal_quantiles,
    read_reference,
    reference_model,
)

NEW = Cell("named", "bomb", "C", "x")
DOCUMENTS = np.array([20.0, 40.0, 30.0, 910.0])  # counted, and others by class
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
    return fit_rule_error(table).draws(cell, DOCUMENTS, n, np.random.default_rng(0))


@pytest.mark.parametrize("of_class", [None, 0, 1])
def test_a_new_cell_has_the_posterior_of_prior_sampling(of_class: int | None) -> None:
    error, rows = drawn(table_of(ROWS)), []
    for row in ROWS:
        odds = float(log_odds(row[4], row[6]))
        of_precision = [(0, row[5], row[4])]
        of_misses = [(0, row[7], row[6]), (1, 1, 10)]
        for k, yes, size in of_precision if of_class is None else of_misses:
            rows.append(Row(*row[:4], k, odds, yes, size))
    values, prior = (error.precision, PRECISION) if of_class is None else (error.misses[:, of_class], MISSES)
    new = Row("named", "x", "bomb", "C", of_class or 0, float(log_odds(20, 40)), 0, 0)
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
    error = fit_rule_error(table_of(ROWS)[:0]).draws(Cell("any"), [10, 10, 0, 0], 20_000, np.random.default_rng(0))
    for draws, prior in ((error.precision, PRECISION), (error.misses[:, 0], MISSES)):
        variance = sum(getattr(prior, name) ** 2 for name in ("common", "of_class", "kind", "corpus"))
        variance += sum(getattr(prior, name) ** 2 for name in ("event", "actor", "cell"))  # E[factor**2] = 1
        assert draws.mean() == pytest.approx(prior.means[0], abs=0.02)
        assert draws.std() == pytest.approx(np.sqrt(variance), rel=0.05)


def test_quantiles_hardly_depend_on_the_random_stream() -> None:
    model, limits = fit_rule_error(table_of(ROWS)), []
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
    model = fit_rule_error(table_of(ROWS))
    assert model.corpus_of(["A", "USA"]) == "x"
    assert model.corpus_of(["B", "USA"]) == ""  # a class noun names nobody


def test_the_shipped_reference_class_has_three_corpora() -> None:
    table = read_reference()
    assert set(table["corpus"]) == {"muc", "police", "satp"}
    assert reference_model().table.equals(table)


def test_actors_of_one_corpus_share_a_part_of_their_errors() -> None:
    """Given the common factor, the variance of one logit is shared but for the effects of actor and cell."""
    model, n = fit_rule_error(table_of(ROWS)[:0]), 40_000
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
