"""Sentences about counts: what a preset leaves out, and how often coreference alone would merge distinct actors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class CountNotes:
    """Sentences that explain what the record of a run says about its counts.

    Attributes
    ----------
    merged_actors
        The result of `merging_summary`.
    triggers
        The results of `excluded_triggers` by name of the rule.
    rule_error
        Summary of the reference class of rules, as run.json has it; None without the error of rules.
    """

    merged_actors: Mapping[str, Any] | None
    triggers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rule_error: Mapping[str, Any] | None = None

    def reference(self) -> str:
        """What the reference class of rules says about a count; "" without the error of rules."""
        reference = self.rule_error
        if reference is None:
            return ""
        checked = f"{reference['n_events']} event types of {reference['n_corpora']} corpora with answers"
        ratios = [f"{reference[name]:.2g}".removeprefix("0") for name in ("ratio_lower", "ratio_upper")]
        past = f"In {checked}, the true total was {ratios[0]} to {ratios[1]} times the count."
        if "width_after" not in reference or reference["width_after"] >= reference["upper"] - reference["lower"]:
            return past
        by = {"-": " by nobody named", "*": ""}.get(reference["actor"], f" by {reference['actor']}")
        interval = f"{reference['lower']:,.0f} to {reference['upper']:,.0f}"
        return (
            f"{past} {reference['n_labels']} labels would make the interval of the total of {reference['event']}{by}, "
            f"{interval}, about {reference['width_after']:,.0f} documents wide."
        )

    def exclusions(self) -> list[str]:
        """A sentence for each rule whose preset leaves triggers out."""
        sentences = []
        for rule, counts in self.triggers.items():
            n, n_excluded = counts["n_triggers"], counts["n_excluded"]
            conditions = ", ".join(f"{name} {count:,}" for name, count in counts["conditions"].items())
            remark = " (one with several conditions counts for each)" * (
                sum(counts["conditions"].values()) > n_excluded
            )
            subject = f"{rule}: " * (len(self.triggers) > 1) + counts["preset"]
            noun = "trigger" if n == 1 else "triggers"
            if n_excluded:
                sentences.append(f"{subject} leaves out {n_excluded:,} of {n:,} {noun}: {conditions}{remark}.")
        return sentences

    def merging(self, above: float = -1.0) -> str:
        """How often coreference merges distinct actors; "" if the probability is not above a bound."""
        merged = self.merged_actors
        if merged is None or merged["probability"] <= above:
            return ""
        return (
            f"Coreference merges different actors with probability {merged['probability']:.3f} per mention that names "
            f"one ({merged['n_mentions']:,.0f} mentions), before the samples are conditioned."
        )

    def unsettled(self) -> str:
        """Which documents have Markov chains that disagree; "" if none has."""
        n = 0 if self.merged_actors is None else self.merged_actors["n_documents"]["unsettled chain"]
        if self.merged_actors is None or not n:
            return ""
        doc_ids = self.merged_actors["unsettled"]
        names = ", ".join(doc_ids) + f" and {n - len(doc_ids):,} more" * (n > len(doc_ids))
        return (
            f"Conditioned samples did not settle in {n:,} document{'s' * (n > 1)}, where many mentions may be of "
            f"distinct actors: {names}. Probabilities there are not reliable."
        )
