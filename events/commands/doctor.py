"""Check a file of scored mentions, a rule, or a lexicon, and describe its content; or describe the installation.

FILES are scored mentions (.jsonl, .jsonl.gz, .parquet, or - for JSON Lines on standard input), annotated corpora
(.conllu, .conll), or YAML files of rules, whose examples are checked, or of lexicons; or the name of a shipped rule
or lexicon.

With --rule, what the rule and the lexicon find in the scored mentions is counted: hits of every trigger, condition
and name, and the paths from triggers to actors that fill no role. With --rule or --lexicon, clusterings are sampled
to see how often coreference merges different actors.

Examples
--------
  corefsample doctor scored.jsonl.gz
  corefsample doctor my_rule.yaml --lexicon my_words.yaml --scheme ud2
  corefsample doctor scored.parquet --rule arrest --lexicon police
  corefsample doctor --environment
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from corefsample.errors import CorefsampleError, InputError, ParameterError
from events import _shared_options as shared
from events._options import Options, declared, option
from events.commands._parser import BAD_INPUT, Command, Failure
from events.commands._screen import print_error, print_pairs

if TYPE_CHECKING:
    from events._options import Progress
    from events.commands._document_checks import AnnotatedReport, CorpusReport
    from events.commands._environment import Environment
    from events.commands._file_check import FileReport
    from events.commands._rule_hits import RuleHits


@declared
class DoctorOptions(Options):
    """What files are checked against.

    Attributes
    ----------
    environment
        Describe the installation instead: versions, extras, processor, compiled kernels.
    rule
        Rule whose hits in scored mentions are counted. [default: none]
    preset
        Preset of --rule. [default: asserted, or the only one of a file]
    lexicon
        Lexicon for the examples of rules, for --rule, and for what coreference merges. [default: countries]
    scheme
        Dependency scheme in which every preset must be able to match. [default: any]
    """

    environment: bool = False
    rule: str | None = option(default=None, metavar="RULE")
    preset: str | None = option(default=None, metavar="NAME")
    lexicon: str | None = option(default=None, metavar="FILE")
    scheme: shared.SchemeName | None = None


@dataclass(frozen=True, slots=True)
class DoctorResult:
    """What was found.

    Attributes
    ----------
    reports
        A report for each rule or lexicon, one for all annotated corpora, one for all scored mentions, and one of the
        hits of a rule in them.
    environment
        The installation, if that was asked for.
    """

    reports: tuple[AnnotatedReport | CorpusReport | FileReport | RuleHits, ...] = ()
    environment: Environment | None = None

    @property
    def problems(self) -> list[CorefsampleError]:
        """The first problems of all reports."""
        return [problem for report in self.reports for problem in report.problems]

    def to_json(self) -> Any:
        """The fields of each report, or of the environment."""
        if self.environment is not None:
            return self.environment.to_json()
        return [report.to_json() for report in self.reports]


def run_doctor(
    files: Sequence[str] = (), options: DoctorOptions | None = None, *, on_progress: Progress | None = None
) -> DoctorResult:
    """Check files and report what they contain, or describe the installation.

    Parameters
    ----------
    files
        Files of scored mentions, annotated corpora, globs, "-", YAML files of rules or lexicons, and names of shipped
        ones.
    options
        What the files are checked against; with a rule, the report on scored mentions is followed by its hits.
    on_progress
        Called after each batch with bytes read, bytes in all, and documents.

    Raises
    ------
    ParameterError
        If there are neither files nor `environment`, or a rule is given for standard input, which is read once.
    InputError
        If a file is missing or unreadable as a whole, or the rule or lexicon of the options breaks its rules. Bad
        documents and failing examples are reported instead.
    """
    from events.commands._rule_hits import rule_hits

    options = options or DoctorOptions()
    if options.environment == bool(files):
        raise ParameterError("or the environment must be asked for, and not both", parameter="files")
    if options.environment:
        from events.commands._environment import describe_environment

        return DoctorResult(environment=describe_environment())
    from events.commands._document_checks import check_annotated, check_corpus
    from events.commands._file_check import check_file, is_rule_or_lexicon
    from events.lexicon._lexicon import load_lexicon
    from events.rules._rules import load_rules
    from events.runs._document_inputs import annotated_kind

    found: list[Any] = [check_file(name, options.lexicon, options.scheme) for name in files if is_rule_or_lexicon(name)]
    annotated = [name for name in files if annotated_kind(name) is not None]
    corpus = [name for name in files if not is_rule_or_lexicon(name) and name not in annotated]
    if annotated:
        found.append(check_annotated(annotated, on_progress, scheme=options.scheme))
    if options.rule is not None and not corpus:
        raise ParameterError("needs files of scored mentions, got none", parameter="rule")
    if options.rule is not None and "-" in corpus:
        raise ParameterError("needs files that can be read twice, got standard input", parameter="rule")
    if corpus:
        is_asked = options.rule is not None or options.lexicon is not None
        language = "" if options.rule is None else load_rules(options.rule, options.preset).language
        lexicon = load_lexicon(options.lexicon, language=language) if is_asked else None
        language = language or (lexicon.language if lexicon is not None else "")
        found.append(check_corpus(corpus, on_progress, lexicon=lexicon, scheme=options.scheme, language=language))
    if options.rule is not None:
        against = options.chosen("preset", "lexicon", "scheme")
        found.append(rule_hits(corpus, options.rule, **against, on_progress=on_progress))
    return DoctorResult(tuple(found))


def print_doctor(result: DoctorResult) -> None:
    """Print each report, or the installation."""
    for report in result.reports:
        print_pairs(report.title, report.lines())
    if result.environment is not None:
        print_pairs(f"corefsample {result.environment.corefsample}", result.environment.lines())


def report_problems(result: DoctorResult) -> None:
    """Print the problems to standard error, and end the program if there are any."""
    hints = set()
    for problem in result.problems:
        if problem.hint in hints:  # each next step is printed once
            problem = InputError(problem.message, parameter=problem.parameter, place=problem.place)
        hints.add(problem.hint)
        print_error(Failure(problem, click.get_current_context()).message)
    if result.problems:
        n_hidden = sum(report.n_problems for report in result.reports) - len(result.problems)
        if n_hidden:
            print_error(f"and {n_hidden:,} more")
        sys.exit(BAD_INPUT)


command = Command(DoctorOptions, run_doctor, print_doctor, "files*", task="checking", finish=report_problems)
