"""Kinds of mentions by their heads, for recalibration by kind of link: alike in every dependency scheme."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bytes, Ints
from corefsample.documents._tokens import Tokens
from corefsample.languages._language import ENGLISH, Language, load_language
from corefsample.mention_ranking.features._codes import Column, Gender, Kind, Number
from corefsample.mention_ranking.features._encoding import word_table
from corefsample.syntax._codes import UPOS

MENTION_KINDS = (
    "name",
    "plural noun",
    "singular noun",
    "he or she",
    "it",
    "they",
    "first or second person",
    "other pronoun",
    "other",
)
NAME, PLURAL_NOUN, SINGULAR_NOUN, HE_OR_SHE, IT, THEY, FIRST_OR_SECOND, OTHER_PRONOUN, OTHER = range(9)
_UPOS_CODES = {upos: code for code, upos in enumerate(UPOS, start=1)}
_PERSONAL = (Kind.PERSONAL, Kind.POSSESSIVE, Kind.REFLEXIVE)


def mention_kinds(tokens: Tokens, mentions: npt.ArrayLike, language: Language | None = None) -> Bytes:
    """Kind of each mention by its head.

    Names and nouns are recognised by the universal part of speech, plural nouns by the features, the Penn tag or the
    lemma, pronouns by the word or the features. None of these depends on the scheme of the dependency labels.

    Parameters
    ----------
    tokens
        Words; ``extra`` may have ``xpos`` (Penn tags) and ``feats`` (UD features).
    mentions
        int (n_mentions, 3): start, end (exclusive) and head.
    language
        Resources; None: English.

    Returns
    -------
    array of shape (n_mentions,), uint8
        Places in MENTION_KINDS. "other pronoun" includes determiners and numerals used as pronouns ("those", "one");
        "other" is any other head, such as a verb or a number.

    Raises
    ------
    ParameterError
        If ``xpos`` or ``feats`` has a value that is not a string.
    """
    heads: Ints = np.asarray(mentions, np.int64).reshape(-1, 3)[:, 2]
    language = language or load_language(ENGLISH)
    words = word_table(language.adapted(tokens), language)[heads].astype(np.int64)
    upos, kind, person, number, gender = (
        words[:, column] for column in (Column.UPOS, Column.KIND, Column.PERSON, Column.NUMBER, Column.GENDER)
    )
    listed = (kind != Kind.NONE) & (kind != Kind.DEFINITE_ARTICLE) & (kind != Kind.INDEFINITE_ARTICLE)
    personal = np.isin(kind, _PERSONAL)
    third = personal & ~np.isin(person, (1, 2))
    chosen = {
        NAME: upos == _UPOS_CODES["PROPN"],
        PLURAL_NOUN: (upos == _UPOS_CODES["NOUN"]) & (number == Number.PLURAL),
        SINGULAR_NOUN: upos == _UPOS_CODES["NOUN"],
        FIRST_OR_SECOND: personal & ~third,
        THEY: third & (number == Number.PLURAL),
        HE_OR_SHE: third & np.isin(gender, (Gender.MALE, Gender.FEMALE)),
        IT: third,
        OTHER_PRONOUN: listed | (upos == _UPOS_CODES["PRON"]) | (upos == _UPOS_CODES["DET"]),
    }
    return np.select(list(chosen.values()), list(chosen), default=OTHER).astype(np.uint8)
