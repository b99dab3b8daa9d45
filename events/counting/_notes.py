"""Sentences about counts: how often coreference alone would merge distinct actors, and what a preset leaves out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from events.counting._tally import CountTally


def excluded_triggers(preset: str, tally: CountTally) -> dict[str, Any]:
    """For the record of a run, as docs/file-formats.md says."""
    by_condition: Counter[str] = Counter()
    for conditions, n in tally.triggers.items():
        by_condition.update(dict.fromkeys(conditions, n))
    return {
        "preset": preset,
        "n_triggers": tally.triggers.total(),
        "n_excluded": tally.triggers.total() - tally.triggers[()],
        "conditions": dict(sorted(by_condition.items(), key=lambda item: (-item[1], item[0]))),
    }


def exclusion_texts(by_rule: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A sentence about each result of `excluded_triggers` by name of the rule, of those that leave any out."""
    return [_text(f"{rule}: " * (len(by_rule) > 1), found) for rule, found in by_rule.items() if found["n_excluded"]]


def _text(start: str, found: Mapping[str, Any]) -> str:
    n, n_excluded = found["n_triggers"], found["n_excluded"]
    conditions = ", ".join(f"{name} {count:,}" for name, count in found["conditions"].items())
    several = " (one with several conditions counts for each)" * (sum(found["conditions"].values()) > n_excluded)
    noun = "trigger" if n == 1 else "triggers"
    return f"{start}{found['preset']} leaves out {n_excluded:,} of {n:,} {noun}: {conditions}{several}."


def unsettled_text(merged_actors: Mapping[str, Any]) -> str:
    """A sentence about documents whose Markov chains disagree, by the result of `MergedActors.summary`; "" if none."""
    n, doc_ids = merged_actors["n_documents"]["unsettled chain"], merged_actors["unsettled"]
    if not n:
        return ""
    names = ", ".join(doc_ids) + f" and {n - len(doc_ids):,} more" * (n > len(doc_ids))
    return (
        f"Conditioned samples did not settle in {n:,} document{'s' * (n > 1)}, where many mentions may be of distinct "
        f"actors: {names}. Probabilities there are not reliable."
    )


def merging_text(found: Mapping[str, Any]) -> str:
    """A sentence about the result of `MergedActors.summary`."""
    worst = "; ".join(f"{each['mention']!r} in {each['doc_id']}, {each['probability']:.2f}" for each in found["worst"])
    return (
        f"Coreference merges different actors with probability {found['probability']:.3f} per mention that names one, "
        f"before the samples are conditioned: above .2 for {100 * found['share_above_0.2']:.1f}% of "
        f"{found['n_mentions']:,.0f} mentions" + f"; most for {worst}" * bool(worst) + "."
    )
