"""Parses of three schemes come out in one notation."""

import pytest
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references import mention_ranking as reference
from strategies import parses as strategies

from corefsample import ParameterError
from corefsample.syntax._codes import Role
from corefsample.syntax._mentions import NeutralParse

pytestmark = pytest.mark.kernels


def neutral(scheme: str) -> NeutralParse:
    return NeutralParse.of(reference.parsed(reference.PARSES[scheme]))


def word(scheme: str, form: str) -> int:
    return reference.parsed(reference.PARSES[scheme]).text.index(form)


@pytest.mark.parametrize("scheme", reference.PARSES)
@pytest.mark.parametrize(
    ("form", "role", "governor", "marker"),
    [
        ("president", Role.SUBJECT, "met", None),
        ("American", Role.ADJECTIVE, "troops", None),
        ("Iraq", Role.OBLIQUE, "met", "in"),
        ("She", Role.SUBJECT, "doctor", None),
        ("doctor", Role.PREDICATE, None, None),
        ("Mary", Role.INDIRECT_OBJECT, "gave", None),
        ("his", Role.POSSESSOR, "book", None),
        ("city", Role.PASSIVE_SUBJECT, "attacked", None),
        ("hate", Role.RELATIVE_CLAUSE, "rebels", None),
        ("There", Role.EXPLETIVE, "is", None),
        ("man", Role.SUBJECT, "is", None),
        ("king", Role.POSSESSOR, "garden", None),
        ("happy", Role.PREDICATE, "said", None),
    ],
)
def test_a_word_has_one_role_everywhere(
    scheme: str, form: str, role: int, governor: str | None, marker: str | None
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


def test_a_preposition_within_another_hangs_its_noun_on_the_outer_one() -> None:
    chained = "came come VERB 0 ROOT\nfrom from ADP 1 prep\nbehind behind ADP 2 prep\ndoors door NOUN 3 pobj"
    parse = NeutralParse.of(reference.parsed(chained))
    assert (parse.head[3], parse.marker[3], parse.role[3]) == (0, 1, Role.OBLIQUE)
    assert parse.head.tolist() == [-1, 3, 3, 0]  # both prepositions hang on the noun


def test_labels_of_no_scheme_are_rejected() -> None:
    tokens = reference.parsed("a a NOUN 0 ROOT\nb b NOUN 1 SBJ")
    with pytest.raises(ParameterError, match=r"tokens.dep must fit a dependency scheme .*, got 'SBJ' \(not in ud2"):
        NeutralParse.of(tokens)
    with error(ParameterError, "scheme"):
        NeutralParse.of(tokens, "ptb")
    with error(ParameterError):  # labels of two schemes
        NeutralParse.of(reference.parsed("a a NOUN 0 ROOT\nb b NOUN 1 obl\nc c NOUN 1 pobj"))
    with pytest.raises(ParameterError, match="must fit the scheme ud1, got 'SBJ'"):
        NeutralParse.of(tokens, "ud1")


def test_labels_of_several_schemes_are_read_if_all_agree() -> None:
    assert NeutralParse.of(reference.parsed("a a NOUN 2 nsubj\nb b VERB 0 root")).role.tolist() == [
        Role.SUBJECT,
        Role.ROOT,
    ]
    tokens = reference.parsed("a a NOUN 0 root\nb b NOUN 1 nmod")
    with pytest.raises(ParameterError, match=r"got labels that fit ud2 and ud1 and clearnlp, .* \(scheme chooses\)"):
        NeutralParse.of(tokens)
    assert NeutralParse.of(tokens, "ud2").role[1] == Role.NOUN_MODIFIER
    assert NeutralParse.of(tokens, "clearnlp").role[1] == Role.COMPOUND


AROUND = (
    "walked walk VERB 0 ROOT\nin in ADP 1 prep\nand and CCONJ 2 cc\naround around ADP 2 conj\ncity city NOUN 4 pobj"
)
BEHIND = "ran run VERB 0 ROOT\nfrom from ADP 1 prep\nbehind behind ADP 2 pcomp\nit it PRON 3 pobj"
WHAT = "What what PRON 3 attr\nelse else ADV 1 advmod\nis be AUX 0 ROOT\nold old ADJ 3 acomp"


@pytest.mark.parametrize(
    ("text", "token", "head", "link", "marker"),
    [
        # The city hangs on the verb by the first preposition; a preposition that is the complement of another.
        (AROUND, 4, 0, Role.OBLIQUE, 1),
        (BEHIND, 3, 0, Role.OBLIQUE, 1),
        # A headline: the preposition is the root, and then its noun.
        ("In in ADP 0 ROOT\nParis Paris PROPN 1 pobj", 1, -1, Role.OBLIQUE, 0),
        # Objects of what is no preposition hang on it as they are.
        ("dogs dog NOUN 0 ROOT\ncats cat NOUN 1 pobj", 1, 0, Role.NOUN_MODIFIER, -1),
        ("of of ADP 0 prep\nof of ADP 1 pobj\ncats cat NOUN 2 pobj", 2, 1, Role.NOUN_MODIFIER, -1),
        ("cats cat NOUN 0 pobj", 0, -1, Role.OBLIQUE, -1),
        # Complements: of a copula the predicate, of "there is" the subject, of other verbs a clause of its own.
        ("He he PRON 2 nsubj\nis be AUX 0 ROOT\nold old ADJ 2 acomp", 2, -1, Role.ROOT, -1),
        (WHAT, 3, 0, Role.PREDICATE, -1),
        ("There there PRON 2 expl\nexists exist VERB 0 ROOT\ngold gold NOUN 2 attr", 2, 1, Role.SUBJECT, -1),
        ("He he PRON 2 nsubj\nseems seem VERB 0 ROOT\nold old ADJ 2 acomp", 2, 1, Role.CLAUSE, -1),
    ],
)
def test_a_word_of_clearnlp_hangs_as_in_universal_dependencies(
    text: str, token: int, head: int, link: int, marker: int
) -> None:
    parse = NeutralParse.of(reference.parsed(text), "clearnlp")
    assert (parse.head[token], parse.link[token], parse.marker[token]) == (head, link, marker)


@pytest.mark.parametrize(
    ("scheme", "label", "role"),
    [
        ("clearnlp", "csubjpass", Role.CLAUSE),
        ("ud2", "fixed", Role.FUNCTION),
        ("ud2", "obl:agent", Role.OBLIQUE),
        ("ud1", "nmod:agent", Role.NOUN_MODIFIER),
        ("ud2", "nmod:desc", Role.COMPOUND),
        ("clearnlp", "nmod", Role.COMPOUND),
        ("clearnlp", "npadvmod", Role.ADVERBIAL_NOUN),
        ("clearnlp", "quantmod", Role.ADVERB),
        ("ud2", "orphan", Role.OTHER),
    ],
)
def test_labels_have_roles(scheme: str, label: str, role: int) -> None:
    parse = NeutralParse.of(reference.parsed(f"a a NOUN 0 root\nb b NOUN 1 {label}"), scheme)
    assert parse.link[1] == role


def test_long_chains_of_conjuncts_and_prepositions_are_followed_for_a_while() -> None:
    n = 100
    conjuncts = "\n".join(["cats cat NOUN 0 ROOT", *(f"cats cat NOUN {t} conj" for t in range(1, n))])
    parse = NeutralParse.of(reference.parsed(conjuncts), "clearnlp")
    assert set(parse.head[1:].tolist()) == {0}  # each is brought to the first, one after the other
    assert set(parse.role.tolist()) == {Role.ROOT}
    chain = [f"in in ADP {t} prep" for t in range(1, n)]
    prepositions = "\n".join(["saw see VERB 0 ROOT", *chain, f"cats cat NOUN {n} pobj"])
    parse = NeutralParse.of(reference.parsed(prepositions), "clearnlp")
    assert parse.marker[n] == n - 1 - 64


@pytest.mark.parametrize("scheme", strategies.LABELS)
@settings(max_examples=100)
@given(data=st.data())
def test_a_neutral_parse_of_any_tree_is_a_tree(scheme: str, data: st.DataObject) -> None:
    tokens = data.draw(strategies.parses(scheme, min_tokens=0))
    parse = NeutralParse.of(tokens, scheme)
    n, roles = len(tokens), {*Role}
    assert set(parse.link.tolist()) | set(parse.role.tolist()) <= roles
    for array in (parse.head, parse.governor, parse.marker):
        assert ((array >= -1) & (array < n)).all()
    for start in range(n):
        token, steps = start, 0
        while token >= 0:
            token, steps = int(parse.head[token]), steps + 1
            assert steps <= n
    marked = parse.marker[parse.marker >= 0]
    assert all(tokens.upos[t] == "ADP" or tokens.dep[t] in ("case", "prep", "agent") for t in marked.tolist())
