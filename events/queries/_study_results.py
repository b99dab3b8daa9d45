"""Results of a study of interval coverage: probabilities, intervals and coverage by recalibration, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from corefsample._arrays import Floats
from corefsample._lazy import pd
from corefsample._log import log_step
from corefsample.recalibration._model import Recalibration
from corefsample.recalibration._refits import CrossFit
from events.queries._table import QueryTable
from events.queries._true_counts import count_coverage, count_intervals, count_quantiles, group_misfit, null_truths

if TYPE_CHECKING:
    from corefsample.calibration._reliability import ReliabilityCurve

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
    sizes
        The smallest number of documents of each group.
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
    sizes: tuple[int, ...]
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
        from corefsample.calibration._scores import brier_score

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
            The tables of `group_misfit` with the column variant first.
        """
        named = self.table.to_frame()
        groups = {name: named[name].tolist() for name in ("mention_type", "verb")}
        for name, values in self.fields.items():
            groups[name] = [values.get(doc_id, "") for doc_id in named["doc_id"]]
        tables: tuple[list[pd.DataFrame], list[pd.DataFrame]] = [], []
        for each in self.variants:
            null = null_truths(self.table, each.recalibrations, n_draws=n_draws, seed=self.seed)
            for table, part in zip(tables, group_misfit(self.table, each.probabilities, null, groups), strict=True):
                part.insert(0, "variant", each.name)
                table.append(part)
        return pd.concat(tables[0], ignore_index=True), pd.concat(tables[1], ignore_index=True)

    def quantiles(self, *, n_draws: int = _NULL_DRAWS) -> pd.DataFrame:
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
        for each in self.variants:
            null = null_truths(self.table, each.recalibrations, n_draws=n_draws, seed=self.seed)
            found = count_quantiles(self.table, each.probabilities, null, min_documents=self.sizes[0])
            if found is not None:
                of_bins = zip(found.edges, found.edges[1:], found.shares, found.lower, found.upper, strict=False)
                rows += [(each.name, found.n, *values, found.p_value) for values in of_bins]
        return pd.DataFrame(rows, columns=columns)

    def intervals(self) -> pd.DataFrame:
        """Intervals of each query's count: as `count_intervals`, with the columns variant and recalibration."""
        parts = []
        for each in self.variants:
            probabilities = {GIVEN: each.probabilities} | ({} if each.draws is None else {UNCERTAIN: each.draws})
            for recalibration, probs in probabilities.items():
                log_step("%s: intervals of %d queries", each.name, len(self.table.queries))
                part = count_intervals(self.table, probs, min_documents=self.sizes[0])
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
            of `count_coverage`.
        """
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
