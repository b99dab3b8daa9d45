"""Checks of many documents at once: each that breaks a rule of the format is set aside with its reason."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corefsample.coreference import candidate_faults
from corefsample.documents import _check_kernels, _faults
from corefsample.documents._batch import SPAN_COLUMNS, DocumentBatch, flat_lists, shown
from corefsample.documents._scored import FIELDS, INTEGER_COLUMNS, STRING_COLUMNS

__all__ = ["checked"]

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

_GOLD_ID = msgspec.json.Decoder(int | str)
_OBJECT = msgspec.json.Decoder(dict[str, Any])

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]


class _Reasons(dict[int, str]):
    """Why each bad row is set aside: the first rule that it was seen to break."""

    def refuse(self, rows: Iterable[int], say: Callable[[int], str]) -> None:
        for row in rows:
            if row not in self:
                self[row] = say(row)


def checked(
    source: str, table: pa.RecordBatch, places: Sequence[str], needs: Iterable[str] = ()
) -> tuple[DocumentBatch, dict[int, str]]:
    """Set aside the documents that break a rule of the format.

    Parameters
    ----------
    source, table, places
        As of `DocumentBatch`, not yet known to be valid.
    needs
        Fields that must not be absent: "date", "tokens", "gold".

    Returns
    -------
    batch, reasons
        The valid documents, and for each other row of `table` the first rule that it breaks.
    """
    batch = DocumentBatch(source, table, places)
    reasons = _shape_faults(batch, tuple(needs))
    rows = [row for row in range(len(batch)) if row not in reasons]
    if reasons:
        batch = batch.take(rows)
    faults = _content_faults(batch)
    if faults:
        reasons |= {rows[row]: reason for row, reason in faults.items()}
        batch = batch.take([row for row in range(len(batch)) if row not in faults])
    return batch, reasons


# --- what would put the flat columns out of step: absent fields, nulls, lists of unlike length --------------


def _shape_faults(batch: DocumentBatch, needs: tuple[str, ...]) -> dict[int, str]:
    table, reasons = batch.table, _Reasons()
    _refuse_ids_and_dates(reasons, batch, "date" in needs)
    for name in ("mentions", "antecedents", "scores", *(n for n in needs if n != "date")):
        column = table.column(name)
        if column.null_count:
            absent = np.flatnonzero(column.is_null()).tolist()
            reasons.refuse(absent, lambda _, name=name: f"{name} must be there, got none")  # type: ignore[misc]
    spans = dict(zip(SPAN_COLUMNS, table.column("mentions").flatten(), strict=True))
    for name in SPAN_COLUMNS[1:]:
        _refuse_unlike(reasons, f"mentions.{name}", spans[name], "mentions.start", spans["start"])
    for name in ("antecedents", "scores"):
        _refuse_unlike(reasons, name, table.column(name), "mentions", spans["start"])
    tokens = batch.token_lists
    for name in (*STRING_COLUMNS[1:], *INTEGER_COLUMNS):
        _refuse_unlike(reasons, f"tokens.{name}", tokens[name], "tokens.text", tokens["text"])
    gold = table.column("gold")
    _refuse_unlike(reasons, "gold", gold, "mentions", spans["start"], where=gold.is_valid())
    for name, lists in spans.items():
        _refuse_nulls(reasons, f"mentions.{name}", lists)
    for name, lists in tokens.items():
        _refuse_nulls(reasons, f"tokens.{name}", lists)
    for name in ("antecedents", "scores"):
        _refuse_nulls(reasons, name, table.column(name))
        _refuse_inner_nulls(reasons, name, table.column(name))
    _refuse_unlike_rows(reasons, table)
    _refuse_json(reasons, batch)
    return reasons


def _refuse_ids_and_dates(reasons: _Reasons, batch: DocumentBatch, date_needed: bool) -> None:
    for row, doc_id in enumerate(batch.doc_ids):
        if not doc_id:
            reasons[row] = f"doc_id must be a non-empty string, got {doc_id!r}"
    for row, date in enumerate(batch.table.column("date").to_pylist()):
        if date is None:
            if date_needed:
                reasons.refuse([row], lambda _: "date must be there, got none")
        elif not _is_iso_date(date):
            reasons.refuse([row], lambda _, d=date: f"date must be an ISO date (YYYY-MM-DD), got {shown(d)}")  # type: ignore[misc]


def _is_iso_date(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return _ISO_DATE.fullmatch(text) is not None


def _lengths(lists: pa.ListArray) -> Ints:
    lengths: Ints = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths


def _refuse_unlike(
    reasons: _Reasons, name: str, lists: pa.ListArray, like: str, model: pa.ListArray, where: pa.BooleanArray = None
) -> None:
    """Refuse documents whose list is not as long as another one, looking only `where` told."""
    wanted, found = _lengths(model), _lengths(lists)
    unlike = wanted != found
    if where is not None:
        unlike &= where.to_numpy(zero_copy_only=False)
    reasons.refuse(
        np.flatnonzero(unlike).tolist(),
        lambda row: f"{name} must be as long as {like} ({wanted[row]}), got {found[row]}",
    )


def _refuse_nulls(reasons: _Reasons, name: str, lists: pa.ListArray) -> None:
    bounds, values = flat_lists(lists)
    if values.null_count:
        for place in np.flatnonzero(values.is_null()).tolist():
            row = _row_of(bounds, place)
            index = place - int(bounds[row])
            reasons.refuse([row], lambda _, i=index: f"{name}[{i}] must not be null, got null")  # type: ignore[misc]


def _refuse_inner_nulls(reasons: _Reasons, name: str, nested: pa.ListArray) -> None:
    bounds, rows = flat_lists(nested)
    indptr, values = flat_lists(rows)
    if values.null_count:
        for place in np.flatnonzero(values.is_null()).tolist():
            mention = _row_of(indptr, place)
            row = _row_of(bounds, mention)
            where = f"{name}[{mention - int(bounds[row])}][{place - int(indptr[mention])}]"
            reasons.refuse([row], lambda _, where=where: f"{where} must not be null, got null")  # type: ignore[misc]


def _refuse_unlike_rows(reasons: _Reasons, table: pa.RecordBatch) -> None:
    """Refuse documents whose scores are not as long as the antecedents, mention by mention."""
    rows = [row for row in range(table.num_rows) if row not in reasons]
    part = table if len(rows) == table.num_rows else table.take(pa.array(rows, pa.int64()))
    bounds, antecedents = flat_lists(part.column("antecedents"))
    wanted, found = _lengths(antecedents), _lengths(flat_lists(part.column("scores"))[1])
    for mention in np.flatnonzero(wanted != found).tolist():
        row = _row_of(bounds, mention)
        i = mention - int(bounds[row])
        reason = f"scores[{i}] must be as long as antecedents[{i}] ({wanted[mention]}), got {found[mention]}"
        reasons.refuse([rows[row]], lambda _, reason=reason: reason)  # type: ignore[misc]


def _refuse_json(reasons: _Reasons, batch: DocumentBatch) -> None:
    """Refuse what is JSON within a column and does not decode to what it should; JSON Lines cannot hold such."""
    bounds, texts = flat_lists(batch.table.column("gold"))
    encoded = texts.dictionary_encode()
    bad = [not _decodes(_GOLD_ID, text) for text in encoded.dictionary.to_pylist()]
    if any(bad):
        found = encoded.indices.fill_null(-1).to_numpy()
        for place in np.flatnonzero(np.append(bad, False)[found]).tolist():
            row = _row_of(bounds, place)
            reason = (
                f"gold[{place - int(bounds[row])}] must be JSON of a number or a string, got {texts[place].as_py()!r}"
            )
            reasons.refuse([row], lambda _, reason=reason: reason)  # type: ignore[misc]
    for row, text in enumerate(batch.table.column("metadata").to_pylist()):
        fault = None if text is None or row in reasons else _object_fault("metadata", text, FIELDS)
        if fault:
            reasons[row] = fault
    for row, text in enumerate(batch.table.column("tokens_extra").to_pylist()):
        if text is not None and row not in reasons:
            n_tokens = int(batch.token_bounds[row + 1] - batch.token_bounds[row])
            fault = _extra_fault(text, n_tokens)
            if fault:
                reasons[row] = fault


def _decodes(decoder: msgspec.json.Decoder[Any], text: str) -> bool:
    try:
        decoder.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _object_fault(field: str, text: str, reserved: Collection[str]) -> str | None:
    """Say why a column's text is no JSON object, or names a field that has a column of its own."""
    if not _decodes(_OBJECT, text):
        return f"{field} must be a JSON object, got {shown(text)}"
    taken = [name for name in _OBJECT.decode(text) if name in reserved]
    return f"{field} must hold what is no other field, got {taken[0]!r}" if taken else None


