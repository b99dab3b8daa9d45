"""Kind, person, number and gender of pronouns and articles: English ones by a list, others by UD's features."""

from __future__ import annotations

from collections.abc import Mapping

from corefsample.mention_ranking.features._codes import Gender, Kind, Number

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
