"""Probabilities of properties of parses, by samples, and whether the treebank confirms them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample.documents import Tokens
from corefsample.errors import ParameterError
from corefsample.parses._properties import MOST_ARCS, ROLE_PATHS, PathsByScheme, properties_of, role_path_ends

__all__ = ["MOST_ARCS", "ParsePairs", "gold_log_score", "parse_pairs"]


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


def gold_log_score(
    gold: Tokens, samples: Sequence[Tokens], *, schemes: tuple[str, str] = ("ud2", "ud2")
) -> tuple[float, int]:
    """Sum over tokens of the log probability of the treebank's labelled arc, or role and governor, and their number.

    A probability is estimated as (c + 1/2) / (S + 1), from c of S samples, so that it is never 0.

    Parameters
    ----------
    gold, samples, schemes
        As for `parse_pairs`. If the schemes are equal, labelled arcs are scored, else roles.
    """
    _require_same_words(gold, samples)
    properties = properties_of([gold, *samples], [schemes[0], *[schemes[1]] * len(samples)])
    keys = properties.get("labelled arcs", properties["roles"])
    keys = keys[:, keys[0] >= 0]
    counts = np.sum(keys[1:] == keys[0], axis=0)
    return float(np.sum(np.log((counts + 0.5) / (len(samples) + 1.0)))), keys.shape[1]


def _pairs_of_tokens(keys: Ints) -> ParsePairs:
    n_tokens = keys.shape[1]
    exists = keys >= 0
    numbers = keys * n_tokens + np.arange(n_tokens)
    found, counts = np.unique(numbers[1:][exists[1:]], return_counts=True)
    gold = numbers[0][exists[0]]
    y = np.isin(found, gold).astype(np.int64)
    return ParsePairs(counts / (len(keys) - 1), y, len(gold), int(y.sum()))


def _require_same_words(gold: Tokens, samples: Sequence[Tokens]) -> None:
    if not samples:
        raise ParameterError("must have at least one parse, got none", parameter="samples")
    for s, tokens in enumerate(samples):
        if tokens.text != gold.text:
            raise ParameterError(f"samples[{s}] must have the words of gold, got others")
