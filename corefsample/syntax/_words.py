"""Words as numbers: kind of pronoun or article, person, number, gender and meaning; and kinds of mentions.

Morphology comes from the parse where it has it (``feats``, ``xpos``), else from the resources of the language, the
lemma and the part of speech, so models trained on one sort of parse read the other. Kinds of mentions, for
recalibration by kind of link, are those of the mentions' heads, and equal in all dependency schemes.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat, starmap

import numpy as np

from corefsample._arrays import Bytes, Ints, Words32
from corefsample.documents._tokens import EMPTY_COLUMN, Tokens
from corefsample.errors import ParameterError, shown
from corefsample.languages._language import ENGLISH, Language, load_language
from corefsample.syntax import _codes as codes
from corefsample.syntax._codes import Column, Gender, Kind, Meaning, Number, Upos

_UPOS_CODES = Upos._asdict()
_PRONOUN_UPOS = frozenset({"PRON", "DET", "NUM"})
_NOMINAL_UPOS = _PRONOUN_UPOS | {"NOUN", "PROPN"}

Grammar = tuple[int, int, int, int]  # kind, person, number, gender
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
MENTION_KINDS = (
    *("name", "plural noun", "singular noun", "he or she", "it", "they", "first or second person", "other pronoun"),
    "other",
)
NAME, PLURAL_NOUN, SINGULAR_NOUN, HE_OR_SHE, IT, THEY, FIRST_OR_SECOND, OTHER_PRONOUN, OTHER = range(9)
_AGREEING = ("Person=", "Number=", "Gender=")
_QUOTES = frozenset(['"', "“", "”", "``", "''", "„", "«", "»"])

_MEANINGS = Meaning._asdict()
_PERSON_CLASSES = {"male": Gender.MALE, "female": Gender.FEMALE, "person": Gender.ANIMATE}
_GENDER_OF_CLASS = {"group": Gender.COLLECTIVE, "animal": Gender.UNKNOWN}  # NEUTER of the other classes


def word_hash(text: str) -> int:
    """CRC-32 of a word in UTF-8, never 0; lone surrogates are encoded too."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) or 1


def language_hash(language: Language) -> int:
    """CRC-32 of all words and endings that decide a word's row."""
    countries = sorted(name for name, codes_of_name in language.countries.items() if codes_of_name)
    tables = (sorted(_QUOTES), sorted(_GENDER_OF_CLASS.items()), countries)
    return zlib.crc32(repr(tables).encode(), language.checksum)


@lru_cache(maxsize=64)
def _listed(language: Language) -> Mapping[str, Grammar]:
    """Kind, person, number and gender of the listed pronouns."""
    return {
        word: (
            getattr(Kind, each.kind.upper()),
            each.person,
            getattr(Number, each.number.upper()),
            getattr(Gender, each.gender.upper()),
        )
        for each in language.pronouns
        for word in each.words
    }


def _noun_class(form: str, lemma: str, language: Language) -> str:
    return language.noun_classes.get(lemma) or language.noun_classes.get(form, "")


def _meaning(form: str, lemma: str, upos: str, language: Language) -> int:
    if upos == "NUM":
        year = len(form) in codes.YEAR_LETTERS and form[:4].isdigit() and form[0] in "12" and form[4:] in ("", "s")
        return Meaning.YEAR if year else Meaning.NUMERAL
    if upos not in ("NOUN", "PROPN"):
        return Meaning.SAYING if upos == "VERB" and lemma in language.saying else Meaning.UNKNOWN
    label = _noun_class(form, lemma, language)
    if label:
        return Meaning.PERSON if label in _PERSON_CLASSES else _MEANINGS[label.upper()]
    if upos == "PROPN":
        return Meaning.GIVEN_NAME if form in language.genders_of_names else Meaning.UNKNOWN
    if len(lemma) > codes.STEM_LETTERS:
        for meaning, endings in language.endings.items():
            if lemma.endswith(endings):
                return _MEANINGS[meaning.upper()]
    return Meaning.UNKNOWN


@lru_cache(maxsize=64)
def _namings(language: Language) -> Mapping[str, int]:
    """Classes of what each listed noun can describe, as bits."""
    namings: dict[str, int] = {}
    for label, words in language.descriptions.items():
        for word in words:
            namings[word] = namings.get(word, 0) | getattr(codes.Naming, label.upper())
    return namings


