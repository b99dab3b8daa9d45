"""Check a file of scored mentions, a rule, or a lexicon, and describe its content; or describe the installation.

FILES are scored mentions (.jsonl, .jsonl.gz, .parquet, or - for JSON Lines on standard input), annotated corpora
(.conllu, .conll), news (.csv, .xlsx, .xml ... with the columns doc_id, date and text), or YAML files of rules, whose
examples are checked, or of lexicons; or the name of a shipped rule or lexicon. Of news it shows what is recognised as
datelines, credits and notes, which texts are in capitals, and dates far from all others.

With --rule, what the rule and the lexicon find in the scored mentions is counted: hits of every trigger, condition
and name, and the paths from triggers to actors that fill no role. With --rule or --lexicon, clusterings are sampled
to see how often coreference merges different actors.

Examples
--------
  corefsample doctor scored.jsonl.gz
  corefsample doctor news.csv
  corefsample doctor my_rule.yaml --lexicon my_words.yaml --scheme ud2
  corefsample doctor scored.parquet --rule arrest --lexicon police
  corefsample doctor --environment
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from itertools import chain
from typing import TYPE_CHECKING, Any

from corefsample import __version__
from corefsample._extras import requirements
from corefsample._machine import available_memory, processors
from corefsample.errors import ParameterError, ParameterHint
from events import _shared_options as shared
from events._options import CommandResult, Options, declared, option
from events._summary import Pairs, Summary
from events.commands._parser import Command

if TYPE_CHECKING:
    from events._options import Progress
    from events.commands._reading import CheckReport


@declared
class DoctorOptions(Options):
    """Options of a check of files, or of a description of the installation.

    Attributes
    ----------
    environment
        Describe the installation instead of files: versions, extras, processor, compiled kernels.
    rule
        Rule whose hits in scored mentions are counted. [default: none]
    preset
        Preset of the rule. [default: asserted, or the only preset of a file]
    lexicon
        Lexicon of the actors, for the examples of rules, the hits of --rule, and merged actors. [default: countries]
    scheme
        Dependency scheme in which every preset must be able to match. [default: any]
    """

    environment: bool = False
    rule: str | None = option(default=None, metavar="RULE")
    preset: str | None = option(default=None, metavar="NAME")
    lexicon: str | None = option(default=None, metavar="FILE")
    scheme: shared.SchemeName | None = None


def summary_of_reports(reports: Sequence[CheckReport]) -> Summary:
    """Summary of a check: what the reports say, and the first problems of all reports."""
    problems = [problem for report in reports for problem in report.problems]
    return Summary(
        values=[report.to_json() for report in reports],
        shown=[Pairs(report.title, report.lines()) for report in reports],
        problems=problems,
        n_hidden_problems=sum(report.n_problems for report in reports) - len(problems),
        result=reports,
    )


def run_doctor(
    files: Sequence[str] = (), options: DoctorOptions | None = None, *, on_progress: Progress | None = None
) -> Summary:
    """Check and describe files, or describe the installation.

    Parameters
    ----------
    files
        Paths or globs of files of scored mentions, annotated corpora and news, "-" for standard input, YAML files of
        rules or lexicons, and names of shipped rules and lexicons.
    options
        Options of the check. With a rule, the report on scored mentions is followed by a report on the rule's hits.
    on_progress
        Function that is called after each batch with the bytes read, the bytes of all files, and the number of
        documents.

    Raises
    ------
    ParameterError
        If `files` are empty and `environment` is false, or both are set; if there is a rule but no file of scored
        mentions, or standard input, which can be read only once.
    InputError
        If a file is missing or cannot be read, or the rule or the lexicon of the options is invalid. Invalid documents
        and failing examples are listed in the reports instead.
    """
    from events.commands._rule_hits import rule_hits

    options = options or DoctorOptions()
    if options.environment == bool(files):
        hint = ParameterHint("environment", "describes the installation, and takes no files")
        raise ParameterError("must be left out" if files else "are missing", parameter="files", hint=hint)
    if options.environment:
        environment = describe_environment()
        return Summary(
            values=environment.to_json(),
            shown=[Pairs(f"corefsample {environment.corefsample}", environment.lines())],
            result=environment,
        )
    from events.commands._document_checks import check_annotated, check_corpus, check_news
    from events.commands._file_check import check_file, is_rule_or_lexicon
    from events.counting._definitions import Definitions
    from events.lexicon._lexicon import load_lexicon
    from events.runs._document_inputs import annotated_kind

    yaml_files = [name for name in files if is_rule_or_lexicon(name)]
    reports: list[CheckReport] = [check_file(name, options.lexicon, options.scheme) for name in yaml_files]
    annotated = [name for name in files if annotated_kind(name) is not None]
    other_files = [name for name in files if name not in (*yaml_files, *annotated)]
    news = [name for name in other_files if _is_news(name)]
    corpus = [name for name in other_files if name not in news]
    if news:
        reports.append(check_news(news, on_progress))
    if annotated:
        reports.append(check_annotated(annotated, on_progress, scheme=options.scheme))
    if options.rule is not None and not corpus:
        raise ParameterError("needs files of scored mentions, got none", parameter="rule")
    if options.rule is not None and "-" in corpus:
        raise ParameterError("needs files that can be read twice, got standard input", parameter="rule")
    if corpus:
        definitions = None
        lexicon = None if options.lexicon is None else load_lexicon(options.lexicon)
        language = "" if lexicon is None else lexicon.language
        if options.rule is not None:
            definitions = Definitions.named([options.rule], options.preset, options.lexicon, examples=False)
            lexicon, language = definitions.lexicon, definitions.language or ""
        reports.append(check_corpus(corpus, on_progress, lexicon=lexicon, scheme=options.scheme, language=language))
        if definitions is not None:
            against: dict[str, Any] = {"scheme": options.scheme, "on_progress": on_progress}
            words = definitions.lexicon
            reports += [rule_hits(corpus, rule, words, **against) for rule in definitions.whole_rules]
    return summary_of_reports(reports)


def _is_news(name: str) -> bool:
    from events.runs._document_inputs import named_kind

    return name != "-" and not os.path.isdir(name) and named_kind(name, prefer_news=False) == "news"


_PACKAGES = {"score": "corefsample.scorers", "events": "events.counting"}  # package with the kernels of each command
_NAME = re.compile(r"^[\w.-]+")


@dataclass(frozen=True, slots=True)
class Environment(CommandResult):
    """Description of the installation.

    Attributes
    ----------
    corefsample, python, platform
        Version of corefsample, version of Python, and operating system with the architecture of the processor.
    packages
        Version of each required package; None if it is missing.
    extras
        Version of each package of each optional extra; None if it is missing.
    processor
        Name of the processor for which kernels are compiled.
    processors
        Number of processors that this process may use.
    free_memory
        Memory that this process can still use, in bytes; None if the system does not provide this number.
    kernel_folders
        Folders for compiled kernels; if it is empty, every process compiles its kernels.
    kernels_missing
        Names of the commands `score` and `events` whose kernels are not compiled yet.
    variables
        Environment variables that are set and affect the program.
    """

    corefsample: str
    python: str
    platform: str
    packages: dict[str, str | None]
    extras: dict[str, dict[str, str | None]]
    processor: str
    processors: int
    free_memory: int | None
    kernel_folders: tuple[str, ...]
    kernels_missing: tuple[str, ...]
    variables: dict[str, str]

    def lines(self) -> list[tuple[str, str]]:
        """Pairs of name and value, to print."""
        memory = "not known" if self.free_memory is None else f"{self.free_memory / 2**30:.1f} GiB free"
        kernels = "compiled" if not self.kernels_missing else f"to be compiled: {', '.join(self.kernels_missing)}"
        return [
            ("Python", f"{self.python}, {self.platform}"),
            ("processors", f"{self.processors} ({self.processor}), {memory}"),
            ("packages", _versions(self.packages)),
            *((f"extra {name}", _versions(versions)) for name, versions in self.extras.items()),
            ("kernels", kernels if self.kernel_folders else "no folder for them: each process compiles"),
            ("in", ", ".join(self.kernel_folders)),
            ("variables", ", ".join(f"{name}={value}" for name, value in self.variables.items())),
        ]


def describe_environment() -> Environment:
    """Describe the installation: versions, extras, processor, kernel cache, environment variables."""
    import numba
    from llvmlite import binding

    from corefsample._jit import cache_folders, is_cached, kernels_of

    prefixes = ("ARROW_", "COREFSAMPLE_", "NUMBA_", "OMP_", "OPENBLAS_", "MKL_")
    needed, extras = requirements()
    kernels = {command: kernels_of(package) for command, package in _PACKAGES.items()}
    folders = cache_folders(chain(*kernels.values()))
    return Environment(
        corefsample=__version__,
        python=platform.python_version(),
        platform=f"{sys.platform} {platform.machine()}",
        packages=_installed(needed),
        extras={extra: _installed(stated) for extra, stated in extras.items()},
        processor=numba.config.CPU_NAME or binding.get_host_cpu_name(),  # type: ignore[attr-defined]
        processors=processors(),
        free_memory=available_memory(),
        kernel_folders=tuple(folders),
        kernels_missing=tuple(name for name, own in kernels.items() if folders and not any(map(is_cached, own))),
        variables={name: value for name, value in sorted(os.environ.items()) if name.startswith(prefixes)},
    )


def _installed(stated: Sequence[str]) -> dict[str, str | None]:
    """Version of the package of each requirement, by the name of the package; None if it is missing."""
    versions: dict[str, str | None] = {}
    for name in (found[0] for found in map(_NAME.match, stated) if found is not None):
        versions[name] = None
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def _versions(packages: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {version or 'missing'}" for name, version in packages.items())


command = Command(DoctorOptions, run_doctor, "files*", task="checking")
