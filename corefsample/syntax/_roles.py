"""Dependency parses of several schemes in one notation: who governs a token, in what role, by what adposition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np

from corefsample._arrays import Ints32
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError, ParameterHint
from corefsample.syntax import _kernels
from corefsample.syntax._codes import Label, Role, Upos
from corefsample.syntax._schemes import SCHEMES, schemes_of

_SHARED = {
    Role.SUBJECT: "nsubj",
    Role.CLAUSE: "csubj csubjpass advcl ccomp xcomp",
    Role.NOUN_CLAUSE: "acl",
    Role.APPOSITION: "appos",
    Role.CONJUNCT: "conj",
    Role.ROOT: "root",
    Role.COMPOUND: "compound",
    Role.DETERMINER: "det",
    Role.ADJECTIVE: "amod",
    Role.NUMERAL: "nummod",
    Role.LIST: "parataxis",
    Role.FUNCTION: "mark cc punct aux auxpass",
    Role.EXPLETIVE: "expl",
    Role.ADVERB: "advmod neg",
}
_UNIVERSAL = {
    Role.PASSIVE_SUBJECT: "nsubj:pass nsubjpass",
    Role.OBJECT: "obj dobj",
    Role.INDIRECT_OBJECT: "iobj",
    Role.OBLIQUE: "obl",
    Role.ADVERBIAL_NOUN: "obl:tmod obl:npmod obl:unmarked nmod:tmod nmod:npmod nmod:unmarked",
    Role.NOUN_MODIFIER: "nmod",
    Role.POSSESSOR: "nmod:poss",
    Role.COMPOUND: "nmod:desc",
    Role.FUNCTION: "compound:prt fixed mwe discourse",
    Role.VOCATIVE: "vocative",
    Role.FLAT: "flat name foreign goeswith",
    Role.RELATIVE_CLAUSE: "acl:relcl",
    Role.LIST: "list",
    Role.DISLOCATED: "dislocated",
    Label.CASE: "case",
    Label.COPULA: "cop",
}
_CLEARNLP = {
    Role.PASSIVE_SUBJECT: "nsubjpass",
    Role.OBJECT: "dobj",
    Role.INDIRECT_OBJECT: "dative",
    Role.POSSESSOR: "poss",
    Role.COMPOUND: "nmod",
    Role.DETERMINER: "predet",
    Role.RELATIVE_CLAUSE: "relcl",
    Role.CLAUSE: "pcomp oprd",
    Role.ADVERBIAL_NOUN: "npadvmod",
    Role.FUNCTION: "case prt preconj intj",
    Role.ADVERB: "quantmod",
    Label.PREPOSITION: "prep agent",
    Label.PREPOSITION_OBJECT: "pobj",
    Label.COMPLEMENT: "attr acomp",
}


def _by_label(*tables: Mapping[int, str]) -> Mapping[str, int]:
    return {label: role for table in tables for role, labels in table.items() for label in labels.split()}


_ROLES_OF_UD = _by_label(_SHARED, _UNIVERSAL)
_ROLES = {"ud2": _ROLES_OF_UD, "ud1": _ROLES_OF_UD, "clearnlp": _by_label(_SHARED, _CLEARNLP)}
_UPOS_CODES = Upos._asdict()
_VERBAL = (Upos.VERB, Upos.AUX, Upos.ADJ, Upos.ADV)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NeutralParse:
    """A parse as features and mention rules see it; every array has n_tokens entries.

    Nouns hang on what their adposition hangs on; the predicate of a copula heads its clause; conjuncts hang on the
    first one and share its role and governor.

    Attributes
    ----------
    head
        int32: neutral head, -1 for a root.
    link
        int32: role towards `head`, a code of `Role`; conjuncts are ``Role.CONJUNCT``.
    role
        int32: the same, but a conjunct has the role of the first one, and a predicate of a copula is
        ``Role.PREDICATE``.
    governor
        int32: head of the token, or of the first of its coordination.
    marker
        int32: the adposition that marks the token, -1 without one.
    upos
        int32: part of speech, a code of `Upos`, 0 for any other.
    """

    head: Ints32
    link: Ints32
    role: Ints32
    governor: Ints32
    marker: Ints32
    upos: Ints32

    @classmethod
    def of(cls, tokens: Tokens, scheme: str | None = None) -> Self:
        """Bring a parse to the common notation; in a text without a parse every role is ``Role.OTHER``.

        Parameters
        ----------
        tokens
            Words with their parse in UD v2, UD v1 or ClearNLP.
        scheme
            Dependency scheme: ud2, ud1 or clearnlp. By default, it is recognised from the labels.

        Raises
        ------
        ParameterError
            If the labels fit no scheme, or several schemes that read them differently.
        """
        names = schemes_of(() if tokens.is_unparsed else tokens.dep, scheme)
        parse, *other_parses = (cls(*_parse(tokens, name)) for name in names)
        if not all(
            np.array_equal(getattr(parse, name), getattr(other_parse, name))
            for other_parse in other_parses
            for name in cls.__slots__
        ):
            conflict = f"labels that fit {' and '.join(names)}, which read them differently"
            hint = ParameterHint("scheme", "chooses")
            raise ParameterError(f"tokens.dep must fit one dependency scheme, got {conflict}", hint=hint)
        return parse


@lru_cache(maxsize=4096)
def _label_code(scheme: str, label: str) -> int:
    """Code of a label; a subtype without a role of its own counts as its base."""
    roles = _ROLES[scheme]
    name = SCHEMES[scheme].reads(label) or label
    return roles.get(name, roles.get(name.partition(":")[0], Role.OTHER))


def _parse(tokens: Tokens, scheme: str) -> tuple[Ints32, Ints32, Ints32, Ints32, Ints32, Ints32]:
    """The fields of a `NeutralParse`, by one scheme."""
    n_tokens = len(tokens)
    labels = np.array([_label_code(scheme, label) for label in tokens.dep], np.int32)
    upos = np.array([_UPOS_CODES.get(upos, 0) for upos in tokens.upos], np.int32)
    verbal = np.isin(upos, _VERBAL)
    head, link, role, governor = (np.empty(n_tokens, np.int32) for _ in range(4))
    marker, predicate = np.full(n_tokens, -1, np.int32), np.zeros(n_tokens, np.bool_)
    parse = _kernels.ParseLinks(head, link, marker, predicate)
    if scheme == "clearnlp":
        # A dative is a noun (give him) or a preposition (give to him); prepositions are complements (from under it)
        # and conjuncts (in and around it) of others too.
        adposition = upos == Upos.ADP
        dep = np.array(tokens.dep, np.str_)
        labels[adposition & np.isin(dep, ["dative", "pcomp", "conj"])] = Label.PREPOSITION
        adposition |= labels == Label.PREPOSITION
        adposition &= labels != Label.PREPOSITION_OBJECT
        be = np.array([lemma.lower() == "be" for lemma in tokens.lemma], np.bool_)
        verbs = _kernels.Verbs(np.full(n_tokens, -1, np.int32), np.zeros(n_tokens, np.bool_))
        _kernels.from_clearnlp(labels, tokens.head, verbal, adposition, be, verbs, parse)
    else:
        _kernels.from_universal(labels, tokens.head, verbal, upos == Upos.PART, parse)
    _kernels.share_roles(head, link, marker, predicate, governor, role)
    return head, link, role, governor, marker, upos