def _naming(text: str, lemma: str, upos: str, language: Language) -> int:
    """Bits of what a noun can describe, or of what a name with this word or after it means; 0 if nothing is known."""
    form = text.lower()
    if not language.descriptions:
        return 0
    if upos not in ("NOUN", "PROPN"):
        return _namings(language).get(form, 0) & (codes.PLACES | codes.Naming.OTHER)
    naming = _namings(language).get(lemma) or _namings(language).get(form, 0)
    meaning = _meaning(form, lemma, upos, language)
    perhaps_person = upos == "NOUN" and naming == 0 and meaning == Meaning.PERHAPS_PERSON
    if perhaps_person or meaning in (Meaning.PERSON, Meaning.GIVEN_NAME):
        naming |= codes.Naming.PERSON
    if upos == "PROPN" and language.countries.get(form):
        naming |= codes.Naming.COUNTRY
    if naming == 0 and upos == "PROPN" and (meaning == Meaning.GROUP or _acronym(text)):
        naming = codes.ORGANISATIONS
    return 0 if upos == "NOUN" and naming & codes.Naming.STATE else naming


def _gender(form: str, lemma: str, upos: str, language: Language) -> int:
    """Gender of a noun or name by the lists: animals, names and nouns like "commuter" may be of any."""
    if upos not in ("NOUN", "PROPN"):
        return Gender.UNKNOWN
    label = _noun_class(form, lemma, language)
    if label in _PERSON_CLASSES:
        return _PERSON_CLASSES[label]
    is_person = upos == "PROPN" and not language.countries.get(form)  # Jordan and Georgia are countries first
    listed = language.genders_of_names.get(form, "") if is_person else ""
    if listed:
        return Gender.MALE if listed == "male" else Gender.FEMALE
    if not language.natural_gender:
        return Gender.UNKNOWN
    if label:
        return _GENDER_OF_CLASS.get(label, Gender.NEUTER)
    unlisted = upos == "PROPN" or _meaning(form, lemma, upos, language) == Meaning.PERHAPS_PERSON
    return Gender.UNKNOWN if unlisted else Gender.NEUTER


def _number(form: str, lemma: str, upos: str, xpos: str, language: Language) -> int:
    if upos not in ("NOUN", "PROPN"):
        return Number.UNKNOWN
    if xpos in ("NNS", "NNPS"):
        return Number.PLURAL
    if xpos in ("NN", "NNP"):
        return Number.SINGULAR
    if not language.plural_by_form:
        return Number.PLURAL if form in language.plural_nouns else Number.UNKNOWN
    if upos == "NOUN":
        return Number.PLURAL if form in language.plural_nouns or form != lemma else Number.SINGULAR
    return Number.PLURAL if form != lemma and form.endswith("s") else Number.SINGULAR


def _grammar(form: str, lemma: str, upos: str, xpos: str, feats: str, language: Language) -> Grammar:
    """Kind, person, number and gender: by list and features, of which the language prefers one, or else by guess."""
    word = form if language.morphemes is None else lemma
    listed = _listed(language).get(word) if upos in _PRONOUN_UPOS else None
    if listed is not None and language.lists_first:
        return listed
    if upos == "DET" and form in language.definite_articles:
        return Kind.DEFINITE_ARTICLE, 0, 0, 0
    if upos == "DET" and form in language.indefinite_articles:
        return Kind.INDEFINITE_ARTICLE, 0, 0, 0
    if upos == "PRON" and form in language.existential:
        return Kind.EXISTENTIAL, 3, 0, Gender.NEUTER
    if upos not in _NOMINAL_UPOS:
        return Kind.NONE, 0, 0, 0
    kind, person, number, gender = by_features(feats)
    if listed is not None:
        kind, person = kind or listed[0], person or listed[1]
        number, gender = number or listed[2], gender or listed[3]
    if upos not in _PRONOUN_UPOS:
        kind = Kind.NONE
    if upos in ("NOUN", "PROPN"):
        person = person or 3
        number = number or _number(form, lemma, upos, xpos, language)
        gender = gender or _gender(form, lemma, upos, language)
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
def _row(text: str, lemma: str, upos: str, xpos: str, feats: str, language: Language) -> bytes:
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
        *_grammar(form, base, upos, xpos, feats, language),
        _meaning(form, base, upos, language),
        _naming(text, base, upos, language),
        int(form in _QUOTES),
        int("?" in form),
    ]
    return np.array(row, np.uint32).tobytes()


