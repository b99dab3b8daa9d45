"""The trigger model: features, probabilities, files, and the fit to texts with answers."""

import dataclasses
import re
from math import exp
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given, strategies as st
from references import events as er

from corefsample import InputError, ParameterError
from corefsample.syntax._paths import ParseView
from corefsample.syntax._schemes import SCHEMES
from events import load_rules
from events.evidence._rule_set import RuleSet
from events.matching import _trigger_model as tm
from events.triggers._fit import Predicates, _reported, fit_trigger_model
from events.triggers._texts import AnsweredText, Mark, read_answered_texts

CONTENT = ["PROPN", "NOUN", "VERB", "ADJ", "ADV", "ADP", "NUM"]
MODIFIERS = ["aux", "aux:pass", "auxpass", "neg", "mark", "advmod", "prep", "case"]
SENTENCE = "Iran/PROPN>2:nsubj attacked=attack/VERB>0:root 12/NUM>4:nummod ship/NOUN>2:obj"


def features(sentence: str = SENTENCE, scheme: str = "ud2") -> tm.PredicateFeatures:
    tokens = er.scored(er.json_document("d", "1999-01-05", [sentence], {})).tokens
    assert tokens is not None
    return tm.PredicateFeatures(ParseView(tokens, SCHEMES[scheme]))


def model(*, shared: float = 0.0, **weights: float) -> tm.TriggerModel:
    """A model of the type attack with weights of features by name; `shared` times these are what all triggers share."""
    rows = {tm.feature_hash(name): row for row, name in enumerate(weights)}
    of_attack = np.array([*weights.values()], np.float32)
    return tm.TriggerModel(("attack",), rows, np.column_stack((of_attack, shared * of_attack)), frozenset(["attack"]))


def names_of(view: ParseView, token: int) -> set[str]:
    """Features of a predicate, written one by one."""
    lemmas = [re.sub("[0-9]", "0", lemma.lower()) for lemma in view.lemma]
    labels, upos, heads = view.labels, view.upos, view.heads
    lemma, head, below = lemmas[token], heads[token], token
    names = ["bias", f"l={lemma}", f"lu={lemma}/{upos[token]}", f"w={view.text[token].lower()}"]
    names += [f"d={labels[token]}", f"u={upos[token]}"]
    if head >= 0:
        names += [f"h={lemmas[head]}", f"dh={labels[token]}>{lemmas[head]}", f"du={labels[token]}>{upos[head]}"]
        names += [f"lh={lemma}<{lemmas[head]}"]
    for c in [c for c, of_child in enumerate(heads) if of_child == token]:
        names += [f"c={labels[c]}", f"cl={labels[c]}:{lemmas[c]}", f"cu={labels[c]}:{upos[c]}"]
        names += [f"lc={lemma}>{labels[c]}", f"ll={lemma}>{'PROPN' if upos[c] == 'PROPN' else lemmas[c]}"]
        for g in [g for g, of_grandchild in enumerate(heads) if of_grandchild == c]:
            names += [f"g={labels[c]}>{labels[g]}:{lemmas[g]}", f"gg={lemmas[c]}:{lemmas[g]}"]
    for _ in range(4):
        if head >= 0:
            siblings = [c for c, of_child in enumerate(heads) if of_child == head and c != below]
            of_siblings = (f"am={labels[c]}:{lemmas[c]}" for c in siblings if labels[c] in MODIFIERS)
            names += [f"a={lemmas[head]}", *of_siblings]
            below, head = head, heads[head]
    sentence = view.tokens.sent
    of_sentence = (f"s={x}" for t, x in enumerate(lemmas) if sentence[t] == sentence[token] and upos[t] in CONTENT)
    return {*names, *of_sentence}


