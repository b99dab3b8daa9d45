"""Recalibration of linear chains: a temperature on all potentials, fitted to gold tags."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import HtmlTable
from corefsample.errors import ParameterError, shown
from corefsample.tagging._chain import LinearChain

OBJECTIVES = ("likelihood", "marginals")
LIMITS = 0.01, 100.0  # of fitted temperatures
_LEAST = -745.0  # log of the smallest positive float: marginals that underflow count as it


@dataclass(frozen=True, slots=True)
class ChainRecalibration:
    """A change of a chain's potentials: each is divided by the temperature, and forbidden tags stay forbidden.

    The order of sequences by probability does not change. A temperature above 1 reduces confidence, one below 1
    increases it.

    Attributes
    ----------
    temperature
        Divisor of the potentials, above 0 and finite.

    Examples
    --------
    >>> chain = LinearChain.from_scores([[2.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]])
    >>> ChainRecalibration(temperature=2.0).apply(chain).unary
    array([[1., 0.]])
    """

    temperature: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "temperature", _checks.above_zero("temperature", self.temperature))

    def apply(self, chain: LinearChain) -> LinearChain:
        """Recalibrate one chain.

        Raises
        ------
        ParameterError
            If a score would overflow.
        """
        if not isinstance(chain, LinearChain):
            raise ParameterError(f"must be a LinearChain, got {shown(chain)}", parameter="chain")
        with np.errstate(over="ignore"):
            return LinearChain.from_scores(chain.unary / self.temperature, chain.pairwise / self.temperature)


@dataclass(frozen=True, slots=True, repr=False)
class ChainRecalibrationFit(HtmlTable):
    """A recalibration fitted on sentences with gold tags.

    Attributes
    ----------
    recalibration
        Fitted recalibration.
    objective
        Name of the minimised loss.
    loss_before, loss_after
        Mean loss per token, in nats, on the same sentences, before and after recalibration. The second is too
        optimistic for other sentences.
    n_sentences, n_tokens
        Number of sentences, and of their tokens, in the fit.
    """

    recalibration: ChainRecalibration
    objective: str
    loss_before: float
    loss_after: float
    n_sentences: int
    n_tokens: int


def fit_chain_recalibration(
    chains: Sequence[LinearChain], gold: Sequence[npt.ArrayLike], *, objective: str = "likelihood"
) -> ChainRecalibrationFit:
    """Fit the temperature of chains to gold tags.

    Parameters
    ----------
    chains
        The distribution of each sentence's tags; no chain may be one that was used to train the tagger.
    gold
        Codes of the gold tags of each chain, (n,) from 0 to n_tags - 1.
    objective
        "likelihood": minus the log probability of the gold sequence, which is convex in 1 / temperature.
        "marginals": minus the summed log marginals of the gold tags; probabilities too small for a float count as the
        smallest one.

    Returns
    -------
    ChainRecalibrationFit
        Fit with a temperature from 0.01 to 100; the temperature is one of these ends if the loss falls beyond it.

    Raises
    ------
    ParameterError
        If there is no chain, chains and gold differ in number or length, a gold tag is unknown or forbidden by its
        chain, or the objective is neither "likelihood" nor "marginals".

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), section 4.2, for the temperature of a classifier.
    """
    from scipy.optimize import minimize_scalar

    _checks.choice("objective", objective, OBJECTIVES)
    chains, gold = list(_checks.elements("chains", chains, LinearChain)), list(_checks.elements("gold", gold, object))
    if len(chains) == 0 or len(chains) != len(gold):
        rule = f"must have one sequence for each of at least one chain, got {len(gold)} for {len(chains)}"
        raise ParameterError(rule, parameter="gold")
    sequences = []
    for c, (chain, tags) in enumerate(zip(chains, gold, strict=True)):
        try:
            log_prob = chain.log_prob(tags)
        except ParameterError as error:
            raise error.at(f"gold[{c}]") from None
        if log_prob == -np.inf:
            raise ParameterError("must be allowed by its chain, got a forbidden sequence", parameter=f"gold[{c}]")
        sequences.append(np.asarray(tags, np.int64))
    n_tokens = sum(map(len, sequences))

    def mean_loss(log_temperature: float) -> float:
        recalibration = ChainRecalibration(math.exp(log_temperature))
        pairs = zip(map(recalibration.apply, chains), sequences, strict=True)
        return math.fsum(_loss(chain, tags, objective) for chain, tags in pairs) / n_tokens

    low, high = math.log(LIMITS[0]), math.log(LIMITS[1])
    minimum = minimize_scalar(mean_loss, bounds=(low, high), method="bounded", options={"xatol": 1e-6})
    best = min((low, float(minimum.x), high, 0.0), key=mean_loss)
    after = mean_loss(best)
    recalibration = ChainRecalibration(math.exp(best))
    return ChainRecalibrationFit(recalibration, objective, mean_loss(0.0), after, len(chains), n_tokens)


def _loss(chain: LinearChain, tags: npt.NDArray[np.int64], objective: str) -> float:
    if objective == "likelihood":
        return -chain.log_prob(tags)
    probs = chain.marginals()[np.arange(chain.n), tags]
    with np.errstate(divide="ignore"):
        return -float(np.maximum(np.log(probs), _LEAST).sum())
