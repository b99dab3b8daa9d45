"""The folder of an events run: counts, evidence, documents, and the record of the run."""

from __future__ import annotations

from typing import ClassVar

from events.runs._output_folder import OutputFolder


class RunFolder(OutputFolder):
    """Collects the files of an events run: see `OutputFolder`."""

    RECORD: ClassVar[str] = "run.json"
    FILES: ClassVar[frozenset[str]] = frozenset(
        [
            "counts.csv",
            "counts.parquet",
            "evidence.csv",
            "evidence.parquet",
            "near_half.csv",
            "count_samples.parquet",
            "comparisons.csv",
            "documents.parquet",
            "all_documents.parquet",
            "bands.png",
            "bands.svg",
            "comparison.png",
            "comparison.svg",
            "quarantine.jsonl",
            "report.html",  # from another command, outdated once the run is repeated
            RECORD,
        ]
    )
    STORES: ClassVar[frozenset[str]] = frozenset(["partitions", "unfinished"])

    def _is_run(self, names: set[str]) -> bool:
        """Whether a folder has a run, or the partitions of one that was killed before it had a record."""
        return super()._is_run(names) or any((self.path / store / "plan.json").is_file() for store in self.STORES)
