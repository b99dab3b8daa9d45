"""Texts that lost their upper case or their encoding are recognised, and repaired with ftfy."""

import datetime
import sys

import pytest

from corefsample import ParameterError
from corefsample._lazy import install_hint
from events.news import _quality as quality
from events.news._fields import Article
from events.news._quality import TextTally, has_mojibake, is_lower_case, repaired, require_repair

pytest.importorskip("ftfy", reason="extra `text`")

# What people write in news, whose UTF-8 is more than one byte each.
NOT_ASCII = "éèêàçñöüßÅØ£§«»°·“”‘’–—…•€™😀¡¿"


def misread(text: str, encoding: str) -> str:
    """UTF-8 read as an encoding of one byte a character, undefined bytes as Latin-1 does."""
    shown = []
    for byte in text.encode():
        try:
            shown.append(bytes([byte]).decode(encoding))
        except UnicodeDecodeError:
            shown.append(chr(byte))
    return "".join(shown)


@pytest.mark.parametrize("character", NOT_ASCII)
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
def test_a_misread_character_is_mojibake_and_the_right_one_is_not(character: str, encoding: str) -> None:
    assert has_mojibake(f"He said{misread(character, encoding)} that")
    assert not has_mojibake(f"He said{character} that")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("police fired on the crowd and killed two men in the town.", True),
        ("police fired on the crowd and killed two men in the Town.", False),
        ("two arrested", False),  # too short to tell
        ("警察" * 40, False),  # a script without cases
        ("1999 " * 40, False),
        ("", False),
        ("a" * 40, True),
        ("a" * 39 + "1", False),
    ],
)
def test_a_text_without_upper_case_is_recognised_from_40_letters(text: str, expected: bool) -> None:
    assert is_lower_case(text) == expected


def test_texts_are_counted_by_fault_and_counts_add_up() -> None:
    tally = TextTally.of("The U.S. attacked.") + TextTally.of("it didnâ€™t say so. " * 4)
    tally += TextTally.of("lost \N{REPLACEMENT CHARACTER}", is_repaired=True)
    assert tally == TextTally(n_texts=3, n_lower_case=1, n_mojibake=1, n_lost=1, n_repaired=1)


def test_ftfy_repairs_text_and_headline_and_keeps_quotation_marks() -> None:
    article = Article("a", datetime.date(2001, 9, 11), "He didnâ€™t say “noâ€\x9d.", "CafÃ© &amp; bar", {"desk": "x"})
    found = repaired(article)
    assert (found.text, found.title) == ("He didn’t say “no”.", "Café & bar")
    assert (found.doc_id, found.date, found.metadata) == (article.doc_id, article.date, article.metadata)
    assert not has_mojibake(found.text)
    assert repaired(found) is found


def test_an_error_names_the_extra_of_the_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    require_repair()
    monkeypatch.setattr(quality, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "ftfy", None)
    with pytest.raises(ParameterError, match="needs ftfy, which is not installed") as raised:
        require_repair()
    assert raised.value.parameter == "fix_text"
    assert raised.value.hint == install_hint("text")
