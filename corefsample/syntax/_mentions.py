"""Dependency parses of several schemes in one notation, and their mentions: noun phrases, pronouns, names, possessors.

The notation says who governs a token, in what role, by what adposition. Nested mentions are included.

What counts as a mention
    The phrase of a noun, name, pronoun, number or symbol, and of a determiner or adjective in a noun's place
    ("those", "the poor"), with all its modifiers and relative clauses. Each conjunct is a mention by itself, and names
    that "and" joins are one mention more, whose head is the first name. So are a country that is a subject and the only
    other one of its clause ("Iran attacked Iraq") where "the two countries" can mean both.
    Appositions are mentions of their own, not parts of the phrase that they explain. A compound's modifier is a
    mention if it is a name ("U.S. troops"), heads a phrase elsewhere in the document, or modifies a verb ("police
    firing", read as one). Existential "there", expletive "it", relative and interrogative pronouns, and clauses are
    not mentions.

What cannot corefer
    Two mentions whose places in the parse, or whose names of countries, rule it out: see `cannot_link_pairs`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Self

import numpy as np

from corefsample._arrays import Bools, Ints32
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError, ParameterHint
from corefsample.languages._language import ENGLISH, Language, load_language
from corefsample.syntax import _kernels
from corefsample.syntax._codes import Label, Role, Upos
from corefsample.syntax._paths import Dependents, clause_partners
from corefsample.syntax._schemes import SCHEMES, schemes_of

_CLOSING = frozenset([")", "]", "”", '"', "’", "''", "»"])
_LONGEST_NAME = 5  # words of a country's name
_PERSONS = ("person", "male", "female", "group")  # classes of nouns
_SUBJECTS = (Role.SUBJECT, Role.PASSIVE_SUBJECT)
_OBJECTS = (Role.OBJECT, Role.INDIRECT_OBJECT)
_MODIFIERS = (Role.POSSESSOR, Role.COMPOUND, Role.NOUN_MODIFIER, Role.CONJUNCT)
_SHARED = {
    Role.SUBJECT: "nsubj",
    Role.CLAUSE: "csubj csubjpass advcl ccomp xcomp",
    Role.NOUN_CLAUSE: "acl",
    Role.APPOSITION: "appos",
    Role.CONJUNCT: "conj",
    Role.ROOT: "root",
    Role.COMPOUND: "compound",
    Role.DETERMINER: "det",
    Role.ADJECTIVE: "amod",
    Role.NUMERAL: "nummod",
    Role.LIST: "parataxis",
    Role.FUNCTION: "mark cc punct aux auxpass",
    Role.EXPLETIVE: "expl",
    Role.ADVERB: "advmod neg",
}
_UNIVERSAL = {
    Role.PASSIVE_SUBJECT: "nsubj:pass nsubjpass",
    Role.OBJECT: "obj dobj",
    Role.INDIRECT_OBJECT: "iobj",
    Role.OBLIQUE: "obl",
    Role.ADVERBIAL_NOUN: "obl:tmod obl:npmod obl:unmarked nmod:tmod nmod:npmod nmod:unmarked",
    Role.NOUN_MODIFIER: "nmod",
    Role.POSSESSOR: "nmod:poss",
    Role.COMPOUND: "nmod:desc",
    Role.FUNCTION: "compound:prt fixed mwe discourse",
    Role.VOCATIVE: "vocative",
    Role.FLAT: "flat name foreign goeswith",
    Role.RELATIVE_CLAUSE: "acl:relcl",
    Role.LIST: "list",
    Role.DISLOCATED: "dislocated",
    Label.CASE: "case",
    Label.COPULA: "cop",
}
_CLEARNLP = {
    Role.PASSIVE_SUBJECT: "nsubjpass",
    Role.OBJECT: "dobj",
    Role.INDIRECT_OBJECT: "dative",
    Role.POSSESSOR: "poss",
    Role.COMPOUND: "nmod",
    Role.DETERMINER: "predet",
    Role.RELATIVE_CLAUSE: "relcl",
    Role.CLAUSE: "pcomp oprd",
    Role.ADVERBIAL_NOUN: "npadvmod",
    Role.FUNCTION: "case prt preconj intj",
    Role.ADVERB: "quantmod",
    Label.PREPOSITION: "prep agent",
    Label.PREPOSITION_OBJECT: "pobj",
    Label.COMPLEMENT: "attr acomp",
}


def _by_label(*tables: Mapping[int, str]) -> Mapping[str, int]:
    return {label: role for table in tables for role, labels in table.items() for label in labels.split()}


_ROLES_OF_UD = _by_label(_SHARED, _UNIVERSAL)
_ROLES = {"ud2": _ROLES_OF_UD, "ud1": _ROLES_OF_UD, "clearnlp": _by_label(_SHARED, _CLEARNLP)}
_UPOS_CODES = Upos._asdict()
_VERBAL = (Upos.VERB, Upos.AUX, Upos.ADJ, Upos.ADV)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NeutralParse:
    """A parse as features and mention rules see it; every array has n_tokens entries.

    Nouns hang on what their adposition hangs on; the predicate of a copula heads its clause; conjuncts hang on the
    first one and share its role and governor.

    Attributes
    ----------
    head
        int32: neutral head, -1 for a root.
    link
        int32: role towards `head`, a code of `Role`; conjuncts are ``Role.CONJUNCT``.
    role
        int32: the same, but a conjunct has the role of the first one, and a predicate of a copula is
        ``Role.PREDICATE``.
    governor
        int32: head of the token, or of the first of its coordination.
    marker
        int32: the adposition that marks the token, -1 without one.
    upos
        int32: part of speech, a code of `Upos`, 0 for any other.
    """

    head: Ints32
    link: Ints32
    role: Ints32
    governor: Ints32
    marker: Ints32
    upos: Ints32

    @classmethod
    def of(cls, tokens: Tokens, scheme: str | None = None) -> Self:
        """Bring a parse to the common notation; in a text without a parse every role is ``Role.OTHER``.

        Parameters
        ----------
        tokens
            Words with their parse in UD v2, UD v1 or ClearNLP.
        scheme
            Dependency scheme: ud2, ud1 or clearnlp. By default, it is recognised from the labels.

        Raises
        ------
        ParameterError
            If the labels fit no scheme, or several schemes that read them differently.
        """
        names = schemes_of(() if tokens.is_unparsed else tokens.dep, scheme)
        parse, *other_parses = (cls(*_parse(tokens, name)) for name in names)
        if not all(
            np.array_equal(getattr(parse, name), getattr(other_parse, name))
            for other_parse in other_parses
            for name in cls.__slots__
        ):
            conflict = f"labels that fit {' and '.join(names)}, which read them differently"
            hint = ParameterHint("scheme", "chooses")
            raise ParameterError(f"tokens.dep must fit one dependency scheme, got {conflict}", hint=hint)
        return parse


@lru_cache(maxsize=4096)
def _label_code(scheme: str, label: str) -> int:
    """Code of a label; a subtype without a role of its own counts as its base."""
    roles = _ROLES[scheme]
    name = SCHEMES[scheme].reads(label) or label
    return roles.get(name, roles.get(name.partition(":")[0], Role.OTHER))


def _parse(tokens: Tokens, scheme: str) -> tuple[Ints32, Ints32, Ints32, Ints32, Ints32, Ints32]:
    """The fields of a `NeutralParse`, by one scheme."""
    n_tokens = len(tokens)
    labels = np.array([_label_code(scheme, label) for label in tokens.dep], np.int32)
    upos = np.array([_UPOS_CODES.get(upos, 0) for upos in tokens.upos], np.int32)
    verbal = np.isin(upos, _VERBAL)
    head, link, role, governor = (np.empty(n_tokens, np.int32) for _ in range(4))
    marker, predicate = np.full(n_tokens, -1, np.int32), np.zeros(n_tokens, np.bool_)
    parse = _kernels.ParseLinks(head, link, marker, predicate)
    if scheme == "clearnlp":
        # A dative is a noun (give him) or a preposition (give to him); prepositions are complements (from under it)
        # and conjuncts (in and around it) of others too.
        adposition = upos == Upos.ADP
        dep = np.array(tokens.dep, np.str_)
        labels[adposition & np.isin(dep, ["dative", "pcomp", "conj"])] = Label.PREPOSITION
        adposition |= labels == Label.PREPOSITION
        adposition &= labels != Label.PREPOSITION_OBJECT
        be = np.array([lemma.lower() == "be" for lemma in tokens.lemma], np.bool_)
        verbs = np.full(n_tokens, -1, np.int32), np.zeros(n_tokens, np.bool_)
        _kernels.from_clearnlp(labels, tokens.head, verbal, adposition, be, verbs, parse)
    else:
        _kernels.from_universal(labels, tokens.head, verbal, upos == Upos.PART, parse)
    _kernels.share_roles(head, link, marker, predicate, governor, role)
    return head, link, role, governor, marker, upos


def mentions_from_parse(tokens: Tokens, *, scheme: str | None = None, language: Language | None = None) -> Ints32:
    """Find the mentions of a parsed text.

    Parameters
    ----------
    tokens
        Words of the text and their parse.
    scheme
        Dependency scheme: ud2, ud1 or clearnlp. By default, it is recognised from the labels.
    language
        Resources of the language of the words. By default, English.

    Returns
    -------
    array of shape (n_mentions, 3), int32
        Token offsets start, end (exclusive) and head, sorted by start, then longest first; each span occurs once.

    Raises
    ------
    ParameterError
        If the words have no parse, the labels fit no scheme, or they fit several schemes that read them differently.

    Examples
    --------
    >>> import numpy as np
    >>> text, dep = ["Her", "dog", "saw", "a", "cat"], ["nmod:poss", "nsubj", "root", "det", "obj"]
    >>> upos, head = ["PRON", "NOUN", "VERB", "DET", "NOUN"], np.array([1, 2, -1, 4, 2])
    >>> mentions_from_parse(Tokens(text, text, upos, dep, head, np.zeros(5, int)))
    array([[0, 2, 1],
           [0, 1, 0],
           [3, 5, 4]], dtype=int32)
    """
    if len(tokens) and tokens.is_unparsed:
        raise ParameterError("tokens must be parsed to find mentions in them, got no dependency labels")
    language = language or load_language(ENGLISH)
    tokens = language.adapted(tokens)
    parse = NeutralParse.of(tokens, scheme)
    words = [text.lower() for text in tokens.text]
    mentions = np.empty((len(tokens), 3), np.int32)
    n_waiting, ready, low, high = np.zeros((4, len(tokens)), np.int32)
    _kernels.subtrees(parse.head, n_waiting, ready, low, high)
    text = _kernels.ParsedText(
        head=parse.head,
        link=parse.link,
        upos=parse.upos,
        sent=tokens.sent,
        low=low,
        high=high,
        relative=_relative_pronouns(words, parse, language),
        elsewhere=_heads_elsewhere(tokens, parse),
        closing=np.array([word in _CLOSING for word in words], np.bool_),
        bracketed=_bracketed(words),
        joining=np.array([word in language.conjunctions for word in words], np.bool_),
    )
    mentions = mentions[: _kernels.phrases(text, np.zeros(len(tokens), np.bool_), mentions)]
    if language.possessive_determiners:
        determiners = _possessive_determiners(tokens, words, language)
        mentions = np.concatenate([mentions, determiners[~np.isin(determiners[:, 2], mentions[:, 2])]])
    mentions = np.concatenate([mentions, _pairs_of_countries(tokens, mentions, parse, language)])
    return mentions[np.lexsort((-mentions[:, 1], mentions[:, 0]))]


def _pairs_of_countries(tokens: Tokens, mentions: Ints32, parse: NeutralParse, language: Language) -> Ints32:
    """Mentions of a country that is a subject and the only other one of its clause, where a mention can mean both."""
    codes = _named_countries(tokens, mentions[:, 2], parse, language)
    names = {int(mentions[i, 2]): i for i in codes}  # of mentions with one head, the longest comes last
    markers = {word for name in ("with", "to", "against") for word in language.words.get(name, ())}
    pairs = [mentions[:0]]
    for head, i in names.items():
        verb = parse.head[head]
        partners = {
            codes[k]: mentions[k, 1]
            for name, k in names.items()
            if name > verb > head and verb in (parse.head[name], parse.head[parse.head[name]])
            if parse.link[name] in (*_SUBJECTS, *_OBJECTS) or _marker(tokens, parse, name) in markers
        }
        if parse.link[head] == Role.SUBJECT and len(partners) == 1 and codes[i].isdisjoint(*partners):
            pair = np.array([(mentions[i, 0], *partners.values(), head)], np.int32)
            if _mean_both(tokens, parse, mentions, pair, language).any():
                pairs.append(pair)
    return np.concatenate(pairs)


def _marker(tokens: Tokens, parse: NeutralParse, token: int) -> str:
    """Adposition of a token, in lower case; "" without one, and of a conjunct."""
    has_marker = parse.marker[token] >= 0 and parse.link[token] != Role.CONJUNCT
    return tokens.text[parse.marker[token]].lower() if has_marker else ""


def _mean_both(tokens: Tokens, parse: NeutralParse, mentions: Ints32, pair: Ints32, language: Language) -> Bools:
    """Mark the mentions that can mean both names of a pair, an array of one row; none if it is not read as a pair.

    These are "the two countries" in the sentence of the names or the next two; "both" and "the two" in theirs or the
    next one, before any plural of persons; and "they" there too if "with" or a verb of meeting joins the names. None
    are marked in a language without a list of words like "countries".
    """
    marked = np.zeros(len(mentions), np.bool_)
    partners = clause_partners(tokens, pair)
    if not partners or "sides" not in language.words:
        return marked
    end, first = pair[0, 1:].tolist()
    together = _marker(tokens, parse, partners[0]) in language.words["with"]
    together |= tokens.lemma[parse.head[first]].lower() in language.words["meeting"]
    plural = [pronoun for pronoun in language.pronouns if pronoun.person == 3 and pronoun.number == "plural"]
    kinds = {word: pronoun.kind for pronoun in plural for word in pronoun.words}
    is_nearest = True
    for i, (start, last, head) in enumerate(mentions.tolist()):
        lemma = tokens.lemma[head].lower()
        if start >= end:
            word, n_between = tokens.text[start].lower(), tokens.sent[head] - tokens.sent[first]
            kind = kinds.get(word)
            is_counted = word in language.definite_articles and "NUM" in tokens.upos[start : head + 1]
            both = is_counted or kind == "indefinite"
            if last - start > 1 and tokens.upos[head] != "NUM":
                marked[i] = both and n_between <= 2 and lemma in language.words["sides"]
            else:
                both |= together and kind in ("personal", "possessive", "reflexive")
                marked[i] = both and n_between <= 1 and is_nearest
        is_plural = tokens.text[head].lower() != lemma or lemma in language.plural_nouns
        is_nearest &= not (head > first and is_plural and language.noun_classes.get(lemma) in _PERSONS)
    return marked


def _bracketed(words: list[str]) -> Bools:
    """Mark the words that stand alone in brackets."""
    is_bracketed = np.zeros(len(words), np.bool_)
    is_bracketed[1:-1] = [before == "(" and after == ")" for before, after in zip(words, words[2:], strict=False)]
    return is_bracketed


def _relative_pronouns(words: list[str], parse: NeutralParse, language: Language) -> Bools:
    """Mark the pronouns that are no mentions, some of them only before the verb of a relative clause."""
    relative = np.zeros(len(words), np.bool_)
    for token in np.flatnonzero(parse.upos == Upos.PRON).tolist():
        if words[token] in language.no_mentions:
            relative[token] = True
        elif words[token] in language.no_mentions_before_verb:
            head = parse.head[token]
            relative[token] = head > token and parse.link[head] == Role.RELATIVE_CLAUSE
    return relative


def _possessive_determiners(tokens: Tokens, words: list[str], language: Language) -> Ints32:
    """Mentions of determiners that stand for a possessor: "su", by its features or a list."""
    listed = {word for each in language.pronouns if each.kind == "possessive" for word in each.words}
    feats = tokens.extra.get("feats") or [""] * len(tokens)
    places = [
        token
        for token, upos in enumerate(tokens.upos)
        if upos == "DET" and (words[token] in listed or ("Poss=Yes" in (feats[token] or "")))
    ]
    return np.array([(token, token + 1, token) for token in places], np.int32).reshape(-1, 3)


def _heads_elsewhere(tokens: Tokens, parse: NeutralParse) -> Bools:
    """Mark nouns whose lemma also occurs in another role than that of a compound's modifier."""
    noun = (parse.upos == Upos.NOUN) | (parse.upos == Upos.PROPN)
    modifier = noun & (parse.link == Role.COMPOUND)
    heads = {tokens.lemma[token].lower() for token in np.flatnonzero(noun & ~modifier).tolist()}
    marked = np.zeros(len(tokens), np.bool_)
    marked[[token for token in np.flatnonzero(modifier).tolist() if tokens.lemma[token].lower() in heads]] = True
    return marked


