"""Slow, simple versions of the tagging models: products of probabilities, sums over all tag sequences, plain loops."""

import itertools
import math
from collections.abc import Callable, Sequence

Tags = tuple[str, ...]
Corpus = Sequence[tuple[Sequence[str], Sequence[str]]]  # words and tags of each sentence


class CountedHmm:
    """A hidden Markov model whose every probability is counted anew from the sentences."""

    def __init__(self, corpus: Corpus, pseudocount: float) -> None:
        self.vocabulary = {word for sentence, _ in corpus for word in sentence}
        self.tags = sorted({tag for _, tags in corpus for tag in tags})
        self.corpus = [([self.known(word) for word in sentence], list(tags)) for sentence, tags in corpus]
        self.pseudocount = pseudocount

    def known(self, word: str) -> str:
        return word if word in self.vocabulary else "<unknown>"

    def start(self, tag: str) -> float:
        n = sum(tags[0] == tag for _, tags in self.corpus)
        return (n + self.pseudocount) / (len(self.corpus) + self.pseudocount * len(self.tags))

    def step(self, tag: str, following: str) -> float:
        """Probability of the next tag, or of "<end>"."""
        pairs = [pair for _, tags in self.corpus for pair in itertools.pairwise([*tags, "<end>"])]
        n, total = pairs.count((tag, following)), sum(pair[0] == tag for pair in pairs)
        return (n + self.pseudocount) / (total + self.pseudocount * (len(self.tags) + 1))

    def emission(self, tag: str, word: str) -> float:
        tokens = [token for sentence in self.corpus for token in zip(*sentence, strict=True)]
        n, total = tokens.count((self.known(word), tag)), sum(token[1] == tag for token in tokens)
        return (n + self.pseudocount) / (total + self.pseudocount * (len(self.vocabulary) + 1))

    def joint(self, words: Sequence[str], tags: Sequence[str]) -> float:
        """P(words, tags)."""
        steps = [self.step(*pair) for pair in itertools.pairwise([*tags, "<end>"])]
        emissions = [self.emission(tag, word) for tag, word in zip(tags, words, strict=True)]
        return math.prod([self.start(tags[0]), *steps, *emissions])

    def posterior(self, words: Sequence[str]) -> dict[Tags, float]:
        joint = {tags: self.joint(words, tags) for tags in itertools.product(self.tags, repeat=len(words))}
        total = math.fsum(joint.values())
        return {tags: each / total for tags, each in joint.items()}


def probability(posterior: dict[Tags, float], event: Callable[[Tags], bool]) -> float:
    """Summed probability of the sequences with an event."""
    return math.fsum(each for tags, each in posterior.items() if event(tags))
