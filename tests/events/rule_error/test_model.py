"""The model of the errors of rules against prior sampling, and what it says of new rules."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from references.rule_error import Row, new_cell_by_prior_sampling

from events.rule_error._model import (
    MISSES,
    PRECISION,
    Cell,
    fit_rule_error,
    miss_exposure,
    read_reference,
    reference_model,
)

NEW = Cell("named", "bomb", "C", "x")


def table_of(rows: list[tuple[str, str, str, str, int, int, int]], n_documents: int = 1000) -> pd.DataFrame:
    """A reference table: kind, corpus, event, actor, n_above, yes_above, yes_below; one period a row."""
    names = ["kind", "corpus", "event", "actor", "n_above", "yes_above", "yes_below"]
    table = pd.DataFrame(rows, columns=names)
    periods = [f"{2000 + i}Q1" for i in range(len(rows))]
    table = table.assign(preset="asserted", pipeline="sm", period=periods, n_documents=n_documents)
    return table.assign(sum_p=table["n_above"], n_yes=table["yes_above"] + table["yes_below"])


ROWS = [
    ("named", "x", "attack", "A", 30, 14, 9),
    ("named", "x", "attack", "A", 12, 7, 2),
    ("any", "x", "bomb", "*", 80, 60, 4),
    ("class noun", "y", "attack", "B", 20, 19, 25),
]


def values(posterior: str, n: int = 200_000) -> np.ndarray:
    error = fit_rule_error(table_of(ROWS)).draws(NEW, n, np.random.default_rng(0))
    return np.asarray(getattr(error, posterior))


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_a_new_cell_has_the_posterior_of_prior_sampling(family: str) -> None:
    rng = np.random.default_rng(1)
    if family == "binomial":
        rows: list[Row] = [(*row[:4], row[5], float(row[4])) for row in ROWS]
        drawn, prior = values("precision"), PRECISION
    else:
        # A's counts, 30 and 12 in two periods of 1,000 documents, are shrunk to each other; the others keep their sum.
        exposures = [*miss_exposure([30, 12], [1000, 1000]).tolist(), 80.5, 20.5]
        rows = [(*row[:4], row[6], exposure) for row, exposure in zip(ROWS, exposures, strict=True)]
        drawn, prior = values("misses"), MISSES
    new = ("named", "x", "bomb", "C")
    sample, weights = new_cell_by_prior_sampling(rows, new, prior, family, 400_000, rng)
    mean = weights @ sample
    sd = np.sqrt(weights @ (sample - mean) ** 2)
    # The Laplace approximation and 64 points of standard deviations: within a tenth of a standard deviation.
    assert abs(drawn.mean() - mean) < 0.1 * sd
    assert abs(drawn.std() - sd) < 0.1 * sd


def test_an_empty_table_leaves_the_prior() -> None:
    error = fit_rule_error(table_of(ROWS)[:0]).draws(Cell("any"), 100_000, np.random.default_rng(0))
    names = ("kind", "corpus", "event", "actor", "cell")
    for draws, prior in ((error.precision, PRECISION), (error.misses, MISSES)):
        variance = prior.sd**2 + sum(getattr(prior, name) ** 2 for name in names)  # E[s**2] = scale**2
        assert abs(draws.mean() - prior.mean) < 0.02
        assert draws.std() == pytest.approx(np.sqrt(variance), rel=0.15)


def test_more_answers_about_the_same_corpus_narrow_the_error() -> None:
    model, rng = fit_rule_error(table_of(ROWS * 10)), np.random.default_rng(0)
    same, other = (model.draws(Cell("named", "attack", "A", corpus), 20_000, rng) for corpus in ("x", ""))
    assert same.precision.std() < 0.5 * other.precision.std()
    assert same.misses.std() < 0.5 * other.misses.std()


def test_a_corpus_is_recognised_by_its_named_actors() -> None:
    model = fit_rule_error(table_of(ROWS))
    assert model.corpus_of(["A", "USA"]) == "x"
    assert model.corpus_of(["B", "USA"]) == ""  # a class noun names nobody


def test_expected_misses_follow_a_shrunken_rate() -> None:
    # Rates (1 + S) / (1 / r + D) with r = 10.5 / 200: 11 / 119.05 and 1 / 119.05; shares of 10.5 documents.
    assert miss_exposure([10, 0], [100, 100]) == pytest.approx([10.5 * 11 / 12, 10.5 / 12])
    assert miss_exposure([0, 0], [100, 300]) == pytest.approx(
        [0.5 * 100 * 1100 / (100 * 1100 + 300 * 900), 0.5 * 300 * 900 / (100 * 1100 + 300 * 900)]
    )


def test_the_shipped_reference_class_has_three_corpora() -> None:
    table = read_reference()
    assert set(table["corpus"]) == {"muc", "police", "satp"}
    assert reference_model().table.equals(table)
