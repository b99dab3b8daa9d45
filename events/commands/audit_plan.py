"""Draw a stratified random sample of documents to label.

SOURCE is the output of `corefsample events`, or a CSV file with the columns doc_id, date and probability of any
model. P is this probability that a document has the event, and with several events or actors the highest of them.
Documents are divided into strata by P, those of a run with P of .5 or less by whether a word of the rule and a name of
the actor are in one sentence, in the document, or not both. Those to label are drawn at random from each stratum.

Open FOLDER/sheet.html in a browser to label, or fill in FOLDER/sheet.csv with yes, no or unsure.

Examples
--------
  corefsample audit plan run --actors POLICE --labels 200 --out audit
  corefsample audit plan run --actors POLICE --width 40 --out audit
  corefsample audit plan run --actors USA,IRQ --column outlet --out a2
  corefsample audit plan run --out audit --more 100
  corefsample audit plan run --proxy llm --table llm.csv --out audit4
  corefsample audit plan scores.csv --labels 300 --by year --out audit3
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from corefsample import _checks
from corefsample.errors import ParameterError, ParameterHint
from corefsample.files._paths import PathLike
from events import _options as shared, audit
from events._summary import Pairs, Summary, Table, counted, counts_above_zero
from events.commands._parser import Command


@shared.declared
class AuditPlanOptions(shared.Seed, shared.Overwrite):
    """Options of the plan of an audit: strata of the documents, and the sample to label.

    Attributes
    ----------
    out
        Folder for the plan and the sheets.
    n_labels
        Number of documents to label.
    width
        Width of the 95% interval of a total, in documents, that labels shall give: the plan has the fewest that are
        expected to do so, if the rule errs as others did. [default: --labels says how many there are]
    more
        Number of documents of a further round, which is added to the plan in FOLDER. [default: a new plan is made]
    actors
        Actors about which a label says whether they have the event: USA,GBR or all. [default: a label says whether
        there is the event of anybody]
    period
        Length of the periods of a CSV file; a run has periods already.
    seed
        Seed of the random draws: the same seed gives the same sample.
    with_texts
        Put the texts into the sheet.
    question
        Question that a label answers. [default: the question of the rule]
    codebook
        Text that tells labellers what counts and what does not; '' for none. [default: the codebook of the rule]
    cuts
        Bound between two ranges of P, which divide documents into strata; P = 0 is a range of its own. [default:
        computed from the distribution of P; none for a run]
    column
        Column of a table: documents with different values in it are in different strata. [default: none]
    proxies
        Column of a table with another model's probability, or a coder's yes or no, for each document. Strata are then
        ranges of the mean of P and these columns, and `corefsample audit estimate` combines P and the columns by
        weights fitted to the labels. [default: P alone]
    table
        CSV file with the column doc_id, and with columns for strata, other models or stories. [default: the CSV file
        with P]
    by
        Length of periods, such as year or quarter: documents of different periods are in different strata. [default:
        none]
    floor
        Least number of labels in each stratum.
    """

    out: str = shared.option(metavar="FOLDER")
    n_labels: int = shared.option(default=200, at_least=1)
    width: float | None = shared.option(default=None, above=0.0, metavar="NUMBER")
    more: int | None = shared.option(default=None, at_least=1)
    actors: str | tuple[str, ...] | None = shared.option(default=None, metavar="NAMES")
    period: str = shared.option(default="quarter", metavar="PERIOD")
    with_texts: bool = shared.option(default=True, flag="--texts/--no-texts")
    question: str | None = shared.option(default=None, metavar="TEXT")
    codebook: str | None = shared.option(default=None, metavar="TEXT")
    cuts: tuple[float, ...] | None = shared.option(default=None, flag="--cut", above=0.0, at_most=1.0, metavar="NUMBER")
    column: str | None = shared.option(default=None, metavar="NAME")
    proxies: tuple[str, ...] = shared.option(default=(), flag="--proxy", metavar="NAME")
    table: str | None = shared.option(default=None, metavar="FILE")
    by: str | None = shared.option(default=None, metavar="PERIOD")
    floor: int = shared.option(default=5, at_least=1)

    def _check(self) -> None:
        if not self.out:
            raise ParameterError("must name a folder, got ''", parameter="out")
        if self.width is not None and self.more is not None:
            raise ParameterError("cannot be combined with a further round", parameter="width")
        if self.table is not None and not (self.column or self.proxies):
            hint = ParameterHint("proxies", "takes columns of the table too")
            raise ParameterError("is required with a table", parameter="column", hint=hint)
        if self.actors is not None:
            texts = (self.actors,) if isinstance(self.actors, str) else self.actors
            names = tuple(part.strip() for text in texts for part in text.split(",") if part.strip())
            object.__setattr__(self, "actors", names)


def run_audit_plan(source: PathLike, options: AuditPlanOptions) -> Summary:
    """Draw the documents to label, and write plan.json, strata.parquet, the sheet and its page.

    Parameters
    ----------
    source
        Folder of a finished events run, or a CSV file with doc_id, date and probability.
    options
        What to draw, and the folder of the audit; with `more`, that of an earlier plan.

    Returns
    -------
    Summary
        Values: source; out and plan, folder of the audit and identity of the plan; n_documents and n_drawn, numbers of
        all documents and of documents of the sample;
        expected_width, in documents, of the widest 95% interval of a total after all labels, judged by other rules;
        strata, rows of the table of strata; and those of `events.pages._audit_sheet.write_round`.

    Raises
    ------
    ParameterError, InputError, OutputError
        If an option is invalid, if the run, the CSV file or the earlier plan is missing or damaged, or if the folder is
        in use or cannot be written.
    """
    _checks.instance("options", options, AuditPlanOptions)
    from events.audit._audit_frame import source_frame
    from events.audit._model_totals import expected_width_of, plan_for_width
    from events.audit._plan import AuditPlan, extend_plan
    from events.audit._plan_files import document_column, proxy_columns, read_plan, require_free
    from events.pages._audit_sheet import write_round
    from events.rule_error._model import reference_model

    folder, actors = Path(options.out), options.actors
    if options.more is None:
        require_free(folder, overwrite=options.overwrite)
        frame = source_frame(source, None if actors is None else tuple(actors), options.period)
        how: dict[str, Any] = options.subset("cuts", "by", "floor", "seed")
        if options.column is not None:
            how["groups"] = document_column(options.column, frame, options.table).tolist()
        how["proxies"] = proxy_columns(options.proxies, frame, options.table)

        def plan_of(n_labels: int) -> AuditPlan:
            return audit.plan_audit(frame, n_labels, **how)

        plan = plan_for_width(plan_of, len(frame), options.width) if options.width else plan_of(options.n_labels)
    else:
        try:
            plan = extend_plan(read_plan(folder, source), options.more)
        except ParameterError as error:
            raise ParameterError(error.message, parameter="more") from None
    written = write_round(folder, plan, **options.subset("with_texts", "question", "codebook"))
    values = {
        "source": os.fspath(source),
        "out": str(folder),
        "plan": plan.identity,
        "n_documents": len(plan.frame),
        "n_drawn": len(plan.sample),
        "expected_width": expected_width_of(plan, reference_model()),
        "strata": plan.to_frame().to_dict("records"),
        **written,
    }
    estimate = shlex.join(["corefsample", "audit", "estimate", os.fspath(source), *written["sheets"]])
    files = {"Label": written["page"], "Sheet": written["sheet"], "Plan": str(folder / "plan.json"), "Then": estimate}
    return Summary(values=values, shown=tuple(_shown(values)), files=files, result=plan)


def _shown(values: Mapping[str, Any]) -> Iterator[str | Table | Pairs]:
    """Yield what is to be labelled."""
    of_all = f"{values['n_drawn']:,} of {values['n_documents']:,} in the sample, plan {values['plan']}"
    yield f"{counted(values['n_new'], 'document')} to label; {of_all}."
    width = counted(round(values["expected_width"]), "document")
    after = f"After these labels the 95% interval of a total is expected to be about {width} wide"
    yield f"{after}, if this rule errs as others did."
    rows = [(row["name"], f"{row['n_documents']:,}", f"{row['n_sampled']:,}") for row in values["strata"]]
    yield Table(("Stratum", "documents", "sampled"), rows)
    without = (values["n_without_text"], "document", "without text: the inputs of the run, or a column text, have it")
    yield from counts_above_zero(without, (values["n_empty"], "document", "with an empty text"))
    yield ""
    yield Pairs("Each label answers:", [("question", values["question"]), *(("", text) for text in values["codebook"])])


command = Command(AuditPlanOptions, run_audit_plan, "source")
