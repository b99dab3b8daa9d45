"""Options that several commands have, each with one name, one default and one help text."""

from __future__ import annotations

from typing import Any, Literal

from events._options import Options, declared, option

_MOST_SAMPLES = 10**8

Scheme = Literal["ud2", "ud1", "clearnlp"]
Unannotated = Literal["skip", "single"]
Clustering = Literal["map", "sample", "binder", "vi", "vi-bound", "nvi", "ari", "muc", "b3", "lea", "conll"]


def seed(text: str) -> Any:
    """A seed of 64 bits."""
    return option(default=0, at_most=2**64 - 1, help=text)


def samples(default: int, at_least: int = 1, text: str = "Clusterings per document.") -> Any:
    """A number of samples."""
    return option(default=default, at_least=at_least, at_most=_MOST_SAMPLES, help=text)


def level(text: str = "Level of the intervals.") -> Any:
    """The level of intervals."""
    return option(default=0.95, above=0.0, below=1.0, help=text)


def scheme(text: str = "Dependency scheme.  [default: determined from the labels of each document]") -> Any:
    """A dependency scheme, or None."""
    return option(default=None, help=text)


def rule(default: str | None = "attack", text: str = "A shipped rule, or a YAML file of your own.") -> Any:
    """A rule."""
    return option(default=default, metavar="RULE", help=text)


def preset(default: str = "paper", text: str = "Preset of the rule.") -> Any:
    """A preset of rules."""
    return option(default=default, metavar="NAME", help=text)


def lexicon() -> Any:
    """A lexicon, or None for the countries."""
    return option(
        default=None, metavar="FILE", help="countries, police, or a YAML file of your own actors.  [default: countries]"
    )


def unannotated() -> Any:
    """What is done with mentions that are not annotated."""
    text = "Mentions whose entity is null: leave them out, or treat each as an entity of its own."
    return option(default="skip", help=text)


def entity_fields() -> Any:
    """Fields of CoNLL-U files that do not declare them."""
    text = "Usually eid-etype-head-other: fields of Entity= in CoNLL-U files that do not declare them."
    return option(default=None, metavar="FIELDS", help=text)


def out_folder() -> Any:
    """The folder of results, or None for none."""
    return option(
        default=None, metavar="FOLDER", help="Folder for tables and pictures.  [default: print the table only]"
    )


def overwrite() -> Any:
    """Whether earlier results may be replaced."""
    return option(default=False, is_recorded=False, help="Replace the output of an earlier run.")


def pictures(text: str = "Draw the bands as PNG and SVG.") -> Any:
    """Whether pictures are drawn."""
    return option(default=True, is_recorded=False, help=text)


@declared
class OnError(Options):
    """What happens with bad documents."""

    on_error: Literal["stop", "quarantine"] = option(
        default="stop", help="Stop at the first bad document, or set it aside with the reason and continue."
    )


@declared
class Recalibrated(Options):
    """A recalibration that is chosen."""

    recalibration: str | None = option(
        default=None,
        metavar="FILE",
        help="Recalibration of the scores: a record of `corefsample recalibrate`; english: that of the English model; "
        "none: leave the scores as they are.  [default: that of the model, which scores of `corefsample score` have]",
    )


@declared
class UncertainlyRecalibrated(Recalibrated):
    """A recalibration, and how much of its uncertainty counts include."""

    uncertainty: Literal["none", "fit", "domain"] | None = option(
        default=None,
        help="Uncertainty of the recalibration that the intervals include: of its fit, and of other kinds of text.  "
        "[default: all that it has]",
    )

    def _check(self) -> None:
        from corefsample.errors import ParameterError

        if self.recalibration == "none" and self.uncertainty not in (None, "none"):
            raise ParameterError("needs a recalibration, got none", parameter="uncertainty")


@declared
class Threads(Options):
    """Threads of a process."""

    threads: int | None = option(
        default=None,
        at_least=1,
        help="Threads of a process; the results do not depend on it.  [default: all processors]",
    )


@declared
class RunOptions(Threads):
    """How work in parts is computed, which no result depends on."""

    workers: int | None = option(
        default=None,
        at_least=1,
        is_recorded=False,
        help="Processes on this machine; the results do not depend on it.  [default: one; to parse news, one for each "
        "processor]",
    )
    scheduler: str | None = option(
        default=None,
        metavar="ADDRESS",
        is_recorded=False,
        help="Existing Dask scheduler, tcp://host:8786, instead of --workers.  [default: none]",
    )
    restart: bool = option(
        default=False, is_recorded=False, help="Begin anew: discard the finished parts of an interrupted run."
    )
