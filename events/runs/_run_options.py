"""Options of the runs that score documents, count events, and count again."""

from __future__ import annotations

import glob
import os
from typing import Literal

from corefsample.errors import ParameterError
from events import _options as shared
from events._options import Options, declared, option
from events.news._quality import Duplicates

ARTICLE_OPTIONS = ("text_column", "date_column", "id_column", "title_column", "date_format")


@declared
class CountOptions(
    shared.LexiconOption,
    shared.TriggerModelOption,
    shared.SchemeOption,
    shared.Seed,
    shared.CorpusOptions,
    shared.Recalibrated,
):
    """Options of counting events: rules, samples, intervals, and treatment of documents.

    Attributes
    ----------
    rule
        Event to count: attack (the verb "attack" alone), conflict (attacks, bombs, strikes and other armed force by
        countries), attack_target, violence, kill, bomb, kidnap, arson, arrest, force, protest, meet, police_action, or
        a YAML file of your own.
    preset
        Version of the rules: paper, only the syntax that Nguyen & O'Connor (2015) count; extended, what a reader would
        count; asserted, the same without what the text denies, plans or only fears; or a preset of your rule file.
        [default: asserted, or the only preset of the file]
    period
        Length of the periods: year, quarter, month, week, day, or a pandas alias.
    n_samples
        Number of clusterings to draw from each document.
    level
        Probability of the credible intervals.
    interval
        Kind of credible interval: quantile, exact with integer ends; hdi, the shortest; normal, mean +- z sd of the
        samples.
    seed
        Seed of the random draws: the same seed gives the same samples.
    outcome
        Another event to count, true where one of several events is. "police_action=arrest|kill:POLICE", in quotes
        because of the shell, is an arrest or a killing by the police. EVENTS are rules that are counted; ACTORS are
        codes of the lexicon, - for no named actor, or * for any. A bar separates alternatives. [default: only
        those in rule files]
    filled
        Actors that count where a rule has default actors ("was arrested": by the police): those named in the text,
        those by default, or either.
    coreference
        Source of the entities: scored, the coreference scores; none, each mention is an entity, which shows what
        coreference adds.
    uncertainty
        Uncertainty of the recalibration that the intervals include: none; fit, because it was fitted to a limited
        number of documents; domain, also because those may be of other kinds of text. [default: domain if the
        recalibration has it, otherwise fit if it has that, otherwise none]
    compare
        Codes of two actors, such as YUG X-NATO. For each period, the probability that more documents have an event of A
        than of B is written to comparisons.csv. [default: none]
    all_periods
        List every period from the first document to the last, even if one has a date far from all others.
    rule_error
        CSV file with the numbers of documents that other rules and readers counted. From it the intervals lower_rule
        and upper_rule are computed: how many documents readers would count. none leaves these intervals out. [default:
        the table in the package]
    reference
        Folder with the results of `corefsample audit estimate` for similar news, whose numbers are added to the table
        of other rules. [default: none]
    threads
        Number of threads in each process, for long documents; the results do not depend on it. [default: one for each
        processor]
    part_size
        Approximate number of documents in a part of the work; the results do not depend on it.
    """

    section = "Counting"
    rule: str | tuple[str, ...] = option(default="attack", metavar="RULE")
    preset: str | None = option(default=None, metavar="NAME")
    period: str = option(default="quarter", metavar="PERIOD")
    n_samples: int = shared.samples(1000)
    level: float = option(default=0.95, above=0.0, below=1.0)
    interval: Literal["quantile", "hdi", "normal"] = "quantile"
    outcome: tuple[str, ...] = option(default=(), metavar="NAME=EVENTS:ACTORS")
    filled: Literal["either", "named", "default"] = "either"
    coreference: Literal["scored", "none"] = "scored"
    uncertainty: Literal["none", "fit", "domain"] | None = None
    compare: tuple[str, str] | None = option(default=None, metavar="A B")
    all_periods: bool = False
    rule_error: str | None = option(default=None, metavar="FILE")
    reference: tuple[str, ...] = option(default=(), metavar="AUDIT")
    threads: int | None = option(default=None, at_least=1)
    part_size: int = option(default=5000, at_least=1)

    def _check(self) -> None:
        super()._check()
        if len(self.rules) == 1:
            object.__setattr__(self, "rule", self.rules[0])
        if self.recalibration == "none" and self.uncertainty not in (None, "none"):
            raise ParameterError("needs a recalibration, got none", parameter="uncertainty")
        if self.compare is not None and self.compare[0] == self.compare[1]:
            raise ParameterError(f"must name two different actors, got {self.compare[0]!r} twice", parameter="compare")

    @property
    def rules(self) -> tuple[str, ...]:
        """Names or paths of the rules, at least one."""
        return (self.rule,) if isinstance(self.rule, str) else tuple(self.rule)


