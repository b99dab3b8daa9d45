"""The antecedent model: scores of antecedents from hashed features, and its files.

A model file is a zip of NumPy arrays and a JSON header; loading runs no code from it, there are no pickles.

header.json
    format, version, language (its code, and its resources unless they are of the package), features (`features_hash`:
    codes, limits and resources), templates, scale, provenance.
weights.npy
    int8 (n_buckets,): weight / scale.
vocabulary.npy
    uint32 (n_words,), ascending.

The bytes depend only on the model, not on time or name.
"""

import io
import json
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

import msgspec
import numpy as np

from corefsample import _checks
from corefsample._arrays import Bools, Floats32, Ints8, Words32
from corefsample.coreference._antecedents import AntecedentDistribution, Pruned
from corefsample.documents._tokens import Tokens
from corefsample.errors import InputError, ParameterError, shown
from corefsample.files._atomic import write_bytes
from corefsample.files._paths import PathLike
from corefsample.files._reading import one_line, parsed_json
from corefsample.languages._language import ENGLISH, Language, load_language
from corefsample.scorers.log_linear import _feature_codes as codes, _kernels
from corefsample.scorers.log_linear._encoding import LISTS, TemplateSet, encoded, features_hash, is_known
from corefsample.scorers.protocol import MIN_PROB
from corefsample.syntax._words import word_hashes

