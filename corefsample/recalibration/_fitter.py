"""Fitting recalibrations to a set of documents: to all of them, by folds, or to bootstrapped ones; and to a corpus."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bools, Floats, HtmlTable, Ints, Result, fields_of, pd
from corefsample._random import document_key
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._faults import Fault
from corefsample.documents._scored import ScoredDocument, Unannotated
from corefsample.errors import InputError, ParameterError
from corefsample.languages._language import declared_language, differ
from corefsample.recalibration import _losses
from corefsample.recalibration._model import (
    BLOCKS,
    N_GLOBAL,
    N_OFFSETS,
    N_PARAMETERS,
    Recalibration,
    recalibrated_scores,
)
from corefsample.recalibration._uncertain import DOMAIN_FIELD, DomainEffect, UncertainRecalibration
from corefsample.scorers._scoring import SEEN_FIELD

Form = Literal["global", "kinds"]
FORMS: tuple[Form, ...] = ("global", "kinds")

# Standard deviations of the offsets' normal prior that are tried; with the first, offsets hardly differ from 0.
PRIOR_SDS = (0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0)
_MIDDLE_SD = 0.3  # of the fit around which the others are approximated
_PRIOR_FOLDS = 10  # of documents, to choose the prior of offsets by kind
FEWEST_DOMAINS = 3  # whose differences can be estimated
_ROUNDS = 300  # of the estimation of the domains' variances

# The search ends where there is no minimum: log temperature relative to the size of the scores, and NEW bias.
_FURTHEST = np.array([np.log(1e3), 50.0])
# Least curvature of the mean loss: real documents have about 0.06, losses without a minimum less than 1e-8.
_LEAST_CURVATURE = 1e-6


@dataclass(frozen=True, slots=True, repr=False)
class RecalibrationFit(HtmlTable):
    """A recalibration fitted on documents with gold.

    Attributes
    ----------
    recalibration
        The fit.
    objective
        Name of the minimised loss.
    score_before, score_after
        Mean loss per term on the same documents, before and after recalibration. The second is too optimistic for other
        documents (see `RecalibrationFitter.cross_fit`).
    n_terms
        Number of terms: mentions, or pairs of mentions.
    gold
        Counts of annotated documents and mentions.
    form
        "global" or "kinds".
    prior_sd
        Standard deviation of the prior of offsets by kind, which the data chose; None without offsets.
    """

    recalibration: Recalibration
    objective: str
    score_before: float
    score_after: float
    n_terms: float
    gold: _losses.GoldCounts
    form: str = "global"
    prior_sd: float | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CrossFit(Result):
    """Recalibrations fitted to some documents and scored on the others; every document is held out once.

    Attributes
    ----------
    objective
        Name of the minimised loss.
    doc_ids
        The documents with gold.
    folds
        int64 (n_documents,), read-only: the fold in which each is held out. It depends only on seed and doc_ids.
    recalibrations
        For each fold, the fit on the documents of all others.
    n_terms, loss_before, loss_after
        float64 (n_documents,), read-only: terms of each document, and its summed loss without recalibration and with
        the recalibration of its fold.
    """

    objective: str
    doc_ids: tuple[str, ...]
    folds: Ints
    recalibrations: tuple[Recalibration, ...]
    n_terms: Floats
    loss_before: Floats
    loss_after: Floats

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.recalibrations)

    @property
    def score_before(self) -> float:
        """Mean loss per term without recalibration."""
        return float(self.loss_before.sum() / self.n_terms.sum())

    @property
    def score_after(self) -> float:
        """Mean loss per term, each document recalibrated by the fit without it."""
        return float(self.loss_after.sum() / self.n_terms.sum())

    @property
    def score_change_se(self) -> float:
        """Standard error of score_after - score_before, for documents as independent draws."""
        change = self.loss_after - self.loss_before
        total = self.n_terms.sum()
        residuals = change - self.n_terms * (change.sum() / total)  # of a ratio of two sums over documents
        n = residuals.shape[0]
        return float(np.sqrt(n / (n - 1) * np.sum(residuals**2)) / total)

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per document.

        Returns
        -------
        pandas.DataFrame
            doc_id; fold; temperature and new_bias fitted without it; n_terms; loss_before, loss_after.
        """
        fits = [self.recalibrations[fold] for fold in self.folds]
        of_fit = {name: [getattr(fit, name) for fit in fits] for name in ("temperature", "new_bias")}
        losses = {name: getattr(self, name) for name in ("n_terms", "loss_before", "loss_after")}
        return pd.DataFrame({"doc_id": list(self.doc_ids), "fold": self.folds, **of_fit, **losses})


