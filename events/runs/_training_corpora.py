"""Corpora to train on, and scores of documents by models that were trained without them, fold by fold."""

import hashlib
import logging
import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import corefsample
from corefsample._random import document_key
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import InputError, ParameterError, ParameterHint
from corefsample.files._atomic import write_json
from corefsample.files._paths import Inputs, input_paths, path_list, require_suffix
from corefsample.formats.scored._stream import SUFFIXES
from corefsample.formats.scored._writing import QuarantineFile, quarantine_file, write_documents
from corefsample.languages._language import ENGLISH, Language, declared_language, differ, load_language
from corefsample.scorers import load_scorer, score_documents
from corefsample.scorers._loading import held_out_ids, retrain
from corefsample.scorers._scoring import ENOUGH_WORDS, FEW_KNOWN, ScoringTally, gold_entities, known_words
from corefsample.scorers.protocol import MentionDocument
from corefsample.syntax._mentions import NeutralParse
from events._options import Progress, Selection
from events.corpora._document_inputs import DocumentInputs, reject
from events.news._quality import TextTally
from events.runs._outputs import RECORD_SUFFIX, checksums, free_outputs, run_record
from events.runs._run_options import ScoreOptions
from events.runs._score_run import scoring_values
from events.runs._scorer import load_recalibration


