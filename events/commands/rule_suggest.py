"""Suggest additions to a rule, from the labels of an audit.

RUN is the output of `corefsample events`; SHEETS are labelled sheets of its audit. What missed documents have and
others have not is tried: triggers, paths, names of actors, conditions that exclude too much. The file that is written
extends the rule, with the evidence for each line above it: keep what is right and delete the rest.

Examples
--------
  corefsample rule suggest run audit/sheet.csv --out better.yaml
  corefsample rule suggest run audit/sheet.csv audit/sheet-2.csv --rule arrest
"""

from __future__ import annotations

import os
import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from corefsample.errors import InputError, ParameterError
from events import _shared_options as shared
from events._options import Result, declared, option
from events.commands._parser import Command
from events.commands._screen import counted, print_pairs, print_text
from events.runs.counting._options import CountOptions

if TYPE_CHECKING:
    from corefsample._arrays import Floats
    from corefsample.files._paths import PathLike
    from events.audit import AuditPlan
    from events.audit._paired import LabelledCells
    from events.commands._rule_suggesting import Suggested, Suggestion
    from events.runs.counting._plan import RunPlan

_WIDTH = 118  # of files


@declared
class RuleSuggestOptions(shared.Seed, shared.Overwrite):
    """What to suggest.

    Attributes
    ----------
    rule
        Name of the rule, of a run of several. [default: the only one]
    out
        File of the changed rule. [default: NAME-suggested.yaml]
    n_suggestions
        Changes at most.
    plan
        Folder of the audit. [default: that of the first sheet]
    seed
        Of the folds of the labels.
    """

    rule: str | None = option(default=None, metavar="RULE")
    out: str | None = option(default=None, metavar="FILE")
    n_suggestions: int = option(default=10, at_least=1)
    plan: str | None = option(default=None, metavar="FOLDER")


@dataclass(frozen=True, slots=True)
class RuleSuggestResult(Result):
    """What was found.

    Attributes
    ----------
    out, lexicon_out
        The files of the rule and, if names are suggested, of the lexicon; None if there is none.
    rule, preset
        Of the run.
    n_labels, n_positive, n_missed
        Labels yes or no, those that are yes, and of these those with P of at most one half.
    n_tried
        Changes that were counted.
    suggestions, weaker
        Changes with a gain, in the order in which they were chosen, and some that the labels do not suffice for: kind,
        text, place, right, wrong, unlabelled, gain, doc_id and sentence, as in `Suggestion`.
    before, after
        Weighted precision and recall at P above one half and mean log score, of the rule and with all suggestions: on
        the labels that chose them, so higher than on others.
    """

    out: str | None
    lexicon_out: str | None
    rule: str
    preset: str
    n_labels: int
    n_positive: int
    n_missed: int
    n_tried: int
    suggestions: tuple[dict[str, Any], ...]
    weaker: tuple[dict[str, Any], ...]
    before: dict[str, float]
    after: dict[str, float]


