"""A job: the parts of some work, of which those that are not in the store are computed by an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from corefsample.errors import InputError
from events._options import Progress
from events.runs._engines import Engine
from events.runs._store import PartStore, StoredPart


class Part(Protocol):
    """A part of a job; as text it names the part in error messages."""

    @property
    def key(self) -> str:
        """Checksum of everything on which the result of the part depends."""

    @property
    def n_bytes(self) -> float:
        """Size of the part's share of the inputs in bytes."""


P = TypeVar("P", bound=Part)


@dataclass
class Job(Generic[P]):
    """Work that is done in parts.

    Attributes
    ----------
    store, engine
        Store of the results of complete parts, and engine that computes the missing ones.
    raise_first_fault
        True if the first invalid document is an error, so that a part with rejected documents cannot be used.
    compute, here
        Functions that compute a part: in any process, which must be able to import the first, and in this process.
    keep
        Function that is called with a part and its result, and adds it to the store; not needed where `compute` and
        `here` add it, and return the part in the store.
    total_bytes, on_progress
        Size of all inputs in bytes, and function that is called with the bytes of the complete parts, this size, and
        the number of their documents.
    n_bytes, n_documents
        Size of the complete parts so far, and number of their documents.
    """

    store: PartStore
    engine: Engine
    raise_first_fault: bool
    compute: Callable[[P], Any]
    here: Callable[[P], Any]
    total_bytes: int
    keep: Callable[[P, Any], StoredPart] | None = None
    on_progress: Progress | None = None
    n_bytes: float = field(init=False, default=0.0)
    n_documents: int = field(init=False, default=0)

    def complete(self, parts: Iterable[P]) -> Iterator[tuple[P, StoredPart]]:
        """Yield each part with its result in the store, in the order of the parts, which are requested one by one.

        Raises
        ------
        InputError
            If a worker added its result to another folder of the same name.
        OutputError
            If a worker dies, or the scheduler cannot be reached.
        """
        with closing(self.engine.results(self.compute, parts, here=self.here, stored=self._in_store)) as results:
            for part, result in results:
                stored = result if self.keep is None or isinstance(result, StoredPart) else self.keep(part, result)
                if not stored.folder.is_dir():
                    rule = "folder must be the same for all workers"
                    raise InputError(f"{rule}, got no result of {part}", place=str(self.store.path))
                yield part, stored
                self.n_bytes += part.n_bytes
                self.n_documents += stored.record["documents"]
                self.report()

    def _in_store(self, part: P) -> StoredPart | None:
        return self.store.find(part.key, raise_first_fault=self.raise_first_fault)

    def report(self, n_bytes: float = 0.0, n_documents: int = 0) -> None:
        """Report the complete parts, and what was read and counted of the part that this process computes."""
        if self.on_progress is not None:
            n_done = min(int(self.n_bytes + n_bytes), self.total_bytes)
            self.on_progress(n_done, self.total_bytes, self.n_documents + n_documents)
