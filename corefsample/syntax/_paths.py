"""A small notation for paths through a dependency parse, their evaluation, and the parse as they read it.

A path starts at a token and takes steps. ``>nsubj`` goes to the dependents labelled nsubj, ``<conj`` to the head if
the token itself is labelled conj. ``>nsubj|csubj`` allows either label, ``>nmod*`` nmod with any subtype; a ``+`` after
a step repeats it once or more; ``<*`` and ``>*`` allow any label. Conditions in brackets, separated by commas, hold of
the token where they stand:

==================  ==========================================================================
``[lemma=by|of]``   its lemma is one of these (ignoring case); ``[lemma!=by]``: it is not
``[upos=NOUN]``     its part of speech is one of these; ``[upos!=NOUN]``: it is not
``[case=by]``       it has a dependent labelled case of this lemma; so with every label
                    (``[aux=will|shall]``), and ``[case!=by]``: it has none
``[has >obj]``      it has a dependent of this label; ``[no >obj]``: it has none
``[passive]``       it is a passive verb or a past participle without a subject; ``[active]``: it is not
``[feats=X:Y]``     it has the value Y of the feature X (``[feats=Tense:Past|Mood:Imp]``: one of these); ``!=``: it
                    has none of them. A token without features of its own has those of its Penn tag (``xpos``)
``[root]``          it is the root of its sentence
``[bare]``          its text is its lemma (ignoring case): attack, and not attacked
==================  ==========================================================================

``[active,no >nsubj]<conj+>nsubj`` is the subject that a conjoined verb shares with an earlier one. The empty path,
``.`` or nothing, stays where it starts.

A view of a parse has the labels of one scheme, dependents, features, and the voice of verbs. Labels that mislead
about neighbouring clauses and contrasts are replaced. Parsers of English hang a clause under the verb of the next one
("Israel attacked a depot; Syria vowed revenge"), as if the second said the first; and "not" under the verb where it
denies another noun ("arrested the cook, not the waiter").
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from corefsample._arrays import Ints32
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError
from corefsample.languages._language import ENGLISH, Language, load_language
from corefsample.syntax._schemes import SCHEMES, Scheme

_LABEL = r"[A-Za-z]+(?::[A-Za-z]+)?"
_LABELS = rf"(?:{_LABEL}\*?(?:\|{_LABEL}\*?)*|\*)"
_CONDITIONS = r"\[[^\]]*\]"
_STEP = re.compile(rf"([<>])({_LABELS})({_CONDITIONS})?(\+)?")
_CONDITION = re.compile(rf"({_LABEL})(!?=)([^\s,=]+)|(has|no) >({_LABELS})|(active|passive|bare|root)")
_FIELDS = ("lemma", "upos", "feats")
Test = Callable[["ParseView", int], bool]

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


def clause_partners(tokens: Tokens, mentions: Ints32) -> dict[int, int]:
    """Mentions of two names of one clause ("Armenia met Azerbaijan"), with the head of the second name.

    The head of such a mention, its first name, hangs on a verb within it, and its last word does not hang on its head.
    """
    partners, head = {}, mentions[:, 2]
    verb = tokens.head[head]
    for i in ((head < verb) & (verb < mentions[:, 1])).nonzero()[0].tolist():
        name, token = -1, int(mentions[i, 1]) - 1
        while token not in (-1, head[i], verb[i]):
            name = token if tokens.upos[token] == "PROPN" else name
            token = int(tokens.head[token])
        if token == verb[i] and name >= 0:
            partners[i] = name
    return partners


class Dependents(dict[int, list[int]]):
    """Dependents of each token in text order, and those of -1, the roots; a list is made when it is first used.

    Parameters
    ----------
    heads
        Head of each dependent, -1 for a root. Dependents are tokens, or mentions of tokens.
    n_tokens
        Number of tokens.
    """

    def __init__(self, heads: Ints32, n_tokens: int) -> None:
        super().__init__()
        self._by_head: list[int] = np.argsort(heads, kind="stable").tolist()
        self._starts: list[int] = np.cumsum(np.bincount(heads + 2, minlength=n_tokens + 2)).tolist()

    def __missing__(self, head: int) -> list[int]:
        dependents = self[head] = self._by_head[self._starts[head + 1] : self._starts[head + 2]]
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
        self.dependents = Dependents(tokens.head, len(tokens))
        names = {label: name for label in set(tokens.dep) if (name := scheme.reads(label) or label) != label}
        self.labels = [names.get(label, label) for label in tokens.dep] if names else list(tokens.dep)
        contrast, only = (frozenset(self.language.words.get(name, ())) for name in ("contrast", "only"))
        denials = {text for text in set(self.text) if text.lower() in contrast}
        changed = {}
        for token in [t for t, label in enumerate(self.labels) if label == "ccomp" or self.text[t] in denials]:
            if self.labels[token] == "ccomp" and self._is_neighbour(token):
                changed[token] = NEIGHBOUR
            elif self.text[token] in denials and self.heads[token] >= 0 and self._is_contrast(token, only):
                changed[token] = CONTRAST
        for token, label in changed.items():
            self.labels[token] = label
        self._below: dict[int, frozenset[str]] = {}

    def below(self, token: int) -> frozenset[str]:
        """Labels of the dependents of a token."""
        if token not in self._below:
            self._below[token] = frozenset(self.labels[d] for d in self.dependents[token])
        return self._below[token]

    def features(self, token: int) -> frozenset[str]:
        """Features as ``name:value`` in lower case, from the columns feats or else xpos; empty without either."""
        extra = self.tokens.extra
        feats, xpos = (str(extra[name][token] or "") if name in extra else "" for name in ("feats", "xpos"))
        return _features_of(feats if "=" in feats else _PENN.get(xpos, ""))

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
            below = self.below(token)
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
        below = {labels[k] for k in self.dependents[token]}
        return (
            not below.isdisjoint(_SUBJECTS)
            and "mark" not in below
            and any(labels[k] in _COMPLEMENTS for k in self.dependents[head] if k > head)
            and any(labels[k] in _SUBJECTS for k in between)
            and _QUOTES.isdisjoint(self.text[token:head])
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
def _features_of(feats: str) -> frozenset[str]:
    named = (each.partition("=") for each in feats.lower().split("|") if "=" in each)
    return frozenset(f"{name}:{value}" for name, _, values in named for value in values.split(","))


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a path: up or down, by a label that fits, perhaps repeated, to a token that passes the tests."""

    up: bool
    labels: frozenset[str]
    bases: frozenset[str]  # labels that fit with any subtype; "" fits every label
    tests: tuple[Test, ...]
    repeats: bool
    written: str

    def fits(self, label: str) -> bool:
        """Whether the step takes this label."""
        if label in self.labels:
            return True
        bases = self.bases
        return bool(bases) and ("" in bases or label in bases or label.partition(":")[0] in bases)


