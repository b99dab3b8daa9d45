"""Other counts of a finished run, from its evidence: other periods, groups of documents, outcomes and levels."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corefsample import _checks
from corefsample._arrays import pd
from corefsample.errors import InputError, ParameterError
from corefsample.files._digests import sealed
from corefsample.files._paths import PathLike
from events._summary import json_values
from events.counts._event_counts import CountsOfRules
from events.counts._evidence import Evidence, read_evidence
from events.counts._run_tables import verified_record
from events.counts._unions import with_outcomes
from events.evidence._rule_set import RuleSet
from events.rule_error._counts import CountTables, tables_with_error
from events.rule_error._model import reference_model
from events.rules._format import Outcome
from events.runs._outputs import RunFolder, run_record
from events.runs.counting._count_options import CountAgainOptions
from events.runs.counting._written_tables import write_counts


@dataclass(frozen=True, slots=True)
class CountedAgain:
    """Other counts of a run.

    Attributes
    ----------
    out
        Path of the folder with the tables.
    n_documents
        Number of documents.
    groups
        Groups of documents, such as outlets; several fields are joined with ", ". Empty without groups.
    events
        Names of the rules and outcomes.
    seconds
        Wall time in seconds.
    counts, totals
        Tables that were written to counts.csv and totals.csv.
    """

    out: str
    n_documents: int
    groups: tuple[str, ...]
    events: tuple[str, ...]
    seconds: float
    counts: pd.DataFrame = field(kw_only=True, compare=False, repr=False)
    totals: pd.DataFrame = field(kw_only=True, compare=False, repr=False)


def count_again(run: PathLike, options: CountAgainOptions) -> CountedAgain:
    """Count a finished run in other periods, groups or levels from its evidence, and write the tables to a folder.

    With the error of rules in the run, the tables have the interval of what readers would count too.

    Parameters
    ----------
    run
        Path of the folder that `corefsample events` wrote.
    options
        Options of the counts, and the folder of the tables.

    Raises
    ------
    InputError
        If a file of the run is missing or is not as the run wrote it, or its rules have changed.
    ParameterError
        If an option is not valid for the evidence of the run, or the folder cannot be used.
    """
    started, record = time.time(), verified_record(run)
    arguments = record["arguments"]
    if Path(options.out).resolve() == Path(run).resolve():
        raise ParameterError("must be another folder than that of the run, got the same", parameter="out")
    RunFolder(options.out, overwrite=options.overwrite)  # raises for a folder with other files
    evidence = read_evidence(run)
    if options.outcome:
        evidence = with_outcomes(evidence, _outcomes(arguments, evidence, options.outcome))
    events = options.event or tuple(evidence.settings.columns)
    for event in events:
        _checks.choice("event", event, tuple(evidence.settings.columns))
    counts = evidence.counts_of_all(
        period=options.period,
        by=options.by,
        level=options.level or arguments["level"],
        interval=options.interval or arguments["interval"],
    )
    selected = CountsOfRules(tuple(each for each in counts.of_rules if each.event in events), counts.roles)
    tables = CountTables.of(selected, options.compare or ())
    if record["summary"].get("rule_error") is not None:
        model, settings = reference_model(arguments["rule_error"], tuple(arguments["reference"])), evidence.settings
        tables = tables_with_error(tables, model, settings.kinds, seed=settings.seed)
    with RunFolder(options.out, overwrite=options.overwrite) as folder:
        write_counts(folder.file, tables.table, tables.schema, tables.totals, tables.samples, tables.compared)
        groups = selected.of_rules[0].occurrences.groups if options.by else []
        result = CountedAgain(
            options.out,
            evidence.n_documents,
            tuple(map(", ".join, groups)),
            events,
            round(time.time() - started, 3),
            counts=tables.table,
            totals=tables.totals,
        )
        arguments_of_count = {**dataclasses.asdict(options), "run": str(run)}
        more = {"summary": json_values(result), "files": folder.checksums()}
        folder.finish_record(sealed(run_record(arguments_of_count, [], started, **more)))
    return result


def _outcomes(arguments: dict[str, Any], evidence: Evidence, outcomes: Sequence[str]) -> tuple[Outcome, ...]:
    """Outcomes that are valid for the rules of a run, which must be as they were."""
    rules = arguments["rule"] if isinstance(arguments["rule"], list) else [arguments["rule"]]
    definitions = rules, arguments["preset"], arguments["lexicon"]
    of_run = RuleSet.named(*definitions, arguments["outcome"], examples=False)
    texts = of_run.only(arguments["filled"]).texts
    if any(evidence.settings.definitions[name] != text for name, text in texts.items()):
        raise InputError("rules and lexicon must be as they were in the run, got others", place=", ".join(rules))
    of_run_texts = {*map(str, of_run.outcomes)}
    extended = RuleSet.named(*definitions, [*arguments["outcome"], *outcomes], examples=False)
    return tuple(outcome for outcome in extended.outcomes if str(outcome) not in of_run_texts)
