"""The trigger model: probability that a predicate of a sentence reports an event of a type, as a fact.

The model is log-linear, a logistic regression for each type. Its features are the words and labels around the predicate
in the parse and the words of its sentence, or the vectors of an encoder for both; and what the rule says: whether the
predicate is one of its triggers, and which of its conditions hold. Triggers of all rules share a part of their score;
it serves rules of types for which the model was not fitted. With an encoder, other predicates may report the event of
such a rule, too: their probability rises with their similarity to the triggers in the examples of the rule.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import BytesIO
from itertools import chain, count
from math import exp, log
from pathlib import Path
from typing import TYPE_CHECKING, Final
from zipfile import BadZipFile
from zlib import crc32

import numpy as np
import numpy.typing as npt

from corefsample.errors import InputError, ParameterError, ParameterHint, did_you_mean, shown
from corefsample.files._atomic import write_bytes
from corefsample.files._paths import PathLike
from corefsample.languages._language import ENGLISH
from corefsample.syntax._paths import ParseView
from corefsample.syntax._schemes import SCHEMES
from events.matching import _feature_kernels as kernels
from events.rules._rules import BY_RULES, DEFAULT_PRESET, Frame, Rule, is_shipped_rule, load_rules

if TYPE_CHECKING:
    from events.matching._encoder import SentenceEncoder

WORDS = "words"
SHIPPED_MODELS = (WORDS,)
# Event types of the model of the package; those that other types imply are last.
TYPES = (
    *("attack", "bomb", "kill", "arrest", "force", "protest", "kidnap", "arson", "meet"),
    *("violence", "conflict"),
)
# Types that an event of one of other types implies.
IMPLIED: Final = {
    "violence": frozenset(["attack", "bomb", "kill", "kidnap", "arson", "force"]),
    "conflict": frozenset(["attack", "bomb", "kill", "force", "arson", "arrest"]),
}
LEARNED = "learned"  # name of the frame of predicates that only the model takes for triggers
UNLIKELY = "unlikely"  # in place of a condition: the model gives a trigger of the rule a low probability
VERSION = 2  # of the features; a file that was fitted to others is refused
LEAST = 0.05  # P below which a predicate is no trigger
LEAST_SCORE = log(LEAST / (1.0 - LEAST))
LEAST_SIMILAR = 0.1  # the same by similarity alone; few predicates of ordinary texts reach it
PREDICATES = ("VERB", "NOUN")  # parts of speech
TRIGGER, CONDITION = "trigger of the rule ", "condition "  # features that come from the rule; alone: any condition
ANY_TYPE = "*"  # in place of the type of rules for which the model was not fitted
_OF_NOUNS = ("noun_possessor", "noun_by", "light_verb_subject")  # paths from nouns to who did it
_NATIONAL = "[upos=NOUN,has >amod]"  # path from the noun to itself: an Israeli air strike
_PARTICIPLE = "[active,no >aux|mark]<acl"  # path from the verb to its noun: troops firing at houses, not a plan to fire
_DIGIT = re.compile("[0-9]")
Singles = npt.NDArray[np.float32]


def feature_hash(feature: str) -> int:
    """CRC-32 of a feature in UTF-8; lone surrogates are encoded too. To look it up in a cache would take longer."""
    return crc32(feature.encode("utf-8", "surrogatepass"))


def condition_features(names: Iterable[str]) -> list[str]:
    """Features of a rule's conditions that hold of a predicate: each of them, and that there is one."""
    features = [CONDITION + name for name in names]
    return [*features, CONDITION] if features else []


@lru_cache(maxsize=1 << 14)
def _normalised(lemma: str) -> str:
    """A lemma in lower case, with 0 for each digit: 2-1 and 3-0 are one feature."""
    return _DIGIT.sub("0", lemma.lower())


