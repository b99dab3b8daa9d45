"""What `corefsample doctor` says about files of news: what is recognised in the texts, and their dates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import compress
from typing import Any

import numpy as np

from corefsample.errors import CorefsampleError, InputError, ParameterHint
from corefsample.languages._language import ENGLISH
from corefsample.scorers import load_scorer
from events._options import Progress
from events.commands._reading import Report
from events.news._articles import ArticleStream
from events.news._dates import outlying
from events.news._notices import outlying_notice
from events.news._preparation import KINDS, prepared
from events.news._quality import TextTally

_EXAMPLES = 5  # of each kind
_EVERY = 100  # articles between reports of progress


@dataclass(slots=True, kw_only=True)
class NewsReport(Report):
    """Content of files of news.

    Attributes
    ----------
    n_articles
        Good articles.
    texts
        Counts of their texts by what was recognised and what is wrong.
    examples
        By kind of what is not parsed, the first pieces as they are written; "capitals": the first paragraphs that are
        parsed in another case, as they are parsed.
    dates, first_ids
        Articles by date, and the doc_id of the first of each.
    """

    n_articles: int = 0
    texts: TextTally = field(default_factory=TextTally)
    examples: dict[str, list[str]] = field(default_factory=dict)
    dates: Counter[str] = field(default_factory=Counter)
    first_ids: dict[str, str] = field(default_factory=dict)

    def _more(self) -> dict[str, Any]:
        return {"texts": asdict(self.texts)}

    def lines(self) -> list[tuple[str, str]]:
        """Pairs of name and value, to print."""
        dates = sorted(self.dates)
        days, numbers = np.array(dates, "datetime64[D]"), np.array([self.dates[day] for day in dates], np.int64)
        outliers = outlying_notice(days, numbers, dates) if dates else ""
        far = [self.first_ids[day] for day in compress(dates, outlying(days, numbers))] if dates else []
        examples = [(kind, " | ".join(self.examples[kind])) for kind in (*KINDS, "capitals") if kind in self.examples]
        return [
            ("articles", f"{self.n_articles:,} valid, {self.n_problems:,} bad"),
            ("dates", f"{dates[0]} to {dates[-1]}" if dates else "none"),
            *([("outlying", f"{outliers} Doc_ids: {', '.join(far[:_EXAMPLES])}.")] if outliers else []),
            *examples,
            *(("texts", notice) for notice in self.texts.notices()),
        ]


def check_news(files: Sequence[str], on_progress: Progress | None) -> NewsReport:
    """Read articles, and describe what `corefsample score` would leave out of the parse and rewrite."""
    report = NewsReport(title=", ".join(files))
    try:
        _read_news(report, files, on_progress)
    except InputError as error:
        _name_option_of_score(error)
        raise
    for problem in report.problems:
        _name_option_of_score(problem)
    return report


def _name_option_of_score(error: CorefsampleError) -> None:
    """Replace a hint at a parameter: `corefsample doctor` has no options for columns and dates of articles."""
    if isinstance(error.hint, ParameterHint):
        option = error.hint.parameter.replace("_", "-")
        error.hint = f"`corefsample score` has --{option}, which {error.hint.effect}"


def _read_news(report: NewsReport, files: Sequence[str], on_progress: Progress | None) -> None:
    stream = ArticleStream(list(files), on_rejected=report.reject)
    knows = load_scorer(ENGLISH).knows
    for article in stream:
        text = prepared(article, knows, headline=True, paragraphs="blank-line")
        report.n_articles += 1
        report.texts += text.tally
        report.dates[str(article.date)] += 1
        report.first_ids.setdefault(str(article.date), article.doc_id)
        changed = [("capitals", one) for one, other in zip(text.parsed, text.written, strict=True) if one != other]
        for kind, piece in [*((note.kind, note.text) for note in text.notes), *changed]:
            listed = report.examples.setdefault(kind, [])
            if len(listed) < _EXAMPLES and piece not in listed:
                listed.append(piece)
        if on_progress is not None and report.n_articles % _EVERY == 0:
            on_progress(stream.bytes_read, stream.total_bytes, report.n_articles)
