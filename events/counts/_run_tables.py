"""Record and tables of a finished run, which must be as the run wrote them, and sentences about its counts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from corefsample import InputError, _checks
from corefsample._arrays import pd
from corefsample.files._paths import PathLike, is_file, joined, parquet_source
from corefsample.files._reading import is_sealed, parquet_errors, read_json, read_parquet, sha256
from events.evidence._columns import TABLE_METADATA

RECORD = "run.json"
SAMPLES = "count_samples"
REPORTED = (
    "Report mean_rule with lower_rule to upper_rule: what a reader would count, if the rule errs as other rules do "
    "that were checked by readers. mean with lower to upper is what the rule counts."
)


def verified_record(folder: PathLike, name: str = RECORD) -> dict[str, Any]:
    """Content of the record of a folder; raise InputError if it is missing, or other than a command wrote it."""
    path = joined(folder, name)
    if not is_file(path):
        raise InputError(f"{name} is missing in the folder", place=os.fspath(folder))
    record: dict[str, Any] = read_json(path)
    if not is_sealed(record):
        hint = "repeat the command that wrote it, with this version"
        raise InputError("record must be as a command wrote it, got other content", place=path, hint=hint)
    return record


def verify_table(path: PathLike, record: str = RECORD) -> None:
    """Raise InputError unless a file exists, and has the checksum that the record of its folder says."""
    location = os.fspath(path)
    name = PurePath(location).name
    folder = location.removesuffix(name)
    if not is_file(path):
        raise InputError(f"{name} is missing in the folder", place=folder, hint="repeat the command that wrote it")
    if verified_record(folder, record).get("files", {}).get(name) != sha256(path):
        rule = f"{name} must be as it was written, got other content than {record} says"
        raise InputError(rule, place=location, hint="repeat the command that wrote it")


def run_table(run: PathLike, name: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a table of a run, by the name of its Parquet file, which is as the run wrote it.

    Parameters
    ----------
    run
        Path of the folder of a finished run.
    name
        Name of the table: counts, evidence, count_samples, or all_documents.
    columns
        Names of the columns to read, in the order of the result; by default all columns.

    Raises
    ------
    InputError
        If the file is missing in the folder, has another checksum than the record of the run says, or is of another
        version; or a column is missing.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    path = joined(_checks.path("run", run), f"{name}.parquet")
    verify_table(path)
    if columns is None:
        with parquet_errors(path):
            columns = pq.read_schema(parquet_source(path)).names
    table = read_parquet(path, columns)
    if name == "evidence" and "probability" in columns:  # rows of events that are true in no sample are for counts
        table = table.filter(pc.greater(table["probability"], 0.0))
    if any((table.schema.metadata or {}).get(key, version) != version for key, version in TABLE_METADATA.items()):
        rule, hint = "table must be of this version, got another", "repeat the run with this version"
        raise InputError(rule, place=path, hint=hint)
    frame: pd.DataFrame = table.replace_schema_metadata(None).to_pandas()
    return frame


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

    def first(self) -> str:
        """What a reader and the rule count of the largest total; "" without the error of rules, or without a count."""
        total = self.rule_error or {}
        if "counted" not in total:
            return ""
        by = {"-": " by nobody named", "*": ""}.get(total["actor"], f" by {total['actor']}")
        mean, counted = (f"{total[name]:,.{int(total[name] < 10)}f}" for name in ("mean", "counted"))
        count = f"{mean} ({total['lower']:,.0f} to {total['upper']:,.0f})"
        return f"{total['event']}{by}, all periods: a reader would count {count} documents; the rule counts {counted}."

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
        width = f"about {reference['width_after']:,.0f} documents wide"
        return f"{past} With {reference['n_labels']} labels, the interval of {reference['actor']} would be {width}."

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
        """Which documents have Markov chains without a consistent start; "" if none has."""
        n = 0 if self.merged_actors is None else self.merged_actors["n_documents"]["unsettled chain"]
        if self.merged_actors is None or not n:
            return ""
        doc_ids = self.merged_actors["unsettled"]
        names = ", ".join(doc_ids) + f" and {n - len(doc_ids):,} more" * (n > len(doc_ids))
        return (
            f"Conditioned samples did not settle in {n:,} document{'s' * (n > 1)}, where many mentions may be of "
            f"distinct actors: {names}. Probabilities there are not reliable."
        )
