"""What is known of a word by itself: hashes, kind of pronoun or article, person, number, gender, meaning.

Morphology comes from the parse where it has it (``feats``, ``xpos``), else from word lists, the lemma and the part of
speech, so a model trained on one sort of parse reads the other.

Also here: kind, person, number and gender of pronouns and articles: English ones by a list, others by UD's features.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from itertools import starmap

import numpy as np

from corefsample._arrays import Words32
from corefsample._checks import shown
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError
from corefsample.mention_ranking.features import _codes as codes
from corefsample.mention_ranking.features._codes import Column, Gender, Kind, Meaning, Number
from corefsample.syntax._codes import UPOS

_UPOS_CODES = {upos: code for code, upos in enumerate(UPOS, start=1)}
_PRONOUN_UPOS = frozenset({"PRON", "DET", "NUM"})
_NOMINAL_UPOS = _PRONOUN_UPOS | {"NOUN", "PROPN"}

_PLURAL_NOUNS = frozenset(
    (
        *("people", "police", "children", "men", "women", "folks", "cattle"),
        *("feet", "teeth", "geese", "mice", "data", "media"),
    )
)

_QUOTES = frozenset(['"', "“", "”", "``", "''", "„", "«", "»"])

_ENDINGS = (
    ("ology ness ity ism ship hood ance ence ics ure", Meaning.PERHAPS_ABSTRACT),
    ("tion sion ment ing al", Meaning.PERHAPS_EVENT),
    ("ist ian eer er or ee", Meaning.PERHAPS_PERSON),
)

_MEANINGS = Meaning._asdict()
_PERSON_CLASSES = {"male": Gender.MALE, "female": Gender.FEMALE, "person": Gender.ANIMATE}
_GENDER_OF_CLASS = {"group": Gender.COLLECTIVE, "animal": Gender.UNKNOWN}  # NEUTER of the other classes


def word_hash(text: str) -> int:
    """CRC-32 of a word in UTF-8, never 0; lone surrogates are encoded too."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) or 1


def _resource(name: str) -> str:
    return resources.files("corefsample.mention_ranking").joinpath("data", name).read_text(encoding="utf-8")


@cache
def word_lists() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Classes of nouns, and genders of given names, by word."""
    lists = []
    for name in ("nouns.txt", "given_names.txt"):
        classes: dict[str, str] = {}
        for line in _resource(name).splitlines():
            if line.startswith("#"):
                continue
            label, _, words = line.partition(":")
            for word in words.split():
                classes.setdefault(word, label)
        lists.append(classes)
    return lists[0], lists[1]


@cache
def word_lists_hash() -> int:
    """CRC-32 of all words and endings that decide a word's row."""
    texts = [_resource(name) for name in ("nouns.txt", "given_names.txt")]
    tables = (PRONOUNS, _ENDINGS, sorted(_PLURAL_NOUNS), sorted(_QUOTES), sorted(_GENDER_OF_CLASS.items()))
    return zlib.crc32("\n".join([*texts, *map(repr, tables)]).encode())


def _noun_class(form: str, lemma: str) -> str:
    nouns, _ = word_lists()
    return nouns.get(lemma) or nouns.get(form, "")


def _meaning(form: str, lemma: str, upos: str) -> int:
    if upos == "NUM":
        year = len(form) in codes.YEAR_LETTERS and form[:4].isdigit() and form[0] in "12" and form[4:] in ("", "s")
        return Meaning.YEAR if year else Meaning.NUMERAL
    if upos not in ("NOUN", "PROPN"):
        return Meaning.UNKNOWN
    label = _noun_class(form, lemma)
    if label:
        return Meaning.PERSON if label in _PERSON_CLASSES else _MEANINGS[label.upper()]
    if upos == "PROPN":
        return Meaning.GIVEN_NAME if form in word_lists()[1] else Meaning.UNKNOWN
    if len(lemma) > codes.STEM_LETTERS:
        for endings, meaning in _ENDINGS:
            if lemma.endswith(tuple(endings.split())):
                return meaning
    return Meaning.UNKNOWN


def _gender(form: str, lemma: str, upos: str) -> int:
    """Gender of a noun or name by the lists: animals, names and nouns like "commuter" may be of any."""
    if upos not in ("NOUN", "PROPN"):
        return Gender.UNKNOWN
    label = _noun_class(form, lemma)
    if label in _PERSON_CLASSES:
        return _PERSON_CLASSES[label]
    given = word_lists()[1].get(form, "") if upos == "PROPN" else ""
    if given:
        return Gender.MALE if given == "male" else Gender.FEMALE
    if label:
        return _GENDER_OF_CLASS.get(label, Gender.NEUTER)
    unlisted = upos == "PROPN" or _meaning(form, lemma, upos) == Meaning.PERHAPS_PERSON
    return Gender.UNKNOWN if unlisted else Gender.NEUTER


