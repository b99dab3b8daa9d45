"""The evidence as arrays: which event is possible in which document, and in how many samples it is true."""

from collections.abc import Hashable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corefsample import ParameterError, _checks
from corefsample._arrays import Bools, Bytes, Ints, Ints32
from corefsample._random import agreement_bound, monte_carlo_errors
from events.evidence._columns import COOCCURRENCES, NO_PERIOD, Calendar, EventKey, EvidenceSettings, count_columns
from events.evidence._documents_table import ALL_DOCUMENTS_SCHEMA
from events.evidence._sorted_rows import SortedRows
from events.news._quality import outlying_dates, outlying_notice

MOST_PERIODS = 100_000  # from the first document to the last: 273 years of days


class Occurrences:
    """Rows of evidence as arrays, with the period and the group of each document.

    Parameters
    ----------
    settings
        Settings of the evidence.
    rows, documents
        Rows of the evidence, whose order is that of the arrays, and of the documents.
    period
        Length of a period, by default that of the settings.
    by
        Names of the columns of the documents by which they are grouped; a document without a value has "".
    all_periods
        True to list the periods from the first document to the last, even if dates are far from all others.

    Attributes
    ----------
    calendar
        Calendar that divides time into periods.
    groups
        Values of the columns by which documents are grouped, for each group, sorted; one empty tuple without groups.
    periods
        int64 (n_documents,): number of each document's period.
    span
        Numbers of the periods that tables list, and pictures show.
    outside
        Sentence about the documents whose dates are outside the span, far from all others; "" without such.
    group_of
        int64 (n_documents,): group of each document.
    keys
        Name and actors of each event, sorted.
    key, document
        int64 (n,): index of a row's event in `keys`, and its document.
    n_hits, one_best, n_named
        int64 (n,): number of samples with the event (for numbers: their sum over the samples), number of the likeliest
        clustering, and number of samples with named actors or without an actor.
    scaled_variance
        int64 (n,): variance over the samples, times n_samples squared, which is a whole number.
    squared_error
        float64 (n,): squared Monte Carlo error of the mean.
    has_number
        bool (n,): whether a predicate returned a number.
    cooccurrence
        int64 (n,): index in `COOCCURRENCES`, -1 where words and names do not co-occur.

    Raises
    ------
    ParameterError
        If a column is missing, the period is not valid, or the documents have more than 100,000 periods.
    """

    def __init__(
        self,
        settings: EvidenceSettings,
        rows: SortedRows,
        documents: SortedRows,
        period: str | None = None,
        by: Sequence[str] = (),
        all_periods: bool = False,
    ) -> None:
        self.settings, self.rows = settings, rows
        self.calendar = Calendar(settings.period if period is None else period)
        for name in by:
            of_counts = count_columns(settings.roles, recalibrated=True, defaults=True, rule_error=True)
            names = {*ALL_DOCUMENTS_SCHEMA.names, *of_counts}
            properties = tuple(each for each in documents.schema.names if each not in names)
            if not properties:
                raise ParameterError("needs documents with a field of metadata, got none", parameter="by")
            _checks.choice("by", name, properties)
        table = documents.read("doc_id", "date", *by)
        self.periods: Ints = self.calendar.numbers(table["date"].to_numpy().astype("datetime64[D]"))
        numbers, n_docs = np.unique(self.periods[self.periods != NO_PERIOD], return_counts=True)
        extent = int(np.ptp(numbers)) + 1 if len(numbers) else 0
        if extent > MOST_PERIODS:
            rule = f"must divide the dates into at most {MOST_PERIODS:,}, got {extent:,}"
            raise ParameterError(rule, parameter="period")
        present = self.calendar.periods(numbers)
        days = np.array([each.start for each in present], "datetime64[D]")
        is_listed = np.full(len(present), True) if all_periods else ~outlying_dates(days, n_docs)
        listed = numbers[is_listed].tolist()
        self.span = range(listed[0], listed[-1] + 1) if listed else range(0)
        self.outside = "" if all_periods else outlying_notice(days, n_docs, [each.label for each in present])
        texts = [np.array(table[name].fill_null("").to_pylist(), object) for name in by]
        cells = list(zip(*texts, strict=True)) if by else [()] * len(table)
        self.groups: list[tuple[str, ...]] = sorted({*cells}) or [()] * (not by)
        self.group_of = indices(cells, self.groups)
        self._read_rows(table["doc_id"].combine_chunks())

    def _read_rows(self, doc_ids: pa.StringArray) -> None:
        """Read the arrays of rows, of documents with these doc_ids."""
        settings, n_samples = self.settings, self.settings.n_samples
        names = ["doc_id", "event", *settings.roles, "probability", "one_best", "inefficiency", "cooccurrence"]
        names += ["named_samples"] if settings.has_defaults else []
        table = self.rows.read(*names, *(["numbers", "best_number"] if settings.is_predicate else []))
        self.keys, self.key = _keys(table, settings)
        self.document: Ints = pc.index_in(table["doc_id"], value_set=doc_ids).to_numpy().astype(np.int64)
        n_hits = np.rint(table["probability"].to_numpy() * n_samples).astype(np.int64)
        self.n_hits, self.n_named, self.scaled_variance = n_hits, n_hits.copy(), n_hits * (n_samples - n_hits)
        self.one_best: Ints = table["one_best"].to_numpy().astype(np.int64)
        self.has_number, self.squared_error = np.zeros(len(table), np.bool_), np.zeros(len(table))
        inefficiency = np.ceil(table["inefficiency"].to_numpy())
        for value in np.unique(inefficiency[inefficiency > 0.0]).tolist():
            same = inefficiency == value
            self.squared_error[same] = monte_carlo_errors(n_hits[same], n_samples, value) ** 2
        if settings.has_defaults:
            is_other = table["named_samples"].combine_chunks().is_valid().to_numpy(zero_copy_only=False)
            named = table["named_samples"].combine_chunks().drop_null()
            self.n_named[is_other] = unpacked(named, n_samples).sum(axis=1, dtype=np.int64) if len(named) else 0
        if settings.is_predicate:
            has_number = table["numbers"].combine_chunks().is_valid().to_numpy(zero_copy_only=False)
            numbers = table["numbers"].combine_chunks().flatten().to_numpy().reshape(-1, n_samples).astype(np.int64)
            self.has_number = has_number
            self.n_hits[has_number] = self.n_named[has_number] = numbers.sum(axis=1)
            self.scaled_variance[has_number] = n_samples * (numbers**2).sum(axis=1) - numbers.sum(axis=1) ** 2
            self.one_best[has_number] = table["best_number"].combine_chunks().drop_null().to_numpy()
            all_agree = (numbers == numbers[:, :1]).all(axis=1)
            spread = self.scaled_variance[has_number] / n_samples**3
            self.squared_error[has_number] = np.where(all_agree, agreement_bound(n_samples) ** 2, spread)
        cooccurrence = pc.index_in(table["cooccurrence"], value_set=pa.array(COOCCURRENCES)).fill_null(-1)
        self.cooccurrence: Ints = cooccurrence.to_numpy().astype(np.int64)

    @property
    def is_possible(self) -> Bools:
        """True for rows whose event is possible; words and names only co-occur in the others: bool (n,)."""
        return self.squared_error > 0.0  # a bound replaces an error of zero

    def _sampled(self, rows: Ints) -> Iterator[tuple[slice, np.typing.NDArray[np.integer]]]:
        """Parts of increasing rows of evidence, with their values: 0 or 1, or a number, (n, n_samples)."""
        n_samples, start, done = self.settings.n_samples, 0, 0
        names = ["samples", *(["numbers"] if self.settings.is_predicate else [])]
        for batch in self.rows.batches(*names):
            end = int(np.searchsorted(rows, start + len(batch)))
            if end > done:
                selected = batch.take(pa.array(rows[done:end] - start))
                values = np.zeros((end - done, n_samples), np.int32 if self.settings.is_predicate else np.uint8)
                for name in names:
                    column = selected.column(name)
                    has_value = column.is_valid().to_numpy(zero_copy_only=False)
                    if name == "numbers" and has_value.any():
                        values[has_value] = column.flatten().to_numpy().reshape(-1, n_samples)
                    elif has_value.any():
                        values[has_value] = unpacked(column.drop_null(), n_samples)
                yield slice(done, end), values
            start, done = start + len(batch), end

    def values(self, rows: Ints) -> np.typing.NDArray[np.integer]:
        """0 or 1, or the number that a predicate returned, of rows of evidence in each sample: (n, n_samples)."""
        order = np.argsort(rows, kind="stable")
        values = np.zeros((len(rows), self.settings.n_samples), np.int32)
        for positions, values_of_rows in self._sampled(rows[order]):
            values[order[positions]] = values_of_rows
        return values

    def sampled_counts(self, cells: Ints, n_cells: int) -> Ints32:
        """Documents with the event in each sample, by cell.

        Parameters
        ----------
        cells
            int64 (n,): cell of each row of evidence, -1 for rows that are in none.
        n_cells
            Number of cells.

        Returns
        -------
        int32 (n_cells, n_samples)
            Sums over the rows of each cell.
        """
        counts = np.zeros((n_cells, self.settings.n_samples), np.int32)
        rows = np.flatnonzero((cells >= 0) & (self.n_hits > 0))
        for positions, values in self._sampled(rows):
            cells_of_rows = cells[rows[positions]]
            order = np.argsort(cells_of_rows, kind="stable")
            firsts = np.flatnonzero(np.diff(cells_of_rows[order], prepend=-1))
            sums = np.add.reduceat(values[order], firsts, axis=0, dtype=np.int32)
            counts[cells_of_rows[order[firsts]]] += sums
        return counts


