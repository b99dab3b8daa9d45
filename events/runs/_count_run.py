"""Counting events: missing parts are counted, their evidence is merged, and the tables are written to a folder.

All sums are sums of integers and all rows are in the order of date, document and event, so the files do not depend on
the parts, on the processes that computed them, or on the order of the documents.
"""

import dataclasses
import logging
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import corefsample
from corefsample import _checks
from corefsample._arrays import pd
from corefsample._machine import processors
from corefsample.errors import InputError, ParameterError, did_you_mean, shown
from corefsample.files._paths import Inputs, PathLike, input_paths, is_file, joined, local_name
from corefsample.files._reading import sealed, sha256
from corefsample.files._remote import is_url
from corefsample.formats.scored._stream import SUFFIXES
from corefsample.posterior._posterior import unlike_scores
from events._options import Progress, fields_of
from events._summary import json_values
from events.counts._event_counts import CountsOfRules
from events.counts._evidence import Evidence, read_evidence, with_outcomes
from events.counts._run_tables import verified_record
from events.evidence._acceptance import DUPLICATE
from events.evidence._columns import UNDATED
from events.evidence._rule_set import RuleSet, check_outcomes
from events.rule_error._counts import CountTables, tables_with_error
from events.rule_error._model import NO_RULE_ERROR, reference_file, reference_model
from events.rules._format import Outcome
from events.runs._count_parts import CountPart, checked_contents, file_parts, loaded_rules, require_dates, settings_of
from events.runs._engines import completed_parts
from events.runs._outputs import RunFolder, quarantine_lines, require_documents, require_same, run_record
from events.runs._run_options import CountAgainOptions, CountOptions, EventsOptions
from events.runs._store import STANDARD_INPUT, PartStore, Source, StoredPart, opened_store
from events.runs._written_tables import documents_written, draw_counts, write_counts, write_evidence


