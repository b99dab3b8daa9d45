"""Coreference systems whose scores are not a distribution over antecedents, and the reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from corefsample import _checks
from corefsample.errors import ParameterError

REFUSED: Mapping[str, str] = {
    "neuralcoref": (
        "its pair scores are trained last by a max-margin ranking loss, and NEW is shifted by the setting greedyness: "
        "their order is meaningful, but their differences are not log odds"
    ),
    "corenlp": (
        "its neural and statistical systems rank by margins or classify pairs one by one, its rules give no scores, "
        "and its output has only chains"
    ),
    "maverick": (
        "it scores each pair by a separate sigmoid (binary cross-entropy), so that the probabilities of a mention's "
        "antecedents and NEW do not add up to one, and its output has only clusters"
    ),
    "coreferee": (
        "its softmax is over the candidates of an anaphor that its rules allow, without NEW, and a candidate may be "
        "several mentions at once"
    ),
}

# The system is recognised by the package of an object's type, or by a key of the system's output.
_KEYS = {"clusters_token_offsets": "maverick", "corefs": "corenlp"}


def refuse(system: str) -> NoReturn:
    """Raise an error with the reason why the scores of a system cannot be converted.

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
    raise ParameterError(
        f"must be a distribution over antecedents, got those of {name}: {REFUSED[name]}", parameter="scores"
    )


def reject_undistributed(value: Any) -> None:
    """Raise for an object of a system of REFUSED; accept any other object."""
    module = type(value).__module__.lower()
    system = "corenlp" if "corenlp" in module else module.split(".")[0]  # stanza.protobuf.CoreNLP_pb2
    if isinstance(value, Mapping):
        system = next((name for key, name in _KEYS.items() if key in value), system)
        key, inner = next(iter(value.items()), (None, None))
        # neuralcoref's doc._.coref_scores: a dictionary of dictionaries, both with spans as keys
        if isinstance(inner, Mapping) and all(hasattr(key, name) for name in ("start", "end", "root", "doc")):
            system = "neuralcoref"
    if system in REFUSED:
        refuse(system)
