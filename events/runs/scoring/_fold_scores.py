"""Scores of annotated documents by models that were trained without them, fold by fold."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from typing import Any

from corefsample._random import document_key
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import ParameterError
from corefsample.files._atomic import write_json
from corefsample.files._paths import Inputs, require_suffix
from corefsample.formats.scored._stream import SUFFIXES
from corefsample.formats.scored._writing import quarantine_file, write_documents
from corefsample.languages._language import Language
from corefsample.scorers import AntecedentScorer, load_scorer, score_documents
from corefsample.scorers._loading import retrain
from corefsample.scorers._scoring import ScoringTally
from events._options import Progress
from events._selection import Selection
from events.runs._outputs import RECORD_SUFFIX, checksums, free_outputs, run_record
from events.runs.scoring._pipelines import load_recalibration
from events.runs.scoring._score_options import ScoreOptions
from events.runs.scoring._score_run import ScoreResult
from events.runs.scoring._training_corpora import Corpus, annotated_inputs, chosen_language, read_corpus


def folds_of(doc_ids: Iterable[str], n_folds: int) -> dict[str, int]:
    """Fold of each document, from 0, by doc_id; the folds depend on the set of doc_ids alone."""
    ranked = sorted((document_key(0, doc_id), doc_id) for doc_id in doc_ids)
    return {doc_id: rank % n_folds for rank, (_, doc_id) in enumerate(ranked)}


def score_folds(inputs: Inputs, options: ScoreOptions, *, on_progress: Progress | None = None) -> ScoreResult:
    """Score documents with gold by models that were trained without them, as `events.commands.run_score` with `folds`.

    The models are trained with the options and the language of `options.model`; by default, with the options of the
    English model of the package, in the language of the documents.
    """
    started = time.time()
    require_suffix(options.out, SUFFIXES, ParameterError)
    record_path = free_outputs(options.out, RECORD_SUFFIX, overwrite=options.overwrite)
    source = options.mentions or "annotated"
    template = load_scorer(options.model, source)
    with quarantine_file(options.out, on_error=options.on_error, overwrite=options.overwrite) as on_rejected:
        documents = annotated_inputs(inputs, options.entity_fields)
        corpus = read_corpus(documents, Selection(options.where), options.scheme, on_rejected, on_progress)
        language = chosen_language(None if options.model is None else template.language, [corpus])
        tally = ScoringTally()
        change = load_recalibration(options.recalibration or "none", options.model, source, language.code)
        scored = _scored(corpus, options, template, language, tally)
        recalibrated = scored if change is None else map(change.apply_document, scored)
        write_documents(recalibrated, options.out, overwrite=options.overwrite)
    run = ScoreResult(
        out=options.out,
        record=record_path,
        tally=tally,
        n_quarantined=0 if on_rejected is None else on_rejected.count,
        skipped=dict(corpus.skipped),
        recalibration=None if change is None else options.recalibration,
        seconds=round(time.time() - started, 3),
        n_not_selected=corpus.n_not_selected,
    )
    model = {"folds": options.folds, "language": language.code, "recipe": template.recipe}
    record = run_record(options.recorded(), checksums(corpus.paths), started, model=model, summary=run.to_json())
    write_json(record_path, record)
    return run


def _scored(
    corpus: Corpus, options: ScoreOptions, template: AntecedentScorer, language: Language, tally: ScoringTally
) -> Iterator[ScoredDocument]:
    """The documents in their order, each scored by the model that was trained without its fold."""
    n_folds = options.folds or 0
    folds = folds_of((item.doc_id for item in corpus.documents), n_folds)
    if len(folds) < n_folds:
        rule = f"must be at most the number of documents with gold ({len(folds)})"
        raise ParameterError(f"{rule}, got {n_folds}", parameter="folds")
    by_doc_id: dict[str, ScoredDocument] = {}
    for fold in range(n_folds):
        unseen = [item for item in corpus.documents if folds[item.doc_id] == fold]
        others = [item for item in corpus.documents if folds[item.doc_id] != fold]
        scorer = retrain(template, others, language, options.scheme)
        scoring: dict[str, Any] = {"min_prob": options.min_prob, "scheme": options.scheme, "tally": tally}
        for document in score_documents(scorer, unseen, mentions=options.mentions or "annotated", **scoring):
            by_doc_id[document.doc_id] = document
        logging.getLogger("corefsample.score").info("fold %d of %d: %d documents", fold + 1, n_folds, len(unseen))
    for item in corpus.documents:
        yield by_doc_id[item.doc_id]