def cannot_link_pairs(
    tokens: Tokens, mentions: Ints32, *, scheme: str | None = None, language: Language | None = None
) -> Ints32:
    """Pairs of mentions that do not corefer for reasons of grammar, or as names of different countries.

    These are the subject and an object of one verb, unless one is reflexive or reciprocal (principle B of binding
    theory); a phrase and the possessor, compound's noun, other noun or conjunct that depends on its head; two
    phrases, one in the other, with the same head; two names whose words are listed as names of countries, or of
    organisations of states, which have no code in common; and two countries of one clause with what cannot mean both.

    Parameters
    ----------
    tokens
        Words of a document and their parse.
    mentions
        int32 (n_mentions, 3): start, end (exclusive) and head of each mention of the document.
    scheme
        Dependency scheme: ud2, ud1 or clearnlp. By default, it is recognised from the labels.
    language
        Resources of the language of the words. By default, English.

    Returns
    -------
    array of shape (n_pairs, 2), int32
        Numbers of the two mentions of each pair, the later mention first.

    Raises
    ------
    ParameterError
        If the labels fit no scheme, or several schemes that read them differently.
    """
    parse = NeutralParse.of(tokens, scheme)
    head = mentions[:, 2]
    governor, link = parse.head[head], parse.link[head]
    language = language or load_language(ENGLISH)
    feats = tokens.extra.get("feats") or [""] * len(tokens)
    again = np.array([language.is_reflexive(tokens.text[token], feats[token]) for token in head], np.bool_)
    by_governor, by_head = (Dependents(each, len(tokens)) for each in (governor, head))
    pairs: set[tuple[int, int]] = set()
    for token in {*governor.tolist()} - {-1}:
        below = by_governor[token]
        subjects = [i for i in below if link[i] in _SUBJECTS and not again[i]]
        objects = [i for i in below if link[i] in _OBJECTS and not again[i]]
        modifiers = [i for i in below if link[i] in _MODIFIERS]
        pairs.update((i, j) for i in subjects for j in objects)
        pairs.update((i, j) for i in by_head[token] for j in modifiers if _is_inside(mentions, j, i))
    for same in map(by_head.__getitem__, {*head.tolist()}):
        pairs.update((i, j) for i in same for j in same if i != j and _is_inside(mentions, j, i))
    named = _named_countries(tokens, head, parse, language)
    names = {int(head[i]): min(codes) for i, codes in named.items()}
    for token in np.flatnonzero(parse.link == Role.CONJUNCT).tolist():  # a coordination is none of its members
        for i in by_head[parse.head[token]]:
            if token in names and token < mentions[i, 1]:
                named[i] = frozenset([" ".join(sorted([*" ".join(named.get(i, ())).split(), names[token]]))])
    pairs.update((i, j) for (i, own), (j, other) in combinations(named.items(), 2) if own.isdisjoint(other))
    for i in clause_partners(tokens, mentions):
        both = _mean_both(tokens, parse, mentions, mentions[i : i + 1], language)
        pairs.update((i, j) for j in np.flatnonzero(~both).tolist() if j != i)
    rows = np.array(sorted({(max(pair), min(pair)) for pair in pairs}), np.int32)
    return rows.reshape(-1, 2)


def _named_countries(
    tokens: Tokens, heads: Ints32, parse: NeutralParse, language: Language
) -> dict[int, frozenset[str]]:
    """Codes of the countries that mentions may name: by the longest listed words that end with the last of a name."""
    countries = {}
    is_name, words = parse.upos == Upos.PROPN, [text.lower() for text in tokens.text]
    for i, head in enumerate(heads.tolist()):
        for start in range(max(head + 1 - _LONGEST_NAME, 0), head + 1) if is_name[head] else ():
            codes = language.countries.get(" ".join(words[start : head + 1]))
            if codes is not None and tokens.sent[start] == tokens.sent[head]:
                is_part = start > 0 and is_name[start - 1] and parse.head[start - 1] == head  # Michael Jordan
                if codes and not is_part:
                    countries[i] = codes
                break
    return countries


def _is_inside(mentions: Ints32, inner: int, outer: int) -> bool:
    """Whether a mention lies inside another mention and is shorter."""
    (begin, end), (first, last) = mentions[inner, :2], mentions[outer, :2]
    return bool(first <= begin and end <= last and end - begin < last - first)
