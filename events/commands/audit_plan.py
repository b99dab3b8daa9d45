"""Draw a stratified random sample of documents to label.

SOURCE is the output of `corefsample events`, or a CSV file with the columns doc_id, date and probability of any
model. P is this probability that a document has the event, and with several events or actors the highest of them.
Documents are divided into strata by P, and those to label are drawn at random from each stratum.

Open FOLDER/sheet.html in a browser to label, or fill in FOLDER/sheet.csv with yes, no or unsure.

Examples
--------
  corefsample audit plan run --actors POLICE --labels 200 --out audit
  corefsample audit plan run --actors USA,IRQ --keyword 'raid|air' --out a2
  corefsample audit plan run --actors POLICE --width 40 --out audit
  corefsample audit plan run --out audit --more 100
  corefsample audit plan run --proxy llm --table llm.csv --out audit4
  corefsample audit plan scores.csv --labels 300 --by year --out audit3
"""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from corefsample import _checks
from corefsample.errors import ParameterError, ParameterHint
from events import _shared_options as shared
from events import audit
from events._options import CommandResult, declared, option
from events._summary import counted
from events.commands._parser import Command
from events.commands._screen import print_files, print_pairs, print_text

if TYPE_CHECKING:
    from corefsample.files._paths import PathLike
    from events.audit._plan import AuditPlan


@declared
class AuditPlanOptions(shared.Seed, shared.Overwrite):
    """Options of the plan of an audit: strata of the documents, and the sample to label.

    Attributes
    ----------
    out
        Folder for the plan and the sheets.
    n_labels
        Number of documents to label.
    width
        Largest expected width, in documents, of the 95% intervals of the totals. The number of labels is then the one
        that this width takes if the rule errs as other rules did. [default: the width is not limited]
    more
        Number of documents of a further round, which is added to the plan in FOLDER. [default: a new plan is made]
    learned
        Folder of `corefsample audit learn`, for a further round: more of the new labels go to strata in which the
        learned probabilities are less certain. [default: labels are divided among the strata as in earlier
        rounds]
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
        computed from the distribution of P]
    keyword
        Regular expression, in which case is ignored: documents whose text matches it are in other strata than the rest.
        [default: none]
    column
        Column of a table: documents with different values in it are in different strata. [default: none]
    proxies
        Column of a table with another model's probability, or a coder's yes or no, for each document. Strata are then
        ranges of the mean of P and these columns, and `corefsample audit estimate` combines P and the columns by
        weights fitted to the labels. [default: P alone]
    cluster
        Column of a table that names the story of a document, equal for all copies of a text, such as the doc_id of the
        first one. If several copies are drawn, one of them is labelled. [default: no document is a copy of another]
    table
        CSV file with the column doc_id, and with columns for strata, other models or stories. [default: the CSV file
        with P]
    by
        Length of periods, such as year or quarter: documents of different periods are in different strata. [default:
        none]
    floor
        Least number of labels in each stratum.
    """

    out: str = option(metavar="FOLDER")
    n_labels: int = option(default=200, at_least=1)
    width: float | None = option(default=None, above=0.0)
    more: int | None = option(default=None, at_least=1)
    learned: str | None = option(default=None, metavar="FOLDER")
    actors: str | tuple[str, ...] | None = option(default=None, metavar="NAMES")
    period: str = option(default="quarter", metavar="PERIOD")
    with_texts: bool = option(default=True, flag="--texts/--no-texts")
    question: str | None = option(default=None, metavar="TEXT")
    codebook: str | None = option(default=None, metavar="TEXT")
    cuts: tuple[float, ...] | None = option(default=None, flag="--cut", above=0.0, at_most=1.0, metavar="NUMBER")
    keyword: str | None = option(default=None, metavar="PATTERN")
    column: str | None = option(default=None, metavar="NAME")
    proxies: tuple[str, ...] = option(default=(), flag="--proxy", metavar="NAME")
    cluster: str | None = option(default=None, metavar="NAME")
    table: str | None = option(default=None, metavar="FILE")
    by: str | None = option(default=None, metavar="PERIOD")
    floor: int = option(default=5, at_least=1)

    def _check(self) -> None:
        if not self.out:
            raise ParameterError("must name a folder, got ''", parameter="out")
        if self.learned is not None and self.more is None:
            raise ParameterError("is required with learned P", parameter="more")
        if self.table is not None and not (self.column or self.proxies or self.cluster):
            hint = ParameterHint("proxies", "and --cluster take columns of the table too")
            raise ParameterError("is required with a table", parameter="column", hint=hint)
        if self.actors is not None:
            texts = (self.actors,) if isinstance(self.actors, str) else self.actors
            names = tuple(part.strip() for text in texts for part in text.split(",") if part.strip())
            object.__setattr__(self, "actors", names)


