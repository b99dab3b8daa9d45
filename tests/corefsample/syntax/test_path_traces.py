"""How far a path leads, and the path that connects two tokens."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from references import events as er
from strategies.parses import UD2_PATHS, path_parses

from corefsample.documents._tokens import Tokens
from corefsample.syntax import SCHEMES
from corefsample.syntax._path_traces import PathTrace, UnmetCondition, connecting_path, nearest_trace, trace_path
from corefsample.syntax._paths import ParseView, follow

# 0 Ten 1 were 2 killed 3 in 4 police 5 firing 6 by 7 soldiers
TEXT = (
    "Ten/NUM>3:nsubj:pass were=be/AUX>3:aux:pass killed=kill/VERB>0:root in/ADP>6:case police/NOUN>6:compound "
    "firing/NOUN>3:obl by/ADP>8:case soldiers/NOUN>6:nmod"
)


def view() -> ParseView:
    return ParseView(er.parsed(TEXT), SCHEMES["ud2"])


OF_KILLED = ("nsubj:pass", "aux:pass", "obl")


@pytest.mark.parametrize(
    ("path", "start", "found"),
    [
        (">obl>compound", 2, ((4,), 2, 2, "", False, ())),
        # No dependent of "killed" has the label.
        (">obl:agent", 2, ((), 1, 0, ">obl:agent", False, (2,), OF_KILLED)),
        # "firing" is obl, but its case is "in".
        (
            "[passive]>obl[case=by]",
            2,
            ((), 1, 0, ">obl[case=by]", True, (2,), OF_KILLED, (UnmetCondition(5, "case=by", ("in",)),)),
        ),
        # The second step fails, at "firing".
        (">obl>nmod:poss+", 2, ((), 2, 1, ">nmod:poss+", False, (5,), ("case", "compound", "nmod"))),
        ("[active]>obl", 2, ((), 1, 0, "[active]", False, (2,), (), (UnmetCondition(2, "active", ()),))),
        # Of three conditions two fail: "firing" is a noun, has no dependent "amod", and is no "attack".
        (
            ">obl[upos=NOUN,amod=heavy,lemma=attack|raid]>nmod",
            2,
            (
                *((), 2, 0, ">obl[upos=NOUN,amod=heavy,lemma=attack|raid]", True, (2,), OF_KILLED),
                (UnmetCondition(5, "amod=heavy", ()), UnmetCondition(5, "lemma=attack|raid", ("firing",))),
            ),
        ),
        # The root has no step up, though its label fits.
        ("<root", 2, ((), 1, 0, "<root", False, (2,))),
        (
            "<obl[upos=NOUN]",
            5,
            ((), 1, 0, "<obl[upos=NOUN]", True, (5,), ("obl",), (UnmetCondition(2, "upos=NOUN", ("VERB",)),)),
        ),
        ("", 2, ((2,), 0, 0, "", False, ())),
    ],
)
def test_a_trace_names_the_step_that_fails_and_what_was_there(path: str, start: int, found: tuple[Any, ...]) -> None:
    assert trace_path(path, view(), start) == PathTrace(path, *found)


@given(tokens=path_parses(), path=st.sampled_from(UD2_PATHS), data=st.data())
def test_a_trace_ends_where_the_path_leads(tokens: Tokens, path: str, data: st.DataObject) -> None:
    parse = ParseView(tokens, SCHEMES["ud2"])
    start = data.draw(st.integers(0, len(tokens) - 1))
    trace = trace_path(path, parse, start)
    assert list(trace.ends) == sorted(follow(path, parse, start))
    assert bool(trace.ends) == (trace.n_done == trace.n_steps and not trace.failed)
    assert bool(trace.reached) != bool(trace.ends)


def test_the_nearest_path_is_the_one_with_the_most_steps_done() -> None:
    paths = [">obl:agent", "[passive]>obl[case=by]", ">obl>nmod:poss", ">nsubj"]
    found = nearest_trace(paths, view(), 2)
    assert found is not None
    assert found.path == ">obl>nmod:poss"
    # Where no step is done, a label that fits is nearer; then the first path.
    assert nearest_trace(paths[:2], view(), 2) == trace_path(paths[1], view(), 2)
    assert nearest_trace([paths[3], paths[0]], view(), 2) == trace_path(paths[3], view(), 2)
    assert nearest_trace([], view(), 2) is None


def test_the_path_between_two_tokens_is_in_the_notation_of_rules() -> None:
    assert connecting_path(view(), 2, 4) == ">obl[case=in]>compound"
    assert connecting_path(view(), 4, 0) == "<compound<obl>nsubj:pass"
    assert connecting_path(view(), 2, 7) == ">obl[case=in]>nmod[case=by]"
    assert connecting_path(view(), 3, 3) == ""
    two = er.parsed("It/PRON>2:nsubj rained=rain/VERB>0:root", "They/PRON>2:nsubj left=leave/VERB>0:root")
    assert connecting_path(ParseView(two, SCHEMES["ud2"]), 0, 2) is None
    text = "arrest/NOUN>0:ROOT of/ADP>1:prep him/PRON>2:pobj"
    assert connecting_path(ParseView(er.parsed(text), SCHEMES["clearnlp"]), 0, 2) == ">prep[lemma=of]>pobj"


@given(tokens=path_parses(), data=st.data())
def test_following_a_connecting_path_leads_to_its_end(tokens: Tokens, data: st.DataObject) -> None:
    parse = ParseView(tokens, SCHEMES["ud2"])
    start, end = (data.draw(st.integers(0, len(tokens) - 1)) for _ in range(2))
    path = connecting_path(parse, start, end)
    assert path is not None
    assert end in follow(path, parse, start)
