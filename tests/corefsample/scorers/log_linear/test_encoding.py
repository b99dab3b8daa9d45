"""Features: atoms of mentions and of pairs by hand, their hash, templates, and what a model is trained on."""

import dataclasses
import re
import zlib
from typing import Any

import numpy as np
import pytest
from encoded_texts import atoms, encoded, pairs_of
from places import TEST_DATA
from references import events as event_references, mention_ranking as ranking_references
from strategies import parses as strategies

from corefsample import ParameterError
from corefsample.documents._tokens import Tokens
from corefsample.languages._language import load_language
from corefsample.scorers._scoring import gold_of_parse
from corefsample.scorers.log_linear import _feature_codes as codes
from corefsample.scorers.log_linear._encoding import TemplateSet, features_hash
from corefsample.scorers.log_linear._examples import LONGEST_WINDOW, Reading, TrainingTexts, readings
from corefsample.scorers.log_linear._pair_kernels import Encoded
from corefsample.syntax import _codes as syntax_codes
from corefsample.syntax._codes import Naming
from corefsample.syntax._mentions import mentions_from_parse

# --- any document ------------------------------------------------------------------------------------------

# Of all atoms below: another number means that features have changed, which VERSION in `_encoding` must say.
ATOMS_OF_DRAWN_TEXTS = 4052094694


@pytest.mark.kernels
def test_features_of_drawn_and_hand_made_texts_are_those_that_models_were_trained_on() -> None:
    parses = [ranking_references.parsed(parse) for parse in ranking_references.PARSES.values()]
    texts = [
        strategies.Text(tokens, [tuple(span) for span in mentions_from_parse(tokens).tolist()]) for tokens in parses
    ]
    texts += [strategies.long_text(seed) for seed in range(24)]
    found = [(doc.atoms.tolist(), pairs_of(doc)) for doc in (encoded(*text) for text in texts)]
    assert zlib.crc32(repr(found).encode()) == ATOMS_OF_DRAWN_TEXTS


# --- by hand -----------------------------------------------------------------------------------------------


def sole(text: str, head: int) -> dict[str, int]:
    """Atoms of a mention that is all of a text."""
    tokens = ranking_references.parsed(text)
    return atoms(encoded(tokens, [(0, len(tokens), head)]))[0]


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("text", "head", "kind", "group"),
    [
        ("I I PRON 0 root", 0, "FIRST", "CLASS_SPEAKER"),
        ("you you PRON 0 root", 0, "SECOND", "CLASS_SPEAKER"),
        ("she she PRON 0 root", 0, "THIRD", "CLASS_THIRD"),
        ("himself himself PRON 0 root", 0, "REFLEXIVE_PRONOUN", "CLASS_THIRD"),
        ("this this DET 0 root", 0, "DEMONSTRATIVE_PRONOUN", "CLASS_DEMONSTRATIVE"),
        ("who who PRON 0 root", 0, "RELATIVE_PRONOUN", "CLASS_OTHER_PRONOUN"),
        ("everyone everyone PRON 0 root", 0, "OTHER_PRONOUN", "CLASS_OTHER_PRONOUN"),
        ("Mary Mary PROPN 0 root", 0, "NAME", "CLASS_NAME"),
        ("the the DET 2 det\nHague Hague PROPN 0 root", 1, "NAME_WITH_DETERMINER", "CLASS_NAME"),
        ("the the DET 2 det\ndog dog NOUN 0 root", 1, "DEFINITE", "CLASS_DEFINITE"),
        ("a a DET 2 det\ndog dog NOUN 0 root", 1, "INDEFINITE", "CLASS_INDEFINITE"),
        ("all all DET 3 det:predet\nthe the DET 3 det\ndogs dog NOUN 0 root", 2, "QUANTIFIED", "CLASS_INDEFINITE"),
        ("my my PRON 2 nmod:poss\ndog dog NOUN 0 root", 1, "PRONOUN_POSSESSED", "CLASS_POSSESSED"),
        ("Mary Mary PROPN 3 nmod:poss\n's 's PART 1 case\ndog dog NOUN 0 root", 2, "NOUN_POSSESSED", "CLASS_POSSESSED"),
        ("dog dog NOUN 0 root", 0, "BARE_SINGULAR", "CLASS_BARE"),
        ("dogs dog NOUN 0 root", 0, "BARE_PLURAL", "CLASS_BARE"),
        ("seven seven NUM 0 root", 0, "NUMBER", "CLASS_BARE"),
        ("to to PART 2 mark\nrun run VERB 0 root", 1, "VERBAL", "CLASS_CLAUSE"),
        ("the the DET 2 det\npoor poor ADJ 0 root", 1, "ADJECTIVAL", "CLASS_CLAUSE"),
        ("here here ADV 0 root", 0, "ADVERBIAL", "CLASS_CLAUSE"),
    ],
)
def test_a_mention_is_of_a_kind_and_a_class(text: str, head: int, kind: str, group: str) -> None:
    found = sole(text, head)
    assert (found["kind"], found["class"]) == (getattr(codes, kind), getattr(codes, group))


