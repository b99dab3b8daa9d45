"""Summaries of commands: text, tables and files for a person, and values for a program; and phrases in their text."""

import dataclasses
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from corefsample.errors import CorefsampleError

NO_EVENT = "No document contains an event: the tables have headers and no rows."


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """A table of text cells with a title above it.

    Attributes
    ----------
    header
        Names of the columns; empty for a table without a header.
    rows
        Cells of each row. The first column is aligned at its left, the others at their right.
    title
        Text above the table; "" for none.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Pairs:
    """Names with their values, a line for each, below a title; long values continue on the next line."""

    title: str
    pairs: Sequence[tuple[str, str]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Outcome of a command.

    Attributes
    ----------
    values
        Values that programs read: one mapping, or a list of mappings.
    shown
        Paragraphs, tables and pairs that a person reads, in their order; "" is an empty line.
    files
        Paths of the files written, or commands that continue from them, by their titles.
    notices
        Sentences about doubtful results, which are printed even if nothing else is.
    work
        Sentence about what this run computed and what an earlier one had, which a person reads first; "" for none.
    problems, n_hidden_problems
        Errors in what was checked, and number of further ones that are only counted. A command with problems fails.
    result
        Object that the library returned.
    """

    values: Any
    shown: Sequence[str | Table | Pairs] = ()
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)
    notices: Sequence[str] = ()
    work: str = ""
    problems: Sequence[CorefsampleError] = ()
    n_hidden_problems: int = 0
    result: Any = dataclasses.field(default=None, repr=False)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def to_json(self, warnings: Sequence[str] = ()) -> dict[str, Any]:
        """What a command printed, with its warnings, for the case that it is repeated without a change."""
        shown = [each if isinstance(each, str) else dataclasses.asdict(each) for each in self.shown]
        parts = {"shown": shown, "files": dict(self.files), "notices": [*self.notices]}
        return {"values": json_values(self.values), **parts, "warnings": [*warnings]}

    @classmethod
    def repeated(cls, record: Mapping[str, Any], seconds: float) -> Self:
        """The summary of a repeated command from the record of `to_json`, which has tables but no pairs."""
        for text in record["warnings"]:
            logging.getLogger("corefsample").warning("%s", text)
        values = record["values"]
        new = {"n_computed": 0, "n_resumed": values.get("n_documents"), "seconds": round(seconds, 3)}
        return cls(
            values={**values, **{name: value for name, value in new.items() if name in values}},
            shown=[each if isinstance(each, str) else Table(**each) for each in record["shown"]],
            files=record["files"],
            notices=record["notices"],
            work="Nothing has changed since this command finished; nothing was computed again.",
        )


def json_values(value: Any) -> Any:
    """Value that JSON can represent: fields of results, rows of tables, and None for numbers that are not finite."""
    if hasattr(value, "iterrows"):  # a table of pandas, whose to_json is another one
        return json_values(value.astype(object).where(value.notna(), None).to_dict(orient="records"))
    if hasattr(value, "to_json"):
        return value.to_json()
    if hasattr(value, "to_frame"):
        return json_values(value.to_frame())
    if dataclasses.is_dataclass(value):
        fields = [each.name for each in dataclasses.fields(value) if each.compare]
        return {name: json_values(getattr(value, name)) for name in fields}
    if hasattr(value, "tolist"):
        return json_values(value.tolist())
    if isinstance(value, Mapping):
        return {key: json_values(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_values(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def existing_files(folder: str | None, names: Mapping[str, str]) -> dict[str, str]:
    """Paths of the files of a folder that exist, by their titles; empty without a folder."""
    from corefsample.files._paths import is_file, joined

    paths = {} if folder is None else {title: joined(folder, name) for title, name in names.items()}
    return {title: path for title, path in paths.items() if is_file(path)}


def counted(number: int, noun: str) -> str:
    """Text with a number and a noun: "1 document", "2,000 documents"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def counts_above_zero(*counts: tuple[int, str, str]) -> Iterator[str]:
    """Yield a sentence for each number with its noun and remark, unless the number is 0."""
    return (f"{counted(number, noun)} {remark}." for number, noun, remark in counts if number)


def listed(names: Sequence[str], most: int) -> str:
    """Text with the first names, at most `most`, and the number of names that are left out."""
    suffix = f", and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + suffix


def mentions_by_reason(action: str, counts: Mapping[str, int]) -> list[str]:
    """A sentence with counts by reason, unless there are none: "Mentions skipped: 3 crossing sentences, 1 nested."."""
    reasons = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in sorted(counts.items()))
    return [f"Mentions {action}: {reasons}."] if reasons else []


def set_aside(n_quarantined: int, path: str | None = None) -> list[str]:
    """A sentence with the number of documents that were set aside, and with their file, unless the number is 0."""
    location = "" if path is None else f" in {path}"
    return [f"{counted(n_quarantined, 'bad document')} set aside{location}"] if n_quarantined else []


def empty_corpus(n_documents: int) -> list[str]:
    """A sentence that the inputs have no documents, unless they have."""
    return [] if n_documents else ["The inputs have no documents, so the results are empty."]


def covered_uncertainty(run: Mapping[str, Any]) -> str:
    """Text that names what the intervals of a run's summary cover: "coreference, triggers and the recalibration"."""
    is_covered = {
        "triggers": run.get("doubts_triggers"),
        "sampled parses": run.get("n_several_parses"),
        "the recalibration": run.get("uncertainty") in ("fit", "domain"),
    }
    sources = [name for name, covered in is_covered.items() if covered]
    return " and ".join([", ".join(["coreference", *sources[:-1]]), *sources[-1:]]) if sources else "coreference only"
