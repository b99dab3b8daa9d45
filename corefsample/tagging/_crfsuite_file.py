"""Weights of a CRFsuite model, in full precision.

`Tagger.info()` of python-crfsuite prints weights with six decimals; sums of some twenty of them are then wrong in the
sixth digit. The file contains them as 64-bit floats: a header, 20 bytes per feature, and two tables of texts.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample.errors import InputError
from corefsample.tagging._trained import require_rows

_HEADER = struct.Struct("<4sI4s9I")
_TABLE = struct.Struct("<4s5I")
_RECORD = struct.Struct("<2I")
_FEATURE = np.dtype([("kind", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
_CHUNK_HEADER = 12  # of the features: "FEAT", size, number
_VERSION = 100
_STATE, _TRANSITION = 0, 1


@dataclass(frozen=True, slots=True, eq=False)
class LinearWeights:
    """Weights of attributes and of transitions; K tags, A attributes.

    Attributes
    ----------
    tags
        In ascending order.
    attributes
        Texts, (A,).
    indptr, codes, weights
        int64 (A + 1,), int64 (n,), float64 (n,): tags of each attribute that have a weight, and the weights.
    transitions
        float64 (K, K): weight of each pair of neighbours, row before column.
    """

    tags: tuple[str, ...]
    attributes: tuple[str, ...]
    indptr: Ints
    codes: Ints
    weights: Floats
    transitions: Floats = field(metadata={"axes": ("tags", "tags")})

    def __post_init__(self) -> None:
        self.transitions.flags.writeable = False  # so that chains share it
        require_rows(self.indptr, self.codes, self.weights.shape[0], len(self.attributes), len(self.tags), "codes")


def read_crfsuite(content: bytes) -> LinearWeights:
    """Weights of a CRFsuite model file (crf1d, version 100), with the tags in ascending order; 0 where it has none.

    Raises
    ------
    InputError
        If it is of another kind or version.
    """
    fields = _HEADER.unpack_from(content)
    magic, _, kind, version, _, n_tags, n_attributes, at_features, at_tags, at_attributes = fields[:10]
    if (magic, kind, version) != (b"lCRF", b"FOMC", _VERSION):
        raise InputError(f"must be a CRFsuite model of version {_VERSION}, got {magic!r}, {kind!r}, {version}")
    texts, attributes = _texts(content, at_tags, n_tags), _texts(content, at_attributes, n_attributes)
    _, _, n_features = struct.unpack_from("<4s2I", content, at_features)
    features = np.frombuffer(content, _FEATURE, n_features, at_features + _CHUNK_HEADER)
    tags = tuple(sorted(texts))
    code = np.array([tags.index(text) for text in texts])
    transitions = np.zeros((n_tags, n_tags))
    pairs = features[features["kind"] == _TRANSITION]
    transitions[code[pairs["source"]], code[pairs["target"]]] = pairs["weight"]
    states = features[features["kind"] == _STATE]
    states = states[np.lexsort((states["target"], states["source"]))]
    indptr = np.searchsorted(states["source"], np.arange(n_attributes + 1))
    weights = states["weight"].astype(np.float64)
    return LinearWeights(tags, attributes, indptr, code[states["target"]], weights, transitions)


def _texts(content: bytes, start: int, n: int) -> tuple[str, ...]:
    """Texts of a constant quark database (CQDB), by their ids, through its table of offsets by id."""
    *_, offsets_at = _TABLE.unpack_from(content, start)
    texts = []
    for offset in np.frombuffer(content, "<u4", n, start + offsets_at).tolist():
        _, length = _RECORD.unpack_from(content, start + offset)
        first = start + offset + _RECORD.size
        texts.append(content[first : first + length - 1].decode())  # the length counts the final zero byte
    return tuple(texts)