def phrases(*texts: str) -> Encoded:
    """Phrases, each a sentence: words, parts of speech, perhaps lemmas; the last noun is the head of the others."""
    blocks, spans, start = [], [], 0
    for text in texts:
        words = [word.split("/") for word in text.split()]
        head = max(place for place, (_, upos, *_) in enumerate(words) if upos in ("NOUN", "PROPN", "PRON"))
        labels = {"DET": "det", "ADJ": "amod", "NUM": "nummod", "PUNCT": "punct"}
        lines = []
        for place, (form, upos, *lemma) in enumerate(words):
            label = "root" if place == head else labels.get(upos, "compound" if place < head else "advmod")
            lines.append(
                f"{form} {lemma[0] if lemma else form.lower()} {upos} {0 if place == head else head + 1} {label}"
            )
        blocks.append("\n".join(lines))
        spans.append((start, start + len(words), start + head))
        start += len(words)
    return encoded(ranking_references.parsed("\n\n".join(blocks)), spans)


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("first", "second", "how", "numerals", "level"),
    [
        ("the/DET dog/NOUN", "The/DET dog/NOUN", "M_FULL", 0, 18),
        ("dog/NOUN", "dog/NOUN here/ADV", "M_CORE_BARE", 0, 16),
        ("big/ADJ dog/NOUN", "big/ADJ dog/NOUN here/ADV", "M_CORE_NESTED", 0, 14),
        ("old/ADJ dog/NOUN run/VERB", "old/ADJ dog/NOUN walk/VERB", "M_CORE", 0, 12),
        ("this/DET dog/NOUN", "not/PART dog/NOUN", "M_HEAD_BARE", 0, 18),
        ("big/ADJ old/ADJ dog/NOUN", "old/ADJ big/ADJ dog/NOUN", "M_HEAD_SAME", 0, 16),
        ("big/ADJ dog/NOUN", "dog/NOUN", "M_HEAD_LESS", 0, 10),
        ("dog/NOUN", "big/ADJ dog/NOUN", "M_HEAD_MORE", 0, 12),
        ("big/ADJ red/ADJ dog/NOUN", "big/ADJ old/ADJ dog/NOUN", "M_HEAD_SOME", 0, 8),
        ("red/ADJ dog/NOUN", "old/ADJ dog/NOUN", "M_HEAD_OTHER", 0, 6),
        ("dog/NOUN house/NOUN", "house/NOUN dog/NOUN", "M_BOTH_WITHIN", 0, 4),
        ("dog/NOUN house/NOUN", "dog/NOUN", "M_WITHIN_BARE", 0, 4),
        ("dog/NOUN house/NOUN", "red/ADJ dog/NOUN", "M_WITHIN", 0, 2),
        ("dog/NOUN", "dog/NOUN house/NOUN", "M_HOLDS_BARE", 0, 4),
        ("red/ADJ dog/NOUN", "dog/NOUN house/NOUN", "M_HOLDS", 0, 2),
        ("red/ADJ cat/NOUN", "red/ADJ dog/NOUN", "M_ONE_WORD", 0, 2),
        ("big/ADJ red/ADJ cat/NOUN", "big/ADJ red/ADJ dog/NOUN", "M_WORDS", 0, 2),
        ("the/DET European/PROPN Union/PROPN", "EU/PROPN", "M_ACRONYM", 0, 14),
        # Initials are read up to three words past the head, and not of a determiner.
        ("United/ADJ States/NOUN Of/ADP The/DET America/ADV", "USOA/PROPN", "M_ACRONYM", 0, 14),
        ("United/ADJ States/NOUN Of/ADP The/DET x/ADV America/ADV", "USOA/PROPN", "M_NONE", 0, 0),
        ("attacker/NOUN", "attack/NOUN", "M_STEM", 0, 6),
        # A description may mean a name of its class, an organisation of any class, or a name of which nothing is known.
        ("Liberation/PROPN Front/PROPN", "the/DET rebel/NOUN", "M_DESCRIBES", 0, 9),
        ("Mrs./PROPN Zyx/PROPN", "the/DET president/NOUN", "M_MAY_DESCRIBE", 0, 7),
        ("President/PROPN Zyx/PROPN", "the/DET general/NOUN", "M_DESCRIBES_OTHER", 0, 0),
        ("Zyx/PROPN", "the/DET rebel/NOUN", "M_DESCRIBES_UNKNOWN", 0, 5),
        ("Liberation/PROPN Front/PROPN", "rebel/NOUN", "M_NONE", 0, 0),
        ("two/NUM dogs/NOUN", "two/NUM dogs/NOUN", "M_FULL", 1, 18),
        ("two/NUM dogs/NOUN", "three/NUM dogs/NOUN", "M_HEAD_OTHER", 2, 4),
    ],
)
def test_phrases_match_in_one_way(first: str, second: str, how: str, numerals: int, level: int) -> None:
    pair = pairs_of(phrases(first, second))[1, 0]
    assert (pair["match"], pair["level"]) == (1 + 3 * getattr(codes, how) + numerals, level)


