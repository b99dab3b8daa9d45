"""Compiled loops that bring a dependency parse of either family to one notation.

Legend
    t : token                       h, g : its head, its governor (-1: none)
    label  : what the scheme's label stands for, a `Role` or one of the `Label` codes that have no role of their own
    link   : role of the token towards its own head, with conjuncts as such
    role   : the same, but a conjunct has the role of the first of its coordination
    marker : the adposition that marks the token (of Paris, in the end), -1 without one
"""

from __future__ import annotations

from typing import NamedTuple

from corefsample._arrays import Bools, Ints32
from corefsample._jit import inner_kernel, kernel_in_place
from corefsample.syntax._codes import LONGEST_CHAIN, Label, Role


class Links(NamedTuple):
    """What the loops fill, by token; see the legend."""

    head: Ints32
    link: Ints32
    marker: Ints32
    predicate: Bools


class Verbs(NamedTuple):
    """What `from_clearnlp` notes of verbs: the complement (-1 before), and whether it has an expletive (False)."""

    complement: Ints32
    existential: Bools


@kernel_in_place
def from_universal(label: Ints32, heads: Ints32, verbal: Bools, particle: Bools, parse: Links) -> None:
    """Fill the links from a parse of the UD family (marker -1 and predicate False before)."""
    head, link, marker, predicate = parse
    n_tokens = label.shape[0]
    for t in range(n_tokens):
        h = heads[t]
        head[t] = h
        link[t] = label[t]
        if label[t] == Label.CASE or label[t] == Label.COPULA:
            link[t] = Role.FUNCTION
        if h < 0:
            continue
        if label[t] == Label.COPULA:
            predicate[h] = True
        elif label[t] == Label.CASE and not particle[t] and marker[h] < 0:
            marker[h] = t
        elif label[t] == Role.NOUN_MODIFIER and verbal[h]:  # UD v1 has nmod under verbs too
            link[t] = Role.OBLIQUE


@kernel_in_place
def from_clearnlp(
    label: Ints32, heads: Ints32, verbal: Bools, adposition: Bools, be: Bools, verbs: Verbs, parse: Links
) -> None:
    """Fill head, link, marker and predicate from a ClearNLP parse (marker -1 and predicate False before).

    adposition : tokens that can mark a noun; never the object of another adposition, or heads would form a cycle.
    """
    head, link, marker, predicate = parse
    n_tokens = label.shape[0]
    complement, existential = verbs
    for t in range(n_tokens):
        if label[t] == Role.EXPLETIVE and heads[t] >= 0:
            existential[heads[t]] = True
    for t in range(n_tokens):
        h = heads[t]
        if label[t] == Label.COMPLEMENT and h >= 0 and be[h] and not existential[h] and complement[h] < 0:
            complement[h] = t
    for t in range(n_tokens):
        h = heads[t]
        head[t] = h
        link[t] = label[t]
        if label[t] == Label.PREPOSITION:
            link[t] = Role.FUNCTION
        elif label[t] == Label.COMPLEMENT:
            link[t] = Role.CLAUSE  # became happy: an open complement in UD
            if h >= 0 and existential[h]:
                link[t] = Role.SUBJECT
            elif h >= 0 and be[h]:
                link[t] = Role.PREDICATE
        elif label[t] == Label.PREPOSITION_OBJECT and (h < 0 or not adposition[h]):
            link[t] = Role.OBLIQUE if h < 0 or verbal[h] else Role.NOUN_MODIFIER
        elif label[t] == Label.PREPOSITION_OBJECT:
            steps = 0
            while (
                label[h] == Label.PREPOSITION
                and heads[h] >= 0
                and label[heads[h]] == Label.PREPOSITION
                and steps < LONGEST_CHAIN
            ):
                h = heads[h]
                steps += 1
            marker[t] = h
            head[t] = heads[h]
            link[t] = Role.OBLIQUE if heads[h] < 0 or verbal[heads[h]] else Role.NOUN_MODIFIER
    prepositions_below(heads, marker, head)
    complements_above(complement, head, link, predicate)


@inner_kernel
def prepositions_below(heads: Ints32, marker: Ints32, head: Ints32) -> None:
    """Hang the prepositions of each noun, from the nearest to its marker, on the noun, as in UD."""
    for t in range(head.shape[0]):
        if marker[t] >= 0:
            p = heads[t]
            while p != marker[t]:
                head[p] = t
                p = heads[p]
            head[p] = t


@inner_kernel
def complements_above(complement: Ints32, head: Ints32, link: Ints32, predicate: Bools) -> None:
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
            link[v] = Role.FUNCTION


@kernel_in_place
def share_roles(head: Ints32, link: Ints32, marker: Ints32, predicate: Bools, governor: Ints32, role: Ints32) -> None:
    """Give conjuncts the head of their coordination, then the role and governor of its first member.

    `head` and `marker` are changed in place: chains of conjuncts are brought to the first one.
    """
    n_tokens = head.shape[0]
    for t in range(n_tokens):
        first = t
        steps = 0
        while link[first] == Role.CONJUNCT and head[first] >= 0 and steps < LONGEST_CHAIN:
            first = head[first]
            steps += 1
        governor[t] = head[first]
        role[t] = Role.PREDICATE if predicate[first] else link[first]
        if first != t:
            head[t] = first
            if marker[t] < 0:
                marker[t] = marker[first]
