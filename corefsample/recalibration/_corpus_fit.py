"""A recalibration fitted to a corpus with its uncertainty, and the documents to which it can be applied."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from corefsample._arrays import fields_of
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._faults import Fault
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import InputError, ParameterError
from corefsample.languages._language import declared_language, differ
from corefsample.recalibration._fitter import FEWEST_DOMAINS, CrossFit, RecalibrationFit, RecalibrationFitter
from corefsample.recalibration._model import Recalibration, recalibrated_scores
from corefsample.recalibration._uncertain import DOMAIN_FIELD, UncertainRecalibration
from corefsample.scorers._scoring import SEEN_FIELD


@dataclass(frozen=True, slots=True, eq=False)
class CorpusFit:
    """A recalibration fitted to a corpus.

    Attributes
    ----------
    fit
        Recalibration that was fitted to all documents with gold.
    cross_fit
        Recalibrations that were each fitted without one fold of the documents, with their scores on this fold.
    uncertain
        The fit with its uncertainty.
    """

    fit: RecalibrationFit
    cross_fit: CrossFit
    uncertain: UncertainRecalibration

    def to_json(self) -> dict[str, Any]:
        """Values of the fit, its standard errors, and its scores on held-out documents."""
        fit, effect, draws = self.fit, self.uncertain.domain_effect, self.uncertain.draws
        return {
            **fields_of(fit, "objective", "form", "prior_sd", "n_terms"),
            **fit.recalibration.to_json(),
            "temperature_se": float(np.std([draw.temperature for draw in draws], ddof=1)),
            "new_bias_se": float(np.std([draw.new_bias for draw in draws], ddof=1)),
            "domain_effect": None if effect is None else asdict(effect),
            **fields_of(self.cross_fit, "n_folds", "score_before", "score_after", "score_change_se"),
            "gold": asdict(fit.gold),
        }


def fit_corpus(
    documents: Sequence[ScoredDocument],
    place: str,
    *,
    form: str,
    domain_field: str | None,
    n_folds: int,
    n_resamples: int,
    seed: int,
    **settings: Any,
) -> CorpusFit:
    """Fit a recalibration to documents with gold, cross-validate it, and refit it to resampled documents.

    Parameters
    ----------
    documents, place
        Documents with gold, and the paths of their files, which errors name.
    form, settings
        Form of the recalibration, and other parameters of `RecalibrationFitter`.
    domain_field
        Metadata field with each document's kind of text, for the form "kinds". By default, "genre" if all documents
        have it.
    n_folds, n_resamples, seed
        Number of folds of the cross-validation, number of refits, and seed of folds and refits.

    Raises
    ------
    InputError
        If the documents do not determine a recalibration, are in several languages, were in the training of the model
        that scored them, or lack the domain field.
    ParameterError
        If there are more folds than documents.
    """
    n_seen = sum(bool(each.metadata.get(SEEN_FIELD)) for each in documents)
    if n_seen:
        rule = "documents to fit on must be scored by a model that was not trained on them"
        hint = "`corefsample score CORPUS --folds 5 --out FILE` scores each document by a model that has not seen it"
        raise InputError(
            f"{rule}, got {n_seen:,} of {len(documents):,} documents with {SEEN_FIELD}", place=place, hint=hint
        )
    languages = sorted({declared_language(each.metadata) or "" for each in documents} - {""})
    if len(languages) > 1:
        raise InputError(f"must be in one language, got {', '.join(languages)}", place=place)
    domains = None
    if form == "kinds":
        name = domain_field or DOMAIN_FIELD
        domains = {each.doc_id: str(each.metadata[name]) for each in documents if name in each.metadata}
        missing = [each.doc_id for each in documents if each.doc_id not in domains]
        if missing and domain_field is not None:
            rule = f"documents with gold must have the field {name} (domains)"
            raise InputError(f"{rule}, got none for doc_id {missing[0]!r}", place=place)
        if missing or len(set(domains.values())) < FEWEST_DOMAINS:
            domains = None
    try:
        fitter = RecalibrationFitter(documents, domains=domains, form=form, **settings)  # type: ignore[arg-type]
        fit = fitter.fit()
        effect = None if domains is None else fitter.domain_effect()
    except ParameterError as error:  # the options are valid, so the fault is in the documents
        raise error.as_input_error(place) from None
    cross_fit = fitter.cross_fit(n_folds, seed=seed)
    draws, language = fitter.bootstrap(n_resamples, seed=seed), languages[0] if languages else None
    record = fit.recalibration, draws, effect, fitter.gold.base, domain_field or DOMAIN_FIELD, language
    return CorpusFit(fit, cross_fit, UncertainRecalibration(*record))


def faults_of_application(uncertain: UncertainRecalibration, batch: DocumentBatch) -> dict[int, str | Fault]:
    """Faults by row: scores or language that differ from those of the fit, and scores that become infinite."""
    faults: dict[int, str | Fault] = {}
    hint = "`corefsample score --recalibration none` keeps the scores of the model"
    for row in range(len(batch)):
        try:
            applied = Recalibration.applied_to(batch.metadata(row))
            if applied != uncertain.base:
                faults[row] = Fault(f"scores {uncertain.other_scores(applied)}", hint)
            language = declared_language(batch.metadata(row))
            if differ(uncertain.language, language):
                faults[row] = f"must be in the language of the fit ({uncertain.language}), got {language}"
            change = uncertain.recalibration
            recalibrated_scores(batch.antecedents(row).scores, change.temperature, change.new_bias)
        except ParameterError as error:
            faults[row] = str(error)
    return faults
