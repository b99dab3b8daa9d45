import datetime
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from places import TEST_DATA

import corefsample
from corefsample import InputError, ParameterError
from events.lexicon._lexicon import Lexicon, LexiconMatches, load_lexicon

SHIPPED = yaml.safe_load((Path(corefsample.__file__).parent / "languages" / "en" / "countries.yaml").read_text("utf-8"))

ONE = "version: 1\nentries:\n  - {code: AAA, name: Aland, aliases: [Aland]}\n"
TWO = ONE + "  - {code: BBB, name: Beland, aliases: [Beland, Aland]}\n"
MORE = "version: 1\nextends: countries\n"


def loaded(tmp_path: Path, text: str | bytes) -> Lexicon:
    path = tmp_path / "own.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_lexicon(path)


def codes(lexicon: Lexicon, text: str, date: str | None = "1999-06-15") -> list[str]:
    tokens = text.split()
    matches = lexicon.match(tokens, [-1] * len(tokens), datetime.date.fromisoformat(date) if date else None)
    return [*matches.codes.values(), *["?"] * matches.n_ambiguous]


def test_a_users_lexicon_has_the_content_of_its_file(tmp_path):
    lexicon = loaded(
        tmp_path,
        """
        version: 1
        name: moons
        entries:
          - code: io-1
            name: Io
            aliases: [Io, Ionian, "Io's people"]
            cased: [IO]
          - {code: Ganymède, name: Ganymede, kind: territory, aliases: [Ganymede, moon], from: 1610-01-07}
          - {code: X, name: Ex, aliases: [moon], from: "1600-01-01", to: "1610-01-06"}
        not_countries: [Ionian Sea]
        ambiguous:
          - {alias: satellite, codes: [io-1, X]}
        """,
    )
    assert lexicon.source == str(tmp_path / "own.yaml")
    assert lexicon.codes == ("Ganymède", "X", "io-1")
    assert lexicon.name("io-1") == "Io"
    assert dict(lexicon.kinds) == {"Ganymède": "territory", "X": "country", "io-1": "country"}
    assert codes(lexicon, "IONIAN and io in the Ionian Sea") == ["io-1", "io-1"]
    assert [codes(lexicon, "moon", date) for date in ("1610-01-06", "1610-01-07")] == [["X"], ["Ganymède"]]
    assert codes(lexicon, "satellite", "1605-01-01") == ["?"]
    assert codes(lexicon, "satellite", "1999-01-01") == ["io-1"]  # the only one of the two valid then
    assert codes(lexicon, "Iraq") == []


def test_a_file_that_extends_the_shipped_lexicon_adds_aliases_and_codes(tmp_path):
    lexicon = loaded(
        tmp_path,
        MORE
        + "entries:\n  - {code: USA, aliases: [Yankees]}\n  - {code: X-G7, name: G-7, aliases: [Group of Seven]}\n",
    )
    assert codes(lexicon, "Yankees American Group of Seven") == ["USA", "USA", "X-G7"]
    assert lexicon.name("USA") == "United States"
    assert set(lexicon.codes) - set(load_lexicon().codes) == {"X-G7"}


def test_an_entry_with_a_shipped_code_overrides_what_it_gives(tmp_path):
    text = "entries:\n  - {code: YUG, name: FRY, kind: country, from: 1992-04-27, to: null}\n"
    lexicon = loaded(tmp_path, MORE + text)
    assert (lexicon.name("YUG"), lexicon.kinds["YUG"]) == ("FRY", "country")
    assert codes(lexicon, "Yugoslav") == ["YUG"]
    assert lexicon.validity["YUG"] == (datetime.date(1992, 4, 27), datetime.date.max)


def test_an_alias_given_to_a_code_is_removed_from_other_codes(tmp_path):
    text = """entries:
  - {code: SCO, name: Scotland, aliases: [Scotland, Scottish], cased: [Scot, Scots]}
  - {code: COD, aliases: [Congo]}
  - {code: GBR, aliases: [New England]}
"""
    lexicon = loaded(tmp_path, MORE + text)
    assert codes(lexicon, "Scottish Scots English") == ["SCO", "SCO", "GBR"]
    assert codes(lexicon, "Congo Congolese") == ["COD", "?"]
    assert codes(lexicon, "New England") == ["GBR"]


