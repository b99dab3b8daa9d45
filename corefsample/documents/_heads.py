"""The head of a span of tokens by its parse."""

from __future__ import annotations

from collections.abc import Sequence


def span_head(heads: Sequence[int], start: int, end: int, depths: Sequence[int] | None = None) -> int:
    """Token of a span whose own syntactic head lies outside the span.

    Of several, the first token; with `depths` the one nearest to the root of its tree, and the first of these. Corpora
    and adapters use the first rule. Spans of a spaCy Doc use the second, as spaCy's ``Span.root`` does.

    Parameters
    ----------
    heads
        Syntactic head of each token of the document, -1 for a root; they form trees.
    start, end
        The span, end exclusive; at least one token.
    depths
        Number of links from each token up to its root.

    Examples
    --------
    >>> heads = [1, -1, 1, 4, 2]
    >>> span_head(heads, 2, 5), span_head(heads, 3, 5), span_head([2, 0, -1], 1, 3)
    (2, 4, 1)
    >>> span_head([2, 0, -1], 1, 3, depths=[1, 2, 0])
    2
    """
    outside = (token for token in range(start, end) if not start <= heads[token] < end)
    return next(outside) if depths is None else min(outside, key=depths.__getitem__)
