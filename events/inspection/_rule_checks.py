"""Reports on files of rules, outcomes and lexicons, and on the hits of a rule and a lexicon in a corpus."""

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

from corefsample.errors import InputError, ParameterError
from corefsample.formats import DocumentStream
from corefsample.syntax._schemes import SCHEMES
from events._options import Progress
from events._summary import counted
from events._yaml_file import file_bytes, read_yaml
from events.evidence._examples import ExampleResult, example_results
from events.evidence._rule_set import RuleSet, check_classes
from events.inspection._reports import Report
from events.inspection._trigger_traces import traced
from events.lexicon._file import OF, SHIPPED_LEXICONS, LexiconContent, lexicon_content
from events.lexicon._lexicon import Lexicon, load_lexicon
from events.matching._screening import RuleMatcher
from events.matching._tracing import COUNTED, TriggerTrace
from events.rules._format import RuleFile
from events.rules._rules import Rule, is_outcome_file, is_shipped_rule, presets_of, rule_file

_YAML = (".yaml", ".yml")
_MOST_STEPS = 3  # longest path from a trigger to an actor that is reported, because longer paths are accidental
_HITS = ("documents", "with_actor", "with_trigger", "with_parses", "with_event", "by_actor", "by_nobody", "ambiguous")


def is_rule_or_lexicon(name: str) -> bool:
    """Whether a name ends like that of a YAML file, or is the name of a shipped rule or lexicon."""
    return name.endswith(_YAML) or ((is_shipped_rule(name) or name in SHIPPED_LEXICONS) and not os.path.exists(name))


def check_file(name: str, lexicon: str | None, scheme: str | None) -> tuple[Report, list[ExampleResult]]:
    """Check a rule or a lexicon; a file with entries, or one that extends a lexicon, is a lexicon.

    Parameters
    ----------
    name
        Path of a YAML file, or name of a shipped rule or lexicon.
    lexicon
        Lexicon for the classes of a rule's roles, and for examples that define no words; by default, the lexicon of
        countries.
    scheme
        Dependency scheme in which every preset must be able to match. By default no scheme is required, and the schemes
        in which each preset matches are reported.

    Returns
    -------
    Report
        What the file has, and its faults.
    list of ExampleResult
        Results of the examples of a rule.
    """
    report, examples = Report(name), list[ExampleResult]()
    try:
        file = read_yaml(name, file_bytes(name)) if name.endswith(_YAML) else None
        is_lexicon = isinstance(file, dict) and ("entries" in file or file.get("extends") in SHIPPED_LEXICONS)
        if name in SHIPPED_LEXICONS or is_lexicon:
            # Codes of the file itself come first, those of lexicons that it extends last.
            codes = {entry["code"] for entry in file.get("entries", ())} if isinstance(file, dict) else set()
            report.values = _of_lexicon(lexicon_content(name), codes)
        elif is_outcome_file(file):
            try:
                definitions = RuleSet.named([name], None, lexicon)
            except ParameterError as error:
                raise error.as_input_error(name) from None
            report.values = {
                "rules": {rule.name: rule.source for rule in definitions.whole_rules},
                "lexicon": definitions.lexicon.source,
                **{f"outcome {each.title or each.name}": str(each) for each in definitions.outcomes},
            }
        else:
            examples = _check_rule(report, name, None if lexicon is None else load_lexicon(lexicon), scheme)
    except InputError as error:
        report.add(error)
    return report, examples


def _check_rule(report: Report, name: str, lexicon: Lexicon | None, scheme: str | None) -> list[ExampleResult]:
    """Report the triggers and roles of a rule, and for each preset its examples and the schemes in which it matches."""
    file, sources = rule_file(name)
    presets, gaps, examples = presets_of(file, sources), _path_gaps(file), list[ExampleResult]()
    first = presets[0]
    report.values = {
        "rule": first.name,
        "triggers": ", ".join(sorted({trigger for rule in presets for trigger in rule.triggers.split(", ")})),
        "upos": sorted({upos for rule in presets for upos in rule.upos}),
        "event": " > ".join(first.event) or "no role: documents are counted",
        "language": first.language,
    }
    if lexicon is not None:
        report.values["lexicon"] = lexicon.source
        try:
            check_classes(first, lexicon)
        except InputError as error:
            report.add(error)
    for rule in presets:
        results = list(example_results(rule, lexicon))
        examples += results
        fault = next((result.fault for result in results if result.fault is not None), None)
        counts = Counter(example.scheme for example in rule.examples if rule.preset in example.expect)
        by_scheme = ", ".join(f"{key} {counts[key]:,}" for key in SCHEMES if counts[key])
        outcome = f"examples hold ({len(results):,}: {by_scheme})" if results else "no examples"
        if fault is not None:
            outcome = "an example fails"
            # An example that cannot be read fails in every preset with the same error.
            if str(fault) not in map(str, report.problems):
                report.add(fault)
        gaps_of_served = {name: ", ".join(gaps[rule.preset, name]) for name in SCHEMES if rule.serves(name)}
        served = [f"{name} (without {paths})" if paths else name for name, paths in gaps_of_served.items()]
        report.values[f"preset {rule.preset}"] = f"{outcome}; serves {', '.join(served) or 'no scheme'}"
        if scheme is not None and (gaps[rule.preset, scheme] or scheme not in gaps_of_served):
            problem = f"every role must have a path in {scheme}, got a role without one"
            if gaps[rule.preset, scheme]:
                problem = f"every path must be given in {scheme}, got none for {', '.join(gaps[rule.preset, scheme])}"
            report.add(InputError(problem, place=f"{rule.source}: presets.{rule.preset}"))
    return examples


