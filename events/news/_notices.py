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
    yield from texts.notices()


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
    periods = counts.dropna(subset="period_start").drop_duplicates("period").sort_values("period_start")
    days = periods["period_start"].to_numpy().astype("datetime64[D]")
    return outlying_notice(days, periods["n_docs"].to_numpy(np.int64), periods["period"].tolist())
