"""Pre-scored mention files as JSON Lines, plain or gzip: one document per line.

The reader also enforces two rules that JSON libraries do not enforce: numbers are finite, and no key repeats.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import msgspec

from corefsample._checks import non_finite
from corefsample.documents._batch import VERSION, DocumentBatch
from corefsample.documents._faults import Fault, Rejected, missing_field, version_fault
from corefsample.documents._tokens import STRING_COLUMNS, TOKEN_COLUMNS
from corefsample.errors import ParameterHint, shown
from corefsample.files._atomic import open_output
from corefsample.files._reading import LineReader, too_long

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]

_ANY = msgspec.json.Decoder(Any)
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])

_FIELDS: dict[str, msgspec.json.Decoder[Any]] = {
    "version": _ANY,
    "doc_id": msgspec.json.Decoder(str),
    "date": msgspec.json.Decoder(str | None),
    "parse": msgspec.json.Decoder(Int32 | None),
    "samples": msgspec.json.Decoder(tuple[Int32, Int32] | None),
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
_BATCH_BYTES = 8 * 2**20  # limit of the lines of a batch, which take some ten times more memory as Python objects
_NOT_UTF8 = "save the file as UTF-8"
_NOT_LINES = "one object per line, no list around them"


class _FaultError(Exception):
    """A line cannot become a document."""

    def __init__(self, reason: str, doc_id: str = "", hint: str | ParameterHint | None = None) -> None:
        super().__init__(reason)
        # Names of fields come from the file, and may contain line breaks.
        self.fault = Fault("".join(c if c.isprintable() else repr(c)[1:-1] for c in reason), hint)
        self.doc_id = doc_id


class JsonLinesReader(LineReader):
    """Stream of batches from one file of JSON Lines."""

    def batches(self, size: int) -> Iterator[tuple[DocumentBatch, list[Rejected]]]:
        """Yield batches of up to `size` documents, fewer if they are long, with the lines that are no documents.

        The parses of a document are in one batch.
        """
        rows: list[dict[str, Any]] = []
        line_numbers: list[int] = []
        rejected: list[Rejected] = []
        n_bytes = 0
        is_full = False
        for number, line, is_complete in self.byte_lines():
            if is_complete and not line.strip():
                continue
            row: dict[str, Any] = {}
            broken: list[Rejected] = []
            try:
                if not is_complete:
                    message, raised_by = too_long()
                    raise _FaultError(message, hint=raised_by)
                row = _decoded(line, is_first=number == 1)
            except _FaultError as error:
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                reason, hint = error.fault
                broken = [Rejected(self.path, "line", number, error.doc_id, reason, text, hint)]
            if is_full and rows[-1]["doc_id"] != (broken[0].doc_id if broken else row["doc_id"]):
                yield DocumentBatch.of_rows(self.path, rows, "line", line_numbers), rejected
                rows, line_numbers, rejected, n_bytes = [], [], [], 0
            rejected += broken
            if not broken:
                rows.append(row)
                line_numbers.append(number)
            n_bytes += len(line)
            is_full = len(rows) + len(rejected) >= size or n_bytes >= _BATCH_BYTES
            if is_full and not (rows and rows[-1]["samples"]):  # whose document may have more parses
                yield DocumentBatch.of_rows(self.path, rows, "line", line_numbers), rejected
                rows, line_numbers, rejected, n_bytes, is_full = [], [], [], 0, False
        yield DocumentBatch.of_rows(self.path, rows, "line", line_numbers), rejected


@contextmanager
def json_lines_writer(path: str, *, gzipped: bool) -> Iterator[Callable[[DocumentBatch], None]]:
    """Open a file for writing; yield the function that appends the documents of one batch."""
    encoder = msgspec.json.Encoder()

    def write(batch: DocumentBatch) -> None:
        for row in range(len(batch)):
            stream.write(encoder.encode(batch.to_json(row)) + b"\n")

    with open_output(path, gzipped=gzipped) as stream:
        yield write


def _decoded(line: bytes, *, is_first: bool) -> dict[str, Any]:
    """Decode one line to the fields of a row, typed; raises _FaultError."""
    try:
        raw = _OBJECT.decode(line)
        line.decode()  # msgspec does not decode the raw values
    except msgspec.ValidationError:
        hint = _NOT_LINES if is_first else None
        raise _FaultError(f"a line must be a JSON object, got {shown(_start(line))}", hint=hint) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _malformed(line, error, is_first=is_first) from None
    doc_id = _known_id(raw)
    version = _typed("version", _ANY, raw["version"], doc_id) if "version" in raw else None
    if version not in (None, VERSION) or isinstance(version, bool):
        fault = version_fault(version)
        raise _FaultError(fault.reason, doc_id, fault.hint)
    _require_distinct_keys(line, raw, doc_id, _FIELDS)
    tokens = bytes(raw.get("tokens", b""))
    row = _fields(raw, doc_id)
    if row["tokens"] is not None:
        _require_distinct_keys(tokens, row["tokens"], doc_id, TOKEN_COLUMNS)
    row["metadata"] = _metadata(line, raw)
    if row["tokens"] is not None:
        row["tokens"], row["tokens_extra"] = _tokens(row["tokens"], doc_id)
    return row


def _fields(raw: dict[str, msgspec.Raw], doc_id: str) -> dict[str, Any]:
    """Remove the fields of the format from an object, and decode them; absent fields are None."""
    row: dict[str, Any] = {}
    for name, decoder in _FIELDS.items():
        if name not in raw and name in _REQUIRED:
            raise _missing(name, doc_id)
        row[name] = _typed(name, decoder, raw.pop(name), doc_id) if name in raw else None
    return row


def _metadata(line: bytes, raw: dict[str, msgspec.Raw]) -> str | None:
    """The remaining fields of an object, as JSON."""
    text = msgspec.json.encode(raw).decode() if raw else None
    try:
        msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError) as error:
        raise _malformed(line, error) from None
    return text


def _missing(name: str, doc_id: str) -> _FaultError:
    reason, hint = missing_field(name)
    return _FaultError(reason, doc_id, hint)


def _require_distinct_keys(
    text: bytes, raw: Mapping[str, msgspec.Raw], doc_id: str, plain_keys: Collection[str]
) -> None:
    key = repeated_key(text, raw, plain_keys)
    if key is not None:
        raise _FaultError(f"{shown(key)} must appear once in a JSON object, got it again", doc_id)


def _known_id(raw: Mapping[str, msgspec.Raw]) -> str:
    try:
        doc_id: str = _FIELDS["doc_id"].decode(raw["doc_id"])
    except (KeyError, msgspec.DecodeError):
        return ""
    return doc_id


def _tokens(raw: dict[str, msgspec.Raw], doc_id: str) -> tuple[dict[str, list[Any]], str | None]:
    """Decode the token columns, and check that further lists are as long as the text."""
    tokens: dict[str, list[Any]] = {}
    for name in TOKEN_COLUMNS:
        if name not in raw:
            raise _missing(f"tokens.{name}", doc_id)
        decoder = _STRINGS if name in STRING_COLUMNS else _INTEGERS
        tokens[name] = _typed(f"tokens.{name}", decoder, raw.pop(name), doc_id)
    n_tokens = len(tokens["text"])
    for name, value in raw.items():
        length = len(_typed(f"tokens.{name}", _ANY_LIST, value, doc_id))
        if length != n_tokens:
            raise _FaultError(f"tokens.{name} must be as long as tokens.text ({n_tokens}), got {length}", doc_id)
    return tokens, msgspec.json.encode(raw).decode() if raw else None


def _typed(name: str, decoder: msgspec.json.Decoder[Any], raw: msgspec.Raw, doc_id: str) -> Any:
    try:
        return decoder.decode(raw)
    except msgspec.DecodeError as error:
        rule, _, path = str(error).partition(" - at `$")
        actual = "" if ", got " in rule else _found(raw, path)
        raise _FaultError(f"{name}{path.rstrip('`')}: {rule}{actual}", doc_id) from None


def _found(raw: msgspec.Raw, path: str) -> str:
    """Text for an error message with the value at a path such as [3][0]."""
    try:
        value = json.loads(bytes(raw))
        for index in re.findall(r"\[(\d+)\]", path):
            value = value[int(index)]
    except (ValueError, RecursionError):
        return ""
    return f", got {shown(value)}"


def _malformed(line: bytes, error: Exception, *, is_first: bool = False) -> _FaultError:
    """Error for a line that is no JSON; it names the path of NaN or Infinity, which Python's json writes."""
    try:
        tree = json.loads(line)
        invalid = non_finite(tree)
    except (ValueError, RecursionError) as fault:
        utf8 = isinstance(error, UnicodeDecodeError) or isinstance(fault, UnicodeDecodeError)
        hint = _NOT_UTF8 if utf8 else _NOT_LINES if is_first else None
        return _FaultError(f"a line must be JSON, got: {error} in {shown(_start(line))}", hint=hint)
    if invalid is None:
        return _FaultError(f"a line must be JSON, got: {error}")
    doc_id = tree.get("doc_id") if isinstance(tree, dict) else None
    path, value = invalid
    reason = f"{path.lstrip('.') or 'a line'} must be finite, got {value}"
    return _FaultError(reason, doc_id if isinstance(doc_id, str) else "")