@pytest.mark.kernels
def test_a_new_description_is_up_to_two_sentences_behind_a_name_that_it_can_mean() -> None:
    doc = phrases("Acme/PROPN Corp/PROPN", "ZYX/PROPN", "Mrs./PROPN Zyx/PROPN", "the/DET company/NOUN")
    assert [pairs_of(doc)[3, k]["described"] for k in range(3)] == [0, 2, 0]  # Acme is three sentences before
    doc = phrases("Zyx/PROPN", "the/DET company/NOUN", "the/DET company/NOUN")
    assert [pairs_of(doc)[i, 0]["described"] for i in (1, 2)] == [3, 0]  # the second is not new


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("name", "description", "index"),
    [
        ("Liberation/PROPN Front/PROPN", "the/DET rebels/NOUN/rebel", 1),
        ("Liberation/PROPN Front/PROPN", "the/DET very/ADJ old/ADJ rebels/NOUN/rebel", 0),
        ("Liberation/PROPN Front/PROPN", "the/DET other/ADJ rebels/NOUN/rebel", 0),
        ("Liberation/PROPN Front/PROPN", "the/DET rebel/NOUN", 0),  # one member is not the group
        ("ZYX/NOUN", "the/DET company/NOUN", 2),
        ("EDITOR/NOUN", "the/DET company/NOUN", 0),  # a noun in capitals that is no name
        # Several companies are not one; the members of a group are no person.
        ("Acme/PROPN Corp/PROPN", "the/DET companies/NOUN/company", 0),
        ("Mrs./PROPN Zyx/PROPN", "the/DET rebels/NOUN/rebel", 0),
        # A person of whom nothing else is known; and of the wrong gender.
        ("Mrs./PROPN Zyx/PROPN", "the/DET teacher/NOUN", 3),
        ("Mrs./PROPN Zyx/PROPN", "the/DET boy/NOUN", 0),
        # The title itself, and another one.
        ("President/PROPN Zyx/PROPN", "the/DET president/NOUN", 1),
        ("Senator/PROPN Zyx/PROPN", "the/DET president/NOUN", 2),
        # A name of which nothing is known is a city's rather than a country's or a person's.
        ("Zyx/PROPN", "the/DET city/NOUN", 3),
        ("Zyx/PROPN", "the/DET country/NOUN", 0),
        # An indefinite noun of the class is a rival of names; one of another class is not, nor are several.
        ("a/DET firm/NOUN", "the/DET company/NOUN", 1),
        ("some/DET companies/NOUN/company", "the/DET firm/NOUN", 0),
        ("gunmen/NOUN/gunman", "the/DET attackers/NOUN/attacker", 1),
    ],
)
def test_what_a_description_can_mean_is_known_from_its_class_and_the_name(
    name: str, description: str, index: int
) -> None:
    assert pairs_of(phrases(name, description))[1, 0]["described"] == index


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("text", "naming"),
    [
        # In the text: before the name, as an apposition, by what the name modifies.
        ("President President PROPN 2 compound\nZyx Zyx PROPN 0 root", "PERSON POLITICIAN"),
        ("Zyx Zyx PROPN 0 root\n, , PUNCT 4 punct\na a DET 4 det\nuniversity university NOUN 1 appos", "SCHOOL"),
        ("Zyx Zyx PROPN 0 root", ""),
        ("Zyx Zyx PROPN 2 compound\nrebels rebel NOUN 0 root", "ARMED MEMBERS"),
        # By its words: of a country, with a given name, after "in".
        ("Chile Chile PROPN 0 root", "COUNTRY"),
        ("Mary Mary PROPN 2 compound\nZyx Zyx PROPN 0 root", "PERSON"),
        ("lived live VERB 0 root\nin in ADP 3 case\nZyx Zyx PROPN 1 obl:arg", "COUNTRY CITY AREA"),
        # A title may hang on the given name.
        (
            "President President PROPN 2 compound\nMaria Maria PROPN 3 nmod:desc\nZyx Zyx PROPN 0 root",
            "PERSON POLITICIAN",
        ),
    ],
)
def test_what_a_name_means_is_in_its_words_and_around_it(text: str, naming: str) -> None:
    tokens = ranking_references.parsed(text)
    head = tokens.text.index("Zyx") if "Zyx" in tokens.text else 0
    first = atoms(encoded(tokens, [(0 if tokens.dep[head] == "root" else head, head + 1, head)]))[0]
    assert first["naming"] == sum(getattr(Naming, name) for name in naming.split())


