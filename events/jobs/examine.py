"""The job behind `corefsample doctor`: whether a file is valid, and what it contains."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corefsample.documents import DocumentBatch, Rejected
from corefsample.errors import CorefsampleError, InputError
from corefsample.formats import DocumentStream
from corefsample.syntax import SCHEMES, fitting_schemes
from events._yaml_file import file_bytes, read_yaml
from events.counting import check_examples
from events.jobs._reading import Progress
from events.lexicon import LexiconContent, lexicon_content
from events.rules import Rule, load_presets

__all__ = ["CorpusReport", "FileReport", "examine"]

_SHOWN = 20  # problems
_LISTED = 5  # names
_YAML = (".yaml", ".yml")


@dataclass(slots=True)
class CorpusReport:
    """Content of files of scored mentions.

    Attributes
    ----------
    title
        The files.
    n_documents, n_mentions, n_candidates
        Valid documents, their mentions and candidate antecedents.
    n_dated, n_parsed, n_gold
        Documents with a date, with tokens, with gold entities.
    dates
        First and last date, None without any.
    mentions_quantiles
        Minimum, median and maximum number of mentions per document.
    schemes
        Documents by dependency scheme ("ud2 or clearnlp" if the labels fit both; "none" if none fits).
    new_mass
        Mean of P(NEW) over mentions: the expected share of mentions that begin an entity.
    n_problems, problems
        Number of bad documents, and the errors of the first ones.
    """

    title: str
    n_documents: int = 0
    n_mentions: int = 0
    n_candidates: int = 0
    n_dated: int = 0
    n_parsed: int = 0
    n_gold: int = 0
    dates: tuple[str, str] | None = None
    mentions_quantiles: tuple[int, float, int] = (0, 0.0, 0)
    schemes: dict[str, int] = field(default_factory=dict)
    new_mass: float = 0.0
    n_problems: int = 0
    problems: list[CorefsampleError] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return dataclasses.asdict(self) | {"problems": [str(problem) for problem in self.problems]}

    def lines(self) -> list[tuple[str, str]]:
        """Pairs of name and value, to print."""
        low, median, high = self.mentions_quantiles
        schemes = ", ".join(f"{name} ({count:,})" for name, count in sorted(self.schemes.items()))
        return [
            ("documents", f"{self.n_documents:,} valid, {self.n_problems:,} bad"),
            ("mentions", f"{self.n_mentions:,} ({low:,} to {high:,} per document, median {median:,g})"),
            ("candidates", f"{self.n_candidates:,} ({self.n_candidates / max(self.n_mentions, 1):.1f} per mention)"),
            ("dates", f"{self.dates[0]} to {self.dates[1]} ({self.n_dated:,} documents)" if self.dates else "none"),
            ("tokens", f"{self.n_parsed:,} documents"),
            ("scheme", schemes or "none"),
            ("gold", f"{self.n_gold:,} documents"),
            ("P(NEW)", f"{self.new_mass:.3f}, mean over mentions" if self.n_mentions else "none"),
        ]


@dataclass(slots=True)
class FileReport:
    """Content of a rule or lexicon file, as pairs of name and value, and its problems."""

    title: str
    pairs: list[tuple[str, str]] = field(default_factory=list)
    n_problems: int = 0
    problems: list[CorefsampleError] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        problems = [str(problem) for problem in self.problems]
        return {"title": self.title, **dict(self.pairs), "n_problems": self.n_problems, "problems": problems}

    def lines(self) -> list[tuple[str, str]]:
        """Pairs of name and value, to print."""
        return self.pairs


def examine(files: Sequence[str], *, on_progress: Progress | None = None) -> list[CorpusReport | FileReport]:
    """Check files and report what they contain: one report for all files of scored mentions, one for each YAML file.

    Parameters
    ----------
    files
        Files of scored mentions, globs, "-", and YAML files of rules or lexicons.
    on_progress
        Called after each batch with bytes read, bytes in all, and documents.

    Raises
    ------
    InputError
        If a file is missing or unreadable as a whole. Bad documents and failing examples are reported instead.
    """
    reports: list[CorpusReport | FileReport] = [_yaml_report(name) for name in files if name.endswith(_YAML)]
    corpus = [name for name in files if not name.endswith(_YAML)]
    if corpus:
        reports.append(_corpus_report(corpus, on_progress))
    return reports


def _corpus_report(files: list[str], on_progress: Progress | None) -> CorpusReport:
    report = CorpusReport(", ".join(files))

    def on_rejected(rejected: Rejected) -> None:
        report.n_problems += 1
        if len(report.problems) < _SHOWN:
            report.problems.append(rejected.error())

    stream = DocumentStream(files, on_rejected=on_rejected)
    sizes: list[int] = []
    new_mass, schemes = 0.0, Counter[str]()
    for batch in stream:
        report.n_documents += len(batch)
        sizes += np.diff(batch.mentions[0]).tolist()
        report.n_candidates += len(batch.candidates[1])
        report.n_gold += len(batch) - batch.columns.column("gold").null_count
        _add_dates(report, batch)
        _add_schemes(report, schemes, batch)
        new_mass += sum(float(batch.antecedents(row).new_probs.sum()) for row in range(len(batch)))
        if on_progress is not None:
            on_progress(stream.bytes_read, stream.total_bytes, report.n_documents)
    if not report.n_documents and not report.n_problems:
        raise InputError("a corpus must have at least one document, got none", place=", ".join(stream.paths))
    report.n_mentions = sum(sizes)
    if sizes:
        report.mentions_quantiles = min(sizes), float(np.median(sizes)), max(sizes)
    report.new_mass = new_mass / max(report.n_mentions, 1)
    report.schemes = dict(schemes)
    return report


def _add_dates(report: CorpusReport, batch: DocumentBatch) -> None:
    dates = batch.dates[~np.isnat(batch.dates)]
    report.n_dated += len(dates)
    if len(dates):
        every = sorted([*(report.dates or ()), str(dates.min()), str(dates.max())])
        report.dates = every[0], every[-1]


def _add_schemes(report: CorpusReport, schemes: Counter[str], batch: DocumentBatch) -> None:
    labels, bounds = batch.token_strings("dep"), batch.token_bounds
    for row in np.flatnonzero(batch.has_tokens).tolist():
        report.n_parsed += 1
        distinct = labels[int(bounds[row]) : int(bounds[row + 1])].unique().to_pylist()
        schemes[" or ".join(fitting_schemes(distinct)) or "none"] += 1


def _yaml_report(name: str) -> FileReport:
    """Check a rule or a lexicon; a lexicon has entries or extends another."""
    report = FileReport(name)
    try:
        content = read_yaml(name, file_bytes(name))
        if isinstance(content, dict) and ("entries" in content or "extends" in content):
            report.pairs = _lexicon_pairs(lexicon_content(name))
        else:
            _check_rule(report, load_presets(name))
    except InputError as error:
        report.problems.append(error)
    report.n_problems = len(report.problems)
    return report


def _check_rule(report: FileReport, presets: list[Rule]) -> None:
    """Report what a rule looks for, and for each preset whether its examples hold."""
    first = presets[0]
    report.pairs = [
        ("rule", first.name),
        ("triggers", f"{', '.join(sorted(first.lemmas))} ({', '.join(sorted(first.upos))})"),
        ("event", " > ".join(first.event)),
    ]
    for rule in presets:
        schemes = ", ".join(scheme for scheme in SCHEMES if rule.serves(scheme)) or "no scheme"
        try:
            checked = check_examples(rule)
        except InputError as error:
            # An example that cannot be read fails in every preset with the same error.
            if str(error) not in map(str, report.problems):
                report.problems.append(error)
            outcome = "an example fails"
        else:
            outcome = f"examples hold ({checked:,})"
        report.pairs.append((f"preset {rule.preset}", f"{outcome}; serves {schemes}"))


def _lexicon_pairs(content: LexiconContent) -> list[tuple[str, str]]:
    entries = [content.entries[code] for code in sorted(content.entries)]
    aliases = [alias for entry in entries for alias in entry.aliases]
    kinds = Counter(entry.kind for entry in entries)
    declared = [f"{alias.written} ({', '.join(codes)})" for alias, codes in content.ambiguous.values()]
    dated = [f"{e.code} ({e.start or ''} to {e.end or ''})" for e in entries if e.start or e.end]
    return [
        ("lexicon", f"{len(entries):,} codes: {', '.join(f'{n:,} {kind}' for kind, n in kinds.items())}"),
        ("names", _listed([f"{entry.code} {entry.name}" for entry in entries])),
        ("aliases", f"{len(aliases):,}, {sum(alias.cased for alias in aliases):,} of them only as written"),
        ("ambiguous", f"{len(declared):,}{': ' * bool(declared)}{_listed(declared)}"),
        ("no country", f"{len(content.not_countries):,} names"),
        ("dated", f"{len(dated):,} codes{': ' * bool(dated)}{_listed(dated)}"),
    ]


def _listed(names: Sequence[str]) -> str:
    """The first few of some names, and how many more there are."""
    more = f", and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
