"""A study of interval coverage on annotated documents: queries of a corpus before and after recalibration.

Recalibrations are cross-validated: the probabilities of each document come from a recalibration that was fitted
without it, so the results of a recalibration are those for documents outside its training data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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
)
from events.queries._counts import LEVELS, SIZES, count_coverage, count_intervals
from events.queries._groups import group_misfit, null_truths
from events.queries._score import QueryScore, named_objective
from events.queries._table import QueryTable

if TYPE_CHECKING:
    import pandas as pd

    from corefsample.calibration.measures import ReliabilityCurve

AS_SCORED = "as scored"
GIVEN, UNCERTAIN = "given", "uncertain"  # values of the column `recalibration`
_DRAW_SAMPLES = 200  # per draw of a recalibration; their noise averages out over the draws
N_BINS = 20
_NONE = Recalibration()
_NULL_DRAWS, _NULL_FIRST = 200, 10**7  # clusterings under the null, and the index of their first sample
RECALIBRATED = "recalibrated"


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
    recalibrations: tuple[Recalibration, ...] = ()  # of each document with queries


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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
    levels, sizes
        Of the intervals, and the smallest number of documents of each group.
    n_without_gold
        Documents without gold, which are not used.
    n_left_out
        Mentions without a gold entity that would otherwise decide a query.
    failures
        Objectives that have no minimum on some part of the documents, with the error; they have no variant.
    fields
        Values of documents' fields by doc_id, for tables by group.
    seed
        Of the samples.
    """

    table: QueryTable
    variants: tuple[QueryVariant, ...]
    n_samples: int
    levels: tuple[float, ...]
    sizes: tuple[int, ...]
    n_without_gold: int
    n_left_out: int
    failures: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    seed: int = 0

    def __repr__(self) -> str:
        names = ", ".join(each.name for each in self.variants)
        return f"QueryStudy({self.table!r}, {self.n_samples:,} samples per document)\n  variants: {names}"

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
        import pandas as pd

        from corefsample.calibration import brier_score, calibration_error

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

    def misfit(self, *, n_draws: int = _NULL_DRAWS) -> tuple[pd.DataFrame, pd.DataFrame]:
        """P against truth by type of mention, verb and fields of documents, and overdispersion between groups.

        Returns
        -------
        tuple of pandas.DataFrame
            The tables of `events.queries.group_misfit` with the column variant first.
        """
        import pandas as pd

        named = self.table.to_frame()
        groups = {name: named[name].tolist() for name in ("mention_type", "verb")}
        for name, values in self.fields.items():
            groups[name] = [values.get(doc_id, "") for doc_id in named["doc_id"]]
        tables: tuple[list[pd.DataFrame], list[pd.DataFrame]] = [], []
        for each in self.variants:
            used = each.recalibrations or (_NONE,) * len(self.table.documents)
            null = null_truths(self.table, used, n_draws=n_draws, seed=self.seed, first_sample=_NULL_FIRST)
            for table, part in zip(tables, group_misfit(self.table, each.probabilities, null, groups), strict=True):
                part.insert(0, "variant", each.name)
                table.append(part)
        return pd.concat(tables[0], ignore_index=True), pd.concat(tables[1], ignore_index=True)

    def intervals(self) -> pd.DataFrame:
        """Intervals of each query's count: as `count_intervals`, with the columns variant and recalibration."""
        import pandas as pd

        parts = []
        for each in self.variants:
            probabilities = {GIVEN: each.probabilities} | ({} if each.draws is None else {UNCERTAIN: each.draws})
            for recalibration, probs in probabilities.items():
                log_step("%s: intervals of %d queries", each.name, len(self.table.queries))
                part = count_intervals(self.table, probs, levels=self.levels, min_documents=self.sizes[0])
                part.insert(0, "variant", each.name)
                part.insert(1, "recalibration", recalibration)
                parts.append(part)
        return pd.concat(parts, ignore_index=True)

    def coverage(self, intervals: pd.DataFrame | None = None) -> pd.DataFrame:
        """Share of the intervals that contain the true count.

        Parameters
        ----------
        intervals
            Result of `intervals`, if it is already known.

        Returns
        -------
        pandas.DataFrame
            One row for each variant, recalibration, group of queries, interval and level: variant; recalibration
            ("given": the fitted one is taken as true; "uncertain": refits on bootstrapped documents); and the columns
            of `events.queries.count_coverage`.
        """
        import pandas as pd

        intervals = self.intervals() if intervals is None else intervals
        names = ["variant", "recalibration"]
        groups = list(intervals.groupby(names, sort=False)) or [(("", ""), intervals)]
        parts = []
        for values, part in groups:
            table = count_coverage(part, sizes=self.sizes)
            for column, (name, value) in enumerate(zip(names, values, strict=True)):
                table.insert(column, name, str(value))
            parts.append(table)
        return pd.concat(parts, ignore_index=True)

    def recalibrations(self) -> pd.DataFrame:
        """Table of the fitted recalibrations, one row for each variant and fold.

        Returns
        -------
        pandas.DataFrame
            variant, fold, n_documents (held out), temperature and new_bias with temperature_sd and new_bias_sd (over
            the draws), score_before, score_after (mean loss per term of the held-out documents, by the variant's own
            objective).
        """
        import pandas as pd

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
        "none", "fit" or "domain": of that recalibration, in the intervals; None: all that it has.
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
    variants = [QueryVariant(AS_SCORED, None, table.probabilities(_NONE, n_samples=n_samples, seed=seed), None)]
    if recalibration is not None:
        had = {each.doc_id: recalibration.is_in(applied_to(each.metadata)) for each in with_gold}
        had_it = [had[doc_id] for doc_id in table.doc_ids]
        variants.append(_elsewhere(recalibration, uncertainty, table, had_it, n_samples, n_boot, seed))
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
        variants.append(_variant(name, fit, table, n_samples, seed))
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


