"""The notation of paths through a parse, traces of them, and how labels determine the dependency scheme."""

from dataclasses import replace
from functools import partial
from typing import Any

import neutral_sentences
import numpy as np
import pytest
from encoded_texts import vocabulary_hashes
from hypothesis import given, settings, strategies as st
from references import events as er, mention_ranking as reference
from strategies.parses import UD2_PATHS, path_parses

from corefsample import ParameterError, Tokens
from corefsample.languages._language import load_language
from corefsample.scorers.log_linear._encoding import DEFAULT_TEMPLATES, encoded
from corefsample.scorers.log_linear._model import AntecedentModel
from corefsample.syntax import _paths as path_notation
from corefsample.syntax._mentions import mentions_from_parse
from corefsample.syntax._schemes import SCHEMES, declared_scheme, fitting_schemes, scheme_metadata, universal_scheme

# 0 The 1 old 2 king 3 of 4 Spain 5 and 6 France 7 came 8 , 9 saw 10 and 11 won 12 land 13 quickly
TEXT = (
    "The/DET>3:det old/ADJ>3:amod king=king/NOUN>8:nsubj of/ADP>5:case Spain/PROPN>3:nmod:of and/CCONJ>7:cc "
    "France/PROPN>5:conj came=come/VERB>0:root ,/PUNCT>10:punct saw=see/VERB>8:conj and/CCONJ>12:cc "
    "won=win/VERB>10:conj land/NOUN>12:obj quickly/ADV>12:advmod"
)


def view(text: str = TEXT, scheme: str = "ud2") -> path_notation.ParseView:
    return path_notation.ParseView(er.parsed(text), SCHEMES[scheme])


def reached(path: str, start: int, text: str = TEXT, scheme: str = "ud2") -> list[int]:
    return sorted(path_notation.follow(path, view(text, scheme), start))


# --- paths -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "start", "expected"),
    [
        ("", 2, [2]),
        (".", 2, [2]),
        ("[root]", 7, [7]),
        ("[root]", 9, []),
        (">nsubj", 7, [2]),
        (">amod|det", 2, [0, 1]),
        (">nmod", 2, []),  # nmod:of is another label
        (">nmod:of", 2, [4]),
        (">nmod*", 2, [4]),
        (">nm*", 2, []),  # a base is a whole word
        (">nmod*>conj", 2, [6]),
        ("<nsubj", 2, [7]),
        ("<conj+", 11, [7, 9]),
        ("<conj", 7, []),  # a root has no head
        (">conj+", 7, [9, 11]),
        (">case[lemma=in|of]", 4, [3]),
        (">case[lemma=OF]", 4, [3]),
        (">case[lemma=in]", 4, []),
        (">nmod*[upos=propn|NOUN]", 2, [4]),
        (">nmod*[upos=NOUN]", 2, []),
        (">nmod*[case=of]", 2, [4]),
        (">nmod*[case=in]", 2, []),
        (">conj[has >obj]+", 7, []),  # each step of the repetition must pass, and `saw` has no object
        (">conj[no >obj]+", 7, [9]),
        (">conj[no >obj]>conj[has >obj]", 7, [11]),
        ("[has >nsubj]", 7, [7]),
        ("[no >nsubj|csubj]<conj+>nsubj", 9, [2]),
        ("[no >nsubj]<conj+>nsubj", 7, []),
        ("[lemma=win,has >obj]>obj", 11, [12]),
        ("[lemma=win, has >iobj]>obj", 11, []),
        ("[upos=VERB]", 12, []),
    ],
)
def test_a_path_leads_where_its_notation_says(path: str, start: int, expected: list[int]) -> None:
    assert reached(path, start) == expected


