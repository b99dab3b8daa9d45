"""Triggers of frames: tokens that have a lemma of a frame, or are the head word of a phrase."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import compress
from typing import Self

from corefsample.syntax._views import ParseView
from events.rules._rules import Frame, Phrase


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LemmaIndex:
    """Index of the tokens of a document whose lemma can be a trigger or a word of one.

    Attributes
    ----------
    lemmas
        Lemma of each indexed token in lower case, by the token's offset in the document.
    tokens
        Offsets of the tokens with each lemma, by the lemma in lower case.
    """

    lemmas: Mapping[int, str]
    tokens: Mapping[str, list[int]]

    @classmethod
    def of(cls, view: ParseView, words: Collection[str]) -> Self:
        """Index of the tokens whose lemma, in lower case, is one of `words`."""
        lower_lemmas = {lemma: lower for lemma in set(view.lemma) if (lower := lemma.lower()) in words}
        matching = compress(range(len(view.lemma)), map(lower_lemmas.__contains__, view.lemma))
        lemmas = {token: lower_lemmas[view.lemma[token]] for token in matching}
        tokens: dict[str, list[int]] = {}
        for token, lemma in lemmas.items():
            tokens.setdefault(lemma, []).append(token)
        return cls(lemmas, tokens)

    def triggers(self, frame: Frame, view: ParseView) -> dict[int, str]:
        """Phrase or lemma of each trigger of a frame, by its token, which has a part of speech of the frame."""
        triggers: dict[int, str] = {}
        for phrase in frame.phrases:
            if all(word in self.tokens for word in phrase.words):
                tokens = _spans(phrase, view, self) if phrase.adjacent else _connected(phrase, view, self)
                triggers |= {token: " ".join(phrase.words) for token in tokens if token not in triggers}
        for lemma in frame.lemmas & self.tokens.keys():
            triggers |= {token: lemma for token in self.tokens[lemma] if token not in triggers}
        return {token: words for token, words in triggers.items() if view.upos[token] in frame.upos}


def _spans(phrase: Phrase, view: ParseView, index: LemmaIndex) -> Iterator[int]:
    """Head word of each run of adjacent tokens that have the lemmas of a phrase.

    The head word is the last token of the run whose syntactic head is outside the run.
    """
    size = len(phrase.words)
    for start in index.tokens[phrase.words[0]]:
        end = start + size
        if tuple(index.lemmas.get(token) for token in range(start, end)) == phrase.words:
            yield max(token for token in range(start, end) if not start <= view.heads[token] < end)


def _connected(phrase: Phrase, view: ParseView, index: LemmaIndex) -> Iterator[int]:
    """Head words of tokens with the lemmas of a phrase that are connected in the parse.

    All schemes connect the same tokens: a preposition may depend on its noun, or the noun on the preposition. The
    preposition of a noun outside the phrase ("fire on" in "fired on the crowd") counts as a dependent of the noun's
    head.
    """
    for top in (token for word in phrase.words for token in index.tokens[word]):
        missing_words = set(phrase.words) - {index.lemmas[top]}
        frontier = [top]
        while frontier and missing_words:
            below = _below(view, frontier)
            frontier = []
            for token in below:
                if index.lemmas.get(token) in missing_words:
                    missing_words.remove(index.lemmas[token])
                    frontier.append(token)
        if not missing_words:
            yield top


def _below(view: ParseView, tokens: Iterable[int]) -> list[int]:
    direct = [d for token in tokens for d in view.dependents[token]]
    markers = (m for d in direct for m in view.dependents[d] if view.labels[m] == "case")
    return [*direct, *markers]
