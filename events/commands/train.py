"""Train an antecedent model on annotated corpora.

CORPORA are CoNLL-U with entities (CorefUD: .conllu) or CoNLL-2012 (.conll, _conll), both also with .gz, or scored
mentions with gold. Penalty and passes are chosen by the likelihood of the gold antecedents of held-out documents,
-log P in nats per mention. A record of the training is written beside the model.

Examples
--------
  corefsample train train.conllu --held-out dev.conllu --out model.npz
  corefsample train corpus.conllu --where genre=news,speech --out news.npz
  corefsample train corpus.conllu --mentions both --windows --out short.npz
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import click

import corefsample
from corefsample.errors import InputError, ParameterError
from events import _shared_options as shared
from events._options import CommandResult, Progress, declared, option
from events._selection import Selection
from events._summary import counted, counts_above_zero, mentions_by_reason
from events.commands._parser import Command
from events.commands._screen import print_text

if TYPE_CHECKING:
    from corefsample.files._paths import Inputs, PathLike
    from corefsample.languages._language import Language
    from corefsample.scorers.protocol import AntecedentScorer, EpochReport, MentionDocument
    from events.runs.scoring._annotated_corpora import Corpus

RECORD_SUFFIX = ".training.json"


@declared
class TrainOptions(shared.SchemeOption, shared.EntityFields, shared.Seed, shared.Overwrite, shared.OnError):
    """Options of a training.

    Attributes
    ----------
    out
        File for the model, usually .npz.
    held_out
        File of held-out documents, by which penalty and number of passes are chosen.
    held_out_share
        Share of the documents to hold out if there is no --held-out; 0 for none.
    refit
        Train again on all documents, held-out ones included, with the chosen penalty and number of passes.
    where
        Train only on documents with this metadata or doc_id; * and ? are wildcards. If repeated, all conditions apply.
    attribution
        Attribution of the texts, to store in the model.
    note
        Remark to store in the model.
    mentions
        Mentions to train on: the annotated ones; those found in the parse, with gold by span and then by head; or both,
        each document twice.
    windows
        Train also on windows of 1 to 6 sentences, which improves counts of events.
    language
        Code of the language of the corpora, such as es, or a folder with its resources. [default: the language that the
        documents declare]
    start
        Initial weights: those of the English model, or zeros. [default: english for languages other than English,
        unless the bits or the templates differ from those of that model]
    l2
        L2 penalty that is tried. [default: 0.02 and 0.05]
    epochs
        Largest number of passes over the documents.
    orders
        Number of runs in different orders of the documents, whose weights are averaged.
    link_weight
        Weight of the log loss of link marginals.
    margin
        Softmax-margin costs of three errors: a false anaphor, a false NEW, a wrong link.
    learning_rate
        Step size of AdaGrad.
    templates
        YAML file of feature templates, with the lists pronoun, phrase and new. [default: the templates in the package]
    bits
        Base-2 logarithm of the number of weights of the model.
    min_count
        Smallest number of documents with a word; rarer words are represented by their endings.
    seed
        Seed of the random draws: the same seed gives the same model.
    threads
        Number of threads; more than two are not faster.
    """

    out: str = option(metavar="FILE")
    held_out: tuple[str, ...] = option(default=(), metavar="FILE")
    held_out_share: float = option(default=0.1, at_least=0.0, below=1.0)
    refit: bool = False
    where: tuple[str, ...] = option(default=(), metavar="KEY=VALUE[,VALUE]")
    attribution: str | None = option(default=None, metavar="TEXT")
    note: str | None = option(default=None, metavar="TEXT")
    mentions: Literal["annotated", "parse", "both"] = "annotated"
    windows: bool = False
    language: str | None = option(default=None, metavar="CODE")
    start: Literal["english", "none"] | None = None
    l2: tuple[float, ...] = option(default=(), at_least=0.0)
    epochs: int = option(default=5, at_least=1)
    orders: int = option(default=3, at_least=1)
    link_weight: float = option(default=10.0, at_least=0.0)
    margin: tuple[float, float, float] = option(default=(0.0, 0.0, 0.0), at_least=0.0, metavar="FA FN WL")
    learning_rate: float = option(default=0.1, above=0.0)
    templates: str | None = option(default=None, metavar="FILE")
    bits: int = option(default=20, at_least=8, at_most=22)
    min_count: int = option(default=1, at_least=1)
    threads: int = option(default=2, at_least=1)


@dataclass(frozen=True, slots=True, eq=False)
class TrainResult(CommandResult):
    """Outputs and results of a training run.

    Attributes
    ----------
    out, record
        Path of the model file, and path of the record of the training beside it.
    model
        Trained model.
    reports
        Reports of each pass with each penalty, in order; with `refit`, reports of the last training have no held-out
        losses.
    l2, epoch
        Penalty and number of passes with the lowest loss on held-out documents.
    n_documents, n_mentions
        Number of documents in the training, and number of their annotated mentions.
    n_held_out
        Number of held-out documents; with `refit`, the final model is trained on them too.
    n_without_gold, n_not_selected
        Number of documents left out because they have no annotated entities, and number of documents left out because
        they do not meet the conditions `where`.
    n_quarantined
        Number of invalid documents that were set aside.
    skipped
        Number of mentions of the corpora that could not be read, by reason.
    seconds
        Wall time in seconds.
    """

    out: str
    record: str
    model: AntecedentScorer
    reports: tuple[EpochReport, ...]
    l2: float
    epoch: int
    n_documents: int
    n_mentions: int
    n_held_out: int
    n_without_gold: int
    n_not_selected: int
    n_quarantined: int
    skipped: dict[str, int]
    seconds: float

    @property
    def best_pass(self) -> EpochReport:
        """Report of the pass `epoch` with the penalty `l2`."""
        return next(report for report in self.reports if (report.l2, report.epoch) == (self.l2, self.epoch))

    def _more(self) -> dict[str, Any]:
        losses = self.best_pass.held_out
        return {
            "held_out": None if losses is None else dataclasses.asdict(losses),
            "passes": [_report_row(report) for report in self.reports],
        }


def _report_row(report: EpochReport) -> dict[str, Any]:
    losses = report.held_out
    row = {name: getattr(report, name) for name in ("l2", "epoch", "loss")}
    return row | {"held_out_loss": losses and losses.loss, "held_out_link_loss": losses and losses.link_loss}


def run_train(
    corpora: Inputs,
    options: TrainOptions,
    *,
    on_progress: Progress | None = None,
    on_epoch: Callable[[EpochReport], None] | None = None,
) -> TrainResult:
    """Train an antecedent model on annotated corpora.

    The model depends only on the documents, their order and the options: the same command gives the same bytes.

    Parameters
    ----------
    corpora
        Paths or globs of files in CoNLL-U or CoNLL-2012, or of scored mentions with gold, or "-" for standard input.
        Documents without annotated entities are counted and left out; each file must have a document with annotated
        entities.
    options
        Options of the training, and the new file for the model. The record is written to its name with .training.json
        added, and invalid documents to its name with .quarantine.jsonl added. Without `held_out`, a share of the
        documents is held out, drawn by their doc_ids and the seed.
    on_progress
        Function that is called after each document with the bytes read, the bytes of all files, and the number of
        documents.
    on_epoch
        Function that is called with the report of each pass after this pass.

    Raises
    ------
    ParameterError
        If an output exists and `overwrite` is false.
    InputError
        If a document is invalid and is not set aside, a file has no gold, no document remains for training, or a
        document is both in `corpora` and in `held_out`.
    OutputError
        If a file cannot be written.
    """
    from corefsample.files._atomic import write_json
    from corefsample.formats.scored._writing import quarantine_file
    from events.runs._outputs import checksums, free_outputs, run_record
    from events.runs.scoring._annotated_corpora import NO_CORPUS, annotated_inputs, chosen_language, read_corpus

    started = time.time()
    path = options.out
    if not path:
        raise ParameterError("must name a file, got ''", parameter="out")
    record = free_outputs(path, RECORD_SUFFIX, overwrite=options.overwrite)
    features = {} if options.templates is None else {"templates": load_templates(options.templates)}
    selection = Selection(options.where)
    with quarantine_file(path, **options.subset("on_error", "overwrite")) as on_rejected:
        paths = [corpora, options.held_out] if options.held_out else [corpora]
        inputs = [annotated_inputs(each, options.entity_fields) for each in paths]
        corpora_read = [read_corpus(each, selection, options.scheme, on_rejected, on_progress) for each in inputs]
        corpus, held_out = (*corpora_read, NO_CORPUS)[:2]
        documents, held_out_documents = split_documents(corpus, held_out, options)
        language = chosen_language(options.language, [corpus, held_out])
        sources = checksums(corpus.paths)
        held_out_sources = checksums(held_out.paths)
        model, reports = fit_model(
            documents,
            held_out_documents,
            options,
            language=language,
            features=features,
            provenance=_provenance(options, sources, held_out_sources, documents, len(held_out_documents)),
            on_epoch=on_epoch,
        )
        model.save(path, overwrite=options.overwrite)
        run = TrainResult(
            out=path,
            record=record,
            model=model,
            reports=reports,
            **{name: model.provenance[name] for name in ("l2", "epoch", "n_documents", "n_mentions")},
            n_held_out=len(held_out_documents),
            n_without_gold=corpus.n_without_gold + held_out.n_without_gold,
            n_not_selected=corpus.n_not_selected + held_out.n_not_selected,
            n_quarantined=0 if on_rejected is None else on_rejected.count,
            skipped=dict(corpus.skipped + held_out.skipped),
            seconds=round(time.time() - started, 3),
        )
        record_content = run_record(
            options.recorded(),
            [{"part": "train", **row} for row in sources] + [{"part": "held out", **row} for row in held_out_sources],
            started,
            summary=run.to_json(),
            documents=[document.doc_id for document in documents],
            held_out=[document.doc_id for document in held_out_documents],
        )
        write_json(run.record, record_content)
    return run


def _provenance(
    options: TrainOptions,
    sources: Sequence[dict[str, Any]],
    held_out_sources: Sequence[dict[str, Any]],
    documents: Sequence[MentionDocument],
    n_held_out: int,
) -> dict[str, Any]:
    """Describe the origin of a model without folders and times, so that the same command gives the same bytes."""
    texts = {"attribution": options.attribution, "note": options.note}
    doc_ids = "\n".join(document.doc_id for document in documents).encode("utf-8", "surrogatepass")
    return {
        "made_by": f"corefsample train, version {corefsample.__version__}",
        **{name: text for name, text in texts.items() if text is not None},
        "corpora": _without_folders(sources),
        "where": list(options.where),
        "held_out_corpora": _without_folders(held_out_sources),
        "n_held_out": n_held_out,
        "refit": options.refit,
        "documents_sha256": hashlib.sha256(doc_ids).hexdigest(),
    }


def _without_folders(sources: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "path": os.path.basename(row["path"])} for row in sources]


def load_templates(path: PathLike) -> Any:
    """Read feature templates from a YAML file with the lists pronoun, phrase and new.

    Raises
    ------
    InputError
        If the file cannot be read, does not have these lists, or has an invalid template.
    """
    from corefsample.scorers._loading import feature_templates
    from events._yaml_file import file_bytes, read_yaml, typed

    name = os.fspath(path)
    lists = typed(name, read_yaml(name, file_bytes(name)), dict[str, list[str]])
    try:
        return feature_templates(lists)
    except ParameterError as error:
        raise error.as_input_error(name) from None


def held_out_ids(doc_ids: Collection[str], share: float, *, seed: int = 0) -> frozenset[str]:
    """Draw documents to hold out.

    Documents are ranked by a hash of the seed and their doc_id, so the result does not depend on their order.

    Parameters
    ----------
    doc_ids
        Distinct identifiers of the documents.
    share
        Share of the documents to hold out, in (0, 1). The number is rounded up, and must leave at least one document to
        train on.
    seed
        Seed of the draw, in [0, 2**64).

    Raises
    ------
    ParameterError
        If no document remains for training.
    """
    n_held_out = math.ceil(share * len(doc_ids))
    if n_held_out >= len(doc_ids):
        rule = "must leave a document to train on in addition to those held out"
        raise ParameterError(
            f"{rule}, got {share} of {len(doc_ids)}", parameter="held_out_share", hint="0 holds out none"
        )
    key = seed.to_bytes(8, "little")
    ranked = sorted(
        doc_ids,
        key=lambda doc_id: (hashlib.blake2b(doc_id.encode("utf-8", "surrogatepass"), key=key).digest(), doc_id),
    )
    return frozenset(ranked[:n_held_out])


_AS_GIVEN = frozenset(
    {"learning_rate", "link_weight", "bits", "min_count", "orders", "seed", "scheme", "mentions", "windows", "start"}
)
_L2_GRID = (0.02, 0.05)
_L2_DEFAULT = (0.02,)  # without held-out documents


def split_documents(
    corpus: Corpus, held_out_corpus: Corpus, options: Any
) -> tuple[list[MentionDocument], list[MentionDocument]]:
    """Return the documents for training, and those of `held_out_corpus`, or a share of the corpus if it has no files.

    Raises
    ------
    InputError
        If a document is in both corpora.
    ParameterError
        If no document remains for training.
    """
    doc_ids = [document.doc_id for document in corpus.documents]
    if not held_out_corpus.paths:
        held_out = held_out_ids(doc_ids, options.held_out_share, seed=options.seed)
        documents = [document for document in corpus.documents if document.doc_id not in held_out]
        return documents, [document for document in corpus.documents if document.doc_id in held_out]
    for repeated in (document for document in held_out_corpus.documents if document.doc_id in set(doc_ids)):
        location = f"{', '.join(held_out_corpus.paths)}: doc_id {repeated.doc_id!r}"
        raise InputError("a document must be trained on or held out, got it in both", place=location)
    return corpus.documents, held_out_corpus.documents


def fit_model(
    documents: Sequence[MentionDocument],
    held_out: Sequence[MentionDocument],
    options: Any,
    *,
    language: Language,
    features: Mapping[str, Any],
    provenance: Mapping[str, Any],
    on_epoch: Callable[[EpochReport], None] | None,
) -> tuple[AntecedentScorer, tuple[EpochReport, ...]]:
    """Train a model; with `options.refit`, train it again on all documents with the best penalty and number of passes.

    Returns
    -------
    AntecedentScorer
        The model, whose provenance has the best penalty and number of passes.
    tuple of EpochReport
        Reports of all passes.
    """
    from corefsample.scorers._loading import train_scorer

    reports: list[EpochReport] = []

    def report(epoch: EpochReport) -> None:
        reports.append(epoch)
        if on_epoch is not None:
            on_epoch(epoch)

    trained: Callable[..., AntecedentScorer] = partial(
        train_scorer,
        costs=options.margin,
        language=language,
        **features,
        n_threads=options.threads,
        **{name: getattr(options, name) for name in _AS_GIVEN},
        on_epoch=report,
    )
    penalties = tuple(options.l2) or (_L2_GRID if held_out else _L2_DEFAULT)
    model = trained(documents, held_out=held_out or None, l2=penalties, epochs=options.epochs, provenance=provenance)
    if options.refit and held_out:
        choice = model.provenance
        figures = {"n_documents": len(held_out), "l2_tried": list(penalties), **choice["held_out"]}
        all_documents = [*documents, *held_out]
        full_provenance = {**provenance, "chosen_on": figures}
        model = trained(all_documents, l2=(choice["l2"],), epochs=choice["epoch"], provenance=full_provenance)
    return model, tuple(reports)


def print_train(run: TrainResult) -> None:
    """Print the numbers of documents, the losses of each pass, and the path of the model."""
    from corefsample.files._paths import total_size

    click.echo(f"Language: {run.model.language.code} (resources: {run.model.language.resources}).")
    click.echo(f"Trained on {counted(run.n_documents, 'document')}, {counted(run.n_mentions, 'annotated mention')}.")
    if run.model.provenance["options"]["start"] == "english":
        click.echo("Began with the weights of the English model (--start none: with zeros).")
    for text in counts_above_zero(
        (run.n_held_out, "document", "held out"),
        (run.n_without_gold, "document", "without annotated entities left out"),
        (run.n_not_selected, "document", "left out by --where"),
        (run.n_quarantined, "bad document", "set aside"),
    ):
        print_text(text)
    for text in mentions_by_reason("skipped", run.skipped):
        print_text(text)
    click.echo(f"\n{'penalty':>7} {'pass':>5} {'training':>9} {'held out':>9} {'links':>9}")
    for report in run.reports:
        held_out = report.held_out
        losses = f"{'-':>9} {'-':>9}" if held_out is None else f"{held_out.loss:>9.4f} {held_out.link_loss:>9.4f}"
        mark = " chosen" if report is run.best_pass and held_out is not None else ""
        click.echo(f"{report.l2:>7g} {report.epoch:>5} {report.loss:>9.4f} {losses}{mark}")
    print_text(
        "training, held out: -log P of gold antecedents; links: log loss of link marginals; both in nats per mention."
    )
    click.echo(f"\nModel    {run.out} ({total_size([run.out]) / 1000:,.0f} kB)\nRecord   {run.record}")


command = Command(
    TrainOptions,
    run_train,
    "corpora+",
    task="reading",
    sections={
        "Choosing and reading documents": "held_out_share refit where scheme entity_fields attribution note",
        "What it learns from": "mentions windows language",
        "Training": "l2 epochs orders link_weight margin learning_rate templates bits min_count seed threads",
    },
    show=print_train,
)
