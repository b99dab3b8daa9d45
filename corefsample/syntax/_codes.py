"""Integer codes of grammatical roles and parts of speech, and the limits of the loops over parses.

This is the only table of these codes: kernels of all packages read it. Codes are named tuples of whole numbers, because
compiled loops can use those as constants. Models are trained on the codes, so `syntax_codes` is part of the hash in a
model file.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any, Protocol, cast


class Codes(Protocol):
    """Type of a named tuple of whole numbers."""

    _fields: tuple[str, ...]

    def _asdict(self) -> dict[str, int]: ...
    def __len__(self) -> int: ...
    def __getattr__(self, name: str) -> int: ...


def numbered(names: str, start: int = 0) -> Codes:
    """Named tuple of whole numbers from `start`, one for each name."""
    fields = names.split()
    codes: Any = namedtuple("Codes", fields)(*range(start, start + len(fields)))
    return cast("Codes", codes)


# Role of a token towards its head, the same in every scheme.
Role = numbered(
    "OTHER SUBJECT PASSIVE_SUBJECT OBJECT INDIRECT_OBJECT OBLIQUE NOUN_MODIFIER POSSESSOR COMPOUND APPOSITION CONJUNCT "
    "ROOT PREDICATE VOCATIVE FLAT DETERMINER ADJECTIVE NUMERAL CLAUSE LIST FUNCTION ADVERBIAL_NOUN EXPLETIVE "
    "DISLOCATED ADVERB RELATIVE_CLAUSE NOUN_CLAUSE"
)
# Labels without a role of their own; the loops turn them into one. In UD the marker (CASE) hangs on its noun and the
# verb (COPULA) on the predicate; in ClearNLP the noun hangs on the marker and the predicate (COMPLEMENT) on the verb.
Label = numbered("CASE COPULA PREPOSITION PREPOSITION_OBJECT COMPLEMENT", start=40)
# Universal parts of speech; 0 stands for any other.
Upos = numbered("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X SPACE", start=1)
UPOS: tuple[str, ...] = Upos._fields
LONGEST_CHAIN = 64  # conjuncts or prepositions that are followed; longer chains are cut


def syntax_codes() -> str:
    """Text of all codes and limits of this module, for hashes."""
    return repr((Role, Label, Upos, LONGEST_CHAIN))
