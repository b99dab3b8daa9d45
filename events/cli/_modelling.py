"""Commands that train the antecedent model and score with it: train, score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from events.cli._options import (
    Command,
    cluster_options,
    entity_fields_option,
    output_options,
    print_result,
    scheme_option,
    seed_option,
)
from events.cli._screen import (
    counted,
    mention_counts,
    print_counts,
    print_text,
    progress,
    training_progress,
)

if TYPE_CHECKING:
    from events.jobs.scoring import ScoringRun
    from events.jobs.training import TrainingRun
    from events.news import TextTally


AT_LEAST_0, AT_LEAST_1 = click.FloatRange(min=0.0), click.IntRange(min=1)
BELOW_1 = click.FloatRange(0.0, 1.0, max_open=True)


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
@click.option("--out", required=True, metavar="FILE", help="File for the model, usually .npz.")
@click.option(
    "--held-out", multiple=True, metavar="FILE", help="Documents for choosing penalty and passes; repeatable."
)
@click.option(
    "--held-out-share",
    type=BELOW_1,
    default=0.1,
    help="Share of the documents to hold out if there is no --held-out; 0: none.",
)
@click.option(
    "--refit", is_flag=True, help="Train once more, with the held-out documents and the chosen penalty and passes."
)
@click.option(
    "--where",
    multiple=True,
    metavar="KEY=VALUE[,VALUE]",
    help="Only documents with this metadata, or doc_id; * and ? are wildcards. If repeated, all conditions apply.",
)
@scheme_option
@entity_fields_option
@click.option("--attribution", metavar="TEXT", help="Attribution of the texts, to store in the model.")
@click.option("--note", metavar="TEXT", help="Any other text to store in the model.")
@click.option("--l2", type=AT_LEAST_0, multiple=True, help="Penalty to try; repeatable.  [default: 0.02 and 0.05]")
@click.option("--epochs", type=AT_LEAST_1, default=5, help="Passes over the documents, at most.")
@click.option("--orders", type=AT_LEAST_1, default=3, help="Runs in different orders, whose weights are averaged.")
@click.option("--link-weight", type=AT_LEAST_0, default=10.0, help="Weight of the log loss of link marginals.")
@click.option(
    "--margin",
    type=AT_LEAST_0,
    nargs=3,
    default=(0.0, 0.0, 0.0),
    metavar="FA FN WL",
    help="Softmax-margin costs: a false anaphor, a false NEW, a wrong link.",
)
@click.option(
    "--learning-rate", type=click.FloatRange(min=0.0, min_open=True), default=0.1, help="Step size of AdaGrad."
)
@click.option(
    "--templates",
    metavar="FILE",
    help="YAML file of features: lists pronoun, phrase, new.  [default: the ones in the package]",
)
@click.option("--bits", type=click.IntRange(8, 22), default=20, help="The model has 2 to this power weights.")
@click.option(
    "--min-count", type=AT_LEAST_1, default=1, help="Words in fewer documents are represented by their endings."
)
@seed_option("Same seed, same model.")
@click.option("--threads", type=AT_LEAST_1, default=2, help="Threads; more than two are no faster.")
@output_options
def train(
    corpora: tuple[str, ...], out: str, held_out: tuple[str, ...], overwrite: bool, as_json: bool, **options: Any
) -> None:
    """Train an antecedent model on annotated corpora.

    CORPORA are CoNLL-U with entities (CorefUD: .conllu) or CoNLL-2012 (.conll, _conll), both also with .gz, or scored
    mentions with gold. Penalty and passes are chosen by the likelihood of the gold antecedents of held-out documents,
    -log P in nats per mention. A record of the training is written beside the model.

    \b
    Examples:
      corefsample train train.conllu --held-out dev.conllu --out model.npz
      corefsample train corpus.conllu --where genre=news,speech --out news.npz
    """
    from events.jobs.training import TrainOptions, run_train

    chosen = TrainOptions(**options)
    with training_progress(as_json) as (on_progress, on_epoch):
        run = run_train(
            corpora,
            out,
            chosen,
            held_out=held_out,
            overwrite=overwrite,
            on_progress=on_progress,
            on_epoch=on_epoch,
        )
    print_result(run, as_json, _print_training)


def _print_training(run: TrainingRun) -> None:
    from corefsample.files import total_size

    click.echo(f"Trained on {counted(run.n_documents, 'document')}, {counted(run.n_mentions, 'annotated mention')}.")
    print_counts(
        (run.n_held_out, "document", "held out"),
        (run.n_without_gold, "document", "without annotated entities left out"),
        (run.n_not_selected, "document", "left out by --where"),
        (run.n_quarantined, "bad document", "set aside"),
    )
    if run.skipped:
        print_text(f"Mentions skipped: {mention_counts(run.skipped)}.")
    click.echo(f"\n{'penalty':>7} {'pass':>5} {'training':>9} {'held out':>9} {'links':>9}")
    for report in run.reports:
        held_out = report.held_out
        losses = f"{'-':>9} {'-':>9}" if held_out is None else f"{held_out.loss:>9.4f} {held_out.link_loss:>9.4f}"
        mark = " chosen" if report is run.chosen and held_out is not None else ""
        click.echo(f"{report.l2:>7g} {report.epoch:>5} {report.loss:>9.4f} {losses}{mark}")
    print_text(
        "training, held out: -log P of gold antecedents; links: log loss of link marginals; both in nats per mention."
    )
    click.echo(f"\nModel    {run.out} ({total_size([run.out]) / 1000:,.0f} kB)\nRecord   {run.record}")


@click.command(
    cls=Command,
    short_help="Score mentions in news or in annotated documents.",
    sections={
        "Reading news": (
            *("date_format", "date_column", "text_column", "id_column", "number_articles", "title_column"),
            *("headline", "paragraphs", "fix_text"),
        ),
        "Sampling parses": ("parses", "parse_temperature"),
        "Scoring": ("model", "recalibration", "mentions", "min_prob", "scheme", "entity_fields", "clusters"),
        "Parts and processes": ("workers", "scheduler", "restart"),
    },
)
@click.argument("inputs", nargs=-1, required=True)
@click.option("--out", required=True, metavar="FILE", help="File for the scored mentions: .jsonl, .jsonl.gz, .parquet.")
@click.option(
    "--pipeline", metavar="SPACY", help="spaCy package or folder that parses news, or corpora without a parse."
)
@cluster_options("all processors for news, else 1")
@click.option("--restart", is_flag=True, help="Begin anew: discard the parts of an interrupted run.")
@click.option("--date-format", metavar="FORMAT", help="How tables write dates, such as %m/%d/%Y.  [default: ISO dates]")
@click.option("--date-column", default="date", metavar="NAME", help="Column with the date of each article.")
@click.option("--text-column", default="text", metavar="NAME", help="Column with its text.")
@click.option("--id-column", default="doc_id", metavar="NAME", help="Column with its name, unique in the corpus.")
@click.option("--number-articles", is_flag=True, help="Name articles by file and number instead: news.csv#1.")
@click.option("--title-column", default="title", metavar="NAME", help="Column with its headline, if there is one.")
@click.option("--headline/--no-headline", default=True, help="Parse the headline as the first paragraph.")
@click.option(
    "--paragraphs",
    type=click.Choice(["blank-line", "line"]),
    default="blank-line",
    help="What separates the paragraphs of a text.",
)
@click.option("--fix-text", is_flag=True, help="Repair characters of a wrong encoding with ftfy (extra `text`).")
@click.option(
    "--parses",
    type=click.IntRange(1, 10_000),
    help="Draw this many parses of each text, and score all.  [default: the usual parse]",
)
@click.option(
    "--parse-temperature",
    type=click.FloatRange(min=0.0, min_open=True),
    help="Temperature of the drawn parses.  [default: that fitted for the pipeline]",
)
@click.option("--model", metavar="FILE", help="A trained model.  [default: the English one in the package]")
@click.option(
    "--recalibration",
    metavar="FILE",
    help="Record of `corefsample recalibrate` to apply to the scores; none: leave them as they are.  [default: "
    "english, that of the English model; none for a --model]",
)
@click.option(
    "--mentions",
    type=click.Choice(["annotated", "parse"]),
    help="Those of the file, or those found in the parse.  [default: annotated; for news: parse]",
)
@click.option("--min-prob", type=BELOW_1, default=1e-4, help="Candidates below this probability are left out.")
@click.option(
    "--clusters",
    type=click.Choice(["map", "sample", "binder", "vi", "vi-bound", "nvi", "ari", "muc", "b3", "lea", "conll"]),
    help="Also write one clustering of each document, in CorefUD, beside --out. map: likeliest antecedents; sample: "
    "one sampled clustering; others: the smallest expected loss of that name.  [default: scores only]",
)
@scheme_option
@entity_fields_option
@output_options
def score(
    inputs: tuple[str, ...],
    out: str,
    number_articles: bool,
    restart: bool,
    workers: int | None,
    scheduler: str | None,
    overwrite: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Score the antecedents of mentions, in news or in annotated documents.

    INPUTS are dated news, with --pipeline: CSV, Excel, JSON Lines or Parquet with the columns doc_id, date, text and
    title; texts (.txt) with a date such as 2001-09-11 in their names; NITF XML, archives (.tgz) and folders of these;
    or - for JSON Lines on standard input. Or they are annotated corpora (.conllu, .conll, _conll, also with .gz), whose
    mentions and gold are kept; or scored mentions, to be scored again. The commands events and calibrate read the file
    --out.

    \b
    Examples:
      corefsample score news.csv --pipeline en_core_web_sm --out scored.parquet
      corefsample score corpus.conllu --model model.npz --out scored.jsonl.gz
      corefsample score texts --pipeline NAME --fix-text --out scored.parquet
      corefsample score news.csv --pipeline NAME --workers 8 --out scored.parquet
      corefsample score corpus.conllu --clusters conll --out scored.jsonl.gz
      corefsample score news.csv --pipeline NAME --parses 10 --out scored.parquet
    """
    from events.jobs import compiled_ahead

    if number_articles:
        options["id_column"] = None
    with compiled_ahead("score"):
        from events.jobs.scoring import ScoreOptions, run_score

        chosen = ScoreOptions(**options)
        with progress("scoring", as_json) as on_progress:
            run = run_score(
                inputs,
                out,
                chosen,
                overwrite=overwrite,
                restart=restart,
                workers=workers,
                scheduler=scheduler,
                on_progress=on_progress,
            )
    print_result(run, as_json, _print_scoring)


