"""Descriptions of mentions that hold in some samples only: by a possessor, or by a class noun that stands for a name.

"Its troops attacked" is an event of Israel in the samples in which "its" is. "The guerrillas attacked", in a text that
names one organisation of guerrillas, is an event of that organisation with a probability.

Each of them is a description of a virtual mention, which belongs to the entity of a real one in these samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corefsample._arrays import Bools, Floats, Ints32
from corefsample.languages._language import Language
from corefsample.syntax._paths import ParseView

_POSSESSIVES = ("poss", "nmod:poss")
# P(a class noun stands for the named actor), for rebels in the development part of MUC-3/4: logistic regression on
# whether the actor is the only one, whether it is named before, and log(1 + distance in sentences), of 161 pairs of a
# report and an actor that only class nouns give an event. Divided by .585, the precision of events of named actors.
_INTERCEPT, _ALONE, _BEFORE, _DISTANCE = -2.14, 0.56, 2.03, -0.19
_LIKELIEST = 0.5  # in place of a draw, for the likeliest clustering


@dataclass(frozen=True, slots=True)
class InferredDescription:
    """A description that holds in some samples.

    Attributes
    ----------
    mention, code, word
        The mention, the actor that it is described as, and the token of the word that says so.
    possessor
        The mention that possesses it: it is described as the actor where its possessor is of one entity with one of
        `others`. None: it stands for the actor.
    others
        Mentions that are described as the actor; of a stand-in, as any actor of its class: none of its entity may be.
    start, chance
        Of a stand-in: it stands for the actor where the document's uniform draw is in [start, start + chance).
    """

    mention: int
    code: str
    word: int
    others: tuple[int, ...]
    possessor: int | None = None
    start: float = 0.0
    chance: float = 1.0

    def holds(self, labels: Ints32, draws: Floats) -> Bools:
        """Whether it holds in each sample; labels (n_mentions, n_samples), draws (n_samples,)."""
        entity = labels[self.mention if self.possessor is None else self.possessor]
        same: Bools = (labels[list(self.others)] == entity).any(axis=0)
        if self.possessor is not None:
            return same
        stands: Bools = ~same & (draws >= self.start) & (draws < self.start + self.chance)
        return stands


def with_virtual_mentions(
    labels: Ints32, inferred: Sequence[InferredDescription], draws: Floats | None, *, stand_ins: bool = True
) -> Ints32:
    """Clusterings with a row for the virtual mention of each inferred description, after those of the mentions.

    Parameters
    ----------
    labels
        int32 (n_mentions, n_samples).
    inferred
        The descriptions.
    draws
        float64 (n_samples,): uniform draws of the document; None: each description holds if it is likely.
    stand_ins
        Whether class nouns stand for names.
    """
    draws = np.full(labels.shape[1], _LIKELIEST) if draws is None else draws
    rows = [labels]
    for row, description in enumerate(inferred, len(labels)):
        virtual = np.full((1, labels.shape[1]), row, np.int32)
        if stand_ins or description.possessor is not None:
            virtual[0] = np.where(description.holds(labels, draws), labels[description.mention], virtual[0])
        rows.append(virtual)
    return np.ascontiguousarray(np.concatenate(rows))


def inferred_descriptions(
    described: Mapping[tuple[int, str], int],
    mentions: Ints32,
    view: ParseView,
    by_head: Callable[[int], Sequence[int]],
    sentences: Ints32,
    members: Mapping[str, frozenset[str]],
    language: Language,
) -> list[InferredDescription]:
    """Descriptions that hold in some samples, given by (mention, code) those that hold in all, with their words.

    `members` has the named actors for which the words of a class can stand, as a lexicon has them.
    """
    by_code: dict[str, list[int]] = {}
    for mention, code in described:
        by_code.setdefault(code, []).append(mention)
    possessed = _possessed(described, by_code, mentions, view, by_head, frozenset(language.words.get("forces", ())))
    return [*possessed, *_stand_ins(described, by_code, mentions, sentences, members)]


def _possessed(
    described: Mapping[tuple[int, str], int],
    by_code: Mapping[str, Sequence[int]],
    mentions: Ints32,
    view: ParseView,
    by_head: Callable[[int], Sequence[int]],
    forces: frozenset[str],
) -> Iterator[InferredDescription]:
    """Mentions of forces with a pronoun as their possessor, as each actor of the text."""
    for mention, head in enumerate(mentions[:, 2].tolist()):
        if view.lemma[head].lower() not in forces:
            continue
        for token in view.dependents[head]:
            if view.labels[token] not in _POSSESSIVES or view.upos[token] not in ("PRON", "DET"):
                continue
            for possessor in by_head(token):
                for code, others in by_code.items():
                    if (mention, code) not in described:
                        yield InferredDescription(mention, code, token, tuple(others), possessor)


def _stand_ins(
    described: Mapping[tuple[int, str], int],
    by_code: Mapping[str, Sequence[int]],
    mentions: Ints32,
    sentences: Ints32,
    members: Mapping[str, frozenset[str]],
) -> Iterator[InferredDescription]:
    """Mentions described as a class alone, as each named actor of the class; their chances are at most 1 in all."""
    for class_code, named in members.items():
        candidates = {code: by_code[code] for code in by_code if code in named}
        if class_code not in by_code or not candidates:
            continue
        others = tuple(sorted({mention for several in candidates.values() for mention in several}))
        for mention in by_code[class_code]:
            if mention in others:
                continue
            head = int(mentions[mention, 2])
            weights = {
                code: _chance(int(sentences[head]), sentences[mentions[several, 2]], len(candidates))
                for code, several in sorted(candidates.items())
            }
            total, start = sum(weights.values()), 0.0
            for code, weight in weights.items():
                chance = weight / max(total, 1.0)
                yield InferredDescription(
                    mention, code, described[mention, class_code], others, start=start, chance=chance
                )
                start += chance


def _chance(sentence: int, named: Ints32, n_candidates: int) -> float:
    """Probability that a class noun in a sentence stands for an actor that is named in some sentences."""
    distance = int(np.abs(named - sentence).min())
    z = _INTERCEPT + _BEFORE * bool((named <= sentence).any()) + _DISTANCE * math.log1p(distance)
    z += _ALONE * (n_candidates == 1)
    return 1.0 / (1.0 + math.exp(-z))
