"""A parse as paths read it: labels of one scheme, dependents, features, and the voice of verbs.

Labels that mislead about neighbouring clauses and contrasts are replaced. Parsers of English hang a clause under the
verb of the next one ("Israel attacked a depot; Syria vowed revenge"), as if the second said the first; and "not" under
the verb where it denies another noun ("arrested the cook, not the waiter").
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache

from corefsample.documents._tokens import Tokens
from corefsample.languages._language import ENGLISH, Language, load_language
from corefsample.syntax._schemes import Scheme

_PASSIVE_MARKERS = frozenset({"aux:pass", "auxpass", "nsubj:pass", "nsubjpass", "csubj:pass", "csubjpass"})
_ACTIVE_SUBJECTS = frozenset({"nsubj", "csubj"})
_NO_PARTICIPLE = frozenset({"verbform:inf", "verbform:ger", "tense:pres"})
# Features of Universal Dependencies that Penn tags stand for, of those that paths ask for.
_PENN = {
    "VB": "VerbForm=Inf",
    "VBD": "Mood=Ind|Tense=Past|VerbForm=Fin",
    "VBG": "Tense=Pres|VerbForm=Part",
    "VBN": "Tense=Past|VerbForm=Part",
    "VBP": "Mood=Ind|Tense=Pres|VerbForm=Fin",
    "VBZ": "Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin",
    "MD": "VerbForm=Fin",
    "NN": "Number=Sing",
    "NNP": "Number=Sing",
    "NNS": "Number=Plur",
    "NNPS": "Number=Plur",
}
NEIGHBOUR, CONTRAST = "parataxis", "dep"  # labels of every scheme that no condition on negation or on governors takes
_SEPARATORS = frozenset({";", ":", "--", "–", "—"})
_QUOTES = frozenset({'"', "``", "''", "“", "”"})
_SUBJECTS = frozenset({"nsubj", "nsubj:pass", "nsubjpass"})
_COMPLEMENTS = frozenset({"obj", "dobj", "xcomp", "ccomp"})
_NOMINAL = frozenset({"DET", "NOUN", "PROPN", "ADJ", "NUM", "PRON", "ADP"})


def dependents_of(heads: Iterable[int], n_tokens: int) -> list[list[int]]:
    """Dependents of each token in text order, and those of -1, the roots, as the last list.

    Parameters
    ----------
    heads
        Head of each dependent, -1 for a root. Dependents are tokens, or mentions of tokens.
    n_tokens
        Number of tokens.
    """
    dependents: list[list[int]] = [[] for _ in range(n_tokens + 1)]
    for dependent, head in enumerate(heads):
        dependents[head].append(dependent)
    return dependents


class ParseView:
    """A document's parse with its labels as one scheme reads them, and dependents by token.

    Parameters
    ----------
    tokens
        Words of the document and their parse.
    scheme
        Dependency scheme by which the labels are read.
    language
        Language of the words. By default, English.

    Attributes
    ----------
    text, lemma, upos, heads, labels
        Text, lemma, part of speech, head (-1 for a root) and label of each token, the label as the scheme reads it.
    dependents
        Dependents of each token; those of -1 are the roots.
    """

    def __init__(self, tokens: Tokens, scheme: Scheme, language: Language | None = None) -> None:
        self.tokens, self.scheme, self.language = tokens, scheme, language or load_language(ENGLISH)
        self.text, self.lemma, self.upos = tokens.text, tokens.lemma, tokens.upos
        self.heads: list[int] = tokens.head.tolist()
        self.dependents = dependents_of(self.heads, len(tokens))
        names = {label: scheme.reads(label) or label for label in set(tokens.dep)}
        self.labels = [names[label] for label in tokens.dep]
        contrast, only = (frozenset(self.language.words.get(name, ())) for name in ("contrast", "only"))
        changed = {}
        for token, label in enumerate(self.labels):
            if label == "ccomp" and self._is_neighbour(token):
                changed[token] = NEIGHBOUR
            elif self.text[token].lower() in contrast and self.heads[token] >= 0 and self._is_contrast(token, only):
                changed[token] = CONTRAST
        for token, label in changed.items():
            self.labels[token] = label

    def features(self, token: int) -> frozenset[str]:
        """Features as ``name:value`` in lower case, from the columns feats or else xpos; empty without either."""
        extra = self.tokens.extra
        feats, xpos = (str(extra[name][token] or "") if name in extra else "" for name in ("feats", "xpos"))
        return _features(feats if "=" in feats else _PENN.get(xpos, ""))

    def is_passive(self, token: int) -> bool:
        """Whether a verb is passive, or a past participle used like one ("attacked by rebels, ...").

        A passive subject or auxiliary says so, and a subject, an auxiliary or a marker ("to") without these denies it.
        A verb with none of them is passive if it is a past participle by its features; in an adjectival or adverbial
        clause also if it is called finite, which taggers do ("men arrested by police"). Without features, a verb counts
        as a past participle if it does not end in -ing, and is in such a clause or differs from its lemma. One
        conjoined to another verb is passive if that verb is.
        """
        is_english = self.language.resources == ENGLISH
        while True:
            below = {self.labels[d] for d in self.dependents[token]}
            if below & _PASSIVE_MARKERS:
                return True
            features = self.features(token)
            if below & (_ACTIVE_SUBJECTS | {"aux", "mark"}) or features & _NO_PARTICIPLE:
                return False
            label = self.labels[token].partition(":")[0]
            # Taggers of English call participles finite; where verbs agree, and subjects are dropped, they do not.
            in_clause = label in ("acl", "advcl") and (is_english or "verbform:fin" not in features)
            if "verbform:fin" in features and not in_clause:
                return False
            if not features and self.text[token].lower().endswith("ing"):
                return False
            if label != "conj" or self.heads[token] < 0:
                break
            token = self.heads[token]
        return in_clause or bool(features) or self.text[token].lower() != self.lemma[token].lower()

    def _is_neighbour(self, token: int) -> bool:
        """Whether a clause is coordinated with the next one, whose verb its parser took for its governor.

        A separator stands between them; or the second verb has a complement of its own, and both have subjects.
        """
        head, labels = self.heads[token], self.labels
        if head < token:
            return False
        between = [k for k in self.dependents[head] if token < k < head]
        if any(self.text[k] in _SEPARATORS for k in between):
            return True
        if any(self.text[k] in _QUOTES for k in range(token, head)):
            return False
        below = {labels[k] for k in self.dependents[token]}
        return (
            not below.isdisjoint(_SUBJECTS)
            and "mark" not in below
            and any(labels[k] in _COMPLEMENTS for k in self.dependents[head] if k > head)
            and any(labels[k] in _SUBJECTS for k in between)
        )

    def _is_contrast(self, token: int, only: Collection[str]) -> bool:
        """Whether "not" denies another noun than what it hangs on, or begins "not only"."""
        if token + 1 >= len(self.text):
            return False
        if self.text[token + 1].lower() in only:
            return True
        head = self.heads[token]
        after = self.upos[token + 1] in _NOMINAL
        if self.upos[head] in ("NOUN", "PROPN"):
            return after and (head < token or self.heads[head] == token - 1)
        before = self.text[token - 1] if token else ""
        return after and (before in (",", "and", "but") or head == token - 1)


@lru_cache(maxsize=4096)
def _features(feats: str) -> frozenset[str]:
    named = (each.partition("=") for each in feats.lower().split("|") if "=" in each)
    return frozenset(f"{name}:{value}" for name, _, values in named for value in values.split(","))