def run_rule_suggest(
    run: PathLike, sheets: Sequence[PathLike], options: RuleSuggestOptions | None = None
) -> RuleSuggestResult:
    """Suggest additions to a rule of a run, and write them as a rule file.

    Parameters
    ----------
    run
        Folder of a finished events run, whose inputs, rule and lexicon are as they were.
    sheets
        Labelled sheets of an audit of this run.
    options
        What to suggest, and where to write it.

    Raises
    ------
    ParameterError, InputError, OutputError
        If an option, the run, a sheet or the file breaks its rule.
    """
    from corefsample.files._atomic import require_free, write_bytes
    from events.audit._paired import HALF, labelled_cells, paired_differences
    from events.commands._audit_files import labelled_plan
    from events.commands._rule_changes import RuleChanges
    from events.commands._rule_suggesting import Corpus, Suggester
    from events.rules._rules import load_rules, rule_file

    options = options or RuleSuggestOptions()
    counted_run = _run_plan(run)
    _, plan, labels = labelled_plan(run, sheets, options.plan)
    rules = {rule.name: rule for rule in counted_run.definitions().rules}
    name = options.rule or next(iter(rules))
    if name not in rules or (options.rule is None and len(rules) > 1):
        given = "none" if options.rule is None else repr(options.rule)
        raise ParameterError(f"must be one of the run's ({', '.join(rules)}), got {given}", parameter="rule")
    out = options.out or f"{name}-suggested.yaml"
    require_free(out, overwrite=options.overwrite)
    targets, actors = _targets(plan, name)
    cells = labelled_cells(plan, labels, targets)
    file, sources = rule_file(rules[name].source)
    settings = counted_run.options
    lexicon = counted_run.definitions().lexicon
    changes = RuleChanges(file, sources, rules[name].preset, lexicon, settings.scheme)
    suggester = Suggester(Corpus(counted_run, plan, cells, actors), cells, changes, lexicon.source, options.seed)
    found = suggester.suggested(_probabilities(plan, cells, targets), options.n_suggestions)
    lexicon_out = None
    if found.nouns:
        lexicon_out = f"{os.fspath(out).removesuffix('.yaml')}-lexicon.yaml"
        require_free(lexicon_out, overwrite=options.overwrite)
        write_bytes(lexicon_out, _lexicon_text(found, lexicon.source).encode(), overwrite=options.overwrite)
    if found.content:
        text = _rule_text(found, name, _reference(rules[name].source, out), lexicon_out)
        write_bytes(out, text.encode(), overwrite=options.overwrite)
        load_rules(out, rules[name].preset)
    values = paired_differences(cells, found.before, found.after, n_resamples=1)
    missed = cells.is_positive & (found.before <= HALF)
    return RuleSuggestResult(
        out=os.fspath(out) if found.content else None,
        lexicon_out=lexicon_out,
        rule=name,
        preset=rules[name].preset,
        n_labels=len(cells),
        n_positive=int(cells.is_positive.sum()),
        n_missed=int(missed.sum()),
        n_tried=found.n_tried,
        suggestions=tuple(_row(each) for each in found.chosen),
        weaker=tuple(_row(each) for each in found.weaker),
        before={each.measure: each.first for each in values},
        after={each.measure: each.second for each in values},
    )


def _run_plan(run: PathLike) -> RunPlan:
    """What a finished run counted, planned again from its record."""
    from events.audit._documents import run_record
    from events.runs.counting._plan import planned

    record = run_record(Path(run))
    return planned([each["path"] for each in record["inputs"]], CountOptions.from_json(record["arguments"]))


def _targets(plan: AuditPlan, rule: str) -> tuple[list[int], list[str]]:
    """Numbers of the plan's targets that are events of a rule, and their actors."""
    from events.audit._paired import target_keys

    found = [(number, actor) for number, (event, actor) in enumerate(target_keys(plan.frame)) if event == rule]
    if not found:
        raise InputError(f"labels must be about the rule {rule!r}, got {', '.join(plan.frame.targets)}")
    return [number for number, _ in found], [actor for _, actor in found]


def _probabilities(plan: AuditPlan, cells: LabelledCells, targets: Sequence[int]) -> Floats:
    """P of the run in each cell."""
    import numpy as np

    p = np.stack([plan.frame.probability(target)[plan.sample] for target in targets], axis=1)
    return np.asarray(p[cells.documents, cells.targets])


def _reference(source: str, out: PathLike) -> str:
    """A rule as a file at `out` names it: shipped rules by their names, files from its folder."""
    from events.rules._rules import shipped_rules

    return source if source in shipped_rules() else os.path.relpath(source, Path(out).parent)


def _rule_text(found: Suggested, name: str, base: str, lexicon: str | None) -> str:
    head = [
        "Suggested by `corefsample rule suggest`: keep what is right, delete the rest. Of each change you see how many "
        "labelled documents it finds besides, rightly and wrongly, how many others of the corpus, and the growth of "
        "the mean log score after the changes before it, in folds of the labels that did not choose it.",
        *map(_evidence, found.chosen),
        *([f"It needs the names of {lexicon}, too."] if lexicon else []),
        *(["Too few labels to tell:"] if found.weaker else []),
        *map(_evidence, found.weaker),
    ]
    return _yaml_text(head, {"version": 1, "name": name, "extends": base, **found.content})