def _extra_fault(text: str, n_tokens: int) -> str | None:
    fault = _object_fault("tokens_extra", text, {*STRING_COLUMNS, *INTEGER_COLUMNS})
    if fault:
        return fault
    for name, column in _OBJECT.decode(text).items():
        if name in (*STRING_COLUMNS, *INTEGER_COLUMNS):
            return f"tokens_extra must hold further lists alone, got {name!r}"
        if not isinstance(column, list):
            return f"tokens.{name} must be a list, got {shown(column)}"
        if len(column) != n_tokens:
            return f"tokens.{name} must be as long as tokens.text ({n_tokens}), got {len(column)}"
    return None


def _row_of(bounds: Ints, place: int) -> int:
    return int(np.searchsorted(bounds, place, side="right")) - 1


# --- what the kernels find in one pass over the flat columns ------------------------------------------------


def _content_faults(batch: DocumentBatch) -> dict[int, str]:
    bounds, starts, ends, heads = batch.mentions
    indptr, antecedents, scores = batch.candidates
    token_bounds = batch.token_bounds
    token_heads, sents = batch.token_integers("head"), batch.token_integers("sent")
    n_tokens = np.where(batch.has_tokens, np.diff(token_bounds), -1)
    reasons = _Reasons()

    codes, places = _unbroken(len(batch))
    _check_kernels.check_mentions(bounds, starts, ends, heads, n_tokens, codes, places)
    for d in np.flatnonzero(codes).tolist():
        reasons[d] = _faults.describe_mention(
            int(codes[d]), int(places[d]), starts, ends, heads, int(n_tokens[d]), int(bounds[d])
        )
    for d, reason in candidate_faults(bounds, indptr, antecedents, scores).items():
        reasons.setdefault(d, reason)
    codes, places = _unbroken(len(batch))
    _check_kernels.check_parses(token_bounds, token_heads, sents, codes, places)
    for d in np.flatnonzero(codes).tolist():
        reason = _faults.describe_token(
            int(codes[d]), int(places[d]), token_heads, sents, int(n_tokens[d]), int(token_bounds[d])
        )
        reasons.setdefault(d, reason)
    return reasons


def _unbroken(n: int) -> tuple[Codes, Ints]:
    return np.zeros(n, np.int8), np.zeros(n, np.int64)