GOVERNORS = (TEST_DATA / "governors.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.kernels
@pytest.mark.parametrize("case", [line for line in GOVERNORS if not line.startswith("#")])
def test_the_subject_above_a_clause_governs_it(case: str) -> None:
    text, later, expected = case.split(" | ")
    tokens = event_references.parsed(*text.split(" ; "))
    spans = mentions_from_parse(tokens, scheme="ud2").tolist()
    names = [" ".join(tokens.text[start:end]) for start, end, _ in spans]
    pairs, i = pairs_of(encoded(tokens, spans, scheme="ud2")), names.index(later)
    found = {f"{names[k]} {pairs[i, k]['governs']} {pairs[i, k]['raised']}" for k in range(i)}
    assert {line for line in found if not line.endswith(" 0 0")} == {*expected.split("; ")}


def style(n_tokens: int, n_sentences: int, n_marked: int, word: str) -> dict[str, int]:
    """Atoms of a document of so many tokens, some of which are a certain word."""
    form, upos = word.split("/")
    marked = [form] * n_marked + ["x"] * (n_tokens - n_marked)
    tokens = Tokens(
        marked, marked, [upos] * n_marked + ["NOUN"] * (n_tokens - n_marked), ["dep"] * n_tokens, np.full(n_tokens, -1),
        np.minimum(np.arange(n_tokens), n_sentences - 1),
    )  # fmt: skip
    return atoms(encoded(tokens, [(n_tokens - 1, n_tokens, n_tokens - 1)]))[0]


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("n_tokens", "n_sentences", "n_marked", "word", "style_code", "dialogue"),
    [
        # Words per sentence: up to 11, 15, 19, more; the shortest count in the dialogue's code too.
        (440, 40, 0, "oh/INTJ", 1, 17),
        (441, 40, 0, "oh/INTJ", 2, 1),
        (601, 40, 0, "oh/INTJ", 3, 1),
        (761, 40, 0, "oh/INTJ", 4, 1),
        # Interjections: 0.5%, 2%, 4% of the words.
        (1000, 1, 4, "oh/INTJ", 4, 1),
        (1000, 1, 5, "oh/INTJ", 8, 1),
        (1000, 1, 20, "oh/INTJ", 12, 1),
        (1000, 1, 40, "oh/INTJ", 16, 1),
        # First and second persons alike: 0.5%, 2%, 4%; from 2% on in the style's code too. All second: the last step.
        (1000, 1, 4, "i/PRON", 4, 1),
        (1000, 1, 5, "i/PRON", 4, 2),
        (1000, 1, 20, "i/PRON", 20, 3),
        (1000, 1, 40, "i/PRON", 20, 4),
        (1000, 1, 40, "you/PRON", 20, 16),
        (1000, 1, 40, "your/PRON", 4, 13),
    ],
)
def test_the_style_of_a_text_depends_on_shares(
    n_tokens: int, n_sentences: int, n_marked: int, word: str, style_code: int, dialogue: int
) -> None:
    found = style(n_tokens, n_sentences, n_marked, word)
    assert (found["style"], found["dialogue"]) == (style_code, dialogue)


