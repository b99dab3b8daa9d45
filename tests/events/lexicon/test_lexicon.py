import datetime
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, strategies as st
from places import TEST_DATA, data_lines

import corefsample
from corefsample import InputError, ParameterError
from events.lexicon._file import shipped_content
from events.lexicon._lexicon import Lexicon, LexiconMatches, load_lexicon

ISO_CODES = data_lines("iso3166_alpha3.txt")
ADJECTIVES = dict(line.split(" ", 1) for line in data_lines("country_adjectives.txt"))
# Nobody lives there, or they have no word that is theirs alone, or (KIR) one that the lexicon leaves out.
NO_ADJECTIVE = {
    *("ATF", "BLM", "BVT", "CAF", "COD", "COG", "DMA", "DOM", "HMD", "KIR"),
    *("MAF", "SGS", "SJM", "SPM", "SXM", "UMI", "VAT", "VIR"),
}


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return load_lexicon()


def found(lexicon: Lexicon, text: str, date: str | None = "1999-06-15") -> dict[str, str]:
    """Matched text to code; every token of `text` (split at spaces) is a root."""
    tokens = text.split(" ")
    matches = lexicon.match(tokens, [-1] * len(tokens), datetime.date.fromisoformat(date) if date else None)
    return {" ".join(tokens[slice(*matches.spans[head])]): code for head, code in matches.codes.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("U.S.", {"U.S.": "USA"}),
        ("in the U. S. today", {"U. S.": "USA"}),
        ("in the U.S . Today", {"U.S .": "USA"}),
        ("in the U . S . today", {"U . S .": "USA"}),
        ("the U. S. A. won", {"U. S. A.": "USA"}),
        ("Guinea-Bissau", {"Guinea-Bissau": "GNB"}),
        ("Guinea - Bissau", {"Guinea - Bissau": "GNB"}),
        ("Guinea‑Bissau", {"Guinea‑Bissau": "GNB"}),
        ("Cote d'Ivoire", {"Cote d'Ivoire": "CIV"}),
        ("Cote d’ Ivoire", {"Cote d’ Ivoire": "CIV"}),
        ("Côte d ' Ivoire", {"Côte d ' Ivoire": "CIV"}),
        ("People 's Republic of China", {"People 's Republic of China": "CHN"}),
        ("United\u00a0Kingdom", {"United\u00a0Kingdom": "GBR"}),
        ("Ｉｒａｑ", {"Ｉｒａｑ": "IRQ"}),
    ],
)
def test_the_way_a_text_is_cut_into_tokens_does_not_matter(lexicon, text, expected):
    assert found(lexicon, text) == expected


@pytest.mark.parametrize(
    "text",
    ["I ran", "to go home", "Ben in Paris", "O man", "U S", "us", "let us in", "Us", "U SA", "Ma li", "Iraqs",
     "pan-American", "American-led", "Southern", "the Unit ed States", "U.", "States"],
)  # fmt: skip
def test_only_whole_tokens_match_and_never_across_the_middle_of_a_word(lexicon, text):
    assert found(lexicon, text) == {}


def test_a_span_counts_at_the_token_whose_head_is_outside(lexicon):
    #          United(0) States(1) of(2) America(3): UD heads
    matches = lexicon.match(["United", "States", "of", "America", "attacked"], [1, 4, 3, 1, -1], None)
    assert matches == LexiconMatches({1: "USA"}, {1: (0, 4)}, 0)
    #          Papua(0) New(1) Guinea(2), flat: headed by the first
    assert lexicon.match(["Papua", "New", "Guinea"], [-1, 0, 0], None).codes == {0: "PNG"}


def test_of_several_tokens_with_a_head_outside_the_last_word_counts(lexicon):
    assert lexicon.match(["South", "Korean", "army"], [2, 2, -1], None).codes == {1: "KOR"}
    # The full stop hangs on the verb, outside of the span, but it is no word.
    assert lexicon.match(["left", "the", "U.S", "."], [-1, 2, 0, 0], None).codes == {2: "USA"}
    assert lexicon.match(["U", ".", "S", "."], [3, 3, 3, -1], None).codes == {3: "USA"}


