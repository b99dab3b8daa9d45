"""Mentions of a parse once more, slow and obvious: phrases as sets of tokens."""

from corefsample.documents._tokens import Tokens
from corefsample.syntax._codes import Role
from corefsample.syntax._mentions import NeutralParse

RELATIVE = ["who", "whom", "whose", "which", "what", "whoever", "whomever", "whichever", "whatever"]
CLOSING = [")", "]", "”", '"', "’", "''", "»"]
BEFORE = (Role.DETERMINER, Role.ADJECTIVE, Role.NUMERAL, Role.COMPOUND, Role.POSSESSOR, Role.FLAT)
AFTER = (
    Role.NOUN_MODIFIER, Role.RELATIVE_CLAUSE, Role.NOUN_CLAUSE, Role.FLAT, Role.COMPOUND, Role.NUMERAL, Role.ADJECTIVE,
    Role.POSSESSOR,
)  # fmt: skip
OF_A_CLAUSE = (Role.OBLIQUE, Role.CLAUSE, Role.ADVERBIAL_NOUN)
NEVER = (
    Role.FUNCTION, Role.DETERMINER, Role.NUMERAL, Role.ADJECTIVE, Role.ADVERB, Role.EXPLETIVE,
)  # fmt: skip
ARGUMENTS = (Role.SUBJECT, Role.PASSIVE_SUBJECT, Role.OBJECT, Role.OBLIQUE)


def subtree(parse: NeutralParse, token: int) -> set[int]:
    """A token and all that hangs on it."""
    found = {token}
    while more := {t for t, head in enumerate(parse.head.tolist()) if head in found} - found:
        found |= more
    return found


def is_relative(tokens: Tokens, parse: NeutralParse, token: int) -> bool:
    """Whether a token is a pronoun that asks, or relates to a noun."""
    word = tokens.text[token].lower()
    head = int(parse.head[token])
    if tokens.upos[token] != "PRON":
        return False
    return word in RELATIVE or (word == "that" and head > token and parse.link[head] == Role.RELATIVE_CLAUSE)


def heads_elsewhere(tokens: Tokens, parse: NeutralParse, token: int) -> bool:
    """Whether a noun's lemma also occurs as what is no compound's modifier."""
    return any(
        tokens.lemma[t].lower() == tokens.lemma[token].lower()
        for t in range(len(tokens))
        if tokens.upos[t] in ("NOUN", "PROPN") and parse.link[t] != Role.COMPOUND
    )


def heads_phrase(tokens: Tokens, parse: NeutralParse, token: int) -> bool:
    """Whether a token heads a mention."""
    link, upos = parse.link[token], tokens.upos[token]
    if link == Role.FLAT:
        return (
            upos == "PROPN" and tokens.text[token - 1 : token] == ["("] and tokens.text[token + 1 : token + 2] == [")"]
        )
    if link in NEVER or is_relative(tokens, parse, token):
        return False
    if link == Role.COMPOUND:
        head = int(parse.head[token])
        if upos == "PROPN":
            return head >= 0 and tokens.upos[head] not in ("PROPN", "NUM")
        of_verb = head >= 0 and tokens.upos[head] == "VERB"
        return upos == "NOUN" and (of_verb or heads_elsewhere(tokens, parse, token))
    return upos in ("NOUN", "PROPN", "PRON", "NUM", "SYM", "X") or (upos in ("DET", "ADJ") and link in ARGUMENTS)


def span(tokens: Tokens, parse: NeutralParse, head: int) -> tuple[int, int]:
    """First and last token of a phrase: dependents are taken in from the head outwards until one is no part of it."""
    n = len(tokens)
    mine = [t for t in range(n) if parse.head[t] == head and tokens.sent[t] == tokens.sent[head]]
    mine = [t for t in mine if tokens.upos[t] != "PUNCT"]
    subject = any(parse.head[t] == head and parse.link[t] in (Role.SUBJECT, Role.PASSIVE_SUBJECT) for t in range(n))
    first = last = head
    for t in sorted((t for t in mine if t < head), reverse=True):
        if max(subtree(parse, t)) < first:
            if parse.link[t] not in BEFORE:
                break
            first = min(subtree(parse, t))
    for t in sorted(t for t in mine if t > head):
        if min(subtree(parse, t)) > last:
            if parse.link[t] == Role.FUNCTION and tokens.upos[t] == "PART" and t == last + 1:
                last = t
            elif parse.link[t] in AFTER or (not subject and parse.link[t] in OF_A_CLAUSE):
                last = max(subtree(parse, t))
            else:
                break
    while first < head and tokens.upos[first] == "PUNCT":
        first += 1
    while last > head and tokens.upos[last] == "PUNCT" and tokens.text[last] not in CLOSING:
        last -= 1
    return first, last


def mentions(tokens: Tokens, scheme: str | None = None) -> list[list[int]]:
    """Start, end and head of each mention, by start, then longest first."""
    parse, found = NeutralParse.of(tokens, scheme), []
    for head in range(len(tokens)):
        if heads_phrase(tokens, parse, head):
            first, last = span(tokens, parse, head)
            if tokens.sent[first] == tokens.sent[head] == tokens.sent[last]:
                found.append([first, last + 1, head])
                members = [
                    t for t in range(head + 1, len(tokens)) if parse.head[t] == head and parse.link[t] == Role.CONJUNCT
                ]
                joining = [
                    tokens.text[t]
                    for t in range(head, len(tokens))
                    if tokens.upos[t] == "CCONJ" and parse.head[t] in (head, *members)
                ]
                names = {(tokens.upos[t], int(tokens.sent[t])) for t in (head, *members)}
                if set(joining) == {"and"} and members and names == {("PROPN", int(tokens.sent[head]))}:
                    end = span(tokens, parse, members[-1])[1]
                    found.append([first, end + 1, head])
    return sorted(found, key=lambda mention: (mention[0], -mention[1]))