# Conditions at the beginning of a path as they are written, their tests, and the steps.
Path = tuple[str, tuple[Test, ...], tuple[Step, ...]]
PathGroups = tuple[tuple[str, tuple[str, ...]], ...]  # names of groups, and their paths
# Paths with the same last steps: the tests of those that begin here, and the steps before with the paths that have
# them, by what is written.
_Node = tuple[dict[str, tuple[Test, ...]], dict[str, tuple[Step, Any]]]


def path_labels(path: str) -> tuple[str, ...]:
    """Labels that a path names, conditions included, as they are written (``nmod*``).

    Raises
    ------
    ParameterError
        If the path is not in the notation of this module, with the part that cannot be read.
    """
    compiled_path(path)
    named = re.findall(rf"[<>]({_LABELS})|[\[,]\s*({_LABEL})!?=", path)
    labels = (label for of_step, of_condition in named for label in (of_step or of_condition).split("|"))
    return tuple(label for label in labels if label not in (*_FIELDS, "*"))


def follow(path: str, view: ParseView, start: int) -> Iterable[int]:
    """Distinct tokens at which a path from token `start` ends, in no particular order."""
    _, tests, steps = compiled_path(path)
    if tests and not all(test(view, start) for test in tests):
        return ()
    here = {start}
    for step in steps:
        here = _reached(step, view, here)
        if not here:
            break
    return here


def passable(paths: tuple[str, ...], view: ParseView, start: int) -> tuple[str, ...]:
    """Paths of which the first step has a label that fits from token `start`: most paths fail there."""
    return _passable(paths, view.labels[start], view.below(start))


@lru_cache(maxsize=2**14)
def passable_each(groups: PathGroups, label: str, below: frozenset[str]) -> PathGroups:
    """The groups of paths with the paths that are `passable` from a token, by its label and the labels below it."""
    return tuple((name, left) for name, paths in groups if (left := _passable(paths, label, below)))


