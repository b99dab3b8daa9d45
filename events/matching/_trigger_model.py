"""The trigger model: probability that a predicate of a sentence reports an event of a type, as a fact.

The model is log-linear, a logistic regression for each type. Its features are the words and labels around the predicate
in the parse and the words of its sentence, or the vectors of an encoder for both; and what the rule says: whether the
predicate is one of its triggers, and which of its conditions hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from io import BytesIO
from math import exp
from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt

from corefsample.errors import InputError
from corefsample.files._paths import PathLike
from corefsample.languages._language import ENGLISH
from corefsample.syntax._paths import ParseView
from corefsample.syntax._schemes import SCHEMES
from events.rules._rules import BY_RULES, DEFAULT_PRESET, Frame, Rule, is_shipped_rule

SHIPPED_MODELS = ("words",)
LEARNED = "learned"  # name of the frame of predicates that only the model takes for triggers
UNLIKELY = "unlikely"  # in place of a condition: the model gives a trigger of the rule a low probability
LEAST = 0.05  # P below which a predicate is no trigger
PREDICATES = ("VERB", "NOUN")  # parts of speech
TRIGGER, CONDITION = "trigger of the rule ", "condition "  # features that come from the rule
_CONTENT = frozenset(["NOUN", "VERB", "PROPN", "ADJ", "ADV", "ADP", "NUM"])
_MODIFIERS = frozenset(["aux", "aux:pass", "auxpass", "neg", "mark", "advmod", "prep", "case"])
_OF_NOUNS = ("noun_possessor", "noun_by", "light_verb_subject")  # paths from nouns to who did it
_NATIONAL = "[upos=NOUN,has >amod]"  # path from the noun to itself: an Israeli air strike
_GOVERNORS = 4  # number of heads above the predicate whose words are features
Singles = npt.NDArray[np.float32]


def feature_hash(feature: str) -> int:
    """CRC-32 of a feature in UTF-8; lone surrogates are encoded too."""
    return crc32(feature.encode("utf-8", "surrogatepass"))


class PredicateFeatures:
    """Features of the predicates of one parse.

    Parameters
    ----------
    view
        The parse.
    sentences
        Number of the sentence of each token.
    """

    def __init__(self, view: ParseView, sentences: Sequence[int]) -> None:
        self._view, self._sentences = view, sentences
        self._lemmas = [lemma.lower() for lemma in view.lemma]
        self._words: dict[int, list[str]] = {}
        self._scores: dict[int, Singles] = {}
        for lemma, upos, sentence in zip(self._lemmas, view.upos, sentences, strict=True):
            if upos in _CONTENT:
                self._words.setdefault(sentence, []).append(f"s={lemma}")

    def of(self, token: int) -> Iterator[str]:
        """Yield the features of a predicate; one may occur twice."""
        view, lemmas = self._view, self._lemmas
        lemma, upos, label, head = lemmas[token], view.upos[token], view.labels[token], view.heads[token]
        yield from ("bias", f"l={lemma}", f"lu={lemma}/{upos}", f"w={view.text[token].lower()}")
        yield from (f"d={label}", f"u={upos}", *self._words.get(self._sentences[token], ()))
        if head >= 0:
            yield from (f"h={lemmas[head]}", f"dh={label}>{lemmas[head]}", f"du={label}>{view.upos[head]}")
            yield f"lh={lemma}<{lemmas[head]}"
        for child in view.dependents[token]:
            below, word = view.labels[child], lemmas[child]
            yield from (f"c={below}", f"cl={below}:{word}", f"lc={lemma}>{below}", f"ll={lemma}>{word}")
            yield f"cu={below}:{view.upos[child]}"
            for grandchild in view.dependents[child]:
                yield f"g={below}>{view.labels[grandchild]}:{lemmas[grandchild]}"
                yield f"gg={word}:{lemmas[grandchild]}"
        for _ in range(_GOVERNORS):
            if head < 0:
                break
            yield f"a={lemmas[head]}"
            for child in view.dependents[head]:
                if child != token and view.labels[child] in _MODIFIERS:
                    yield f"am={view.labels[child]}:{lemmas[child]}"
            token, head = head, view.heads[head]

    def scores(self, model: TriggerModel, token: int) -> Singles:
        """Scores of all types for a predicate without what a rule says, computed once for all rules."""
        if token not in self._scores:
            self._scores[token] = model.scores(self.of(token))
        return self._scores[token]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TriggerModel:
    """A log-linear model of whether a predicate reports an event.

    Attributes
    ----------
    types
        Names of the event types.
    rows
        Row of `weights` of each feature, by the CRC-32 of the feature.
    weights
        float32 (n_features, n_types).
    lemmas
        Lemmas that reported an event of some type in the texts from which the model was fitted, in lower case; a
        predicate with another lemma is no trigger, unless the rule says so.
    """

    types: tuple[str, ...]
    rows: Mapping[int, int]
    weights: Singles
    lemmas: frozenset[str]

    def probability(
        self, event_type: str, predicates: PredicateFeatures, token: int, is_trigger: bool, conditions: Sequence[str]
    ) -> float:
        """P(a predicate reports an event of a type).

        Parameters
        ----------
        event_type
            One of `types`.
        predicates, token
            Features of the parse, and the predicate's token.
        is_trigger, conditions
            Whether the predicate is a trigger of the rule, and the conditions of the rule that hold of it.
        """
        column = self.types.index(event_type)
        z = float(predicates.scores(self, token)[column])
        of_rule = [TRIGGER + event_type] * is_trigger + [CONDITION + name for name in conditions]
        z += sum(float(self.weights[row, column]) for row in map(self.row, of_rule) if row is not None)
        return 1.0 / (1.0 + exp(-z))

    def row(self, feature: str) -> int | None:
        """Row of a feature's weights; None if it has none."""
        return self.rows.get(feature_hash(feature))

    def scores(self, features: Iterator[str]) -> Singles:
        """Sum of the weights of features, each counted once: float32 (n_types,)."""
        rows = {self.row(feature) for feature in features} - {None}
        return np.asarray(self.weights[sorted(row for row in rows if row is not None)].sum(axis=0))

    def save(self, path: PathLike) -> None:
        """Write the model to a file: 8-bit weights with a scale for each type."""
        scale = np.maximum(np.abs(self.weights).max(axis=0), 1e-6) / 127.0
        arrays = {
            "features": np.array(list(self.rows), np.uint32),
            "weights": np.round(self.weights / scale).astype(np.int8),
            "scale": scale.astype(np.float32),
            "types": np.array(self.types),
            "lemmas": np.array(sorted(self.lemmas)),
        }
        content = BytesIO()
        np.savez_compressed(content, **arrays)
        Path(path).write_bytes(content.getvalue())


