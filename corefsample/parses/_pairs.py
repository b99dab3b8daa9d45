"""Properties of parses (arcs, roles, paths), their probabilities by samples, and whether the treebank confirms them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError
from corefsample.syntax._codes import Role
from corefsample.syntax._paths import follow
from corefsample.syntax._roles import NeutralParse
from corefsample.syntax._schemes import SCHEMES
from corefsample.syntax._views import ParseView

MOST_ARCS = 7
ROLE_PATHS = "role paths"

PathsByScheme = Mapping[str, Sequence[str]]


def properties_of(parses: Sequence[Tokens], schemes: Sequence[str]) -> dict[str, Ints]:
    """Properties of each token in several parses of one document.

    Parameters
    ----------
    parses
        Parses of the same words.
    schemes
        Dependency scheme of each parse: ud2, ud1 or clearnlp. If the schemes differ, only the roles are returned,
        which mean the same in all schemes.

    Returns
    -------
    dict of int64 (n_parses, n_tokens)
        By name of the property: a number that is equal in two parses if the property is, and -1 for a token without
        it. "arcs": the head. "labelled arcs": head and label. "paths of L arcs", L from 1 to 7: heads and labels of
        the L arcs from the token upwards; the last may be that of the root. "roles": role and governor of
        `corefsample.syntax._roles.NeutralParse`, of tokens whose role is not one of function words and other ones.
    """
    properties: dict[str, Ints] = {}
    if len(set(schemes)) == 1:
        heads = np.stack([tokens.head for tokens in parses]).astype(np.int64)
        names = [[_plain(label) for label in tokens.dep] for tokens in parses]
        labels = np.unique(names, return_inverse=True)[1].reshape(heads.shape)
        properties["arcs"] = heads + 1
        properties["labelled arcs"] = (heads + 1) * (labels.max(initial=0) + 1) + labels
        properties |= _paths(heads, properties["labelled arcs"])
    properties["roles"] = np.stack([_roles(*parse) for parse in zip(parses, schemes, strict=True)])
    return properties


def role_path_ends(
    tokens: Tokens, scheme: str, roles: Mapping[str, PathsByScheme], upos: frozenset[str]
) -> set[tuple[int, int, int]]:
    """Where the paths of roles lead: number of the role, token at which they start, token at which they end.

    They start at each token with one of these parts of speech.
    """
    view = ParseView(tokens, SCHEMES[scheme])
    starts = [token for token, tag in enumerate(tokens.upos) if tag in upos]
    return {
        (number, start, end)
        for number, paths in enumerate(roles.values())
        for path in paths.get(scheme, ())
        for start in starts
        for end in follow(path, view, start)
    }


def _plain(label: str) -> str:
    return "root" if label.lower() == "root" else label


def _paths(heads: Ints, arcs: Ints) -> dict[str, Ints]:
    """Numbers of the paths of 1, 2, ... arcs upwards, each made of the token's arc and its head's path."""
    paths = {"paths of 1 arc": arcs}
    shorter = arcs
    for length in range(2, MOST_ARCS + 1):
        above = np.take_along_axis(shorter, np.maximum(heads, 0), axis=1)
        exists = (heads >= 0) & (above >= 0)
        pairs = np.stack([arcs[exists], above[exists]])
        longer = np.full(heads.shape, -1, np.int64)
        longer[exists] = np.unique(pairs, axis=1, return_inverse=True)[1].ravel()
        paths[f"paths of {length} arcs"] = shorter = longer
    return paths


def _roles(tokens: Tokens, scheme: str) -> Ints:
    parse = NeutralParse.of(tokens, scheme)
    role, governor = parse.role.astype(np.int64), parse.governor.astype(np.int64)
    keys = (governor + 1) * len(Role) + role
    keys[np.isin(role, (Role.OTHER, Role.FUNCTION))] = -1
    return keys


SCORES = ("brier", "likelihood")


@dataclass(frozen=True, slots=True, eq=False)
class ParsePairs:
    """Prediction-label pairs of one property.

    Attributes
    ----------
    q
        float64 (n_pairs,): share of the samples that have a property of a token; one pair for each property that some
        sample has.
    y
        int64 (n_pairs,): 1 if the treebank has the property, too, else 0.
    n_gold, n_found
        Number of properties in the treebank, and number of these that some sample has.
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
        Dependency schemes of the treebank and of the samples: see `properties_of`.
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
        Parse of the treebank, sampled parses, and the schemes of both: see `parse_pairs`. If the schemes are equal,
        labelled arcs are scored; otherwise roles, where having no role counts as a role.
    by
        "brier": the Brier score, with a negative sign: 2 p - sum of p_k**2 - 1 for the probability p of the treebank's
        and p_k of each; "likelihood": the logarithm of p, estimated as (c + 1/2) / (S + 1) from c of S samples.

    Raises
    ------
    ParameterError
        If there are fewer than 2 samples, the words differ, or `by` is neither "brier" nor "likelihood".

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
    properties, counts = _counts_of_tokens(keys[1:])
    exists = properties >= 0
    properties, counts = properties[exists], counts[exists]
    gold = (keys[0] * n_tokens + np.arange(n_tokens))[keys[0] >= 0]
    y = np.isin(properties, gold).astype(np.int64)
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
