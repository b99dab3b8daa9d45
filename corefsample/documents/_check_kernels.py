"""Compiled checks over the flat columns of many documents: one pass, one code and place per document.

Legend of dimensions and names
    d : document, i : mention, c : candidate antecedent, t : token
    mention_bounds[d]:mention_bounds[d+1] : the mentions of document d
    indptr[i]:indptr[i+1]                 : the candidates of mention i
    token_bounds[d]:token_bounds[d+1]     : the tokens of document d
    codes[d], places[d]                   : which rule document d breaks first (0: none), and at which flat place
"""

from __future__ import annotations

from corefsample._arrays import Ints, Ints8, Ints32
from corefsample._jit import kernel_in_place

OK = 0
SPAN_NEGATIVE, SPAN_EMPTY, HEAD_OUTSIDE_SPAN, SPAN_PAST_TOKENS, SPAN_ORDER = 11, 12, 13, 14, 15
TOKEN_HEAD_RANGE, TOKEN_HEAD_SELF, TOKEN_HEAD_CYCLE, SENT_NOT_FROM_ZERO, SENT_FALLS = 21, 22, 23, 24, 25


@kernel_in_place
def check_mentions(
    mention_bounds: Ints,
    starts: Ints32,
    ends: Ints32,
    heads: Ints32,
    n_tokens: Ints,
    codes: Ints8,
    places: Ints,
) -> None:
    """Check 0 <= start <= head < end <= n_tokens[d] (where that is not negative) and the order of mentions."""
    for d in range(mention_bounds.shape[0] - 1):
        first = mention_bounds[d]
        for i in range(first, mention_bounds[d + 1]):
            if codes[d] != OK:
                break
            code = OK
            if starts[i] < 0:
                code = SPAN_NEGATIVE
            elif ends[i] <= starts[i]:
                code = SPAN_EMPTY
            elif heads[i] < starts[i] or heads[i] >= ends[i]:
                code = HEAD_OUTSIDE_SPAN
            elif n_tokens[d] >= 0 and ends[i] > n_tokens[d]:
                code = SPAN_PAST_TOKENS
            elif i > first and (starts[i] < starts[i - 1] or (starts[i] == starts[i - 1] and ends[i] > ends[i - 1])):
                code = SPAN_ORDER
            if code != OK:
                codes[d], places[d] = code, i


@kernel_in_place
def check_parses(token_bounds: Ints, heads: Ints32, sents: Ints32, seen_from: Ints, codes: Ints8, places: Ints) -> None:
    """Check that heads form trees (-1 for a root) and that sentence numbers start at 0 and never fall.

    seen_from : the token whose walk to the root first met this one; as long as the longest document.
    """
    for d in range(token_bounds.shape[0] - 1):
        first = token_bounds[d]
        n = token_bounds[d + 1] - first
        for t in range(n):
            head = heads[first + t]
            code = OK
            if head < -1 or head >= n:
                code = TOKEN_HEAD_RANGE
            elif head == t:
                code = TOKEN_HEAD_SELF
            elif t == 0 and sents[first] != 0:
                code = SENT_NOT_FROM_ZERO
            elif t > 0 and sents[first + t] < sents[first + t - 1]:
                code = SENT_FALLS
            if code != OK:
                codes[d], places[d] = code, first + t
                break
        if codes[d] != OK:
            continue
        for t in range(n):
            seen_from[t] = -1
        for t in range(n):
            node = t
            while node >= 0 and seen_from[node] < 0:
                seen_from[node] = t
                node = heads[first + node]
            if node >= 0 and seen_from[node] == t:
                codes[d], places[d] = TOKEN_HEAD_CYCLE, first + t
                break
