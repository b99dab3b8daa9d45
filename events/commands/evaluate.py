"""Score entities of a system against gold entities, as the reference scorer does.

SYSTEM and GOLD are CoNLL-2012 (.conll, _conll), CoNLL-U with entities (CorefUD: .conllu) or scored mentions (.jsonl,
.jsonl.gz, .parquet), in any combination; documents belong together by their doc_id. Prints MUC, B3, CEAF, LEA, BLANC
and the CoNLL average in percent, with intervals by resampling documents. Where SYSTEM has scores, also the posterior of
the CoNLL average: its values if entities are drawn from the probabilities of SYSTEM.

Examples
--------
  corefsample evaluate system.conll gold_conll
  corefsample evaluate scored.parquet gold.conllu --match head --no-singletons
  corefsample evaluate first.conll gold.conll --against second.conll
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import click

from events import _shared_options as shared
from events._options import CommandResult, Progress, declared, option
from events._summary import counts_above_zero, mentions_by_reason
from events.commands._parser import Command
from events.commands._screen import print_text

if TYPE_CHECKING:
    from corefsample.files._paths import PathLike
    from corefsample.metrics._bootstrap import ScoreDifference
    from corefsample.metrics._scores import CorpusScores, ScoreSamples

_TITLES = {title.lower(): title for title in ("MUC", "B3", "CEAFe", "CEAFm", "LEA", "BLANC", "CoNLL")}


@declared
class EvaluateOptions(shared.Seed, shared.EntityFields):
    """Options of an evaluation of entities.

    Attributes
    ----------
    match
        Mentions match if they have the same span, or the same head (equal spans first, then the most words in common).
    singletons
        Count entities of one mention; otherwise, they are removed from SYSTEM and from GOLD.
    clustering
        Entities of a SYSTEM with scores. map: those of the likeliest antecedents; sample: one sampled clustering; other
        names: those with the smallest expected loss of that name. conll has 2.2 points of CoNLL more than map on GUM
        without singletons.
    against
        File of a second system on the same documents, to which SYSTEM is compared. [default: none]
    n_samples
        Number of samples for the posterior of a SYSTEM with scores; 0 for no posterior.
    level
        Confidence level of the intervals.
    n_resamples
        Number of resamples of the documents.
    seed
        Seed of the random draws: the same seed gives the same samples and intervals.
    """

    match: Literal["span", "head"] = "span"
    singletons: bool = True
    clustering: shared.Clustering = "map"
    against: str | None = option(default=None, metavar="FILE")
    n_samples: int = shared.samples(1000, at_least=0)
    level: float = option(default=0.95, above=0.0, below=1.0)
    n_resamples: int = option(default=10_000, at_least=2)


@dataclass(frozen=True, slots=True, eq=False)
class EvaluateResult(CommandResult):
    """Scores of a system.

    Attributes
    ----------
    inputs
        Paths of the system, of gold, and of the second system if there is one.
    n_documents, n_without_gold
        Number of scored documents, and number of documents of GOLD without gold entities, which are left out.
    n_not_in_system, n_not_in_gold
        Number of gold documents that the system lacks, which count as documents without entities; and number of
        documents of the system that are not in gold, which are left out.
    n_repeated
        Number of mentions of the system that were removed because they repeat a span.
    skipped
        Number of mentions of gold and of the system that could not be read, such as mentions in several pieces, by
        reason.
    level, n_resamples
        Confidence level of the intervals, in (0, 1), and number of resamples of the documents.
    scores
        Scores of the whole corpus and of each document.
    intervals
        Confidence interval of each F1 on the corpus, by metric.
    posterior
        Posterior of the CoNLL average on the corpus; None if the system has no antecedent scores.
    differences
        Differences between the system and the second system, by metric; empty without a second system.
    """

    inputs: tuple[str, ...]
    n_documents: int
    n_without_gold: int
    n_not_in_system: int
    n_not_in_gold: int
    n_repeated: int
    skipped: Counter[str]
    level: float
    n_resamples: int
    scores: CorpusScores
    intervals: dict[str, tuple[float, float]]
    posterior: ScoreSamples | None
    differences: tuple[ScoreDifference, ...]

    def _more(self) -> dict[str, Any]:
        from events.runs._outputs import json_rows

        corpus, drawn = self.scores.corpus, self.posterior
        posterior = drawn and {name: getattr(drawn, name) for name in ("mean", "sd", "lower", "upper", "mc_se")}
        differences = [{**dataclasses.asdict(each), "difference": each.difference} for each in self.differences]
        return {
            "mentions": dict(zip(("gold", "system", "both"), corpus.counts["mentions"].tolist(), strict=True)),
            "scores": json_rows(corpus.to_frame()),
            "posterior": posterior,
            "differences": differences,
        }


def run_evaluate(
    system: PathLike,
    gold: PathLike,
    options: EvaluateOptions | None = None,
    *,
    on_progress: Progress | None = None,
) -> EvaluateResult:
    """Score entities of a system against gold entities.

    Parameters
    ----------
    system, gold
        Paths or globs of files in CoNLL-2012 or CoNLL-U (CorefUD), or of scored mentions.
    options
        Options of the evaluation; by default, those of the command line.
    on_progress
        Function that is called as documents of the system are read with the bytes read, the bytes of all files, and the
        number of documents.

    Raises
    ------
    ParameterError
        If an option is invalid.
    InputError
        If a file is missing, a document is invalid, its words differ from those of its gold document, or no document is
        both in the system and in gold.
    """
    from corefsample.metrics._bootstrap import percentiles, resampled_f1, score_differences
    from corefsample.metrics._counts import METRICS
    from corefsample.metrics._scores import corpus_posterior, corpus_scores
    from events.commands._system_scores import gold_mentions, system_scores
    from events.runs._document_inputs import DocumentInputs

    options = options or EvaluateOptions()
    # Mentions that cross the end of a sentence count, as in the reference scorer.
    opened = partial(DocumentInputs, entity_fields=options.entity_fields, on_crossing_sentences="keep")
    files = [opened(gold), opened(system)]
    keys, n_without_gold = gold_mentions(files[0])
    settings = options.subset("match", "clustering", "singletons", "level", "seed")
    scored = system_scores(files[1], keys, **settings, n_samples=options.n_samples, on_progress=on_progress)
    systems = [list(scored.by_document.values())]
    if options.against is not None:
        second_scored = system_scores(opened(options.against), keys, **settings, n_samples=0)
        systems.append(list(second_scored.by_document.values()))
    draws = resampled_f1(systems, **options.subset("n_resamples", "seed"))
    ends = percentiles(draws[0], options.level).T.tolist()
    is_compared = len(systems) == 2
    differences = score_differences(systems[0], systems[1], draws, level=options.level) if is_compared else []
    return EvaluateResult(
        inputs=tuple(str(path) for path in (system, gold, options.against) if path is not None),
        n_documents=len(keys),
        n_without_gold=n_without_gold,
        n_not_in_system=scored.n_missing,
        n_not_in_gold=scored.n_other,
        n_repeated=scored.n_repeated,
        skipped=files[0].skipped + files[1].skipped,
        level=options.level,
        n_resamples=options.n_resamples,
        scores=corpus_scores(systems[0]),
        intervals={metric: (lower, upper) for metric, (lower, upper) in zip(METRICS, ends, strict=True)},
        posterior=corpus_posterior(scored.posteriors).corpus if len(scored.posteriors) == len(keys) else None,
        differences=tuple(differences),
    )


def print_evaluate(run: EvaluateResult) -> None:
    """Print the scores in percent, as scorers do."""
    corpus, percent = run.scores.corpus, f"{100 * run.level:g}%"
    for text in counts_above_zero(
        (run.n_documents, "document", "with gold entities"),
        (run.n_without_gold, "document", "of GOLD without gold entities left out"),
        (run.n_not_in_system, "document", "of GOLD not in SYSTEM, which count as without entities"),
        (run.n_not_in_gold, "document", "of SYSTEM not in GOLD left out"),
        (run.n_repeated, "mention", "of SYSTEM that repeat a span removed"),
    ):
        print_text(text)
    for text in mentions_by_reason("of GOLD and SYSTEM skipped", run.skipped):
        print_text(text)
    click.echo(f"\n{'':<9}{'recall':>8}{'precision':>11}{'F1':>8}   {percent} interval of F1")
    in_gold, in_system, in_both = corpus.counts["mentions"].tolist()
    recall, precision = in_both / max(in_gold, 1.0), in_both / max(in_system, 1.0)
    f1 = 2.0 * in_both / max(in_gold + in_system, 1.0)
    _print_row("mentions", recall, precision, f1, "")
    for metric, title in _TITLES.items():
        score, (lower, upper) = getattr(corpus, metric), run.intervals[metric]
        _print_row(title, score.recall, score.precision, score.f1, f"   {100 * lower:.2f} to {100 * upper:.2f}")
    click.echo()
    if run.posterior is not None:
        posterior = run.posterior
        print_text(
            f"Posterior of the CoNLL average: mean {100 * posterior.mean:.2f}, {percent} credible interval "
            f"{100 * posterior.lower:.2f} to {100 * posterior.upper:.2f}, from {posterior.n_samples:,} samples. The "
            "table has the scores of one clustering; samples of the posterior score lower in general."
        )
    if run.differences:
        click.echo(f"F1 of SYSTEM and of {run.inputs[2]}:")
        click.echo(f"{'':<9}{'SYSTEM':>8}{'other':>11}{'better':>8}   {percent} interval of the difference")
        for row in run.differences:
            click.echo(
                f"{_TITLES[row.metric]:<9}{100 * row.first:>8.2f}{100 * row.second:>11.2f}"
                f"{100 * row.difference:>+8.2f}   {100 * row.lower:+.2f} to {100 * row.upper:+.2f}, "
                f"p = {row.p_value:.2g}"
            )
        click.echo()
    print_text(
        f"Intervals by {run.n_resamples:,} resamples of the documents: how much the choice of documents matters."
    )


def _print_row(title: str, recall: float, precision: float, f1: float, interval: str) -> None:
    click.echo(f"{title:<9}{100 * recall:>8.2f}{100 * precision:>11.2f}{100 * f1:>8.2f}{interval}")


command = Command(
    EvaluateOptions,
    run_evaluate,
    "system",
    "gold",
    task="scoring",
    sections={"Intervals": "n_samples level n_resamples seed", "Reading CoNLL-U": "entity_fields"},
    show=print_evaluate,
)