def _number(form: str, lemma: str, upos: str, xpos: str) -> int:
    if upos not in ("NOUN", "PROPN"):
        return Number.UNKNOWN
    if xpos in ("NNS", "NNPS"):
        return Number.PLURAL
    if xpos in ("NN", "NNP"):
        return Number.SINGULAR
    if upos == "NOUN":
        return Number.PLURAL if form in _PLURAL_NOUNS or form != lemma else Number.SINGULAR
    return Number.PLURAL if form != lemma and form.endswith("s") else Number.SINGULAR


def _grammar(form: str, lemma: str, upos: str, xpos: str, feats: str) -> Grammar:
    """Kind, person, number and gender: of English pronouns by the list, else by features, else by guess."""
    if upos in _PRONOUN_UPOS and form in LISTED:
        return LISTED[form]
    if form == "the" and upos == "DET":
        return Kind.DEFINITE_ARTICLE, 0, 0, 0
    if form in ("a", "an") and upos == "DET":
        return Kind.INDEFINITE_ARTICLE, 0, 0, 0
    if form == "there" and upos == "PRON":
        return Kind.EXISTENTIAL, 3, 0, Gender.NEUTER
    if upos not in _NOMINAL_UPOS:
        return Kind.NONE, 0, 0, 0
    kind, person, number, gender = by_features(feats)
    if upos not in _PRONOUN_UPOS:
        kind = Kind.NONE
    if upos in ("NOUN", "PROPN"):
        person = person or 3
        number = number or _number(form, lemma, upos, xpos)
        gender = gender or _gender(form, lemma, upos)
    return kind, person, number, gender


def _shape(text: str) -> str:
    if text[:1].isupper():
        return "AA" if text.isupper() and len(text) > 1 else "Aa"
    return "aa" if text.isalpha() else "00" if text.isdigit() else "a0" if any(c.isdigit() for c in text) else "--"


def _acronym(text: str) -> int:
    """Rolling hash of the letters of an acronym, as the kernels hash initials; 0 of other words."""
    letters = text.replace(".", "")
    fewest, most = codes.ACRONYM_LETTERS
    if not (fewest <= len(letters) <= most and letters.isupper() and letters.isalpha()):
        return 0
    code = codes.DJB2_START
    for letter in letters:
        code = (code * codes.DJB2_FACTOR + ord(letter)) & 0xFFFFFFFF
    return code


@lru_cache(maxsize=1 << 18)
def _row(text: str, lemma: str, upos: str, xpos: str, feats: str) -> bytes:
    """Row of a word table, in bytes: they are joined faster than arrays."""
    form, base = text.lower(), lemma.lower()
    row = [
        word_hash(form),
        word_hash(base),
        word_hash(f"-{form[-codes.ENDING_LETTERS :]}{_shape(text)}"),
        word_hash(f"~{base[: codes.STEM_LETTERS]}"),
        _acronym(text),
        ord(text[0]) if text[:1].isupper() else 0,
        _UPOS_CODES.get(upos, 0),
        *_grammar(form, base, upos, xpos, feats),
        _meaning(form, base, upos),
        int(form in _QUOTES),
        int("?" in form),
    ]
    return np.array(row, np.uint32).tobytes()


def word_table(tokens: Tokens) -> Words32:
    """Look up every token.

    Parameters
    ----------
    tokens
        Words; ``extra`` may have ``xpos`` (Penn tags) and ``feats`` (UD features): strings, None where missing.

    Returns
    -------
    array of shape (n_tokens, n_columns), uint32
        One row per token; columns by `Column`.

    Raises
    ------
    ParameterError
        If ``xpos`` or ``feats`` has a value that is not a string.
    """
    xpos, feats = _extra_strings(tokens, "xpos"), _extra_strings(tokens, "feats")
    rows = starmap(_row, zip(tokens.text, tokens.lemma, tokens.upos, xpos, feats, strict=True))
    return np.frombuffer(b"".join(rows), np.uint32).reshape(-1, len(Column)).copy()


def _extra_strings(tokens: Tokens, name: str) -> Sequence[str]:
    """A further list of the tokens as strings, "" where missing."""
    column = tokens.extra.get(name)
    if column is None:
        return [""] * len(tokens)
    if set(map(type, column)) <= {str}:
        return column
    for t, value in enumerate(column):
        if value is not None and not isinstance(value, str):
            raise ParameterError(f"tokens.{name}[{t}] must be a string, got {shown(value)}")
    return [value or "" for value in column]


Grammar = tuple[int, int, int, int]  # kind, person, number, gender

_S, _P, _U = Number.SINGULAR, Number.PLURAL, Number.UNKNOWN