CONDITIONS = ["", "lemma=", "text=of", "lemma=of,,upos=NOUN", "has nsubj", "feats=Past", "feats=Tense:Past|I"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        *(
            (path, "path must be steps like")
            for path in ("nsubj", ">", ">nsubj]", ">[lemma=of]", ">nmod[lemma=of", ">nsubj|", "^nsubj")
        ),
        *((f">nmod[{condition}]", "path condition must be one of those in") for condition in CONDITIONS),
        # Conditions stand before the plus.
        (">nsubj+[active]", r"path must be steps like .*, got '\[active\]' in '>nsubj\+\[active\]'"),
    ],
)
def test_paths_outside_the_notation_are_rejected(path: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        path_notation.path_labels(path)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_paths_of_the_schemes_are_in_the_notation(scheme: str) -> None:
    for paths in SCHEMES[scheme].paths.values():
        for path in paths:
            path_notation.path_labels(path)


def test_every_scheme_has_paths_of_every_role() -> None:
    assert len({frozenset(scheme.paths) for scheme in SCHEMES.values()}) == 1


@given(st.text(alphabet=">< nsubjcof:|*+[]=,", max_size=14))
def test_any_text_is_a_path_or_rejected_in_one_line(text: str) -> None:
    try:
        path_notation.path_labels(text)
    except ParameterError as fault:
        outcome = str(fault)
    else:
        outcome = str(path_notation.follow(text, view(), 7))
    assert "\n" not in outcome


@pytest.mark.parametrize(
    ("text", "token", "passive"),
    [
        ("it/PRON>3:nsubj:pass was=be/AUX>3:aux:pass hit=hit/VERB>0:root", 2, True),
        ("hit=hit/VERB>0:root by/ADP>3:case it/PRON>1:obl", 0, False),  # neither a clause's nor unlike its lemma
        ("attacked=attack/VERB>0:root by/ADP>3:case it/PRON>1:obl", 0, True),
        ("town/NOUN>0:root hitting=hit/VERB>1:acl", 1, False),
        ("town/NOUN>0:root to/PART>3:mark hit/VERB>1:acl", 2, False),
        ("it/PRON>3:nsubj:pass was=be/AUX>3:aux:pass seen=see/VERB>0:root hit/VERB>3:conj", 3, True),
        ("it/PRON>3:nsubj had=have/AUX>3:aux attacked=attack/VERB>0:root", 2, False),
    ],
)
def test_passives_are_recognised_by_their_dependents_and_place(text: str, token: int, passive: bool) -> None:
    assert reached("[passive]", token, text) == ([token] if passive else [])
    assert reached("[active]", token, text) == ([] if passive else [token])


def with_extra(text: str, **extra: list[str | None]) -> path_notation.ParseView:
    return path_notation.ParseView(replace(er.parsed(text), extra=extra), SCHEMES["ud2"])


FEATS = ["Number=Plur", "Mood=Ind|Tense=Past|VerbForm=Fin", "_", None, "PronType=Int,Rel"]
TAGS = ["NNS", "VBD", "TO", "VB", "WP"]


@pytest.mark.parametrize(
    ("condition", "by_feats", "by_tags"),
    [
        ("feats=Tense:Past", [1], [1]),
        ("feats=tense:past|Number:Plur", [0, 1], [0, 1]),
        ("feats!=Tense:Past", [0, 2, 3, 4], [0, 2, 3, 4]),
        ("feats=PronType:Rel", [4], []),  # one of two values; of no Penn tag
        ("feats=VerbForm:Inf", [3], [3]),  # a token without features has those of its tag
    ],
)
def test_features_are_those_of_the_parse_or_of_the_tag(condition: str, by_feats: list[int], by_tags: list[int]) -> None:
    text = "a/X>0:root b/X>1:dep c/X>1:dep d/X>1:dep e/X>1:dep"
    for parse, expected in (
        (with_extra(text, feats=FEATS, xpos=TAGS), by_feats),
        (with_extra(text, xpos=TAGS), by_tags),
        (view(text), list(range(5)) if "!=" in condition else []),
    ):
        assert [t for t in range(5) if path_notation.follow(f"[{condition}]", parse, t)] == expected


@pytest.mark.parametrize(
    ("text", "token", "tag", "passive"),
    [
        # The form is that of the lemma, or is not: the tag decides.
        ("hit/VERB>0:root by/ADP>3:case it/PRON>1:obl", 0, "VBN", True),
        ("attacked=attack/VERB>0:root it/PRON>1:obj", 0, "VBD", False),
        ("the/DET>3:det hit/VERB>3:amod town/NOUN>0:root", 1, "VBN", True),
        # Taggers call reduced relative clauses finite.
        ("town/NOUN>0:root attacked=attack/VERB>1:acl", 1, "VBD", True),
        ("town/NOUN>0:root attacking=attack/VERB>1:acl", 1, "VBG", False),
        # The tree says more than the tag.
        ("it/PRON>2:nsubj attacked=attack/VERB>0:root", 1, "VBN", False),
        ("it/PRON>3:nsubj:pass was=be/AUX>3:aux:pass attacked=attack/VERB>0:root", 2, "VBD", True),
        # It was seen and attacked; it was seen and fled.
        ("it/PRON>3:nsubj:pass was=be/AUX>3:aux:pass seen=see/VERB>0:root attacked=attack/VERB>3:conj", 3, "VBN", True),
        ("it/PRON>3:nsubj:pass was=be/AUX>3:aux:pass seen=see/VERB>0:root fled=flee/VERB>3:conj", 3, "VBD", False),
    ],
)
def test_passives_are_recognised_by_their_features(text: str, token: int, tag: str, passive: bool) -> None:
    tags: list[str | None] = ["_"] * len(text.split())
    tags[token] = tag
    assert list(path_notation.follow("[passive]", with_extra(text, xpos=tags), token)) == [token] * passive


@settings(max_examples=30)
@given(path_parses(), st.lists(st.sampled_from(UD2_PATHS), max_size=30))
def test_paths_lead_to_a_token_from_those_where_one_of_them_ends_there(tokens: Tokens, several: list[str]) -> None:
    parse, starts = path_notation.ParseView(tokens, SCHEMES["ud2"]), range(len(tokens))
    ends = {path: [set(path_notation.follow(path, parse, start)) for start in starts] for path in UD2_PATHS}
    for paths in (tuple(several), *((path,) for path in UD2_PATHS)):
        for end in starts:
            expected = {start for start in starts if any(end in ends[path][start] for path in paths)}
            assert path_notation.leading_to(paths, parse, end) == expected


# --- schemes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("nsubj obj root case nmod obl", "ud2"),
        ("nsubj:pass aux:pass obl:agent root", "ud2"),
        ("nsubj dobj root case nmod neg auxpass", "ud1 clearnlp"),
        ("nsubj dobj ROOT prep pobj poss relcl", "clearnlp"),
        ("nsubj root amod det punct", "ud2 ud1 clearnlp"),
        ("nsubj root dobj neg", "ud1 clearnlp"),
        ("", "ud2 ud1 clearnlp"),
        ("ROOT", "ud2 ud1 clearnlp"),
        ("nsubj obj dobj", ""),
        ("SBJ OBJ", ""),
        ("obl:lmod:x obj", "ud2"),
        ("nmod:in dobj", "ud1"),
        ("nsubj:foo prep", ""),  # ClearNLP has no subtypes at all
        (":pass root", ""),
    ],
)
def test_labels_determine_the_schemes_that_have_them_all(labels: str, expected: str) -> None:
    assert fitting_schemes(labels.split()) == tuple(expected.split())


