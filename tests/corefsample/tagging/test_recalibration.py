"""Temperatures of chains, fitted to gold tags."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from expected_errors import error

from corefsample import ParameterError
from corefsample.tagging import LinearChain, fit_chain_recalibration
from corefsample.tagging._recalibration import ChainRecalibration

OBJECTIVES = ("likelihood", "marginals")


def sentences(temperature: float, n_sentences: int = 300) -> tuple[list[LinearChain], list[Any]]:
    """Chains whose gold tags are drawn from them, with potentials then multiplied by a temperature."""
    generator = np.random.default_rng(1)
    pairwise = generator.normal(0.0, 1.0, (4, 4))
    chains, gold = [], []
    for number in range(n_sentences):
        unary = generator.normal(0.0, 1.5, (int(generator.integers(1, 15)), 4))
        gold.append(LinearChain.from_scores(unary, pairwise).sample(1, seed=2, doc_id=str(number))[0])
        chains.append(LinearChain.from_scores(temperature * unary, temperature * pairwise))
    return chains, gold


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_temperature_that_spoiled_the_chains_is_found(objective: str, temperature: float) -> None:
    # The estimate varies by some 3% with 2,100 tokens; 15% is far outside.
    fit = fit_chain_recalibration(*sentences(temperature), objective=objective)
    assert fit.recalibration.temperature == pytest.approx(temperature, rel=0.15)
    assert fit.loss_after <= fit.loss_before
    assert (fit.n_sentences, fit.objective) == (300, objective)


def test_one_token_of_two_tags_has_the_temperature_worked_out_by_hand() -> None:
    # P(tag 0) = 1 / (1 + exp(-4 / T)); 3 of 4 gold tags are 0. The likelihood is greatest where P = 3/4,
    # so exp(-4 / T) = 1/3 and T = 4 / log 3.
    chain = LinearChain.from_scores([[4.0, 0.0]], np.zeros((2, 2)))
    for objective in OBJECTIVES:
        fit = fit_chain_recalibration([chain] * 4, [[0], [0], [1], [0]], objective=objective)
        assert fit.recalibration.temperature == pytest.approx(4.0 / math.log(3.0), rel=1e-4)
        assert fit.loss_after == pytest.approx(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)), rel=1e-6)
        assert fit.loss_before == pytest.approx(math.log1p(math.exp(-4.0)) + 1.0, rel=1e-12)


def test_gold_that_is_always_the_likeliest_asks_for_the_lowest_temperature() -> None:
    chain = LinearChain.from_scores([[1.0, 0.0]], np.zeros((2, 2)))
    assert fit_chain_recalibration([chain], [[0]]).recalibration.temperature == pytest.approx(0.01, rel=0.2)


def test_a_temperature_divides_potentials_and_keeps_what_is_forbidden() -> None:
    chain = LinearChain.from_scores([[2.0, 4.0], [0.0, 1.0]], [[0.0, -math.inf], [6.0, 2.0]])
    changed = ChainRecalibration(2.0).apply(chain)
    assert changed.unary.tolist() == [[1.0, 2.0], [0.0, 0.5]]
    assert changed.pairwise.tolist() == [[0.0, -math.inf], [3.0, 1.0]]
    assert ChainRecalibration(2.0).to_json() == {"temperature": 2.0}


def chain_of_two() -> LinearChain:
    return LinearChain.from_scores(np.zeros((2, 2)), [[0.0, -math.inf], [0.0, 0.0]])


TWO = chain_of_two()


@pytest.mark.parametrize(
    ("chains", "gold", "parameter", "place"),
    [
        *[(chains, [], "gold", None) for chains in ([], [TWO])],
        *[([TWO], [tags], parameter, "gold[0]") for tags, parameter in (([0], "tags"), ([0, 5], "tags[1]"))],
        *[([TWO], [[0, 1]], "gold[0]", None), (["chain"], [[0, 1]], "chains[0]", None)],
    ],
)
def test_input_that_breaks_a_rule_raises(chains: Any, gold: Any, parameter: str, place: str | None) -> None:
    with error(ParameterError, parameter, place):
        fit_chain_recalibration(chains, gold)
    with error(ParameterError, "objective"):
        fit_chain_recalibration(chains, gold, objective="brier")


def test_gold_that_a_chain_forbids_is_named() -> None:
    with pytest.raises(ParameterError, match=r"^gold\[0\] must be allowed by its chain, got a forbidden sequence$"):
        fit_chain_recalibration([TWO], [[0, 1]])


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf, "2"])
def test_a_temperature_out_of_range_raises(temperature: Any) -> None:
    with error(ParameterError, "temperature"):
        ChainRecalibration(temperature)
