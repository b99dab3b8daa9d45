"""The doc_ids of counted documents, and those that several counters have."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any, Self

import numpy as np

from corefsample.documents._batch import DocumentBatch
from corefsample.files._digests import id_digest

_FILE = "ids.npz"
_HALVES = [("high", "<u8"), ("low", "<u8")]


class CountedIds:
    """Digests of the doc_ids of documents in the order in which they were counted, and the numbers of their lines."""

    def __init__(self) -> None:
        self._digests = bytearray()
        self.numbers = array("q")
        self._known: set[bytes] | None = None  # made when it is first needed: a run of the command does without

    def add(self, batch: DocumentBatch) -> None:
        """Add the documents of a batch."""
        digests = [id_digest(doc_id) for doc_id in batch.doc_ids]
        self._digests += b"".join(digests)
        self.numbers.extend(batch.places)
        if self._known is not None:
            self._known.update(digests)

    def extend(self, other: CountedIds) -> None:
        """Add the documents of another counter."""
        self._digests += other._digests
        self.numbers += other.numbers
        self._known = None

    def __len__(self) -> int:
        return len(self.numbers)

    def __contains__(self, doc_id: str) -> bool:
        if self._known is None:
            self._known = {digest.tobytes() for digest in self._halves()}
        return id_digest(doc_id) in self._known

    def _halves(self) -> Any:
        """The two halves of each digest, a view that must not outlive the call: nothing can be added meanwhile."""
        return np.frombuffer(self._digests, _HALVES)

    def repeated_in(self, other: CountedIds) -> list[tuple[int, int]]:
        """Documents of another counter whose doc_id is here, in their order: the first index here, and theirs there."""
        digests = np.concatenate((self._halves(), other._halves()))
        high = np.sort(digests["high"])
        if not (high[1:] == high[:-1]).any():  # as of most parts of a corpus
            return []
        order = np.lexsort((np.arange(len(digests)), digests["low"], digests["high"]))  # of the same, the earlier first
        is_new = np.concatenate(([True], digests[order[1:]] != digests[order[:-1]]))
        firsts = order[np.maximum.accumulate(np.where(is_new, np.arange(len(order)), 0))]
        pairs = zip(order[~is_new].tolist(), firsts[~is_new].tolist(), strict=True)
        return [(first, later - len(self)) for later, first in sorted(pairs)]

    def save(self, folder: Path) -> None:
        """Write them into the folder of a counter."""
        np.savez(folder / _FILE, digests=np.frombuffer(self._digests, np.uint8), numbers=np.array(self.numbers))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Those that `save` wrote."""
        ids = cls()
        with np.load(folder / _FILE) as content:
            ids._digests += content["digests"].tobytes()
            ids.numbers.frombytes(content["numbers"].tobytes())
        return ids
