"""Labels of a parse that mislead about neighbouring clauses and contrasts, replaced by labels that do not.

Parsers of English hang a clause under the verb of the next one ("Israel attacked a depot; Syria vowed revenge"), as if
the second said the first; and "not" under the verb where it denies another noun ("arrested the cook, not the waiter").
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from corefsample.languages._language import Language

NEIGHBOUR, CONTRAST = "parataxis", "dep"  # labels of every scheme that no condition on negation or on governors takes
_SEPARATORS = frozenset({";", ":", "--", "–", "—"})
_QUOTES = frozenset({'"', "``", "''", "“", "”"})
_SUBJECTS = frozenset({"nsubj", "nsubj:pass", "nsubjpass"})
_COMPLEMENTS = frozenset({"obj", "dobj", "xcomp", "ccomp"})
_NOMINAL = frozenset({"DET", "NOUN", "PROPN", "ADJ", "NUM", "PRON", "ADP"})


def relabelled(
    text: Sequence[str],
    upos: Sequence[str],
    heads: Sequence[int],
    labels: list[str],
    dependents: Callable[[int], Collection[int]],
    language: Language,
) -> list[str]:
    """Labels of a parse, with `NEIGHBOUR` for neighbouring clauses and `CONTRAST` for a "not" of another noun."""
    contrast, only = (frozenset(language.words.get(name, ())) for name in ("contrast", "only"))
    changed = {}
    for token, label in enumerate(labels):
        if label == "ccomp" and _is_neighbour(token, text, heads, labels, dependents):
            changed[token] = NEIGHBOUR
        elif text[token].lower() in contrast and heads[token] >= 0 and _is_contrast(token, text, upos, heads, only):
            changed[token] = CONTRAST
    return [changed.get(token, label) for token, label in enumerate(labels)] if changed else labels


def _is_neighbour(
    token: int,
    text: Sequence[str],
    heads: Sequence[int],
    labels: Sequence[str],
    dependents: Callable[[int], Collection[int]],
) -> bool:
    """Whether a clause is coordinated with the next one, whose verb its parser took for its governor.

    A separator stands between them; or the second verb has a complement of its own, and both have subjects.
    """
    head = heads[token]
    if head < token:
        return False
    between = [k for k in dependents(head) if token < k < head]
    if any(text[k] in _SEPARATORS for k in between):
        return True
    if any(text[k] in _QUOTES for k in range(token, head)):
        return False
    below = dependents(token)
    return (
        any(labels[k] in _SUBJECTS for k in below)
        and not any(labels[k] == "mark" for k in below)
        and any(labels[k] in _COMPLEMENTS for k in dependents(head) if k > head)
        and any(labels[k] in _SUBJECTS for k in between)
    )


def _is_contrast(
    token: int, text: Sequence[str], upos: Sequence[str], heads: Sequence[int], only: Collection[str]
) -> bool:
    """Whether "not" denies another noun than what it hangs on, or begins "not only"."""
    if token + 1 >= len(text):
        return False
    if text[token + 1].lower() in only:
        return True
    head = heads[token]
    after = upos[token + 1] in _NOMINAL
    if upos[head] in ("NOUN", "PROPN"):
        return after and (head < token or heads[head] == token - 1)
    before = text[token - 1] if token else ""
    return after and (before in (",", "and", "but") or head == token - 1)
