"""Check a file of scored mentions, a rule, or a lexicon, and describe its content; or describe the installation.

FILES are scored mentions (.jsonl, .jsonl.gz, .parquet, or - for JSON Lines on standard input), news (.csv, .xml ...
with the columns doc_id, date and text), or YAML files of rules, whose examples are checked, or of lexicons; or the name
of a shipped rule or lexicon. Of news it shows what is recognised as datelines, credits and notes, which texts are in
capitals, and dates far from all others.

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
from collections.abc import Sequence
from typing import Any

from corefsample.errors import ParameterError, ParameterHint
from events import _options as shared
from events._summary import Pairs, Summary
from events.commands._parser import Command
from events.runs._run_options import ARTICLE_OPTIONS, ColumnOptions


@shared.declared
class DoctorOptions(ColumnOptions):
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
    rule: str | None = shared.option(default=None, metavar="RULE")
    preset: str | None = shared.option(default=None, metavar="NAME")
    lexicon: str | None = shared.option(default=None, metavar="FILE")
    scheme: shared.SchemeName | None = None


def run_doctor(
    files: Sequence[str] = (), options: DoctorOptions | None = None, *, on_progress: shared.Progress | None = None
) -> Summary:
    """Check and describe files, or describe the installation.

    Parameters
    ----------
    files
        Paths or globs of files of scored mentions and news, "-" for standard input, YAML files of rules or lexicons,
        and names of shipped rules and lexicons.
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
    options = options or DoctorOptions()
    if options.environment == bool(files):
        hint = ParameterHint("environment", "describes the installation, and takes no files")
        raise ParameterError("must be left out" if files else "are missing", parameter="files", hint=hint)
    if options.environment:
        from events.inspection._reports import describe_environment, pairs_of

        values = describe_environment()
        memory = values["free_memory"]
        shown = {**values, "free_memory": None if memory is None else f"{memory / 2**30:.1f} GiB"}
        return Summary(values=values, shown=[Pairs(f"corefsample {values['corefsample']}", pairs_of(shown))])
    from events.corpora._document_inputs import named_kind
    from events.evidence._rule_set import RuleSet
    from events.inspection import _corpora
    from events.inspection._reports import summary_of_reports
    from events.inspection._rule_checks import check_file, is_rule_or_lexicon, rule_hits
    from events.lexicon._lexicon import load_lexicon

    yaml_files = [name for name in files if is_rule_or_lexicon(name)]
    may_be_news = [name for name in files if name not in yaml_files and name != "-" and not os.path.isdir(name)]
    news = [name for name in may_be_news if named_kind(name, prefer_news=False) == "news"]
    corpus = [name for name in files if name not in (*yaml_files, *news)]
    reports = [check_file(name, options.lexicon, options.scheme)[0] for name in yaml_files]
    if news:
        reports.append(_corpora.check_news(news, options.subset(*ARTICLE_OPTIONS), on_progress))
    if options.rule is not None and not corpus:
        raise ParameterError("needs files of scored mentions, got none", parameter="rule")
    if options.rule is not None and "-" in corpus:
        raise ParameterError("needs files that can be read twice, got standard input", parameter="rule")
    reading: dict[str, Any] = {"scheme": options.scheme, "on_progress": on_progress}
    if options.rule is not None:
        definitions = RuleSet.named([options.rule], options.preset, options.lexicon, examples=False)
        language = definitions.language or ""
        reports.append(_corpora.check_corpus(corpus, lexicon=definitions.lexicon, language=language, **reading))
        reports += [rule_hits(corpus, rule, definitions.lexicon, **reading) for rule in definitions.whole_rules]
    elif corpus:
        lexicon = None if options.lexicon is None else load_lexicon(options.lexicon)
        language = "" if lexicon is None else lexicon.language
        reports.append(_corpora.check_corpus(corpus, lexicon=lexicon, language=language, **reading))
    return summary_of_reports(reports)


command = Command(DoctorOptions, run_doctor, "files*", task="checking")