class TrainingCorpus:
    """The selected documents of annotated files, divided into documents to train on and held-out documents.

    Held-out documents are those of other files, or a share of the documents.

    Parameters
    ----------
    corpora
        Files of the documents to train on.
    held_out, held_out_share, where, scheme, seed
        See `events.commands.train.TrainOptions`; by default, no document is held out.
    on_rejected
        File of invalid documents; if it is None, an invalid document is an error.
    on_progress
        Function that is called after each document.

    Attributes
    ----------
    documents, held_out
        Documents to train on, and held-out documents, in order.
    selection
        Conditions on the documents.
    n_without_gold
        Number of documents left out because they have no annotated entities.
    skipped
        Number of annotated mentions that could not be read, by reason.
    languages
        Codes of the languages that the metadata of the selected documents or the names of their files declare.
    inputs
        Path, size and checksum of each file, with its part: "train" or "held out".

    Raises
    ------
    InputError
        If a file has no annotated entities, if no document is selected, or if a document is invalid, or repeats a
        doc_id, and `on_rejected` is None.
    ParameterError
        If no document remains for training, or no document has the metadata of a condition.
    """

    def __init__(
        self,
        corpora: Inputs,
        *,
        held_out: Inputs = (),
        held_out_share: float = 0.0,
        where: Sequence[str],
        scheme: str | None,
        seed: int = 0,
        on_rejected: QuarantineFile | None,
        on_progress: Progress | None,
    ) -> None:
        inputs = DocumentInputs([*path_list(corpora), *path_list(held_out)])
        inputs.require_mentions()
        held_out_paths = frozenset(input_paths(held_out)) if held_out else frozenset[str]()
        self.documents, self.held_out = list[MentionDocument](), list[MentionDocument]()
        self.selection, self.skipped, self.n_without_gold = Selection(where), inputs.skipped, 0
        self.languages, metadata_names = set[str](), set[str]()
        n_with_gold, n_read = Counter[str](), Counter[str]()
        for item in inputs.accepted(on_rejected):
            n_read[item.source] += 1
            if on_progress is not None:
                on_progress(inputs.bytes_read, inputs.total_bytes, n_read.total())
            document: Any = item.document
            gold = gold_entities(document)
            if gold is None or all(entity is None for entity in gold):
                self.n_without_gold += 1
                continue
            n_with_gold[item.source] += 1
            metadata_names.update(document.metadata)
            if not self.selection(document.doc_id, document.metadata):
                continue
            try:
                if document.tokens is None:
                    raise ParameterError("tokens are required to train on, got none")
                NeutralParse.of(document.tokens, scheme)
            except ParameterError as error:
                reject(item.rejected(error), on_rejected)
                continue
            (self.held_out if item.source in held_out_paths else self.documents).append(document)
            self.languages.update(filter(None, [declared_language(document.metadata, item.source)]))
        for path in inputs.paths:
            if not n_with_gold[path]:
                rule = "a corpus must have annotated entities to train on"
                raise InputError(f"{rule}, got none in {n_read[path]} documents", place=path)
        if not self.documents or (held_out_paths and not self.held_out):
            self.selection.require_known_names(metadata_names)
            rule = f"must leave documents to train on ({self.selection}), got none of {self.selection.n_not_selected}"
            raise InputError(rule, parameter="where", place=", ".join(inputs.paths))
        if not held_out_paths:
            drawn = held_out_ids({each.doc_id for each in self.documents}, held_out_share, seed=seed)
            self.held_out = [each for each in self.documents if each.doc_id in drawn]
            self.documents = [each for each in self.documents if each.doc_id not in drawn]
        rows = zip(inputs.paths, checksums(inputs.paths), strict=True)
        self.inputs = [{"part": "held out" if path in held_out_paths else "train", **row} for path, row in rows]

    def numbers(self) -> dict[str, Any]:
        """Numbers of documents that were held out or left out, and of mentions that could not be read, by reason."""
        return {
            "n_held_out": len(self.held_out),
            "n_without_gold": self.n_without_gold,
            "n_not_selected": self.selection.n_not_selected,
            "skipped": dict(self.skipped),
        }

    def provenance(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Describe the origin of a model without folders and times, so that the same command gives the same bytes.

        `options` are attribution, where and refit of the training.
        """
        doc_ids = "\n".join(document.doc_id for document in self.documents).encode("utf-8", "surrogatepass")
        files: dict[str, list[dict[str, Any]]] = {"train": [], "held out": []}
        for row in self.inputs:
            without_folder = {**row, "path": os.path.basename(row["path"])}
            files[without_folder.pop("part")].append(without_folder)
        return {
            "made_by": f"corefsample train, version {corefsample.__version__}",
            **({} if options["attribution"] is None else {"attribution": options["attribution"]}),
            "corpora": files["train"],
            "where": list(options["where"]),
            "held_out_corpora": files["held out"],
            "n_held_out": len(self.held_out),
            "refit": options["refit"],
            "documents_sha256": hashlib.sha256(doc_ids).hexdigest(),
        }


def chosen_language(requested: str | Language | None, corpus: TrainingCorpus) -> Language:
    """Language to train in: the requested one, by default the one that documents declare, otherwise English.

    Raises
    ------
    ParameterError
        If documents declare another language or several languages, or if neither a language is requested nor declared
        and few of the words are English.
    """
    codes = corpus.languages
    name = requested or (min(codes) if codes else ENGLISH)
    language = name if isinstance(name, Language) else load_language(name)
    foreign = sorted(code for code in codes if differ(language.code, code))
    hint = ParameterHint("language", "names the language of all")
    if foreign:
        rule = "must be that of all documents"
        raise ParameterError(f"{rule}, got {language.code} and {', '.join(foreign)}", parameter="language", hint=hint)
    if requested is None and not codes:
        english = load_scorer(ENGLISH)
        documents = (*corpus.documents, *corpus.held_out)
        counts = [known_words(english, each.tokens) for each in documents if each.tokens]
        n_words, n_known = map(sum, zip(*counts, strict=True)) if counts else (0, 0)
        if n_words >= ENOUGH_WORDS and n_known < FEW_KNOWN * n_words:
            rule = "is required: the documents do not declare their language, and few of their words are English"
            hint = ParameterHint("language", "gives its code, such as es; none: features of the parse alone")
            raise ParameterError(f"{rule} ({n_known / n_words:.0%})", parameter="language", hint=hint)
    return language


def folds_of(doc_ids: Iterable[str], n_folds: int) -> dict[str, int]:
    """Fold of each document, from 0, by doc_id; the folds depend on the set of doc_ids alone."""
    ranked = sorted((document_key(0, doc_id), doc_id) for doc_id in doc_ids)
    return {doc_id: rank % n_folds for rank, (_, doc_id) in enumerate(ranked)}


def score_folds(inputs: Inputs, options: ScoreOptions, *, on_progress: Progress | None = None) -> dict[str, Any]:
    """Score documents with gold by models that were trained without them, as `events.commands.run_score` with `folds`.

    The models are trained with the options and the language of `options.model`; by default, with the options of the
    English model of the package, in the language of the documents.
    """
    started, n_folds = time.time(), options.folds or 0
    require_suffix(options.out, SUFFIXES, ParameterError)
    record_path = free_outputs(options.out, RECORD_SUFFIX, overwrite=options.overwrite)
    mentions = options.mentions or "annotated"
    template = load_scorer(options.model, mentions)
    with quarantine_file(options.out, on_error=options.on_error, overwrite=options.overwrite) as on_rejected:
        reading = options.subset("where", "scheme")
        corpus = TrainingCorpus(inputs, **reading, on_rejected=on_rejected, on_progress=on_progress)
        language = chosen_language(None if options.model is None else template.language, corpus)
        change = load_recalibration(options.recalibration or "none", options.model, mentions, language.code)
        folds = folds_of((item.doc_id for item in corpus.documents), n_folds)
        if len(folds) < n_folds:
            rule = f"must be at most the number of documents with gold ({len(folds)})"
            raise ParameterError(f"{rule}, got {n_folds}", parameter="folds")
        tally, scored = ScoringTally(), dict[str, ScoredDocument]()
        scoring: dict[str, Any] = {**options.subset("min_prob", "scheme"), "mentions": mentions, "tally": tally}
        for fold in range(n_folds):
            unseen = [item for item in corpus.documents if folds[item.doc_id] == fold]
            others = [item for item in corpus.documents if folds[item.doc_id] != fold]
            for document in score_documents(retrain(template, others, language, options.scheme), unseen, **scoring):
                scored[document.doc_id] = document if change is None else change.apply_document(document)
            logging.getLogger("corefsample.score").info("fold %d of %d: %d documents", fold + 1, n_folds, len(unseen))
        write_documents((scored[item.doc_id] for item in corpus.documents), options.out, overwrite=options.overwrite)
    more = {
        "n_quarantined": 0 if on_rejected is None else on_rejected.count,
        "skipped": dict(corpus.skipped),
        "recalibration": None if change is None else options.recalibration,
    }
    values = scoring_values(options.out, started, corpus.selection, tally, TextTally(), **more)
    model = {"folds": n_folds, "language": language.code, "recipe": template.recipe}
    record = run_record(options.recorded(), corpus.inputs, started, model=model, summary=values)
    write_json(record_path, record)
    return values