class PredicateFeatures:
    """Features of the predicates of one parse.

    Parameters
    ----------
    view
        The parse.
    """

    def __init__(self, view: ParseView) -> None:
        self._view, self._sentences = view, view.tokens.sent
        self._lemmas = [*map(_normalised, view.lemma)]
        self._vectors: dict[int, tuple[int, Singles]] = {}  # of words by sentence, with its first token
        self._scores: dict[TriggerModel, tuple[Singles, npt.NDArray[np.bool_]]] = {}  # of tokens, and which are known

    @cached_property
    def _parsed(self) -> kernels.ParsedWords:
        """Strings and parse, as kernels read them."""
        view, numbers = self._view, defaultdict[str, int](count().__next__)
        strings = chain(kernels.FIRST_STRINGS, self._lemmas, map(str.lower, view.text), view.upos, view.labels)
        columns = np.fromiter(map(numbers.__getitem__, strings), np.int32)[kernels.N_FIRST :]
        lemmas, forms, upos, labels = columns.reshape(4, -1)
        encoded, heads = [each.encode("utf-8", "surrogatepass") for each in numbers], view.tokens.head
        letters, starts = np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([0, *map(len, encoded)])
        bounds = np.searchsorted(np.sort(heads), np.arange(len(heads) + 1))
        parse = heads, self._sentences, np.argsort(heads, kind="stable"), bounds
        hashes = np.empty(32 + 16 * len(heads), np.uint32)
        return kernels.ParsedWords(letters, starts, lemmas, forms, upos, labels, *parse, hashes)

    def of(self, token: int, *, with_lemma: bool = True) -> set[int]:
        """Hashes of the features of a predicate, or of those without its lemma and form."""
        n = kernels.write_features(token, self._parsed, with_lemma)
        return set(self._parsed.hashes[:n].tolist())

    def word(self, token: int) -> tuple[str, str]:
        """Lemma, in lower case and with 0 for each digit, and part of speech of a token."""
        return self._lemmas[token], self._view.upos[token]

    def vector(self, encoder: SentenceEncoder, token: int) -> Singles:
        """Vectors of a token and of its sentence, which is encoded once: see `SentenceEncoder.vectors`."""
        sentence = int(self._sentences[token])
        if sentence not in self._vectors:
            start, end = np.searchsorted(self._sentences, (sentence, sentence + 1)).tolist()
            self._vectors[sentence] = start, encoder.vectors(self._view.text[start:end])
        start, vectors = self._vectors[sentence]
        return np.asarray(vectors[token - start])

    def scores(self, model: TriggerModel, tokens: Collection[int]) -> Singles:
        """Scores of all types for predicates without what a rule says, computed once for all rules.

        The result is float32 (n_tokens, n_types + 1).
        """
        if model not in self._scores:
            shape = len(self._lemmas), model.weights.shape[1]
            self._scores[model] = np.zeros(shape, np.float32), np.zeros(shape[0], np.bool_)
        scores, is_known = self._scores[model]
        index = np.fromiter(tokens, np.int64, len(tokens))
        new = index[~is_known[index]]
        if len(new):
            kernels.sum_weights(new, self._parsed, model.table, model.weights, np.empty_like(scores[0]), scores)
            if model.encoder is not None:
                scores[new] += (
                    np.array([self.vector(model.encoder, token) for token in new.tolist()]) @ model.of_vectors
                )
            is_known[new] = True
        return scores[index]


@lru_cache(maxsize=64)
def implying_columns(types: tuple[str, ...], event_type: str) -> list[int]:
    """Columns of an event type and of the types that imply it."""
    return [c for c, name in enumerate(types) if name == event_type or name in IMPLIED.get(event_type, ())]


