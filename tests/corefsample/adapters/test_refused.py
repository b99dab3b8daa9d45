"""Systems whose scores are not a distribution are rejected by name and by their objects, with the reason."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from corefsample import ParameterError
from corefsample.adapters import REFUSED, from_fastcoref, from_stanza, refuse
from corefsample.adapters._refused import reject_undistributed


def object_of(module: str) -> Any:
    return type("Result", (), {"__module__": module})()


SPAN = SimpleNamespace(start=0, end=1, root=None, doc=None)


class Span(SimpleNamespace):
    def __hash__(self) -> int:
        return id(self)


OBJECTS = [
    (object_of("neuralcoref.neuralcoref"), "neuralcoref"),
    ({Span(**vars(SPAN)): {Span(**vars(SPAN)): 1.5}}, "neuralcoref"),  # doc._.coref_scores
    (object_of("coreferee.data_model"), "coreferee"),  # doc._.coref_chains
    (object_of("maverick.models.maverick_model"), "maverick"),
    ({"tokens": [], "clusters_token_offsets": [], "clusters_char_text": None}, "maverick"),  # Maverick.predict
    ({"sentences": [], "corefs": {}}, "corenlp"),  # the server's JSON
    (object_of("stanza.protobuf.CoreNLP_pb2"), "corenlp"),  # CoreNLPClient.annotate
]


@pytest.mark.parametrize(("value", "system"), OBJECTS)
def test_their_objects_are_rejected_by_each_adapter(value: Any, system: str) -> None:
    words = f"scores must be a distribution over antecedents, got those of {system}: {REFUSED[system]}"
    for adapter in (
        reject_undistributed,
        lambda given: from_fastcoref(given, doc_id="a"),
        lambda given: from_stanza(None, given, doc_id="a"),
    ):
        with pytest.raises(ParameterError) as caught:
            adapter(value)
        assert str(caught.value) == words


@pytest.mark.parametrize("system", ["neuralcoref", "CoreNLP", "maverick", "Coreferee"])
def test_their_names_are_rejected_with_a_reason(system: str) -> None:
    with pytest.raises(ParameterError, match=f"got those of {system.lower()}: .{{60}}") as caught:
        refuse(system)
    assert "\n" not in str(caught.value)


def test_other_names_are_unknown_and_other_objects_pass() -> None:
    with pytest.raises(
        ParameterError, match="system must be one of neuralcoref, corenlp, maverick, coreferee, got 'bart'"
    ):
        refuse("bart")
    for value in ([], {}, {"a": {}}, 1.0, None, object()):
        reject_undistributed(value)
