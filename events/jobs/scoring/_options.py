"""Options of scoring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from corefsample import _checks
from corefsample.documents import ON_ERROR
from corefsample.errors import ParameterError
from corefsample.syntax import scheme_names
from events.jobs.convert import CLUSTERINGS
from events.jobs.scoring._parsing import PARAGRAPHS
from events.news import require_repair

MENTIONS = ("annotated", "parse")
CLUSTERS = tuple(name for name in CLUSTERINGS if name != "gold")
MOST_PARSES = 10_000  # all parses of a text are in memory
ARTICLE_OPTIONS = ("text_column", "date_column", "id_column", "title_column", "date_format")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """How to score.

    Attributes
    ----------
    model
        Model file; None: the English model of the package.
    mentions
        "annotated": the mentions of the documents; "parse": mentions found in the parse. None: "annotated", but for
        text "parse".
    pipeline
        spaCy pipeline that parses text: a package or a folder. Required for news and for documents without a parse, and
        only for these.
    parses
        Number of parses drawn of each text, from 1 to 10,000; None: the pipeline's own parse alone. A document is then
        a weighted mixture of the different ones, and the file has version 2.
    parse_temperature
        Above 0: below 1 parses vary less than the parser's probabilities say, above 1 more. None: that of the
        pipeline, see `corefsample.spacy_bridge.parse_temperature`.
    recalibration
        Record of `corefsample recalibrate` to apply to the scores; "english": that of the English model; "none":
        leave them as they are. None: that of the model, which only the English model of the package has.
    min_prob
        In [0, 1): candidates below this probability are left out.
    scheme
        ud2, ud1 or clearnlp; None: detected from the labels of each document.
    headline
        Whether the headline of news is parsed as its first paragraph; it is always kept as the metadata `title`.
    paragraphs
        "blank-line": blank lines separate paragraphs. "line": each line is a paragraph.
    fix_text
        Whether ftfy (extra `text`) repairs the text and the headline of news before they are parsed: characters of a
        wrong encoding, HTML entities, control characters.
    text_column, date_column, id_column, title_column
        Columns of tables of news; `id_column` None: articles are numbered in their file, "news.csv#1".
    date_format
        Format of the dates in tables of news, for `datetime.datetime.strptime`; None: ISO dates.
    entity_fields
        Fields of ``Entity=`` for CoNLL-U files that do not declare them.
    clusters
        Clustering of each document to write as well, in CorefUD: "map", "sample", or a loss of
        `corefsample.summaries.point_estimate`, such as "binder". None: scores only.
    on_error
        "stop" at the first bad document, or "quarantine" it and continue.
    """

    model: str | None = None
    mentions: str | None = None
    pipeline: str | None = None
    parses: int | None = None
    parse_temperature: float | None = None
    recalibration: str | None = None
    min_prob: float = 1e-4
    scheme: str | None = None
    headline: bool = True
    paragraphs: str = "blank-line"
    fix_text: bool = False
    text_column: str = "text"
    date_column: str = "date"
    id_column: str | None = "doc_id"
    title_column: str = "title"
    date_format: str | None = None
    entity_fields: str | None = None
    clusters: str | None = None
    on_error: str = "stop"

    def __post_init__(self) -> None:
        _checks.probability("min_prob", self.min_prob, below_one=True)
        _checks.choice("on_error", self.on_error, ON_ERROR)
        _checks.choice("paragraphs", self.paragraphs, PARAGRAPHS)
        if self.mentions is not None:
            _checks.choice("mentions", self.mentions, MENTIONS)
        if self.scheme is not None:
            _checks.choice("scheme", self.scheme, scheme_names())
        if self.clusters is not None:
            _checks.choice("clusters", self.clusters, CLUSTERS)
        if self.fix_text:
            require_repair()
            if self.pipeline is None:
                raise ParameterError("is for text that a pipeline parses, got no pipeline", parameter="fix_text")
        if self.parses is not None:
            _checks.at_most("parses", _checks.whole("parses", self.parses, 1), MOST_PARSES)
            if self.pipeline is None:
                raise ParameterError("is for text that a pipeline parses, got no pipeline", parameter="parses")
        if self.parse_temperature is not None:
            _checks.above_zero("parse_temperature", self.parse_temperature)
            if self.parses is None:
                raise ParameterError("is for sampled parses, got no number of parses", parameter="parse_temperature")

    def article_options(self) -> dict[str, Any]:
        """Keywords of `events.news.ArticleStream`."""
        return {name: getattr(self, name) for name in ARTICLE_OPTIONS}
