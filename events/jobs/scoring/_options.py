"""Options of scoring."""

from __future__ import annotations

from typing import Any, Literal

from events import _shared_options as shared
from events._options import declared, option

ARTICLE_OPTIONS = ("text_column", "date_column", "id_column", "title_column", "date_format")


@declared
class ScoringOptions(shared.OnError, shared.Recalibrated):
    """How to score."""

    pipeline: str | None = option(
        default=None, metavar="SPACY", help="spaCy package or folder that parses news, or corpora without a parse."
    )
    date_format: str | None = option(
        default=None, metavar="FORMAT", help="How tables write dates, such as %m/%d/%Y.  [default: ISO dates]"
    )
    date_column: str = option(default="date", metavar="NAME", help="Column with the date of each article.")
    text_column: str = option(default="text", metavar="NAME", help="Column with its text.")
    id_column: str | None = option(default="doc_id", metavar="NAME", help="Column with its name, unique in the corpus.")
    title_column: str = option(default="title", metavar="NAME", help="Column with its headline, if there is one.")
    headline: bool = option(default=True, help="Parse the headline as the first paragraph.")
    paragraphs: Literal["blank-line", "line"] = option(
        default="blank-line", help="What separates the paragraphs of a text."
    )
    fix_text: bool = option(default=False, help="Repair characters of a wrong encoding with ftfy (extra `text`).")
    parses: int | None = option(
        default=None,
        at_least=1,
        at_most=10_000,  # all parses of a text are in memory
        help="Draw this many parses of each text, and score all.  [default: the usual parse]",
    )
    parse_temperature: float | None = option(
        default=None, above=0.0, help="Temperature of the drawn parses.  [default: that fitted for the pipeline]"
    )
    model: str | None = option(
        default=None, metavar="FILE", help="A trained model.  [default: the English one in the package]"
    )
    mentions: Literal["annotated", "parse"] | None = option(
        default=None,
        help="Those of the file, or those found in the parse.  [default: annotated; for news: parse]",
    )
    min_prob: float = option(
        default=1e-4, at_least=0.0, below=1.0, help="Candidates below this probability are left out."
    )
    clusters: shared.Clustering | None = option(
        default=None,
        help="Also write one clustering of each document, in CorefUD, beside --out. map: likeliest antecedents; "
        "sample: one sampled clustering; others: the smallest expected loss of that name.  [default: scores only]",
    )
    scheme: shared.Scheme | None = shared.scheme()
    entity_fields: str | None = shared.entity_fields()
    jobs: int | None = option(default=None, at_least=1, flag="", help="Number of processes.")

    def _check(self) -> None:
        from corefsample.errors import ParameterError

        if self.fix_text:
            from events.news import require_repair

            require_repair()
        for name in ("fix_text", "parses"):
            if getattr(self, name) and self.pipeline is None:
                raise ParameterError("is for text that a pipeline parses, got no pipeline", parameter=name)
        if self.parse_temperature is not None and self.parses is None:
            raise ParameterError("is for sampled parses, got no number of parses", parameter="parse_temperature")

    def article_options(self) -> dict[str, Any]:
        """Keywords of `events.news.ArticleStream`."""
        return self.chosen(*ARTICLE_OPTIONS)


ScoreOptions = ScoringOptions  # the name that the modules of scoring still use
