"""A study of interval coverage on annotated documents: queries of a corpus before and after recalibration.

Recalibrations are cross-validated: the probabilities of each document come from a recalibration that was fitted
without it, so the results of a recalibration are those for documents outside its training data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample._arrays import Bools, Floats
from corefsample._lazy import pd
from corefsample._log import log_step
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import ParameterError
from corefsample.links._pairs import Unannotated
from corefsample.recalibration import RecalibrationFitter
from corefsample.recalibration._fitter import Form
from corefsample.recalibration._model import NoMinimumError, Recalibration
from corefsample.recalibration._refits import CrossFit
from corefsample.recalibration._shipped import known_recalibration
from corefsample.recalibration._uncertain import UncertainRecalibration, Uncertainty
from events.queries._queries import QueryTable
from events.queries._score import QueryScore, named_objective
from events.queries._true_counts import (
    count_coverage,
    count_intervals,
    count_quantiles,
    group_misfit,
    null_truths,
)

if TYPE_CHECKING:
    from corefsample.calibration._reliability import ReliabilityCurve

AS_SCORED = "as scored"
_DRAW_SAMPLES = 200  # per draw of a recalibration; their noise averages out over the draws
_NONE = Recalibration()
RECALIBRATED = "recalibrated"
GIVEN, UNCERTAIN = "given", "uncertain"  # values of the column `recalibration`
N_BINS = 20
_NULL_DRAWS = 200  # clusterings under the null


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class QueryVariant:
    """Probabilities of the queries with one kind of recalibration.

    Attributes
    ----------
    name
        "as scored", or the objective.
    fit
        The cross-validated recalibration; None for "as scored", and for one that was fitted elsewhere.
    probabilities
        float64 (n_pairs,): P by the recalibration fitted without the document.
    draws
        float64 (n_draws, n_pairs): P by each refit on bootstrapped documents, or None.
    """

    name: str
    fit: CrossFit | None
    probabilities: Floats
    draws: Floats | None
    recalibrations: tuple[Recalibration, ...]  # of each document with queries


@dataclass(frozen=True, eq=False, repr=False)
class QueryStudy:
    """Queries of a corpus, with their probabilities before and after recalibration.

    Attributes
    ----------
    table
        Queries, documents and truth.
    variants
        "as scored" first, then one for each objective.
    n_samples
        Samples behind each probability.
    n_left_out
        Mentions without a gold entity that would otherwise decide a query.
    failures
        Error message of each objective that has no minimum on some fold of the documents; it has no variant.
    fields
        Values of the documents' fields by doc_id, for tables by group.
    seed
        Seed of the samples, in [0, 2**64).
    """

    table: QueryTable
    variants: tuple[QueryVariant, ...]
    n_samples: int
    n_left_out: int
    failures: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    seed: int = 0

    def pairs(self) -> pd.DataFrame:
        """Table of all pairs: as `QueryTable.to_frame`, with P by each variant in a column of its name."""
        return self.table.to_frame().assign(**{each.name: each.probabilities for each in self.variants})

    def reliability(self, *, n_bins: int = N_BINS) -> dict[str, ReliabilityCurve]:
        """Reliability curve of each variant's P over all pairs, with intervals by document."""
        from corefsample.calibration import reliability_curve

        documents = self.table.pair_documents
        return {
            each.name: reliability_curve(each.probabilities, self.table.truth, documents=documents, n_bins=n_bins)
            for each in self.variants
        }

    def scores(self, *, n_bins: int = N_BINS) -> pd.DataFrame:
        """Table of scores of P over all pairs, one row for each variant.

        Returns
        -------
        pandas.DataFrame
            variant, n_pairs, mean_p, share_true, brier, calibration_error (RMS over adaptive bins) with lower and
            upper end of its 95% interval by document, n_bins.
        """
        from corefsample.calibration import calibration_error
        from corefsample.calibration._binning import brier_score

        rows = []
        for each in self.variants:
            p, truth = each.probabilities, self.table.truth
            error = calibration_error(p, truth, n_bins=n_bins, documents=self.table.pair_documents)
            rows.append(
                {
                    "variant": each.name,
                    "n_pairs": self.table.n_pairs,
                    "mean_p": float(p.mean()),
                    "share_true": float(truth.mean()),
                    "brier": brier_score(p, truth),
                    "calibration_error": error.estimate,
                    "lower": error.lower,
                    "upper": error.upper,
                    "n_bins": error.n_bins,
                }
            )
        return pd.DataFrame(rows)

    @cached_property
    def _null_truths(self) -> list[Bools]:
        """Truths of the pairs that would be seen if P of each variant were right."""
        return [
            null_truths(self.table, variant.recalibrations, n_draws=_NULL_DRAWS, seed=self.seed)
            for variant in self.variants
        ]

    def misfit(self) -> pd.DataFrame:
        """P against truth by type of mention, verb and fields of documents.

        Returns
        -------
        pandas.DataFrame
            The table of `group_misfit` with the column variant first.
        """
        named = self.table.to_frame()
        groups = {name: named[name].tolist() for name in ("mention_type", "verb")}
        for name, values in self.fields.items():
            groups[name] = [values.get(doc_id, "") for doc_id in named["doc_id"]]
        tables = []
        for each, null in zip(self.variants, self._null_truths, strict=True):
            table = group_misfit(self.table, each.probabilities, null, groups)
            table.insert(0, "variant", each.name)
            tables.append(table)
        return pd.concat(tables, ignore_index=True)

    def quantiles(self) -> pd.DataFrame:
        """Places of the true counts in their distributions: uniform if these are right.

        Returns
        -------
        pandas.DataFrame
            One row for each variant and bin: variant, n_queries, bin_lower, bin_upper, share (of the queries),
            null_lower, null_upper (95% of the shares if P is right), p_value (of P being right, for the variant).
            A recalibration is taken as given.
        """
        columns = ["variant", "n_queries", "bin_lower", "bin_upper", "share", "null_lower", "null_upper", "p_value"]
        rows: list[tuple[object, ...]] = []
        for each, null in zip(self.variants, self._null_truths, strict=True):
            found = count_quantiles(self.table, each.probabilities, null)
            if found is not None:
                of_bins = zip(found.edges, found.edges[1:], found.shares, found.lower, found.upper, strict=False)
                rows += [(each.name, found.n, *values, found.p_value) for values in of_bins]
        return pd.DataFrame(rows, columns=columns)

    @cached_property
    def intervals(self) -> pd.DataFrame:
        """Intervals of each query's count: as `count_intervals`, with the columns variant and recalibration."""
        parts = []
        for each in self.variants:
            probabilities = {GIVEN: each.probabilities} | ({} if each.draws is None else {UNCERTAIN: each.draws})
            for recalibration, probs in probabilities.items():
                log_step("%s: intervals of %d queries", each.name, len(self.table.queries))
                part = count_intervals(self.table, probs)
                part.insert(0, "variant", each.name)
                part.insert(1, "recalibration", recalibration)
                parts.append(part)
        return pd.concat(parts, ignore_index=True)

    def coverage(self) -> pd.DataFrame:
        """Share of the intervals that contain the true count.

        Returns
        -------
        pandas.DataFrame
            One row for each variant, recalibration, group of queries, interval and level: variant; recalibration
            ("given": the fitted one is taken as true; "uncertain": refits on bootstrapped documents); and the columns
            of `count_coverage`.
        """
        return count_coverage(self.intervals, by=["variant", "recalibration"])

    def recalibrations(self) -> pd.DataFrame:
        """Table of the fitted recalibrations, one row for each variant and fold.

        Returns
        -------
        pandas.DataFrame
            variant, fold, n_documents (held out), temperature and new_bias with temperature_sd and new_bias_sd (over
            the draws), score_before, score_after (mean loss per term of the held-out documents, by the variant's own
            objective).
        """
        rows = []
        for each in self.variants:
            if each.fit is None:
                continue
            fit = each.fit
            for fold, recalibration in enumerate(fit.recalibrations):
                held_out = fit.folds == fold
                n_terms = fit.n_terms[held_out].sum()
                draws = fit.draws[fold] if fit.draws else None
                rows.append(
                    {
                        "variant": each.name,
                        "fold": fold,
                        "n_documents": int(held_out.sum()),
                        "temperature": recalibration.temperature,
                        "temperature_sd": None if draws is None else float(draws.temperature.std()),
                        "new_bias": recalibration.new_bias,
                        "new_bias_sd": None if draws is None else float(draws.new_bias.std()),
                        "score_before": fit.loss_before[held_out].sum() / n_terms if n_terms else None,
                        "score_after": fit.loss_after[held_out].sum() / n_terms if n_terms else None,
                    }
                )
        return pd.DataFrame(rows)


