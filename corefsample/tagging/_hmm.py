"""Hidden Markov models of tag sequences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints
from corefsample.tagging import _sentences
from corefsample.tagging._chain import LinearChain
from corefsample.tagging._sentences import TaggedSentence, TrainedModel


@dataclass(frozen=True, slots=True, eq=False)
class HmmCounts:
    """Counts of a hidden Markov model in its training sentences; K tags, V known words.

    Attributes
    ----------
    tags
        Names of the tags, in ascending order.
    words
        Known words, in ascending order; the row after them is that of unknown words.
    starts, ends
        int64 (K,): number of sentences that begin, and that end, with each tag.
    transitions
        int64 (K, K): number of pairs of neighbours, row before column.
    indptr, emitted_by, emissions
        int64 (V + 2,), (n,), (n,): tags of each word (or of unknown words, the last row), ascending, and their counts.
    """

    tags: tuple[str, ...]
    words: tuple[str, ...]
    starts: Ints = field(metadata={"axes": ("tags",)})
    ends: Ints = field(metadata={"axes": ("tags",)})
    transitions: Ints = field(metadata={"axes": ("tags", "tags")})
    indptr: Ints
    emitted_by: Ints
    emissions: Ints

    def __post_init__(self) -> None:
        n_tags, n_rows = len(self.tags), len(self.words) + 1
        _sentences.require_rows(self.indptr, self.emitted_by, self.emissions.shape[0], n_rows, n_tags, "emitted_by")

    @classmethod
    def of(cls, sentences: Sequence[TaggedSentence], rare_count: int) -> HmmCounts:
        """Count the tags of sentences; words that occur at most `rare_count` times are unknown words."""
        tags = _sentences.tagset(sentences)
        tag_code = {tag: code for code, tag in enumerate(tags)}
        total = Counter(word for sentence in sentences for word in sentence.words)
        words = tuple(sorted(word for word, count in total.items() if count > rare_count))
        word_code = {word: code for code, word in enumerate(words)}
        starts, ends = np.zeros((2, len(tags)), np.int64)
        transitions = np.zeros((len(tags), len(tags)), np.int64)
        emissions: Counter[tuple[int, int]] = Counter()
        for sentence in sentences:
            codes = [tag_code[tag] for tag in sentence.tags]
            starts[codes[0]] += 1
            ends[codes[-1]] += 1
            np.add.at(transitions, (codes[:-1], codes[1:]), 1)
            rows = (word_code.get(word, len(words)) for word in sentence.words)
            emissions.update(zip(rows, codes, strict=True))
        keys = sorted(emissions)
        indptr = np.searchsorted([row for row, _ in keys], np.arange(len(words) + 2))
        emitted_by, times = np.array([(tag, emissions[row, tag]) for row, tag in keys], np.int64).T.copy()
        return cls(tags, words, starts, ends, transitions, indptr, emitted_by, times)


class HiddenMarkovModel(TrainedModel[HmmCounts]):
    """Hidden Markov model: each tag is drawn given the one before it, and each word given its tag.

    Probabilities are the modes of their posteriors under symmetric Dirichlet priors of `pseudocount` + 1, which is the
    same as adding `pseudocount` to every count. With K tags and V known words, and c the pseudocount:

    - first tag t: (number of sentences that begin with t + c) / (number of sentences + c K)
    - t to t', or to the end of the sentence: (count + c) / (count of t + c (K + 1))
    - word w of tag t: (count + c) / (count of t + c (V + 1)).

    Unknown words share one place in the vocabulary, the V + 1st. A word of the training sentences is unknown too if it
    occurs at most `rare_count` times there. With 0, the default, every word of the training sentences is known, and the
    count of an unknown word is the pseudocount alone with every tag: the word is as likely as a word that did not occur
    with that tag, and the neighbours decide.

    Parameters
    ----------
    pseudocount
        Number c that is added to every count, above 0. By default 1.
    rare_count
        Largest number of occurrences in training of a word that is treated as unknown, at least 0. By default 0:
        every word of the training sentences is known.

    Raises
    ------
    ParameterError
        If `pseudocount` is not above 0, or `rare_count` is not a whole number of at least 0.

    References
    ----------
    Nguyen & O'Connor (2015), section 4.2.1: Dirichlet MAP with one pseudocount for each transition and emission.

    Examples
    --------
    >>> sentence = TaggedSentence(["the", "dog", "barks"], ["DET", "NOUN", "VERB"])
    >>> model = HiddenMarkovModel().fit([sentence])
    >>> [model.tags[code] for code in model.posterior(["the", "cat", "barks"]).map()]
    ['DET', 'NOUN', 'VERB']
    """

    _content_type = HmmCounts

    def __init__(self, *, pseudocount: float = 1.0, rare_count: int = 0) -> None:
        self.pseudocount = _checks.above_zero("pseudocount", pseudocount)
        self.rare_count = _checks.whole("rare_count", rare_count, 0)

    def fit(self, sentences: Iterable[TaggedSentence]) -> Self:
        """Count the tags and words of the sentences, and return the model.

        Raises
        ------
        ParameterError
            If there is no sentence, or an item is not a TaggedSentence.
        """
        return self._with(HmmCounts.of(_sentences.checked_sentences(sentences), self.rare_count))

    def _with(self, counts: HmmCounts) -> Self:
        c, n_tags, n_words = self.pseudocount, len(counts.tags), len(counts.words)
        self._content = counts
        self._word_code = {word: code for code, word in enumerate(counts.words)}
        n_of_tag = np.bincount(counts.emitted_by, counts.emissions, n_tags)
        self._starts = np.log(counts.starts + c) - np.log(counts.starts.sum() + c * n_tags)
        leaving = np.log(counts.transitions.sum(axis=1) + counts.ends + c * (n_tags + 1))
        self._transitions = np.log(counts.transitions + c) - leaving[:, None]
        self._ends = np.log(counts.ends + c) - leaving
        self._transitions.flags.writeable = False  # so that chains share it
        self._log_totals = np.log(n_of_tag + c * (n_words + 1))
        return self

    @property
    def counts(self) -> HmmCounts:
        """Counts of tags, transitions and words in training; raises ParameterError if the model is not fitted."""
        return self._fitted()

    def emission_scores(self, words: Sequence[str]) -> Floats:
        """Natural log of P(word | tag) for `words`: float64 (n_words, n_tags).

        Parameters
        ----------
        words
            Words of one sentence, at least one.

        Raises
        ------
        ParameterError
            If the model is not fitted, `words` is empty, or a word is not text.
        """
        counts = self.counts
        rows = np.full((len(_sentences.checked_words(words)), len(counts.tags)), self.pseudocount)
        for row, word in zip(rows, words, strict=True):
            code = self._word_code.get(word, len(counts.words))
            entries = slice(counts.indptr[code], counts.indptr[code + 1])
            row[counts.emitted_by[entries]] += counts.emissions[entries]
        return np.asarray(np.log(rows) - self._log_totals)

    def posterior(self, words: Sequence[str]) -> LinearChain:
        """Distribution of the tags of a sentence given its words; its `log_partition` is log P(words).

        Parameters
        ----------
        words
            Words of one sentence, at least one.

        Raises
        ------
        ParameterError
            If the model is not fitted, `words` is empty, or a word is not text.
        """
        unary = self.emission_scores(words)
        unary[0] += self._starts
        unary[-1] += self._ends
        return LinearChain.from_scores(unary, self._transitions)
