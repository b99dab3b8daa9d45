"""The doc_ids of counted documents, and those that several counters have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np

from corefsample._arrays import Bytes, Ints
from corefsample.documents._batch import DocumentBatch
from corefsample.files._digests import id_digest

_FILE = "ids.npz"


class CountedIds:
    """Digests of the doc_ids of documents in the order in which they were counted, and the numbers of their lines."""

    def __init__(self) -> None:
        self._digests = bytearray()
        self._numbers: list[int] = []
        self._known: set[bytes] | None = None  # made when it is first needed: a run of the command does without

    def add(self, batch: DocumentBatch) -> None:
        """Add the documents of a batch."""
        digests = [id_digest(doc_id) for doc_id in batch.doc_ids]
        self._digests += b"".join(digests)
        self._numbers += batch.places
        if self._known is not None:
            self._known.update(digests)

    def extend(self, other: CountedIds) -> None:
        """Add the documents of another counter."""
        self._digests += other._digests
        self._numbers += other._numbers
        self._known = None

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, doc_id: str) -> bool:
        if self._known is None:
            self._known = {digest.tobytes() for digest in self.arrays()[0]}
        return id_digest(doc_id) in self._known

    def arrays(self) -> tuple[Bytes, Ints]:
        """Digests uint8 (n, 16), and numbers int64 (n,)."""
        return np.frombuffer(bytes(self._digests), np.uint8).reshape(-1, 16), np.array(self._numbers, np.int64)

    def save(self, folder: Path) -> None:
        """Write them into the folder of a counter."""
        digests, numbers = self.arrays()
        np.savez(folder / _FILE, digests=digests, numbers=numbers)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Those that `save` wrote."""
        ids = cls()
        with np.load(folder / _FILE) as content:
            ids._digests += content["digests"].tobytes()
            ids._numbers += content["numbers"].tolist()
        return ids


def repeated_ids(several: Sequence[CountedIds]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Documents whose doc_id an earlier one has.

    Returns
    -------
    list of pairs
        The earlier and the later document, each by its place in `several` and the number of its line; in the order of
        the later ones.
    """
    parts = [each.arrays() for each in several]
    digests = np.concatenate([digests for digests, _ in parts]).view([("high", "<u8"), ("low", "<u8")]).ravel()
    numbers = np.concatenate([numbers for _, numbers in parts])
    owners = np.repeat(np.arange(len(parts)), [len(numbers) for _, numbers in parts])
    order = np.lexsort((np.arange(len(digests)), digests["low"], digests["high"]))  # of the same, the earlier first
    is_new = np.concatenate(([True], digests[order[1:]] != digests[order[:-1]]))[: len(order)]
    firsts = order[np.maximum.accumulate(np.where(is_new, np.arange(len(order)), 0))]
    pairs = sorted(zip(order[~is_new].tolist(), firsts[~is_new].tolist(), strict=True))
    return [((int(owners[i]), int(numbers[i])), (int(owners[j]), int(numbers[j]))) for j, i in pairs]