def test_features_are_words_and_labels_around_the_predicate() -> None:
    expected = {"bias", "l=attack", "lu=attack/VERB", "w=attacked", "d=root", "u=VERB", "s=iran", "s=attack", "s=ship"}
    expected |= {"c=nsubj", "cl=nsubj:iran", "lc=attack>nsubj", "ll=attack>PROPN", "cu=nsubj:PROPN", "gg=ship:00"}
    expected |= {"c=obj", "cl=obj:ship", "lc=attack>obj", "ll=attack>ship", "cu=obj:NOUN", "g=obj>nummod:00", "s=00"}
    assert features().of(1) == {*map(tm.feature_hash, expected)}


@pytest.mark.kernels
@given(st.data())
def test_compiled_features_and_scores_are_those_written_one_by_one(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    words = data.draw(
        st.lists(st.sampled_from(["Iraq", "\u00c9tat", "7-1", "aux", "", "\ud800", "noun"]), min_size=n, max_size=n)
    )
    tags = data.draw(st.lists(st.sampled_from([*CONTENT, "DET"]), min_size=n, max_size=n))
    labels = data.draw(st.lists(st.sampled_from([*MODIFIERS, "nsubj"]), min_size=n, max_size=n))
    heads = [data.draw(st.integers(-1, t - 1)) for t in range(n)]  # the first word of each tree is its root
    cuts = sorted(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    tokens = SimpleNamespace(head=np.array(heads, np.int32), sent=np.array(cuts, np.int32))
    view: Any = SimpleNamespace(tokens=tokens, text=words, lemma=words, upos=tags, labels=labels, heads=heads)
    of_parse, names = tm.PredicateFeatures(view), [names_of(view, t) for t in range(n)]
    kept = data.draw(st.sets(st.sampled_from(sorted(set().union(*names)))))
    weights = {name: float(i % 7 - 3) for i, name in enumerate(sorted(kept))}
    assert [of_parse.of(t) for t in range(n)] == [{*map(tm.feature_hash, each)} for each in names]
    of_lemma = ("l=", "lu=", "w=", "lh=", "lc=", "ll=")
    without = [{tm.feature_hash(name) for name in each if not name.startswith(of_lemma)} for each in names]
    assert [of_parse.of(t, with_lemma=False) for t in range(n)] == without
    scores = of_parse.scores(model(**weights), range(n))[:, 0].tolist()
    assert scores == [sum(weights.get(name, 0.0) for name in each) for each in names]


def test_the_probability_is_logistic_in_the_weights_of_what_holds() -> None:
    """z = .5 + 1 (words) + 2 (trigger of the rule) - 4 (negated); a feature that occurs twice counts once."""
    weights = {"bias": 0.5, "s=ship": 1.0, "trigger of the rule attack": 2.0, "condition negated": -4.0, "s=boat": 9.0}
    fitted, of_parse = model(**weights), features()
    for is_trigger, conditions, z in ((False, (), 1.5), (True, (), 3.5), (True, ("negated",), -0.5)):
        p = fitted.probability("attack", of_parse, 1, is_trigger, conditions)
        assert p == pytest.approx(1.0 / (1.0 + exp(-z)), abs=1e-6)
    assert model(bias=0.0).probability("attack", of_parse, 1, False, ()) == 0.5  # scores are those of the model


def test_what_attacks_is_violent_at_least_as_likely() -> None:
    """Bias: attack 1, bomb -1, violence and conflict -2, arrest 3, which is not violent but conflict."""
    types, weights = ("attack", "bomb", "violence", "arrest", "conflict"), [[1.0, -1.0, -2.0, 3.0, -2.0, 0.0]]
    fitted = tm.TriggerModel(types, {tm.feature_hash("bias"): 0}, np.array(weights, np.float32), frozenset(["attack"]))
    for event_type, z in (("attack", 1.0), ("bomb", -1.0), ("violence", 1.0), ("arrest", 3.0), ("conflict", 3.0)):
        p = fitted.probability(event_type, features(), 1, False, ())
        assert p == pytest.approx(1.0 / (1.0 + exp(-z)), abs=1e-6)
    # What triggers share raises the score of a rule's type at its own triggers alone: "attacked" is one of the rule
    # attack, and "ship" of none, so that it is violent by 1 of attack, or as the user's trigger by -2 + 4.
    for token, is_trigger, shared, z in (
        (1, True, 2.5, 3.5),
        (1, False, 2.5, 3.5),
        (3, True, 2.5, 1.0),
        (3, True, 4.0, 2.0),
    ):
        fitted.weights[0, -1] = shared
        p = fitted.probability("violence", features(), token, is_trigger, ())
        assert p == pytest.approx(1.0 / (1.0 + exp(-z)), abs=1e-6)


def test_triggers_of_all_rules_share_a_part_that_serves_types_of_users_alone() -> None:
    """Shared is twice the type: bias 1, ship 2, any condition -6, negated -8; no predicate but triggers has it."""
    weights = {"bias": 0.5, "s=ship": 1.0, "condition ": -3.0, "condition negated": -4.0}
    fitted = model(shared=2.0, **weights)
    for event_type, conditions, z in (("attack", (), 4.5), (tm.ANY_TYPE, (), 3.0), (tm.ANY_TYPE, ("negated",), -11.0)):
        p = fitted.probability(event_type, features(), 1, True, conditions)
        assert p == pytest.approx(1.0 / (1.0 + exp(-z)), abs=1e-6)
    assert fitted.probability(tm.ANY_TYPE, features(), 1, False, ()) == 0.0


def test_a_file_keeps_the_model_but_for_the_rounding_of_weights(tmp_path: Path) -> None:
    fitted = model(**{f"l={word}": weight for word, weight in zip("abcd", (-1.27, 0.02, 0.63, 1.0), strict=True)})
    with_nothing = model(
        **{f"l={word}": weight for word, weight in zip("abcde", (-1.27, 0.02, 0.63, 1, 0.001), strict=True)}
    )
    with_nothing.save(tmp_path / "m.npz")  # a weight that is rounded to 0 takes no room
    loaded = tm.load_trigger_model(str(tmp_path / "m.npz"))
    assert (loaded.types, loaded.rows, loaded.lemmas) == (fitted.types, fitted.rows, fitted.lemmas)
    np.testing.assert_allclose(loaded.weights, fitted.weights, atol=1.27 / 254 + 1e-6)
    (tmp_path / "broken.npz").write_bytes(b"PK")
    dataclasses.replace(fitted, weights=fitted.weights[:, :1]).save(tmp_path / "earlier.npz")  # without a shared part
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tm, "VERSION", tm.VERSION - 1)
        fitted.save(tmp_path / "of_other_features.npz")
    for name in ("broken.npz", "earlier.npz", "of_other_features.npz"):
        with error(InputError, place=str(tmp_path / name)):
            tm.load_trigger_model(str(tmp_path / name))
    with error(ParameterError, parameter="triggers"):
        tm.load_trigger_model("wrods")


def test_a_result_of_a_match_is_no_force() -> None:
    day = "on/ADP>2:prep Monday/PROPN>{}:pobj"
    result = "Chile/PROPN>2:nsubj beat/VERB>0:root Peru/PROPN>2:dobj 4/NUM>2:npadvmod -/SYM>6:punct 1/NUM>4:prep "
    beating = "Guards/NOUN>2:nsubj beat/VERB>0:root him/PRON>2:dobj "
    of_texts = [features(text, "clearnlp") for text in (result + day.format(7), beating + day.format(4))]
    p = [tm.load_trigger_model("words").probability("force", of_text, 1, True, ()) for of_text in of_texts]
    assert p[0] < 0.4 < 0.6 < p[1]


def test_only_the_preset_asserted_of_english_rules_has_a_model() -> None:
    assert tm.with_trigger_model(load_rules("kill"), "words").trigger_model == "words"
    assert tm.with_trigger_model(load_rules("attack_target"), "words").event_type == "attack"
    # It extends a rule of a known type with triggers of its own, which the model doubts, and adds no others.
    of_other_type = tm.with_trigger_model(load_rules("police_action"), "words")
    assert (of_other_type.event_type, of_other_type.frames) == (tm.ANY_TYPE, load_rules("police_action").frames)
    for rule in (load_rules("kill", "paper"), load_rules("kill", "extended"), load_rules("es/attack")):
        assert tm.with_trigger_model(rule, "words") is rule
    assert len(tm.with_trigger_model(load_rules("kill").with_frame("noun"), "words").frames) == 1
    assert RuleSet.of(load_rules("kill"), triggers="rules").rules == (load_rules("kill"),)


def test_a_users_rule_has_the_type_of_the_rule_whose_triggers_it_keeps(tmp_path: Path) -> None:
    lines = "version: 1\nname: mine\nextends: kill\n", "add: {frames: {death: {lemma: [fade]}}}\n"
    for n, event_type in ((1, "kill"), (2, tm.ANY_TYPE)):
        (tmp_path / "mine.yaml").write_text("".join(lines[:n]))
        assert tm.with_trigger_model(load_rules(tmp_path / "mine.yaml"), "words").event_type == event_type


# --- the fit ----------------------------------------------------------------------------------------------


def test_the_fit_is_the_maximum_of_the_posterior_and_types_use_their_own_rule() -> None:
    """The slope of the penalised likelihood is 0 for weights in use; a plain loop computes it."""
    rng = np.random.default_rng(0)
    rules = [load_rules("kill"), load_rules("meet")]
    names = [tm.feature_hash(name) for name in ("bias", "l=kill", "l=meet", tm.TRIGGER + "kill", tm.TRIGGER + "meet")]
    rows = [[names[0], *(name for name in names[1:] if rng.random() < 0.5)] for _ in range(60)]
    answers, vectors = rng.random((60, 2)) < 0.4, rng.normal(size=(60, 2)).astype(np.float32)
    triggers = [(i, k, features_of_row[:2]) for i, features_of_row in enumerate(rows) for k in (0, 1) if i % 3 == k]
    of_texts = Predicates(np.arange(60), rows, ["word"] * 60, answers, vectors, triggers)
    encoder: Any = SimpleNamespace(vectors=lambda words: np.tile([1.0, 0.0], (len(words), 1)), checksum="")
    fitted = fit_trigger_model([of_texts], rules, encoder, penalty=0.7, shared_penalty=1.3)
    weight = {name: fitted.weights[fitted.rows[name]] for name in names}
    assert weight[names[3]][1] == weight[names[4]][0] == 0.0
    of_triggers: list[tuple[int, list[int], float]] = []
    for k, own in ((0, names[3]), (1, names[4])):
        errors = []
        for i, (features_of_row, vector, answer) in enumerate(zip(rows, vectors, answers[:, k], strict=True)):
            z = sum(float(weight[each][k]) for each in features_of_row)
            z += sum(float(x) * float(w) for x, w in zip(vector, fitted.of_vectors[:, k], strict=True))
            if i % 3 == k:
                z += sum(float(weight[each][2]) for each in features_of_row[:2])
                z += sum(float(x) * float(w) for x, w in zip(vector, fitted.of_vectors[:, 2], strict=True))
            errors.append(float(answer) - 1.0 / (1.0 + exp(-z)))
        of_triggers += [(i, features_of_row[:2], errors[i]) for i, features_of_row in enumerate(rows) if i % 3 == k]
        for name in (*names[:3], own):
            # A trigger of the rule has the prior mean 2 and precision 1, a word 0 and .7.
            slope = 2.0 - float(weight[name][k]) if name == own else -0.7 * float(weight[name][k])
            slope += sum(e for features_of_row, e in zip(rows, errors, strict=True) if name in features_of_row)
            assert slope == pytest.approx(0.0, abs=2e-3)
        for d in range(2):  # vectors are scaled by 1.4, and their weights have the prior mean 0 and precision 1
            slope = -float(fitted.of_vectors[d, k]) / 1.96
            slope += sum(e * float(vector[d]) for vector, e in zip(vectors, errors, strict=True))
            assert slope == pytest.approx(0.0, abs=2e-3)
    for name in names:
        slope = sum(e for _, shared, e in of_triggers if name in shared) - 1.3 * float(weight[name][2])
        assert slope == pytest.approx(0.0, abs=2e-3)
    for d in range(2):
        slope = sum(e * float(vectors[i, d]) for i, _, e in of_triggers) - float(fitted.of_vectors[d, 2]) / 1.96
        assert slope == pytest.approx(0.0, abs=2e-3)
    # By similarity of predicates that are no triggers: intercept and weight have the prior mean 0 and precision 1.
    z = fitted.similarity[0] + fitted.similarity[1] * vectors[:, :1]
    errors_of_others = (answers - 1.0 / (1.0 + np.exp(-z))) * (np.arange(60)[:, None] % 3 != [0, 1])
    sums = [errors_of_others.sum(), (errors_of_others * vectors[:, :1]).sum()]
    assert sums == pytest.approx(fitted.similarity.tolist(), abs=2e-3)


def test_verbs_and_nouns_of_events_in_marked_words_report_or_else_the_word_that_governs_them() -> None:
    sentence = ["They/PRON>2:nsubj held=hold/VERB>0:root talks=talk/NOUN>2:obj in/ADP>5:case Doha/PROPN>2:obl"]
    tokens = er.scored(er.json_document("d", "1999-01-05", sentence, {})).tokens
    assert tokens is not None
    view, meet = ParseView(tokens, SCHEMES["ud2"]), frozenset(["meet"])
    for start, end, predicates in ((5, 15, {1, 2}), (0, 9, {1}), (16, 23, {4}), (16, 18, {3})):
        text = AnsweredText("a", "They held talks in Doha", (Mark(start, end, meet, ()),))
        assert _reported(text, view, [0, 5, 10, 16, 19], {"talk"}, {"meet": set()}) == dict.fromkeys(predicates, meet)
    text = AnsweredText("a", "They held talks in Doha", (Mark(5, 15, meet, ()),))
    assert _reported(text, view, [0, 5, 10, 16, 19], {"fire"}, {"meet": set()}) == {1: meet}  # as in "took the son"
    # The trigger of a rule within the mark reports the type too, one outside of it does not.
    assert _reported(text, view, [0, 5, 10, 16, 19], {"fire"}, {"meet": {2, 4}}) == {1: meet, 2: meet}


def test_texts_have_marks_of_what_is_reported(tmp_path: Path) -> None:
    line = "Gunmen [shot|kill,!attack|Gunmen] nine; nurses kept up a [strike|!violence] and [marched|protest|nurses]."
    (tmp_path / "a.txt").write_text(f"{line}\n\nRain fell.\n", encoding="utf-8")
    first, second = read_answered_texts([tmp_path / "a.txt"], ["kill", "attack", "violence", "protest", "conflict"])
    assert first.text == "Gunmen shot nine; nurses kept up a strike and marched."
    assert first.marks == (
        Mark(7, 11, frozenset(["kill", "violence", "conflict"]), ("Gunmen",)),
        Mark(35, 41, frozenset(), ()),
        Mark(46, 53, frozenset(["protest"]), ("nurses",)),
    )
    assert (second.text, second.marks, second.batch) == ("Rain fell.", (), "a")


def test_texts_with_wrong_types_actors_or_brackets_are_rejected(tmp_path: Path) -> None:
    for marked in ("[shot|murder|]", "[shot|kill|He", "shot |", "[shot|kill,!kill]", "[shot|kill|She]"):
        (tmp_path / "a.txt").write_text(f"Rain.\nHe {marked} her.\n", encoding="utf-8")
        with error(InputError, place=f"{tmp_path / 'a.txt'}: line 2"):
            list(read_answered_texts([tmp_path / "a.txt"], ["kill"]))
