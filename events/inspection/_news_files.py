"""Report on files of news: their texts, and dates far from all others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import compress

import numpy as np

from corefsample.errors import CorefsampleError, InputError, ParameterHint
from corefsample.languages._language import ENGLISH
from corefsample.scorers import load_scorer
from events._options import Progress
from events.inspection._reports import Report
from events.news._articles import ArticleStream
from events.news._corpus_files import corpus_paths
from events.news._dates import Timeline
from events.news._preparation import KINDS, prepared
from events.news._quality import TextTally

_EXAMPLES = 5  # number of examples of each kind
_EVERY = 100  # number of articles between reports of progress


def check_news(files: Sequence[str], on_progress: Progress | None) -> Report:
    """Read articles, and describe the text that `corefsample score` would leave out of the parse or rewrite.

    A file that cannot be read is listed as a problem of the report, unless it is the only file.
    """
    paths, report = corpus_paths(list(files)), Report(", ".join(files))
    unreadable: list[InputError] = []
    while paths:
        report = Report(report.title)
        try:
            _read_news(report, paths, on_progress)
            break
        except InputError as error:
            _name_option_of_score(error)
            remaining = [path for path in paths if error.place != path and not str(error.place).startswith(f"{path}:")]
            if len(remaining) == len(paths) or (not remaining and not unreadable):
                raise
            paths, unreadable = remaining, [*unreadable, error]
    for problem in report.problems:
        _name_option_of_score(problem)
    report.problems[:0] = unreadable
    report.n_problems += len(unreadable)
    return report


def _name_option_of_score(error: CorefsampleError) -> None:
    """Replace a hint that names a parameter, because `corefsample doctor` has no options for columns and dates."""
    if isinstance(error.hint, ParameterHint):
        option = error.hint.parameter.replace("_", "-")
        error.hint = f"`corefsample score` has --{option}, which {error.hint.effect}"


def _read_news(report: Report, files: Sequence[str], on_progress: Progress | None) -> None:
    """Fill a report with the number of articles, their dates, and examples of text that is left out or changed."""
    stream = ArticleStream(list(files), on_rejected=report.reject)
    knows = load_scorer(ENGLISH).knows
    texts, examples = TextTally(), dict[str, list[str]]()
    dates, first_ids = Counter[str](), dict[str, str]()
    for n_articles, article in enumerate(stream, start=1):
        text = prepared(article, knows, headline=True, paragraphs="blank-line")
        texts += text.tally
        dates[str(article.date)] += 1
        first_ids.setdefault(str(article.date), article.doc_id)
        pairs = zip(text.parsed, text.written, strict=True)
        changed = [("capitals", parsed) for parsed, written in pairs if parsed != written]
        for kind, piece in [*((note.kind, note.text) for note in text.notes), *changed]:
            pieces = examples.setdefault(kind, [])
            if len(pieces) < _EXAMPLES and piece not in pieces:
                pieces.append(piece)
        if on_progress is not None and n_articles % _EVERY == 0:
            on_progress(stream.bytes_read, stream.total_bytes, n_articles)
    n_articles, days = dates.total(), sorted(dates)
    timeline = Timeline(np.array(days, "datetime64[D]"), np.array([dates[day] for day in days], np.int64))
    outliers = timeline.notice(days)
    far = [first_ids[day] for day in compress(days, timeline.outlying())] if outliers else []
    report.values = {
        "n_articles": n_articles,
        "texts": asdict(texts),
        "examples": examples,
        "dates": dates,
        "first_ids": first_ids,
    }
    report.pairs = [
        ("articles", f"{n_articles:,} valid, {report.n_problems:,} bad"),
        ("dates", f"{days[0]} to {days[-1]}" if days else "none"),
        *([("outlying", f"{outliers} Doc_ids: {', '.join(far[:_EXAMPLES])}.")] if outliers else []),
        *((kind, " | ".join(examples[kind])) for kind in (*KINDS, "capitals") if kind in examples),
        *(("texts", notice) for notice in texts.notices()),
    ]
