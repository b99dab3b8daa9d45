"""Hits of a rule and a lexicon in a corpus: triggers, conditions, names, and actors that the rule does not reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from corefsample.formats import DocumentStream
from events._options import Progress
from events._summary import counted, listed
from events.inspection._reports import Report
from events.inspection._trigger_traces import traced
from events.lexicon._entries import OF
from events.lexicon._file import lexicon_content
from events.lexicon._lexicon import Lexicon
from events.matching._screening import RuleMatcher
from events.matching._tracing import COUNTED, TriggerTrace
from events.rules._rules import Rule

_LISTED = 12  # number of items that are listed on the screen; the JSON summary has all
_MOST_STEPS = 3  # longest path from a trigger to an actor that is reported, because longer paths are accidental


def rule_hits(
    files: Sequence[str],
    rule: Rule,
    lexicon: Lexicon,
    *,
    scheme: str | None = None,
    on_progress: Progress | None = None,
) -> Report:
    """Count the hits of a rule and a lexicon in scored documents.

    Parameters
    ----------
    files
        Paths of files of scored mentions, globs, or "-" for standard input.
    rule, lexicon
        Rule whose triggers are traced, and lexicon whose names are counted.
    scheme
        Dependency scheme of the documents; by default, it is determined from the labels of each document.
    on_progress
        Function that is called after each batch with the bytes read, the bytes of all files, and the documents read.

    Returns
    -------
    Report
        Numbers of documents with a name of the lexicon, with a trigger, and with an event without coreference, which
        have an actor of the lexicon or no named actor; for each trigger its hits by outcome (see
        `TriggerTrace`); triggers by condition of the preset that holds; hits of the lexicon's names, and its names that
        no document has; and for each path from a trigger to an actor that fills no role its hits and first document.

    Raises
    ------
    ParameterError, InputError
        If a file cannot be read. Invalid documents are listed as problems of the report instead.
    """
    report = Report(", ".join(files))
    triggers: dict[str, Counter[str]] = {trigger: Counter() for trigger in sorted(rule.triggers.split(", "))}
    conditions, n = Counter(dict.fromkeys(rule.unless, 0)), Counter[str]()
    aliases: dict[str, Counter[str]] = {}
    unmatched: dict[str, tuple[int, str]] = {}
    spellings = set[str]()  # texts and lemmas of the names in the documents, without white space
    stream = DocumentStream(files, needs=("tokens",), on_rejected=report.reject, parses=True)
    reading = traced(
        stream, [rule], RuleMatcher(rule, lexicon, scheme), on_progress, may_be_empty=lambda: bool(report.problems)
    )
    for batch, traces in reading:
        n["with_parses"] += sum(len(batch.parses(row)) > 1 for row in batch.firsts.tolist())
        for row, (trace,) in traces.items():
            is_named = [trigger.is_named for trigger in trace.triggers if trigger.outcome == COUNTED]
            n.update(
                documents=1,
                with_actor=bool(trace.names.codes),
                with_trigger=bool(trace.triggers),
                with_event=bool(is_named),
                by_actor=any(is_named),
                by_nobody=not all(is_named),
                ambiguous=trace.names.n_ambiguous,
            )
            tokens = batch.tokens(row)
            assert tokens is not None  # the stream needs them
            for token, code in trace.names.codes.items():
                start, end = trace.names.spans[token]
                aliases.setdefault(code, Counter())[" ".join(tokens.text[start:end]).casefold()] += 1
                spellings |= {"".join(column[start:end]).casefold() for column in (tokens.text, tokens.lemma)}
            for trigger in trace.triggers:
                triggers[trigger.trigger][trigger.outcome] += 1
                conditions.update(trigger.conditions)
                for route in _routes_beside(trigger):
                    count, first = unmatched.get(route, (0, batch.doc_ids[row]))
                    unmatched[route] = count + 1, first
    names = "documents with_actor with_trigger with_parses with_event by_actor by_nobody ambiguous"
    report.values = {
        "rule": rule.name,
        "preset": rule.preset,
        "lexicon": lexicon.source,
        **{f"n_{name}": n[name] for name in names.split()},
        "triggers": triggers,
        "conditions": conditions,
        "aliases": aliases,
        "unused": _unused(lexicon, spellings),
        "unmatched": dict(sorted(unmatched.items(), key=lambda item: (-item[1][0], item[0]))),
    }
    by_trigger = {trigger: hits for trigger, hits in triggers.items() if hits}
    routes = [f"{path} {count:,} ({doc_id})" for path, (count, doc_id) in report.values["unmatched"].items()]
    by_nobody = f"{n['by_actor']:,} by an actor, {n['by_nobody']:,} by nobody whom the lexicon names"
    report.pairs = [
        ("rule", f"{rule.name}, preset {rule.preset}; lexicon {lexicon.source}"),
        ("documents", f"{n['documents']:,}; {n['with_actor']:,} name an actor of the lexicon"),
        ("", f"{n['with_trigger']:,} have a trigger, {n['with_event']:,} an event without coreference"),
        *([("", by_nobody)] if n["by_nobody"] else []),
        ("triggers", _most(Counter({trigger: hits.total() for trigger, hits in by_trigger.items()}))),
        ("not found", listed([trigger for trigger in triggers if trigger not in by_trigger], _LISTED)),
        ("outcomes", _most(sum(by_trigger.values(), Counter()))),
        ("conditions", _most(conditions)),
        ("actors", _most(Counter({f"{code} {name}": hits[name] for code, hits in aliases.items() for name in hits}))),
        ("ambiguous", f"{n['ambiguous']:,} names"),
        ("unused", f"{len(report.values['unused']):,} names of the lexicon"),
        ("unmatched", listed(routes, _LISTED) or "no actor beside a trigger"),
        *(("note", note) for note in _notes(n, lexicon)),
    ]
    return report


def _notes(n: Counter[str], lexicon: Lexicon) -> Iterator[str]:
    """Yield sentences about probable errors, and about documents of which only one parse was inspected."""
    if n["with_parses"]:
        yield f"the likeliest parse alone is inspected of {counted(n['with_parses'], 'document')} with several"
    if n["documents"] and not n["with_actor"]:
        yield f"no document names an actor of the lexicon {lexicon.source}: check that it is the right one"
    if n["documents"] and not n["with_trigger"]:
        yield "no document has a trigger of the rule: check the lemmas and parts of speech in the file"


def _routes_beside(trigger: TriggerTrace) -> list[str]:
    """Paths from a trigger to the actors in its sentence that fill none of its roles."""
    codes = {single_code for role in trigger.roles for code in role.actors for single_code in code.split(OF)}
    others = [actor.path_from_trigger for actor in trigger.actors if codes.isdisjoint(actor.actor.split(OF))]
    paths = [path for path in others if path is not None and path.count("<") + path.count(">") <= _MOST_STEPS]
    return [path or "the trigger itself" for path in paths]


def _unused(lexicon: Lexicon, spellings: set[str]) -> list[str]:
    """Names of the lexicon that are not in the documents, with their codes."""
    lexicon_file = lexicon_content(lexicon.source)
    names = [(entry.code, alias) for entry in lexicon_file.entries.values() for alias in entry.names]
    names += [(title.code, title.alias) for title in lexicon_file.titles]
    return [f"{code} {alias.written}" for code, alias in names if alias.key not in spellings]


def _most(counts: Counter[str]) -> str:
    """Text with the most frequent items, their numbers, and the number of items that are left out."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return listed([f"{name} {n:,}" for name, n in ordered], _LISTED)
