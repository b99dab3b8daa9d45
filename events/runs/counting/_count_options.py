"""Options and result of a run that counts events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from corefsample._arrays import pd
from events import _shared_options as shared
from events._options import declared, option


@declared
class CountOptions(
    shared.LexiconOption,
    shared.SchemeOption,
    shared.Seed,
    shared.CorpusOptions,
    shared.UncertainlyRecalibrated,
    shared.ThreadsOption,
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
    compare
        Codes of two actors, such as YUG X-NATO. For each period, the probability that more documents have an event of A
        than of B is written to comparisons.csv. [default: none]
    rule_error
        CSV file with the numbers of documents that other rules and readers counted. From it the intervals lower_rule
        and upper_rule are computed: how many documents readers would count. none leaves these intervals out. [default:
        the table in the package]
    reference
        Folder with the results of `corefsample audit estimate` for similar news, whose numbers are added to the table
        of other rules. [default: none]
    part_size
        Approximate number of documents in a part of the work; the results do not depend on it.
    """

    rule: str | tuple[str, ...] = option(default="attack", metavar="RULE")
    preset: str | None = option(default=None, metavar="NAME")
    period: str = option(default="quarter", metavar="PERIOD")
    n_samples: int = shared.samples(1000)
    level: float = option(default=0.95, above=0.0, below=1.0)
    interval: Literal["quantile", "hdi", "normal"] = "quantile"
    outcome: tuple[str, ...] = option(default=(), metavar="NAME=EVENTS:ACTORS")
    filled: Literal["either", "named", "default"] = "either"
    coreference: Literal["scored", "none"] = "scored"
    compare: tuple[str, str] | None = option(default=None, metavar="A B")
    rule_error: str | None = option(default=None, metavar="FILE")
    reference: tuple[str, ...] = option(default=(), metavar="AUDIT")
    part_size: int = option(default=5000, at_least=1)

    def _check(self) -> None:
        from corefsample.errors import ParameterError

        super()._check()
        if len(self.rules) == 1:
            object.__setattr__(self, "rule", self.rules[0])
        if not self.rules:
            raise ParameterError("must name at least one rule, got none", parameter="rule")
        repeated = [rule for i, rule in enumerate(self.rules) if rule in self.rules[:i]]
        if repeated:
            raise ParameterError(f"must name different rules, got {repeated[0]!r} twice", parameter="rule")
        if self.compare is not None and self.compare[0] == self.compare[1]:
            raise ParameterError(f"must name two different actors, got {self.compare[0]!r} twice", parameter="compare")

    @property
    def records(self) -> tuple[str, ...]:
        """Names or paths of the recalibrations on which the counts depend, or may depend."""
        from corefsample.recalibration._uncertain import SHIPPED, named_recalibration

        if self.recalibration is None:  # scores may have been recalibrated with a model of the package
            return () if self.uncertainty == "none" else tuple(SHIPPED)
        name = named_recalibration(self.recalibration)
        return () if name is None else (name,)

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


@dataclass(frozen=True, slots=True)
class EventsResult:
    """Result of a run that counted events.

    Attributes
    ----------
    out
        Path of the folder of the run.
    n_documents
        Number of documents counted.
    n_sampled
        Number of documents in which an event is possible; only these are sampled.
    n_with_events
        Number of documents with P(event) > 0 for some event and actor.
    n_quarantined
        Number of invalid documents that were set aside.
    n_undated
        Number of documents without a date, which are counted in no period.
    n_not_selected
        Number of documents that the conditions `CountOptions.where` left out.
    n_ambiguous
        Number of names in the sampled documents that the lexicon declares ambiguous, and that therefore match no actor.
    actors
        Actors with any evidence, preceded by the name of their event if there are several rules.
    periods
        Labels of the first and the last period; "undated" if no document has a date.
    seconds
        Wall time of the run in seconds.
    n_parts, n_computed
        Number of parts of the run, and number of the parts that this call computed; earlier calls computed the others.
    n_several_parses
        Number of documents with several parses.
    uncertainty
        Uncertainty of the recalibration that the intervals include, "none", "fit" or "domain"; None without a
        recalibration.
    merged_actors
        How often coreference alone merges distinct actors into one entity: see docs/file-formats.md. None if the preset
        does not keep distinct actors apart.
    triggers
        Number of triggers that the conditions of the preset exclude, by rule: see docs/file-formats.md.
    rule_error
        Summary of the reference class of rules (`RuleErrorModel.summary`), and the expected width of the largest
        total after an audit; None without the error of rules.
    counts, totals
        Tables that were written to counts.csv and totals.csv.
    """

    out: str
    n_documents: int
    n_sampled: int
    n_with_events: int
    n_quarantined: int
    n_ambiguous: int
    actors: tuple[str, ...]
    periods: tuple[str, str]
    seconds: float
    n_parts: int = 1
    n_computed: int = 1
    n_several_parses: int = 0
    uncertainty: str | None = None
    merged_actors: dict[str, Any] | None = None
    n_not_selected: int = 0
    n_undated: int = 0
    triggers: dict[str, dict[str, Any]] = field(default_factory=dict)
    rule_error: dict[str, Any] | None = None
    counts: pd.DataFrame = field(kw_only=True, compare=False, repr=False)
    totals: pd.DataFrame = field(kw_only=True, compare=False, repr=False)


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
    """

    out: str = option(metavar="FOLDER")
    period: str | None = option(default=None, metavar="PERIOD")
    by: tuple[str, ...] = option(default=(), metavar="FIELD")
    event: tuple[str, ...] = option(default=(), metavar="NAME")
    outcome: tuple[str, ...] = option(default=(), metavar="NAME=EVENTS:ACTORS")
    level: float | None = option(default=None, above=0.0, below=1.0)
    interval: Literal["quantile", "hdi", "normal"] | None = None
    compare: tuple[str, str] | None = option(default=None, metavar="A B")