def word_rows(tokens: Tokens, language: Language | None = None, selection: Iterable[int] | None = None) -> Words32:
    """Features of the single words of a text; `NeutralParse` has the features of their parse.

    Parameters
    ----------
    tokens
        Words; ``extra`` may have ``xpos`` (Penn tags) and ``feats`` (UD features): strings, None where missing.
    language
        Resources of the language of the words. By default, English.
    selection
        Tokens that have a row. By default, all.

    Returns
    -------
    array of shape (n_rows, n_columns), uint32
        One row per selected token; columns by `Column`.

    Raises
    ------
    ParameterError
        If ``xpos`` or ``feats`` has a value that is not a string.
    """
    xpos, feats = extra_strings(tokens, "xpos"), _with_zeros(tokens, extra_strings(tokens, "feats"))
    owner = repeat(language or load_language(ENGLISH), len(tokens))
    words = [*zip(tokens.text, tokens.lemma, tokens.upos, xpos, feats, owner, strict=True)]
    rows = starmap(_row, words if selection is None else map(words.__getitem__, selection))
    return np.frombuffer(b"".join(rows), np.uint32).reshape(-1, len(Column)).copy()


def word_hashes(words: Iterable[str]) -> Words32:
    """Hashes of words, which are in lower case, as the columns of forms and lemmas have them."""
    return np.array([word_hash(word) for word in words], np.uint32)


def mention_kinds(tokens: Tokens, mentions: np.typing.ArrayLike, language: Language | None = None) -> Bytes:
    """Kind of each mention by its head.

    Names and nouns are recognised by the universal part of speech, plural nouns by the features, the Penn tag or
    the lemma, pronouns by the word or the features. None of these depends on the scheme of the dependency labels.

    Parameters
    ----------
    tokens
        Words of the document: see `word_rows`.
    mentions
        int (n_mentions, 3): start, end (exclusive) and head.
    language
        Resources of the language of the words. By default, English.

    Returns
    -------
    array of shape (n_mentions,), uint8
        Places in MENTION_KINDS. "other pronoun" includes determiners and numerals used as pronouns ("those",
        "one"); "other" is any other head, such as a verb or a number.
    """
    language = language or load_language(ENGLISH)
    heads: Ints = np.asarray(mentions, np.int64).reshape(-1, 3)[:, 2]
    words = word_rows(language.adapted(tokens), language, heads.tolist()).astype(np.int64)
    upos, kind, person, number, gender = (
        words[:, column] for column in (Column.UPOS, Column.KIND, Column.PERSON, Column.NUMBER, Column.GENDER)
    )
    listed = (kind != Kind.NONE) & (kind != Kind.DEFINITE_ARTICLE) & (kind != Kind.INDEFINITE_ARTICLE)
    personal = np.isin(kind, (Kind.PERSONAL, Kind.POSSESSIVE, Kind.REFLEXIVE))
    third = personal & ~np.isin(person, (1, 2))
    conditions = {
        NAME: upos == Upos.PROPN,
        PLURAL_NOUN: (upos == Upos.NOUN) & (number == Number.PLURAL),
        SINGULAR_NOUN: upos == Upos.NOUN,
        FIRST_OR_SECOND: personal & ~third,
        THEY: third & (number == Number.PLURAL),
        HE_OR_SHE: third & np.isin(gender, (Gender.MALE, Gender.FEMALE)),
        IT: third,
        OTHER_PRONOUN: listed | (upos == Upos.PRON) | (upos == Upos.DET),
    }
    return np.select(list(conditions.values()), list(conditions), default=OTHER).astype(np.uint8)


def _with_zeros(tokens: Tokens, feats: Sequence[str]) -> Sequence[str]:
    """Features of the tokens; a zero without any is a pronoun that agrees with its verb, or the verb's auxiliary."""
    if EMPTY_COLUMN not in tokens.extra:
        return feats
    completed, agreeing = list(feats), dict[int, list[str]]()
    for t, features in enumerate(feats):
        if "Person=" in features and tokens.upos[t] in ("AUX", "VERB"):
            agreement = [each for each in features.split("|") if each.startswith(_AGREEING)]
            agreeing[t] = agreement
            if tokens.upos[t] == "AUX":
                agreeing.setdefault(int(tokens.head[t]), agreement)
    for t, form in enumerate(tokens.extra[EMPTY_COLUMN]):
        if form and "PronType" not in feats[t]:
            agreement = [] if "=" in feats[t] else agreeing.get(int(tokens.head[t]), [])
            completed[t] = "|".join(["PronType=Prs", *agreement, feats[t]])
    return completed


def extra_strings(tokens: Tokens, name: str) -> Sequence[str]:
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
    # A possessive agrees with what is possessed; number and gender of the possessor have a layer of their own.
    layer = "[psor]" if kind == Kind.POSSESSIVE else ""
    return (
        kind,
        int(person) if person in ("1", "2", "3") else 0,
        _FEATS_NUMBER.get(values.get(f"Number{layer}", ""), Number.UNKNOWN),
        _FEATS_GENDER.get(values.get(f"Gender{layer}", ""), Gender.UNKNOWN),
    )