def test_cased_and_ordinary_aliases_compete_for_the_longest_match(tmp_path):
    text = """
        version: 1
        entries:
          - {code: A, name: A, aliases: [Io, Europa Moon], to: 1999-12-31}
          - {code: B, name: B, cased: [Io, Io Moon, Europa], from: 2000-01-01}
        """
    lexicon = loaded(tmp_path, text)
    assert codes(lexicon, "Io Moon") == ["B"]
    assert codes(lexicon, "Europa Moon") == ["A"]
    assert [codes(lexicon, "Io", date) for date in ("1999-12-31", "2000-01-01", None)] == [["A"], ["B"], ["?"]]


CASES = (TEST_DATA / "refused_lexicons.txt").read_text(encoding="utf-8")
REFUSED: list[tuple[Any, str]] = re.findall(r"^===\n(.*?)\n-> ([^\n]*)$", CASES, flags=re.M | re.S)
REFUSED += [
    ("", "yaml: must be a mapping, got null"),
    (b"version: 1\nname: \xff\xfe", "must be YAML in UTF-8, got: "),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_a_file_that_breaks_the_format_is_rejected_with_one_line(tmp_path, text, message):
    with pytest.raises(InputError) as failure:
        loaded(tmp_path, text)
    found = str(failure.value)
    assert found.startswith(f"{tmp_path / 'own.yaml'}: ")
    assert message in found


def test_the_file_in_the_documentation_of_load_lexicon_loads_and_works_as_described(tmp_path):
    notes = load_lexicon.__doc__.partition("::\n\n")[2].partition("\n\n")[0]
    lexicon = loaded(tmp_path, notes)
    assert codes(lexicon, "the g-7 and the G7 and a G7 chord") == ["X-G7", "X-G7"]
    assert codes(lexicon, "Yankees Guinean Jersey") == ["USA", "?"]


def test_a_file_that_cannot_be_read_is_rejected(tmp_path):
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(InputError, match=rf"^{re.escape(str(path))}: file must be readable, got: \w+"):
            load_lexicon(path)


def test_an_alias_of_two_codes_is_fine_where_their_days_do_not_meet(tmp_path):
    first = TWO.replace("name: Aland", "name: Aland, to: 1999-06-14").replace("name: B", "from: 1999-06-15, name: B")
    assert codes(loaded(tmp_path, first), "Aland") == ["BBB"]
    with pytest.raises(InputError, match="must belong to one code on any day"):
        loaded(tmp_path, first.replace("06-14", "06-15"))


def test_every_shipped_name_that_is_no_country_takes_a_country_word_and_matches_nothing():
    lexicon = load_lexicon()
    for name in SHIPPED["not_countries"]:
        tokens = re.findall(r"(?:\w\.)+|St\.|Mt\.|\w+|[^\w\s]", name)
        assert lexicon.match(tokens, [-1] * len(tokens), None) == LexiconMatches({}, {}, 0), name
        # In capitals or not, some part of it would match by itself: else the name is not needed.
        parts = [
            [token if written else token.title() for token in tokens[begin:end]]
            for begin in range(len(tokens))
            for end in range(begin + 1, len(tokens) + 1)
            for written in (True, False)
        ]
        alone = [lexicon.match(part, [-1] * len(part), None) for part in parts if len(part) < len(tokens)]
        assert any(matches.codes or matches.n_ambiguous for matches in alone), name


@pytest.mark.parametrize("source", [5, ["countries"], {}])
def test_anything_but_a_path_is_rejected(source: Any) -> None:
    with pytest.raises(ParameterError, match=r"^lexicon must be a path or None, got "):
        load_lexicon(source)


@pytest.mark.parametrize(
    ("day", "expected"), [("1989-12-31", {}), ("1990-01-01", {1: "USA"}), ("1999-12-31", {1: "USA"})]
)
def test_a_dated_title_names_its_code_on_these_days(tmp_path: Path, day: str, expected: dict[int, str]) -> None:
    title = "  - {title: high warden, code: USA, from: 1990-01-01, to: 1999-12-31}\n"
    lexicon = loaded(tmp_path, f"version: 1\nextends: countries\ntitles:\n{title}")
    date = datetime.date.fromisoformat(day)
    assert lexicon.match(["High", "wardens", "left"], [1, 2, -1], date).codes == {}
    assert lexicon.match(["high", "warden", "left"], [1, 2, -1], date).codes == expected
    assert lexicon.match(["high", "warden"], [1, -1], None).codes == {1: "USA"}
    assert lexicon.match(["high", "warden"], [1, -1], datetime.date(2000, 1, 1)).codes == {}