@pytest.mark.parametrize(
    ("text", "last", "before", "after"),
    [
        ("Russian", "1991-12-25", "SUN", "RUS"),
        ("Zaire", "1997-05-16", "ZAR", "COD"),
        ("Czechs", "1992-12-31", "CSK", "CZE"),
    ],
)
def test_the_date_chooses_between_codes_that_share_a_name(lexicon, text, last, before, after):
    assert found(lexicon, text, last) == {text: before}
    assert found(lexicon, text, str(np.datetime64(last) + 1)) == {text: after}


@pytest.mark.parametrize("date", ["1895-01-01", "1990-01-01", "2010-01-01", None])
def test_a_name_of_one_code_names_it_at_any_date(lexicon, date):
    names = {"Yugoslavia": "YUG", "East German": "DDR", "Soviet": "SUN", "Czechoslovak": "CSK"}
    for text, code in (names | {"Serbia and Montenegro": "SCG", "South Yemen": "YMD"}).items():
        assert found(lexicon, text, date) == {text: code}


def test_a_shared_name_without_a_date_is_ambiguous_and_outside_all_validity_is_nothing(lexicon):
    assert lexicon.match(["Russian"], [-1], None) == LexiconMatches({}, {}, 1)
    assert lexicon.match(["Russian"], [-1], datetime.date(1900, 1, 1)) == LexiconMatches({}, {}, 0)


def test_ambiguous_names_match_nothing_and_are_counted(lexicon):
    text = ["Korean", "Congolese", "South", "Korean", "Dominican", "Republic", "Dominican"]
    matches = lexicon.match(text, [-1] * len(text), datetime.date(1996, 1, 1))
    assert sorted(matches.codes.values()) == ["DOM", "KOR"]
    assert matches.n_ambiguous == 3


def test_cased_names_match_only_as_they_are_written(lexicon):
    for name, code in {"US": "USA", "Turkey": "TUR", "Polish": "POL", "Chad": "TCD", "China": "CHN"}.items():
        assert found(lexicon, name) == {name: code}
        assert found(lexicon, name.lower()) == {}
    assert found(lexicon, "Us") == {}
    assert found(lexicon, "TURKEY") == {"TURKEY": "TUR"}  # listed, for headlines
    assert found(lexicon, "JERSEY") == {}


def test_every_code_matches_its_own_name_while_it_is_valid(lexicon):
    for code, name in lexicon.names.items():
        date = lexicon.validity[code][1]
        assert found(lexicon, name, date.isoformat()) == {name: code}


def test_every_code_matches_an_adjective_or_demonym_where_it_has_one(lexicon):
    assert set(ADJECTIVES) | NO_ADJECTIVE == {*ISO_CODES, "XKX"}
    assert not set(ADJECTIVES) & NO_ADJECTIVE
    for code, text in ADJECTIVES.items():
        assert found(lexicon, text, "2024-01-01") == {text: code}


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("Iraqi", "did you mean IRQ (Iraq)"),
        ("usa", "did you mean USA (United States)"),
        ("NATO", "did you mean X-NATO (NATO)"),
        ("Q,Q>", "none of 282 in countries is similar"),
    ],
)
def test_an_unknown_code_is_rejected_with_the_codes_that_it_may_mean(lexicon, code, hint):
    for ask in (lexicon.name, lexicon.require):
        with pytest.raises(ParameterError) as failure:
            ask(code)
        assert f"must be a country code of the lexicon, got {code!r} ({hint}" in str(failure.value)


