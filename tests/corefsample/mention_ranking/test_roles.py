"""Parses of three schemes come out in one notation."""

from __future__ import annotations

import numpy as np
import pytest
import ranking_references as reference

from corefsample import ParameterError
from corefsample._roles import UPOS, NeutralParse, Role, neutral_parse, upos_codes

pytestmark = pytest.mark.kernels


def neutral(scheme: str) -> NeutralParse:
    return neutral_parse(reference.parsed(reference.PARSES[scheme]))


def word(scheme: str, form: str) -> int:
    return reference.parsed(reference.PARSES[scheme]).text.index(form)


@pytest.mark.parametrize("scheme", reference.PARSES)
@pytest.mark.parametrize(
    ("form", "role", "governor", "marker"),
    [
        ("president", Role.SUBJECT, "met", None),
        ("France", Role.NOUN_MODIFIER, "president", "of"),
        ("American", Role.ADJECTIVE, "troops", None),
        ("Iraq", Role.OBLIQUE, "met", "in"),
        ("She", Role.SUBJECT, "doctor", None),
        ("doctor", Role.PREDICATE, None, None),
        ("Mary", Role.INDIRECT_OBJECT, "gave", None),
        ("his", Role.POSSESSOR, "book", None),
        ("city", Role.PASSIVE_SUBJECT, "attacked", None),
        ("rebels", Role.OBLIQUE, "attacked", "by"),
        ("criminals", Role.OBLIQUE, "attacked", "by"),
        ("hate", Role.RELATIVE_CLAUSE, "rebels", None),
        ("There", Role.EXPLETIVE, "is", None),
        ("man", Role.SUBJECT, "is", None),
        ("garden", Role.NOUN_MODIFIER, "man", "in"),
        ("king", Role.POSSESSOR, "garden", None),
        ("happy", Role.PREDICATE, "said", None),
    ],
)
def test_a_word_has_one_role_in_every_scheme(
    scheme: str, form: str, role: Role, governor: str | None, marker: str | None
) -> None:
    tokens, parse = reference.parsed(reference.PARSES[scheme]), neutral(scheme)
    token = word(scheme, form)
    if form == "man":  # the verb of "there is" and the copula share a form
        assert parse.link[parse.governor[token]] == Role.ROOT
        governor = None
    assert parse.role[token] == role
    if governor is not None:
        assert tokens.text[parse.governor[token]] == governor
    assert (None if parse.marker[token] < 0 else tokens.text[parse.marker[token]]) == marker


@pytest.mark.parametrize("scheme", reference.PARSES)
def test_conjuncts_hang_on_the_first_and_stay_conjuncts(scheme: str) -> None:
    parse = neutral(scheme)
    assert parse.link[word(scheme, "criminals")] == Role.CONJUNCT
    assert parse.head[word(scheme, "criminals")] == word(scheme, "rebels")


def test_a_chain_of_conjuncts_is_brought_to_the_first() -> None:
    chained = "cats cat NOUN 5 nsubj\ndogs dog NOUN 1 conj\nand and CCONJ 2 cc\nbirds bird NOUN 2 conj\nsing sing VERB 0 ROOT"
    parse = neutral_parse(reference.parsed(chained), "clearnlp")
    assert parse.head.tolist() == [4, 0, 1, 0, -1]
    assert parse.role.tolist()[:2] == [Role.SUBJECT, Role.SUBJECT]
    assert parse.governor[3] == 4


def test_a_preposition_within_another_hangs_its_noun_on_the_outer_one() -> None:
    chained = "came come VERB 0 ROOT\nfrom from ADP 1 prep\nbehind behind ADP 2 prep\ndoors door NOUN 3 pobj"
    parse = neutral_parse(reference.parsed(chained))
    assert (parse.head[3], parse.marker[3], parse.role[3]) == (0, 1, Role.OBLIQUE)


def test_a_dative_with_a_preposition_is_oblique() -> None:
    parse = neutral_parse(reference.parsed("gave give VERB 0 ROOT\nto to ADP 1 dative\nher she PRON 2 pobj"))
    assert (parse.head[2], parse.marker[2], parse.role[2]) == (0, 1, Role.OBLIQUE)


def test_subtypes_unknown_to_a_scheme_count_as_their_base() -> None:
    parse = neutral_parse(reference.parsed("went go VERB 0 root\nhome home NOUN 1 obl:goal"))
    assert parse.role[1] == Role.OBLIQUE


def test_every_head_lies_in_the_document() -> None:
    for scheme in reference.PARSES:
        parse = neutral(scheme)
        n_tokens = len(parse.head)
        for array in (parse.head, parse.governor, parse.marker):
            assert ((array >= -1) & (array < n_tokens)).all()


def test_parts_of_speech_are_coded_by_place() -> None:
    tokens = reference.parsed("a a DET 0 root\nb b NOUN 1 dep\nc c FOO 1 dep")
    assert upos_codes(tokens).tolist() == [UPOS.index("DET") + 1, UPOS.index("NOUN") + 1, 0]


def test_a_text_without_a_parse_has_other_roles() -> None:
    parse = neutral_parse(reference.parsed("a a DET 0 _\nb b NOUN 0 _"))
    assert parse.role.tolist() == [Role.OTHER, Role.OTHER]
    np.testing.assert_array_equal(parse.governor, [-1, -1])


def test_labels_of_no_scheme_are_refused() -> None:
    tokens = reference.parsed("a a NOUN 0 ROOT\nb b NOUN 1 SBJ")
    with pytest.raises(ParameterError, match="dependency labels must be of one scheme .*, got SBJ"):
        neutral_parse(tokens)
    with pytest.raises(ParameterError, match="scheme must be one of ud2, ud1, clearnlp, got 'ptb'"):
        neutral_parse(tokens, "ptb")


def test_labels_of_two_schemes_are_refused() -> None:
    tokens = reference.parsed("a a NOUN 0 ROOT\nb b NOUN 1 obl\nc c NOUN 1 pobj")
    with pytest.raises(ParameterError, match="must be of one scheme .*, got ROOT, obl, pobj"):
        neutral_parse(tokens)