@cache
def _trigger_words(event_type: str) -> frozenset[tuple[str, str]]:
    """Lemmas and parts of speech of the single words that are triggers of a rule of the package."""
    frames = load_rules(event_type).frames
    return frozenset((lemma, upos) for frame in frames for lemma in frame.lemmas for upos in frame.upos)


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
        float32 (n_features, n_types + 1); the last column is what triggers of all rules share.
    lemmas
        Lemmas that reported an event of some type in the texts from which the model was fitted, in lower case; a
        predicate with another lemma is no trigger, unless the rule says so.
    checksum
        CRC-32 of the model's file, in hexadecimal digits, and SHA-256 of the ONNX file of its encoder; empty for a
        model that was not read.
    encoder
        Encoder whose vectors are features too; None without one.
    of_vectors
        float32 (2 * n_dimensions, n_types + 1): weights of the vector of the predicate and its sentence; no rows
        without an encoder.
    texts
        Texts from which the model was fitted, compressed: see `events.triggers._nearest_texts`; empty if its file has
        none.
    similarity
        Intercept and weight of the cosine with a rule's prototype in the score of predicates that are no triggers of
        the rule; empty without an encoder.
    vocabulary
        Lemmas of such predicates: all those of the texts from which the model was fitted; empty without an encoder.
    table
        Rows of the features as kernels read them; `rows` has row numbers in its order.
    """

    types: tuple[str, ...]
    rows: Mapping[int, int]
    weights: Singles
    lemmas: frozenset[str]
    checksum: str = ""
    encoder: SentenceEncoder | None = None
    of_vectors: Singles = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    texts: bytes = b""
    similarity: Singles = field(default_factory=lambda: np.zeros(0, np.float32))
    vocabulary: frozenset[str] = frozenset()
    table: kernels.FeatureTable = field(init=False)

    def __post_init__(self) -> None:
        hashes = np.fromiter(self.rows, np.uint32, len(self.rows))
        order = np.argsort(hashes)
        in_buckets = np.arange(2**kernels.BUCKETS + 1, dtype=np.int64) << 32 - kernels.BUCKETS
        bounds = np.searchsorted(hashes[order], in_buckets).astype(np.int32)
        object.__setattr__(self, "table", kernels.FeatureTable(hashes[order], order.astype(np.int32), bounds))

    def probability(
        self, event_type: str, predicates: PredicateFeatures, token: int, is_trigger: bool, conditions: Sequence[str]
    ) -> float:
        """P(a predicate reports an event of a type).

        Parameters
        ----------
        event_type
            One of `types`, or ANY_TYPE for a rule of another type, of which only triggers have a score.
        predicates, token
            Features of the parse, and the predicate's token.
        is_trigger, conditions
            Whether the predicate is a trigger of the rule, and the conditions of the rule that hold of it.
        """
        if event_type == ANY_TYPE and not is_trigger:
            return 0.0
        z = predicates.scores(self, [token])[0] + self._summed_weights(condition_features(conditions))
        score = self._score(z, event_type, is_trigger=is_trigger)
        for column in implying_columns(self.types, event_type):
            implying = self.types[column]
            if implying != event_type:
                is_word_of_rule = predicates.word(token) in _trigger_words(implying)
                score = max(score, self._score(z, implying, is_trigger=is_word_of_rule))
        return 1.0 / (1.0 + exp(-score))

    def _score(self, z: Singles, event_type: str, *, is_trigger: bool) -> float:
        """Score of one type alone, with what a trigger of its rule adds."""
        columns = [] if event_type == ANY_TYPE else [self.types.index(event_type)]
        if is_trigger:
            columns.append(len(self.types))
            z = z + self._summed_weights([TRIGGER + event_type])
        return float(z[columns].sum())

    def _summed_weights(self, features: Iterable[str]) -> Singles:
        rows = {self.rows[feature] for feature in map(feature_hash, features) if feature in self.rows}
        weights: Singles = self.weights[sorted(rows)].sum(axis=0, dtype=np.float32)
        return weights

    def save(self, path: PathLike) -> None:
        """Write the model to a file: 8-bit weights with a scale for each type, and 16-bit weights of vectors."""
        scale = np.maximum(np.abs(self.weights).max(axis=0), 1e-6) / 127.0
        rounded = np.round(self.weights / scale).astype(np.int8)
        has_weight = rounded.any(axis=1)
        arrays = {
            "version": np.array(VERSION),
            "features": np.array(list(self.rows), np.uint32)[has_weight],
            "weights": rounded[has_weight],
            "scale": scale.astype(np.float32),
            "types": np.array(self.types),
            "lemmas": np.array(sorted(self.lemmas)),
            "encoder": np.array("" if self.encoder is None else self.encoder.checksum),
            "of_vectors": self.of_vectors.astype(np.float16),
            "texts": np.frombuffer(self.texts, np.uint8),
        }
        if len(self.similarity):
            arrays |= {"similarity": self.similarity, "vocabulary": np.array(sorted(self.vocabulary))}
        content = BytesIO()
        np.savez_compressed(content, **arrays)
        write_bytes(path, content.getvalue(), overwrite=True)


def load_trigger_model(name: str, encoder: str = "", checksum: str = "") -> TriggerModel:
    """Load a trigger model, once for a process and content: "words" of the package, or a path.

    Parameters
    ----------
    name
        Name or path of the model.
    encoder
        Folder of the encoder; "" for a model without one.
    checksum
        CRC-32 of the model's file, as rules have it; by default that of the file as it is now.

    Raises
    ------
    ParameterError
        If there is no such model or file, or the libraries of encoders are not installed.
    InputError
        If a file cannot be read or has another checksum, or the model was fitted with another encoder.
    """
    return _loaded(name, encoder, checksum or model_checksum(name, encoder))


@lru_cache(maxsize=4)
def _loaded(name: str, encoder: str, checksum: str) -> TriggerModel:
    source, data = _model_file(name, encoder)
    if f"{crc32(data):08x}" != checksum:
        raise InputError("must not change while documents are counted, got another content", place=str(source))
    try:
        with np.load(BytesIO(data), allow_pickle=False) as content:
            weights = content["weights"] * content["scale"]
            rows = {feature: row for row, feature in enumerate(content["features"].tolist())}
            lemmas, types = frozenset(content["lemmas"].tolist()), tuple(content["types"].tolist())
            version = int(content["version"]) if "version" in content else 1
            fitted_with = str(content["encoder"]) if "encoder" in content else ""
            of_vectors = content["of_vectors"].astype(np.float32) if fitted_with else np.zeros((0, 0), np.float32)
            texts = content["texts"].tobytes() if "texts" in content else b""
            similarity = content["similarity"] if "similarity" in content else np.zeros(0, np.float32)
            vocabulary = frozenset(content["vocabulary"].tolist() if len(similarity) else ())
    except (ValueError, KeyError, EOFError, BadZipFile) as error:
        raise _unreadable(source, error) from None
    if version != VERSION or weights.shape != (len(rows), len(types) + 1):
        hint = "corefsample train-triggers fits it again to the same texts"
        raise InputError("must be a trigger model of this version, got an earlier one", place=str(source), hint=hint)
    if not encoder and fitted_with:
        next_step = ParameterHint("encoder", "names the folder of the encoder with which it was fitted")
        raise InputError("must be a trigger model without an encoder, got one with", place=str(source), hint=next_step)
    if not encoder:
        return TriggerModel(types, rows, weights, lemmas, checksum, texts=texts)
    from events.matching._encoder import load_encoder

    loaded = load_encoder(encoder)
    if fitted_with != loaded.checksum:
        hint = f"fit one with corefsample train-triggers TEXTS --encoder {encoder}, and name its file as triggers"
        raise InputError(f"must have been fitted with the encoder {encoder}", place=str(source), hint=hint)
    checksums = f"{checksum} {loaded.checksum}"
    return TriggerModel(types, rows, weights, lemmas, checksums, loaded, of_vectors, texts, similarity, vocabulary)


def model_checksum(name: str, encoder: str = "") -> str:
    """CRC-32 of a trigger model's file as it is now; raises InputError if the file cannot be read."""
    return f"{crc32(_model_file(name, encoder)[1]):08x}"


