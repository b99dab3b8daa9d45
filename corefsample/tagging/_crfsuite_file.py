"""Weights of a CRFsuite model, in full precision.

`Tagger.info()` of python-crfsuite prints weights with six decimals; sums of some twenty of them are then wrong in the
sixth digit. The file contains them as 64-bit floats: a header, 20 bytes per feature, and two tables of texts.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from corefsample._arrays import Floats, Ints
from corefsample.errors import InputError

_HEADER = struct.Struct("<4sI4s9I")
_TABLE = struct.Struct("<4s5I")
_RECORD = struct.Struct("<2I")
_FEATURE = np.dtype([("kind", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
_CHUNK_HEADER = 12  # of the features: "FEAT", size, number
_VERSION = 100
_STATE, _TRANSITION = 0, 1


@dataclass(frozen=True, slots=True, eq=False)
class CrfWeights:
    """Weights of a linear-chain conditional random field; K tags, A attributes.

    Attributes
    ----------
    tags
        In CRFsuite's order.
    attributes
        Texts.
    source, target, weight
        int64, int64, float64 (n,): attribute, tag and weight of each state feature, by ascending attribute.
    transitions
        float64 (K, K): weight of each transition, row before column; 0 where the model has none.
    """

    tags: tuple[str, ...]
    attributes: tuple[str, ...]
    source: Ints
    target: Ints
    weight: Floats
    transitions: Floats


def read_crfsuite(content: bytes) -> CrfWeights:
    """Weights of the content of a CRFsuite model file (crf1d, version 100).

    Raises
    ------
    InputError
        If it is no such file, or is damaged.
    """
    try:
        fields = _HEADER.unpack_from(content)
        magic, _, kind, version, _, n_tags, n_attributes, at_features, at_tags, at_attributes = fields[:10]
        if (magic, kind, version) != (b"lCRF", b"FOMC", _VERSION):
            raise InputError(f"must be a CRFsuite model of version {_VERSION}, got {magic!r}, {kind!r}, {version}")
        tags = _texts(content, at_tags, n_tags)
        attributes = _texts(content, at_attributes, n_attributes)
        _, _, n_features = struct.unpack_from("<4s2I", content, at_features)
        features = np.frombuffer(content, _FEATURE, n_features, at_features + _CHUNK_HEADER)
    except (struct.error, ValueError, IndexError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"must be a complete CRFsuite model, got: {error}") from None
    transitions = np.zeros((n_tags, n_tags))
    pairs = features[features["kind"] == _TRANSITION]
    transitions[pairs["source"], pairs["target"]] = pairs["weight"]
    states = features[features["kind"] == _STATE]
    states = states[np.lexsort((states["target"], states["source"]))]
    source, target = states["source"].astype(np.int64), states["target"].astype(np.int64)
    return CrfWeights(tags, attributes, source, target, states["weight"].astype(np.float64), transitions)


def _texts(content: bytes, start: int, n: int) -> tuple[str, ...]:
    """Texts of a constant quark database (CQDB), by their ids, through its table of offsets by id."""
    magic, _, _, _, size, offsets_at = _TABLE.unpack_from(content, start)
    if magic != b"CQDB" or size < n:
        raise InputError(f"must contain a table of {n} texts, got {magic!r} of {size}")
    texts = []
    for offset in np.frombuffer(content, "<u4", n, start + offsets_at).tolist():
        _, length = _RECORD.unpack_from(content, start + offset)
        first = start + offset + _RECORD.size
        texts.append(content[first : first + length - 1].decode())  # the length counts the final zero byte
    return tuple(texts)