def _lexicon_text(found: Suggested, base: str) -> str:
    from events.commands._rule_changes import NAME
    from events.lexicon._file import SHIPPED_LEXICONS

    entries = [{"code": code, "nouns": nouns} for code, nouns in found.nouns.items()]
    head = [
        "Suggested by `corefsample rule suggest`: keep what is right, delete the rest.",
        *(_evidence(each) for each in found.chosen if each.change.kind == NAME),
    ]
    is_shipped = base in SHIPPED_LEXICONS
    if not is_shipped:
        head.append(f"A lexicon extends shipped ones alone: copy the entries to {base}.")
    return _yaml_text(head, {"version": 1, **({"extends": base} if is_shipped else {}), "entries": entries})


def _evidence(each: Suggestion) -> str:
    found = f"labelled {each.right} right, {each.wrong} wrong; unlabelled {each.unlabelled:,}"
    gain = f"; gain {each.gain:.4f}" if each.gain else ""
    example = f'; {each.doc_id}: "{each.sentence}"' if each.doc_id else ""
    return f"- {each.change}: {found}{gain}{example}"


def _yaml_text(head: Sequence[str], content: dict[str, Any]) -> str:
    """A file with lines of comments at its beginning."""
    import yaml

    comments = [
        line
        for text in head
        for line in textwrap.wrap(" ".join(text.split()), _WIDTH, initial_indent="# ", subsequent_indent="#   ")
    ]
    return "\n".join([*comments, yaml.safe_dump(content, sort_keys=False, width=_WIDTH, allow_unicode=True)])


def _row(each: Suggestion) -> dict[str, Any]:
    change = {name: getattr(each.change, name) for name in ("kind", "text", "place")}
    names = ("right", "wrong", "unlabelled", "gain", "doc_id", "sentence")
    return {**change, **{name: getattr(each, name) for name in names}}


def print_rule_suggest(result: RuleSuggestResult) -> None:
    """Print the suggestions, and the next steps."""
    labels = f"{counted(result.n_labels, 'label')}, {result.n_positive:,} yes"
    print_text(f"{labels}: the rule {result.rule} ({result.preset}) misses {result.n_missed:,} of these.")
    for title, rows in (
        (f"Of {counted(result.n_tried, 'change')} that were tried, these gain in other folds:", result.suggestions),
        ("Too few labels to tell:", result.weaker),
    ):
        if rows:
            click.echo()
            print_pairs(title, [pair for row in rows for pair in _pairs(row)])
    if not result.suggestions:
        click.echo()
        print_text(f"None of {counted(result.n_tried, 'change')} that were tried finds more in other folds.")
        return
    click.echo()
    for name in ("precision", "recall", "log_score"):
        click.echo(f"{name.replace('_', ' '):<10} {result.before[name]:>7.3f} then {result.after[name]:>7.3f}")
    print_text("These labels chose the changes: other labels would show a smaller gain.")
    click.echo()
    if result.lexicon_out is not None:
        click.echo(f"Lexicon  {result.lexicon_out}")
    if result.out is not None:
        click.echo(f"Rule     {result.out}")
        click.echo(f"Then     corefsample rule test {shlex.quote(result.out)}")


def _pairs(row: dict[str, Any]) -> list[tuple[str, str]]:
    gain = f", gain {row['gain']:.4f}" if row["gain"] else ""
    found = f"labelled {row['right']} right, {row['wrong']} wrong; unlabelled {row['unlabelled']:,}{gain}"
    example = [("", f"{row['doc_id']}: {row['sentence']}")] if row["doc_id"] else []
    return [(row["kind"], f"{row['text']} ({row['place']}): {found}"), *example]


command = Command(
    RuleSuggestOptions, run_rule_suggest, print_rule_suggest, "run", "sheets+", reads_lines=False, task="suggesting"
)
