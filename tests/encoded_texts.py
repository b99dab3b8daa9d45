"""Encoded texts as tests look at them: atoms of mentions and of pairs by name."""

from collections.abc import Collection, Sequence

import numpy as np

from corefsample.documents._tokens import Tokens
from corefsample.languages._language import load_language
from corefsample.scorers.log_linear import _encoding, _feature_codes as codes
from corefsample.scorers.log_linear._pair_kernels import Encoded, fill_pair
from corefsample.syntax._words import word_hashes

VOCABULARY = frozenset({"dog", "attack", "mary", "the", "of", "european", "he", "king"})


def vocabulary_hashes(vocabulary: Collection[str] = VOCABULARY) -> np.ndarray:
    """What a model contains of a vocabulary."""
    return np.unique(word_hashes(vocabulary))


def encoded(
    tokens: Tokens, spans: Sequence[Sequence[int]], vocabulary: Collection[str] = VOCABULARY, scheme: str | None = None
) -> Encoded:
    mentions = np.array(spans, np.int32).reshape(-1, 3)
    return _encoding.encoded(tokens, mentions, vocabulary_hashes(vocabulary), load_language("en"), scheme=scheme)


def atoms(doc: Encoded) -> list[dict[str, int]]:
    return [dict(zip(codes.ATOMS, row, strict=True)) for row in doc.atoms.tolist()]


def pairs_of(doc: Encoded) -> dict[tuple[int, int], dict[str, int]]:
    """Atoms of all pairs and their levels, as scoring runs through them: the nearest candidate first."""
    found = {}
    for i in range(len(doc.mentions)):
        between, pair = np.zeros(3, np.int32), np.zeros(len(codes.PairAtom), np.uint32)
        for k in range(i - 1, -1, -1):
            level = fill_pair(doc, i, k, between, pair)
            found[i, k] = {**dict(zip(codes.PAIR_ATOMS, pair.tolist(), strict=True)), "level": int(level)}
    return found
