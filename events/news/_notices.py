"""What is said about the texts of articles, on the screen and on the page of a run: what was changed, what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample._lazy import pd
from corefsample.documents._tokens import counted
from events.news._dates import outlying
from events.news._quality import TextTally

_KINDS = {"n_dateline": "a dateline", "n_credit": "a credit", "n_agency": "the tag of an agency", "n_note": "a note"}


def text_notices(texts: TextTally) -> Iterator[str]:
    """A sentence for each thing that any text has."""

    def of_all(count: int) -> str:
        return f"{count:,} of {counted(texts.n_texts, 'document')} ({count / texts.n_texts:.1%})"

    heads = [f"{counted(n, 'text')} with {name}" for field, name in _KINDS.items() if (n := getattr(texts, field))]
    if heads:
        yield f"Not parsed, because they are no sentences: {', '.join(heads)}."
    if texts.n_recased:
        yield f"Capitals or title case, parsed as sentences are written: {of_all(texts.n_recased)}."
    if texts.n_cleaned:
        yield f"HTML or invisible characters removed: {of_all(texts.n_cleaned)}."
    if texts.n_repaired:
        yield f"Text repaired: {of_all(texts.n_repaired)}."
    if texts.n_lost_names:
        yield (
            f"Without upper case, but with names that are also words (turkey, the us): {of_all(texts.n_lost_names)}. "
            "A lexicon finds these names by their capital."
        )
    if texts.n_mojibake:
        yield (
            f"Characters of a wrong encoding, as in \u201cdidn\u00e2\u20ac\u2122t\u201d: {of_all(texts.n_mojibake)}. "
            "Read the source as UTF-8, or repair the text with --fix-text."
        )
    if texts.n_lost:
        yield (
            f"Characters lost (\N{REPLACEMENT CHARACTER}): {of_all(texts.n_lost)}. "
            "Read the source again in its own encoding."
        )


def scoring_notices(record: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on how the inputs of a run were scored: articles set aside, and what was changed in texts.

    Parameters
    ----------
    record
        Content of run.json.
    """
    texts = TextTally()
    for row in record["inputs"]:
        scoring = row.get("scoring", {"n_quarantined": 0, "texts": {}})
        texts += TextTally(**scoring["texts"])
        if n_quarantined := scoring["n_quarantined"]:
            yield (
                f"{counted(n_quarantined, 'article')} set aside when texts were scored, and counted nowhere: "
                f"{row['path']}.quarantine.jsonl says why."
            )
    yield from text_notices(texts)


def outlying_notice(
    days: npt.NDArray[np.datetime64], n_documents: npt.NDArray[np.integer], names: Sequence[str]
) -> str:
    """A sentence on dates far from all others, as of `outlying`; empty if there are none."""
    is_outlying = outlying(days, n_documents)
    places = np.flatnonzero(is_outlying & (n_documents > 0)).tolist()
    if not places:
        return ""
    shown = np.flatnonzero(~is_outlying)
    listed = ", ".join(f"{int(n_documents[place]):,} in {names[place]}" for place in places)
    span = f"{names[int(shown[0])]} to {names[int(shown[-1])]}"
    return f"Documents with dates far from all others: {listed}. Pictures show {span}; check these dates."


def outlying_text(counts: pd.DataFrame) -> str:
    """The same for the periods of a table of counts."""
    periods = counts.drop_duplicates("period").sort_values("period_start")
    days = periods["period_start"].to_numpy().astype("datetime64[D]")
    return outlying_notice(days, periods["n_docs"].to_numpy(np.int64), periods["period"].tolist())
