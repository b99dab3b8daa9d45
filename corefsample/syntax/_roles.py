"""Dependency parses of several schemes in one notation: who governs a token, in what role, by what adposition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from corefsample.documents import Tokens
from corefsample.errors import ParameterError
from corefsample.syntax import _role_kernels
from corefsample.syntax._schemes import SCHEMES, fitting_schemes

__all__ = ["UPOS", "NeutralParse", "Role", "chosen_scheme", "neutral_parse", "upos_codes"]

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


class Role(IntEnum):
    """Role of a token towards its head, the same in every scheme."""

    OTHER = 0
    SUBJECT = 1
    PASSIVE_SUBJECT = 2
    OBJECT = 3
    INDIRECT_OBJECT = 4
    OBLIQUE = 5
    NOUN_MODIFIER = 6
    POSSESSOR = 7
    COMPOUND = 8
    APPOSITION = 9
    CONJUNCT = 10
    ROOT = 11
    PREDICATE = 12
    VOCATIVE = 13
    FLAT = 14
    DETERMINER = 15
    ADJECTIVE = 16
    NUMERAL = 17
    CLAUSE = 18
    LIST = 19
    FUNCTION = 20
    ADVERBIAL_NOUN = 21
    EXPLETIVE = 22
    DISLOCATED = 23
    ADVERB = 24
    RELATIVE_CLAUSE = 25
    NOUN_CLAUSE = 26


_SHARED = {
    "nsubj": Role.SUBJECT,
    "csubj": Role.CLAUSE,
    "csubjpass": Role.CLAUSE,
    "appos": Role.APPOSITION,
    "conj": Role.CONJUNCT,
    "root": Role.ROOT,
    "compound": Role.COMPOUND,
    "det": Role.DETERMINER,
    "amod": Role.ADJECTIVE,
    "nummod": Role.NUMERAL,
    "acl": Role.NOUN_CLAUSE,
    "advcl": Role.CLAUSE,
    "ccomp": Role.CLAUSE,
    "xcomp": Role.CLAUSE,
    "parataxis": Role.LIST,
    "mark": Role.FUNCTION,
    "cc": Role.FUNCTION,
    "punct": Role.FUNCTION,
    "aux": Role.FUNCTION,
    "expl": Role.EXPLETIVE,
    "advmod": Role.ADVERB,
    "neg": Role.ADVERB,
}
_UNIVERSAL: Mapping[str, int] = {
    **_SHARED,
    "nsubj:pass": Role.PASSIVE_SUBJECT,
    "nsubjpass": Role.PASSIVE_SUBJECT,
    "obj": Role.OBJECT,
    "dobj": Role.OBJECT,
    "iobj": Role.INDIRECT_OBJECT,
    "obl": Role.OBLIQUE,
    "obl:tmod": Role.ADVERBIAL_NOUN,
    "obl:npmod": Role.ADVERBIAL_NOUN,
    "obl:unmarked": Role.ADVERBIAL_NOUN,
    "nmod": Role.NOUN_MODIFIER,
    "nmod:poss": Role.POSSESSOR,
    "nmod:tmod": Role.ADVERBIAL_NOUN,
    "nmod:npmod": Role.ADVERBIAL_NOUN,
    "nmod:unmarked": Role.ADVERBIAL_NOUN,
    "nmod:desc": Role.COMPOUND,
    "compound:prt": Role.FUNCTION,
    "vocative": Role.VOCATIVE,
    "flat": Role.FLAT,
    "name": Role.FLAT,
    "foreign": Role.FLAT,
    "goeswith": Role.FLAT,
    "acl:relcl": Role.RELATIVE_CLAUSE,
    "list": Role.LIST,
    "dislocated": Role.DISLOCATED,
    "case": _role_kernels.CASE,
    "cop": _role_kernels.COPULA,
    "auxpass": Role.FUNCTION,
    "fixed": Role.FUNCTION,
    "mwe": Role.FUNCTION,
    "discourse": Role.FUNCTION,
}
_CLEARNLP: Mapping[str, int] = {
    **_SHARED,
    "nsubjpass": Role.PASSIVE_SUBJECT,
    "dobj": Role.OBJECT,
    "dative": Role.INDIRECT_OBJECT,
    "poss": Role.POSSESSOR,
    "nmod": Role.COMPOUND,
    "predet": Role.DETERMINER,
    "relcl": Role.RELATIVE_CLAUSE,
    "pcomp": Role.CLAUSE,
    "oprd": Role.CLAUSE,
    "npadvmod": Role.ADVERBIAL_NOUN,
    "auxpass": Role.FUNCTION,
    "case": Role.FUNCTION,
    "prt": Role.FUNCTION,
    "preconj": Role.FUNCTION,
    "intj": Role.FUNCTION,
    "quantmod": Role.ADVERB,
    "prep": _role_kernels.PREPOSITION,
    "agent": _role_kernels.PREPOSITION,
    "pobj": _role_kernels.PREPOSITION_OBJECT,
    "attr": _role_kernels.COMPLEMENT,
    "acomp": _role_kernels.COMPLEMENT,
}
# Universal parts of speech; their codes count from 1, and 0 is any other.
UPOS = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X", "SPACE"),
)
_UPOS_CODES = {upos: code for code, upos in enumerate(UPOS, start=1)}
_UNPARSED = frozenset({"_", ""})
_ADPOSITION, _PARTICLE = _UPOS_CODES["ADP"], _UPOS_CODES["PART"]
_VERBAL = np.array([_UPOS_CODES[upos] for upos in ("VERB", "AUX", "ADJ", "ADV")])


@dataclass(frozen=True, slots=True, eq=False)
class NeutralParse:
    """A parse as features and mention rules see it; every array has n_tokens entries.

    Nouns hang on what their adposition hangs on; the predicate of a copula heads its clause; conjuncts hang on the
    first one and share its role and governor.

    Attributes
    ----------
    head
        int32: neutral head, -1 for a root.
    link
        int32: role towards `head`, a `Role`; conjuncts are `Role.CONJUNCT`.
    role
        int32: the same, where a conjunct has the role of the first one, and a predicate of a copula
        `Role.PREDICATE`.
    governor
        int32: what the token, or the first of its coordination, hangs on.
    marker
        int32: the adposition that marks the token, -1 without one.
    upos
        int32: part of speech, a place in `UPOS` counted from 1, 0 for one that is not there.
    """

    head: Ints
    link: Ints
    role: Ints
    governor: Ints
    marker: Ints
    upos: Ints


def upos_codes(tokens: Tokens) -> Ints:
    """Return int32 (n_tokens,): the part of speech of each token as its place in `UPOS`, from 1; 0 for others."""
    return np.array([_UPOS_CODES.get(upos, 0) for upos in tokens.upos], np.int32)


def chosen_scheme(tokens: Tokens, scheme: str | None) -> str:
    """Return `scheme`, or the first one that has all labels of the parse; of a text without a parse any will do.

    Raises
    ------
    ParameterError
        If there is no such scheme, or none has all the labels.
    """
    if scheme is not None:
        if scheme not in SCHEMES:
            raise ParameterError(f"scheme must be one of {', '.join(SCHEMES)}, got {scheme!r}")
        return scheme
    labels = frozenset(tokens.dep)
    if labels <= _UNPARSED:
        return "ud2"
    fitting = _fitting(labels)
    if not fitting:
        unknown = sorted(label for label in labels if not fitting_schemes((label,))) or sorted(labels)
        raise ParameterError(
            f"dependency labels must be of one scheme ({', '.join(SCHEMES)}), got {', '.join(unknown[:5])}"
        )
    return fitting[0]


@lru_cache(maxsize=4096)
def _fitting(labels: frozenset[str]) -> tuple[str, ...]:
    return fitting_schemes(labels)


@lru_cache(maxsize=4096)
def _label_code(scheme: str, label: str) -> int:
    """Code of a label; a subtype that means nothing here counts as its base."""
    codes = _CLEARNLP if scheme == "clearnlp" else _UNIVERSAL
    read = SCHEMES[scheme].reads(label) or label
    return int(codes.get(read, codes.get(read.partition(":")[0], Role.OTHER)))


def neutral_parse(tokens: Tokens, scheme: str | None = None) -> NeutralParse:
    """Bring a parse to the common notation.

    Parameters
    ----------
    tokens
        Words with their parse in UD v2, UD v1 or ClearNLP.
    scheme
        ud2, ud1 or clearnlp; None: told from the labels.

    Raises
    ------
    ParameterError
        If the labels fit no scheme.
    """
    name = chosen_scheme(tokens, scheme)
    n_tokens = len(tokens)
    labels = np.array([_label_code(name, label) for label in tokens.dep], np.int32)
    upos = upos_codes(tokens)
    verbal = np.isin(upos, _VERBAL)
    head, link, role, governor = (np.empty(n_tokens, np.int32) for _ in range(4))
    marker, predicate = np.full(n_tokens, -1, np.int32), np.zeros(n_tokens, np.bool_)
    if name == "clearnlp":
        # A dative is a noun (give him) or a preposition (give to him); prepositions are complements (from under it)
        # and conjuncts (in and around it) of others too.
        adposition = upos == _ADPOSITION
        dep = np.array(tokens.dep, np.str_)
        labels[adposition & np.isin(dep, ["dative", "pcomp", "conj"])] = _role_kernels.PREPOSITION
        adposition |= labels == _role_kernels.PREPOSITION
        adposition &= labels != _role_kernels.PREPOSITION_OBJECT
        be = np.array([lemma.lower() == "be" for lemma in tokens.lemma], np.bool_)
        _role_kernels.from_clearnlp(labels, tokens.head, verbal, adposition, be, head, link, marker, predicate)
    else:
        _role_kernels.from_universal(labels, tokens.head, verbal, upos == _PARTICLE, head, link, marker, predicate)
    _role_kernels.share_roles(head, link, marker, predicate, governor, role)
    return NeutralParse(head, link, role, governor, marker, upos)
