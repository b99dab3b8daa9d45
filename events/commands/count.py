"""Count a finished run again: other periods, groups of documents, outcomes or levels.

RUN is the folder that `corefsample events` wrote. Nothing is matched or sampled again, so that 100,000 documents take
seconds. --by takes a field of the documents' metadata, such as a column of the news table.

Examples
--------
  corefsample count run --period month --out months
  corefsample count run --by outlet --out outlets
  corefsample count run --period year --compare-periods 1998 1999 --out years
  corefsample count run --outcome "violence=attack|kill:*" --level .8 --out violence
"""

from __future__ import annotations

from corefsample import _checks
from corefsample._arrays import pd
from corefsample.files._paths import PathLike
from events._summary import NO_EVENT, Summary, Table, counted, existing_files, listed
from events.commands._parser import Command
from events.runs._run_options import CountAgainOptions

_N_SHOWN, _N_GROUPS = 8, 10


def run_count(run: PathLike, options: CountAgainOptions) -> Summary:
    """Count a finished run again: see `count_again`."""
    from events.runs._count_run import count_again

    _checks.instance("options", options, CountAgainOptions)
    result = count_again(run, options)
    values = {
        name: value for name, value in result.items() if name not in ("counts", "totals", "outside", "compared_periods")
    }
    names = {"Counts": "counts.csv", "Totals": "totals.csv", "Compared": "comparisons.csv"}
    names["Periods"] = "period_comparisons.csv"
    shown: list[str | Table] = [f"{counted(result['n_documents'], 'document')} of {', '.join(result['events'])}."]
    if options.by:
        groups = listed([each or "(none)" for each in result["groups"]], _N_GROUPS)
        shown.append(f"Groups by {', '.join(options.by)}: {groups}.")
    totals = result["totals"]
    if totals.empty:
        shown.append(NO_EVENT)
    else:
        of_readers = "mean_rule" in totals
        head = totals.nlargest(_N_SHOWN, "mean_rule" if of_readers else "mean", keep="first")
        head = head.drop(columns=["sd", "level", *(["lower", "upper"] if of_readers else [])])
        cells = head.map(lambda value: f"{value:.4g}" if isinstance(value, float) else str(value))
        shown.append(Table([str(name) for name in head.columns], cells.values.tolist(), "Highest totals:"))
    if result["compared_periods"] is not None and not totals.empty:
        shown.append(_compared(result["compared_periods"]))
    files = existing_files(result["out"], names)
    notices = [*filter(None, [result["outside"]])]
    return Summary(values=values, shown=shown, notices=notices, files=files, result=result)


def _compared(table: pd.DataFrame) -> Table:
    """The largest differences of two periods, those of what readers would count where the table has them."""
    rule = "_rule" * ("mean_rule" in table)
    mean = "mean_rule" if rule else "mean_difference"
    head = table.loc[table[mean].abs().nlargest(_N_SHOWN).index]
    first, second = head.iloc[0][["first", "second"]]
    shown = head[table.columns[: list(table).index("first")]]
    shown = shown.assign(difference=head[mean], lower=head[f"lower{rule}"], upper=head[f"upper{rule}"])
    shown[f"P({first} > {second})"] = head[f"p_first_greater{rule}"]
    cells = shown.map(lambda value: f"{value:.3g}" if isinstance(value, float) else str(value) or "-")
    documents = " and ".join(f"{head.iloc[0][name]:,}" for name in ("n_docs_first", "n_docs_second"))
    title = f"Documents with an event in {first} minus those in {second}, of {documents} documents:"
    return Table(list(shown.columns), cells.values.tolist(), title)


command = Command(CountAgainOptions, run_count, "run")