@pytest.mark.parametrize(
    ("scheme", "label", "base"),
    [
        ("ud2", "obl:foo", "obl"),
        ("clearnlp", "nsubj:foo", None),
        # Read as nsubj a subtype of another scheme would turn the one attacked into the attacker.
        ("ud1", "nsubj:pass", None),
        ("ud2", "nmod:agent", None),
        ("ud2", "nsubj:pass:foo", "nsubj:pass"),
    ],
)
def test_a_subtype_is_ignored_as_far_as_no_scheme_has_it(scheme: str, label: str, base: str | None) -> None:
    assert SCHEMES[scheme].reads(label) == base


@given(st.sets(st.sampled_from(sorted(set().union(*(s.bases | s.subtypes for s in SCHEMES.values()))))))
def test_more_labels_never_fit_more_schemes(labels: set[str]) -> None:
    fitting = set(fitting_schemes(labels))
    for label in labels:
        assert fitting <= set(fitting_schemes(labels - {label}))


# --- how far a path leads, and the path that connects two tokens ----------------------------------------------

# 0 Ten 1 were 2 killed 3 in 4 police 5 firing 6 by 7 soldiers
POLICE = (
    "Ten/NUM>3:nsubj:pass were=be/AUX>3:aux:pass killed=kill/VERB>0:root in/ADP>6:case police/NOUN>6:compound "
    "firing/NOUN>3:obl by/ADP>8:case soldiers/NOUN>6:nmod"
)


@pytest.mark.parametrize(
    ("path", "start", "failure"),
    [
        (">obl>compound", 2, None),
        # No dependent of "killed" has the label.
        (">obl:agent", 2, (">obl:agent", 0, 1, False, (2,))),
        # "firing" is obl, but its case is "in".
        ("[passive]>obl[case=by]", 2, (">obl[case=by]", 0, 1, True, (5,))),
        # The second step fails, at "firing".
        (">obl>nmod:poss+", 2, (">nmod:poss+", 1, 1, False, (5,))),
        ("[active]>obl", 2, ("[active]", 0, 1, True, (2,))),
        # The root has no step up, though its label fits.
        ("<root", 2, ("<root", 0, 1, False, (2,))),
        ("<obl[upos=NOUN]", 5, ("<obl[upos=NOUN]", 0, 1, True, (2,))),
    ],
)
def test_the_step_at_which_a_path_fails(path: str, start: int, failure: tuple[Any, ...] | None) -> None:
    assert path_notation.failed_step(path, view(POLICE), start) == (
        None if failure is None else path_notation.FailedStep(path, *failure)
    )


