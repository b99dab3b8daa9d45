"""Integer codes of grammatical roles, parts of speech and words, and the limits of the loops over parses.

This is the only table of these codes: kernels of all packages read it. Codes are named tuples of whole numbers, because
compiled loops can use those as constants. Models are trained on the codes, so `syntax_codes` and `word_codes` are part
of the hash in a model file. Numbers without a source were chosen for this project.
"""

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


def bits(names: str) -> Codes:
    """Named tuple of powers of two, one for each name."""
    fields = names.split()
    powers: Any = (1 << place for place in range(len(fields)))
    codes: Any = namedtuple("Codes", fields)(*powers)
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

# --- words -------------------------------------------------------------------------------------------------

# Kinds of pronouns and articles.
Kind = numbered(
    "NONE PERSONAL POSSESSIVE REFLEXIVE DEMONSTRATIVE RELATIVE INDEFINITE DEFINITE_ARTICLE INDEFINITE_ARTICLE "
    "EXISTENTIAL"
)
Number = numbered("UNKNOWN SINGULAR PLURAL")
# ANIMATE: a person of either gender. COLLECTIVE: a group, which can be "it", "they" or "who", whatever its number.
Gender = numbered("UNKNOWN MALE FEMALE NEUTER ANIMATE COLLECTIVE")
# What sort of thing a noun names, by word lists and endings; and verbs of saying and thinking.
Meaning = numbered(
    "UNKNOWN PERSON GROUP PLACE TIME BODY ANIMAL PLANT SUBSTANCE OBJECT WORK EVENT ABSTRACT GIVEN_NAME YEAR NUMERAL "
    "PERHAPS_EVENT PERHAPS_ABSTRACT PERHAPS_PERSON SAYING"
)
# Classes of what a description can mean: bits, because "the group" may mean a band or a company.
Naming = bits(
    "PERSON OFFICER POLITICIAN ARMED COMPANY PARTY SCHOOL MEDIA BODY COUNTRY CITY AREA TEAM MEMBERS STATE OTHER"
)
OCCUPATIONS = Naming.OFFICER | Naming.POLITICIAN
ORGANISATIONS = Naming.ARMED | Naming.COMPANY | Naming.PARTY | Naming.SCHOOL | Naming.MEDIA | Naming.BODY | Naming.TEAM
PLACES = Naming.COUNTRY | Naming.CITY | Naming.AREA
# Columns of a word table.
Column = numbered("FORM LEMMA ENDING STEM ACRONYM INITIAL UPOS KIND PERSON NUMBER GENDER MEANING NAMING QUOTE QUESTION")

STEM_LETTERS = 5  # lemmas of one family are taken to share these (attack, attacker)
ENDING_LETTERS = 3
ACRONYM_LETTERS = (2, 6)
YEAR_LETTERS = (4, 5)  # 1999, 1990s
# Initials and acronyms: djb2 (Daniel J. Bernstein, comp.lang.c 1991, http://www.cse.yorku.ca/~oz/hash.html).
DJB2_START, DJB2_FACTOR = 5381, 33


def syntax_codes() -> str:
    """Text of the codes of roles, labels and parts of speech, for hashes."""
    return repr((Role, Label, Upos, LONGEST_CHAIN))


def word_codes() -> dict[str, Any]:
    """Codes and limits of words by name, for hashes."""
    groups = "OCCUPATIONS ORGANISATIONS PLACES"
    limits = "STEM_LETTERS ENDING_LETTERS ACRONYM_LETTERS YEAR_LETTERS DJB2_START DJB2_FACTOR"
    return {name: globals()[name] for name in f"Kind Number Gender Meaning Naming Column {groups} {limits}".split()}
