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

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from corefsample._arrays import fields_of
from events import _options as shared
from events._summary import Summary, Table, counts_above_zero, mentions_by_reason
from events.commands._parser import Command

if TYPE_CHECKING:
    from corefsample.files._paths import PathLike
    from corefsample.metrics._scores import ClusteringScores, ScoreSamples

_TITLES = {title.lower(): title for title in ("MUC", "B3", "CEAFe", "CEAFm", "LEA", "BLANC", "CoNLL")}


@shared.declared
class EvaluateOptions(shared.Seed):
    """Options of an evaluation of entities.

    Attributes
    ----------
    match
        Mentions match if they have the same span, or the same head (equal spans first, then the most words in common).
    singletons
        Count entities of one mention; otherwise, they are removed from SYSTEM and from GOLD.
    clustering
        Entities of a SYSTEM with scores. map: those of the likeliest antecedents; sample: one sampled clustering;
        conll: those with the largest expected score of all documents together, which is 2.0 points of CoNLL above map
        on GUM without singletons; other names: those with the smallest expected loss of that name.
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
    against: str | None = shared.option(default=None, metavar="FILE")
    n_samples: int = shared.samples(1000, at_least=0)
    level: float = shared.option(default=0.95, above=0.0, below=1.0)
    n_resamples: int = shared.option(default=10_000, at_least=2)


def run_evaluate(
    system: PathLike,
    gold: PathLike,
    options: EvaluateOptions | None = None,
    *,
    on_progress: shared.Progress | None = None,
) -> Summary:
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
    from corefsample.metrics import _scores as scores
    from corefsample.metrics._metric_counts import METRICS
    from events.corpora._document_inputs import DocumentInputs
    from events.corpora._one_clustering import SystemScores, gold_mentions

    options = options or EvaluateOptions()
    # Mentions that cross the end of a sentence count, as in the reference scorer.
    opened = partial(DocumentInputs, on_crossing_sentences="keep")
    files = [opened(gold), opened(system)]
    keys, n_without_gold = gold_mentions(files[0])
    settings = options.subset("match", "clustering", "singletons", "level", "seed")
    scored = SystemScores(files[1], keys, **settings, n_samples=options.n_samples, on_progress=on_progress)
    systems = [list(scored.by_document.values())]
    if options.against is not None:
        systems.append(list(SystemScores(opened(options.against), keys, **settings, n_samples=0).by_document.values()))
    draws = scores.resampled_f1(systems, **options.subset("n_resamples", "seed"))
    ends = scores.percentiles(draws[0], options.level).T.tolist()
    is_compared = len(systems) == 2
    differences = scores.score_differences(systems[0], systems[1], draws, level=options.level) if is_compared else None
    corpus = scores.corpus_scores(systems[0])
    posterior = scores.corpus_posterior(scored.posteriors) if len(scored.posteriors) == len(keys) else None
    values = {
        "inputs": [str(path) for path in (system, gold, options.against) if path is not None],
        "n_documents": len(keys),
        "n_without_gold": n_without_gold,
        "n_not_in_system": scored.n_missing,
        "n_not_in_gold": scored.n_other,
        "n_repeated": scored.n_repeated,
        "skipped": files[0].skipped + files[1].skipped,
        **options.subset("level", "n_resamples"),
        "intervals": dict(zip(METRICS, ends, strict=True)),
        "mentions": dict(zip(("gold", "system", "both"), corpus.counts["mentions"].tolist(), strict=True)),
        "scores": corpus.to_frame(),
        "posterior": posterior and fields_of(posterior, "mean", "sd", "lower", "upper", "mc_se"),
        "differences": [] if differences is None else differences.to_dict("records"),
    }
    return Summary(values=values, shown=[*_shown(values, corpus, posterior)], result=(corpus, posterior))


def _shown(values: dict[str, Any], corpus: ClusteringScores, posterior: ScoreSamples | None) -> Iterator[str | Table]:
    """Yield the scores in percent, as scorers do."""
    level = f"{100 * values['level']:g}%"
    yield from counts_above_zero(
        (values["n_documents"], "document", "with gold entities"),
        (values["n_without_gold"], "document", "of GOLD without gold entities left out"),
        (values["n_not_in_system"], "document", "of GOLD not in SYSTEM, which count as without entities"),
        (values["n_not_in_gold"], "document", "of SYSTEM not in GOLD left out"),
        (values["n_repeated"], "mention", "of SYSTEM that repeat a span removed"),
    )
    yield from mentions_by_reason("of GOLD and SYSTEM skipped", values["skipped"])
    in_gold, in_system, in_both = corpus.counts["mentions"].tolist()
    f1 = 2.0 * in_both / max(in_gold + in_system, 1.0)
    rows = [("mentions", *_percent(in_both / max(in_gold, 1.0), in_both / max(in_system, 1.0), f1), "")]
    for metric, title in _TITLES.items():
        score, ends = getattr(corpus, metric), _percent(*values["intervals"][metric])
        rows.append((title, *_percent(score.recall, score.precision, score.f1), " to ".join(ends)))
    yield Table(("", "recall", "precision", "F1", f"{level} interval of F1"), rows)
    yield ""
    if posterior is not None:
        mean, lower, upper = _percent(posterior.mean, posterior.lower, posterior.upper)
        yield (
            f"Posterior of the CoNLL average: mean {mean}, {level} credible interval {lower} to {upper}, from "
            f"{posterior.n_samples:,} samples. The table has the scores of one clustering; samples of the posterior "
            "score lower in general."
        )
    if values["differences"]:
        rows = []
        for row in values["differences"]:
            better, lower, upper = (f"{100 * row[name]:+.2f}" for name in ("difference", "lower", "upper"))
            scores = _percent(row["first"], row["second"])
            rows.append((_TITLES[row["metric"]], *scores, better, f"{lower} to {upper}", f"{row['p_value']:.2g}"))
        header = ("", "SYSTEM", "other", "better", f"{level} interval of the difference", "p")
        yield Table(header, rows, f"F1 of SYSTEM and of {values['inputs'][2]}:")
        yield ""
    yield f"Intervals by {values['n_resamples']:,} resamples of the documents: how much their choice matters."


def _percent(*shares: float) -> tuple[str, ...]:
    return tuple(f"{100 * share:.2f}" for share in shares)


command = Command(EvaluateOptions, run_evaluate, "system", "gold", task="scoring")