def _elsewhere(
    recalibration: UncertainRecalibration,
    uncertainty: Uncertainty | None,
    table: QueryTable,
    had_it: Sequence[bool],
    n_samples: int,
    n_draws: int,
    seed: int,
) -> QueryVariant:
    """Probabilities under a recalibration that was fitted to other documents, some of which may have had it."""

    def of_each(change: Recalibration) -> tuple[Recalibration, ...]:
        relative = change.relative_to(fit)
        return tuple(relative if had else change for had in had_it)

    fit = recalibration.recalibration
    chosen = recalibration.widest if uncertainty is None else uncertainty
    draws = []
    changes = recalibration.sampled(chosen, n_draws, seed=seed) if n_draws and chosen != "none" else ()
    for draw, change in enumerate(changes):
        log_step("queries with draw %d of %d", draw + 1, n_draws)
        first = n_samples + draw * _DRAW_SAMPLES
        draws.append(table.probabilities(of_each(change), n_samples=_DRAW_SAMPLES, seed=seed, first_sample=first))
    probabilities = table.probabilities(of_each(fit), n_samples=n_samples, seed=seed)
    return QueryVariant(RECALIBRATED, None, probabilities, np.stack(draws) if draws else None, of_each(fit))


def _variant(name: str, fit: CrossFit, table: QueryTable, n_samples: int, seed: int) -> QueryVariant:
    """Probabilities of every document under the recalibrations fitted without it."""
    fold_of = dict(zip(fit.doc_ids, fit.folds.tolist(), strict=True))
    folds = [fold_of[doc_id] for doc_id in table.doc_ids]
    n_draws = len(fit.draws[0]) if fit.draws else 0
    draws = []
    for draw in range(n_draws):
        log_step("%s: queries with refit %d of %d", name, draw + 1, n_draws)
        refits = [fit.draws[fold][draw] for fold in folds]
        first = n_samples + draw * _DRAW_SAMPLES
        draws.append(table.probabilities(refits, n_samples=_DRAW_SAMPLES, seed=seed, first_sample=first))
    each = tuple(fit.recalibrations[fold] for fold in folds)
    probabilities = table.probabilities(each, n_samples=n_samples, seed=seed)
    return QueryVariant(name, fit, probabilities, np.stack(draws) if draws else None, each)