def count_corpus(inputs: Inputs, options: EventsOptions, *, on_progress: Progress | None = None) -> dict[str, Any]:
    """Count events in files of scored mentions, and write the folder of the run: see `events.commands.run_events`.

    Returns
    -------
    dict
        Numbers of the run, which docs/json-output.md describes; the tables `counts` and `totals`; and the rows about
        `inputs` in the record.
    """
    started, out, is_remote = time.time(), options.out, is_url(options.out)
    counting = CountOptions(**options.subset(*fields_of(CountOptions)))
    contents = checked_contents(counting)
    if options.rule_error != NO_RULE_ERROR:
        reference_model(options.rule_error, options.reference)  # raises before the work begins
    paths = input_paths(inputs, suffixes=SUFFIXES)
    if STANDARD_INPUT in paths and not options.is_here:
        parameter = "workers" if options.scheduler is None else "scheduler"
        rule = "cannot be combined with standard input, which only one process can read"
        raise ParameterError(rule, parameter=parameter)
    RunFolder(out, overwrite=options.overwrite or not is_remote)  # raises for a folder with other files
    with opened_store(Path(f"{local_name(out)}.parts") if is_remote else Path(out) / "parts", out) as store:
        sources = [*map(Source.of, paths)]
        settings = {
            "version of corefsample": corefsample.__version__,
            **settings_of(counting, contents),
            **{f"content of audit {n}": sha256(reference_file(path)) for n, path in enumerate(options.reference, 1)},
        }
        if options.rule_error not in (None, NO_RULE_ERROR):
            settings["content of the table of rule errors"] = sha256(options.rule_error)
        if not options.overwrite and not is_remote:
            require_same(joined(out, RunFolder.RECORD), out, settings, paths)
        n_threads = None if options.is_here else max(1, processors() // (options.workers or processors()))
        of_worker = dataclasses.replace(counting, threads=options.threads or n_threads)
        parts = [part for source in sources for part in file_parts(of_worker, contents, source, store)]
        raise_first_fault = options.on_error == "stop"
        if options.stops_at_undated and not options.where:
            for source in sources:
                require_dates(source.current_path)
        complete = completed_parts(
            parts,
            store,
            options,
            raise_first_fault=raise_first_fault,
            total_bytes=sum(source.n_bytes for source in sources),
            on_progress=on_progress,
        )
        evidence, stored = _united(parts, complete, store, raise_first_fault)
        rejected = [document for each in stored for document in each.rejected()]
        n_not_selected = sum(each.record["not_selected"] for each in stored)
        require_documents(evidence.n_documents, rejected, options.where, n_not_selected, options.max_quarantined)
        pa.default_memory_pool().release_unused()  # memory of the parts; the tables need as much
        with RunFolder(out, overwrite=True) as folder:  # checked above: it may be replaced
            if rejected:
                folder.file("quarantine.jsonl").write_bytes(quarantine_lines(rejected))
            rules = loaded_rules(counting, contents)
            with documents_written(folder.file, evidence):
                counts = evidence.counts_of_all(**options.subset("level", "interval", "all_periods"))
                tables = CountTables.of(counts, options.compare or ())
                if options.rule_error != NO_RULE_ERROR:
                    model = reference_model(options.rule_error, options.reference)
                    tables = tables_with_error(tables, model, rules.lexicon.kinds, rules.kin, seed=options.seed)
                write_evidence(folder.file, evidence, tables.with_readers)
                write_counts(folder.file, tables)
            if options.pictures:
                draw_counts(folder.file, tables, rules.names)
            values = {
                "out": out,
                "n_quarantined": len(rejected),
                "n_not_selected": n_not_selected,
                "seconds": round(time.time() - started, 3),
                "n_parts": len(parts),
                "n_computed": sum(each.is_new for each in stored),
                **_summary(evidence, counts, rules),
                "rule_error": tables.reference,
            }
            values = json_values(values)
            codes = [code for of_rule in counts.of_rules for key in of_rule.events() for code in key if code]
            codes += [outcome.name for outcome in rules.outcomes if outcome.title]
            record = run_record(
                {**dataclasses.asdict(counting), "out": out},
                [source.to_record() for source in sources],
                started,
                rule=rules.to_record(),
                lexicon=rules.lexicon.source,
                names={code: rules.names.get(code, code) for code in codes},
                summary=values,
                settings=settings,
                files=folder.checksums(),
            )
            folder.finish_record(sealed(record))
        documents = evidence.documents.read("trigger", "actor", "actors")
        for note in rules.notes(documents) if evidence.n_documents else ():
            logging.getLogger("corefsample.events").warning("%s", note)
        if is_remote:
            shutil.rmtree(store.path)
        else:
            store.keep([*stored, *complete])
    outside = counts.of_rules[0].occurrences.outside
    return {**values, "counts": tables.table, "totals": tables.totals, "outside": outside, "inputs": record["inputs"]}


def _summary(evidence: Evidence, counts: CountsOfRules, rules: RuleSet) -> dict[str, Any]:
    """Numbers of documents, actors, periods and triggers for the record of a run."""
    periods = [period.label for period in counts.of_rules[0].periods()] or [UNDATED]
    keys = [(of_rule.event, key.name) for of_rule in counts.of_rules for key in of_rule.events()]
    return {
        **evidence.document_counts(),
        "actors": [name if len(counts.of_rules) == 1 else f"{event}: {name}" for event, name in keys],
        "periods": [periods[0], periods[-1]],
        "uncertainty": evidence.settings.uncertainty,
        "merged_actors": evidence.merging_summary(),
        "triggers": evidence.excluded_triggers({rule.name: rule.preset for rule in rules.rules}),
        "doubts_triggers": any(rule.event_type for rule in rules.rules),
    }


def _united(
    parts: Sequence[CountPart], complete: Sequence[StoredPart], store: PartStore, raise_first_fault: bool
) -> tuple[Evidence, list[StoredPart]]:
    """The evidence of all parts, and their results: a part with doc_ids of earlier ones is counted without these.

    Raises
    ------
    InputError
        If two documents have the same doc_id and `raise_first_fault` is true, or if only some of the scores had a
        recorded recalibration.
    """
    stored, evidence = [*complete], [Evidence.load(each.folder) for each in complete]
    columns = [each.documents.read("doc_id")["doc_id"] for each in evidence]
    values = pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string())
    doc_ids = pd.Series(pd.arrays.ArrowExtensionArray(values))
    part_of, is_repeated = np.repeat(np.arange(len(parts)), [*map(len, columns)]), doc_ids.duplicated().to_numpy()
    for number in np.unique(part_of[is_repeated]).tolist():
        part, repeated = parts[number], doc_ids[is_repeated & (part_of == number)]
        if raise_first_fault:
            doc_id = repeated.iloc[0]
            message = f"{DUPLICATE}, first at {parts[part_of[doc_ids == doc_id][0]].location(doc_id)}"
            raise InputError(message, place=f"{part.location(doc_id)}: doc_id {doc_id!r}")
        without = dataclasses.replace(part, excluded=tuple(sorted(repeated)))
        again = store.find(without.key) or without.compute()
        stored[number] = again._replace(is_new=again.is_new or complete[number].is_new)
        evidence[number] = Evidence.load(again.folder)
    first = next((each for each in evidence if each.n_documents), evidence[0])
    united = Evidence(first.settings)
    for part, added in zip(parts, evidence, strict=True):
        if added.n_documents and added.settings.uncertainty != first.settings.uncertainty:
            raise unlike_scores(added.settings.scores, first.settings.scores).as_input_error(part.source.path)
        for rows, added_rows in zip(united.tables, added.tables, strict=True):
            rows.extend(added_rows)
    return united, stored