LARGEST_TABLE = 1 << 22
FORMAT = "corefsample antecedent model"
VERSION = 1
_LIMITS = {"header.json": 1 << 22, "weights.npy": LARGEST_TABLE + 1024, "vocabulary.npy": 1 << 26}
_RECIPE = ("bits", "link_weight", "min_count", "mentions", "orders", "seed", "start", "windows")
_STEPS = 127
_LARGEST_SCALE = float(np.finfo(np.float32).max) / 128
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, struct.error)
# NumPy reads the header of an array as Python source.
_HEADER_ERRORS = (ValueError, RecursionError, tokenize.TokenError, SyntaxError, TypeError, MemoryError)
_ROOM = 16  # candidates kept for each mention before the arrays grow


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AntecedentModel:
    """A log-linear model of each mention's antecedent.

    P(a_i = k) is proportional to exp(w . f(i, k)), P(a_i = NEW) to exp(w . f(i, NEW)); each feature is a template with
    the values of its atoms, and has its weight where its hash says. Arrays are read-only.

    Attributes
    ----------
    weights
        float32 (n_buckets,): n_buckets is a power of two.
    vocabulary
        uint32, ascending: hashes of the words that features may name; other words are replaced by their endings.
    templates
        Templates of features.
    provenance
        Data, options and held-out figures of the training; anything that JSON can represent.
    language
        Resources of the language that it was trained on.

    Raises
    ------
    ParameterError
        On construction, if the number of weights is not a power of two, one is not finite, or the vocabulary does not
        ascend.

    References
    ----------
    Durrett & Klein (2013); Nguyen & O'Connor (2015), section 5.1.
    """

    weights: Floats32
    vocabulary: Words32
    templates: TemplateSet
    provenance: Mapping[str, Any] = field(default_factory=dict)
    language: Language = field(default_factory=partial(load_language, ENGLISH))
    # Weights as kernels read them, and their scale: on the grid of model files if they are on it, a fourth as large.
    _table: tuple[_kernels.Weights, np.float32] = field(init=False)

    def __post_init__(self) -> None:
        weights, words = self.weights, self.vocabulary
        good = 2 <= weights.size <= LARGEST_TABLE and not weights.size & (weights.size - 1)
        _checks.require("weights", good, f"must be as many as a power of two, from 2 to {LARGEST_TABLE}", weights.size)
        falls = np.flatnonzero(words[1:] <= words[:-1])
        if falls.size:
            later, before = words[falls[0] + 1], words[falls[0]]
            raise ParameterError(f"must ascend, got {later} after {before}", parameter="vocabulary")
        infinite = weights[~np.isfinite(weights)]
        _checks.require("weights", not infinite.size, "must be finite", infinite[:1])
        steps, scale = on_grid(weights)
        is_on_grid = np.array_equal(_weights_of(steps, scale), weights)
        table = (steps, np.float32(scale)) if is_on_grid else (weights, np.float32(1.0))
        object.__setattr__(self, "_table", table)
        weights.flags.writeable = words.flags.writeable = False

    def __repr__(self) -> str:
        sizes = f"{len(self.weights):,} weights, {len(self.vocabulary):,} words"
        return f"AntecedentModel({sizes}, language {self.language.code})"

    @property
    def kind(self) -> str:
        """Name of the folder of this kind of scorer."""
        return "log_linear"

    @property
    def needs(self) -> frozenset[str]:
        """Columns of tokens that it reads beside the words."""
        return frozenset(["lemma", "upos", "head", "dep", "sent"])

    @property
    def seen(self) -> frozenset[str]:
        """Checksums of the documents that it was trained on."""
        return frozenset(self.provenance.get("documents", ()))

    @property
    def recipe(self) -> dict[str, Any]:
        """Options of `corefsample train` that make a model like this one."""
        options = self.provenance.get("options", {})
        return {
            **{name: options[name] for name in _RECIPE if name in options},
            "learning_rate": options.get("rate", 0.1),
            "l2": self.provenance.get("l2", 0.02),
            "epochs": self.provenance.get("epoch", 3),
        }

    def knows(self, words: Sequence[str]) -> Bools:
        """Whether its vocabulary has each of some words, which are in lower case."""
        return is_known(self.vocabulary, word_hashes(words))

    def score(
        self,
        tokens: Sequence[Tokens],
        mentions: Sequence[np.typing.ArrayLike],
        *,
        min_prob: float = MIN_PROB,
        scheme: str | None = None,
    ) -> list[Pruned]:
        """Score the antecedents of the mentions of several texts: see `AntecedentScorer.score`."""
        _checks.probability("min_prob", min_prob, below_one=True)
        pairs = zip(tokens, mentions, strict=True)
        return [self._pruned(*pair, min_prob, scheme) for pair in pairs]

    def _pruned(self, tokens: Tokens, mentions: np.typing.ArrayLike, min_prob: float, scheme: str | None) -> Pruned:
        """Score the mentions of one text, and leave out unlikely candidates."""
        doc = encoded(tokens, mentions, self.vocabulary, self.language, scheme=scheme)
        n = len(doc.mentions)
        indptr, dropped = np.zeros(n + 1, np.int64), np.zeros(n)
        hashed = self.templates.hashed(doc)
        buckets = np.empty(max(len(hashed.pronoun.factor), len(hashed.phrase.factor)), np.uint64)
        pair, between, best = np.zeros(len(codes.PairAtom), np.uint32), np.empty(3, np.int32), np.empty(2, np.int32)
        inputs = doc, hashed, *self._table, float(min_prob), np.empty(n), buckets, pair, between, best
        candidates, scores = np.empty(_ROOM * n, np.int32), np.empty(_ROOM * n)
        first = 0
        while (first := _kernels.score_kept(*inputs, first, indptr, dropped, candidates, scores)) < n:
            candidates = np.concatenate((candidates, np.empty_like(candidates)))
            scores = np.concatenate((scores, np.empty_like(scores)))
        candidates, scores = candidates[: indptr[n]].copy(), scores[: indptr[n]].copy()
        distribution = AntecedentDistribution.from_csr(indptr, candidates, scores)
        return Pruned(distribution, dropped, n * (n - 1) // 2 - len(candidates))

    def save(self, path: PathLike, *, overwrite: bool = False) -> None:
        """Write a model to a file, which appears under its name when it is complete.

        Weights are rounded to 8 bits; those of `train` are so already and come back unchanged.

        Raises
        ------
        ParameterError
            If the file exists and `overwrite` is false, or JSON cannot represent the provenance.
        OutputError
            If the file cannot be written.
        """
        steps, scale = on_grid(self.weights)
        header = {
            "format": FORMAT,
            "version": VERSION,
            "language": self.language.to_json(),
            "features": features_hash(self.language),
            "templates": {name: list(getattr(self.templates, name)) for name in LISTS},
            "scale": scale,
            "provenance": dict(self.provenance),
        }
        try:
            text = json.dumps(header, ensure_ascii=False, allow_nan=False, indent=1).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise ParameterError(f"must be what JSON can represent, got: {error}", parameter="provenance") from None
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for name, part in zip(_LIMITS, (text, _npy_bytes(steps), _npy_bytes(self.vocabulary)), strict=True):
                entry = zipfile.ZipInfo(name)
                entry.create_system = 3  # the same on every system
                archive.writestr(entry, part, zipfile.ZIP_DEFLATED)
        write_bytes(path, packed.getvalue(), overwrite=overwrite)


def on_grid(weights: Floats32) -> tuple[Ints8, float]:
    """Round weights to multiples of a scale, 127 of which make the largest.

    Weights that are such multiples already stay as they are.

    Returns
    -------
    array of shape (n_buckets,), int8
        The multiples.
    float
        The scale, above 0; a float32.
    """
    largest = np.float32(np.abs(weights).max(initial=0.0) / _STEPS) or np.float32(1.0)
    # A 127th of 127 scales may be the next number up or down: take the scale that gives the weights back.
    for scale in (largest, np.nextafter(largest, np.float32(0.0)), np.nextafter(largest, np.float32(np.inf)), largest):
        if scale > 0 and np.isfinite(scale):
            steps: Ints8 = np.clip(np.rint(weights / scale), -_STEPS, _STEPS).astype(np.int8)
            if np.array_equal(_weights_of(steps, scale), weights):
                break
    return steps, float(scale)


def rounded(weights: Floats32) -> Floats32:
    """Weights as a model file gives them back."""
    return _weights_of(*on_grid(weights))


def _weights_of(steps: Ints8, scale: float | np.float32) -> Floats32:
    return steps.astype(np.float32) * np.float32(scale)


class _Header(msgspec.Struct):
    """What a header has in addition to format, version, language and features."""

    templates: dict[str, tuple[str, ...]]
    scale: Annotated[float, msgspec.Meta(gt=0.0, le=_LARGEST_SCALE)]
    provenance: dict[str, Any]


def load_model(path: PathLike) -> AntecedentModel:
    """Read a model file.

    Raises
    ------
    InputError
        If the file cannot be read, is not a model, is of another version, or has templates or features that this
        version of corefsample does not have.
    """
    location = os.fspath(path)
    try:
        with zipfile.ZipFile(location) as archive:
            text, *arrays = (_archive_part(archive, name, limit) for name, limit in _LIMITS.items())
        return _model(text, _npy_array(arrays[0], np.int8, "weights"), _npy_array(arrays[1], np.uint32, "vocabulary"))
    except InputError as error:
        raise error.at(location) from None
    except ParameterError as error:
        raise error.as_input_error(location) from None
    except OSError as error:
        raise InputError(f"model file must be readable, got: {error.strerror or error}", place=location) from None
    except _ZIP_ERRORS as error:
        raise InputError(
            f"must be a {FORMAT}, got an incomplete or damaged zip file: {error}", place=location
        ) from None


def _archive_part(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """Content of a file of the archive, of at most `limit` bytes."""
    if name not in archive.namelist():
        raise InputError(f"must be a {FORMAT}, got a zip file without {name}")
    size = archive.getinfo(name).file_size
    if size > limit:
        raise InputError(f"{name} must have at most {limit} bytes, got {size}")
    return archive.read(name)


def _npy_bytes(array: np.typing.NDArray[Any]) -> bytes:
    """Content of an .npy file."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def _npy_array(data: bytes, dtype: np.typing.DTypeLike, field: str) -> np.typing.NDArray[Any]:
    """Read an .npy file of one dimension; raise InputError for any other content."""
    try:
        array: np.typing.NDArray[Any] = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    except _HEADER_ERRORS as error:
        raise InputError(f"{field} must be an .npy file, got: {one_line(error)}") from None
    if array.dtype != dtype or array.ndim != 1:
        raise InputError(f"{field} must be {np.dtype(dtype)} in one dimension, got {array.ndim} of {array.dtype}")
    return array


def _model(text: bytes, weights: Ints8, vocabulary: Words32) -> AntecedentModel:
    """The model of a header and arrays; raises InputError or ParameterError if they break their rules."""
    header = parsed_json(text, "header.json")
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError(f"must be a {FORMAT}, got another format")
    if header.get("version") != VERSION:
        raise InputError(f"version must be {VERSION}, got {shown(header.get('version'))}")
    language, features = Language.from_json(header.get("language")), header.get("features")
    if features != features_hash(language):
        rule = f"features must be those of this version of corefsample ({features_hash(language)})"
        raise InputError(f"{rule}, got {shown(features)}", hint="train the model again")
    try:
        fields = msgspec.convert(header, _Header)
        templates = TemplateSet(**fields.templates)
    except (msgspec.ValidationError, TypeError) as error:
        raise InputError(f"header.json must be that of a model, got: {one_line(error)}") from None
    return AntecedentModel(_weights_of(weights, fields.scale), vocabulary, templates, fields.provenance, language)
