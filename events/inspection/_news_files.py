"""Report on files of news: their texts, and dates far from all others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import compress

import numpy as np

from corefsample.errors import CorefsampleError, InputError, ParameterHint
from corefsample.languages._language import ENGLISH
from corefsample.scorers import load_scorer
from events._options import Progress
from events.inspection._reports import Report
from events.news._articles import ArticleStream, corpus_paths
from events.news._dates import outlying_dates, outlying_notice
from events.news._preparation import KINDS, prepared
from events.news._quality import TextTally

_EXAMPLES = 5  # number of examples of each kind
_EVERY = 100  # number of articles between reports of progress


def check_news(files: Sequence[str], on_progress: Progress | None) -> Report:
    """Read articles, and describe the text that `corefsample score` would leave out of the parse or rewrite.

    A file that cannot be read is listed as a problem of the report, unless it is the only file.
    """
    paths, report = corpus_paths(list(files)), Report(", ".join(files))
    unreadable: list[CorefsampleError] = []
    texts = _Texts()
    while paths:
        report = Report(report.title)
        try:
            texts = _read(report, paths, on_progress)
            break
        except InputError as error:
            remaining = [path for path in paths if error.place != path and not str(error.place).startswith(f"{path}:")]
            if len(remaining) == len(paths) or (not remaining and not unreadable):
                _name_option_of_score(error)
                raise
            paths, unreadable = remaining, [*unreadable, error]
    report.problems[:0] = unreadable
    report.n_problems += len(unreadable)
    for problem in report.problems:
        _name_option_of_score(problem)
    n_articles, days = texts.dates.total(), sorted(texts.dates)
    by_day = np.array(days, "datetime64[D]"), np.array([texts.dates[day] for day in days], np.int64)
    outliers = outlying_notice(*by_day, days)
    far = [texts.first_ids[day] for day in compress(days, outlying_dates(*by_day))] if outliers else []
    report.values = {
        "n_articles": n_articles,
        "texts": asdict(texts.tally),
        "examples": texts.examples,
        "dates": texts.dates,
        "first_ids": texts.first_ids,
    }
    report.pairs = [
        ("articles", f"{n_articles:,} valid, {report.n_problems:,} bad"),
        ("dates", f"{days[0]} to {days[-1]}" if days else "none"),
        *([("outlying", f"{outliers} Doc_ids: {', '.join(far[:_EXAMPLES])}.")] if outliers else []),
        *((kind, " | ".join(texts.examples[kind])) for kind in (*KINDS, "capitals") if kind in texts.examples),
        *(("texts", notice) for notice in texts.tally.notices()),
    ]
    return report


def _name_option_of_score(error: CorefsampleError) -> None:
    """Replace a hint that names a parameter, because `corefsample doctor` has no options for columns and dates."""
    if isinstance(error.hint, ParameterHint):
        option = error.hint.parameter.replace("_", "-")
        error.hint = f"`corefsample score` has --{option}, which {error.hint.effect}"


@dataclass(slots=True)
class _Texts:
    """What was found in articles: see the values of the report."""

    tally: TextTally = field(default_factory=TextTally)
    examples: dict[str, list[str]] = field(default_factory=dict)
    dates: Counter[str] = field(default_factory=Counter)
    first_ids: dict[str, str] = field(default_factory=dict)


def _read(report: Report, files: Sequence[str], on_progress: Progress | None) -> _Texts:
    """Read articles; collect faults of texts, first examples of text that is left out or changed, and dates."""
    stream, texts = ArticleStream(list(files), on_rejected=report.reject), _Texts()
    knows = load_scorer(ENGLISH).knows
    for n_articles, article in enumerate(stream, start=1):
        text = prepared(article, knows, headline=True, paragraphs="blank-line")
        texts.tally += text.tally
        texts.dates[str(article.date)] += 1
        texts.first_ids.setdefault(str(article.date), article.doc_id)
        pairs = zip(text.parsed, text.written, strict=True)
        changed = [("capitals", parsed) for parsed, written in pairs if parsed != written]
        for kind, piece in [*((note.kind, note.text) for note in text.notes), *changed]:
            pieces = texts.examples.setdefault(kind, [])
            if len(pieces) < _EXAMPLES and piece not in pieces:
                pieces.append(piece)
        if on_progress is not None and n_articles % _EVERY == 0:
            on_progress(stream.bytes_read, stream.total_bytes, n_articles)
    return texts
