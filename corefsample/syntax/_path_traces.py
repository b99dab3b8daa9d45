"""How far a path leads in a parse, step by step, and the path that connects two tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from corefsample.syntax._paths import ParseView, compiled_path, follow, step_by

_VALUE = re.compile(r"([A-Za-z]+(?::[A-Za-z]+)?)!?=")  # of a condition: a field, or a label of dependents


@dataclass(frozen=True, slots=True)
class UnmetCondition:
    """A condition of a step that a token does not meet, and the words there, of which another would.

    Attributes
    ----------
    token
        The token to which the step's label leads.
    condition
        As it is written: "case=by".
    values
        The token's own lemma or part of speech, or the lemmas of its dependents with the label of the condition; empty
        without any, and for conditions without a value.
    """

    token: int
    condition: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PathTrace:
    """How far a path leads from a token.

    Attributes
    ----------
    path
        The path.
    ends
        Tokens where it ends; empty if a step fails.
    n_steps, n_done
        Steps of the path, and how many of them lead to some token.
    failed
        The step that fails, with its conditions, as it is written; the conditions at the beginning if these fail; ""
        if none fails.
    label_fits
        Whether the failed step finds a token by its label, and only its conditions fail there.
    reached
        Tokens from which the failed step starts.
    labels
        Labels that the failed step could have taken there: of the dependents, or for a step up of the token itself.
    unmet
        Where the label of the failed step fits, or the conditions at the beginning fail: those that are not met.
    """

    path: str
    ends: tuple[int, ...]
    n_steps: int
    n_done: int
    failed: str
    label_fits: bool
    reached: tuple[int, ...]
    labels: tuple[str, ...] = ()
    unmet: tuple[UnmetCondition, ...] = ()

    @property
    def _nearness(self) -> tuple[int, bool, int]:
        """Steps done first, then whether the label fits, then few steps left."""
        return self.n_done, self.label_fits, self.n_done - self.n_steps


def trace_path(path: str, view: ParseView, start: int) -> PathTrace:
    """Follow a path from token `start` and report the step that leads nowhere, if there is one."""
    compiled = compiled_path(path)
    opening, steps = compiled.opening, compiled.steps
    if opening and not follow(opening, view, start):
        return PathTrace(path, (), len(steps), 0, opening, False, (start,), (), _unmet(opening, view, [start]))
    here = {start}
    for number, step in enumerate(steps):
        ends = {end for token in here for end in follow(step.written, view, token)}
        if not ends:
            near = [  # tokens that have a label, and those to which it leads
                (below, view.heads[token] if step.up else below)
                for token in sorted(here)
                for below in ((token,) if step.up else view.dependents[token])
                if not step.up or view.heads[token] >= 0
            ]
            labels = dict.fromkeys(view.labels[below] for below, _ in near)
            unmet = _unmet(step.conditions, view, [end for below, end in near if step.fits(view.labels[below])])
            reached = tuple(sorted(here))
            return PathTrace(path, (), len(steps), number, step.written, bool(unmet), reached, tuple(labels), unmet)
        here = ends
    return PathTrace(path, tuple(sorted(here)), len(steps), len(steps), "", False, ())


def _unmet(conditions: str, view: ParseView, tokens: Sequence[int]) -> tuple[UnmetCondition, ...]:
    """The conditions in brackets that some tokens do not meet."""
    written = [condition.strip() for condition in conditions[1:-1].split(",") if condition.strip()]
    return tuple(
        UnmetCondition(token, condition, _values(condition, view, token))
        for token in tokens
        for condition in written
        if not follow(f"[{condition}]", view, token)
    )


def _values(condition: str, view: ParseView, token: int) -> tuple[str, ...]:
    named = _VALUE.match(condition)
    if named is None:
        return ()
    if named[1] in ("lemma", "upos"):
        return (str(getattr(view, named[1])[token]),)
    label = step_by(named[1])
    return tuple(view.lemma[below] for below in view.dependents[token] if label.fits(view.labels[below]))


def nearest_trace(paths: Sequence[str], view: ParseView, start: int) -> PathTrace | None:
    """The trace of the path that comes farthest from token `start`, the first of several; None without a path."""
    traces = [trace_path(path, view, start) for path in paths]
    return max(traces, key=lambda trace: trace._nearness, default=None)


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
    """A token and all tokens above it, upwards."""
    above = [token]
    while view.heads[above[-1]] >= 0:
        above.append(view.heads[above[-1]])
    return above
