"""Annotated corpora with gold: their documents and language, and scores by models that were trained without them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from corefsample._log import logger
from corefsample._random import document_key
from corefsample.documents._faults import Rejected
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import InputError, ParameterError, ParameterHint
from corefsample.files._atomic import write_json
from corefsample.files._paths import PathLike, require_suffix
from corefsample.formats.scored._stream import SUFFIXES
from corefsample.formats.scored._writing import QuarantineFile, quarantine_file, write_documents
from corefsample.languages._language import ENGLISH, Language, declared_language, differ, load_language
from corefsample.scorers import AntecedentScorer, load_scorer, score_documents
from corefsample.scorers._loading import retrain
from corefsample.scorers._scoring import ENOUGH_WORDS, FEW_KNOWN, ScoringTally, gold_entities, known_words
from corefsample.scorers.protocol import MentionDocument
from corefsample.syntax._roles import NeutralParse
from events._options import Progress
from events._selection import Selection
from events.runs._document_inputs import DocumentInputs, ReadDocument, reject
from events.runs._outputs import RECORD_SUFFIX, checksums, free_outputs, run_record
from events.runs.scoring._pipelines import load_recalibration
from events.runs.scoring._score_options import ScoreOptions
from events.runs.scoring._score_run import ScoreResult


@dataclass(frozen=True, slots=True)
class Corpus:
    """The selected documents of annotated files.

    Attributes
    ----------
    paths
        Paths of the files.
    documents
        Selected documents with annotated entities, in order.
    n_without_gold, n_not_selected
        Number of documents left out because they have no annotated entities, and number of documents left out because
        they do not meet the conditions of the selection.
    skipped
        Number of annotated mentions that could not be read, by reason.
    languages
        Codes of the languages that the metadata of the selected documents or the names of their files declare.
    """

    paths: list[str]
    documents: list[MentionDocument]
    n_without_gold: int
    n_not_selected: int
    skipped: Counter[str]
    languages: frozenset[str] = frozenset()


NO_CORPUS = Corpus([], [], 0, 0, Counter())


def chosen_language(requested: str | Language | None, corpora: Iterable[Corpus]) -> Language:
    """Language to train in: the requested one, by default the one that documents declare, otherwise English.

    Raises
    ------
    ParameterError
        If documents declare another language or several languages, or if neither a language is requested nor declared
        and few of the words are English.
    """
    codes = {code for corpus in corpora for code in corpus.languages}
    name = requested or (min(codes) if codes else ENGLISH)
    language = name if isinstance(name, Language) else load_language(name)
    foreign = sorted(code for code in codes if differ(language.code, code))
    hint = ParameterHint("language", "names the language of all")
    if foreign:
        rule = "must be that of all documents"
        raise ParameterError(f"{rule}, got {language.code} and {', '.join(foreign)}", parameter="language", hint=hint)
    if requested is None and not codes:
        english = load_scorer(ENGLISH)
        counts = [known_words(english, each.tokens) for corpus in corpora for each in corpus.documents if each.tokens]
        n_words, n_known = map(sum, zip(*counts, strict=True)) if counts else (0, 0)
        if n_words >= ENOUGH_WORDS and n_known < FEW_KNOWN * n_words:
            rule = "is required: the documents do not declare their language, and few of their words are English"
            hint = ParameterHint("language", "gives its code, such as es; none: features of the parse alone")
            raise ParameterError(f"{rule} ({n_known / n_words:.0%})", parameter="language", hint=hint)
    return language


def annotated_inputs(inputs: PathLike | Iterable[PathLike], entity_fields: str | None) -> DocumentInputs:
    """Return the documents of annotated files, not yet read.

    Raises
    ------
    InputError
        If a file is missing, has an unknown ending, or contains text.
    """
    documents = DocumentInputs(inputs, entity_fields=entity_fields)
    text = documents.first_of("news")
    if text is not None:
        rule = "a corpus must be annotated to train on (.conllu, .conll, scored mentions with gold)"
        raise InputError(f"{rule}, got text", place=text)
    return documents


def read_corpus(
    inputs: DocumentInputs,
    selection: Selection,
    scheme: str | None,
    on_rejected: QuarantineFile | None,
    on_progress: Progress | None,
) -> Corpus:
    """Read all documents, and keep those that are selected and have annotated entities.

    Raises
    ------
    InputError
        If a file has no annotated entities, if no document is selected, or if a document is invalid and `on_rejected`
        is None.
    ParameterError
        If no document is selected because no document has the metadata of a condition.
    """
    documents: list[MentionDocument] = []
    n_with_gold: Counter[str] = Counter()
    n_read: Counter[str] = Counter()
    n_not_selected = 0
    metadata_names: set[str] = set()
    languages: set[str | None] = set()
    for item in inputs.accepted(on_rejected):
        n_read[item.source] += 1
        document: Any = item.document
        gold = gold_entities(document)
        if gold is None or all(entity is None for entity in gold):
            continue
        n_with_gold[item.source] += 1
        metadata_names.update(document.metadata)
        if not selection.includes(document.doc_id, document.metadata):
            n_not_selected += 1
        elif fault := _fault(item, scheme):
            reject(fault, on_rejected)
        else:
            documents.append(document)
            languages.add(declared_language(document.metadata, item.source))
        if on_progress is not None:
            on_progress(inputs.bytes_read, inputs.total_bytes, n_read.total())
    for path in inputs.paths:
        if not n_with_gold[path]:
            rule = "a corpus must have annotated entities to train on"
            raise InputError(f"{rule}, got none in {n_read[path]} documents", place=path)
    if not documents:
        selection.require_known_names(metadata_names)
        rule = f"must leave documents to train on ({selection})"
        raise InputError(f"{rule}, got none of {n_not_selected}", parameter="where", place=", ".join(inputs.paths))
    n_without_gold = n_read.total() - n_with_gold.total()
    codes = frozenset(code for code in languages if code is not None)
    return Corpus(inputs.paths, documents, n_without_gold, n_not_selected, inputs.skipped, codes)


def _fault(item: ReadDocument, scheme: str | None) -> Rejected | None:
    document: Any = item.document
    try:
        if document.tokens is None:
            raise ParameterError("tokens are required to train on, got none")
        NeutralParse.of(document.tokens, scheme)
    except ParameterError as error:
        return item.rejected(error)
    return None


def folds_of(doc_ids: Iterable[str], n_folds: int) -> dict[str, int]:
    """Fold of each document, from 0, by doc_id; the folds depend on the set of doc_ids alone."""
    ranked = sorted((document_key(0, doc_id), doc_id) for doc_id in doc_ids)
    return {doc_id: rank % n_folds for rank, (_, doc_id) in enumerate(ranked)}


def score_folds(
    inputs: PathLike | Iterable[PathLike], options: ScoreOptions, *, on_progress: Progress | None = None
) -> ScoreResult:
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
        training: list[MentionDocument] = [item for item in corpus.documents if folds[item.doc_id] != fold]
        unseen = [item for item in corpus.documents if folds[item.doc_id] == fold]
        scorer = retrain(template, training, language, options.scheme)
        scoring: dict[str, Any] = {"min_prob": options.min_prob, "scheme": options.scheme, "tally": tally}
        for document in score_documents(scorer, unseen, mentions=options.mentions or "annotated", **scoring):
            by_doc_id[document.doc_id] = document
        logger("score").info("fold %d of %d: %d documents", fold + 1, n_folds, len(unseen))
    for item in corpus.documents:
        yield by_doc_id[item.doc_id]