@dataclass(frozen=True, slots=True)
class AuditPlanResult(CommandResult):
    """Result of a plan.

    Attributes
    ----------
    source
        Folder of the run, or CSV file, that the plan was drawn from.
    out, plan
        Folder of the audit, and identity of the plan.
    sheet, page
        The sheet of the newest round, and the page on which it is labelled.
    n_documents, n_drawn, n_new, n_copies
        Number of all documents, of documents of the sample, of documents to label in the newest round, and of documents
        of the sample that are copies of another one in it.
    question, codebook
        What a label answers, and what counts and does not, by paragraphs.
    n_without_text, n_empty
        Number of documents of the sheet whose text was not found, and of those whose text is empty.
    expected_width
        Expected width, in documents, of the widest 95% interval of a total after all labels, judged by other rules.
    strata
        Rows of the table of strata: see `AuditPlan.to_frame`.
    """

    source: str
    out: str
    plan: str
    sheet: str
    page: str
    n_documents: int
    n_drawn: int
    n_new: int
    n_copies: int
    question: str
    codebook: tuple[str, ...]
    n_without_text: int
    n_empty: int
    expected_width: float
    strata: tuple[Mapping[str, Any], ...]


def run_audit_plan(source: PathLike, options: AuditPlanOptions) -> AuditPlanResult:
    """Draw the documents to label, and write plan.json, strata.parquet, the sheet and its page.

    Parameters
    ----------
    source
        Folder of a finished events run, or a CSV file with doc_id, date and probability.
    options
        What to draw, and the folder of the audit; with `more`, that of an earlier plan.

    Raises
    ------
    ParameterError, InputError, OutputError
        If an option is invalid, if the run, the CSV file or the earlier plan is missing or damaged, or if the folder is
        in use or cannot be written.
    """
    _checks.instance("options", options, AuditPlanOptions)
    from events.audit._plan import extend_plan
    from events.audit._reference import FEWEST_LABELS, ReferenceClass, labels_for_width
    from events.commands._audit_files import (
        actor_kinds,
        proxy_columns,
        read_learned,
        read_plan,
        source_frame,
        story_column,
    )
    from events.rule_error._model import reference_model

    folder = Path(options.out)
    if options.more is None:
        _require_free(folder, overwrite=options.overwrite)
        actors: Any = options.actors
        frame = source_frame(source, actors, options.period)
        groups = _groups(source, frame, options)
        how = {"groups": groups, **options.subset("cuts", "by", "floor", "seed")}
        how["proxies"] = proxy_columns(options.proxies, frame, options.table)
        how["clusters"] = None if options.cluster is None else story_column(options.cluster, frame, options.table)
        plan = audit.plan_audit(frame, options.n_labels, **how)
        if options.width is not None:
            reference = ReferenceClass(reference_model(), actor_kinds(plan, source))
            fewest = max(FEWEST_LABELS, plan.floor * len(plan.strata))
            plan_of = partial(audit.plan_audit, frame, **how)
            plan = labels_for_width(plan_of, fewest, options.width, reference)
    else:
        try:
            plan = read_plan(folder, source)
            learned_p = {} if options.learned is None else read_learned(options.learned, plan, "learned")
            names = enumerate(plan.frame.targets)
            learned = [
                learned_p[name] if name in learned_p else plan.frame.probability(target) for target, name in names
            ]
            plan = extend_plan(plan, options.more, learned=learned if learned_p else None)
        except ParameterError as error:
            raise ParameterError(error.message, parameter="more") if error.parameter == "n_more" else error from None
    return _written(plan, source, folder, options)


def _require_free(folder: Path, *, overwrite: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"must be a folder, got the file {folder}", parameter="out")
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    if names and "plan.json" not in names:
        raise ParameterError(
            f"must be a new or empty folder or an earlier plan's, got {folder} with {names[0]}", parameter="out"
        )
    if names and not overwrite:
        hint = ParameterHint("overwrite", "replaces the plan and its sheets")
        raise ParameterError(f"must be a new or empty folder, got {folder}", parameter="out", hint=hint)


def _groups(source: PathLike, frame: audit.AuditFrame, options: AuditPlanOptions) -> list[str] | None:
    """The user's group of each document: by a keyword expression, a column, or both."""
    from events.commands._audit_files import corpus_texts, document_column

    divisions: list[list[str]] = []
    if options.column is not None:
        divisions.append(document_column(options.column, frame, options.table))
    if options.keyword is not None:
        pattern = _pattern(options.keyword)
        matching = {doc_id for doc_id, marked in corpus_texts(source, frame) if pattern.search(marked.text)}
        divisions.append(["keyword" if doc_id in matching else "no keyword" for doc_id in frame.doc_ids.tolist()])
    return [", ".join(words) for words in zip(*divisions, strict=True)] if divisions else None


def _pattern(keyword: str) -> re.Pattern[str]:
    try:
        return re.compile(keyword, re.IGNORECASE)
    except re.error as error:
        rule = "must be a regular expression"
        raise ParameterError(f"{rule}, got {keyword!r}: {error}", parameter="keyword") from None


