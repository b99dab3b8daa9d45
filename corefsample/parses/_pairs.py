"""Probabilities of properties of parses, by samples, and whether the treebank confirms them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError
from corefsample.parses._properties import ROLE_PATHS, PathsByScheme, properties_of, role_path_ends

SCORES = ("brier", "likelihood")


@dataclass(frozen=True, slots=True, eq=False)
class ParsePairs:
    """Prediction-label pairs of one property.

    Attributes
    ----------
    q
        float64 (n_pairs,): share of the samples that have the property of a token, for each that some sample has.
    y
        int64 (n_pairs,): 1 if the treebank has it, too, else 0.
    n_gold, n_found
        Number of properties in the treebank, and of those that some sample has.
    """

    q: Floats
    y: Ints
    n_gold: int
    n_found: int


def parse_pairs(
    gold: Tokens,
    samples: Sequence[Tokens],
    *,
    schemes: tuple[str, str] = ("ud2", "ud2"),
    roles: Mapping[str, PathsByScheme] | None = None,
    upos: frozenset[str] = frozenset(["VERB"]),
) -> dict[str, ParsePairs]:
    """Pairs of each property of the sampled parses of a document.

    Parameters
    ----------
    gold
        The treebank's parse.
    samples
        Parses of the same words.
    schemes
        Dependency schemes of the treebank and of the samples: see `corefsample.parses.properties_of`.
    roles, upos
        Paths by scheme for each role of a rule, for the property "role paths": a token with one of these parts of
        speech, a role, and a token at the end of one of its paths. None leaves it out.

    Raises
    ------
    ParameterError
        If there is no sample or the words differ.
    """
    _require_same_words(gold, samples)
    of_each = [schemes[0], *[schemes[1]] * len(samples)]
    properties = properties_of([gold, *samples], of_each)
    pairs = {name: _pairs_of_tokens(keys) for name, keys in properties.items()}
    if roles is not None:
        parses = zip((gold, *samples), of_each, strict=True)
        ends = [role_path_ends(tokens, scheme, roles, upos) for tokens, scheme in parses]
        counts = Counter(end for found in ends[1:] for end in found)
        q = np.array(list(counts.values()), np.float64) / len(samples)
        y = np.array([end in ends[0] for end in counts], np.int64)
        pairs[ROLE_PATHS] = ParsePairs(q, y, len(ends[0]), int(y.sum()))
    return pairs


def gold_score(
    gold: Tokens,
    samples: Sequence[Tokens],
    *,
    schemes: tuple[str, str] = ("ud2", "ud2"),
    by: str = "brier",
) -> float:
    """Score of the samples' distribution over each token's labelled arc, or role and governor; higher is better.

    It is a sum over tokens, and both scores are proper: their expectations are highest for the true probabilities. The
    Brier score is estimated from any number of samples without bias, and no token counts more than 2. The logarithm of
    a probability cannot be estimated so: the probability that the treebank's arc has if none of S samples has it is
    1 / (2 S + 2) here, so that the score depends on S, and one that is far too low costs no more.

    Parameters
    ----------
    gold, samples, schemes
        As for `parse_pairs`. If the schemes are equal, labelled arcs are scored, else roles, where no role is one, too.
    by
        "brier": the Brier score, with a negative sign: 2 p - sum of p_k**2 - 1 for the probability p of the treebank's
        and p_k of each; "likelihood": the logarithm of p, estimated as (c + 1/2) / (S + 1) from c of S samples.

    Raises
    ------
    ParameterError
        If there are fewer than 2 samples, the words differ, or `by` is another word.

    References
    ----------
    Gneiting & Raftery (2007), "Strictly Proper Scoring Rules, Prediction, and Estimation".
    """
    _checks.choice("by", by, SCORES)
    _require_same_words(gold, samples)
    n_samples = len(samples)
    if n_samples < 2:
        raise ParameterError("must have at least 2 parses, got 1", parameter="samples")
    properties = properties_of([gold, *samples], [schemes[0], *[schemes[1]] * n_samples])
    keys = properties.get("labelled arcs", properties["roles"])
    right = np.sum(keys[1:] == keys[0], axis=0)
    if by == "likelihood":
        return float(np.sum(np.log((right + 0.5) / (n_samples + 1.0))))
    counts = _counts_of_tokens(keys[1:])[1].astype(np.float64)
    # Of the ordered pairs of different samples, the share that agrees is an unbiased estimate of the sum of p_k**2.
    agreeing = np.sum(counts * (counts - 1.0)) / (n_samples * (n_samples - 1.0))
    return float(2.0 * np.sum(right) / n_samples - agreeing - keys.shape[1])


def _pairs_of_tokens(keys: Ints) -> ParsePairs:
    n_tokens = keys.shape[1]
    found, counts = _counts_of_tokens(keys[1:])
    exists = found >= 0
    found, counts = found[exists], counts[exists]
    gold = (keys[0] * n_tokens + np.arange(n_tokens))[keys[0] >= 0]
    y = np.isin(found, gold).astype(np.int64)
    return ParsePairs(counts / (len(keys) - 1), y, len(gold), int(y.sum()))


def _counts_of_tokens(keys: Ints) -> tuple[Ints, Ints]:
    """Numbers of the pairs of key and token in (n_samples, n_tokens), below 0 for keys of -1, and how often each is."""
    n_tokens = keys.shape[1]
    return np.unique(keys * n_tokens + np.arange(n_tokens), return_counts=True)


def _require_same_words(gold: Tokens, samples: Sequence[Tokens]) -> None:
    if not samples:
        raise ParameterError("must have at least one parse, got none", parameter="samples")
    for s, tokens in enumerate(samples):
        if tokens.text != gold.text:
            raise ParameterError(f"samples[{s}] must have the words of gold, got others")
