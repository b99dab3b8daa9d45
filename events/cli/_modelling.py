"""Commands that train the antecedent model and score with it: train, score."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from corefsample.errors import ParameterError
from events.cli._options import (
    Command,
    entity_fields_option,
    json_option,
    on_error_option,
    overwrite_option,
    scheme_option,
)
from events.cli._screen import complain, counted, print_json, tell, tell_counts
from events.cli._watching import scoring_progress, training_progress

if TYPE_CHECKING:
    from events.jobs.scoring import ScoringRun
    from events.jobs.training import TrainingRun

__all__ = ["mention_counts", "score", "train"]


def mention_counts(counts: Mapping[str, int]) -> str:
    """Counts by reason in words: "3 crossing sentences, 1 discontinuous"."""
    return ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in sorted(counts.items()))


@click.command(
    cls=Command,
    short_help="Train a model of your own on annotated corpora.",
    sections={
        "Choosing and reading documents": (
            "held_out_share",
            "refit",
            "where",
            "scheme",
            "entity_fields",
            "attribution",
            "note",
        ),
        "Training": (
            *("l2", "epochs", "orders", "link_weight", "margin", "learning_rate", "templates", "bits", "min_count"),
            *("seed", "threads"),
        ),
    },
)
@click.argument("corpora", nargs=-1, required=True)
@click.option("--out", required=True, metavar="FILE", help="File for the model, by custom .npz.")
@click.option("--held-out", multiple=True, metavar="FILE", help="Documents to choose on; repeatable.")
@click.option(
    "--held-out-share",
    type=float,
    default=0.1,
    show_default=True,
    help="Share of the documents to choose on, where no --held-out is said; 0: none.",
)
@click.option("--refit", is_flag=True, help="In the end train on the held-out documents too, as was chosen.")
@click.option(
    "--where",
    multiple=True,
    metavar="KEY=VALUE[,VALUE]",
    help="Only documents with this metadata, or doc_id; * and ? are wildcards. Repeatable: all have to hold.",
)
@scheme_option
@entity_fields_option
@click.option("--attribution", metavar="TEXT", help="Whose texts these are: kept in the model.")
@click.option("--note", metavar="TEXT", help="Anything else to keep in the model.")
@click.option("--l2", type=float, multiple=True, help="Penalty to try; repeatable.  [default: 0.02 and 0.05]")
@click.option("--epochs", type=int, default=5, show_default=True, help="Passes over the documents, at most.")
@click.option(
    "--orders", type=int, default=3, show_default=True, help="Runs in different orders, whose weights are averaged."
)
@click.option(
    "--link-weight", type=float, default=10.0, show_default=True, help="Weight of the log loss of link marginals."
)
@click.option(
    "--margin",
    type=float,
    nargs=3,
    default=(0.0, 0.0, 0.0),
    metavar="FA FN WL",
    help="Softmax-margin costs: a false anaphor, a false NEW, a wrong link.  [default: 0 0 0]",
)
@click.option("--learning-rate", type=float, default=0.1, show_default=True, help="Step size of AdaGrad.")
@click.option(
    "--templates",
    metavar="FILE",
    help="YAML file of features: lists pronoun, phrase, new.  [default: the shipped ones]",
)
@click.option("--bits", type=int, default=20, show_default=True, help="The model has 2 to this power weights.")
@click.option(
    "--min-count", type=int, default=1, show_default=True, help="Words in fewer documents count by their endings."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same model.")
@click.option("--threads", type=int, default=2, show_default=True, help="Threads; more than two bring nothing.")
@on_error_option
@overwrite_option
@json_option
def train(
    corpora: tuple[str, ...], out: str, held_out: tuple[str, ...], overwrite: bool, as_json: bool, **options: Any
) -> None:
    """Train an antecedent model on annotated corpora.

    CORPORA are CoNLL-U with entities (CorefUD: .conllu) or CoNLL-2012 (.conll, _conll), both also with .gz, or scored
    mentions with gold. Penalty and passes are chosen by the likelihood of the gold antecedents of held-out documents,
    -log P in nats a mention. A record of the training goes beside the model.

    \b
    Examples:
      corefsample train train.conllu --held-out dev.conllu --out model.npz
      corefsample train corpus.conllu --where genre=news,speech --out news.npz
    """
    from events.jobs.training import TrainOptions, run_train

    chosen = TrainOptions(**options)
    n_passes = chosen.epochs * (len(chosen.l2) or 2)
    with training_progress(as_json, n_passes) as (on_progress, on_epoch):
        run = run_train(
            corpora,
            out,
            chosen,
            held_out=held_out,
            overwrite=overwrite,
            on_progress=on_progress,
            on_epoch=on_epoch,
        )
    if as_json:
        print_json(run.to_json())
    else:
        _print_training(run)


def _print_training(run: TrainingRun) -> None:
    click.echo(f"Trained on {counted(run.n_documents, 'document')}, {counted(run.n_mentions, 'annotated mention')}.")
    tell_counts(
        (run.n_held_out, "document", "held out"),
        (run.n_without_gold, "document", "without annotated entities left out"),
        (run.n_not_selected, "document", "left out by --where"),
        (run.n_quarantined, "bad document", "set aside"),
    )
    if run.skipped:
        tell(f"Mentions skipped: {mention_counts(run.skipped)}.")
    click.echo(f"\n{'penalty':>7} {'pass':>5} {'training':>9} {'held out':>9} {'links':>9}")
    chosen = run.chosen
    for report in run.reports:
        found = report.held_out
        figures = f"{'-':>9} {'-':>9}" if found is None else f"{found.loss:>9.4f} {found.link_loss:>9.4f}"
        mark = " chosen" if report is chosen and found is not None else ""
        click.echo(f"{report.l2:>7g} {report.epoch:>5} {report.loss:>9.4f} {figures}{mark}")
    tell("training, held out: -log P of gold antecedents; links: log loss of link marginals; both in nats a mention.")
    click.echo(f"\nModel    {run.out} ({os.path.getsize(run.out) / 1000:,.0f} kB)\nRecord   {run.record}")


@click.command(
    cls=Command,
    short_help="Parse news, or read annotated documents, and score mentions.",
    sections={
        "Reading news": (
            *("date_format", "date_column", "text_column", "id_column", "number_articles", "title_column"),
            *("headline", "paragraphs"),
        ),
        "Scoring": ("model", "recalibration", "mentions", "min_prob", "scheme", "entity_fields"),
    },
)
@click.argument("inputs", nargs=-1, required=True)
@click.option("--out", required=True, metavar="FILE", help="File for the scored mentions: .jsonl, .jsonl.gz, .parquet.")
@click.option(
    "--pipeline", metavar="SPACY", help="spaCy package or folder that parses text; for news, and for nothing else."
)
@click.option(
    "--jobs", type=int, help="Processes; results do not depend on it.  [default: all processors for news, else 1]"
)
@click.option("--resume", is_flag=True, help="Go on from the finished parts of a run that ended early.")
@click.option("--date-format", metavar="FORMAT", help="How tables write dates, such as %m/%d/%Y.  [default: ISO dates]")
@click.option(
    "--date-column", default="date", show_default=True, metavar="NAME", help="Column with the date of each article."
)
@click.option("--text-column", default="text", show_default=True, metavar="NAME", help="Column with its text.")
@click.option(
    "--id-column",
    default="doc_id",
    show_default=True,
    metavar="NAME",
    help="Column with its name, unique in the corpus.",
)
@click.option("--number-articles", is_flag=True, help="Name articles by file and number instead: news.csv#1.")
@click.option(
    "--title-column",
    default="title",
    show_default=True,
    metavar="NAME",
    help="Column with its headline, if there is one.",
)
@click.option(
    "--headline/--no-headline", default=True, show_default=True, help="Parse the headline as the first paragraph."
)
@click.option(
    "--paragraphs",
    default="blank-line",
    show_default=True,
    metavar="[blank-line|line]",
    help="What parts the paragraphs of a text.",
)
@click.option("--model", metavar="FILE", help="A trained model.  [default: the English one of the package]")
@click.option("--recalibration", metavar="FILE", help="Record of `corefsample recalibrate` to put the scores through.")
@click.option(
    "--mentions",
    metavar="[annotated|parse]",
    help="Those of the file, or those found in the parse.  [default: annotated; for news: parse]",
)
@click.option("--min-prob", type=float, default=1e-4, show_default=True, help="Candidates below this are left out.")
@scheme_option
@entity_fields_option
@on_error_option
@overwrite_option
@json_option
def score(
    inputs: tuple[str, ...],
    out: str,
    number_articles: bool,
    resume: bool,
    overwrite: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Score the antecedents of mentions, in news or in annotated documents.

    INPUTS are dated news, with --pipeline: CSV, JSON Lines or Parquet with the columns doc_id, date, text and title;
    NITF XML, archives (.tgz) and folders of it; or - for JSON Lines on standard input. Or they are annotated corpora
    (.conllu, .conll, _conll, also with .gz), whose mentions and gold are kept; or scored mentions, to be scored anew.
    The file --out is what the commands events and calibrate read.

    \b
    Examples:
      corefsample score news.csv --pipeline en_core_web_sm --out scored.parquet
      corefsample score corpus.conllu --model model.npz --out scored.jsonl.gz
    """
    from events.jobs.scoring import PARTS_SUFFIX, ScoreOptions, run_score

    if number_articles:
        options["id_column"] = None
    chosen = ScoreOptions(**options)
    try:
        with scoring_progress(as_json) as on_progress:
            run = run_score(inputs, out, chosen, resume=resume, overwrite=overwrite, on_progress=on_progress)
    except BaseException as error:
        # Where what was asked for is at fault, the parts are not the point.
        if os.path.isdir(out + PARTS_SUFFIX) and not isinstance(error, ParameterError):
            complain(f"what is done is kept in {out}{PARTS_SUFFIX}: --resume goes on from there")
        raise
    if as_json:
        print_json(run.to_json())
    else:
        _print_scoring(run)


def _print_scoring(run: ScoringRun) -> None:
    tally = run.tally
    click.echo(
        f"{counted(tally.n_documents, 'document')}, {counted(tally.n_mentions, 'mention')}, "
        f"{counted(tally.n_candidates, 'candidate')}."
    )
    tell(
        f"{tally.n_dropped:,} unlikely candidates left out: {tally.mean_dropped_mass:.2g} of a mention's probability "
        "on average."
    )
    if tally.n_without_gold:
        click.echo(f"{tally.n_without_gold:,} mentions of annotated documents have no annotated entity.")
    if run.skipped:
        tell(f"Mentions skipped: {mention_counts(run.skipped)}.")
    if run.n_resumed:
        click.echo(f"{run.n_resumed:,} documents were scored before and not again.")
    if run.n_quarantined:
        click.echo(f"{counted(run.n_quarantined, 'bad document')} set aside in {run.out}.quarantine.jsonl, the first:")
        for reason in run.reasons:
            click.echo(f"  {reason}")
    rate = tally.n_documents / run.seconds if run.seconds else 0.0
    click.echo(f"\nScored   {run.out} ({run.seconds:,.1f} s, {rate:,.1f} documents a second)\nRecord   {run.record}")
