"""Triggers in a parse: tokens with a lemma of a frame, and the head words of its phrases."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import compress

from corefsample.syntax._paths import ParseView
from events.rules._rules import Frame, Phrase


class LemmaIndex:
    """The tokens of some lemmas of a document, by lemma in lower case."""

    def __init__(self, view: ParseView, words: Collection[str]) -> None:
        wanted = {lemma: lower for lemma in set(view.lemma) if (lower := lemma.lower()) in words}
        found = compress(range(len(view.lemma)), map(wanted.__contains__, view.lemma))
        self.lemmas: dict[int, str] = {token: wanted[view.lemma[token]] for token in found}
        self.tokens: dict[str, list[int]] = {}
        for token, lemma in self.lemmas.items():
            self.tokens.setdefault(lemma, []).append(token)


def frame_triggers(frame: Frame, view: ParseView, index: LemmaIndex) -> set[int]:
    """Tokens that are triggers of a frame: each has one of the frame's parts of speech."""
    found = {token for lemma in frame.lemmas & index.tokens.keys() for token in index.tokens[lemma]}
    for phrase in frame.phrases:
        if all(word in index.tokens for word in phrase.words):
            found.update(_spans(phrase, view, index) if phrase.adjacent else _connected(phrase, view, index))
    return {token for token in found if view.upos[token] in frame.upos}


def _spans(phrase: Phrase, view: ParseView, index: LemmaIndex) -> Iterator[int]:
    """Head words of adjacent tokens with the lemmas of a phrase in order: the last whose head is outside."""
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