class Solution(NamedTuple):
    """Parameters of a fit, derivatives of the losses there, and standard deviation of the prior of offsets."""

    point: Floats
    there: _losses.Derivatives
    prior_sd: float | None

    def refit(self, weights: Floats) -> Floats:
        """Parameters of a fit to weighted documents, by one Newton step."""
        _, slope, curvature = self.there.total(weights)
        precision = _prior_precision(self.prior_sd)
        return self.point + _losses.newton_step(slope + precision * self.point, curvature + np.diag(precision))


def _prior_precision(sd: float | None) -> Floats:
    """Precision of each parameter's prior: none for temperature and bias, 1 / sd^2 for offsets."""
    return np.zeros(N_GLOBAL) if sd is None else np.repeat([0.0, sd**-2.0], [N_GLOBAL, N_OFFSETS])


class RecalibrationFitter:
    """Fits recalibrations to a set of documents with gold: to all of them, by folds, or to bootstrapped ones.

    All documents stay in memory. Their order does not matter.

    Parameters
    ----------
    documents
        Pre-scored documents with unique doc_ids; those without gold are left out.
    objective
        Loss that the fit minimises, summed over documents: "likelihood", which is -log of the probability of each
        mention's gold antecedents, or "links-log", which is -log of the probability of the gold label of each pair of
        mentions.
    unannotated
        Treatment of mentions without a gold entity: "skip" leaves them out, "single" takes each as an entity.
    form
        Form of the recalibration. "global": a temperature and a NEW bias. "kinds": offsets by kind of mention and of
        antecedent too, which need tokens. They have a normal prior around 0; its standard deviation is the one with the
        lowest loss on documents that were left out, in ten folds, or one domain at a time if there are three or more.
    domains
        Domain of each document by doc_id, such as its genre, from which `domain_effect` is estimated. By default, the
        domains are unknown.

    Raises
    ------
    ParameterError
        If no document has gold, a doc_id is repeated, an option is unknown, or a document lacks a domain, or tokens for
        the form "kinds".

    References
    ----------
    Nguyen & O'Connor (2015), section 7, which leaves recalibration of structures as future work.
    """

    def __init__(
        self,
        documents: Iterable[ScoredDocument],
        *,
        objective: _losses.Objective = "likelihood",
        unannotated: Unannotated = "skip",
        form: Form = "global",
        domains: Mapping[str, str] | None = None,
    ) -> None:
        _checks.choice("objective", objective, _losses.OBJECTIVES)
        self._by_kind = _checks.choice("form", form, FORMS) == "kinds"
        self.gold = _losses.GoldSet(documents, unannotated=unannotated)
        kind = _losses.Likelihood if objective == "likelihood" else _losses.LinkLosses
        self._losses: _losses.Losses = kind(self.gold, by_kind=self._by_kind)
        if not self._losses.n_terms.sum() > 0:
            raise ParameterError(f"gold must give the objective {objective} a term, got none")
        scores = np.concatenate([each.antecedents.scores for each in self.gold.documents])
        self._unit = float(np.sqrt(np.mean(scores**2))) if scores.size else 0.0
        if self._unit == 0.0:
            raise ParameterError("scores must not all be 0: no temperature can be fitted")
        self._domains: Ints | None = None
        if domains is not None:
            missing = [doc_id for doc_id in self.gold.doc_ids if doc_id not in domains]
            if missing:
                rule = f"must have each document with gold, got none for {missing[0]!r}"
                raise ParameterError(rule, parameter="domains")
            self._domains = np.unique([domains[doc_id] for doc_id in self.gold.doc_ids], return_inverse=True)[1]

    @property
    def n_documents(self) -> int:
        """Number of documents with gold."""
        return len(self.gold.documents)

    def fit(self) -> RecalibrationFit:
        """Fit to all documents.

        Raises
        ------
        ParameterError
            If the objective has no minimum: gold does not determine a temperature and a bias.
        """
        recalibration, n_terms = Recalibration.from_vector(self._overall.point), float(self._losses.n_terms.sum())
        before, after = (float(self._losses.at(each).sum()) / n_terms for each in (Recalibration(), recalibration))
        form, prior_sd = "kinds" if self._by_kind else "global", self._overall.prior_sd
        return RecalibrationFit(
            recalibration, self._losses.name, before, after, n_terms, self.gold.counts, form, prior_sd
        )

    def domain_effect(self) -> DomainEffect:
        """Standard deviations of the parameters of the form "kinds" between domains.

        Raises
        ------
        ParameterError
            If the form is not "kinds", there are fewer than three domains, or the objective has no minimum.
        """
        if not self._by_kind or self._domains is None:
            raise ParameterError("are required, with the form 'kinds', for a domain effect", parameter="domains")
        n_domains, solution = int(self._domains.max()) + 1, self._overall
        if n_domains < FEWEST_DOMAINS:
            raise ParameterError(f"must be at least {FEWEST_DOMAINS} to estimate how domains differ, got {n_domains}")
        slopes, curvatures = [], []
        for domain in range(n_domains):
            # The fit to the other domains is one Newton step away. From there the domain's losses, approximated by
            # quadratics and divided by their overdispersion, show its shift.
            weights = (self._domains == domain).astype(np.float64)
            step = solution.refit(1.0 - weights) - solution.point
            _, slope, curvature = solution.there.total(weights)
            scale = _overdispersion(solution.there, weights > 0)
            slopes.append((slope + curvature @ step) / scale)
            values, directions = np.linalg.eigh(curvature)
            curvatures.append((directions * np.maximum(values, 0.0)) @ directions.T / scale)  # no negative curvature
        return domain_variation(slopes, curvatures)

    def cross_fit(self, n_folds: int = 5, *, seed: int = 0) -> CrossFit:
        """Cross-validate the fit: fit to the documents outside each fold, and compute the losses of those inside it.

        Parameters
        ----------
        n_folds
            Number of folds, from 2 to the number of documents with gold.
        seed
            Seed of the folds, in [0, 2**64).

        Returns
        -------
        CrossFit
            For each fold the recalibration that was fitted to the documents outside it. For each document its loss
            without a recalibration, and with the one of its fold, to which it did not contribute.

        Raises
        ------
        ParameterError
            If the objective has no minimum, or `n_folds` or `seed` is outside its range.
        """
        n_folds = _checks.whole("n_folds", n_folds, 2)
        rule = f"must be at most the number of documents with gold ({self.n_documents})"
        _checks.require("n_folds", n_folds <= self.n_documents, rule, n_folds)
        folds = self._folds(n_folds, seed)
        trained = [folds != fold for fold in range(n_folds)]
        rule = f"must leave terms of the objective {self._losses.name} outside each fold"
        _checks.require("n_folds", all(self._losses.n_terms[part].sum() > 0 for part in trained), rule, n_folds)
        fits, loss_after = [], np.empty(self.n_documents)
        for part in trained:
            overall = self._overall
            solution = self._with_best_prior(part.astype(np.float64), overall.point, overall.prior_sd)
            fits.append(Recalibration.from_vector(solution.point))
            loss_after[~part] = self._losses.at(fits[-1])[~part]
        terms, before = self._losses.n_terms.copy(), self._losses.at(Recalibration())
        return CrossFit(self._losses.name, self.gold.doc_ids, folds, tuple(fits), terms, before, loss_after)

    def bootstrap(self, n_resamples: int = 200, *, seed: int = 0) -> tuple[Recalibration, ...]:
        """Refit to bootstrapped documents: each resample has as many documents, drawn with replacement.

        The losses of documents near the fit are computed once and approximated by quadratics: a refit is one Newton
        step from the fit.

        Parameters
        ----------
        n_resamples
            Number of refits, at least 1.
        seed
            Seed of the resamples, in [0, 2**64).

        Returns
        -------
        tuple of Recalibration
            Recalibration of each refit.

        Raises
        ------
        ParameterError
            If `n_resamples` is below 1, or `seed` is outside its range.
        """
        # One at a time, so that a draw does not depend on the number of draws, as it would in a product of matrices.
        refits = [self._overall.refit(weights) for weights in self._resampled(n_resamples, seed)]
        return tuple(map(Recalibration.from_vector, refits))

    def _folds(self, n_folds: int, seed: int) -> Ints:
        """Assign the documents to folds in an order that depends only on seed and doc_ids."""
        keys = [(document_key(seed, doc_id), doc_id) for doc_id in self.gold.doc_ids]
        folds = np.empty(self.n_documents, np.int64)
        folds[sorted(range(self.n_documents), key=keys.__getitem__)] = np.arange(self.n_documents) % n_folds
        return folds

    def _resampled(self, n_resamples: int, seed: int) -> Floats:
        """Weights of resampled documents, (n_resamples, n_documents); drawn again if a resample has no terms."""
        n_resamples = _checks.whole("n_resamples", n_resamples, 1)
        rng = np.random.Generator(np.random.Philox(_checks.seed(seed)))
        n, order = self.n_documents, sorted(range(self.n_documents), key=self.gold.doc_ids.__getitem__)
        weights = np.zeros((n_resamples, n))
        for row in weights:
            while not row @ self._losses.n_terms > 0:
                row[order] = rng.multinomial(n, np.full(n, 1 / n))
        return weights

    @cached_property
    def _overall(self) -> Solution:
        """Fit to all documents, from which other fits start.

        The search begins at the likelihood's minimum in temperature and bias, then that in all parameters.
        """
        weights, start, prior_sd = np.ones(self.n_documents), np.array([np.log(self._unit), 0.0]), None
        solution = self._minimum(_losses.Likelihood(self.gold, by_kind=False), weights, start, prior_sd)
        if self._by_kind:
            prior_sd, start = _MIDDLE_SD, np.append(solution.point, np.zeros(N_OFFSETS))
            solution = self._minimum(_losses.Likelihood(self.gold, by_kind=True), weights, start, prior_sd)
        if isinstance(self._losses, _losses.LinkLosses):
            self._losses.hessians = solution.there.hessians
            solution = self._minimum(self._losses, weights, solution.point, prior_sd)
            self._losses.hessians = self._losses.hessians_at(solution.point)
        return self._with_best_prior(weights, solution.point, prior_sd)

    def _with_best_prior(self, weights: Floats, start: Floats, prior_sd: float | None) -> Solution:
        """Fit with the prior's standard deviation of the lowest loss of groups that were left out, by quadratics."""
        solution = self._minimum(self._losses, weights, start, prior_sd)
        if prior_sd is None:
            return solution
        groups = self._folds(min(_PRIOR_FOLDS, self.n_documents), 0)
        if self._domains is not None and len(np.unique(self._domains)) >= FEWEST_DOMAINS:
            groups = self._domains  # the fit is for other domains too
        sums = [solution.there.total(weights * (groups == group)) for group in np.unique(groups[weights > 0])]
        if len(sums) < 2:
            return solution
        total_slope, total_curvature = sum(each[1] for each in sums), sum(each[2] for each in sums)
        losses = []
        for sd in PRIOR_SDS:
            precision, loss = _prior_precision(sd), 0.0
            for _, slope, curvature in sums:
                gradient = total_slope - slope + precision * solution.point
                step = _losses.newton_step(gradient, total_curvature - curvature + np.diag(precision))
                loss += float(slope @ step + step @ curvature @ step / 2)
            losses.append(loss)
        best = PRIOR_SDS[int(np.argmin(losses))]
        return solution if best == prior_sd else self._minimum(self._losses, weights, solution.point, best)

    def _minimum(self, losses: _losses.Losses, weights: Floats, start: Floats, prior_sd: float | None) -> Solution:
        """Minimum of the weighted losses plus half the precision-weighted squares of the offsets.

        Raises
        ------
        ParameterError
            If the search leaves the region of sensible temperatures and biases, or ends on a ridge.
        """
        from scipy.optimize import minimize

        precision = _prior_precision(prior_sd)
        n_terms = float(weights @ losses.n_terms)
        rule = "gold must determine a temperature and a bias"
        no_minimum = ParameterError(f"{rule}, got documents where the objective {losses.name} has no minimum")

        @lru_cache(maxsize=1)
        def derivatives(point: bytes) -> _losses.Derivatives:
            return losses.derivatives(np.frombuffer(point))

        def mean_loss(point: Floats) -> tuple[float, Floats, Floats]:
            loss, slope, curvature = derivatives(point.tobytes()).total(weights)
            loss, slope = loss + float(precision @ point**2) / 2, slope + precision * point
            return loss / n_terms, slope / n_terms, (curvature + np.diag(precision)) / n_terms

        # Approximate second derivatives only scale the steps: in these coordinates they are the identity.
        scales = np.eye(len(start))
        options: dict[str, Any] = {"method": "BFGS", "options": {"gtol": 1e-7}}
        if isinstance(losses, _losses.Likelihood):
            options = {"method": "trust-exact", "options": {"gtol": 1e-8, "max_trust_radius": 3.0}}
            options["hess"] = lambda steps: mean_loss(start + steps)[2]
        else:
            values, directions = np.linalg.eigh(mean_loss(start)[2])
            scales = directions / np.sqrt(np.maximum(np.abs(values), 1e-10 * np.abs(values).max()))

        def scaled(steps: Floats) -> tuple[float, Floats]:
            loss, slope, _ = mean_loss(start + scales @ steps)
            return loss, slope @ scales

        def follow(steps: Floats) -> None:
            logging.getLogger("corefsample.steps").info("%s: a step of the fit", losses.name)
            position = (start + scales @ steps)[:N_GLOBAL] - [np.log(self._unit), 0.0]
            if (np.abs(position) > _FURTHEST).any():
                raise no_minimum

        options |= {"jac": True, "callback": follow}
        minimum: Any = minimize(scaled, np.zeros(len(start)), **options)
        point = start + scales @ minimum.x
        # A loss without a minimum has almost no curvature where the search ends.
        if prior_sd is None and np.linalg.eigvalsh(mean_loss(point)[2])[0] < _LEAST_CURVATURE:
            raise no_minimum
        return Solution(point, derivatives(point.tobytes()), prior_sd)


