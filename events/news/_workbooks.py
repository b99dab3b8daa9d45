"""Articles in Excel workbooks (.xlsx), as a stream of records."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

from corefsample._checks import shown
from corefsample._extras import install_hint
from corefsample._log import logger
from corefsample.errors import InputError
from corefsample.files._reading import ReadProgress, open_bytes
from events.news._fields import ArticleFault, Record
from events.news._tables import Columns, json_writer

if TYPE_CHECKING:
    import pandas as pd

# Excel cuts longer texts off without a word when it opens a table of another format.
_LONGEST_CELL = 32_767


def workbook_records(path: str, columns: Columns, progress: ReadProgress) -> Iterator[Record]:
    """Read the rows of all sheets that have the columns; the first row of a sheet has their names.

    The whole workbook is in memory, which a sheet's limit of 1,048,576 rows bounds. Formulas have the values that the
    program stored. Empty rows are left out.

    Raises
    ------
    InputError
        If openpyxl is not installed, the file is no workbook, or no sheet has the columns.
    """
    if find_spec("openpyxl") is None:
        raise InputError("a workbook needs openpyxl, which is not installed", place=path, hint=install_hint("excel"))
    sheets = {name: sheet for name, sheet in _sheets(path, progress).items() if len(sheet)}
    chosen = {name: sheet for name, sheet in sheets.items() if {*columns.required}.issubset(_names(sheet))}
    if not sheets:
        raise InputError("a header is missing, the workbook is empty", place=path)
    for name, sheet in (chosen or dict([next(iter(sheets.items()))])).items():
        columns.require_in(f"{path}: sheet {name!r}", _names(sheet))
    for name in sheets.keys() - chosen.keys():
        logger("files").info("%s: sheet %r is left out, it has other columns", path, name)
    number = 0
    for name, sheet in chosen.items():
        names = _names(sheet)
        for row_number, values in enumerate(sheet.iloc[1:].itertuples(index=False), start=2):
            row = {column: _value(value) for column, value in zip(names, values, strict=True)}
            if all(value is None for value in row.values()):
                continue
            number += 1
            yield _record(columns, path, number, f"sheet {name!r}, row {row_number}", row)


def _record(columns: Columns, path: str, number: int, place: str, row: dict[str, Any]) -> Record:
    text = row.get(columns.text)
    if isinstance(text, str) and len(text) == _LONGEST_CELL:
        rule = f"{columns.text} must be shorter than the {_LONGEST_CELL:,} characters at which Excel cuts a text off"
        fault = ArticleFault(f"{rule}, got as many", hint="use CSV, JSON Lines or Parquet for long texts")
        return Record(place, json_writer(row), fault=fault)
    return columns.record(path, number, place, row, json_writer(row))


def _sheets(path: str, progress: ReadProgress) -> dict[str, pd.DataFrame]:
    import pandas as pd

    with open_bytes(path, progress) as stream:
        content = stream.read()
    try:
        # Without a header, so that a repeated name of a column is found, and without empty values for "NA".
        return pd.read_excel(
            BytesIO(content), sheet_name=None, header=None, dtype=object, na_filter=False, engine="openpyxl"
        )
    except (ValueError, KeyError, TypeError, OSError, EOFError, ParseError, zipfile.BadZipFile) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"file must be an Excel workbook, got: {reason}", place=path) from None


def _names(sheet: pd.DataFrame) -> Sequence[str]:
    return [name if isinstance(name, str) else "" if _value(name) is None else shown(name) for name in sheet.iloc[0]]


def _value(value: Any) -> Any:
    """The value of a cell; None if it is empty or an error of a formula, which pandas reads as NaN."""
    is_nan = isinstance(value, float) and value != value
    return None if is_nan or (isinstance(value, str) and not value) else value
