"""Make one HTML page of a finished events run, for exploring and archiving.

FOLDER is the output of `corefsample events`. The page needs no network: counts by event and actor with their
intervals; the documents behind each count; their text with entities, triggers, and the likeliest antecedents of
every mention. With --picture it draws counts for a paper, and makes no page.

Examples
--------
  corefsample report run
  corefsample report run --audit audit --learned learned
  corefsample report run --picture bands.pdf --actors USA,IRQ --panels one
"""

from __future__ import annotations

import os
from typing import Literal

from corefsample.errors import ParameterError, ParameterHint
from corefsample.files._paths import PathLike
from events import _options as shared
from events._summary import Summary, counted
from events.commands._parser import Command


@shared.declared
class ReportOptions(shared.Overwrite):
    """Options of the page of a run, or of a picture for a paper.

    Attributes
    ----------
    out
        File of the page, which ends in .html. [default: report.html in FOLDER]
    title
        Title of the page. [default: the name of the rule and the periods]
    n_documents
        Number of documents with their texts in the page: alternately those with P nearest to 1/2 and those most likely
        to contain an event.
    n_others
        Number of documents without evidence in the page, in which missed events can be found.
    audit
        Folder of `corefsample audit estimate`, whose labels and audited counts the page shows. [default: none]
    learned
        Folder of `corefsample audit learn`, whose probabilities and counts the page shows. [default: none]
    picture
        File of a picture of counts (.pdf, .svg or .png), which is drawn instead of the page. [default: none]
    event
        Rule whose counts are drawn; required if the run has several. [default: the rule of the run]
    actors
        Actors that are drawn, in this order, such as USA,IRQ. [default: the ten actors with the most documents]
    panels
        Panels of the picture: one for each actor, or one for all.
    labels
        Text for an actor in the picture, such as IRQ=Iraq. [default: name and code]
    y_label
        Label of the vertical axis of the picture.
    size
        Width and height of the picture in inches. [default: as the panels need]
    grey
        Draw the picture in shades of grey.
    """

    out: str | None = shared.option(default=None, metavar="FILE")
    title: str | None = shared.option(default=None, metavar="TEXT")
    n_documents: int = shared.option(default=1000, at_least=0)
    n_others: int = shared.option(default=500, at_least=0)
    audit: str | None = shared.option(default=None, metavar="FOLDER")
    learned: str | None = shared.option(default=None, metavar="FOLDER")
    picture: str | None = shared.option(default=None, metavar="FILE")
    event: str | None = shared.option(default=None, metavar="NAME")
    actors: tuple[str, ...] = shared.option(default=(), metavar="NAMES")
    panels: Literal["actors", "one"] = "actors"
    labels: tuple[str, ...] = shared.option(default=(), metavar="ACTOR=TEXT")
    y_label: str = shared.option(default="documents with an event", metavar="TEXT")
    size: tuple[float, float] | None = shared.option(default=None, metavar="WIDTH HEIGHT", above=0.0)
    grey: bool = False

    def _check(self) -> None:
        super()._check()
        for label in self.labels:
            if not label.partition("=")[2]:
                raise ParameterError(f"must be ACTOR=TEXT, got {label!r}", parameter="labels")
        for name in ("event", "actors", "panels", "labels", "y_label", "size", "grey"):
            if self.picture is None and getattr(self, name) != getattr(type(self), name):
                hint = ParameterHint("picture", "names the file of the picture")
                raise ParameterError("can only be used for a picture, got none", parameter=name, hint=hint)


def run_report(folder: PathLike, options: ReportOptions | None = None) -> Summary:
    """Write the page of a finished run of `events` (see `write_report`), or a picture of its counts.

    Parameters
    ----------
    folder
        Path of the folder of the run.
    options
        Options of the page or of the picture; by default, those of the command line.
    """
    options = options or ReportOptions()
    if options.picture is not None:
        return _drawn(folder, options, options.picture)
    from events.pages._report import write_report

    settings = options.subset("out", "title", "n_documents", "n_others", "audit", "learned", "overwrite")
    page = write_report(folder, **settings)
    shown = [
        f"{counted(page['n_actors'], 'count')} by actor, {counted(page['n_periods'], 'period')}, "
        f"{counted(page['n_with_events'], 'document')} with evidence, {page['n_texts']:,} of them with their text; "
        f"{counted(page['n_others'], 'document')} without evidence."
    ]
    n_left_out = page["n_with_events"] - page["n_texts"]
    if n_left_out:
        shown.append(f"{counted(n_left_out, 'text')} left out; --documents {page['n_with_events']} includes them all.")
    return Summary(values=page, shown=shown, files={"Report": f"{page['out']} ({page['n_bytes'] / 1e6:.1f} MB)"})


def _drawn(folder: PathLike, options: ReportOptions, path: str) -> Summary:
    from corefsample.files._atomic import new_file
    from corefsample.files._paths import require_suffix
    from corefsample.plots import save_figure
    from events.counts._run_tables import run_table, verified_record
    from events.plots import event_bands

    suffix = require_suffix(path, (".pdf", ".svg", ".png"), ParameterError)
    counts, names = run_table(folder, "counts"), verified_record(folder)["names"]
    events = list(dict.fromkeys(counts["event"]))
    event = options.event if options.event or len(events) != 1 else events[0]
    if events and event not in events:
        raise ParameterError(f"must be one of {', '.join(events)}, got {event or 'none'}", parameter="event")
    actors = [name for text in options.actors for name in text.split(",")]
    labels = {actor: text for actor, _, text in (label.partition("=") for label in options.labels)}
    look = options.subset("panels", "y_label", "size", "grey")
    figure = event_bands(counts[counts["event"] == event], actors or None, names=names, labels=labels, **look)
    with new_file(path, overwrite=options.overwrite, suffix=suffix) as partial:
        save_figure(figure, partial)
        n_bytes = os.path.getsize(partial)
    return Summary(values={"out": path, "event": event or "", "n_bytes": n_bytes}, files={"Picture": path})


command = Command(ReportOptions, run_report, "folder")