def _of_lexicon(lexicon: LexiconContent, codes: set[Any]) -> dict[str, Any]:
    """Values that describe a lexicon; the entries of `codes` come first."""
    entries = [lexicon.entries[code] for code in sorted(lexicon.entries, key=lambda each: (each not in codes, each))]
    aliases = [alias for entry in entries for alias in entry.names]
    return {
        "n_codes": len(entries),
        "kinds": Counter(entry.kind for entry in entries),
        "names": [f"{entry.code} {entry.name}" for entry in entries],
        "n_aliases": len(aliases),
        "n_cased": sum(alias.cased for alias in aliases),
        "ambiguous": [f"{alias.written} ({', '.join(codes)})" for alias, codes in lexicon.ambiguous.values()],
        "n_titles": len(lexicon.titles),
        "n_no_country": len(lexicon.not_countries),
        "dated": [f"{e.code} ({e.start or ''} to {e.end or ''})" for e in entries if e.start or e.end],
    }


def _path_gaps(file: RuleFile) -> dict[tuple[str, str], list[str]]:
    """Named paths that never match documents of a scheme, with their uses, by preset and scheme.

    A use is "described", or the name of a role, with its frame if the file has frames.
    """
    gaps: dict[tuple[str, str], list[str]] = {}
    for preset in file.presets:
        resolved = file.resolved(preset)
        uses = {("described", path): None for path in resolved.described or ()}
        for frame in file.all_frames():
            if resolved.frames is None or frame.name in resolved.frames:
                for role, paths in {**(resolved.roles or {}), **frame.roles}.items():
                    use = f"{role}, frame {frame.name}" if file.frames else role
                    uses |= {(use, path): None for path in paths}
        for scheme in SCHEMES:
            gaps[preset, scheme] = [
                f"{path} ({use})"
                for use, path in uses
                if not (file.paths[path].get(scheme) if path in file.paths else path in SCHEMES[scheme].paths)
            ]
    return gaps


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
        `TriggerTrace`); triggers by condition of the preset that holds; hits of the lexicon's names; and for each path
        from a trigger to an actor that fills no role its hits and first document.

    Raises
    ------
    ParameterError, InputError
        If a file cannot be read. Invalid documents are listed as problems of the report instead.
    """
    report, n = Report(", ".join(files)), Counter(dict.fromkeys(_HITS, 0))
    triggers: dict[str, Counter[str]] = {trigger: Counter() for trigger in sorted(rule.triggers.split(", "))}
    conditions = Counter[str]()
    aliases: dict[str, Counter[str]] = {}
    unmatched: dict[str, tuple[int, str]] = {}
    stream = DocumentStream(files, needs=("tokens",), on_rejected=report.reject, parses=True)
    screen = RuleMatcher(rule, lexicon, scheme)
    for batch, traces in traced(stream, [rule], screen, on_progress, may_be_empty=lambda: bool(report.problems)):
        n["with_parses"] += sum(len(batch.parses(row)) > 1 for row in batch.firsts.tolist())
        for row, ((of_triggers, names),) in traces.items():
            is_named = [trigger.is_named for trigger in of_triggers if trigger.outcome == COUNTED]
            n.update(
                documents=1,
                with_actor=bool(names.codes),
                with_trigger=bool(of_triggers),
                with_event=bool(is_named),
                by_actor=any(is_named),
                by_nobody=not all(is_named),
                ambiguous=names.n_ambiguous,
            )
            tokens = batch.tokens(row)
            assert tokens is not None  # the stream needs them
            for token, code in names.codes.items():
                start, end = names.spans[token]
                aliases.setdefault(code, Counter())[" ".join(tokens.text[start:end]).casefold()] += 1
            for trigger in of_triggers:
                triggers[trigger.trigger][trigger.outcome] += 1
                conditions.update(trigger.conditions)
                for route in _routes_beside(trigger):
                    count, first = unmatched.get(route, (0, batch.doc_ids[row]))
                    unmatched[route] = count + 1, first
    report.values = {
        "rule": rule.name,
        "preset": rule.preset,
        "lexicon": lexicon.source,
        **{f"n_{name}": n[name] for name in _HITS},
        "triggers": {trigger: hits for trigger, hits in triggers.items() if hits},
        "triggers_without_hits": [trigger for trigger, hits in triggers.items() if not hits],
        "conditions": conditions,
        "aliases": aliases,
        "unmatched": unmatched,
    }
    if n["with_parses"]:
        several = counted(n["with_parses"], "document")
        report.notes.append(f"the likeliest parse alone is inspected of {several} with several")
    if n["documents"] and not n["with_actor"]:
        report.notes.append(f"no document names an actor of the lexicon {lexicon.source}: is it the right one?")
    if n["documents"] and not n["with_trigger"]:
        report.notes.append("no document has a trigger of the rule: check the lemmas and parts of speech in the file")
    return report


def _routes_beside(trigger: TriggerTrace) -> list[str]:
    """Paths from a trigger to the actors in its sentence that fill none of its roles."""
    codes = {single_code for role in trigger.roles for code in role.actors for single_code in code.split(OF)}
    others = [actor.path_from_trigger for actor in trigger.actors if codes.isdisjoint(actor.actor.split(OF))]
    paths = [path for path in others if path is not None and path.count("<") + path.count(">") <= _MOST_STEPS]
    return [path or "the trigger itself" for path in paths]
