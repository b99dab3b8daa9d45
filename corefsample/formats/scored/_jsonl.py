"""Pre-scored mention files as JSON Lines, plain or gzip: one document a line."""

from __future__ import annotations

import gzip
import json
import re
import sys
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import nullcontext
from typing import Annotated, Any

import msgspec
import numpy as np
import pyarrow as pa

from corefsample.documents import (
    INTEGER_COLUMNS,
    SCHEMA,
    STRING_COLUMNS,
    VERSION,
    DocumentBatch,
    Rejected,
    gold_texts,
    shown,
    to_json,
)
from corefsample.errors import InputError
from corefsample.formats.scored._json_rules import non_finite, repeated_key

__all__ = ["JsonLinesReader", "JsonLinesWriter"]

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_FIELDS: dict[str, msgspec.json.Decoder[Any]] = {
    "version": msgspec.json.Decoder(Any),
    "doc_id": msgspec.json.Decoder(str),
    "date": msgspec.json.Decoder(str | None),
    "mentions": msgspec.json.Decoder(list[tuple[Int32, Int32, Int32]]),
    "antecedents": msgspec.json.Decoder(list[list[Int32]]),
    "scores": msgspec.json.Decoder(list[list[float]]),
    "tokens": msgspec.json.Decoder(dict[str, msgspec.Raw] | None),
    "gold": msgspec.json.Decoder(list[int | str | None] | None),
}
_REQUIRED = ("doc_id", "mentions", "antecedents", "scores")
_STRINGS = msgspec.json.Decoder(list[str])
_INTEGERS = msgspec.json.Decoder(list[Int32])
_ANY_LIST = msgspec.json.Decoder(list[Any])
_BATCH_BYTES = 8 * 2**20  # of lines; as Python objects they take some ten times that
_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class _FaultError(Exception):
    """A line cannot become a document."""

    def __init__(self, reason: str, doc_id: str = "") -> None:
        super().__init__(reason)
        # Names of fields come from the file, and may hold what would break a line.
        self.reason = "".join(c if c.isprintable() else repr(c)[1:-1] for c in reason)
        self.doc_id = doc_id


class JsonLinesReader:
    """Stream of record batches from one file of JSON Lines.

    Parameters
    ----------
    path
        A file, plain or gzip (told by its first bytes), or "-" for standard input.

    Attributes
    ----------
    bytes_read
        How far the file is read, in bytes of the file; 0 for standard input.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.bytes_read = 0

    def batches(self, size: int) -> Iterator[tuple[pa.RecordBatch, list[str], list[Rejected]]]:
        """Yield record batches of up to `size` documents, fewer where they are long.

        With them come their places, and the lines that are no documents.
        """
        rows: list[dict[str, Any]] = []
        places: list[str] = []
        rejected: list[Rejected] = []
        n_bytes = 0
        for number, line in self._lines():
            place = f"line {number}"
            try:
                rows.append(_decoded(line))
                places.append(place)
            except _FaultError as fault:
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                rejected.append(Rejected(self.path, place, fault.doc_id, fault.reason, text))
            n_bytes += len(line)
            if len(rows) + len(rejected) >= size or n_bytes >= _BATCH_BYTES:
                yield _table(rows), places, rejected
                rows, places, rejected, n_bytes = [], [], [], 0
        yield _table(rows), places, rejected

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines that are not blank, with their numbers from 1."""
        # Standard input is typed as bare BinaryIO, yet is a BufferedReader, which can peek.
        try:
            opened: Any = nullcontext(sys.stdin.buffer) if self.path == "-" else open(self.path, "rb")  # noqa: SIM115
        except OSError as error:
            raise InputError(f"{self.path}: file must be readable, got: {error.strerror}") from None
        number = 0
        with opened as raw:
            try:
                stream = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == _GZIP_MAGIC else raw
                for number, line in enumerate(stream, start=1):
                    if raw.seekable():
                        self.bytes_read = raw.tell()
                    text = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
                    if text.strip():
                        yield number, text
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise InputError(f"{self.path}: line {number + 1}: gzip data must be whole, got: {error}") from None
            except OSError as error:
                reason = error.strerror or error
                raise InputError(f"{self.path}: line {number + 1}: file must be readable, got: {reason}") from None


class JsonLinesWriter:
    """Writes batches to a new file of JSON Lines, gzip where `compressed`.

    The bytes depend on the content alone: gzip's header carries neither name nor time.
    """

    def __init__(self, path: str, *, compressed: bool) -> None:
        self._raw = open(path, "wb")  # noqa: SIM115
        self._stream: Any = (
            gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=self._raw, mtime=0)
            if compressed
            else self._raw
        )

    def write(self, batch: DocumentBatch) -> None:
        """Append the documents of one batch."""
        encoder = msgspec.json.Encoder()
        for row in range(len(batch)):
            self._stream.write(encoder.encode(to_json(batch.table, row)) + b"\n")

    def close(self) -> None:
        """Finish the file."""
        if self._stream is not self._raw:
            self._stream.close()
        self._raw.close()


