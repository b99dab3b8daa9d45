"""Descriptions of the first rule of the format that a document breaks: field and place, rule, value found."""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Ints, Ints8, Ints32
from corefsample.documents import _check_kernels as kernels


def mention_fault(mentions: Ints32, n_tokens: int | None) -> str | None:
    """Describe the first mention of one document that breaks a rule, or return None."""
    starts, ends, heads = columns = [np.ascontiguousarray(mentions[:, c]) for c in range(3)]
    for column in columns:
        column.flags.writeable = False  # as columns of files are: the kernel is compiled once
    limits = np.array([-1 if n_tokens is None else n_tokens], np.int64)
    return mention_faults(np.array([0, len(mentions)], np.int64), starts, ends, heads, limits).get(0)


def mention_faults(bounds: Ints, starts: Ints32, ends: Ints32, heads: Ints32, n_tokens: Ints) -> dict[int, str]:
    """Describe the first mention that breaks a rule, for each document with one.

    Mentions of document d are ``bounds[d]:bounds[d + 1]``; `n_tokens` is -1 for a document without tokens.
    """
    codes, places = _no_faults(bounds)
    kernels.check_mentions(bounds, starts, ends, heads, n_tokens, codes, places)
    reasons = {}
    for d in np.flatnonzero(codes).tolist():
        place = int(places[d])
        span = f"[{starts[place]}, {ends[place]}, {heads[place]}]"
        before = f"[{starts[place - 1]}, {ends[place - 1]}, {heads[place - 1]}]"
        rule = {
            kernels.SPAN_NEGATIVE: f": start must be at least 0, got {span}",
            kernels.SPAN_EMPTY: f": end must be past start, got {span}",
            kernels.HEAD_OUTSIDE_SPAN: f": head must lie in the span (start <= head < end), got {span}",
            kernels.SPAN_PAST_TOKENS: f": end must be at most the number of tokens ({n_tokens[d]}), got {span}",
            kernels.SPAN_ORDER: f" must come in order (by start, then longest first), got {span} after {before}",
        }[int(codes[d])]
        reasons[d] = f"mentions[{place - int(bounds[d])}]{rule}"
    return reasons


def parse_fault(heads: Ints32, sents: Ints32) -> str | None:
    """Describe the first token of one document whose head or sentence breaks a rule, or return None."""
    return parse_faults(np.array([0, len(heads)], np.int64), heads, sents).get(0)


def parse_faults(bounds: Ints, heads: Ints32, sents: Ints32) -> dict[int, str]:
    """Describe the first token whose head or sentence breaks a rule, for each document with one."""
    codes, places = _no_faults(bounds)
    seen_from = np.empty(np.diff(bounds).max(initial=0), np.int64)
    kernels.check_parses(bounds, heads, sents, seen_from, codes, places)
    reasons = {}
    for d in np.flatnonzero(codes).tolist():
        place = int(places[d])
        t, last = place - int(bounds[d]), int(bounds[d + 1] - bounds[d]) - 1
        rule = {
            kernels.TOKEN_HEAD_RANGE: f"head[{t}] must be -1 or a token (0 to {last}), got {heads[place]}",
            kernels.TOKEN_HEAD_SELF: f"head[{t}] must not be the token itself, got {t}",
            kernels.TOKEN_HEAD_CYCLE: f"head must form trees, got a cycle through token {t}",
            kernels.SENT_NOT_FROM_ZERO: f"sent must count from 0, got {sents[place]} first",
            kernels.SENT_FALLS: f"sent[{t}] must not fall, got {sents[place]} after {sents[place - 1]}",
        }[int(codes[d])]
        reasons[d] = f"tokens.{rule}"
    return reasons


def _no_faults(bounds: Ints) -> tuple[Ints8, Ints]:
    """Code and place of each document for the kernels to fill."""
    return np.zeros(len(bounds) - 1, np.int8), np.zeros(len(bounds) - 1, np.int64)
