"""Which rule of the format a document breaks first, in words: field and place, rule, value found."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from corefsample.documents._check_kernels import (
    HEAD_OUTSIDE_SPAN,
    OK,
    SENT_NOT_FROM_ZERO,
    SPAN_EMPTY,
    SPAN_NEGATIVE,
    SPAN_PAST_TOKENS,
    TOKEN_HEAD_CYCLE,
    TOKEN_HEAD_RANGE,
    TOKEN_HEAD_SELF,
    check_mentions,
    check_parses,
)


def mention_fault(mentions: npt.NDArray[np.int32], n_tokens: int | None) -> str | None:
    """Describe the first mention of one document that breaks a rule, or return None."""
    starts, ends, heads = (np.ascontiguousarray(mentions[:, c]) for c in range(3))
    codes, places = np.zeros(1, np.int8), np.zeros(1, np.int64)
    limits = np.array([-1 if n_tokens is None else n_tokens], np.int64)
    check_mentions(np.array([0, len(mentions)], np.int64), starts, ends, heads, limits, codes, places)
    if codes[0] == OK:
        return None
    return describe_mention(int(codes[0]), int(places[0]), starts, ends, heads, int(limits[0]))


def describe_mention(
    code: int,
    place: int,
    starts: npt.NDArray[np.int32],
    ends: npt.NDArray[np.int32],
    heads: npt.NDArray[np.int32],
    n_tokens: int,
    first_mention: int = 0,
) -> str:
    """Say which rule the mention at a flat `place` breaks; mentions count from `first_mention`."""
    i = place - first_mention
    start, end, head = int(starts[place]), int(ends[place]), int(heads[place])
    found = f"got [{start}, {end}, {head}]"
    if code == SPAN_NEGATIVE:
        return f"mentions[{i}]: start must be at least 0, {found}"
    if code == SPAN_EMPTY:
        return f"mentions[{i}]: end must be past start, {found}"
    if code == HEAD_OUTSIDE_SPAN:
        return f"mentions[{i}]: head must lie in the span (start <= head < end), {found}"
    if code == SPAN_PAST_TOKENS:
        return f"mentions[{i}]: end must be at most the number of tokens ({n_tokens}), {found}"
    before = f"[{int(starts[place - 1])}, {int(ends[place - 1])}, {int(heads[place - 1])}]"
    return f"mentions[{i}] must come in order (by start, then longest first), {found} after {before}"


def parse_fault(heads: npt.NDArray[np.int32], sents: npt.NDArray[np.int32]) -> str | None:
    """Describe the first token of one document whose head or sentence breaks a rule, or return None."""
    codes, places = np.zeros(1, np.int8), np.zeros(1, np.int64)
    check_parses(np.array([0, len(heads)], np.int64), heads, sents, codes, places)
    if codes[0] == OK:
        return None
    return describe_token(int(codes[0]), int(places[0]), heads, sents, len(heads))


def describe_token(
    code: int,
    place: int,
    heads: npt.NDArray[np.int32],
    sents: npt.NDArray[np.int32],
    n_tokens: int,
    first_token: int = 0,
) -> str:
    """Say which rule the token at a flat `place` breaks; tokens count from `first_token`."""
    t = place - first_token
    if code == TOKEN_HEAD_RANGE:
        return f"tokens.head[{t}] must be -1 or a token (0 to {n_tokens - 1}), got {int(heads[place])}"
    if code == TOKEN_HEAD_SELF:
        return f"tokens.head[{t}] must not be the token itself, got {t}"
    if code == TOKEN_HEAD_CYCLE:
        return f"tokens.head must form trees, got a cycle through token {t}"
    if code == SENT_NOT_FROM_ZERO:
        return f"tokens.sent must count from 0, got {int(sents[place])} first"
    return f"tokens.sent[{t}] must not fall, got {int(sents[place])} after {int(sents[place - 1])}"