def _model_file(name: str, encoder: str) -> tuple[Traversable, bytes]:
    """File of a trigger model, and its content."""
    variant = "encoder" if encoder else name  # of the package
    is_shipped = name in SHIPPED_MODELS
    source = files("events.data").joinpath(f"triggers/{variant}.npz") if is_shipped else Path(name)
    try:
        return source, source.read_bytes()
    except FileNotFoundError:
        rule = f"must be {', '.join(SHIPPED_MODELS)}, {BY_RULES} or a file of train-triggers, got {shown(name)}"
        hint = did_you_mean(name, (*SHIPPED_MODELS, BY_RULES))
        raise ParameterError(rule, parameter="triggers", hint=hint) from None
    except OSError as error:
        raise _unreadable(source, error) from None


def _unreadable(source: Traversable, error: Exception) -> InputError:
    hint = f"{', '.join(SHIPPED_MODELS)} or {BY_RULES} need no file"
    reason = error.strerror if isinstance(error, OSError) else "it is no file of train-triggers"
    return InputError(f"cannot be read as a trigger model: {reason}", place=str(source), hint=hint)


def prototype_of(rule: Rule, encoder: SentenceEncoder) -> tuple[float, ...]:
    """Mean vector, of unit length, of the triggers in examples of a rule that have an event; empty if none has."""
    vectors = []
    words = {(word, upos) for frame in rule.frames for word in frame.words for upos in frame.upos}
    for example in rule.examples:
        rows = [fields for line in example.parse.splitlines() if len(fields := line.split()) > 3]
        triggers = [(lemma.lower(), upos) in words for _, _, lemma, upos, *_ in rows]
        if any(triggers) and example.expect.get(rule.preset):
            vectors.append(encoder.vectors([fields[1] for fields in rows])[triggers])
    if not vectors:
        return ()
    mean = np.concatenate(vectors).mean(axis=0)
    return tuple((mean / np.linalg.norm(mean)).tolist())