def _start(line: bytes) -> str:
    return line[:80].decode("utf-8", "replace").strip()


def repeated_key(text: bytes, members: Mapping[str, msgspec.Raw], plain_keys: Collection[str]) -> str | None:
    """Return a key that appears twice in a JSON object, whose first value a reader would lose, or None.

    Parameters
    ----------
    text
        JSON text of the object, which is valid.
    members
        Members that a reader keeps, with the JSON text of each value.
    plain_keys
        Keys whose values contain no objects, or are checked elsewhere; values of all other keys are searched as well.
    """
    values = [bytes(value) for value in members.values()]
    # A lost member would have left two or more quotation marks in the text: those around its key.
    n_quotes = 2 * len(values) + sum(value.count(b'"') for value in values)
    if text.count(b'"') != n_quotes or any('"' in key for key in members):
        repeated = _first_repeated(text)
        if repeated is not None:
            return repeated
    inner = (value for key, value in zip(members, values, strict=True) if key not in plain_keys and b"{" in value)
    return next((repeated for value in inner if (repeated := _first_repeated(value)) is not None), None)


def _first_repeated(text: bytes) -> str | None:
    repeated: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> None:
        repeated.extend(key for key, n in Counter(key for key, _ in items).items() if n > 1)

    try:
        json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError):  # too long a number, too deep a list: other checks report it
        return None
    return next(iter(repeated), None)
