"""Compiled loops that bring a dependency parse of either family to one notation, and find mentions in it.

Legend
    t : token                       h, g : its head, its governor (-1: none)
    label  : what the scheme's label stands for, a `Role` or one of the `Label` codes that have no role of their own
    link   : role of the token towards its own head, with conjuncts as such
    role   : the same, but a conjunct has the role of the first of its coordination
    marker : the adposition that marks the token (of Paris, in the end), -1 without one
"""

from typing import NamedTuple

from corefsample._arrays import Bools, Ints32
from corefsample._jit import inner_kernel, kernel_in_place
from corefsample.syntax._codes import LONGEST_CHAIN, Label, Role, Upos

Verbs = tuple[Ints32, Bools]  # complement of each verb, -1 at first, and whether it has an expletive, False at first


class ParseLinks(NamedTuple):
    """Arrays by token that the loops fill: see the legend."""

    head: Ints32
    link: Ints32
    marker: Ints32
    predicate: Bools


@kernel_in_place
def from_universal(label: Ints32, heads: Ints32, verbal: Bools, particle: Bools, parse: ParseLinks) -> None:
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
    label: Ints32, heads: Ints32, verbal: Bools, adposition: Bools, be: Bools, verbs: Verbs, parse: ParseLinks
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
    for t in range(n_tokens):  # the prepositions of a noun, from the nearest to its marker, hang on the noun, as in UD
        if marker[t] >= 0:
            p = heads[t]
            while p != marker[t]:
                head[p] = t
                p = heads[p]
            head[p] = t
    complements_above(complement, head, link, predicate)


@inner_kernel
def complements_above(complement: Ints32, head: Ints32, link: Ints32, predicate: Bools) -> None:
    """Make the predicate of each copula the head, as in UD; complement (n_tokens,): complement of each verb, or -1."""
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


class ParsedText(NamedTuple):
    """Input of the loops that find mentions; arrays by token."""

    head: Ints32
    link: Ints32
    upos: Ints32
    sent: Ints32
    low: Ints32  # first token of a token's subtree
    high: Ints32  # last token of a token's subtree
    relative: Bools  # pronouns that ask or relate
    elsewhere: Bools  # nouns that head a phrase of their own somewhere
    closing: Bools  # closing brackets and quotation marks
    bracketed: Bools  # single words in brackets
    joining: Bools  # conjunctions that make one mention of names


@kernel_in_place
def subtrees(head: Ints32, n_waiting: Ints32, ready: Ints32, low: Ints32, high: Ints32) -> None:
    """Fill the bounds of each token's subtree; n_waiting (zeros) and ready (anything) have room for all tokens."""
    n_tokens = head.shape[0]
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
    position = 0
    while position < n_ready:  # a token comes after its dependents
        t = ready[position]
        position += 1
        h = head[t]
        if h >= 0:
            if low[t] < low[h]:
                low[h] = low[t]
            if high[t] > high[h]:
                high[h] = high[t]
            n_waiting[h] -= 1
            if n_waiting[h] == 0:
                ready[n_ready] = h
                n_ready += 1


@inner_kernel
def heads_phrase(text: ParsedText, h: int) -> bool:
    """Whether a token heads a noun phrase."""
    role, tag = text.link[h], text.upos[h]
    if role == Role.FLAT:
        return bool(tag == Upos.PROPN and text.bracketed[h])  # the European Union (EU)
    if role == Role.FUNCTION or Role.DETERMINER <= role <= Role.NUMERAL:
        return False
    if role == Role.ADVERB or role == Role.EXPLETIVE or text.relative[h]:
        return False
    if role == Role.COMPOUND:
        above = text.upos[text.head[h]] if text.head[h] >= 0 else Upos.PROPN
        if tag == Upos.PROPN:  # U.S. troops, but not New York
            return bool(above != Upos.PROPN and above != Upos.NUM)
        return bool(tag == Upos.NOUN and (text.elsewhere[h] or above == Upos.VERB))  # police firing, read as a verb
    if tag == Upos.NOUN or tag == Upos.PROPN or tag == Upos.PRON or tag == Upos.NUM or tag == Upos.SYM or tag == Upos.X:
        return True
    if tag != Upos.DET and tag != Upos.ADJ:
        return False
    return bool(Role.SUBJECT <= role <= Role.OBJECT or role == Role.OBLIQUE)


