"""Pairs of mentions that grammar keeps apart: the arguments of one verb, and a phrase and what modifies its head."""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Ints32
from corefsample.documents._tokens import Tokens
from corefsample.languages._language import ENGLISH, Language, load_language
from corefsample.syntax._codes import Role
from corefsample.syntax._roles import neutral_parse

_SUBJECTS = (Role.SUBJECT, Role.PASSIVE_SUBJECT)
_OBJECTS = (Role.OBJECT, Role.INDIRECT_OBJECT)
_MODIFIERS = (Role.POSSESSOR, Role.COMPOUND, Role.NOUN_MODIFIER, Role.CONJUNCT)


def mentions_apart(
    tokens: Tokens, mentions: Ints32, *, scheme: str | None = None, language: Language | None = None
) -> Ints32:
    """Pairs of mentions that do not corefer for reasons of grammar.

    These are the subject and an object of one verb, unless one is reflexive or reciprocal (principle B of binding
    theory); a phrase and the possessor, compound's noun, other noun or conjunct that depends on its head; and two
    phrases, one in the other, with the same head.

    Parameters
    ----------
    tokens, mentions
        Of one document; mentions int32 (n_mentions, 3): start, end and head.
    scheme
        ud2, ud1 or clearnlp; None recognises it from the labels.
    language
        Resources; None: English.

    Returns
    -------
    array of shape (n_pairs, 2), int32
        The later mention first.

    Raises
    ------
    ParameterError
        If the labels fit no scheme, or several that read them differently.
    """
    parse = neutral_parse(tokens, scheme)
    head = mentions[:, 2]
    governor, link = parse.head[head], parse.link[head]
    language = language or load_language(ENGLISH)
    feats = tokens.extra.get("feats") or [""] * len(tokens)
    again = np.array([language.is_reflexive(tokens.text[token], feats[token]) for token in head], np.bool_)
    by_governor: dict[int, list[int]] = {}
    by_head: dict[int, list[int]] = {}
    for i in range(len(mentions)):
        by_governor.setdefault(int(governor[i]), []).append(i)
        by_head.setdefault(int(head[i]), []).append(i)
    pairs: set[tuple[int, int]] = set()
    for token, below in by_governor.items():
        subjects = [i for i in below if link[i] in _SUBJECTS and not again[i]]
        objects = [i for i in below if link[i] in _OBJECTS and not again[i]]
        modifiers = [i for i in below if link[i] in _MODIFIERS]
        pairs.update((i, j) for i in subjects for j in objects if token >= 0)
        pairs.update((i, j) for i in by_head.get(token, ()) for j in modifiers if _is_inside(mentions, j, i))
    for same in by_head.values():
        pairs.update((i, j) for i in same for j in same if i != j and _is_inside(mentions, j, i))
    found = np.array(sorted({(max(pair), min(pair)) for pair in pairs}), np.int32)
    return found.reshape(-1, 2)


def _is_inside(mentions: Ints32, inner: int, outer: int) -> bool:
    """Whether a mention is a part of another, and shorter."""
    (begin, end), (first, last) = mentions[inner, :2], mentions[outer, :2]
    return bool(first <= begin and end <= last and end - begin < last - first)
