"""Events of whole sentences that have no simple exact probability: shares of sampled tag sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Ints32
from corefsample._checks import shown
from corefsample.calibration.binning._results import Result
from corefsample.calibration.measures._split_sample import SplitSampleError, split_sample_error
from corefsample.errors import ParameterError
from corefsample.tagging._labelled import LabelledPosterior, tag_codes

if TYPE_CHECKING:
    import pandas as pd

TagQuery = Callable[[Ints32], npt.NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SampledEvents(Result):
    """How many samples of each sentence have an event, and whether its gold tags do; arrays read-only.

    Attributes
    ----------
    hits_a, hits_b
        int64 (n_sentences,): samples with the event, of the first and of the second half of the samples.
    y
        float64 (n_sentences,): 1 where the gold tags have the event, else 0.
    documents
        int32 (n_sentences,): document, an index into `doc_ids`.
    doc_ids
        Names of the documents, in the order of the sentences.
    n_samples
        Samples of each sentence, both halves together.
    """

    hits_a: Ints
    hits_b: Ints
    y: Floats
    documents: Ints32
    doc_ids: tuple[str, ...]
    n_samples: int

    @property
    def q(self) -> Floats:
        """Share of the samples with the event: float64 (n_sentences,) in [0, 1]."""
        return np.asarray((self.hits_a + self.hits_b) / self.n_samples)

    def error(self, **options: Any) -> SplitSampleError:
        """Calibration error, without and with the correction for the samples' noise; see `split_sample_error`.

        Pairs of one document are resampled together if there are several documents.

        Parameters
        ----------
        options
            As of `split_sample_error`: bin_size, n_bins, norm, level, n_resamples, seed.
        """
        documents = self.documents if len(self.doc_ids) > 1 else None
        return split_sample_error(
            self.hits_a, self.hits_b, self.y, n_samples=self.n_samples, documents=documents, **options
        )

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per sentence: doc_id, hits_a, hits_b, q, y."""
        import pandas as pd

        doc_id = pd.Categorical.from_codes(self.documents, pd.Index(list(self.doc_ids)))
        own = {"hits_a": self.hits_a, "hits_b": self.hits_b, "q": self.q, "y": self.y.astype(np.int64)}
        return pd.DataFrame({"doc_id": doc_id, **own})


def followed_by(tags: Sequence[str], first: str, second: str) -> TagQuery:
    """Query whether a sentence has a `first` directly followed by a `second`.

    Parameters
    ----------
    tags
        Names of the chains' tags, in their order.
    first, second
        Two of them.

    Raises
    ------
    ParameterError
        If one is not among the tags.

    Examples
    --------
    >>> followed_by(["DET", "NOUN"], "DET", "NOUN")(np.array([[0, 1, 1], [1, 0, 0]]))
    array([ True, False])
    """
    code = tag_codes(tags)
    for name, tag in (("first", first), ("second", second)):
        if tag not in code:
            raise ParameterError(f"must be one of {shown(', '.join(tags))}, got {tag!r}", parameter=name)

    def query(sequences: Ints32) -> npt.NDArray[np.bool_]:
        found = (sequences[:, :-1] == code[first]) & (sequences[:, 1:] == code[second])
        return np.asarray(found.any(axis=1))

    return query


def sampled_events(
    posteriors: Iterable[LabelledPosterior], query: TagQuery, *, n_samples: int = 100, seed: int = 0
) -> SampledEvents:
    """Sample tag sequences of each sentence, and count those with an event.

    Parameters
    ----------
    posteriors
        Posteriors with gold tags, from `labelled_posteriors` for example.
    query
        Function of tag codes, int32 (n_sequences, n_words), that returns bool (n_sequences,); for example from
        `followed_by`. A gold tag that the model does not have is -1.
    n_samples
        Of each sentence, even and at least 2.
    seed
        In [0, 2^64). The samples of a sentence depend on the seed, its document and its number in that document.

    Raises
    ------
    ParameterError
        If there is no sentence, `n_samples` is odd, or the query returns anything else.
    """
    total = _checks.n_samples(n_samples, 2)
    if total % 2:
        raise ParameterError(f"must be even, got {total}", parameter="n_samples")
    numbers: dict[str, int] = {}
    n_of_document: dict[str, int] = {}
    rows = []
    for item in posteriors:
        place = n_of_document[item.doc_id] = n_of_document.get(item.doc_id, -1) + 1
        samples = item.chain.sample(total, seed=seed, doc_id=f"{item.doc_id}#{place}")
        hits, gold = _answers(query, samples), _answers(query, item.gold[None, :])
        number = numbers.setdefault(item.doc_id, len(numbers))
        rows.append((hits[: total // 2].sum(), hits[total // 2 :].sum(), gold[0], number))
    if not rows:
        raise ParameterError("must contain at least one sentence, got none", parameter="posteriors")
    hits_a, hits_b, y, documents = (np.array(column) for column in zip(*rows, strict=True))
    return SampledEvents(
        hits_a.astype(np.int64),
        hits_b.astype(np.int64),
        y.astype(np.float64),
        documents.astype(np.int32),
        tuple(numbers),
        total,
    )


def _answers(query: TagQuery, sequences: Ints32) -> npt.NDArray[np.bool_]:
    answers = np.asarray(query(sequences))
    if answers.dtype != np.bool_ or answers.shape != (sequences.shape[0],):
        found = f"{answers.dtype} of shape {answers.shape}"
        raise ParameterError(f"must return bool ({sequences.shape[0]},), got {found}", parameter="query")
    return answers
