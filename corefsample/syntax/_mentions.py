"""Mentions from a parse: noun phrases, pronouns, names and possessors, nested ones included.

What counts as a mention
    The phrase of a noun, name, pronoun, number or symbol, and of a determiner or adjective in a noun's place ("those",
    "the poor"), with all its modifiers and relative clauses. Conjuncts are mentions each by itself. Appositions are
    mentions of their own, not parts of the phrase that they explain. A compound's modifier is one if it is a name
    ("U.S. troops") or heads a phrase elsewhere in the document. Existential "there", expletive "it", and pronouns
    that relate or ask are none; clauses are none.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from corefsample.documents import Tokens
from corefsample.errors import ParameterError
from corefsample.syntax import _mention_kernels
from corefsample.syntax._roles import UPOS, NeutralParse, Role, neutral_parse

__all__ = ["mentions_from_parse"]

_RELATIVE = frozenset(["who", "whom", "whose", "which", "what", "whoever", "whomever", "whichever", "whatever"])
_CLOSING = frozenset([")", "]", "”", '"', "’", "''", "»"])
_PRONOUN, _NOUN, _PROPER_NOUN = (UPOS.index(upos) + 1 for upos in ("PRON", "NOUN", "PROPN"))


def mentions_from_parse(tokens: Tokens, *, scheme: str | None = None) -> npt.NDArray[np.int32]:
    """Find the mentions of a parsed text.

    Parameters
    ----------
    tokens
        Words with their parse.
    scheme
        ud2, ud1 or clearnlp; None: told from the labels.

    Returns
    -------
    array of shape (n_mentions, 3), int32
        Token offsets start, end (exclusive) and head, sorted by start, then longest first; no span comes twice.

    Raises
    ------
    ParameterError
        If the labels fit no scheme, or there is no parse.

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
    if len(tokens) and set(tokens.dep) <= {"_", ""}:
        raise ParameterError("tokens must be parsed to find mentions in them, got no dependency labels")
    parse = neutral_parse(tokens, scheme)
    words = [text.lower() for text in tokens.text]
    found = np.empty((len(tokens), 3), np.int32)
    low, high = np.empty(len(tokens), np.int32), np.empty(len(tokens), np.int32)
    _mention_kernels.subtrees(parse.head, low, high)
    n_found = _mention_kernels.phrases(
        parse.head,
        parse.link,
        parse.upos,
        tokens.sent,
        _relative_pronouns(words, parse),
        _heads_elsewhere(tokens, parse),
        np.array([word in _CLOSING for word in words], np.bool_),
        low,
        high,
        found,
    )
    found = found[:n_found]
    return found[np.lexsort((-found[:, 1], found[:, 0]))]


def _relative_pronouns(words: list[str], parse: NeutralParse) -> npt.NDArray[np.bool_]:
    """Mark pronouns that ask or relate; "that" relates where it stands before the verb of a relative clause."""
    relative = np.zeros(len(words), np.bool_)
    for token in np.flatnonzero(parse.upos == _PRONOUN).tolist():
        if words[token] in _RELATIVE:
            relative[token] = True
        elif words[token] == "that":
            head = parse.head[token]
            relative[token] = head > token and parse.link[head] == Role.RELATIVE_CLAUSE
    return relative


def _heads_elsewhere(tokens: Tokens, parse: NeutralParse) -> npt.NDArray[np.bool_]:
    """Mark nouns whose lemma also occurs in another role than that of a compound's modifier."""
    noun = (parse.upos == _NOUN) | (parse.upos == _PROPER_NOUN)
    modifier = noun & (parse.link == Role.COMPOUND)
    heads = {tokens.lemma[token].lower() for token in np.flatnonzero(noun & ~modifier).tolist()}
    marked = np.zeros(len(tokens), np.bool_)
    marked[[token for token in np.flatnonzero(modifier).tolist() if tokens.lemma[token].lower() in heads]] = True
    return marked