def said(*lines: str) -> Encoded:
    """Lines such as "Ann: I you Bo", each word a pronoun, or a name, and a mention; without "Ann:" nobody speaks."""
    names, blocks = [], []
    for line in lines:
        name, _, words = line.rpartition(":")
        names += [name] * len(words.split())
        tagged = [(word, "PROPN" if word[1:] and word.istitle() else "PRON") for word in words.split()]
        blocks.append("\n".join(f"{word} {word} {tag} {min(t, 1)} root" for t, (word, tag) in enumerate(tagged)))
    tokens = dataclasses.replace(ranking_references.parsed("\n\n".join(blocks)), extra={"speaker": names})
    return encoded(tokens, [(t, t + 1, t) for t in range(len(names))])


@pytest.mark.kernels
@pytest.mark.parametrize("unnamed", ["", "-", "_"])
def test_speakers_matter_by_who_is_who_and_not_by_name(unnamed: str) -> None:
    lines = ["{}: I you", "{}: you me", "{}: I", "{}: we you"]
    first, second = (
        said(*(line.format(name) for line, name in zip(lines, names, strict=True)))
        for names in (("Ann", "Bob", "Ann", ""), ("speaker 2", "1", "speaker 2", unnamed))
    )
    assert atoms(first) == atoms(second)
    assert pairs_of(first) == pairs_of(second)


