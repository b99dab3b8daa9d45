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
    """Index of the tokens of a document that have lemmas of interest.

    Attributes
    ----------
    lemmas
        Lemma of each token in lower case, by the token's offset in the document.
    tokens
        Offsets of the tokens with each lemma, by the lemma.
    """

    lemmas: Mapping[int, str]
    tokens: Mapping[str, list[int]]

    @classmethod
    def of(cls, view: ParseView, words: Collection[str]) -> Self:
        """Index of the tokens whose lemma, in lower case, is one of `words`."""
        wanted = {lemma: lower for lemma in set(view.lemma) if (lower := lemma.lower()) in words}
        matching = compress(range(len(view.lemma)), map(wanted.__contains__, view.lemma))
        lemmas = {token: wanted[view.lemma[token]] for token in matching}
        tokens: dict[str, list[int]] = {}
        for token, lemma in lemmas.items():
            tokens.setdefault(lemma, []).append(token)
        return cls(lemmas, tokens)

    def triggers(self, frame: Frame, view: ParseView) -> dict[int, str]:
        """Tokens that are triggers of a frame and have one of its parts of speech, with the phrase or lemma."""
        found: dict[int, str] = {}
        for phrase in frame.phrases:
            if all(word in self.tokens for word in phrase.words):
                tokens = _spans(phrase, view, self) if phrase.adjacent else _connected(phrase, view, self)
                found |= {token: " ".join(phrase.words) for token in tokens if token not in found}
        for lemma in frame.lemmas & self.tokens.keys():
            found |= {token: lemma for token in self.tokens[lemma] if token not in found}
        return {token: words for token, words in found.items() if view.upos[token] in frame.upos}


def _spans(phrase: Phrase, view: ParseView, index: LemmaIndex) -> Iterator[int]:
    """Head word of each run of adjacent tokens with the lemmas of a phrase: the last token whose head is outside."""
    size = len(phrase.words)
    for start in index.tokens[phrase.words[0]]:
        end = start + size
        if tuple(index.lemmas.get(token) for token in range(start, end)) == phrase.words:
            yield max(token for token in range(start, end) if not start <= view.heads[token] < end)


def _connected(phrase: Phrase, view: ParseView, index: LemmaIndex) -> Iterator[int]:
    """Head words of tokens with the lemmas of a phrase that are connected in the parse.

    Connected tokens are the same in all schemes: a preposition hangs on its noun or the noun on the preposition, and
    that of a noun that is not in the phrase ("fire on": fired on the crowd) counts as if it hung on the noun's head.
    """
    for top in (token for word in phrase.words for token in index.tokens[word]):
        missing = set(phrase.words) - {index.lemmas[top]}
        frontier = [top]
        while frontier and missing:
            below = _below(view, frontier)
            frontier = []
            for token in below:
                if index.lemmas.get(token) in missing:
                    missing.remove(index.lemmas[token])
                    frontier.append(token)
        if not missing:
            yield top


def _below(view: ParseView, tokens: Iterable[int]) -> list[int]:
    direct = [d for token in tokens for d in view.dependents[token]]
    markers = (m for d in direct for m in view.dependents[d] if view.labels[m] == "case")
    return [*direct, *markers]
