"""What a scored Doc carries: numbers, strings and bytes in Doc.user_data, which spaCy can serialise.

Samples and marginals are not kept: they follow from the distribution, the seed and the doc_id, and are computed once a
Doc when they are first asked for.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from corefsample.errors import ParameterError

if TYPE_CHECKING:
    from spacy.tokens import Doc

    from corefsample.coreference import AntecedentDistribution, ClusteringSamples

__all__ = ["KEY", "VERSION", "Content", "content_of", "store"]

KEY = "corefsample"
VERSION = 1
_TYPES = {"mentions": "<i4", "indptr": "<i8", "antecedents": "<i4", "scores": "<f8"}
_NUMBERS = ("seed", "n_samples", "n_words", "words")


@dataclass(eq=False)
class Content:
    """The posterior of one Doc, and what was computed of it; it knows the Doc's words, not the Doc.

    Attributes
    ----------
    state
        The entry of Doc.user_data that this was read from.
    offsets
        int32 (n_words,): the place in the Doc of each word.
    n_tokens
        Length of the Doc.
    mentions
        int32 (n_mentions, 3), read-only: start, end and head in offsets of words.
    distribution
        Over the antecedents of these mentions.
    """

    state: dict[str, Any]
    offsets: npt.NDArray[np.int32]
    n_tokens: int
    mentions: npt.NDArray[np.int32]
    distribution: AntecedentDistribution

    @cached_property
    def numbers(self) -> dict[tuple[int, int], int]:
        """Number of the first mention of each pair of start and end."""
        found: dict[tuple[int, int], int] = {}
        for i, (start, end) in enumerate(self.mentions[:, :2].tolist()):
            found.setdefault((start, end), i)
        return found

    @cached_property
    def marginals(self) -> npt.NDArray[np.float64]:
        """Exact link marginals, read-only."""
        from corefsample.coreference import link_marginals

        marginals = link_marginals(self.distribution)
        marginals.flags.writeable = False
        return marginals

    @cached_property
    def samples(self) -> ClusteringSamples:
        """The clusterings drawn."""
        from corefsample.coreference import sample_clusterings

        state = self.state
        return sample_clusterings(
            self.distribution, n_samples=state["n_samples"], seed=state["seed"], doc_id=state["doc_id"]
        )

    @cached_property
    def map_labels(self) -> npt.NDArray[np.int32]:
        """The clustering of likeliest antecedents, read-only."""
        from corefsample.coreference import map_clustering

        labels = map_clustering(self.distribution)
        labels.flags.writeable = False
        return labels


# By Doc, so that what was computed goes when the Doc goes.
_KNOWN: WeakKeyDictionary[Doc, Content] = WeakKeyDictionary()


def _words_hash(doc: Doc, offsets: npt.NDArray[np.int32]) -> int:
    return zlib.crc32("\n".join(doc[i].text for i in offsets.tolist()).encode("utf-8", "surrogatepass"))


def store(
    doc: Doc,
    mentions: npt.NDArray[np.int32],
    distribution: AntecedentDistribution,
    *,
    doc_id: str,
    seed: int,
    n_samples: int,
) -> None:
    """Leave the posterior in Doc.user_data.

    Parameters
    ----------
    mentions
        int32 (n_mentions, 3): start, end and head in offsets of words.
    """
    from corefsample.spacy_bridge._words import word_offsets

    offsets = word_offsets(doc)
    arrays = {
        "mentions": mentions,
        "indptr": distribution.indptr,
        "antecedents": distribution.antecedents,
        "scores": distribution.scores,
    }
    doc.user_data[KEY] = {
        "version": VERSION,
        "doc_id": doc_id,
        "seed": seed,
        "n_samples": n_samples,
        "n_words": len(offsets),
        "words": _words_hash(doc, offsets),
        **{name: np.ascontiguousarray(array, _TYPES[name]).tobytes() for name, array in arrays.items()},
    }


def content_of(doc: Doc) -> Content:
    """Read the posterior of a scored Doc, once as long as it stays the same.

    Raises
    ------
    ParameterError
        If the Doc has none, one of another version or of other words, or one that is broken.
    """
    state = doc.user_data.get(KEY)
    if state is None:
        raise ParameterError(
            "doc must have been scored by the component corefsample, got one without its posterior "
            "(a DocBin keeps it with store_user_data=True)"
        )
    known = _KNOWN.get(doc)
    if known is None or known.state is not state or known.n_tokens != len(doc):
        known = _KNOWN[doc] = _read(doc, state)
    return known


def _read(doc: Doc, state: Any) -> Content:
    from corefsample.coreference import AntecedentDistribution
    from corefsample.spacy_bridge._words import word_offsets

    arrays = _arrays(state)
    offsets = word_offsets(doc)
    if len(offsets) != state["n_words"] or _words_hash(doc, offsets) != state["words"]:
        raise ParameterError(
            f"doc must have the words that were scored ({state['n_words']}), got others ({len(offsets)}): "
            "score the Doc again"
        )
    try:
        distribution = AntecedentDistribution.from_csr(arrays["indptr"], arrays["antecedents"], arrays["scores"])
    except ParameterError as error:
        raise ParameterError(f"doc.user_data[{KEY!r}]: {error}") from None
    mentions = arrays["mentions"].reshape(-1, 3).astype(np.int32)
    mentions.flags.writeable = False
    n_bad = np.count_nonzero((mentions < 0) | (mentions > len(offsets)))
    if len(mentions) != distribution.n_mentions or n_bad or (mentions[:, 0] >= mentions[:, 1]).any():
        raise ParameterError(f"doc.user_data[{KEY!r}]: mentions must be rows of start, end, head, got others")
    return Content(state, offsets, len(doc), mentions, distribution)


def _arrays(state: Any) -> dict[str, npt.NDArray[Any]]:
    """Arrays of a state that keeps the rules as far as can be told without the Doc."""
    if not isinstance(state, dict) or state.get("version") != VERSION:
        found = state.get("version") if isinstance(state, dict) else type(state).__name__
        raise ParameterError(f"doc.user_data[{KEY!r}] must be of version {VERSION}, got {found!r}: score the Doc again")
    kinds = {**dict.fromkeys(_NUMBERS, int), "doc_id": str, **dict.fromkeys(_TYPES, bytes)}
    for name, kind in kinds.items():
        if not isinstance(state.get(name), kind):
            raise ParameterError(
                f"doc.user_data[{KEY!r}]: {name} must be {kind.__name__}, got {type(state.get(name)).__name__}"
            )
    arrays = {}
    for name, dtype in _TYPES.items():
        size = np.dtype(dtype).itemsize * (3 if name == "mentions" else 1)
        if len(state[name]) % size:
            raise ParameterError(
                f"doc.user_data[{KEY!r}]: {name} must have a multiple of {size} bytes, got {len(state[name])}"
            )
        arrays[name] = np.frombuffer(state[name], dtype)
    return arrays
