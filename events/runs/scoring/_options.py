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
    """How texts are read and parsed.

    Attributes
    ----------
    pipeline
        spaCy pipeline, a package or a folder, that parses news, or corpora without a parse.
    date_format
        Format of the dates in tables, such as %m/%d/%Y. [default: ISO dates]
    date_column
        Column with the date of each article.
    text_column
        Column with the text of each article.
    id_column
        Column with the identifier of each article, which is unique in the corpus.
    title_column
        Column with the headline of each article, if there is one.
    headline
        Parse the headline as the first paragraph of the text.
    paragraphs
        Separator of the paragraphs of a text.
    as_written
        Parse texts unchanged, with datelines and credits, HTML, capitals and title case.
    fix_text
        Repair characters of a wrong encoding with ftfy (extra `text`).
    duplicates
        Treatment of articles with the text (of at least 20 words) of an earlier article. keep: count them too, with a
        warning; drop: leave them out; group: count them, and mark articles with the metadata text_group and is_copy.
    parses
        Number of parses that are sampled for each text, and that are all scored. [default: the usual parse]
    parse_temperature
        Temperature of the sampled parses. [default: the temperature that was fitted for the pipeline]
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
                raise ParameterError("can only be used with a pipeline that parses text", parameter=name)
        if self.parse_temperature is not None and self.parses is None:
            raise ParameterError("can only be used with a number of parses", parameter="parse_temperature")

    def article_options(self) -> dict[str, Any]:
        """Keyword arguments for `ArticleStream`."""
        return self.subset(*ARTICLE_OPTIONS)


@declared
class ScoringOptions(
    ReadingOptions,
    shared.Where,
    shared.SchemeOption,
    shared.EntityFields,
    shared.Undated,
    shared.Quarantine,
    shared.Recalibrated,
):
    """How documents are scored.

    Attributes
    ----------
    model
        File of a trained model, or es for the Spanish model in the package. [default: the English model in the package]
    mentions
        Mentions that are scored: those that the file annotates, or those that are recognised in the parse. [default:
        annotated; for news, parse]
    min_prob
        Candidate antecedents with a lower probability are left out.
    clusters
        Also write one clustering of each document, in CorefUD, beside --out. map: the likeliest antecedents; sample:
        one sampled clustering; other names: the clustering with the smallest expected loss of that name. [default:
        only scores are written]
    """

    model: str | None = option(default=None, metavar="FILE")
    mentions: Literal["annotated", "parse"] | None = None
    min_prob: float = option(default=1e-4, at_least=0.0, below=1.0)
    clusters: shared.Clustering | None = None


@declared
class ScoreOptions(shared.Overwrite, ScoringOptions, shared.EngineOptions):
    """How documents are scored, and where the scores are written.

    Attributes
    ----------
    out
        File for the scored mentions; its name ends in .jsonl, .jsonl.gz or .parquet.
    number_articles
        Name articles by their file and number, such as news.csv#1, instead of a column.
    part_size
        Number of documents in each part of the work; the results do not depend on it.
    folds
        Divide annotated documents with gold into this number of folds, and score each fold by a model that is trained
        on the other folds. A recalibration that is fitted to such scores holds for other documents. [default: one
        model scores all documents]
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
