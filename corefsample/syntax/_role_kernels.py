"""Compiled loops that bring a dependency parse of either family to one notation.

Legend
    t : token                       h, g : its head, its governor (-1: none)
    label  : what the scheme's label stands for, a code of `corefsample.syntax._roles.Role` or one of the four below
    link   : role of the token towards its own head, with conjuncts as such
    role   : the same, but a conjunct has the role of the first of its coordination
    marker : the adposition that marks the token (of Paris, in the end), -1 without one
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from corefsample._jit import kernel

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

# Roles that the loops ask for; the whole list is Role's in corefsample.syntax._roles.
SUBJECT = 1
OBLIQUE = 5
NOUN_MODIFIER = 6
CONJUNCT = 10
PREDICATE = 12
CLAUSE = 18
FUNCTION = 20
EXPLETIVE = 22
# Labels without a role of their own.
CASE = 40  # UD: the marker hangs on the noun
COPULA = 41  # UD: the verb hangs on the predicate
PREPOSITION = 42  # ClearNLP: the noun hangs on the marker
PREPOSITION_OBJECT = 43
COMPLEMENT = 44  # ClearNLP: the predicate hangs on the verb

_LONGEST_CHAIN = 64  # of conjuncts or prepositions; longer ones are cut, not followed for ever


@kernel
def from_universal(
    label: Ints, heads: Ints, verbal: Bools, particle: Bools, head: Ints, link: Ints, marker: Ints, predicate: Bools
) -> None:
    """Fill head, link, marker and predicate from a parse of the UD family (marker -1 and predicate False before)."""
    n_tokens = label.shape[0]
    for t in range(n_tokens):
        h = heads[t]
        head[t] = h
        link[t] = label[t]
        if label[t] == CASE or label[t] == COPULA:
            link[t] = FUNCTION
        if h < 0:
            continue
        if label[t] == COPULA:
            predicate[h] = True
        elif label[t] == CASE and not particle[t] and marker[h] < 0:
            marker[h] = t
        elif label[t] == NOUN_MODIFIER and verbal[h]:  # UD v1 has nmod under verbs too
            link[t] = OBLIQUE


@kernel
def from_clearnlp(
    label: Ints,
    heads: Ints,
    verbal: Bools,
    adposition: Bools,
    be: Bools,
    head: Ints,
    link: Ints,
    marker: Ints,
    predicate: Bools,
) -> None:
    """Fill head, link, marker and predicate from a ClearNLP parse (marker -1 and predicate False before).

    adposition : what can mark a noun; never the object of another, or heads would run in a circle.
    """
    n_tokens = label.shape[0]
    complement = np.full(n_tokens, -1, np.int32)
    existential = np.zeros(n_tokens, np.bool_)
    for t in range(n_tokens):
        if label[t] == EXPLETIVE and heads[t] >= 0:
            existential[heads[t]] = True
    for t in range(n_tokens):
        h = heads[t]
        if label[t] == COMPLEMENT and h >= 0 and be[h] and not existential[h] and complement[h] < 0:
            complement[h] = t
    for t in range(n_tokens):
        h = heads[t]
        head[t] = h
        link[t] = label[t]
        if label[t] == PREPOSITION:
            link[t] = FUNCTION
        elif label[t] == COMPLEMENT:
            link[t] = CLAUSE  # became happy: an open complement in UD
            if h >= 0 and existential[h]:
                link[t] = SUBJECT
            elif h >= 0 and be[h]:
                link[t] = PREDICATE
        elif label[t] == PREPOSITION_OBJECT and (h < 0 or not adposition[h]):
            link[t] = OBLIQUE if h < 0 or verbal[h] else NOUN_MODIFIER
        elif label[t] == PREPOSITION_OBJECT:
            steps = 0
            while (
                label[h] == PREPOSITION and heads[h] >= 0 and label[heads[h]] == PREPOSITION and steps < _LONGEST_CHAIN
            ):
                h = heads[h]
                steps += 1
            marker[t] = h
            head[t] = heads[h]
            link[t] = OBLIQUE if heads[h] < 0 or verbal[heads[h]] else NOUN_MODIFIER
    prepositions_below(heads, marker, head)
    complements_above(complement, head, link, predicate)


@kernel
def prepositions_below(heads: Ints, marker: Ints, head: Ints) -> None:
    """Hang the prepositions of each noun, from the nearest to its marker, on the noun, as in UD."""
    for t in range(head.shape[0]):
        if marker[t] >= 0:
            p = heads[t]
            while p != marker[t]:
                head[p] = t
                p = heads[p]
            head[p] = t


@kernel
def complements_above(complement: Ints, head: Ints, link: Ints, predicate: Bools) -> None:
    """Give the predicate of each copula the verb's place, as in UD; complement (n_tokens,) : of each verb, or -1."""
    n_tokens = head.shape[0]
    for t in range(n_tokens):
        if head[t] >= 0 and complement[head[t]] >= 0 and complement[head[t]] != t:
            head[t] = complement[head[t]]
    for v in range(n_tokens):
        c = complement[v]
        if c >= 0:
            predicate[c] = True
            head[c] = head[v]
            link[c] = link[v]
            head[v] = c
            link[v] = FUNCTION


@kernel
def share_roles(head: Ints, link: Ints, marker: Ints, predicate: Bools, governor: Ints, role: Ints) -> None:
    """Give conjuncts the head of their coordination, then the role and governor of its first member.

    `head` and `marker` are changed in place: chains of conjuncts are brought to the first one.
    """
    n_tokens = head.shape[0]
    for t in range(n_tokens):
        first = t
        steps = 0
        while link[first] == CONJUNCT and head[first] >= 0 and steps < _LONGEST_CHAIN:
            first = head[first]
            steps += 1
        governor[t] = head[first]
        role[t] = PREDICATE if predicate[first] else link[first]
        if first != t:
            head[t] = first
            if marker[t] < 0:
                marker[t] = marker[first]
