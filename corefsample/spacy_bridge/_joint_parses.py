"""Several parses of one Doc together: one document of all, and links between spans that each parse may lack."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from corefsample._arrays import Floats

if TYPE_CHECKING:
    from spacy.tokens import Span

    from corefsample.documents import ScoredDocument


def link_of_spans(mentions: Sequence[Span], marginals: Floats, a: Span, b: Span) -> float:
    """P(two spans are mentions of one entity) in one parse; 0 if one of them is no mention there."""
    numbers = {(span.start, span.end): i for i, span in reversed([*enumerate(mentions)])}
    i, k = (numbers.get((span.start, span.end)) for span in (a, b))
    return 0.0 if i is None or k is None else float(marginals[i, k])


def document_of_parses(
    own: ScoredDocument,
    drawn: Sequence[tuple[int, ScoredDocument]],
    *,
    date: datetime.date | None,
    metadata: Mapping[str, Any],
) -> ScoredDocument:
    """Make a document whose first parse is that of `own`, and whose others are the different ones drawn.

    Weights are numbers of samples. Samples with the parse of `own` count for it; its weight is 1 if none were drawn.
    """
    from corefsample.documents import Parse, ScoredDocument

    weights, documents = [0], [own]
    for n_samples, document in drawn:
        same = _same_parse(own, document)
        weights[0] += n_samples if same else 0
        weights += [] if same else [n_samples]
        documents += [] if same else [document]
    parses = [
        Parse(weight if drawn else 1, each.tokens, each.mentions, each.antecedents)  # type: ignore[arg-type]
        for weight, each in zip(weights, documents, strict=True)
    ]
    return ScoredDocument.of_parses(own.doc_id, parses, date=date, metadata=metadata)


def _same_parse(one: ScoredDocument, other: ScoredDocument) -> bool:
    """Whether two documents of the same words have equal tokens in all columns."""
    a, b = one.tokens, other.tokens
    return a is not None and b is not None and a.to_frame().equals(b.to_frame())