def with_trigger_model(rule: Rule, name: str, encoder: str = "") -> Rule:
    """The rule with a trigger model; the rule itself if it is of another preset or language.

    The type of a rule of the package is its name, and that of a user's rule is its name in models of users. Otherwise
    it is the rule of the package that the rule extends, if it has the same triggers. Predicates that are no triggers of
    the rule have the roles of its frames of verbs and nouns. Of a rule with a type that the model does not know, only
    triggers can report an event, unless the model has an encoder and the rule examples.
    """
    if name == BY_RULES and encoder:
        raise ParameterError("must be a model with an encoder, got rules", parameter="triggers")
    checksum = "" if name == BY_RULES else model_checksum(name, encoder)
    model = load_trigger_model(name, encoder, checksum) if checksum else None
    is_fit = rule.preset == DEFAULT_PRESET and rule.language in ("", ENGLISH)
    if model is None or not is_fit:
        return rule
    of_users = (rule.name,) if name not in SHIPPED_MODELS else ()
    names = (*of_users, *filter(is_shipped_rule, (rule.source, *rule.bases)))
    known = (each for each in names if each in model.types)
    same = (rule.source, *of_users)
    event_type = next((each for each in known if each in same or load_rules(each).triggers == rule.triggers), ANY_TYPE)
    with_verbs = (each for each in rule.frames if "VERB" in each.upos and each.lemmas and not each.required)
    frame = next(with_verbs, rule.frames[0])
    roles = {role: dict(paths) for role, paths in frame.roles.items()}
    for role in rule.event[:1]:
        for scheme in SCHEMES.values():
            of_nouns = (_NATIONAL, *(path for name in _OF_NOUNS for path in scheme.paths[name]))
            of_verbs = roles.setdefault(role, {}).get(scheme.name, ())
            roles[role][scheme.name] = tuple(dict.fromkeys((*of_verbs, _PARTICIPLE, *of_nouns)))
    is_other, is_single_frame = event_type == ANY_TYPE, "." in rule.name
    prototype: tuple[float, ...] = ()
    if is_other and not is_single_frame and model.encoder is not None and model.vocabulary:
        prototype = prototype_of(rule, model.encoder)
    frames = rule.frames
    if not is_single_frame and (prototype or not is_other):
        lemmas = model.vocabulary if is_other else model.lemmas
        frames = (*frames, Frame(LEARNED, lemmas, (), frozenset(PREDICATES), roles))
    model_fields = {"trigger_model": name, "encoder": encoder, "model_checksum": checksum, "event_type": event_type}
    return replace(rule, **model_fields, frames=frames, prototype=prototype)  # type: ignore[arg-type]


def without_trigger_model(rule: Rule) -> Rule:
    """The rule without the trigger model that `with_trigger_model` added."""
    frames = tuple(frame for frame in rule.frames if frame.name != LEARNED)
    nothing = {"encoder": "", "model_checksum": "", "event_type": "", "prototype": ()}
    return replace(rule, trigger_model=BY_RULES, frames=frames, **nothing)  # type: ignore[arg-type]