@cache
def load_trigger_model(name: str) -> TriggerModel | None:
    """Load a trigger model, once for a process: "words" of the package, or a path; None for "rules".

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    if name == BY_RULES:
        return None
    source = files("events.data").joinpath(f"triggers/{name}.npz") if name in SHIPPED_MODELS else Path(name)
    try:
        with source.open("rb") as file, np.load(file, allow_pickle=False) as content:
            weights = content["weights"] * content["scale"]
            rows = {feature: row for row, feature in enumerate(content["features"].tolist())}
            return TriggerModel(tuple(content["types"].tolist()), rows, weights, frozenset(content["lemmas"].tolist()))
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"cannot be read as a trigger model: {error}", place=str(source)) from None


def with_trigger_model(rule: Rule, name: str) -> Rule:
    """The rule with a trigger model, if the model knows its event type; otherwise the rule itself.

    Predicates that are no triggers of the rule have the roles of its frames of verbs and nouns.
    """
    model = load_trigger_model(name)
    is_fit = is_shipped_rule(rule.source) and rule.preset == DEFAULT_PRESET and rule.language == ENGLISH
    types = () if model is None or not is_fit else model.types
    event_type = next((source for source in (rule.source, *rule.bases) if source in types), "")
    if model is None or not event_type:
        return rule
    frame = next(each for each in rule.frames if "VERB" in each.upos and each.lemmas and not each.required)
    roles = {role: dict(paths) for role, paths in frame.roles.items()}
    for scheme in SCHEMES.values():
        of_nouns = (_NATIONAL, *(path for name in _OF_NOUNS for path in scheme.paths[name]))
        known = roles[rule.event[0]].get(scheme.name, ())
        roles[rule.event[0]][scheme.name] = tuple(dict.fromkeys((*known, *of_nouns)))
    learned = Frame(LEARNED, model.lemmas, (), frozenset(PREDICATES), roles)
    return replace(rule, trigger_model=name, event_type=event_type, frames=(*rule.frames, learned))
