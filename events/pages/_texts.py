"""Texts of a run's documents, read again from its inputs."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from corefsample.documents._rejected import Rejected
from corefsample.errors import CorefsampleError
from corefsample.formats import DocumentStream
from events.counting._definitions import Definitions
from events.lexicon._lexicon import load_lexicon
from events.pages._marked import MarkedText, Marker
from events.rules._rules import rules_and_outcomes


def run_texts(record: Mapping[str, Any], chosen: Collection[str] | None = None) -> Iterator[tuple[str, MarkedText]]:
    """Yield doc_id and text of documents of a run, from those of its inputs that still exist.

    Triggers and names are marked if the rule and the lexicon of the run can still be read.

    Parameters
    ----------
    record
        Content of run.json.
    chosen
        Of which documents; None: of all.
    """
    found = run_definitions(record["arguments"])
    marker = Marker() if found is None else Marker(found.rules, found.lexicon)
    left = None if chosen is None else set(chosen)
    for path in [os.fspath(each["path"]) for each in record["inputs"] if Path(os.fspath(each["path"])).is_file()]:
        for batch in DocumentStream(path, on_rejected=_ignored, parses=True):
            if left is not None and left.isdisjoint(batch.doc_ids):
                continue
            for row, doc_id in enumerate(batch.doc_ids):
                if left is not None and doc_id not in left:
                    continue
                document = batch.document(row)
                if document.tokens is not None:
                    yield doc_id, marker.marked(document.tokens, document.date)
                if left is not None:
                    left.remove(doc_id)
            if left is not None and not left:
                return


def run_definitions(arguments: Mapping[str, Any]) -> Definitions | None:
    """The rules and the lexicon of a run, read again from their files; None where one moved or is damaged."""
    try:
        names = arguments["rule"]
        rules, _ = rules_and_outcomes([names] if isinstance(names, str) else names, arguments["preset"])
        name = arguments["lexicon"]
        return Definitions.of(rules, None if name is None else load_lexicon(name))
    except (CorefsampleError, KeyError, TypeError):
        return None


def _ignored(rejected: Rejected) -> None:
    """Leave out a document that the run set aside."""