def _overdispersion(there: _losses.Derivatives, used: Bools) -> float:
    """Variance of documents' slopes relative to that of independent terms, averaged over parameters; at least 1.

    Documents vary more than independent mentions would.
    """
    n, gradients = int(used.sum()), there.gradients[used]
    if n < 2:
        return 1.0
    variances = n / (n - 1) * ((gradients - gradients.mean(axis=0)) ** 2).sum(axis=0)
    expected = np.diagonal(there.hessians[used].sum(axis=0))
    informative = expected > 1.0  # others have too few terms to tell
    return max(1.0, float(variances[informative].sum() / expected[informative].sum())) if informative.any() else 1.0


def domain_variation(slopes: list[Floats], curvatures: list[Floats]) -> DomainEffect:
    """Standard deviations of domains' shifts by the EM algorithm, from the derivatives of each domain's losses."""
    variances = np.full(N_PARAMETERS, 0.1**2)
    for _ in range(_ROUNDS):
        before, squares = variances.copy(), np.zeros(N_PARAMETERS)
        for slope, curvature in zip(slopes, curvatures, strict=True):
            covariance = np.linalg.inv(curvature + np.diag(1.0 / variances))
            mean = -covariance @ slope
            squares += mean**2 + np.diagonal(covariance)
        for block in BLOCKS.values():
            variances[block] = max(float(squares[block].mean() / len(slopes)), 1e-8)
        if np.abs(variances / before - 1.0).max() < 1e-3:
            break
    sds = {name: float(np.sqrt(variances[block.start])) for name, block in BLOCKS.items()}
    return DomainEffect(**sds, n_domains=len(slopes))


# --- a corpus -------------------------------------------------------------------------------------------------


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