@declared
class EventsOptions(shared.Pictures, shared.Overwrite, CountOptions, shared.EngineOptions):
    """Options of counting events, and of the folder in which the results are written.

    Attributes
    ----------
    out
        Folder for the tables, the pictures and the record of the run.
    """

    out: str = option(metavar="FOLDER")

    @property
    def written(self) -> tuple[str, ...]:
        """See `events._options.EngineOptions`."""
        return os.path.join(self.out, "parts"), os.path.join(self.out, "run.json"), glob.escape(self.out)


@declared
class CountAgainOptions(shared.Overwrite):
    """Options of other counts of a run.

    Attributes
    ----------
    out
        Folder for the tables.
    period
        Length of the periods: year, quarter, month, week, day, or a pandas alias. [default: that of the run]
    by
        Field of the documents' metadata by which they are grouped, such as outlet. A document without the field is in
        the group "". [default: no groups]
    event
        Rule or outcome that is counted. [default: every one]
    outcome
        Another event to count, true where one of several events is, such as "police_action=arrest|kill:POLICE". EVENTS
        are rules of the run. [default: none]
    level
        Probability of the credible intervals. [default: that of the run]
    interval
        Kind of credible interval: quantile, exact with integer ends; hdi, the shortest; normal, mean +- z sd of the
        samples. [default: that of the run]
    compare
        Codes of two actors, such as YUG X-NATO, whose counts are compared in each period. [default: none]
    compare_periods
        Labels of two periods, such as 1999Q1 1999Q2, whose counts are compared for each actor, in
        period_comparisons.csv. [default: none]
    all_periods
        List every period from the first document to the last, even if one has a date far from all others. [default:
        as in the run]
    """

    out: str = option(metavar="FOLDER")
    period: str | None = option(default=None, metavar="PERIOD")
    by: tuple[str, ...] = option(default=(), metavar="FIELD")
    event: tuple[str, ...] = option(default=(), metavar="NAME")
    outcome: tuple[str, ...] = option(default=(), metavar="NAME=EVENTS:ACTORS")
    level: float | None = option(default=None, above=0.0, below=1.0)
    interval: Literal["quantile", "hdi", "normal"] | None = None
    compare: tuple[str, str] | None = option(default=None, metavar="A B")
    compare_periods: tuple[str, str] | None = option(default=None, metavar="A B")
    all_periods: bool = False


@declared
class ColumnOptions(Options):
    """Options of the columns of tables of news.

    Attributes
    ----------
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
    """

    section = "Reading news"
    date_format: str | None = option(default=None, metavar="FORMAT")
    date_column: str = option(default="date", metavar="NAME")
    text_column: str = option(default="text", metavar="NAME")
    id_column: str | None = option(default="doc_id", metavar="NAME")
    title_column: str = option(default="title", metavar="NAME")


@declared
class ReadingOptions(ColumnOptions):
    """Options of reading and parsing texts.

    Attributes
    ----------
    pipeline
        Name or folder of the spaCy pipeline that parses the texts, such as en_core_web_sm. Required for news, and for
        annotated corpora without a parse.
    headline
        Parse the headline as the first paragraph of the text.
    paragraphs
        Separator of the paragraphs of a text: a blank line, or the end of each line.
    as_written
        Parse texts unchanged, with datelines and credits, HTML, capitals and title case.
    duplicates
        Articles that repeat the words (at least 20) of an earlier one, if under another dateline or with other credits
        or markup: keep them with a warning, or drop them.
    parses
        Number of parses to draw of each text, so that intervals cover errors of the parse. [default: the pipeline's
        single parse]
    parse_temperature
        Temperature of the drawn parses: above 1 they vary more. [default: the one fitted for the pipeline]
    """

    section = "Reading news"
    pipeline: str | None = option(default=None, metavar="SPACY")
    headline: bool = True
    paragraphs: Literal["blank-line", "line"] = "blank-line"
    as_written: bool = False
    duplicates: Duplicates = "keep"
    parses: int | None = option(default=None, at_least=1, at_most=10_000)
    parse_temperature: float | None = option(default=None, above=0.0)

    def _check(self) -> None:
        super()._check()
        if self.parses and self.pipeline is None:
            raise ParameterError("is for text that a pipeline parses, got no pipeline", parameter="parses")
        if self.parse_temperature is not None and self.parses is None:
            raise ParameterError("can only be used with a number of parses", parameter="parse_temperature")


@declared
class ScoringOptions(
    ReadingOptions,
    shared.SchemeOption,
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
    """

    model: str | None = option(default=None, metavar="FILE")
    mentions: Literal["annotated", "parse"] | None = None
    min_prob: float = option(default=1e-4, at_least=0.0, below=1.0)


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
        super()._check()
        if self.folds is not None:
            for name in ("pipeline", "scheduler"):
                if getattr(self, name) is not None:
                    raise ParameterError("cannot be combined with folds", parameter=name)
        if self.number_articles:
            object.__setattr__(self, "id_column", None)

    @property
    def written(self) -> tuple[str, ...]:
        """See `events._options.EngineOptions`."""
        return f"{self.out}.parts", f"{self.out}.scoring.json", f"{glob.escape(self.out)}*"