def indices(values: Iterable[Hashable], members: Iterable[Hashable]) -> Ints:
    """Index of each value in members, -1 for a value that is not a member: int64 (n_values,)."""
    index_of = {member: index for index, member in enumerate(members)}
    return np.array([index_of.get(value, -1) for value in values], np.int64)


def unpacked(bits: pa.BinaryArray, n_samples: int) -> Bytes:
    """Samples in packed bits, as 0 or 1: uint8 (n, n_samples)."""
    packed = np.frombuffer(b"".join(bits.to_pylist()), np.uint8).reshape(len(bits), -1)
    return np.unpackbits(packed, axis=1, count=n_samples)


def _keys(table: pa.Table, settings: EvidenceSettings) -> tuple[list[tuple[str, EventKey]], Ints]:
    """Name and actors of each event, sorted, and the index of each row's event."""
    columns = ["event", *settings.roles]
    encoded = [table[name].combine_chunks().dictionary_encode() for name in columns]
    code = np.zeros(len(table), np.int64)
    for column in encoded:
        code = code * max(len(column.dictionary), 1) + column.indices.to_numpy()
    _, firsts, key = np.unique(code, return_index=True, return_inverse=True)
    keys = []
    for row in table.select(columns).take(pa.array(firsts)).to_pylist():
        of_event = settings.columns[row["event"]]
        # The one column of a predicate or an outcome has the whole name, with the codes of several roles.
        codes = EventKey.of(row[of_event[0]]) if len(of_event) == 1 else EventKey(row[name] for name in of_event)
        keys.append((row["event"], codes))
    order = sorted(range(len(keys)), key=keys.__getitem__)
    position = np.empty(len(keys), np.int64)
    position[order] = np.arange(len(keys))
    return [keys[index] for index in order], position[key.ravel()]
