"""Events of the documents of a partition: sampled and evaluated in threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from corefsample.documents import DocumentBatch
from events.counting import CorpusRecalibration, DocumentEvents, evaluate_mixture, evaluate_rules
from events.jobs.partitions._mixtures import Matched, kinds_of, matched_parses

__all__ = ["Evaluation", "Sampler"]


@dataclass(frozen=True, slots=True)
class Sampler:
    """Samples clusterings of documents and evaluates the rules in them."""

    n_samples: int
    seed: int
    recalibrated: CorpusRecalibration

    def evaluated(self, batch: DocumentBatch, row: int, matches: Matched) -> list[DocumentEvents]:
        """Events of one document of a batch, by rule."""
        doc_id, date = batch.doc_ids[row], batch.dates[row].item()
        recalibrated = self.recalibrated.for_scores(batch.metadata(row))
        sampling: dict[str, Any] = {"n_samples": self.n_samples, "seed": self.seed, "recalibrated": recalibrated}
        try:
            if isinstance(matches, dict):
                parses = matched_parses(batch, row, matches, recalibrated)
                return evaluate_mixture(parses, doc_id, date, **sampling)
            kinds = kinds_of(batch, row, recalibrated)
            return evaluate_rules(batch.antecedents(row), matches, doc_id, date, kinds=kinds, **sampling)
        except Exception as error:
            error.add_note(f"while counting {batch.source}: {batch.unit} {batch.places[row]}: doc_id {doc_id!r}")
            raise


class Evaluation:
    """Evaluates documents in threads, of which the caller's is one: it does what no other has begun when it is needed.

    More threads than processors would only take Python's global lock from each other. Use as a context manager: after
    an error it leaves out what is not begun.
    """

    def __init__(self, sampler: Sampler, threads: int) -> None:
        self._sampler = sampler
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=error is not None)

    def begun(self, batch: DocumentBatch, row: int, matches: Matched) -> Callable[[], list[DocumentEvents]]:
        """Begin one document of a batch; return what gives its events."""
        evaluate = partial(self._sampler.evaluated, batch, row, matches)
        if self._pool is None:
            return evaluate
        future = self._pool.submit(evaluate)
        return lambda: evaluate() if future.cancel() else future.result()
