"""Options that several commands share, so that each has the same name, default and description in all of them."""

from __future__ import annotations

from typing import Any, Literal

from corefsample.errors import ParameterError
from events._options import Options, declared, option

SchemeName = Literal["ud2", "ud1", "clearnlp"]
Clustering = Literal["map", "sample", "binder", "vi", "vi-bound", "b3", "lea", "conll"]
_MOST_SAMPLES = 10**8


def samples(default: int, at_least: int = 1) -> Any:
    """Field for a number of samples."""
    return option(default=default, at_least=at_least, at_most=_MOST_SAMPLES)


@declared
class Seed(Options):
    """The seed of random draws.

    Attributes
    ----------
    seed
        Seed of the random draws: the same seed gives the same results.
    """

    seed: int = option(default=0, at_most=2**64 - 1)


@declared
class SchemeOption(Options):
    """A dependency scheme.

    Attributes
    ----------
    scheme
        Dependency scheme of the parses. [default: determined from the labels of each document]
    """

    scheme: SchemeName | None = None


@declared
class LexiconOption(Options):
    """A lexicon.

    Attributes
    ----------
    lexicon
        Names of the actors: countries, police, forces (police and army of each country), leaders, capitals, governments
        (leaders and capitals), or a YAML file of your own actors. [default: countries]
    """

    lexicon: str | None = option(default=None, metavar="FILE")


@declared
class Unannotated(Options):
    """Option that sets the treatment of mentions that are not annotated.

    Attributes
    ----------
    unannotated
        Mentions without an annotated entity: leave them out, or treat each as an entity of its own.
    """

    unannotated: Literal["skip", "single"] = "skip"


@declared
class Overwrite(Options):
    """Option that allows earlier results to be replaced.

    Attributes
    ----------
    overwrite
        Replace the output of an earlier run.
    """

    overwrite: bool = option(default=False, is_recorded=False)


@declared
class Pictures(Options):
    """Option that determines whether pictures are drawn.

    Attributes
    ----------
    pictures
        Draw pictures as PNG and SVG.
    """

    pictures: bool = option(default=True, is_recorded=False)


@declared
class OnError(Options):
    """Option that sets the treatment of bad documents.

    Attributes
    ----------
    on_error
        Stop at the first bad document, or set it aside with the reason and continue.
    """

    on_error: Literal["stop", "quarantine"] = "stop"


@declared
class CorpusOptions(OnError):  # noqa: N818, no exception
    """Options that select the documents that are used, and set the treatment of bad ones.

    Attributes
    ----------
    where
        Use only documents whose metadata field KEY has this value, or one of several, such as section=Foreign*,World.
        In a value, * matches any text and ? any character; doc_id is a KEY too. Documents must meet all conditions.
        [default: all documents]
    undated
        Documents without a date: reject them as bad documents, or keep them in totals and evidence, but in no period.
    max_quarantined
        Largest number of bad documents that may be set aside, or, if below 1, largest share of all documents; more bad
        documents are an error. [default: any number]
    """

    where: tuple[str, ...] = option(default=(), metavar="KEY=VALUE[,VALUE]")
    undated: Literal["reject", "keep"] = "reject"
    max_quarantined: float | None = option(default=None, at_least=0.0, metavar="NUMBER")

    def _check(self) -> None:
        from events._selection import Selection

        super()._check()
        Selection(self.where)


@declared
class Recalibrated(Options):
    """Recalibration of the scores.

    Attributes
    ----------
    recalibration
        Recalibration of the scores: the record that `corefsample recalibrate` wrote; english or spanish for the one of
        a model in the package; none for the scores as they are. [default: the one of the model in the package that gave
        the scores, if any]
    """

    recalibration: str | None = option(default=None, metavar="FILE")


@declared
class UncertainlyRecalibrated(Recalibrated):
    """A recalibration, and how much of its uncertainty counts include.

    Attributes
    ----------
    uncertainty
        Uncertainty of the recalibration that the intervals include: none; fit, because it was fitted to a limited
        number of documents; domain, also because those may be of other kinds of text. [default: domain if the
        recalibration has it, otherwise fit if it has that, otherwise none]
    """

    uncertainty: Literal["none", "fit", "domain"] | None = None

    def _check(self) -> None:
        if self.recalibration == "none" and self.uncertainty not in (None, "none"):
            raise ParameterError("needs a recalibration, got none", parameter="uncertainty")


@declared
class ThreadsOption(Options):
    """Threads of a process.

    Attributes
    ----------
    threads
        Number of threads in each process; the results do not depend on it. [default: one for each processor]
    """

    threads: int | None = option(default=None, at_least=1)


@declared
class EngineOptions(Options):
    """Engine that computes the parts of a corpus; no result depends on these options.

    Attributes
    ----------
    workers
        Number of processes on this machine; the results do not depend on it. [default: one; to score news, one per
        processor]
    scheduler
        Address of a Dask scheduler that runs already, tcp://host:8786, whose workers are used instead of processes on
        this machine. [default: none]
    """

    workers: int | None = option(default=None, at_least=1, is_recorded=False)
    scheduler: str | None = option(default=None, metavar="ADDRESS", is_recorded=False)
