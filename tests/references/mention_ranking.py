"""The antecedent scorer in slow and simple form: losses, slopes, hashes and matches; and texts parsed by hand."""

import math
from collections.abc import Callable, Sequence

import neutral_sentences
import numpy as np
import numpy.typing as npt
from references import coreference as references

from corefsample.documents._tokens import Tokens

Floats = npt.NDArray[np.float64]

# --- parsed texts ------------------------------------------------------------------------------------------


def parsed(text: str) -> Tokens:
    """Read a parse: one line per word (form lemma upos head label), heads from 1 per sentence, blank lines between."""
    columns: list[list[str]] = [[], [], [], []]
    heads, sents = [], []
    for number, block in enumerate(text.strip().split("\n\n")):
        first = len(heads)
        for line in block.strip().splitlines():
            form, lemma, upos, head, label = line.split()
            for column, value in zip(columns, (form, lemma, upos, label), strict=True):
                column.append(value)
            heads.append(first + int(head) - 1 if int(head) else -1)
            sents.append(number)
    form, lemma, upos, label = columns
    return Tokens(form, lemma, upos, label, np.array(heads, np.int32), np.array(sents, np.int32))


PARSES = neutral_sentences.notations(neutral_sentences.TEXT)

# --- losses ------------------------------------------------------------------------------------------------


def row(scores: Sequence[float], i: int) -> list[float]:
    """Scores of the candidates of mention i."""
    return list(scores[i * (i - 1) // 2 : i * (i - 1) // 2 + i])


def antecedent_losses(scores: Sequence[float], new_scores: Sequence[float], entities: Sequence[int]) -> list[float]:
    """-log of the probability of each mention's gold antecedents."""
    losses = []
    for i, entity in enumerate(entities):
        if entity < 0:
            losses.append(0.0)
            continue
        gold = [k for k in range(i) if entities[k] == entity]
        weights = {"new": math.exp(new_scores[i])}
        for k in range(i):
            if entities[k] >= 0:
                weights[str(k)] = math.exp(row(scores, i)[k])
        right = [weights[str(k)] for k in gold] or [weights["new"]]
        losses.append(math.log(math.fsum(weights.values()) / math.fsum(right)))
    return losses


def distributions(scores: Sequence[float], new_scores: Sequence[float]) -> list[dict[int, float]]:
    """P(a_i = k) for each mention, NEW standing at i."""
    rows = []
    for i, new in enumerate(new_scores):
        weights = {k: math.exp(score) for k, score in enumerate(row(scores, i))} | {i: math.exp(new)}
        total = math.fsum(weights.values())
        rows.append({k: weight / total for k, weight in weights.items()})
    return rows


def link_loss(scores: Sequence[float], new_scores: Sequence[float], entities: Sequence[int], slack: float) -> float:
    """Log loss of all pairs' link marginals, from the distribution of all clusterings."""
    n = len(entities)
    marginals = references.link_marginals(references.clustering_probs(distributions(scores, new_scores)), n)
    terms = []
    for j in range(n):
        for i in range(j):
            if entities[i] >= 0 and entities[j] >= 0:
                q = slack + (1 - 2 * slack) * marginals[i, j]
                terms.append(-math.log(q if entities[i] == entities[j] else 1 - q))
    return math.fsum(terms)


def slopes(function: Callable[[Floats], float], values: Floats, step: float = 1e-5) -> Floats:
    """Derivatives of a function by central differences."""
    found = np.empty_like(values)
    for place in range(values.size):
        up, down = values.copy(), values.copy()
        up[place] += step
        down[place] -= step
        found[place] = (function(up) - function(down)) / (2 * step)
    return found


# --- hashes ------------------------------------------------------------------------------------------------

LOW, WORD = 2**32 - 1, 2**64 - 1


def mix(code: int, value: int) -> int:
    """Hash of a code extended by a value: words of 64 bits, of which the lower 32 are kept."""
    z = (code * 0x9E3779B1 + value) & WORD
    z ^= z >> 15
    z = (z * 0x85EBCA77) & WORD
    z ^= z >> 13
    z = (z * 0xC2B2AE3D) & WORD
    return (z ^ (z >> 16)) & LOW


def hashed(seed: int, values: Sequence[int]) -> int:
    """Hash of a seed and values in turn."""
    for value in values:
        seed = mix(seed, value)
    return seed


def pair_bucket(mention: int, candidate: int, first: int, second: int, n_buckets: int) -> int:
    """Bucket of a template: hash of i's atoms, of k's, and at most two atoms of the pair."""
    z = (mention + candidate * 0x9E3779B1 + first * 0x85EBCA6B + second * 0xC2B2AE35) & WORD
    z ^= z >> 16
    z = (z * 0x7FEB352D) & WORD
    z ^= z >> 15
    z = (z * 0x846CA68B) & WORD
    return (z ^ (z >> 16)) % n_buckets


# --- steps -------------------------------------------------------------------------------------------------


def adagrad(
    weights: Sequence[float], gradients: Sequence[Sequence[float]], rate: float
) -> tuple[list[float], list[float]]:
    """Weights and sums of squares after steps with these gradients."""
    moved, squares = list(weights), [0.0] * len(weights)
    for gradient in gradients:
        for b, slope in enumerate(gradient):
            squares[b] += slope * slope
            moved[b] -= rate * slope / (1e-4 + math.sqrt(squares[b])) if slope else 0.0
    return moved, squares
