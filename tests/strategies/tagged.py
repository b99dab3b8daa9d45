"""Tagged sentences for tests, written for them or drawn at random."""

import numpy as np

from corefsample._arrays import Floats
from corefsample.tagging import TaggedSentence

THREE = [
    TaggedSentence(("the", "dog", "barks"), ("D", "N", "V"), "a"),
    TaggedSentence(("dog", "barks"), ("N", "V"), "a"),
    TaggedSentence(("the", "barks"), ("D", "N"), "b"),
]


def random_sentences(n: int, seed: int = 0, longest: int = 5) -> list[TaggedSentence]:
    """Sentences of 1 to `longest` words, whose tags follow each other and emit words with preferences; 3 a document."""
    rng = np.random.default_rng(seed)
    tags, words = np.array(["A", "B", "C"]), np.array(["ant", "Bee", "cat7", "dö-g", "#elk", "fox"])
    steps, emissions = rng.dirichlet(np.full(3, 0.6), 3), rng.dirichlet(np.full(words.size, 0.5), 3)
    sentences = []
    for number in range(n):
        codes = [int(rng.integers(3))]
        while len(codes) < longest and rng.random() < 0.8:
            codes.append(int(rng.choice(3, p=steps[codes[-1]])))
        text = [str(rng.choice(words, p=emissions[code])) for code in codes]
        sentences.append(TaggedSentence(text, [str(tags[code]) for code in codes], f"doc{number // 3}"))
    return sentences


def drawn_scores(n: int, n_tags: int, scale: float, *, own: bool = False, seed: int = 0) -> tuple[Floats, Floats]:
    """Normal scores of a chain; `own`: a matrix of transitions for each pair of neighbours."""
    generator = np.random.default_rng(seed)
    shape = (n - 1, n_tags, n_tags) if own else (n_tags, n_tags)
    return generator.normal(0.0, scale, (n, n_tags)), generator.normal(0.0, scale, shape)