@inner_kernel
def first_token(text: ParsedText, h: int) -> int:
    """First token of the phrase of a head: before its determiners, modifiers and possessors."""
    start: int = h
    c = h - 1
    while c >= text.low[h] and text.sent[c] == text.sent[h]:
        if text.head[c] == h and text.high[c] < start and text.upos[c] != Upos.PUNCT:
            role = text.link[c]
            inside = role == Role.COMPOUND or role == Role.POSSESSOR or role == Role.FLAT
            if not (inside or Role.DETERMINER <= role <= Role.NUMERAL):
                break
            start = text.low[c]
            c = start
        c -= 1
    while start < h and text.upos[start] == Upos.PUNCT:
        start += 1
    return start


@inner_kernel
def last_token(text: ParsedText, h: int, clausal: bool) -> int:
    """Last token of the phrase of a head: of its modifiers and relative clauses, or a possessor's 's.

    clausal : the head is a predicate with a subject, so modifiers of the clause are not part of the phrase.
    """
    last: int = h
    c = h + 1
    while c <= text.high[h] and text.sent[c] == text.sent[h]:
        if text.head[c] == h and text.low[c] > last and text.upos[c] != Upos.PUNCT:
            role = text.link[c]
            if role == Role.FUNCTION and text.upos[c] == Upos.PART and c == last + 1:  # 's
                last = c
            elif (
                (role == Role.NOUN_MODIFIER or role == Role.RELATIVE_CLAUSE or role == Role.NOUN_CLAUSE)
                or (role == Role.FLAT or role == Role.COMPOUND or role == Role.NUMERAL)
                or (role == Role.ADJECTIVE or role == Role.POSSESSOR)
                or (not clausal and (role == Role.OBLIQUE or role == Role.CLAUSE or role == Role.ADVERBIAL_NOUN))
            ):
                last = text.high[c]
                c = last
            else:
                break
        c += 1
    while last > h and text.upos[last] == Upos.PUNCT and not text.closing[last]:
        last -= 1
    return last


@inner_kernel
def last_member(text: ParsedText, h: int) -> int:
    """Last name of the coordination that begins with a name; -1 if the conjuncts are not names joined by "and"."""
    last, joined = -1, False
    for t in range(h + 1, text.high[h] + 1 if text.upos[h] == Upos.PROPN else h):
        above = text.head[t]
        if above == h and text.link[t] == Role.CONJUNCT:
            last = t
            if text.upos[t] != Upos.PROPN or text.sent[t] != text.sent[h]:
                return -1
        elif text.upos[t] == Upos.CCONJ and (
            above == h or (text.head[above] == h and text.link[above] == Role.CONJUNCT)
        ):
            joined = True
            if not text.joining[t]:
                return -1
    return last if joined else -1


@kernel_in_place
def phrases(text: ParsedText, clausal: Bools, spans: Ints32) -> int:
    """Write start, end and head of each noun phrase to the rows of `spans` (n_tokens, 3); return their number.

    A coordination of names is a phrase too, whose head is that of the first name.

    A phrase that leaves the sentence of its head does not count. clausal (n_tokens,) : False before, becomes whether
    the token has a subject.
    """
    n_tokens = text.head.shape[0]
    for t in range(n_tokens):
        if text.head[t] >= 0 and (text.link[t] == Role.SUBJECT or text.link[t] == Role.PASSIVE_SUBJECT):
            clausal[text.head[t]] = True
    n_found = 0
    for h in range(n_tokens):
        if not heads_phrase(text, h):
            continue
        start, last = first_token(text, h), last_token(text, h, clausal[h])
        if text.sent[start] == text.sent[h] and text.sent[last] == text.sent[h]:
            spans[n_found, 0] = start
            spans[n_found, 1] = last + 1
            spans[n_found, 2] = h
            n_found += 1
            member = last_member(text, h)
            joined = member >= 0
            if joined:
                # Not the literal False, for which last_token would be compiled again.
                spans[n_found, 0] = start
                spans[n_found, 1] = last_token(text, member, not joined) + 1
                spans[n_found, 2] = h
                n_found += 1
    return n_found
