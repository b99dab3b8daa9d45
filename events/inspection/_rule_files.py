"""Reports on files of rules, outcomes and lexicons."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

from corefsample.errors import InputError, ParameterError
from corefsample.syntax._schemes import SCHEMES
from events._summary import listed
from events._yaml_file import file_bytes, read_yaml
from events.evidence._examples import ExampleResult, example_results
from events.evidence._rule_set import RuleSet, check_classes
from events.inspection._reports import Report
from events.lexicon._entries import LexiconContent
from events.lexicon._file import SHIPPED_LEXICONS, lexicon_content
from events.lexicon._lexicon import Lexicon, load_lexicon
from events.rules._format import RuleFile
from events.rules._rules import is_outcome_file, is_shipped_rule, presets_of, rule_file

_LISTED = 5  # number of names that are listed
_YAML = (".yaml", ".yml")


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
            report.pairs = _lexicon_pairs(lexicon_content(name), codes)
        elif is_outcome_file(file):
            report.pairs = _outcome_pairs(name, lexicon)
        else:
            examples = _check_rule(report, name, None if lexicon is None else load_lexicon(lexicon), scheme)
    except InputError as error:
        report.add(error)
    report.values = dict(report.pairs)
    return report, examples


def _outcome_pairs(name: str, lexicon: str | None) -> list[tuple[str, str]]:
    """Describe the rules and outcomes of a file of outcomes; raise InputError if one is invalid."""
    try:
        definitions = RuleSet.named([name], None, lexicon)
    except ParameterError as error:
        raise error.as_input_error(name) from None
    return [
        ("rules", ", ".join(f"{rule.name} ({rule.source})" for rule in definitions.whole_rules)),
        ("lexicon", definitions.lexicon.source),
        *((f"outcome {each.title or each.name}", str(each)) for each in definitions.outcomes),
    ]


def _check_rule(report: Report, name: str, lexicon: Lexicon | None, scheme: str | None) -> list[ExampleResult]:
    """Report the triggers and roles of a rule, and for each preset its examples and the schemes in which it matches."""
    file, sources = rule_file(name)
    presets, gaps, examples = presets_of(file, sources), _path_gaps(file), list[ExampleResult]()
    first = presets[0]
    triggers = {trigger for rule in presets for trigger in rule.triggers.split(", ")}
    upos = sorted({upos for rule in presets for upos in rule.upos})
    report.pairs = [
        ("rule", first.name),
        ("triggers", f"{', '.join(sorted(triggers))} ({', '.join(upos)})"),
        ("event", " > ".join(first.event) or "no role: documents are counted"),
        *([("language", first.language)] if first.language else []),
        *([] if lexicon is None else [("lexicon", lexicon.source)]),
    ]
    if lexicon is not None:
        try:
            check_classes(first, lexicon)
        except InputError as error:
            report.add(error)
    for rule in presets:
        results = list(example_results(rule, lexicon))
        examples += results
        fault = next((result.fault for result in results if result.fault is not None), None)
        counts = Counter(example.scheme for example in rule.examples if rule.preset in example.expect)
        by_scheme = ", ".join(
            f"{scheme_name} {counts[scheme_name]:,}" for scheme_name in SCHEMES if counts[scheme_name]
        )
        outcome = f"examples hold ({len(results):,}{': ' * bool(results)}{by_scheme})"
        if fault is not None:
            outcome = "an example fails"
            # An example that cannot be read fails in every preset with the same error.
            if str(fault) not in map(str, report.problems):
                report.add(fault)
        gaps_of_served = {name: ", ".join(gaps[rule.preset, name]) for name in SCHEMES if rule.serves(name)}
        served = [f"{name} (without {paths})" if paths else name for name, paths in gaps_of_served.items()]
        report.pairs.append((f"preset {rule.preset}", f"{outcome}; serves {', '.join(served) or 'no scheme'}"))
        if scheme is not None and (gaps[rule.preset, scheme] or scheme not in gaps_of_served):
            problem = f"every role must have a path in {scheme}, got a role without one"
            if gaps[rule.preset, scheme]:
                problem = f"every path must be given in {scheme}, got none for {', '.join(gaps[rule.preset, scheme])}"
            report.add(InputError(problem, place=f"{rule.source}: presets.{rule.preset}"))
    return examples


def _lexicon_pairs(lexicon: LexiconContent, codes: set[Any]) -> list[tuple[str, str]]:
    entries = [lexicon.entries[code] for code in sorted(lexicon.entries, key=lambda each: (each not in codes, each))]
    aliases = [alias for entry in entries for alias in entry.names]
    kinds = Counter(entry.kind for entry in entries)
    declared = [f"{alias.written} ({', '.join(codes)})" for alias, codes in lexicon.ambiguous.values()]
    dated = [f"{e.code} ({e.start or ''} to {e.end or ''})" for e in entries if e.start or e.end]
    return [
        ("lexicon", f"{len(entries):,} codes: {', '.join(f'{n:,} {kind}' for kind, n in kinds.items())}"),
        ("names", listed([f"{entry.code} {entry.name}" for entry in entries], _LISTED)),
        ("aliases", f"{len(aliases):,}, {sum(alias.cased for alias in aliases):,} of them only as written"),
        ("ambiguous", f"{len(declared):,}{': ' * bool(declared)}{listed(declared, _LISTED)}"),
        ("titles", f"{len(lexicon.titles):,}"),
        ("no country", f"{len(lexicon.not_countries):,} names"),
        ("dated", f"{len(dated):,} codes{': ' * bool(dated)}{listed(dated, _LISTED)}"),
    ]


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