def count_again(run: PathLike, options: CountAgainOptions) -> dict[str, Any]:
    """Count a finished run in other periods, groups or levels from its evidence, and write the tables to a folder.

    With the error of rules in the run, the tables have the interval of what readers would count too.

    Parameters
    ----------
    run
        Path of the folder that `corefsample events` wrote.
    options
        Options of the counts, and the folder of the tables.

    Returns
    -------
    dict
        `out`, `n_documents`, `groups` (empty without groups), `events`, `seconds`, and the tables `counts` and
        `totals`.

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
        rules, outcomes = _rules_of_run(arguments, evidence), [*map(Outcome.parsed, options.outcome)]
        check_outcomes([*rules.outcomes, *outcomes], rules.rules, rules.lexicon)
        evidence = with_outcomes(evidence, outcomes)
    events = options.event or tuple(evidence.settings.columns)
    for event in events:
        _checks.choice("event", event, tuple(evidence.settings.columns))
    intervals = {name: getattr(options, name) or arguments[name] for name in ("level", "interval", "all_periods")}
    counts = evidence.counts_of_all(**options.subset("period", "by"), **intervals)
    selected = CountsOfRules(tuple(each for each in counts.of_rules if each.event in events), counts.roles)
    tables = CountTables.of(selected, options.compare or (), options.compare_periods or ())
    if record["summary"].get("rule_error") is not None:
        model, settings = reference_model(arguments["rule_error"], tuple(arguments["reference"])), evidence.settings
        tables = tables_with_error(tables, model, settings.kinds, record["rule"].get("kin", {}), seed=settings.seed)
    with RunFolder(options.out, overwrite=options.overwrite) as folder:
        write_counts(folder.file, tables)
        values = {
            "out": options.out,
            "n_documents": evidence.n_documents,
            "groups": [*map(", ".join, selected.of_rules[0].occurrences.groups)] if options.by else [],
            "events": list(events),
            "seconds": round(time.time() - started, 3),
        }
        arguments_of_count = {**dataclasses.asdict(options), "run": str(run)}
        more = {"summary": values, "files": folder.checksums()}
        folder.finish_record(sealed(run_record(arguments_of_count, [], started, **more)))
    shown = {"counts": tables.table, "totals": tables.totals, "compared_periods": tables.compared_periods}
    return {**values, **shown, "outside": selected.of_rules[0].occurrences.outside}


def _rules_of_run(arguments: dict[str, Any], evidence: Evidence) -> RuleSet:
    """Rules and lexicon of a run; raise InputError if they have changed since."""
    options = CountOptions.from_json(arguments)
    of_run = RuleSet.named(
        *(options.rules, options.preset, options.lexicon, options.outcome),
        **options.subset("triggers", "encoder"),
        examples=False,
    )
    of_run = of_run.only(options.filled)
    if any(evidence.settings.definitions[name] != text for name, text in of_run.texts.items()):
        place = ", ".join(options.rules)
        raise InputError("rules and lexicon must be as they were in the run, got others", place=place)
    return of_run


def definitions_of_run(run: PathLike, rule: str | None = None) -> tuple[list[str], RuleSet, CountOptions]:
    """Paths of the inputs of a finished run, its rules (or the one of a name) with their lexicon, and its options.

    If an input is there no longer, the documents with evidence in the folder of the run take its place.

    Raises
    ------
    ParameterError
        If the run has no such rule.
    InputError
        If a file of the run is missing or is not as the run wrote it, or its rules have changed.
    """
    record = verified_record(run)
    rules = _rules_of_run(record["arguments"], read_evidence(run))
    if rule is not None:
        names = [of_run.name for of_run in rules.rules]
        if rule not in names:
            message = f"must be a rule of the run: {', '.join(names)}; got {shown(rule)}"
            raise ParameterError(message, parameter="rule", hint=did_you_mean(rule, names))
        rules = dataclasses.replace(rules, rules=(rules.rules[names.index(rule)],))
    paths = [each["path"] for each in record["inputs"]]
    if not all(map(is_file, paths)):
        paths = [joined(run, "documents.parquet")]
    return paths, rules, CountOptions.from_json(record["arguments"])