@lru_cache(maxsize=2**14)
def _passable(paths: tuple[str, ...], label: str, below: frozenset[str], *, from_end: bool = False) -> tuple[str, ...]:
    """Paths of which the first step can leave a token, or of which the last step can reach it."""
    of_paths = [(path, compiled_path(path)[2]) for path in paths]
    steps = [(path, step[-1 if from_end else 0] if step else None) for path, step in of_paths]
    return tuple(p for p, s in steps if not s or any(map(s.fits, (label,) if s.up is not from_end else below)))


def follow_each(paths: tuple[str, ...], view: ParseView, start: int) -> dict[int, str]:
    """Tokens at which one of the paths from token `start` ends, with the first path that leads to each token."""
    ends: dict[int, str] = {}
    for path in passable(paths, view, start):
        for end in follow(path, view, start):
            ends.setdefault(end, path)
    return ends


def leading_to(paths: tuple[str, ...], view: ParseView, end: int) -> set[int]:
    """Tokens from which one of the paths leads to token `end`: the inverse of `follow`.

    Cheaper than following the paths from every token, where only few ends matter. Paths that end in the same steps are
    followed together.
    """
    starts: set[int] = set()
    open_nodes = [(_backwards(paths, view.labels[end], view.below(end)), {end})]
    while open_nodes:
        (all_tests, steps), here = open_nodes.pop()
        for tests in all_tests.values():
            starts.update(token for token in here if all(test(view, token) for test in tests))
        for step, next_node in steps.values():
            before = _before(step, view, here)
            if before:
                open_nodes.append((next_node, before))
    return starts


@lru_cache(maxsize=2**12)
def _backwards(paths: tuple[str, ...], label: str, below: frozenset[str]) -> _Node:
    root: _Node = {}, {}
    for path in _passable(paths, label, below, from_end=True):
        opening, tests, steps = compiled_path(path)
        node = root
        for step in reversed(steps):
            _, node = node[1].setdefault(step.written, (step, ({}, {})))
        node[0][opening] = tests
    return root


def _before(step: Step, view: ParseView, here: set[int]) -> set[int]:
    """Tokens from which a step leads to one of `here`."""
    before: set[int] = set()
    frontier = here
    while frontier:
        ends = [token for token in frontier if all(test(view, token) for test in step.tests)]
        if step.up:
            reached = {d for token in ends for d in view.dependents[token] if step.fits(view.labels[d])}
        else:
            reached = {view.heads[token] for token in ends if view.heads[token] >= 0 and step.fits(view.labels[token])}
        frontier = reached - before if step.repeats else set()
        before |= reached
    return before


def _reached(step: Step, view: ParseView, here: set[int]) -> set[int]:
    reached: set[int] = set()
    frontier = here
    while frontier:
        arrived: set[int] = set()
        for token in frontier:
            if step.up:
                head = view.heads[token]
                candidates: Sequence[int] = (head,) if head >= 0 and step.fits(view.labels[token]) else ()
            else:
                candidates = [d for d in view.dependents[token] if step.fits(view.labels[d])]
            if step.tests:
                candidates = [c for c in candidates if all(test(view, c) for test in step.tests)]
            arrived.update(candidates)
        frontier = arrived - reached if step.repeats else set()
        reached |= arrived
    return reached


@dataclass(frozen=True, slots=True)
class FailedStep:
    """The step of a path that leads nowhere from a token.

    Attributes
    ----------
    path
        The path.
    step
        The step as it is written, or the conditions at the beginning if these fail.
    n_done, n_left
        Steps before it, and from it on.
    label_fits
        Whether tokens have the label of the step, and only its conditions fail.
    tokens
        These tokens, or else those from which the step starts.
    """

    path: str
    step: str
    n_done: int
    n_left: int
    label_fits: bool
    tokens: tuple[int, ...]


def failed_step(path: str, view: ParseView, start: int) -> FailedStep | None:
    """The step at which a path from token `start` fails; None if the path leads to a token."""
    opening, tests, steps = compiled_path(path)
    if not all(test(view, start) for test in tests):
        return FailedStep(path, opening, 0, len(steps), True, (start,))
    here = {start}
    for number, step in enumerate(steps):
        ends = _reached(step, view, here)
        if not ends:
            labelled = _reached(replace(step, tests=(), repeats=False), view, here)
            tokens = tuple(sorted(labelled or here))
            return FailedStep(path, step.written, number, len(steps) - number, bool(labelled), tokens)
        here = ends
    return None


