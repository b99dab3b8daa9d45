"""Options of scoring."""

from __future__ import annotations

from typing import Any, Literal

from events import _shared_options as shared
from events._options import Options, declared, option
from events.news._quality import Duplicates

PREPARING = ("headline", "paragraphs", "as_written")  # keywords of `events.news._preparation.prepared`
ARTICLE_OPTIONS = ("text_column", "date_column", "id_column", "title_column", "date_format")


@declared
class ReadingOptions(Options):
    """Options of reading and parsing texts.

    Attributes
    ----------
    pipeline
        Name or folder of the spaCy pipeline that parses the texts, such as en_core_web_sm. Required for news, and for
        annotated corpora without a parse.
    date_format
        Format of the dates in tables, such as %m/%d/%Y. [default: ISO dates, 1999-05-31]
    date_column
        Column with the date of each article.
    text_column
        Column with the text of each article.
    id_column
        Column with the identifier of each article, unique in the corpus.
    title_column
        Column with the headline of each article, if there is one.
    headline
        Parse the headline as the first paragraph of the text.
    paragraphs
        Separator of the paragraphs of a text: a blank line, or the end of each line.
    as_written
        Parse texts unchanged, with datelines and credits, HTML, capitals and title case.
    fix_text
        Repair characters of a wrong encoding with ftfy (extra `text`).
    duplicates
        Articles that repeat the text (at least 20 words) of an earlier one: keep them with a warning, drop them, or
        mark each with the metadata text_group and is_copy.
    parses
        Number of parses to draw of each text, so that intervals cover errors of the parse. [default: the pipeline's
        single parse]
    parse_temperature
        Temperature of the drawn parses: above 1 they vary more. [default: the one fitted for the pipeline]
    """

    pipeline: str | None = option(default=None, metavar="SPACY")
    date_format: str | None = option(default=None, metavar="FORMAT")
    date_column: str = option(default="date", metavar="NAME")
    text_column: str = option(default="text", metavar="NAME")
    id_column: str | None = option(default="doc_id", metavar="NAME")
    title_column: str = option(default="title", metavar="NAME")
    headline: bool = True
    paragraphs: Literal["blank-line", "line"] = "blank-line"
    as_written: bool = False
    fix_text: bool = False
    duplicates: Duplicates = "keep"
    parses: int | None = option(default=None, at_least=1, at_most=10_000)
    parse_temperature: float | None = option(default=None, above=0.0)

    def _check(self) -> None:
        from corefsample.errors import ParameterError

        super()._check()
        if self.fix_text:
            from events.news._quality import require_repair

            require_repair()
        for name in ("fix_text", "parses"):
            if getattr(self, name) and self.pipeline is None:
                raise ParameterError("is for text that a pipeline parses, got no pipeline", parameter=name)
        if self.parse_temperature is not None and self.parses is None:
            raise ParameterError("can only be used with a number of parses", parameter="parse_temperature")

    def article_options(self) -> dict[str, Any]:
        """Keyword arguments for `ArticleStream`."""
        return self.subset(*ARTICLE_OPTIONS)


@declared
class ScoringOptions(
    ReadingOptions,
    shared.SchemeOption,
    shared.EntityFields,
    shared.CorpusOptions,
    shared.Recalibrated,
):
    """How documents are scored.

    Attributes
    ----------
    model
        File of a trained model, or es for the Spanish model in the package. [default: the English model in the package]
    mentions
        Mentions to score: those annotated in the file, or those found in the parse. [default: annotated; for news,
        parse]
    min_prob
        Least probability of a candidate antecedent that is written to the file.
    clusters
        Also write one clustering of each document, in CorefUD, beside the scores. map: the likeliest antecedents;
        sample: one sampled clustering; other names: the clustering with the smallest expected loss of that name.
        [default: only scores are written]
    """

    model: str | None = option(default=None, metavar="FILE")
    mentions: Literal["annotated", "parse"] | None = None
    min_prob: float = option(default=1e-4, at_least=0.0, below=1.0)
    clusters: shared.Clustering | None = None


@declared
class ScoreOptions(shared.Overwrite, ScoringOptions, shared.EngineOptions):
    """Options of scoring documents, and of the file in which the scores are written.

    Attributes
    ----------
    out
        File for the scored mentions; its name ends in .jsonl, .jsonl.gz or .parquet.
    number_articles
        Identify articles by file and number, news.csv#1, instead of by a column.
    part_size
        Number of documents in a part of the work; the results do not depend on it.
    folds
        Number of folds into which annotated documents are divided: each fold is scored by a model that is trained on
        the others, as `corefsample recalibrate` needs. [default: --model scores all documents]
    """

    out: str = option(metavar="FILE")
    number_articles: bool = option(default=False, is_recorded=False)
    part_size: int = option(default=64, at_least=1, is_recorded=False)
    folds: int | None = option(default=None, at_least=2)

    def _check(self) -> None:
        from corefsample.errors import ParameterError

        super()._check()
        if self.folds is not None:
            for name in ("pipeline", "clusters", "scheduler"):
                if getattr(self, name) is not None:
                    raise ParameterError("cannot be combined with folds", parameter=name)
        if self.number_articles:
            object.__setattr__(self, "id_column", None)