def study_queries(
    documents: Iterable[ScoredDocument],
    *,
    objectives: Sequence[str] = ("likelihood", "links", "links-log", "queries"),
    n_folds: int = 5,
    n_samples: int = 1000,
    n_resamples: int = 100,
    seed: int = 0,
    role: str = "subject",
    scheme: str | None = None,
    unannotated: Unannotated = "skip",
    missing: str = "skip",
    form: Form = "global",
    domains: Mapping[str, str] | None = None,
    recalibration: UncertainRecalibration | None = None,
    uncertainty: Uncertainty | None = None,
    by: Sequence[str] = (),
    min_pairs: int = 1,
) -> QueryStudy:
    """Evaluate the queries of a corpus, before and after cross-validated recalibration by each objective.

    Parameters
    ----------
    documents
        Documents with tokens. Documents without gold are ignored.
    objectives
        Objectives of recalibration to compare: any of "likelihood", "links" (Brier score), "links-log", "queries"
        (Brier score), "queries-log".
    n_folds
        Number of folds of the cross-validation, from 2 to the number of documents with gold.
    n_samples
        Number of sampled clusterings per document, for probabilities and for fitting by queries; at least 2.
    n_resamples
        Number of refits on bootstrapped documents, for intervals with the uncertainty of the recalibration; 0 for none.
    seed
        Seed of samples, folds and bootstrap, in [0, 2**64).
    role, scheme
        Role of the pronoun, and dependency scheme: see `match_queries`.
    unannotated, missing, form, domains
        Options of the fits: see `corefsample.recalibration.RecalibrationFitter`.
    recalibration
        Recalibration that was fitted elsewhere and is evaluated instead of the objectives. If it was applied to the
        scores already, only its uncertainty is added. By default, recalibrations are fitted by the objectives.
    uncertainty
        Sources of uncertainty in the intervals: "none", "fit" or "domain" of `recalibration`, or, without one, of the
        recalibration by a model of this package that all scores had. By default, every source that it records.
    by
        Fields of the documents by which P is compared with the truth (`QueryStudy.misfit`).
    min_pairs
        Least number of pairs of a query and a document, which is checked before recalibrations are fitted.

    Raises
    ------
    ParameterError, InputError
        If no document has gold or a query, there are too few pairs, a document has no tokens or labels that fit no
        scheme, or an option is outside its range.

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
    if table.n_pairs < min_pairs:
        rule = f"must make at least {min_pairs} pairs of query and document"
        raise ParameterError(f"{rule}, got {table.n_pairs}", parameter="gold")
    metadata = {each.doc_id: each.metadata for each in with_gold}
    of_documents = [metadata[doc_id] for doc_id in table.doc_ids]
    own = None if recalibration is not None else _of_scores(with_gold, uncertainty)

    def variant(
        name: str,
        fit: CrossFit | None,
        recalibrations: Sequence[Recalibration],
        changes: Sequence[Sequence[Recalibration]] | None,
    ) -> QueryVariant:
        """Probabilities under the recalibration of each document, and under the draws of it."""
        probabilities = table.probabilities(recalibrations, n_samples=n_samples, seed=seed)
        draws = None if changes is None else _shares(name, table, changes, n_samples, seed)
        return QueryVariant(name, fit, probabilities, draws, tuple(recalibrations))

    as_scored = (_NONE,) * len(table.documents)
    variants = [variant(AS_SCORED, None, as_scored, _changes(own, uncertainty, of_documents, n_resamples, seed))]
    if recalibration is not None:
        fitted = recalibration.recalibration
        each = [_NONE if recalibration.is_in(Recalibration.applied_to(had)) else fitted for had in of_documents]
        changes = _changes(recalibration, uncertainty, of_documents, n_resamples, seed)
        variants.append(variant(RECALIBRATED, None, each, changes))
        objective_of = {}
    fitting: dict[str, Any] = {"missing": missing, "unannotated": unannotated, "form": form, "domains": domains}
    failures: dict[str, str] = {}
    for name, objective in objective_of.items():
        try:
            fitter = RecalibrationFitter(with_gold, objective=objective, **fitting)
            fit = fitter.cross_fit(n_folds, seed=seed, n_resamples=n_resamples)
        except NoMinimumError as error:  # the other objectives may have one
            failures[name] = str(error)
            continue
        fold_of = dict(zip(fit.doc_ids, fit.folds.tolist(), strict=True))
        folds = [fold_of[doc_id] for doc_id in table.doc_ids]
        each = [fit.recalibrations[fold] for fold in folds]
        own_domains = [domains[doc_id] for doc_id in table.doc_ids] if domains else []
        variants.append(variant(name, fit, each, _held_out_changes(fit, folds, own_domains, seed)))
    return QueryStudy(
        table=table,
        variants=tuple(variants),
        n_samples=n_samples,
        n_left_out=sum(queries.n_left_out for queries in matched),
        failures=failures,
        fields={name: {d.doc_id: str(d.metadata[name]) for d in with_gold if name in d.metadata} for name in by},
        seed=seed,
    )


def _of_scores(documents: Sequence[ScoredDocument], uncertainty: Uncertainty | None) -> UncertainRecalibration | None:
    """The recalibration that the scores of all documents had, if it is known and its uncertainty is to be included."""
    if uncertainty == "none":
        return None
    had = {Recalibration.applied_to(document.metadata) for document in documents}
    known = known_recalibration(had.pop()) if len(had) == 1 else None
    if known is None and uncertainty is not None:
        rule = "needs a recalibration, or scores that all had that of a model of the package"
        raise ParameterError(f"{rule}, got others", parameter="uncertainty")
    return known


def _changes(
    recalibration: UncertainRecalibration | None,
    uncertainty: Uncertainty | None,
    metadata: Sequence[Mapping[str, Any]],
    n_draws: int,
    seed: int,
) -> list[Sequence[Recalibration]] | None:
    """Draws of a recalibration that was fitted elsewhere, for each document; None without uncertainty."""
    if recalibration is None or not n_draws:
        return None
    chosen = recalibration.widest if uncertainty is None else uncertainty
    if chosen == "none":
        return None
    places = [(recalibration.domain_of(own), recalibration.is_in(Recalibration.applied_to(own))) for own in metadata]
    changes: dict[tuple[str, bool], Sequence[Recalibration]] = {}
    for domain, had_it in sorted(set(places)):
        drawn = recalibration.sampled(chosen, n_draws, seed=seed, domain=domain)
        fit = recalibration.recalibration
        changes[domain, had_it] = [each.relative_to(fit) for each in drawn] if had_it else drawn
    return [changes[place] for place in places]


def _held_out_changes(
    fit: CrossFit, folds: Sequence[int], domains: Sequence[str], seed: int
) -> list[Sequence[Recalibration]] | None:
    """Draws of the recalibration that was fitted without each document; None where there are none."""
    n_draws = len(fit.draws[0]) if fit.draws else 0
    if not n_draws:
        return None
    if not fit.domain_effects:
        refits = [tuple(each) for each in fit.draws]
        return [refits[fold] for fold in folds]
    drawn = {
        (fold, name): each.sampled("domain", n_draws, seed=seed, domain=name)
        for fold, each in enumerate(map(UncertainRecalibration, fit.recalibrations, fit.draws, fit.domain_effects))
        for name in sorted({*domains})
    }
    return [drawn[place] for place in zip(folds, domains, strict=True)]


def _shares(
    name: str, table: QueryTable, changes: Sequence[Sequence[Recalibration]], n_samples: int, seed: int
) -> Floats:
    """Probabilities under the draws of each document, (n_draws, n_pairs)."""
    draws = []
    for draw, each in enumerate(zip(*changes, strict=True)):
        log_step("%s: queries with draw %d of %d", name, draw + 1, len(changes[0]))
        first = n_samples + draw * _DRAW_SAMPLES
        draws.append(table.probabilities(each, n_samples=_DRAW_SAMPLES, seed=seed, first_sample=first))
    return np.stack(draws)