def nearest_failure(paths: Iterable[str], view: ParseView, start: int) -> FailedStep | None:
    """The failed path with the most steps done; among equal ones, with a label that fits, then the shortest."""
    failures = [failure for path in paths if (failure := failed_step(path, view, start)) is not None]
    return max(failures, key=lambda failure: (failure.n_done, failure.label_fits, -failure.n_left), default=None)


def connecting_path(view: ParseView, start: int, end: int) -> str | None:
    """The path from one token of a sentence to another, in the notation of paths; None if they are not connected.

    It goes up to the lowest token above both and down from there. A step down to a token with a dependent labelled
    case has its lemma as a condition.
    """
    above_start = _above(view, start)
    above_end = _above(view, end)
    common = next((token for token in above_start if token in above_end), None)
    if common is None:
        return None
    up = above_start[: above_start.index(common)]
    down = above_end[: above_end.index(common)][::-1]
    return "".join([*(f"<{view.labels[token]}" for token in up), *(_step_down(view, token) for token in down)])


def _step_down(view: ParseView, token: int) -> str:
    label = view.labels[token]
    marker = next((d for d in view.dependents[token] if view.labels[d] == "case"), None)
    named = token if label == "prep" else marker
    lemma = "" if named is None else view.lemma[named].lower()
    if not re.fullmatch(r"\w+", lemma):
        return f">{label}"
    return f">{label}[{'lemma' if label == 'prep' else 'case'}={lemma}]"


def _above(view: ParseView, token: int) -> list[int]:
    """A token and its ancestors, from the token to the root."""
    above = [token]
    while view.heads[above[-1]] >= 0:
        above.append(view.heads[above[-1]])
    return above


@lru_cache(maxsize=1024)
def compiled_path(path: str) -> Path:
    """Read a path.

    Raises
    ------
    ParameterError
        If it is not in the notation of this module, with the part that cannot be read.
    """
    text = path.strip().removeprefix(".")
    opened = re.match(_CONDITIONS, text)
    opening = opened.group() if opened else ""
    start = _tests(opening, path) if opening else ()
    text = text[len(opening) :]
    steps = []
    while text:
        match = _STEP.match(text)
        if not match:
            raise ParameterError(f"path must be steps like >nsubj or <conj[active]+, got {text!r} in {path!r}")
        direction, labels, conditions, plus = match.groups()
        exact = frozenset(label for label in labels.split("|") if not label.endswith("*"))
        bases = frozenset(label[:-1] for label in labels.split("|") if label.endswith("*"))
        tests = _tests(conditions, path) if conditions else ()
        steps.append(Step(direction == "<", exact, bases, tests, bool(plus), match.group()))
        text = text[match.end() :].lstrip()
    return opening, start, tuple(steps)


def _tests(conditions: str, path: str) -> tuple[Test, ...]:
    tests = []
    for condition in conditions[1:-1].split(","):
        match = _CONDITION.fullmatch(condition.strip())
        # A name that is neither a field nor a label of any scheme is a mistake. Values of a feature have its name.
        field, values = (match[1], match[3]) if match else ("", "")
        is_known = field in (None, *_FIELDS) or any(scheme.reads(field) == field for scheme in SCHEMES.values())
        named = field != "feats" or all(re.fullmatch(r"\w+:\w+", value) for value in values.split("|"))
        if not match or not is_known or not named:
            raise ParameterError(
                f"path condition must be one of those in corefsample.syntax, got {condition!r} in {path!r}"
            )
        tests.append(_test(*match.groups()))
    return tuple(tests)


def _test(
    field: str | None, relation: str | None, words: str | None, sign: str | None, labels: str | None, voice: str | None
) -> Test:
    if voice == "bare":
        return lambda view, token: view.text[token].lower() == view.lemma[token].lower()
    if voice == "root":
        return lambda view, token: view.heads[token] < 0
    if voice:
        wanted = voice == "passive"
        return lambda view, token: view.is_passive(token) is wanted
    if sign and labels:
        _, _, (step,) = compiled_path(f">{labels}")
        present = sign == "has"
        return lambda view, token: any(map(step.fits, view.below(token))) is present
    allowed = frozenset((words or "").lower().split("|"))
    wanted = relation == "="
    if field == "feats":
        return lambda view, token: wanted is not allowed.isdisjoint(view.features(token))
    if field not in _FIELDS:
        return lambda view, token: (
            wanted is any(view.labels[d] == field and view.lemma[d].lower() in allowed for d in view.dependents[token])
        )
    return lambda view, token: wanted is (getattr(view, field)[token].lower() in allowed)
