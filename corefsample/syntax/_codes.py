"""Integer codes of grammatical roles and parts of speech, and the limits of the loops over parses.

This is the only table of these codes: kernels of all packages read it. Codes are named tuples of whole numbers, because
compiled loops can use those as constants. Models are trained on the codes, so `syntax_codes` is part of the hash in a
model file.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["LONGEST_CHAIN", "UPOS", "Label", "Role", "Upos", "syntax_codes"]


class _Roles(NamedTuple):
    """Role of a token towards its head, the same in every scheme."""

    OTHER: int = 0
    SUBJECT: int = 1
    PASSIVE_SUBJECT: int = 2
    OBJECT: int = 3
    INDIRECT_OBJECT: int = 4
    OBLIQUE: int = 5
    NOUN_MODIFIER: int = 6
    POSSESSOR: int = 7
    COMPOUND: int = 8
    APPOSITION: int = 9
    CONJUNCT: int = 10
    ROOT: int = 11
    PREDICATE: int = 12
    VOCATIVE: int = 13
    FLAT: int = 14
    DETERMINER: int = 15
    ADJECTIVE: int = 16
    NUMERAL: int = 17
    CLAUSE: int = 18
    LIST: int = 19
    FUNCTION: int = 20
    ADVERBIAL_NOUN: int = 21
    EXPLETIVE: int = 22
    DISLOCATED: int = 23
    ADVERB: int = 24
    RELATIVE_CLAUSE: int = 25
    NOUN_CLAUSE: int = 26


class _Labels(NamedTuple):
    """Labels that have no role of their own: the loops turn them into one."""

    CASE: int = 40  # UD: the marker hangs on the noun
    COPULA: int = 41  # UD: the verb hangs on the predicate
    PREPOSITION: int = 42  # ClearNLP: the noun hangs on the marker
    PREPOSITION_OBJECT: int = 43
    COMPLEMENT: int = 44  # ClearNLP: the predicate hangs on the verb


class _PartsOfSpeech(NamedTuple):
    """Universal parts of speech; 0 stands for any other."""

    ADJ: int = 1
    ADP: int = 2
    ADV: int = 3
    AUX: int = 4
    CCONJ: int = 5
    DET: int = 6
    INTJ: int = 7
    NOUN: int = 8
    NUM: int = 9
    PART: int = 10
    PRON: int = 11
    PROPN: int = 12
    PUNCT: int = 13
    SCONJ: int = 14
    SYM: int = 15
    VERB: int = 16
    X: int = 17
    SPACE: int = 18


Role, Label, Upos = _Roles(), _Labels(), _PartsOfSpeech()
UPOS: tuple[str, ...] = Upos._fields
LONGEST_CHAIN = 64  # conjuncts or prepositions that are followed; longer chains are cut


def syntax_codes() -> str:
    """Text of all codes and limits of this module, for hashes."""
    return repr((Role, Label, Upos, LONGEST_CHAIN))