def _decoded(line: bytes) -> dict[str, Any]:
    """Decode one line to the fields of a row, typed; raises _FaultError."""
    try:
        raw = _OBJECT.decode(line)
        line.decode()  # what stays raw is not decoded above
    except msgspec.ValidationError:
        raise _FaultError(f"a line must be a JSON object, got {shown(_start(line))}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _malformed(line, error) from None
    doc_id = _known_id(raw)
    _refuse_repeated(line, raw, doc_id, known=_FIELDS)
    tokens = bytes(raw.get("tokens", b""))
    row: dict[str, Any] = {}
    for name, decoder in _FIELDS.items():
        if name not in raw:
            if name in _REQUIRED:
                raise _FaultError(f"{name} must be there, got none", doc_id)
            row[name] = None
            continue
        row[name] = _typed(name, decoder, raw.pop(name), doc_id)
        if (name == "version" and row[name] not in (None, VERSION)) or isinstance(row.get("version"), bool):
            raise _FaultError(f"version must be {VERSION}, got {shown(row['version'])}", doc_id)
    if row["tokens"] is not None:
        _refuse_repeated(tokens, row["tokens"], doc_id, known=(*STRING_COLUMNS, *INTEGER_COLUMNS))
        row["tokens"], row["tokens_extra"] = _tokens(row["tokens"], doc_id)
    row["metadata"] = msgspec.json.encode(raw).decode() if raw else None
    try:
        msgspec.json.decode(row["metadata"] or "{}")
    except (msgspec.DecodeError, RecursionError) as error:
        raise _malformed(line, error) from None
    return row


def _refuse_repeated(text: bytes, raw: Mapping[str, msgspec.Raw], doc_id: str, *, known: Collection[str]) -> None:
    key = repeated_key(text, raw, known)
    if key is not None:
        raise _FaultError(f"{shown(key)} must be there once in a JSON object, got it again", doc_id)


def _known_id(raw: Mapping[str, msgspec.Raw]) -> str:
    try:
        known: str = _FIELDS["doc_id"].decode(raw["doc_id"])
    except (KeyError, msgspec.DecodeError):
        return ""
    return known


def _tokens(raw: dict[str, msgspec.Raw], doc_id: str) -> tuple[dict[str, list[Any]], str | None]:
    """Decode the token columns, and check that further lists are as long as the text."""
    tokens: dict[str, list[Any]] = {}
    for name in (*STRING_COLUMNS, *INTEGER_COLUMNS):
        if name not in raw:
            raise _FaultError(f"tokens.{name} must be there, got none", doc_id)
        decoder = _STRINGS if name in STRING_COLUMNS else _INTEGERS
        tokens[name] = _typed(f"tokens.{name}", decoder, raw.pop(name), doc_id)
    for name, value in raw.items():
        length = len(_typed(f"tokens.{name}", _ANY_LIST, value, doc_id))
        if length != len(tokens["text"]):
            raise _FaultError(
                f"tokens.{name} must be as long as tokens.text ({len(tokens['text'])}), got {length}", doc_id
            )
    return tokens, msgspec.json.encode(raw).decode() if raw else None


def _typed(name: str, decoder: msgspec.json.Decoder[Any], raw: msgspec.Raw, doc_id: str) -> Any:
    try:
        return decoder.decode(raw)
    except msgspec.DecodeError as error:
        rule, _, path = str(error).partition(" - at `$")
        found = "" if ", got " in rule else _found(raw, path)
        raise _FaultError(f"{name}{path.rstrip('`')}: {rule}{found}", doc_id) from None


def _found(raw: msgspec.Raw, path: str) -> str:
    """Name the value at a place such as [3][0], for a rule that does not."""
    try:
        value = json.loads(bytes(raw))
        for index in re.findall(r"\[(\d+)\]", path):
            value = value[int(index)]
    except (ValueError, RecursionError):
        return ""
    return f", got {shown(value)}"


def _malformed(line: bytes, error: Exception) -> _FaultError:
    """Say why a line is no JSON; NaN and Infinity, which Python's json writes, are named with their place."""
    try:
        content = json.loads(line)
        place = non_finite(content)
    except (ValueError, RecursionError):
        return _FaultError(f"a line must be JSON, got: {error} in {shown(_start(line))}")
    if place is None:
        return _FaultError(f"a line must be JSON, got: {error}")
    doc_id = content.get("doc_id") if isinstance(content, dict) else None
    known = doc_id if isinstance(doc_id, str) else ""
    return _FaultError(f"{place[0].lstrip('.') or 'a line'} must be finite, got {place[1]}", known)


def _start(line: bytes) -> str:
    return line[:80].decode("utf-8", "replace").strip()


def _table(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    """Turn decoded rows into columns."""
    spans = [np.array(row["mentions"], np.int32).reshape(-1, 3) for row in rows]
    offsets = pa.array(np.concatenate(([0], np.cumsum([len(s) for s in spans], dtype=np.int32))), pa.int32())
    flat = np.concatenate(spans) if spans else np.zeros((0, 3), np.int32)
    mentions = pa.StructArray.from_arrays(
        [pa.ListArray.from_arrays(offsets, pa.array(flat[:, c])) for c in range(3)], ["start", "end", "head"]
    )
    columns = [mentions if name == "mentions" else _column(rows, name, kind) for name, kind in _kinds()]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _kinds() -> Iterator[tuple[str, pa.DataType]]:
    return ((field.name, field.type) for field in SCHEMA)


def _column(rows: list[dict[str, Any]], name: str, kind: pa.DataType) -> pa.Array:
    values = [row.get(name) for row in rows]
    if name == "gold":
        values = [None if gold is None else gold_texts(gold) for gold in values]
    return pa.array(values, kind)
