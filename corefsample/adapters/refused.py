"""Coreference systems whose scores are no distribution over antecedents, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from corefsample import _checks
from corefsample.errors import ParameterError

__all__ = ["REFUSED", "refuse", "refuse_undistributed"]

REFUSED: Mapping[str, str] = {
    "neuralcoref": (
        "its pair scores are trained last by a max-margin ranking loss, and NEW is shifted by the setting greedyness: "
        "their order means something, their differences are no log odds"
    ),
    "corenlp": (
        "its neural and statistical systems rank by margins or classify pairs one by one, its rules give no scores, "
        "and its output has chains alone"
    ),
    "maverick": (
        "it scores each pair by a sigmoid of its own (binary cross-entropy), so that a mention's antecedents and NEW "
        "do not add up to one, and its output has clusters alone"
    ),
    "coreferee": (
        "its softmax runs over the candidates of an anaphor that rules have let through, without NEW, and a candidate "
        "may be several mentions at once"
    ),
}

# How an object tells of its system: the package of its type, or a key that the system's output has.
_PACKAGES = {"neuralcoref": "neuralcoref", "coreferee": "coreferee", "maverick": "maverick", "corenlp": "corenlp"}
_KEYS = {"clusters_token_offsets": "maverick", "corefs": "corenlp"}


def refuse(system: str) -> NoReturn:
    """Refuse a system, in words that say why.

    Parameters
    ----------
    system
        A key of REFUSED, in any case: neuralcoref, corenlp, maverick, coreferee.

    Raises
    ------
    ParameterError
        Always.
    """
    name = _checks.choice("system", system.lower(), tuple(REFUSED))
    raise ParameterError(f"scores must be a distribution over antecedents, got those of {name}: {REFUSED[name]}")


def refuse_undistributed(value: Any) -> None:
    """Refuse an object that comes from a system of REFUSED; anything else passes."""
    package = type(value).__module__.split(".")[0].lower()
    system = _PACKAGES.get(package)
    if "corenlp" in type(value).__module__.lower():  # stanza.protobuf.CoreNLP_pb2
        system = "corenlp"
    if isinstance(value, Mapping):
        system = next((name for key, name in _KEYS.items() if key in value), system)
        pairs = list(value.items())[:1]
        # neuralcoref's doc._.coref_scores: a dictionary of dictionaries, of spans both
        if pairs and isinstance(pairs[0][1], Mapping) and _is_span(pairs[0][0]):
            system = "neuralcoref"
    if system is not None:
        refuse(system)


def _is_span(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("start", "end", "root", "doc"))
