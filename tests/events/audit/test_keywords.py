"""Keyword expressions."""

from __future__ import annotations

import pytest

from corefsample import ParameterError
from events.audit._keywords import KeywordExpression


@pytest.mark.parametrize(
    ("expression", "text", "expected"),
    [
        ("raid", "A Raid at night", True),
        ("raid", "raids at night", False),
        ("raid*", "raids at night", True),
        ('"air strike"', "an air\nstrike hit", True),
        ('"air strike"', "strike by air", False),
        ("air strike", "strike by air", True),
        ("a or b and c", "a", True),
        ("(a or b) and c", "a", False),
        ("not a", "b", True),
        ("not a and b", "a b", False),
        ("not (a and b)", "a", True),
        ("a not b", "a b", False),
        ("u.s.", "the u.s. army", True),
    ],
)
def test_expressions(expression: str, text: str, expected: bool) -> None:
    assert KeywordExpression(expression).matches(text) is expected


@pytest.mark.parametrize("expression", ["", "  ", "(a", "a)", "a or", "and a", '"a', '""', "not", "()"])
def test_what_is_no_expression_is_refused(expression: str) -> None:
    with pytest.raises(ParameterError, match="keyword must"):
        KeywordExpression(expression)
