"""A small notation for paths through a dependency parse, and their evaluation.

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
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from corefsample.errors import ParameterError
from corefsample.syntax._schemes import SCHEMES
from corefsample.syntax._views import ParseView

_LABEL = r"[A-Za-z]+(?::[A-Za-z]+)?"
_LABELS = rf"(?:{_LABEL}\*?(?:\|{_LABEL}\*?)*|\*)"
_CONDITIONS = r"\[[^\]]*\]"
_STEP = re.compile(rf"([<>])({_LABELS})({_CONDITIONS})?(\+)?")
_CONDITION = re.compile(rf"({_LABEL})(!?=)([^\s,=]+)|(has|no) >({_LABELS})|(active|passive|bare|root)")
_FIELDS = ("lemma", "upos", "feats")
Test = Callable[["ParseView", int], bool]


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
    if not all(test(view, start) for test in tests):
        return ()
    here = {start}
    for step in steps:
        here = _reached(step, view, here)
        if not here:
            break
    return here


def follow_each(paths: Iterable[str], view: ParseView, start: int) -> dict[int, str]:
    """Tokens at which one of the paths from token `start` ends, with the first path that leads to each token."""
    ends: dict[int, str] = {}
    for path in paths:
        for end in follow(path, view, start):
            ends.setdefault(end, path)
    return ends


def leading_to(paths: tuple[str, ...], view: ParseView, end: int) -> set[int]:
    """Tokens from which one of the paths leads to token `end`: the inverse of `follow`.

    Cheaper than following the paths from every token, where only few ends matter. Paths that end in the same steps are
    followed together.
    """
    starts: set[int] = set()
    open_nodes = [(_backwards(paths), {end})]
    while open_nodes:
        (all_tests, steps), here = open_nodes.pop()
        for tests in all_tests.values():
            starts.update(token for token in here if all(test(view, token) for test in tests))
        for step, next_node in steps.values():
            before = _before(step, view, here)
            if before:
                open_nodes.append((next_node, before))
    return starts


@lru_cache(maxsize=256)
def _backwards(paths: tuple[str, ...]) -> _Node:
    root: _Node = {}, {}
    for path in paths:
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
        arrived = set()
        for token in frontier:
            if step.up:
                head = view.heads[token]
                candidates: Sequence[int] = (head,) if head >= 0 and step.fits(view.labels[token]) else ()
            else:
                candidates = [d for d in view.dependents[token] if step.fits(view.labels[d])]
            arrived |= {c for c in candidates if all(test(view, c) for test in step.tests)}
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
        return lambda view, token: any(step.fits(view.labels[d]) for d in view.dependents[token]) is present
    allowed = frozenset((words or "").lower().split("|"))
    wanted = relation == "="
    if field == "feats":
        return lambda view, token: wanted is not allowed.isdisjoint(view.features(token))
    if field not in _FIELDS:
        return lambda view, token: (
            wanted is any(view.labels[d] == field and view.lemma[d].lower() in allowed for d in view.dependents[token])
        )
    return lambda view, token: wanted is (getattr(view, field)[token].lower() in allowed)