@given(tokens=path_parses(), path=st.sampled_from(UD2_PATHS), data=st.data())
def test_a_path_fails_where_it_leads_nowhere(tokens: Tokens, path: str, data: st.DataObject) -> None:
    parse = path_notation.ParseView(tokens, SCHEMES["ud2"])
    start = data.draw(st.integers(0, len(tokens) - 1))
    failure = path_notation.failed_step(path, parse, start)
    assert (failure is None) == bool(set(path_notation.follow(path, parse, start)))


def test_the_nearest_path_is_the_one_with_the_most_steps_done() -> None:
    paths = [">obl:agent", "[passive]>obl[case=by]", ">obl>nmod:poss", ">nsubj"]
    # Where no step is done, a label that fits is nearer; then the first path.
    for some, nearest in ((paths, 2), (paths[:2], 1), ([paths[3], paths[0]], 0)):
        assert path_notation.nearest_failure(some, view(POLICE), 2) == path_notation.failed_step(
            some[nearest], view(POLICE), 2
        )
    assert path_notation.nearest_failure([], view(POLICE), 2) is None


def test_the_path_between_two_tokens_is_in_the_notation_of_rules() -> None:
    assert path_notation.connecting_path(view(POLICE), 2, 4) == ">obl[case=in]>compound"
    assert path_notation.connecting_path(view(POLICE), 4, 0) == "<compound<obl>nsubj:pass"
    assert path_notation.connecting_path(view(POLICE), 2, 7) == ">obl[case=in]>nmod[case=by]"
    assert path_notation.connecting_path(view(POLICE), 3, 3) == ""
    two = er.parsed("It/PRON>2:nsubj rained=rain/VERB>0:root", "They/PRON>2:nsubj left=leave/VERB>0:root")
    assert path_notation.connecting_path(path_notation.ParseView(two, SCHEMES["ud2"]), 0, 2) is None
    clearnlp = view("arrest/NOUN>0:ROOT of/ADP>1:prep him/PRON>2:pobj", "clearnlp")
    assert path_notation.connecting_path(clearnlp, 0, 2) == ">prep[lemma=of]>pobj"


# --- one sentence in every notation ----------------------------------------------------------------------------


SENTENCES = {name: neutral_sentences.notations(text) for name, text in neutral_sentences.SENTENCES.items()}
OTHERS = ("ud1", "clearnlp")
VOCABULARY = vocabulary_hashes(["the", "dog", "of", "mary", "say", "met"])
encode = partial(encoded, vocabulary=VOCABULARY, language=load_language("en"))


def model() -> AntecedentModel:
    weights = np.random.default_rng(0).normal(0.0, 0.3, 1 << 12).astype(np.float32)
    return AntecedentModel(weights, VOCABULARY, DEFAULT_TEMPLATES)


@pytest.mark.kernels
@pytest.mark.parametrize("scheme", OTHERS)
@pytest.mark.parametrize("name", SENTENCES)
def test_a_sentence_has_the_same_mentions_atoms_and_probabilities(name: str, scheme: str) -> None:
    one, other = (reference.parsed(SENTENCES[name][each]) for each in ("ud2", scheme))
    spans = mentions_from_parse(one, scheme="ud2")
    assert len(spans) >= 1
    np.testing.assert_array_equal(mentions_from_parse(other, scheme=scheme), spans)
    np.testing.assert_array_equal(encode(other, spans, scheme=scheme).atoms, encode(one, spans, scheme="ud2").atoms)
    scored = [
        model().score([tokens], [spans], scheme=of)[0].distribution for tokens, of in ((one, "ud2"), (other, scheme))
    ]
    np.testing.assert_array_equal(scored[0].scores, scored[1].scores)


@pytest.mark.parametrize(
    ("labels", "universal", "declared", "metadata"),
    [
        ("root nsubj nmod", "ud2", "clearnlp", {"scheme": "clearnlp"}),  # of all three
        ("root nsubj dobj", "ud1", "clearnlp", {"scheme": "clearnlp"}),  # of ud1 and clearnlp
        ("root nsubj obj", "ud2", None, {}),
        ("root nsubj pobj", None, "clearnlp", {}),
        ("", "ud2", "clearnlp", {}),
    ],
)
def test_what_decides_where_labels_do_not(
    labels: str, universal: str | None, declared: str | None, metadata: dict[str, str]
) -> None:
    assert universal_scheme(labels.split()) == universal
    assert declared_scheme({"scheme": "clearnlp"}, labels.split()) == declared
    assert declared_scheme({"scheme": "colour"}, labels.split()) is None
    assert scheme_metadata("clearnlp", labels.split()) == metadata
    assert scheme_metadata(None, labels.split()) == {}
