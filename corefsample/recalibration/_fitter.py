"""Fitting recalibrations to a set of documents: to all of them, by folds, or to bootstrapped ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Literal

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bools, Floats, Ints
from corefsample._random import document_key
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import ParameterError
from corefsample.links._pairs import Unannotated
from corefsample.recalibration._domains import FEWEST_DOMAINS, DomainEffect
from corefsample.recalibration._gold import GoldSet
from corefsample.recalibration._losses import Likelihood, Objective, make_losses
from corefsample.recalibration._model import Recalibration
from corefsample.recalibration._refits import CrossFit, RecalibrationDraws, RecalibrationFit
from corefsample.recalibration._searches import GlobalSearch, KindSearch, likeliest

_PRIOR_FOLDS = 10  # of documents, to choose the prior of offsets by kind

Form = Literal["global", "kinds"]
FORMS: tuple[Form, ...] = ("global", "kinds")


class RecalibrationFitter:
    """Fits recalibrations to a set of documents with gold: to all of them, by folds, or to bootstrapped ones.

    All documents stay in memory. Their order does not matter.

    Parameters
    ----------
    documents
        Pre-scored documents with unique doc_ids; those without gold are left out.
    objective
        Loss that the fit minimises: "likelihood", "links", or a callable that returns the summed loss of a document
        under a recalibration: lower is better (see also `DocumentObjective`). The search for the minimum of "links" or
        a callable starts from the minimum of the likelihood.
    missing
        Treatment of mentions whose gold antecedents are all missing among the candidates: "skip" leaves them out,
        "floor" takes the lowest candidate instead.
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
    """

    def __init__(
        self,
        documents: Iterable[ScoredDocument],
        *,
        objective: Objective = "likelihood",
        missing: str = "skip",
        unannotated: Unannotated = "skip",
        form: Form = "global",
        domains: Mapping[str, str] | None = None,
    ) -> None:
        self.form = _checks.choice("form", form, FORMS)
        self.gold = GoldSet.of(documents, missing=missing, unannotated=unannotated)
        by_kind = form == "kinds"
        self._losses = make_losses(objective, self.gold, unannotated=unannotated, by_kind=by_kind)
        self._domains = None if domains is None else self._domain_numbers(domains)
        unit = _size(self.gold.scores)
        start = partial(likeliest, Likelihood(self.gold), unit=unit)
        self._search: GlobalSearch | KindSearch = GlobalSearch(self._losses, start)
        if by_kind:
            begin = self._losses if isinstance(self._losses, Likelihood) else Likelihood(self.gold, by_kind=True)
            groups = self._folds(min(_PRIOR_FOLDS, self.n_documents), 0)
            if self._domains is not None and len(np.unique(self._domains)) >= FEWEST_DOMAINS:
                groups = self._domains  # the fit is for other domains too
            self._search = KindSearch(self._losses, start, unit, groups, begin)

    def _domain_numbers(self, domains: Mapping[str, str]) -> Ints:
        for doc_id in self.gold.doc_ids:
            if doc_id not in domains:
                raise ParameterError(f"must have each document with gold, got none for {doc_id!r}", parameter="domains")
        return np.unique([domains[doc_id] for doc_id in self.gold.doc_ids], return_inverse=True)[1].astype(np.int64)

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
        vector, prior_sd = self._search.fitted(np.ones(self.n_documents))
        recalibration = Recalibration.from_vector(vector)
        n_terms = float(self._losses.n_terms.sum())
        return RecalibrationFit(
            recalibration=recalibration,
            objective=self._losses.name,
            score_before=float(self._losses.at(Recalibration()).sum()) / n_terms,
            score_after=float(self._losses.at(recalibration).sum()) / n_terms,
            n_terms=n_terms,
            gold=self.gold.counts,
            form=self.form,
            prior_sd=prior_sd,
        )

    def domain_effect(self) -> DomainEffect:
        """Standard deviations of the parameters of the form "kinds" between domains.

        Raises
        ------
        ParameterError
            If the form is not "kinds", there are fewer than three domains, or the objective has no minimum.
        """
        if not isinstance(self._search, KindSearch) or self._domains is None:
            raise ParameterError("are required, with the form 'kinds', for a domain effect", parameter="domains")
        return self._search.domain_effect(np.ones(self.n_documents), self._domains)

    def cross_fit(self, n_folds: int = 5, *, seed: int = 0, n_resamples: int = 0) -> CrossFit:
        """Cross-validate the fit: fit to the documents outside each fold, and compute the losses of those inside it.

        Parameters
        ----------
        n_folds
            Number of folds, from 2 to the number of documents with gold.
        seed
            Seed of folds and bootstrap, in [0, 2**64).
        n_resamples
            Number of refits of each fold to bootstrapped documents; 0 for none.

        Returns
        -------
        CrossFit
            For each fold the recalibration that was fitted to the documents outside it, and refits if `n_resamples` is
            above 0. For each document its loss without a recalibration, and with the one of its fold, to which it did
            not contribute.

        Raises
        ------
        ParameterError
            If the objective has no minimum, or `n_folds`, `seed` or `n_resamples` is outside its range.
        """
        n_folds = _checks.whole("n_folds", n_folds, 2)
        if n_folds > self.n_documents:
            rule = f"must be at most the number of documents with gold ({self.n_documents})"
            raise ParameterError(f"{rule}, got {n_folds}", parameter="n_folds")
        folds = self._folds(n_folds, seed)
        trained = [folds != fold for fold in range(n_folds)]
        if any(not self._losses.n_terms[part].sum() > 0 for part in trained):
            rule = f"must leave terms of the objective {self._losses.name} outside each fold"
            raise ParameterError(f"{rule}, got {n_folds}", parameter="n_folds")
        fits = [Recalibration.from_vector(self._search.fitted(part.astype(np.float64))[0]) for part in trained]
        after = np.stack([self._losses.at(fit) for fit in fits])
        return CrossFit(
            objective=self._losses.name,
            doc_ids=self.gold.doc_ids,
            folds=folds,
            recalibrations=tuple(fits),
            n_terms=self._losses.n_terms.copy(),
            loss_before=self._losses.at(Recalibration()),
            loss_after=after[folds, np.arange(self.n_documents)],
            draws=tuple(self._refits(n_resamples, seed, trained)) if n_resamples else (),
            gold=self.gold.counts,
            domain_effects=self._domain_effects(trained) if n_resamples else (),
        )

    def _domain_effects(self, trained: list[Bools]) -> tuple[DomainEffect, ...]:
        """Domain effect of each training set; empty if domains are unknown, or a training set has too few of them."""
        if not isinstance(self._search, KindSearch) or self._domains is None:
            return ()
        if any(len(np.unique(self._domains[part])) < FEWEST_DOMAINS for part in trained):
            return ()
        return tuple(self._search.domain_effect(part.astype(np.float64), self._domains) for part in trained)

    def bootstrap(self, n_resamples: int = 200, *, seed: int = 0) -> RecalibrationDraws:
        """Refit to bootstrapped documents: each resample has as many documents, drawn with replacement.

        The losses of documents near the fit are computed once and approximated, by polynomials or, if the form of the
        fit is "kinds", by quadratics. Each refit is the minimum of a weighted sum of these approximations.

        Parameters
        ----------
        n_resamples
            Number of refits, at least 1.
        seed
            Seed of the resamples, in [0, 2**64).

        Returns
        -------
        RecalibrationDraws
            Temperature, NEW bias and, if the form is "kinds", offsets of each refit.

        Raises
        ------
        ParameterError
            If `n_resamples` is below 1, or `seed` is outside its range.
        """
        _checks.whole("n_resamples", n_resamples, 1)
        return self._refits(n_resamples, seed, [np.ones(self.n_documents, np.bool_)])[0]

    def _folds(self, n_folds: int, seed: int) -> Ints:
        """Assign the documents to folds in an order that depends only on seed and doc_ids."""
        keys = [(document_key(seed, doc_id), doc_id) for doc_id in self.gold.doc_ids]
        folds = np.empty(self.n_documents, np.int64)
        for position, d in enumerate(sorted(range(self.n_documents), key=keys.__getitem__)):
            folds[d] = position % n_folds
        return folds

    def _refits(self, n_resamples: int, seed: int, trained: list[Bools]) -> list[RecalibrationDraws]:
        """Draws for each part of the documents; draw b has the same document weights in all parts."""
        n_resamples = _checks.whole("n_resamples", n_resamples, 1)
        rng = np.random.Generator(np.random.Philox(_checks.seed(seed)))
        weights = np.stack([self._draw(rng, trained) for _ in range(n_resamples)])
        return [self._search.refitted(part.astype(np.float64), weights * part) for part in trained]

    def _draw(self, rng: np.random.Generator, trained: list[Bools]) -> Floats:
        """Weights of resampled documents; they are drawn again if some part has no terms."""
        order = sorted(range(self.n_documents), key=self.gold.doc_ids.__getitem__)
        weights = np.zeros(self.n_documents)
        while not all((weights * self._losses.n_terms)[part].sum() > 0 for part in trained):
            weights[order] = rng.multinomial(self.n_documents, np.full(self.n_documents, 1 / self.n_documents))
        return weights


def _size(scores: Floats) -> float:
    """Size of the scores: a search in this unit takes the same steps if all scores are multiplied."""
    unit = float(np.sqrt(np.mean(scores**2))) if scores.size else 0.0
    if unit == 0.0:
        raise ParameterError("scores must not all be 0: no temperature can be fitted")
    return unit


def fit_recalibration(
    documents: Iterable[ScoredDocument],
    *,
    objective: Objective = "likelihood",
    missing: str = "skip",
    unannotated: Unannotated = "skip",
    form: Form = "global",
    domains: Mapping[str, str] | None = None,
) -> RecalibrationFit:
    """Fit a recalibration to documents with gold.

    Parameters
    ----------
    documents, objective, missing, unannotated, form, domains
        Documents with gold, and options of the fit: see `RecalibrationFitter`.

    Returns
    -------
    RecalibrationFit
        The recalibration, the mean loss before and after, and counts of the gold annotation.

    Raises
    ------
    ParameterError
        If no document has gold, or gold does not determine a temperature and a bias.

    References
    ----------
    Nguyen & O'Connor (2015), section 7, which leaves recalibration of structures as future work.
    """
    fitter = RecalibrationFitter(
        documents, objective=objective, missing=missing, unannotated=unannotated, form=form, domains=domains
    )
    return fitter.fit()
