"""Languages: their resources, which language a document is in, and what features and mentions make of them."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from expected_errors import error

from corefsample import AntecedentDistribution, InputError, ParameterError, ScoredDocument, Tokens
from corefsample.languages._language import Language, declared_language, load_language, shipped_languages
from corefsample.scorers import load_scorer, score_documents
from corefsample.scorers._scoring import ScoringTally
from corefsample.scorers.log_linear._training import train
from corefsample.syntax._codes import Column, Gender, Kind, Meaning, Number
from corefsample.syntax._mentions import cannot_link_pairs, mentions_from_parse
from corefsample.syntax._paths import ParseView
from corefsample.syntax._schemes import SCHEMES
from corefsample.syntax._words import SINGULAR_NOUN, THEY, mention_kinds, word_rows

SPANISH, NONE, KOREAN = map(load_language, ("es", "none", "ko"))


def parsed(*rows: str) -> Tokens:
    """Rows "FORM LEMMA UPOS HEAD LABEL FEATS", heads from 1; the form _ is that of an empty node."""
    columns = list(zip(*(row.split() for row in rows), strict=True))
    text, lemma, upos, heads, dep, feats = map(list, columns)
    empty = ["_" if form == "_" else "" for form in text]
    extra: dict[str, Sequence[Any]] = {"feats": feats}
    if any(empty):
        extra["empty"] = empty
    head = np.array([int(each) - 1 for each in heads])
    return Tokens([form.strip("_") for form in text], lemma, upos, dep, head, np.zeros(len(text), int), extra)


# Los rusos atacaron su base ; [ellos] se retiraron .
STORY = parsed(
    "Los el DET 2 det Definite=Def|Gender=Masc|Number=Plur|PronType=Art",
    "rusos ruso NOUN 3 nsubj Gender=Masc|Number=Plur",
    "atacaron atacar VERB 0 root Mood=Ind|Number=Plur|Person=3|Tense=Past|VerbForm=Fin",
    "su su DET 5 det Number=Sing|Person=3|Poss=Yes|PronType=Prs",
    "base base NOUN 3 obj Gender=Fem|Number=Sing",
    "; ; PUNCT 3 punct _",
    "_ _ PRON 9 nsubj _",
    "se él PRON 9 expl:pv Person=3|PronType=Prs|Reflex=Yes",
    "retiraron retirar VERB 3 conj Mood=Ind|Number=Plur|Person=3|Tense=Past|VerbForm=Fin",
)


# --- resources ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", shipped_languages())
def test_every_shipped_language_can_be_read_and_its_words_are_lower_case(name: str) -> None:
    language = load_language(name)
    words = [word for each in language.pronouns for word in each.words]
    assert words == [word.lower() for word in words]
    assert all(count == 1 for count in Counter(words).values())
    assert set(language.words) <= set(load_language("en").words) | set(_condition_words())
    meanings = {each.lower() for each in Meaning._fields}
    assert set(language.endings) <= meanings
    assert load_language(name) is language


def _condition_words() -> list[str]:
    from events.rules._conditions import shipped_file

    return list(shipped_file().words)


def test_regular_and_irregular_verbs_have_their_forms() -> None:
    forms = """shoot shoots shot shooting, rape rapes raped raping, gun guns gunned gunning,
    storm storms stormed storming, machine-gun machine-guns machine-gunned machine-gunning,
    rally rallies rallied rallying, die dies died dying, flee flees fled fleeing, find finds finding,
    torpedo torpedoes torpedoed torpedoing, jail jails jailed jailing"""
    assert all(load_language("en").inflected(words[0]) == words[1:] for words in map(str.split, forms.split(",")))
    assert {"kidnapped", "kidnaped"} < {*load_language("en").inflected("kidnap")}


def test_a_language_without_a_folder_has_the_features_of_the_parse_alone() -> None:
    russian = load_language("ru")
    assert (russian.code, russian.resources) == ("ru", "none")
    assert russian.checksum == NONE.checksum != SPANISH.checksum
    assert load_language("pt-BR").code == "pt"


def test_the_resources_of_a_folder_are_read_and_travel_in_the_model(tmp_path: Path) -> None:
    folder = tmp_path / "xy"
    folder.mkdir()
    (folder / "language.yaml").write_text("pronouns: [{words: [zo], kind: personal, person: 3, number: plural}]\n")
    (folder / "nouns.txt").write_text("# classes\nperson: blork\n\nplace: zoo blork\n")
    own = load_language(folder)
    assert (own.code, own.noun_classes) == ("xy", {"blork": "person", "zoo": "place"})
    table = word_rows(parsed("zo zo PRON 0 root _", "blork blork NOUN 1 nsubj _"), own)
    assert table[0, [Column.KIND, Column.PERSON, Column.NUMBER]].tolist() == [Kind.PERSONAL, 3, Number.PLURAL]
    assert table[1, Column.MEANING] == Meaning.PERSON
    again = Language.from_json(msgspec.json.decode(msgspec.json.encode(own.to_json())))
    assert (again.checksum, again.code) == (own.checksum, "xy")
    model = train([document(STORY, [(0, 2, 1), (3, 4, 3)], [1, 1])], language=folder, epochs=1, bits=8)  # type: ignore[arg-type]
    model.save(tmp_path / "m.npz")
    assert load_scorer(tmp_path / "m.npz").language.noun_classes == own.noun_classes


@pytest.mark.parametrize(
    "content", ["pronoun: []", "pronouns: [{words: [a], kind: human}]", "[1]", "descriptions: {firm: [a]}", "a: ["]
)
def test_a_bad_folder_is_an_error_that_names_the_file(content: str, tmp_path: Path) -> None:
    (tmp_path / "language.yaml").write_text(content)
    with error(InputError, place="language.yaml"):
        load_language(tmp_path)


def test_a_name_that_is_no_code_and_no_folder_is_an_error(tmp_path: Path) -> None:
    for name in (tmp_path / "none", "x1", ""):
        with error(ParameterError, "language"):
            load_language(name)


# --- which language ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "path", "code"),
    [
        ({"lang": "es"}, "", "es"),
        ({"language": "es-AR"}, "", "es"),
        ({"lang": "spa"}, "en_gum.conllu", "es"),
        ({"language": "the language of birds"}, "", None),
        ({"lang": 3}, "", None),
        ({}, "a/es_ancora-corefud-train.conllu.gz", "es"),
        ({}, "es_ancora.jsonl", None),
        ({}, "no_bokmaalnarc-ud-dev.conllu", "no"),
        ({}, "corpus_train.conllu", None),
        ({}, "my_corpus-train.conllu", None),
        ({}, "en_corpus.conllu", None),
    ],
)
def test_a_document_or_the_name_of_its_file_says_its_language(
    metadata: dict[str, Any], path: str, code: str | None
) -> None:
    assert declared_language(metadata, path) == code


# --- features and mentions ---------------------------------------------------------------------------------

GRAMMAR = [Column.KIND, Column.PERSON, Column.NUMBER, Column.GENDER]


def grammar(tokens: Tokens, place: int, language: Language) -> list[int]:
    found: list[int] = word_rows(tokens, language)[place, GRAMMAR].tolist()
    return found


def test_features_come_first_and_lists_add() -> None:
    pronoun = parsed("ella él PRON 0 root Number=Plur|PronType=Prs")
    # Number by the features although the list says singular; person and gender by the list.
    assert grammar(pronoun, 0, SPANISH) == [Kind.PERSONAL, 3, Number.PLURAL, Gender.FEMALE]
    assert grammar(pronoun, 0, NONE) == [Kind.PERSONAL, 0, Number.PLURAL, Gender.UNKNOWN]
    assert grammar(parsed("ella él PRON 0 root _"), 0, SPANISH) == [Kind.PERSONAL, 3, Number.SINGULAR, Gender.FEMALE]
    assert grammar(parsed("él él PRON 0 root _"), 0, NONE)[0] == Kind.NONE


def test_nothing_of_english_is_used_in_other_languages() -> None:
    rows = ("she she PRON 0 root _", "men man NOUN 1 obj _", "the the DET 2 det _", "nation nation NOUN 1 obl _")
    for language in (NONE, SPANISH):
        table = word_rows(parsed(*rows), language)
        assert table[0, Column.KIND] == Kind.NONE
        assert table[1, [Column.NUMBER, Column.GENDER, Column.MEANING]].tolist() == [0, 0, 0]
        assert table[2, Column.KIND] == Kind.NONE
    assert word_rows(parsed(*rows))[1, Column.NUMBER] == Number.PLURAL


def test_a_zero_is_a_pronoun_that_agrees_with_its_verb_or_auxiliary() -> None:
    assert grammar(STORY, 6, NONE) == [Kind.PERSONAL, 3, Number.PLURAL, Gender.UNKNOWN]
    assert mention_kinds(STORY, [(6, 7, 6)], NONE).tolist() == [THEY]
    rows = ("_ _ PRON 3 nsubj _", "he haber AUX 3 aux Number=Sing|Person=1", "ido ir VERB 0 root VerbForm=Part")
    assert grammar(parsed(*rows), 0, NONE) == [Kind.PERSONAL, 1, Number.SINGULAR, Gender.UNKNOWN]
    own = ("_ _ PRON 2 nsubj Person=2|PronType=Prs", *rows[1:])
    assert grammar(parsed(own[0], "va ir VERB 0 root Number=Sing|Person=3"), 0, NONE)[:2] == [Kind.PERSONAL, 2]


def test_a_noun_of_masculine_gender_may_be_a_thing() -> None:
    """In English a singular "he" is never plural nouns; where gender is grammatical, that is not ruled out."""
    from corefsample.scorers.log_linear._encoding import encoded
    from corefsample.scorers.log_linear._feature_codes import ONE_PERSON, Fact

    tokens = parsed("libro libro NOUN 0 root Gender=Masc|Number=Sing")
    none = np.zeros(0, np.uint32)
    natural = msgspec.structs.replace(SPANISH, natural_gender=True)
    assert encoded(tokens, [(0, 1, 0)], none, natural).facts[0, Fact.QUANTITY] == ONE_PERSON
    assert encoded(tokens, [(0, 1, 0)], none, SPANISH).facts[0, Fact.QUANTITY] == 0


def test_a_reflexive_object_is_not_kept_apart_from_its_subject() -> None:
    rows = ("Ana Ana PROPN 2 nsubj _", "vio ver VERB 0 root _", "se él PRON 2 obj Reflex=Yes")
    mentions = np.array([(0, 1, 0), (2, 3, 2)], np.int32)
    assert not len(cannot_link_pairs(parsed(*rows), mentions, language=NONE))
    other = parsed(*rows[:2], "lo él PRON 2 obj Person=3")
    assert cannot_link_pairs(other, mentions, language=NONE).tolist() == [[1, 0]]


def test_korean_words_are_read_by_their_first_morpheme() -> None:
    text = ["정부는", "그들을", "말했다"]
    lemma, xpos = ["정부+는", "그들+을", "말하+었+다"], ["ncn+jxt", "npp+jco", "pvg+ep+ef"]
    head, sent = np.array([2, 2, -1]), np.zeros(3, int)
    tokens = Tokens(text, lemma, ["ADV", "ADV", "VERB"], ["nsubj", "obj", "root"], head, sent, {"xpos": xpos})
    read = KOREAN.adapted(tokens)
    assert (read.lemma, read.upos) == (["정부", "그들", "말하"], ["NOUN", "PRON", "VERB"])
    assert mentions_from_parse(tokens, language=KOREAN).tolist() == [[0, 1, 0], [1, 2, 1]]
    assert mention_kinds(tokens, [(0, 1, 0), (1, 2, 1)], KOREAN).tolist() == [SINGULAR_NOUN, THEY]
    assert tokens.lemma == lemma
    assert NONE.adapted(tokens) is tokens


def test_a_finite_verb_without_a_subject_is_passive_in_english_alone() -> None:
    rows = (
        "Cayeron caer VERB 0 root VerbForm=Fin",
        "atacaron atacar VERB 1 advcl Mood=Ind|Number=Plur|Person=3|Tense=Past|VerbForm=Fin",
    )
    assert ParseView(parsed(*rows), SCHEMES["ud2"]).is_passive(1)
    assert not ParseView(parsed(*rows), SCHEMES["ud2"], SPANISH).is_passive(1)


# --- models ------------------------------------------------------------------------------------------------


def document(tokens: Tokens, mentions: Sequence[tuple[int, int, int]], gold: Any = None, **more: Any) -> ScoredDocument:
    none: list[list[Any]] = [[] for _ in mentions]
    distribution, doc_id = AntecedentDistribution.from_lists(none, none), more.pop("doc_id", "d")
    return ScoredDocument(doc_id, np.array(mentions), distribution, None, tokens, gold, more)


@pytest.fixture(scope="module")
def spanish_model() -> Any:
    return train([document(STORY, [(0, 2, 1), (3, 4, 3), (6, 7, 6)], [1, 1, 1])], language="es", epochs=1, bits=8)


def test_a_scored_document_says_the_language_of_a_model_that_is_not_english(spanish_model: Any) -> None:
    (scored,) = score_documents(spanish_model, [document(STORY, [(0, 2, 1)], doc_id="other")])
    assert scored.metadata == {"lang": "es", "in_training_data": True}
    tally = ScoringTally()
    other = parsed("Los el DET 2 det _", "perros perro NOUN 0 root _")
    (scored,) = score_documents(spanish_model, [document(other, [(0, 2, 1)], in_training_data=True)], tally=tally)
    assert scored.metadata == {"lang": "es"}  # the mark was of another model
    assert (tally.n_words, tally.n_known_words, tally.n_seen) == (2, 1, 0)
    assert tally.known_share == 0.5


def test_a_document_of_another_language_is_an_error(spanish_model: Any) -> None:
    with error(ParameterError, "model", "doc_id 'd'", hint="model"):
        list(score_documents(spanish_model, [document(STORY, [(0, 2, 1)], lang="en")]))