# Words, kind, person, number, gender.
PRONOUNS: tuple[tuple[str, int, int, int, int], ...] = (
    ("i me", Kind.PERSONAL, 1, _S, Gender.ANIMATE),
    ("my mine", Kind.POSSESSIVE, 1, _S, Gender.ANIMATE),
    ("myself", Kind.REFLEXIVE, 1, _S, Gender.ANIMATE),
    ("we us 's ’s", Kind.PERSONAL, 1, _P, Gender.ANIMATE),
    ("our ours", Kind.POSSESSIVE, 1, _P, Gender.ANIMATE),
    ("ourselves ourself", Kind.REFLEXIVE, 1, _P, Gender.ANIMATE),
    ("you ya ye y'all y’all yall thou thee", Kind.PERSONAL, 2, _U, Gender.ANIMATE),
    ("your yours thy thine", Kind.POSSESSIVE, 2, _U, Gender.ANIMATE),
    ("yourself", Kind.REFLEXIVE, 2, _S, Gender.ANIMATE),
    ("yourselves", Kind.REFLEXIVE, 2, _P, Gender.ANIMATE),
    ("he him", Kind.PERSONAL, 3, _S, Gender.MALE),
    ("his", Kind.POSSESSIVE, 3, _S, Gender.MALE),
    ("himself", Kind.REFLEXIVE, 3, _S, Gender.MALE),
    ("she", Kind.PERSONAL, 3, _S, Gender.FEMALE),
    ("her hers", Kind.POSSESSIVE, 3, _S, Gender.FEMALE),
    ("herself", Kind.REFLEXIVE, 3, _S, Gender.FEMALE),
    ("it", Kind.PERSONAL, 3, _S, Gender.NEUTER),
    ("its", Kind.POSSESSIVE, 3, _S, Gender.NEUTER),
    ("itself", Kind.REFLEXIVE, 3, _S, Gender.NEUTER),
    ("they them 'em ’em em", Kind.PERSONAL, 3, _P, Gender.UNKNOWN),
    ("their theirs", Kind.POSSESSIVE, 3, _P, Gender.UNKNOWN),
    ("themselves themself", Kind.REFLEXIVE, 3, _P, Gender.UNKNOWN),
    ("this that", Kind.DEMONSTRATIVE, 3, _S, Gender.NEUTER),
    ("these those", Kind.DEMONSTRATIVE, 3, _P, Gender.NEUTER),
    ("who whom whoever whose", Kind.RELATIVE, 3, _U, Gender.ANIMATE),
    ("which what whatever whichever", Kind.RELATIVE, 3, _U, Gender.NEUTER),
    ("one", Kind.INDEFINITE, 3, _S, Gender.UNKNOWN),
    ("ones", Kind.INDEFINITE, 3, _P, Gender.UNKNOWN),
    ("someone somebody anyone anybody everyone everybody nobody", Kind.INDEFINITE, 3, _S, Gender.ANIMATE),
    ("something anything everything nothing", Kind.INDEFINITE, 3, _S, Gender.NEUTER),
    ("all both some many few several most any each every no either neither none another other others",
     Kind.INDEFINITE, 3, _U, Gender.UNKNOWN),
)  # fmt: skip

LISTED: Mapping[str, Grammar] = {
    word: (kind, person, number, gender) for words, kind, person, number, gender in PRONOUNS for word in words.split()
}

_FEATS_GENDER = {"Masc": Gender.MALE, "Fem": Gender.FEMALE, "Neut": Gender.NEUTER}
_FEATS_NUMBER = {"Sing": Number.SINGULAR, "Plur": Number.PLURAL}

_FEATS_KIND = {
    "Prs": Kind.PERSONAL,
    "Dem": Kind.DEMONSTRATIVE,
    "Rel": Kind.RELATIVE,
    "Int": Kind.RELATIVE,
    "Ind": Kind.INDEFINITE,
    "Tot": Kind.INDEFINITE,
    "Neg": Kind.INDEFINITE,
}


def by_features(feats: str) -> Grammar:
    """Kind, person, number and gender by UD's features."""
    values = dict(pair.partition("=")[::2] for pair in feats.split("|")) if "=" in feats else {}
    kind = _FEATS_KIND.get(values.get("PronType", "").partition(",")[0], Kind.NONE)
    if values.get("PronType") == "Art":
        kind = Kind.DEFINITE_ARTICLE if values.get("Definite") == "Def" else Kind.INDEFINITE_ARTICLE
    if kind == Kind.PERSONAL and values.get("Reflex") == "Yes":
        kind = Kind.REFLEXIVE
    elif kind == Kind.PERSONAL and values.get("Poss") == "Yes":
        kind = Kind.POSSESSIVE
    person = values.get("Person", "")
    return (
        kind,
        int(person) if person in ("1", "2", "3") else 0,
        _FEATS_NUMBER.get(values.get("Number", ""), Number.UNKNOWN),
        _FEATS_GENDER.get(values.get("Gender", ""), Gender.UNKNOWN),
    )
