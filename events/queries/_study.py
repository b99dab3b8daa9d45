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
from events.queries._true_counts import count_coverage, count_intervals, count_quantiles, group_misfit, null_truths

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
        "as scored", "recalibrated", or the name of the objective.
    fit
        Cross-validated recalibration; None for "as scored" and for a recalibration that was fitted elsewhere.
    probabilities
        float64 (n_pairs,): P by the recalibration that was fitted without the document.
    draws
        float64 (n_draws, n_pairs): P by each refit on bootstrapped documents; None without refits.
    recalibrations
        Recalibration of each document that has queries.
    """

    name: str
    fit: CrossFit | None
    probabilities: Floats
    draws: Floats | None
    recalibrations: tuple[Recalibration, ...]


@dataclass(frozen=True, eq=False, repr=False)
class QueryStudy:
    """Queries of a corpus, with their probabilities before and after recalibration.

    Attributes
    ----------
    table
        Queries of each document, with their truth.
    variants
        Probabilities of the queries: first those of the scores as they are, then those for each objective.
    n_samples
        Number of samples from which each probability is estimated.
    n_left_out
        Number of mentions that are excluded from the queries because they have no gold entity.
    failures
        Error message of each objective that has no minimum on some fold of the documents and therefore no variant.
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
        """Table of `QueryTable.to_frame` with a column for each variant, which has its P of each pair."""
        return self.table.to_frame().assign(**{variant.name: variant.probabilities for variant in self.variants})

    def reliability(self, *, n_bins: int = N_BINS) -> dict[str, ReliabilityCurve]:
        """Reliability curve of each variant's P over all pairs, with intervals by document."""
        from corefsample.calibration import reliability_curve

        documents = self.table.pair_documents
        return {
            variant.name: reliability_curve(variant.probabilities, self.table.truth, documents=documents, n_bins=n_bins)
            for variant in self.variants
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
        for variant in self.variants:
            p, truth = variant.probabilities, self.table.truth
            error = calibration_error(p, truth, n_bins=n_bins, documents=self.table.pair_documents)
            rows.append(
                {
                    "variant": variant.name,
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
        """Simulated truths of the pairs for each variant, under the assumption that its P is right."""
        return [
            null_truths(self.table, variant.recalibrations, n_draws=_NULL_DRAWS, seed=self.seed)
            for variant in self.variants
        ]

    def misfit(self) -> pd.DataFrame:
        """Compare P with the truth by type of mention, verb and fields of documents.

        Returns
        -------
        pandas.DataFrame
            Table of `group_misfit` for each variant, whose name is in the first column, variant.
        """
        named = self.table.to_frame()
        groups = {name: named[name].tolist() for name in ("mention_type", "verb")}
        for name, values in self.fields.items():
            groups[name] = [values.get(doc_id, "") for doc_id in named["doc_id"]]
        tables = []
        for variant, null in zip(self.variants, self._null_truths, strict=True):
            table = group_misfit(self.table, variant.probabilities, null, groups)
            table.insert(0, "variant", variant.name)
            tables.append(table)
        return pd.concat(tables, ignore_index=True)

    def quantiles(self) -> pd.DataFrame:
        """Quantiles of the true counts in their posterior distributions, which are uniform if P is right.

        Returns
        -------
        pandas.DataFrame
            One row for each variant and bin of quantiles: variant; n_queries; bin_lower and bin_upper; share of the
            queries in the bin; null_lower and null_upper, between which 95% of the shares lie if P is right; p_value
            of the hypothesis that the variant's P is right. The uncertainty of a recalibration is not included.
        """
        columns = ["variant", "n_queries", "bin_lower", "bin_upper", "share", "null_lower", "null_upper", "p_value"]
        rows: list[tuple[object, ...]] = []
        for variant, null in zip(self.variants, self._null_truths, strict=True):
            calibration = count_quantiles(self.table, variant.probabilities, null)
            if calibration is not None:
                edges, values = calibration.edges, (calibration.shares, calibration.lower, calibration.upper)
                bins = zip(edges, edges[1:], *values, strict=False)
                rows += [(variant.name, calibration.n, *bin_values, calibration.p_value) for bin_values in bins]
        return pd.DataFrame(rows, columns=columns)

    @cached_property
    def intervals(self) -> pd.DataFrame:
        """Table of `count_intervals` for each variant, with the columns variant and recalibration."""
        tables = []
        for variant in self.variants:
            for recalibration, probs in ((GIVEN, variant.probabilities), (UNCERTAIN, variant.draws)):
                if probs is None:
                    continue
                log_step("%s: intervals of %d queries", variant.name, len(self.table.queries))
                table = count_intervals(self.table, probs)
                table.insert(0, "variant", variant.name)
                table.insert(1, "recalibration", recalibration)
                tables.append(table)
        return pd.concat(tables, ignore_index=True)

    def coverage(self) -> pd.DataFrame:
        """Share of the intervals that contain the true count.

        Returns
        -------
        pandas.DataFrame
            One row for each variant, recalibration, group of queries, interval and level: variant; recalibration
            ("given" if the intervals assume that the fitted recalibration is true, "uncertain" if they include
            refits on bootstrapped documents); and the columns of `count_coverage`.
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
        for variant in self.variants:
            if variant.fit is None:
                continue
            fit = variant.fit
            for fold, recalibration in enumerate(fit.recalibrations):
                held_out = fit.folds == fold
                n_terms = fit.n_terms[held_out].sum()
                draws = fit.draws[fold] if fit.draws else None
                rows.append(
                    {
                        "variant": variant.name,
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
    queries = [QueryScore(**options).queries(document) for document in with_gold]
    table = QueryTable.of(queries)
    if table.n_pairs < min_pairs:
        rule = f"must make at least {min_pairs} pairs of query and document"
        raise ParameterError(f"{rule}, got {table.n_pairs}", parameter="gold")
    metadata_of = {document.doc_id: document.metadata for document in with_gold}
    metadata = [metadata_of[doc_id] for doc_id in table.doc_ids]
    prior = None if recalibration is not None else _prior(with_gold, uncertainty)

    def variant(
        name: str,
        fit: CrossFit | None,
        recalibrations: Sequence[Recalibration],
        recalibration_draws: Sequence[Sequence[Recalibration]] | None,
    ) -> QueryVariant:
        """Probabilities under the recalibration of each document, and under the draws of this recalibration."""
        probabilities = table.probabilities(recalibrations, n_samples=n_samples, seed=seed)
        draws = None if recalibration_draws is None else _shares(name, table, recalibration_draws, n_samples, seed)
        return QueryVariant(name, fit, probabilities, draws, tuple(recalibrations))

    as_scored = (_NONE,) * len(table.documents)
    settings = uncertainty, metadata, n_resamples, seed
    variants = [variant(AS_SCORED, None, as_scored, _recalibration_draws(prior, *settings))]
    if recalibration is not None:
        fitted = recalibration.recalibration
        by_document = [_NONE if recalibration.is_in(Recalibration.applied_to(m)) else fitted for m in metadata]
        variants.append(variant(RECALIBRATED, None, by_document, _recalibration_draws(recalibration, *settings)))
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
        by_document = [fit.recalibrations[fold] for fold in folds]
        document_domains = [domains[doc_id] for doc_id in table.doc_ids] if domains else []
        variants.append(variant(name, fit, by_document, _held_out_draws(fit, folds, document_domains, seed)))
    return QueryStudy(
        table=table,
        variants=tuple(variants),
        n_samples=n_samples,
        n_left_out=sum(document.n_left_out for document in queries),
        failures=failures,
        fields={name: {d.doc_id: str(d.metadata[name]) for d in with_gold if name in d.metadata} for name in by},
        seed=seed,
    )


def _prior(documents: Sequence[ScoredDocument], uncertainty: Uncertainty | None) -> UncertainRecalibration | None:
    """Recalibration recorded in the metadata of all documents; None if it is unknown or `uncertainty` is "none"."""
    if uncertainty == "none":
        return None
    names = {Recalibration.applied_to(document.metadata) for document in documents}
    recalibration = known_recalibration(names.pop()) if len(names) == 1 else None
    if recalibration is None and uncertainty is not None:
        rule = "needs a recalibration, or scores that were all recalibrated with a model of this package"
        raise ParameterError(f"{rule}, got neither", parameter="uncertainty")
    return recalibration


def _recalibration_draws(
    recalibration: UncertainRecalibration | None,
    uncertainty: Uncertainty | None,
    metadata: Sequence[Mapping[str, Any]],
    n_draws: int,
    seed: int,
) -> list[Sequence[Recalibration]] | None:
    """Draws of a recalibration that was fitted elsewhere, for each document; None without uncertainty."""
    if recalibration is None or not n_draws:
        return None
    source = recalibration.widest if uncertainty is None else uncertainty
    if source == "none":
        return None
    cases = [(recalibration.domain_of(m), recalibration.is_in(Recalibration.applied_to(m))) for m in metadata]
    draws: dict[tuple[str, bool], Sequence[Recalibration]] = {}
    for domain, is_included in sorted(set(cases)):
        sampled = recalibration.sampled(source, n_draws, seed=seed, domain=domain)
        fit = recalibration.recalibration
        draws[domain, is_included] = [draw.relative_to(fit) for draw in sampled] if is_included else sampled
    return [draws[case] for case in cases]


def _held_out_draws(
    fit: CrossFit, folds: Sequence[int], domains: Sequence[str], seed: int
) -> list[Sequence[Recalibration]] | None:
    """Draws of the recalibration that was fitted without each document; None if the fit has no draws."""
    n_draws = len(fit.draws[0]) if fit.draws else 0
    if not n_draws:
        return None
    if not fit.domain_effects:
        refits = [tuple(each) for each in fit.draws]
        return [refits[fold] for fold in folds]
    draws = {
        (fold, name): each.sampled("domain", n_draws, seed=seed, domain=name)
        for fold, each in enumerate(map(UncertainRecalibration, fit.recalibrations, fit.draws, fit.domain_effects))
        for name in sorted({*domains})
    }
    return [draws[key] for key in zip(folds, domains, strict=True)]


def _shares(
    name: str, table: QueryTable, document_draws: Sequence[Sequence[Recalibration]], n_samples: int, seed: int
) -> Floats:
    """Probabilities of the queries under the draws of each document's recalibration: float64 (n_draws, n_pairs)."""
    probs = []
    for draw, recalibrations in enumerate(zip(*document_draws, strict=True)):
        log_step("%s: queries with draw %d of %d", name, draw + 1, len(document_draws[0]))
        first = n_samples + draw * _DRAW_SAMPLES
        probs.append(table.probabilities(recalibrations, n_samples=_DRAW_SAMPLES, seed=seed, first_sample=first))
    return np.stack(probs)
