"""A study of interval coverage on annotated documents: queries of a corpus before and after recalibration.

Recalibrations are cross-validated: the probabilities of each document come from a recalibration that was fitted
without it, so the results of a recalibration are those for documents outside its training data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from corefsample._arrays import Floats
from corefsample._log import log_step
from corefsample.documents import ScoredDocument
from corefsample.errors import ParameterError
from corefsample.links import Unannotated
from corefsample.recalibration import (
    CrossFit,
    Form,
    NoMinimumError,
    Recalibration,
    RecalibrationFitter,
    UncertainRecalibration,
    Uncertainty,
    applied_to,
    known_recalibration,
)
from events.queries._counts import LEVELS, SIZES
from events.queries._score import QueryScore, named_objective
from events.queries._study_results import QueryStudy, QueryVariant
from events.queries._table import QueryTable

AS_SCORED = "as scored"
_DRAW_SAMPLES = 200  # per draw of a recalibration; their noise averages out over the draws
_NONE = Recalibration()
RECALIBRATED = "recalibrated"


def study_queries(
    documents: Iterable[ScoredDocument],
    *,
    objectives: Sequence[str] = ("likelihood", "links", "links-log", "queries"),
    n_folds: int = 5,
    n_samples: int = 1000,
    n_boot: int = 100,
    seed: int = 0,
    levels: Sequence[float] = LEVELS,
    sizes: Sequence[int] = SIZES,
    role: str = "subject",
    scheme: str | None = None,
    unannotated: Unannotated = "skip",
    missing: str = "skip",
    form: Form = "global",
    domains: Mapping[str, str] | None = None,
    recalibration: UncertainRecalibration | None = None,
    uncertainty: Uncertainty | None = None,
    by: Sequence[str] = (),
) -> QueryStudy:
    """Evaluate the queries of a corpus, before and after cross-validated recalibration by each objective.

    Parameters
    ----------
    documents
        With tokens; those without gold are counted and not used.
    objectives
        Any of "likelihood", "links" (Brier score), "links-log", "queries" (Brier score), "queries-log".
    n_folds
        From 2 to the number of documents with gold.
    n_samples
        Sampled clusterings per document, for probabilities and for fitting by queries; at least 2.
    n_boot
        Refits on bootstrapped documents, for intervals with the uncertainty of the recalibration; 0 for none.
    seed
        Of samples, folds and bootstrap, in [0, 2**64).
    levels, sizes
        As in `events.queries.count_intervals` and `count_coverage`.
    role, scheme
        As in `events.queries.match_queries`.
    unannotated, missing, form, domains
        As in `corefsample.recalibration.RecalibrationFitter`.
    recalibration
        A recalibration that was fitted elsewhere, to measure instead of the objectives. Scores that had it already
        get its uncertainty alone.
    uncertainty
        "none", "fit" or "domain": of that recalibration, in the intervals; None: all that it has. Without one, of the
        recalibration of the English model if all scores had it, in the intervals as scored.
    by
        Fields of the documents by which to compare P with the truth (`QueryStudy.misfit`).

    Raises
    ------
    ParameterError, InputError
        If no document has gold or a query, a document has no tokens or labels that fit no scheme, or an option is
        outside its range.

    References
    ----------
    Nguyen & O'Connor (2015), section 7, on the coverage of the intervals.
    """
    options: dict[str, Any] = {"role": role, "scheme": scheme, "unannotated": unannotated}
    options |= {"n_samples": n_samples, "seed": seed}
    objective_of = {name: named_objective(name, options) for name in objectives}
    all_documents = tuple(documents)
    with_gold = [document for document in all_documents if document.gold is not None]
    if not with_gold:
        rule = "must have gold for queries"
        raise ParameterError(f"{rule}, got none in {len(all_documents)} documents", parameter="documents")
    matched = [QueryScore(**options).queries(document) for document in with_gold]
    table = QueryTable.of(matched)
    sampling: dict[str, Any] = {"n_samples": n_samples, "n_draws": n_boot, "seed": seed}
    own = None if recalibration is not None else _of_scores(with_gold, uncertainty)
    as_scored = table.probabilities(_NONE, n_samples=n_samples, seed=seed)
    metadata = {each.doc_id: each.metadata for each in with_gold}
    of_documents = [metadata[doc_id] for doc_id in table.doc_ids]
    shared = None if own is None else _draws(own, uncertainty, table, of_documents, **sampling)
    variants = [QueryVariant(AS_SCORED, None, as_scored, shared)]
    if recalibration is not None:
        variants.append(_elsewhere(recalibration, uncertainty, table, of_documents, **sampling))
        objective_of = {}
    fitting: dict[str, Any] = {"missing": missing, "unannotated": unannotated, "form": form, "domains": domains}
    failures: dict[str, str] = {}
    for name, objective in objective_of.items():
        try:
            fitter = RecalibrationFitter(with_gold, objective=objective, **fitting)
            fit = fitter.cross_fit(n_folds, seed=seed, n_boot=n_boot)
        except NoMinimumError as error:  # the other objectives may have one
            failures[name] = str(error)
            continue
        variants.append(_variant(name, fit, table, domains or {}, n_samples, seed))
    return QueryStudy(
        table=table,
        variants=tuple(variants),
        n_samples=n_samples,
        levels=tuple(levels),
        sizes=tuple(sizes),
        n_without_gold=len(all_documents) - len(with_gold),
        n_left_out=sum(queries.n_left_out for queries in matched),
        failures=failures,
        fields={name: {d.doc_id: str(d.metadata[name]) for d in with_gold if name in d.metadata} for name in by},
        seed=seed,
    )


def _of_scores(documents: Sequence[ScoredDocument], uncertainty: Uncertainty | None) -> UncertainRecalibration | None:
    """The recalibration that the scores of all documents had, if it is known and its uncertainty is to be included."""
    if uncertainty == "none":
        return None
    had = {applied_to(document.metadata) for document in documents}
    known = known_recalibration(had.pop()) if len(had) == 1 else None
    if known is None and uncertainty is not None:
        rule = "needs a recalibration, or scores that all had that of the English model"
        raise ParameterError(f"{rule}, got others", parameter="uncertainty")
    return known


def _elsewhere(
    recalibration: UncertainRecalibration,
    uncertainty: Uncertainty | None,
    table: QueryTable,
    metadata: Sequence[Mapping[str, Any]],
    *,
    n_samples: int,
    n_draws: int,
    seed: int,
) -> QueryVariant:
    """Probabilities under a recalibration that was fitted to other documents, some of which may have had it."""
    fit = recalibration.recalibration
    each = tuple(_NONE if recalibration.is_in(applied_to(own)) else fit for own in metadata)
    draws = _draws(recalibration, uncertainty, table, metadata, n_samples=n_samples, n_draws=n_draws, seed=seed)
    probabilities = table.probabilities(each, n_samples=n_samples, seed=seed)
    return QueryVariant(RECALIBRATED, None, probabilities, draws, each)


def _draws(
    recalibration: UncertainRecalibration,
    uncertainty: Uncertainty | None,
    table: QueryTable,
    metadata: Sequence[Mapping[str, Any]],
    *,
    n_samples: int,
    n_draws: int,
    seed: int,
) -> Floats | None:
    """Probabilities under draws of a recalibration, (n_draws, n_pairs), or None without uncertainty."""
    chosen = recalibration.widest if uncertainty is None else uncertainty
    if not n_draws or chosen == "none":
        return None
    places = [(recalibration.domain_of(own), recalibration.is_in(applied_to(own))) for own in metadata]
    changes: dict[tuple[str, bool], Sequence[Recalibration]] = {}
    for domain, had_it in sorted(set(places)):
        drawn = recalibration.sampled(chosen, n_draws, seed=seed, domain=domain)
        fit = recalibration.recalibration
        changes[domain, had_it] = [each.relative_to(fit) for each in drawn] if had_it else drawn
    return _shares(RECALIBRATED, table, [changes[place] for place in places], n_samples, n_draws, seed)


def _shares(
    name: str, table: QueryTable, changes: Sequence[Sequence[Recalibration]], n_samples: int, n_draws: int, seed: int
) -> Floats:
    """Probabilities under the draws of each document, (n_draws, n_pairs)."""
    draws = []
    for draw in range(n_draws):
        log_step("%s: queries with draw %d of %d", name, draw + 1, n_draws)
        first = n_samples + draw * _DRAW_SAMPLES
        each = [own[draw] for own in changes]
        draws.append(table.probabilities(each, n_samples=_DRAW_SAMPLES, seed=seed, first_sample=first))
    return np.stack(draws)


def _variant(
    name: str, fit: CrossFit, table: QueryTable, domains: Mapping[str, str], n_samples: int, seed: int
) -> QueryVariant:
    """Probabilities of every document under the recalibrations fitted without it."""
    fold_of = dict(zip(fit.doc_ids, fit.folds.tolist(), strict=True))
    folds = [fold_of[doc_id] for doc_id in table.doc_ids]
    draws, n_draws = None, len(fit.draws[0]) if fit.draws else 0
    if n_draws and fit.domain_effects:
        uncertain = map(UncertainRecalibration, fit.recalibrations, fit.draws, fit.domain_effects)
        names = sorted({*domains.values()})
        drawn = [
            {name: each.sampled("domain", n_draws, seed=seed, domain=name) for name in names} for each in uncertain
        ]
        own = [drawn[fold][domains[doc_id]] for fold, doc_id in zip(folds, table.doc_ids, strict=True)]
        draws = _shares(name, table, own, n_samples, n_draws, seed)
    elif n_draws:
        refits = [tuple(each) for each in fit.draws]
        draws = _shares(name, table, [refits[fold] for fold in folds], n_samples, n_draws, seed)
    each = tuple(fit.recalibrations[fold] for fold in folds)
    probabilities = table.probabilities(each, n_samples=n_samples, seed=seed)
    return QueryVariant(name, fit, probabilities, draws, each)
