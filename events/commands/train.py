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

import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from corefsample.errors import ParameterError
from events import _options as shared
from events._summary import Summary, Table, counted, counts_above_zero, mentions_by_reason, set_aside
from events.commands._parser import Command

if TYPE_CHECKING:
    from corefsample.files._paths import Inputs
    from corefsample.scorers.protocol import AntecedentScorer, EpochReport

RECORD_SUFFIX = ".training.json"
_READING = ("held_out", "held_out_share", "where", "scheme", "seed")
_TRAINING = ("l2", "epochs", "refit", "start", "learning_rate", "link_weight", "bits", "min_count", "orders", "seed")
_TEXTS = ("scheme", "mentions", "windows")


@shared.declared
class TrainOptions(shared.SchemeOption, shared.Seed, shared.Overwrite, shared.OnError):
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
        unless the bits differ from those of that model]
    l2
        L2 penalty that is tried. [default: 0.02 and 0.05]
    epochs
        Largest number of passes over the documents.
    orders
        Number of runs in different orders of the documents, whose weights are averaged.
    link_weight
        Weight of the log loss of link marginals.
    learning_rate
        Step size of AdaGrad.
    bits
        Base-2 logarithm of the number of weights of the model.
    min_count
        Smallest number of documents with a word; rarer words are represented by their endings.
    seed
        Seed of the random draws: the same seed gives the same model.
    """

    out: str = shared.option(metavar="FILE")
    held_out: tuple[str, ...] = shared.option(default=(), metavar="FILE")
    held_out_share: float = shared.option(default=0.1, at_least=0.0, below=1.0)
    refit: bool = False
    where: tuple[str, ...] = shared.option(default=(), metavar="KEY=VALUE[,VALUE]")
    attribution: str | None = shared.option(default=None, metavar="TEXT")
    mentions: Literal["annotated", "parse", "both"] = "annotated"
    windows: bool = False
    language: str | None = shared.option(default=None, metavar="CODE")
    start: Literal["english", "none"] | None = None
    l2: tuple[float, ...] = shared.option(default=(), at_least=0.0)
    epochs: int = shared.option(default=5, at_least=1)
    orders: int = shared.option(default=3, at_least=1)
    link_weight: float = shared.option(default=10.0, at_least=0.0)
    learning_rate: float = shared.option(default=0.1, above=0.0)
    bits: int = shared.option(default=20, at_least=8, at_most=22)
    min_count: int = shared.option(default=1, at_least=1)


def run_train(
    corpora: Inputs,
    options: TrainOptions,
    *,
    on_progress: shared.Progress | None = None,
    on_epoch: Callable[[EpochReport], None] | None = None,
) -> Summary:
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
    from corefsample.scorers._loading import train_scorer
    from events.runs._outputs import free_outputs, run_record
    from events.runs._training_corpora import TrainingCorpus, chosen_language

    started, path = time.time(), options.out
    if not path:
        raise ParameterError("must name a file, got ''", parameter="out")
    record = free_outputs(path, RECORD_SUFFIX, overwrite=options.overwrite)
    with quarantine_file(path, **options.subset("on_error", "overwrite")) as on_rejected:
        watching: dict[str, Any] = {"on_rejected": on_rejected, "on_progress": on_progress}
        corpus = TrainingCorpus(corpora, **options.subset(*_READING), **watching)
        model, figures = train_scorer(
            corpus.documents,
            corpus.held_out,
            language=chosen_language(options.language, corpus),
            provenance=corpus.provenance(options.subset("attribution", "where", "refit")),
            on_epoch=on_epoch,
            **options.subset(*_TRAINING, *_TEXTS),
        )
        model.save(path, overwrite=options.overwrite)
        values = {"out": path, "record": record, **figures, **corpus.numbers()}
        values["n_quarantined"] = 0 if on_rejected is None else on_rejected.count
        values["seconds"] = round(time.time() - started, 3)
        doc_ids = {name: [each.doc_id for each in getattr(corpus, name)] for name in ("documents", "held_out")}
        entries = {"summary": values, **doc_ids}
        write_json(record, run_record(options.recorded(), corpus.inputs, started, **entries))
    files = {"Model": f"{path} ({os.path.getsize(path) / 1000:,.0f} kB)", "Record": record}
    shown, notices = [*_shown(values, model)], set_aside(values["n_quarantined"])
    return Summary(values=values, shown=shown, notices=notices, files=files, result=model)


def _shown(values: dict[str, Any], model: AntecedentScorer) -> Iterator[str | Table]:
    """Yield the numbers of documents, and the losses of each pass."""
    yield f"Language: {model.language.code} (resources: {model.language.resources})."
    yield f"Trained on {counted(values['n_documents'], 'document')}, {values['n_mentions']:,} annotated mentions."
    if model.provenance["options"]["start"] == "english":
        yield "Began with the weights of the English model (--start none: with zeros)."
    yield from counts_above_zero(
        (values["n_held_out"], "document", "held out"),
        (values["n_without_gold"], "document", "without annotated entities left out"),
        (values["n_not_selected"], "document", "left out by --where"),
    )
    yield from mentions_by_reason("skipped", values["skipped"])
    rows = []
    for l2, epoch, *losses in (row.values() for row in values["passes"]):
        is_best = values["held_out"] is not None and (l2, epoch) == (values["l2"], values["epoch"])
        texts = ["-" if loss is None else f"{loss:.4f}" for loss in losses]
        rows.append((f"{l2:g}", f"{epoch}", *texts, "chosen" if is_best else ""))
    yield Table(("penalty", "pass", "training", "held out", "links", ""), rows)
    yield "training, held out: -log P of gold antecedents; links: log loss of link marginals; in nats per mention."


command = Command(TrainOptions, run_train, "corpora+", task="reading")