@pytest.mark.kernels
def test_mentions_that_can_mean_the_same_speaker() -> None:
    # Initials of the two whom each mention can mean: of "you", those who speak before and after.
    whom = ["AA", "BB", "AC", "BB", "BB", "AA", "", "", "", "", "AA"]
    for (i, k), pair in pairs_of(said("Ann Lee: I you", "Bob: you me", "Cy: you Lee Xu", "I you An Ann")).items():
        same = sum((whom[i][n // 2] == whom[k][n % 2]) << n for n in range(4)) if whom[i] and whom[k] else -1
        assert pair["meant"] == 1 + same
    assert [pair["meant"] for pair in pairs_of(said("Ann: you I you")).values()] == [1, 1, 16]


def test_a_speaker_that_is_no_string_is_rejected() -> None:
    tokens = dataclasses.replace(ranking_references.parsed("I I PRON 0 root"), extra={"speaker": [7]})
    with pytest.raises(ParameterError, match=r"^tokens.speaker\[0\] must be a string, got 7"):
        encoded(tokens, [(0, 1, 0)])


# --- the hash in a model file ----------------------------------------------------------------------------------

MODULES = (syntax_codes, codes)
ENGLISH = load_language("en")
HASH = features_hash(ENGLISH)
NUMBERS = [
    (module, name)
    for module in MODULES
    for name, value in vars(module).items()
    if isinstance(value, (int, float, tuple)) and not name.startswith("__")
]


def changed(value: Any) -> list[Any]:
    """A number, or each number of a table, raised by one."""
    if not isinstance(value, tuple):
        return [value + 1]
    others = [f"{item}x" if isinstance(item, str) else item + 1 for item in value]
    tables = [(*value[:place], other, *value[place + 1 :]) for place, other in enumerate(others)]
    return [type(value)(*table) for table in tables] if hasattr(value, "_fields") else tables


@pytest.mark.parametrize(("module", "name"), NUMBERS, ids=[name for _, name in NUMBERS])
def test_any_other_code_or_limit_gives_another_hash(module: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "UPOS":  # the names of `Upos`
        return
    for value in changed(getattr(module, name)):
        monkeypatch.setattr(module, name, value)
        assert features_hash.__wrapped__(ENGLISH) != HASH


# --- what a model is trained on -------------------------------------------------------------------------------

NOUNS = ("king", "queen", "dog") * 5
TEXT = "\n\n".join(
    f"the the DET 2 det\n{noun} {noun} NOUN 3 nsubj\nsaw see VERB 0 root\nher she PRON 3 obj" for noun in NOUNS
)


def whole() -> Reading:
    """15 sentences of two mentions each: the noun is an entity by its word, every "her" is the queen."""
    mentions = [[4 * s + first, 4 * s + end, 4 * s + end - 1] for s in range(15) for first, end in ((0, 2), (3, 4))]
    gold = [entity for noun in NOUNS for entity in (noun, "queen")]
    return Reading(ranking_references.parsed(TEXT), np.array(mentions, np.int32), list(gold), "ud2")


def words(reading: Reading) -> list[tuple[str, str | int | None]]:
    """Words of each mention, and its entity."""
    spans = zip(reading.mentions.tolist(), reading.gold, strict=True)
    assert all(start <= head < end for start, end, head in reading.mentions.tolist())
    return [(" ".join(reading.tokens.text[start:end]), entity) for (start, end, _), entity in spans]


def test_windows_are_whole_sentences_with_their_mentions_and_half_have_the_first_sentence() -> None:
    in_front, seen = 0, 0
    for number in range(60):
        first, *windows = readings(whole(), TrainingTexts([], windows=True), 0, f"d{number}", ENGLISH)
        assert first.tokens is whole().tokens or len(first.tokens) == 60
        order: list[str] = []
        for window in windows:
            n = int(window.tokens.sent.max()) + 1
            assert len(window.tokens) == 4 * n
            assert window.tokens.sent.tolist() == [s for s in range(n) for _ in range(4)]
            assert window.tokens.head.tolist() == [4 * s + k if k >= 0 else -1 for s in range(n) for k in (1, 2, -1, 2)]
            entities = dict(words(window))
            assert entities == {**{f"the {noun}": noun for noun in NOUNS if f"the {noun}" in entities}, "her": "queen"}
            assert n <= LONGEST_WINDOW + 1
            order += [entity for text, entity in words(window) if text != "her"]
            seen, in_front = seen + 1, in_front + (n > 1 and window.tokens.text[1] == "king")
        assert len(order) >= 15
    assert seen > 150
    assert in_front > seen / 4


def test_windows_are_fixed_by_seed_and_document() -> None:
    def texts(seed: int, doc_id: str) -> list[str]:
        texts = TrainingTexts([], mentions="both", windows=True)
        return [" ".join(each.tokens.text) for each in readings(whole(), texts, seed, doc_id, ENGLISH)]

    assert texts(0, "a") == texts(0, "a")
    assert texts(0, "a") != texts(1, "a")
    assert texts(0, "a") != texts(0, "b")
    assert len([*readings(whole(), TrainingTexts([], mentions="both"), 0, "a", ENGLISH)]) == 2


def test_mentions_of_the_parse_have_the_gold_of_their_span_or_head_or_are_alone() -> None:
    given = whole()
    # "the king" is annotated without its article, "her" of the first sentence and the second noun not at all.
    mentions, gold = given.mentions.copy(), list(given.gold)
    mentions[0, 0] = 1
    kept = [i for i in range(len(gold)) if i not in (1, 2)]
    partly = Reading(given.tokens, mentions[kept], [gold[i] for i in kept], "ud2")
    (found,) = readings(partly, TrainingTexts([], mentions="parse"), 0, "a", ENGLISH)
    names = words(found)
    assert names[0] == ("the king", "king")
    assert names[3:5] == [("her", "queen"), ("the dog", "dog")]
    alone = [entity for _, entity in names[1:3]]
    assert len(set(alone)) == 2
    assert not set(alone) & set(gold)
    (found,) = readings(partly, TrainingTexts([], mentions="parse", partial=True), 0, "a", ENGLISH)
    assert words(found) == [*names[:1], (names[1][0], None), (names[2][0], None), *names[3:]]


@pytest.mark.parametrize(
    ("spans", "gold", "expected"),
    [
        ([[0, 3, 2]], ["a"], ["a", None]),
        ([[1, 3, 2]], ["a"], [None, "a"]),
        ([[1, 4, 2]], ["a"], [None, "a"]),  # the same head: the shortest of this head has it, no coordination
        ([[0, 3, 2], [1, 3, 2]], ["a", "b"], ["a", "b"]),
        ([[0, 2, 1]], ["a"], [None, None]),
        ([[0, 3, 2], [0, 4, 2]], ["a", "b"], ["a", "b"]),
    ],
)
def test_gold_by_span_and_then_by_head(spans: list[list[int]], gold: list[str], expected: list[str | None]) -> None:
    found = np.array([[0, 3, 2], [1, 3, 2]])
    assert gold_of_parse(np.array(spans), list(gold), found) == expected


# --- templates ------------------------------------------------------------------------------------------------

GOOD = {"pronoun": ["i.any"], "phrase": ["pair.match"], "new": ["i.kind"]}
BAD = {
    "pronoun": ("i.colour", "1.5* i.any", "i.any i.kind i.head i.role i.link", "pair.match pair.agree pair.quotes"),
    "phrase": ("pair.kind", "i.match", "pair.nothing", "kind", "j.kind", "best.match"),
    "new": ("k.kind", "pair.match", "best.far"),
}


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, lines in BAD.items() for line in lines])
def test_a_template_that_cannot_be_read_is_rejected(name: str, line: str) -> None:
    rule = f"templates.{name}[1] must be a template of known atoms, got {line!r}"
    with pytest.raises(ParameterError, match=f"^{re.escape(rule)}$"):
        TemplateSet(**{**GOOD, name: [*GOOD[name], line]})
