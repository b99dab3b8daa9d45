"""Check of rule and lexicon files for `corefsample doctor`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from corefsample.errors import CorefsampleError, InputError, ParameterError
from corefsample.syntax._schemes import SCHEMES
from events._summary import listed
from events._yaml_file import file_bytes, read_yaml
from events.commands._reading import CheckReport
from events.counting._definitions import Definitions, check_classes
from events.counting._examples import ExampleResult, example_results
from events.lexicon._content import LexiconContent
from events.lexicon._file import SHIPPED_LEXICONS, lexicon_content
from events.lexicon._lexicon import Lexicon, load_lexicon
from events.rules._format import RuleFile
from events.rules._rules import Rule, is_outcome_file, is_shipped_rule, load_presets, rule_file

_LISTED = 5  # number of names that are listed
_YAML = (".yaml", ".yml")


@dataclass(slots=True, kw_only=True)
class FileReport(CheckReport):
    """Report on a rule or lexicon file: pairs of name and value, problems, and results of a rule's examples."""

    pairs: list[tuple[str, str]] = field(default_factory=list)
    examples: list[ExampleResult] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        problems = [str(problem) for problem in self.problems]
        return {"title": self.title, **dict(self.pairs), "n_problems": self.n_problems, "problems": problems}

    def lines(self) -> list[tuple[str, str]]:
        """Pairs of name and value, to print."""
        return self.pairs


def is_rule_or_lexicon(name: str) -> bool:
    """Whether a name ends like that of a YAML file, or is the name of a shipped rule or lexicon."""
    return name.endswith(_YAML) or ((is_shipped_rule(name) or name in SHIPPED_LEXICONS) and not os.path.exists(name))


def check_file(name: str, lexicon: str | None, scheme: str | None) -> FileReport:
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
    """
    report = FileReport(title=name)
    try:
        file = read_yaml(name, file_bytes(name)) if name.endswith(_YAML) else None
        if name in SHIPPED_LEXICONS or _is_lexicon(file):
            report.pairs = _lexicon_pairs(lexicon_content(name), _codes(file))
        elif is_outcome_file(file):
            _check_outcomes(report, name, lexicon)
        else:
            _check_rule(report, name, None if lexicon is None else load_lexicon(lexicon), scheme)
    except InputError as error:
        report.problems.append(error)
    report.n_problems = len(report.problems)
    return report


def _is_lexicon(file: Any) -> bool:
    return isinstance(file, dict) and ("entries" in file or file.get("extends") in SHIPPED_LEXICONS)


def _check_outcomes(report: FileReport, name: str, lexicon: str | None) -> None:
    """Report the rules and outcomes of a file of outcomes; an invalid rule or outcome is a problem of the report."""
    try:
        definitions = Definitions.named([name], None, lexicon)
    except ParameterError as error:
        raise error.as_input_error(name) from None
    report.pairs = [
        ("rules", ", ".join(f"{rule.name} ({rule.source})" for rule in definitions.whole_rules)),
        ("lexicon", definitions.lexicon.source),
        *((f"outcome {each.title or each.name}", str(each)) for each in definitions.outcomes),
    ]


def _check_rule(report: FileReport, name: str, lexicon: Lexicon | None, scheme: str | None) -> None:
    """Report the triggers and roles of a rule, and for each preset its examples and the schemes in which it matches."""
    presets, gaps = load_presets(name), path_gaps(name)
    rule_of_first = presets[0]
    triggers = dict.fromkeys(trigger for rule in presets for trigger in rule.triggers.split(", "))
    upos = sorted({upos for rule in presets for upos in rule.upos})
    report.pairs = [
        ("rule", rule_of_first.name),
        ("triggers", f"{', '.join(sorted(triggers))} ({', '.join(upos)})"),
        ("event", " > ".join(rule_of_first.event) or "no role: documents are counted"),
        *([("language", rule_of_first.language)] if rule_of_first.language else []),
    ]
    if lexicon is not None:
        report.pairs.append(("lexicon", lexicon.source))
        try:
            check_classes(rule_of_first, lexicon)
        except InputError as error:
            report.problems.append(error)
    for rule in presets:
        results = list(example_results(rule, lexicon))
        report.examples += results
        fault = next((result.fault for result in results if result.fault is not None), None)
        outcome = f"examples hold ({len(results):,}{': ' * bool(results)}{_by_scheme(rule)})"
        if fault is not None:
            outcome = "an example fails"
            # An example that cannot be read fails in every preset with the same error.
            if str(fault) not in map(str, report.problems):
                report.problems.append(fault)
        report.pairs.append((f"preset {rule.preset}", f"{outcome}; serves {_served(rule, gaps)}"))
        if scheme is not None:
            report.problems += _scheme_problems(rule, gaps[rule.preset, scheme], scheme)


def _by_scheme(rule: Rule) -> str:
    """Text with the number of examples of the preset in each scheme."""
    counts = Counter(example.scheme for example in rule.examples if rule.preset in example.expect)
    return ", ".join(f"{scheme} {counts[scheme]:,}" for scheme in SCHEMES if counts[scheme])


def _served(rule: Rule, gaps: Mapping[tuple[str, str], Sequence[str]]) -> str:
    """Text that lists the schemes in which a preset matches, each with the paths that it lacks there."""
    missing_paths = {scheme: ", ".join(gaps[rule.preset, scheme]) for scheme in SCHEMES if rule.serves(scheme)}
    texts = (f"{scheme} (without {paths})" if paths else scheme for scheme, paths in missing_paths.items())
    return ", ".join(texts) or "no scheme"


def _scheme_problems(rule: Rule, lacking: Sequence[str], scheme: str) -> list[CorefsampleError]:
    """Errors for a preset that cannot match in a scheme, or lacks some paths in it."""
    location = f"{rule.source}: presets.{rule.preset}"
    if lacking:
        return [InputError(f"every path must be given in {scheme}, got none for {', '.join(lacking)}", place=location)]
    if not rule.serves(scheme):
        return [InputError(f"every role must have a path in {scheme}, got a role without one", place=location)]
    return []


def _codes(lexicon: Any) -> set[Any]:
    """Codes of the entries in the YAML file of a lexicon, without those of lexicons that it extends."""
    return {entry["code"] for entry in lexicon.get("entries", ())} if lexicon else set()


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


def path_gaps(rule: str | os.PathLike[str]) -> dict[tuple[str, str], list[str]]:
    """Named paths that never match documents of a scheme, with their uses, by preset and scheme.

    A use is "described", or the name of a role, with its frame if the file has frames.

    Parameters
    ----------
    rule
        Name of a shipped rule, or path of a YAML file: see `load_rules`, which raises the same errors.
    """
    file, _ = rule_file(rule)
    return {
        (preset, scheme): [f"{path} ({use})" for use, path in _used(file, preset) if not _has(file, path, scheme)]
        for preset in file.presets
        for scheme in SCHEMES
    }


def _used(file: RuleFile, preset: str) -> dict[tuple[str, str], None]:
    """Uses and names of the paths of a preset, without repetitions."""
    preset_content = file.resolved(preset)
    uses = {("described", path): None for path in preset_content.described or ()}
    for frame in file.all_frames():
        if preset_content.frames is not None and frame.name not in preset_content.frames:
            continue
        for role, paths in {**(preset_content.roles or {}), **frame.roles}.items():
            use = f"{role}, frame {frame.name}" if file.frames else role
            uses |= {(use, path): None for path in paths}
    return uses


def _has(file: RuleFile, path: str, scheme: str) -> bool:
    return bool(file.paths[path].get(scheme)) if path in file.paths else path in SCHEMES[scheme].paths
