"""Pre-scored mention files as JSON Lines, plain or gzip: one document per line.

The reader also enforces two rules that JSON libraries do not enforce: numbers are finite, and no key repeats.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import msgspec

from corefsample._checks import non_finite
from corefsample.documents._batch import VERSION, DocumentBatch
from corefsample.documents._faults import Fault, Rejected, missing_field, version_fault
from corefsample.documents._tokens import INTEGER_COLUMNS, STRING_COLUMNS
from corefsample.errors import DamagedFileError, shown
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
_TOKENS: dict[str, msgspec.json.Decoder[Any]] = {
    **dict.fromkeys(STRING_COLUMNS, msgspec.json.Decoder(list[str])),
    **dict.fromkeys(INTEGER_COLUMNS, msgspec.json.Decoder(list[Int32])),
}
_ANY_LIST = msgspec.json.Decoder(list[Any])
_BATCH_BYTES = 8 * 2**20  # limit of the lines of a batch, which take some ten times more memory as Python objects


class _FaultError(Exception):
    """A line cannot become a document."""

    def __init__(self, reason: str, hint: Any = None) -> None:
        super().__init__(reason)
        # Names of fields come from the file, and may contain line breaks.
        self.fault = Fault("".join(c if c.isprintable() else repr(c)[1:-1] for c in reason), hint)


class JsonLinesReader(LineReader):
    """Stream of batches from one file of JSON Lines."""

    def batches(self, size: int) -> Iterator[tuple[DocumentBatch, list[Rejected]]]:
        """Yield batches of up to `size` documents, fewer if they are long, with the lines that are no documents.

        The parses of a document are in one batch. The documents before a damaged place come before its error.
        """
        rows: list[dict[str, Any]] = []
        line_numbers: list[int] = []
        rejected: list[Rejected] = []
        n_bytes = 0
        damage: DamagedFileError | None = None
        try:
            for number, line, is_complete in self.byte_lines():
                if is_complete and not line.strip():
                    continue
                row: dict[str, Any] | None = None
                broken: list[Rejected] = []
                try:
                    if not is_complete:
                        raise _FaultError(*too_long())
                    row = _decoded(line, is_first=number == 1)
                except _FaultError as error:
                    text = line.decode("utf-8", "replace").rstrip("\r\n")
                    reason, hint = error.fault
                    broken = [Rejected(self.path, "line", number, _known_id(line), reason, text, hint)]
                doc_id = row["doc_id"] if row is not None else broken[0].doc_id
                is_full = len(rows) + len(rejected) >= size or n_bytes >= _BATCH_BYTES
                if is_full and not (rows and rows[-1]["samples"] and rows[-1]["doc_id"] == doc_id):
                    yield DocumentBatch.of_rows(self.path, rows, "line", line_numbers), rejected
                    rows, line_numbers, rejected, n_bytes = [], [], [], 0
                rejected += broken
                if row is not None:
                    rows.append(row)
                    line_numbers.append(number)
                n_bytes += len(line)
        except DamagedFileError as error:
            damage = error
        yield DocumentBatch.of_rows(self.path, rows, "line", line_numbers), rejected
        if damage is not None:
            raise damage


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
    start = shown(line[:80].decode("utf-8", "replace").strip())
    not_lines = "one object per line, no list around them" if is_first else None
    try:
        raw = _OBJECT.decode(line)
        line.decode()  # msgspec does not decode the raw values
        metadata = {name: value for name, value in raw.items() if name not in _FIELDS}
        metadata_text = msgspec.json.encode(metadata).decode() if metadata else None
        msgspec.json.decode(metadata_text or "{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        try:
            invalid = non_finite(json.loads(line))  # NaN or Infinity, which Python's json writes
        except (ValueError, RecursionError) as fault:
            is_utf8 = not isinstance(error, UnicodeDecodeError) and not isinstance(fault, UnicodeDecodeError)
            hint = not_lines if is_utf8 else "save the file as UTF-8"
            raise _FaultError(f"a line must be JSON, got: {error} in {start}", hint) from None
        if invalid is not None:
            path, value = invalid
            raise _FaultError(f"{path.lstrip('.') or 'a line'} must be finite, got {value}") from None
        if isinstance(error, msgspec.ValidationError):
            raise _FaultError(f"a line must be a JSON object, got {start}", not_lines) from None
        raise _FaultError(f"a line must be JSON, got: {error}") from None
    version = _typed("version", _ANY, raw["version"]) if "version" in raw else None
    if version not in (None, VERSION) or isinstance(version, bool):
        raise _FaultError(*version_fault(version))
    _require_distinct_keys(line, raw)
    row: dict[str, Any] = {"metadata": metadata_text}
    for name, decoder in _FIELDS.items():
        if name not in raw and name in _REQUIRED:
            raise _FaultError(*missing_field(name))
        row[name] = _typed(name, decoder, raw[name]) if name in raw else None
    members = row["tokens"]
    if members is not None:
        _require_distinct_keys(bytes(raw["tokens"]), members)
        for name in _TOKENS:
            if name not in members:
                raise _FaultError(*missing_field(f"tokens.{name}"))
        row["tokens"] = {name: _typed(f"tokens.{name}", _TOKENS[name], members.pop(name)) for name in _TOKENS}
        n_tokens = len(row["tokens"]["text"])
        for name, value in members.items():
            length = len(_typed(f"tokens.{name}", _ANY_LIST, value))
            if length != n_tokens:
                raise _FaultError(f"tokens.{name} must be as long as tokens.text ({n_tokens}), got {length}")
        row["tokens_extra"] = msgspec.json.encode(members).decode() if members else None
    return row


def _known_id(line: bytes) -> str:
    """The doc_id of a line that is no document, or "" if it cannot be read."""
    try:
        doc_id = json.loads(line)["doc_id"]
    except (ValueError, RecursionError, TypeError, KeyError):
        return ""
    return doc_id if isinstance(doc_id, str) else ""


def _typed(name: str, decoder: msgspec.json.Decoder[Any], raw: msgspec.Raw) -> Any:
    try:
        return decoder.decode(raw)
    except msgspec.DecodeError as error:
        rule, _, path = str(error).partition(" - at `$")
        actual = ""
        if ", got " not in rule:
            try:
                value = json.loads(bytes(raw))
                for index in re.findall(r"\[(\d+)\]", path):
                    value = value[int(index)]
                actual = f", got {shown(value)}"
            except (ValueError, RecursionError):
                pass
        raise _FaultError(f"{name}{path.rstrip('`')}: {rule}{actual}") from None


def _require_distinct_keys(text: bytes, members: Mapping[str, msgspec.Raw]) -> None:
    """Raise if a key appears twice in a JSON object, whose first value a reader would lose."""
    # A lost member would have left two or more quotation marks in the text: those around its key.
    values = [bytes(value) for value in members.values()]
    n_quotes = 2 * len(values) + sum(value.count(b'"') for value in values)
    if text.count(b'"') == n_quotes and not any('"' in key for key in members):
        return
    try:
        keys = json.loads(text, object_pairs_hook=lambda pairs: [key for key, _ in pairs])
    except (ValueError, RecursionError):  # too long a number, too deep a list: other checks report it
        return
    for key, n in Counter(keys).items():
        if n > 1:
            raise _FaultError(f"{shown(key)} must appear once in a JSON object, got it again")