ALIASES = {
    "AAA": ["U.S.", "U.S", "United States", "United States of America", "America"],
    "BBB": ["Guinea", "Republic of Guinea"],
    "CCC": ["Guinea-Bissau"],
    "DDD": ["Côte d'Ivoire"],
    "EEE": ["Iran", "Togo", "go", "To gonzo", "South Korean", "People's Republic of Korea"],
    "": ["New Guinea", "South America", "Korea", "Republic of America"],
}
WORDS = st.sampled_from(
    [
        *("U.S.", "U", ".", "S", "United", "States", "of", "America", "America.", "UnitedStates", "Republic"),
        *("Guinea", "Guinea-", "-", "Bissau", "New", "Côte", "d", "'", "d'Ivoire", "Ivoire", "People", "'s"),
        *("I", "ran", "Iran", "To", "go", "South", "Korean", "SouthKorean", "Korea", "\n"),
    ]
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Lexicon:
    """The lexicon of ALIASES."""
    path = tmp_path_factory.mktemp("lexicon") / "small.yaml"
    entries = [{"code": code, "name": code, "aliases": words} for code, words in ALIASES.items() if code]
    path.write_text(json.dumps({"version": 1, "entries": entries, "not_countries": ALIASES[""]}))
    return load_lexicon(path)


@given(st.lists(WORDS | st.text(max_size=4), max_size=12))
def test_may_start_is_true_for_the_first_token_of_each_match(lexicon, tokens):
    starts = lexicon.may_start(tokens)
    matches = lexicon.match(tokens, [-1] * len(tokens), None)
    assert starts.dtype == np.bool_
    assert starts.shape == (len(tokens),)
    assert all(starts[start] for start, _ in matches.spans.values())
    assert starts.any() or matches.n_ambiguous == 0


def test_may_start_is_false_for_most_words_and_for_names_that_are_no_countries(lexicon):
    words = ["the", "attacked", "us", "U", "South", "Persian", "turkey", "ethnic", ""]
    assert lexicon.may_start(words).tolist() == [False, False, False, True, True, True, False, False, False]


@given(st.lists(WORDS, max_size=10))
def test_match_agrees_with_the_obvious_slow_search(small, tokens):
    expected, start = {}, 0
    while start < len(tokens):
        ends = [
            (end, code)
            for code, aliases in ALIASES.items()
            for end in range(start + 1, len(tokens) + 1)
            if tokens[start].strip() and tokens[end - 1].strip()
            if any(spelled_by(alias, [t for t in tokens[start:end] if t.strip()]) for alias in aliases)
        ]
        end, code = max(ends, default=(start + 1, ""))
        if code:
            expected[(start, end)] = code
        start = end
    matches = small.match(tokens, [-1] * len(tokens), None)
    assert {matches.spans[head]: code for head, code in matches.codes.items()} == expected


def spelled_by(alias: str, tokens: list[str]) -> bool:
    """Whether each token is made of whole pieces (words or single signs) of the alias, in order."""
    pieces = re.findall(r"\w+|[^\w\s]", alias)
    for token in tokens:
        text = ""
        while pieces and text != token:
            text += pieces.pop(0)
        if text != token:
            return False
    return not pieces and bool(tokens)


GOVERNMENTS = [
    ("Mr. Bush met Mr. Putin", "2001-06-16", {"USA": ["Mr. Bush"], "RUS": ["Mr. Putin"]}),
    ("Mr. Bush met Mr. Putin", "1999-06-16", {}),  # before their offices
    ("Mr. Bush met Mr. Yeltsin", "1992-06-16", {"USA": ["Mr. Bush"], "RUS": ["Mr. Yeltsin"]}),
    ("George Bush and George W. Bush", "2001-06-16", {"USA": ["George Bush", "George W. Bush"]}),
    ("Bush , Jeb Bush and Laura Bush", "2001-06-16", {}),  # a surname alone
    ("Vice President Bush", "1988-12-01", {}),
    ("Hillary Clinton , Mrs. Clinton and Mr. Clinton", "1999-01-01", {"USA": ["Mr. Clinton"]}),
    (
        "President Kim Dae-jung and Kim Jong-il",
        "2000-06-13",
        {"KOR": ["President Kim Dae-jung"], "PRK": ["Kim Jong-il"]},
    ),
    ("President Kim", "2000-06-13", {"KOR": ["President Kim"]}),
    ("President Kim", "1994-01-01", {}),  # of South or of North Korea
    ("the Kremlin and Moscow", "1991-12-26", {"RUS": ["Kremlin", "Moscow"]}),
    (
        "the White House and a white house on Downing Street",
        "2000-01-01",
        {"USA": ["White House"], "GBR": ["Downing Street"]},
    ),
    ("Washington , the Washington Post and George Washington", "2000-01-01", {"USA": ["Washington"]}),
]


@pytest.mark.parametrize(
    ("text", "day", "expected"), GOVERNMENTS, ids=[f"{text} {day}" for text, day, _ in GOVERNMENTS]
)
def test_leaders_and_capitals_are_names_of_countries(text: str, day: str, expected: dict[str, list[str]]) -> None:
    words = text.split()
    matches = load_lexicon("governments").match(words, [-1] * len(words), datetime.date.fromisoformat(day))
    names: dict[str, list[str]] = {}
    for head, code in matches.codes.items():
        names.setdefault(code, []).append(" ".join(words[slice(*matches.spans[head])]))
    assert (names, matches.n_ambiguous) == (expected, 0)


def test_every_title_of_a_leader_is_dated_and_names_its_country_alone() -> None:
    """On every first and last day of some title, each title of that day has one code."""
    titles = shipped_content("leaders").titles
    lexicon = load_lexicon("leaders")
    for title in titles:
        for day in filter(None, (title.start, title.end)):
            words = re.findall(r"[\w.'’-]+", title.alias.written)
            assert set(lexicon.match(words, [-1] * len(words), day).codes.values()) == {title.code}, title


def test_lexicons_can_be_combined_by_a_file(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("version: 1\nextends: [forces, leaders]\nremove: [REBEL]\n", "utf-8")
    lexicon = load_lexicon(path)
    assert found(lexicon, "The NYPD met Saddam and the rebels") == {"NYPD": "USA:POLICE", "Saddam": "IRQ"}
    assert (lexicon.name("PAK:ARMY"), lexicon.kinds["PAK:ARMY"]) == ("Pakistan: Army", "army")
    assert not any("REBEL" in code for code in lexicon.codes)
    assert lexicon.inner_codes == {"POLICE", "ARMY", "SECURITY", "PROTESTER"}
    assert load_lexicon("police").codes == tuple(code for code in load_lexicon("forces").codes if ":" not in code)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (["USA"], ["GBR"], True),
        (["USA"], ["USA"], False),
        (["USA", "GBR"], ["GBR"], False),  # one names all of the other
        (["USA", "GBR"], ["GBR", "FRA"], True),
        (["SUN"], ["RUS"], False),  # a state and its successor
        (["UKR"], ["RUS"], True),  # two successors
        (["USA"], ["PRI"], False),  # a territory
        (["POLICE", "IND"], ["IND"], False),  # the police of a country
        (["POLICE", "IND"], ["PAK"], True),
        (["POLICE"], ["REBEL"], True),
        (["POLICE"], ["SECURITY"], False),
        (["POLICE"], ["IND"], False),
        (["ARMY", "IND"], ["ARMY", "PAK"], True),  # armies of two countries
        (["ARMY", "IND"], ["ARMY"], False),  # an army of an unknown country
    ],
)
def test_actors_are_distinct_unless_one_set_has_the_other(one: list[str], other: list[str], expected: bool) -> None:
    lexicon = load_lexicon("police")
    assert lexicon.are_distinct(one, other) == lexicon.are_distinct(other, one) == expected


# --- files ----------------------------------------------------------------------------------------------


SHIPPED = yaml.safe_load((Path(corefsample.__file__).parent / "languages" / "en" / "countries.yaml").read_text("utf-8"))

ONE = "version: 1\nentries:\n  - {code: AAA, name: Aland, aliases: [Aland]}\n"
TWO = ONE + "  - {code: BBB, name: Beland, aliases: [Beland, Aland]}\n"
MORE = "version: 1\nextends: countries\n"


def loaded(tmp_path: Path, text: str) -> Lexicon:
    path = tmp_path / "own.yaml"
    path.write_text(text, "utf-8")
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
REFUSED: list[tuple[str, str]] = re.findall(r"^===\n(.*?)\n-> ([^\n]*)$", CASES, flags=re.M | re.S)


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