def _print_scoring(run: ScoringRun) -> None:
    tally = run.tally
    click.echo(
        f"{counted(tally.n_documents, 'document')}, {counted(tally.n_mentions, 'mention')}, "
        f"{counted(tally.n_candidates, 'candidate')}."
    )
    print_text(
        f"{tally.n_dropped:,} unlikely candidates left out: {tally.mean_dropped_mass:.2g} of a mention's probability "
        "on average."
    )
    if run.recalibration is not None:
        whose = "the English model's" if run.recalibration == "english" else run.recalibration
        print_text(f"Recalibrated ({whose} recalibration); --recalibration none leaves the scores as they are.")
    if tally.n_without_gold:
        click.echo(f"{tally.n_without_gold:,} mentions of annotated documents have no annotated entity.")
    if run.skipped:
        print_text(f"Mentions skipped: {mention_counts(run.skipped)}.")
    _print_text_faults(run.texts)
    if run.n_resumed:
        click.echo(f"{run.n_resumed:,} documents were scored by the earlier run.")
    if run.n_quarantined:
        click.echo(f"{counted(run.n_quarantined, 'bad document')} set aside in {run.out}.quarantine.jsonl, the first:")
        for reason in run.reasons:
            click.echo(f"  {reason}")
    if run.left_out:
        print_text(f"Mentions that the file of clusters lacks: {mention_counts(run.left_out)}.")
    rate = tally.n_documents / run.seconds if run.seconds else 0.0
    click.echo(f"\nScored   {run.out} ({run.seconds:,.1f} s, {rate:,.1f} documents per second)\nRecord   {run.record}")
    if run.clusters is not None:
        click.echo(f"Clusters {run.clusters}")


def _print_text_faults(texts: TextTally) -> None:
    """Print how many texts have lost their upper case or their encoding, and what to do."""

    def of_all(count: int) -> str:
        return f"{count:,} of {counted(texts.n_texts, 'document')} ({count / texts.n_texts:.1%})"

    if texts.n_repaired:
        print_text(f"Text repaired: {of_all(texts.n_repaired)}.")
    if texts.n_lower_case:
        print_text(
            f"Without upper case: {of_all(texts.n_lower_case)}. Parsers find names and the ends of sentences by it, "
            "and a lexicon some names (US, Turkey): few events will be found. Score the texts as they were published, "
            "or restore their case first."
        )
    if texts.n_mojibake:
        print_text(
            f"Characters of a wrong encoding, as in \u201cdidn\u00e2\u20ac\u2122t\u201d: {of_all(texts.n_mojibake)}. "
            "Read the source as UTF-8, or repair the text with --fix-text."
        )
    if texts.n_lost:
        print_text(
            f"Characters lost (\N{REPLACEMENT CHARACTER}): {of_all(texts.n_lost)}. "
            "Read the source again in its own encoding."
        )