def _written(plan: AuditPlan, source: PathLike, folder: Path, options: AuditPlanOptions) -> AuditPlanResult:
    """Write the files of a plan; those of earlier rounds stay."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from corefsample.files._atomic import new_file, unwritable, write_bytes, write_json
    from events.audit._reference import ReferenceClass, expected_width_of
    from events.commands import _audit_files as files
    from events.rule_error._model import reference_model

    number = len(plan.rounds)
    new_doc_ids = set(plan.frame.doc_ids[plan.sample[plan.round_of == number]].tolist())
    marked = dict(files.corpus_texts(source, plan.frame, new_doc_ids)) if options.with_texts else {}
    texts = {doc_id: each.text for doc_id, each in marked.items()}
    sheet = plan.sheet(number, texts)
    path = folder / ("sheet.csv" if number == 1 else f"sheet-{number}.csv")
    asked = files.run_question(plan.frame, source) if options.more is None else files.plan_question(folder, plan)
    if options.question:
        asked = dataclasses.replace(asked, text=options.question)
    if options.codebook is not None:
        asked = dataclasses.replace(asked, codebook=(options.codebook,) if options.codebook else ())
    reference = ReferenceClass(reference_model(), files.actor_kinds(plan, source))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if number == 1:
            for earlier in folder.glob("sheet*"):
                earlier.unlink()
            with new_file(folder / files.STRATA, overwrite=True) as name:
                columns: dict[str, Any] = {"stratum": (plan.stratum_of + 1).astype(np.int32)}
                columns |= {files.PROXY + proxy: p for proxy, p in plan.proxies.items()}
                columns |= {} if plan.clusters is None else {files.CLUSTER: plan.clusters}
                pq.write_table(pa.table(columns), name)
        files.write_sheet(path, plan, sheet, marked, source=source, question=asked)
        write_json(folder / files.PLAN, {**plan.to_json(), "question": asked.text, "codebook": list(asked.codebook)})
        write_bytes(folder / files.CODEBOOK, "\n\n".join([asked.text, *asked.codebook, ""]).encode(), overwrite=True)
    except OSError as error:
        raise unwritable(folder, error) from None
    return AuditPlanResult(
        source=os.fspath(source),
        out=str(folder),
        plan=plan.identity,
        sheet=str(path),
        page=str(path.with_name(files.page_name(path.name))),
        n_documents=len(plan.frame),
        n_drawn=len(plan.sample),
        n_new=len(sheet),
        n_copies=int((plan.labelled_as != np.arange(len(plan.sample))).sum()),
        question=asked.text,
        codebook=asked.codebook,
        n_without_text=len(new_doc_ids) - len(texts) if options.with_texts else 0,
        n_empty=sum(not text.strip() for text in texts.values()),
        expected_width=expected_width_of(plan, reference),
        strata=tuple({str(name): value for name, value in row.items()} for row in plan.to_frame().to_dict("records")),
    )


def print_audit_plan(summary: AuditPlanResult) -> None:
    """Print what is to be labelled, and the command that comes then."""
    new = f"{counted(summary.n_new, 'document')} to label"
    of_all = f"{summary.n_drawn:,} of {summary.n_documents:,} in the sample, plan {summary.plan}"
    print_text(f"{new}; {of_all}.")
    if summary.n_copies:
        print_text(f"{counted(summary.n_copies, 'document')} of the sample repeat a story, which is labelled once.")
    print_text(
        f"After these labels the 95% interval of a total is expected to be about {summary.expected_width:,.0f} "
        "documents wide, if this rule errs as others did."
    )
    width = max(len(str(row["name"])) for row in summary.strata)
    click.echo(f"\n{'Stratum':<{width}}  {'documents':>9}  {'sampled':>7}")
    for row in summary.strata:
        click.echo(f"{row['name']:<{width}}  {row['n_documents']:>9,}  {row['n_sampled']:>7,}")
    if summary.n_without_text:
        where = (
            "the CSV file has no column text" if os.path.isfile(summary.source) else "no input of the run has it now"
        )
        print_text(f"{counted(summary.n_without_text, 'document')} without text: {where}.")
    if summary.n_empty:
        print_text(f"{counted(summary.n_empty, 'document')} with an empty text.")
    click.echo()
    print_pairs("Each label answers:", [("question", summary.question), *(("", text) for text in summary.codebook)])
    files = {"Label": os.path.basename(summary.page), "Sheet": os.path.basename(summary.sheet)}
    print_files(summary.out, {**files, "Question": "codebook.txt", "Plan": "plan.json"})
    click.echo(f"Then     corefsample audit estimate {shlex.quote(summary.source)} {shlex.quote(summary.sheet)}")


command = Command(
    AuditPlanOptions,
    run_audit_plan,
    "source",
    sections={"Strata": "cuts keyword column by floor", "Other models, and copies": "proxies cluster table"},
    reads_lines=False,
    show=print_audit_plan,
)
