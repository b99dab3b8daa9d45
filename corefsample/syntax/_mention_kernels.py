"""Compiled loops that find noun phrases in a parse.

Legend
    t, c : token, dependent             h : head of a phrase
    low, high : first and last token of a token's subtree
    link, role : codes of `corefsample.syntax._roles.Role`; upos : codes by `corefsample.syntax.UPOS`
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from corefsample._jit import kernel

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

ADJ, DET, NOUN, NUM, PART, PRON, PROPN, PUNCT, SYM, X = 1, 6, 8, 9, 10, 11, 12, 13, 15, 17
SUBJECT, PASSIVE_SUBJECT, OBJECT, OBLIQUE, NOUN_MODIFIER, POSSESSOR, COMPOUND = 1, 2, 3, 5, 6, 7, 8
FLAT, DETERMINER, ADJECTIVE, NUMERAL, CLAUSE, FUNCTION = 14, 15, 16, 17, 18, 20
ADVERBIAL_NOUN, EXPLETIVE, ADVERB, RELATIVE_CLAUSE, NOUN_CLAUSE = 21, 22, 24, 25, 26


@kernel
def subtrees(head: Ints, low: Ints, high: Ints) -> None:
    """Fill the bounds of each token's subtree."""
    n_tokens = head.shape[0]
    n_waiting, ready = np.zeros(n_tokens, np.int32), np.empty(n_tokens, np.int32)
    for t in range(n_tokens):
        low[t] = t
        high[t] = t
        if head[t] >= 0:
            n_waiting[head[t]] += 1
    n_ready = 0
    for t in range(n_tokens):
        if n_waiting[t] == 0:
            ready[n_ready] = t
            n_ready += 1
    place = 0
    while place < n_ready:  # a token's turn comes after its dependents'
        t = ready[place]
        place += 1
        h = head[t]
        if h >= 0:
            low[h] = min(low[h], low[t])
            high[h] = max(high[h], high[t])
            n_waiting[h] -= 1
            if n_waiting[h] == 0:
                ready[n_ready] = h
                n_ready += 1


@kernel
def heads_phrase(h: int, head: Ints, link: Ints, upos: Ints, relative: Bools, elsewhere: Bools) -> bool:
    """Whether a token heads a noun phrase.

    relative : pronouns that ask or relate; elsewhere : nouns that head a phrase of their own somewhere.
    """
    role, tag = link[h], upos[h]
    if role in (FLAT, FUNCTION, DETERMINER, NUMERAL, ADJECTIVE):
        return False
    if role in (ADVERB, EXPLETIVE) or relative[h]:
        return False
    if role == COMPOUND:
        if tag == PROPN:  # U.S. troops, but not New York
            return bool(head[h] >= 0 and upos[head[h]] != PROPN and upos[head[h]] != NUM)
        return bool(tag == NOUN and elsewhere[h])
    if tag in (NOUN, PROPN, PRON, NUM, SYM, X):
        return True
    argument = role in (SUBJECT, PASSIVE_SUBJECT, OBJECT, OBLIQUE)
    return argument and tag in (DET, ADJ)


@kernel
def first_token(h: int, head: Ints, link: Ints, upos: Ints, sent: Ints, low: Ints, high: Ints) -> int:
    """Return where the phrase of a head begins: before its determiners, modifiers and possessors."""
    start = h
    c = h - 1
    while c >= low[h] and sent[c] == sent[h]:
        if head[c] == h and high[c] < start and upos[c] != PUNCT:
            role = link[c]
            if not (DETERMINER <= role <= NUMERAL or role in (COMPOUND, POSSESSOR, FLAT)):
                break
            start = low[c]
            c = start
        c -= 1
    while start < h and upos[start] == PUNCT:
        start += 1
    return int(start)


@kernel
def last_token(
    h: int,
    clausal: bool,
    head: Ints,
    link: Ints,
    upos: Ints,
    sent: Ints,
    closing: Bools,
    low: Ints,
    high: Ints,
) -> int:
    """Return where the phrase of a head ends: after its modifiers and relative clauses, and a possessor's 's.

    clausal : the head is a predicate with a subject: what modifies the clause is no part of the phrase.
    """
    last = h
    c = h + 1
    while c <= high[h] and sent[c] == sent[h]:
        if head[c] == h and low[c] > last and upos[c] != PUNCT:
            role = link[c]
            if role == FUNCTION and upos[c] == PART and c == last + 1:  # 's
                last = c
            elif (
                role in (NOUN_MODIFIER, RELATIVE_CLAUSE, NOUN_CLAUSE, FLAT)
                or role in (COMPOUND, NUMERAL, ADJECTIVE, POSSESSOR)
                or (not clausal and (role in (OBLIQUE, CLAUSE, ADVERBIAL_NOUN)))
            ):
                last = high[c]
                c = last
            else:
                break
        c += 1
    while last > h and upos[last] == PUNCT and not closing[last]:
        last -= 1
    return int(last)


@kernel
def phrases(
    head: Ints,
    link: Ints,
    upos: Ints,
    sent: Ints,
    relative: Bools,
    elsewhere: Bools,
    closing: Bools,
    low: Ints,
    high: Ints,
    found: Ints,
) -> int:
    """Write start, end and head of each noun phrase to the rows of `found` (n_tokens, 3); return their number.

    A phrase that leaves its head's sentence is none.
    """
    n_tokens = head.shape[0]
    clausal = np.zeros(n_tokens, np.bool_)
    for t in range(n_tokens):
        if head[t] >= 0 and (link[t] == SUBJECT or link[t] == PASSIVE_SUBJECT):
            clausal[head[t]] = True
    n_found = 0
    for h in range(n_tokens):
        if not heads_phrase(h, head, link, upos, relative, elsewhere):
            continue
        start = first_token(h, head, link, upos, sent, low, high)
        last = last_token(h, clausal[h], head, link, upos, sent, closing, low, high)
        if sent[start] == sent[h] and sent[last] == sent[h]:
            found[n_found, 0] = start
            found[n_found, 1] = last + 1
            found[n_found, 2] = h
            n_found += 1
    return n_found
