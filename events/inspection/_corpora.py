"""Reports on files of scored mentions and on files of news."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np

from corefsample.errors import CorefsampleError, InputError, ParameterHint
from corefsample.formats import DocumentStream
from corefsample.languages._language import ENGLISH, declared_language, differ
from corefsample.scorers import load_scorer
from corefsample.scorers._scoring import known_words
from corefsample.syntax._schemes import fitting_schemes
from events._options import Progress
from events.counts._run_tables import CountNotes
from events.evidence._documents_table import merging_summary, merging_table, sampled_merged_actors
from events.inspection._reports import Report
from events.lexicon._lexicon import Lexicon
from events.news._articles import ArticleStream, corpus_paths
from events.news._preparation import prepared
from events.news._quality import TextTally, outlying_dates, outlying_notice
from events.runs._run_options import ARTICLE_OPTIONS

_SAMPLES = 100  # number of samples of a document, in which merged actors are counted
_EXAMPLES = 5  # number of examples of each kind
_EVERY = 100  # number of articles between reports of progress
_UNDECLARED = "not said"  # in place of a language


def check_corpus(
    files: list[str],
    on_progress: Progress | None,
    *,
    lexicon: Lexicon | None = None,
    scheme: str | None = None,
    language: str = "",
) -> Report:
    """Check files of scored mentions, and describe them; invalid documents are listed as problems of the report.

    With a lexicon, clusterings are sampled to count how often its actors are merged. Documents that declare another
    language than that of the rule and the lexicon are a problem. Of several parses the first is described.
    """
    report = Report(", ".join(files))
    stream = DocumentStream(files, on_rejected=report.reject, parses=True)
    n, schemes, languages = Counter[str](), Counter[str](), Counter[str]()
    sizes, dates = list[int](), list[str]()  # number of mentions of each document; first and last date
    new_mass, words, merged = 0.0, np.zeros(2, np.int64), list[dict[str, object]]()
    for parses, _ in stream.batches(on_progress=on_progress, may_be_empty=lambda: report.n_problems > 0):
        batch, firsts = parses.usual_parses(), parses.firsts.tolist()
        days = batch.dates[~np.isnat(batch.dates)]
        n.update(
            n_documents=len(batch),
            n_candidates=len(batch.candidates[1]),
            n_several_parses=sum(len(parses.parses(row)) > 1 for row in firsts),
            n_dated=len(days),
            n_parsed=int(batch.has_tokens.sum()),
            n_gold=len(batch) - batch.table.column("gold").null_count,
        )
        sizes += np.diff(batch.mentions[0]).tolist()
        if len(days):
            dates = [min([*dates, str(days.min())]), max([*dates, str(days.max())])]
        languages.update(declared_language(batch.metadata(row)) or _UNDECLARED for row in range(len(batch)))
        new_mass += sum(float(batch.antecedents(row).new_probs.sum()) for row in range(len(batch)))
        for row in np.flatnonzero(batch.has_tokens).tolist():
            tokens = batch.tokens(row)
            assert tokens is not None
            schemes[" or ".join(fitting_schemes(tokens.dep)) or "none"] += 1
            words += np.array(known_words(load_scorer(ENGLISH), tokens), np.int64)
            if lexicon is not None:
                with suppress(InputError):  # the report says how many documents fit no scheme
                    document = sampled_merged_actors(parses, firsts[row], lexicon, scheme=scheme, n_samples=_SAMPLES)
                    merged.append(document)
    foreign = {c: count for c, count in languages.items() if c != _UNDECLARED and differ(language or None, c)}
    if foreign:
        texts = ", ".join(f"{count:,} of {code}" for code, count in foreign.items())
        rule = f"documents must be in the language of the rule and the lexicon ({language})"
        hint = "docs/languages.md says how to write rules and lexicons of another language"
        report.add(InputError(f"{rule}, got {texts}", hint=hint))
    merging = merging_summary(merging_table(merged), _SAMPLES)
    if merging is not None:
        report.notes.append(CountNotes(merging).merging())
    report.values = {
        **n,
        "n_mentions": sum(sizes),
        "mentions_quantiles": [min(sizes), float(np.median(sizes)), max(sizes)] if sizes else None,
        "dates": dates,
        "schemes": schemes,
        "languages": languages,
        "known_share": float(words[1] / words[0]) if words[0] else None,  # of the words, by the English model
        "new_mass": new_mass / sum(sizes) if sizes else None,  # mean P(NEW)
        "merged_actors": merging,
    }
    return report


# What no sentence of the article has, but `corefsample score` parses as one.
_DAMAGE = {
    "line end written as \\n": re.compile(r"\S*\\n(?![a-z])\S*"),
    "word divided at a line end": re.compile(r"\b[a-z]+-\n[a-z]+"),
    "link or correction": re.compile(
        r"^[^\S\n]*\(?(?:(?:read more|also read|read also|see also|related|corrections?)\b[^\n:]{0,20}:"
        r"|this (?:story|article) (?:has been|was) corrected)[^\n]*",
        re.IGNORECASE | re.MULTILINE,
    ),
}


def check_news(files: Sequence[str], columns: Mapping[str, Any], on_progress: Progress | None) -> Report:
    """Read articles, and describe the text that `corefsample score` would leave out of the parse or rewrite.

    A file that cannot be read is listed as a problem of the report, unless it is the only file. `columns` are options
    of `ArticleStream`.
    """
    paths, unreadable = corpus_paths(list(files)), list[CorefsampleError]()
    while True:
        report = Report(", ".join(files))
        try:
            if paths:
                _read_news(report, paths, columns, on_progress)
            break
        except InputError as error:
            remaining = [path for path in paths if error.place != path and not str(error.place).startswith(f"{path}:")]
            if len(remaining) == len(paths) or (not remaining and not unreadable):
                raise _with_option_of_score(error) from None
            paths, unreadable = remaining, [*unreadable, error]
    report.problems = list(map(_with_option_of_score, [*unreadable, *report.problems]))
    report.n_problems += len(unreadable)
    return report


def _with_option_of_score(error: CorefsampleError) -> CorefsampleError:
    """An error whose hint names an option of `score`, if `doctor` has no such option."""
    if isinstance(error.hint, ParameterHint) and error.hint.parameter not in ARTICLE_OPTIONS:
        error.hint = f"`corefsample score` has --{error.hint.parameter}: {error.hint.effect}"
    return error


def _read_news(report: Report, files: list[str], columns: Mapping[str, Any], on_progress: Progress | None) -> None:
    """Report faults of texts, first examples of text that is left out or changed, and dates."""
    stream, knows = ArticleStream(files, on_rejected=report.reject, **columns), load_scorer(ENGLISH).knows
    tally, n_by_date, n_damaged, first_ids = TextTally(), Counter[str](), Counter[str](), dict[str, str]()
    examples: dict[str, list[str]] = {}
    for n_articles, article in enumerate(stream, start=1):
        text = prepared(article, knows, headline=True, paragraphs="blank-line")
        tally += text.tally
        n_by_date[str(article.date)] += 1
        first_ids.setdefault(str(article.date), article.doc_id)
        pairs = zip(text.parsed, text.written, strict=True)
        changed = [("capitals", parsed) for parsed, written in pairs if parsed != written]
        damaged = [(kind, each.group()) for kind, form in _DAMAGE.items() for each in form.finditer(article.text)]
        n_damaged.update({kind for kind, _ in damaged})
        for kind, piece in [*text.notes, *changed, *damaged]:
            pieces = examples.setdefault(kind, [])
            if len(pieces) < _EXAMPLES and piece not in pieces:
                pieces.append(piece)
        if on_progress is not None and n_articles % _EVERY == 0:
            on_progress(stream.bytes_read, stream.total_bytes, n_articles)
    names = sorted(n_by_date)
    days, counts = np.array(names, "datetime64[D]"), np.array([n_by_date[name] for name in names], np.int64)
    report.values = {
        "n_articles": tally.n_texts,
        "dates": [names[0], names[-1]] if names else [],
        "outlying": [first_ids[names[day]] for day in np.flatnonzero(outlying_dates(days, counts))],
        "examples": examples,
        "texts": asdict(tally),
    }
    damage = ", ".join(f"{kind} {n_damaged[kind]:,}" for kind in _DAMAGE if n_damaged[kind])
    notice = f"Texts whose damage stays in what is parsed: {damage}. Clean them first." if damage else ""
    report.notes = [*filter(None, [outlying_notice(days, counts, names), notice]), *tally.notices()]
