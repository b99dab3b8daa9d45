"""Options declared once, with type, range, default and help, and the options that several commands share."""

from __future__ import annotations

import abc
import dataclasses
import importlib.util
import inspect
import os
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from types import NoneType
from typing import Any, ClassVar, Literal, Self, TypeVar

from corefsample import ParameterError

if typing.TYPE_CHECKING:
    import click

_Class = TypeVar("_Class", bound=type)
_ATTRIBUTES = "\n\nAttributes\n----------\n"
# Placeholders of values by type, because only programmers know "INTEGER" and "FLOAT".
_METAVARS = {int: "N", float: "NUMBER"}

Progress = Callable[[int, int, int], None]  # called with bytes read, bytes in all, documents read


@dataclasses.dataclass(frozen=True, kw_only=True)
class Declared:
    """A field of options.

    Attributes
    ----------
    name
        Name of the field.
    help
        Description of the field in the docstring of its class.
    type
        Type of one value: bool, int, float or str.
    choices
        Values that a text may have; empty if every text is allowed.
    n_values
        Number of values that the field has: usually 1, more for a tuple of that length, 0 for any number.
    is_optional
        True if the field may be None.
    default
        Default value; `dataclasses.MISSING` if the field is required.
    flag, metavar
        Flag and placeholder on the command line, if they do not follow from the name and the type; the flag "" means
        that only Python has the option.
    at_least, above, at_most, below
        Bounds of a number, inclusive (`at_least`, `at_most`) or exclusive (`above`, `below`); None without a bound.
    is_recorded
        True if records of runs contain the field, because results depend on it.
    """

    name: str
    help: str
    type: type
    choices: tuple[str, ...]
    n_values: int
    is_optional: bool
    default: Any
    flag: str | None = None
    metavar: str | None = None
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None
    is_recorded: bool = True

    def check(self, value: Any) -> None:
        """Raise ParameterError if a value does not have the field's type or does not lie in its range."""
        from corefsample import ParameterError, _checks

        if value is None and self.is_optional:
            return
        values = value if isinstance(value, (tuple, list)) else (value,)
        if self.n_values > 1 and len(values) != self.n_values:
            raise ParameterError(f"must be {self.n_values} values, got {len(values)}", parameter=self.name)
        for element in values:
            if self.choices:
                _checks.choice(self.name, element, self.choices)
            elif self.type is int:
                number = _checks.whole(self.name, element, int(self.at_least or 0))
                if self.at_most is not None:
                    _checks.at_most(self.name, number, int(self.at_most))
            elif self.type is not float:
                _checks.instance(self.name, element, self.type)
            elif self.at_most is not None or self.below is not None:
                _checks.probability(
                    self.name, element, below_one=self.below is not None, above_zero=self.above is not None
                )
            else:
                (_checks.at_least_zero if self.above is None else _checks.above_zero)(self.name, element)

    def click_option(self) -> click.Option:
        """Option of a command; `n_samples` becomes --samples, and fields that are true by default get a --no- flag."""
        import click  # not above, because Python needs no commands

        words = self.name.removeprefix("n_").replace("_", "-")
        flag = self.flag or (f"--{words}/--no-{words}" if self.default is True else f"--{words}")
        default = (self.default,) if isinstance(self.default, str) and not self.n_values else self.default
        is_required = default is dataclasses.MISSING
        default_setting: dict[str, Any] = {"required": True} if is_required else {"default": default}
        return click.Option(
            [*flag.split(), self.name],
            type=click.Choice(self.choices) if self.choices else self.type,  # the options themselves check ranges
            is_flag=self.type is bool,
            show_default=default_setting.get("default", ()) != (),
            nargs=self.n_values or 1,
            multiple=not self.n_values,
            metavar=self.metavar or _METAVARS.get(self.type),
            help=self.help if self.n_values else f"{self.help}  [may be repeated]",
            **default_setting,
        )


def option(*, default: Any = dataclasses.MISSING, **rule: Any) -> Any:
    """A field of options; the keywords are attributes of `Declared`: flag, metavar, bounds and is_recorded.

    Floating-point numbers with an upper bound must be probabilities.
    """
    return dataclasses.field(default=default, metadata=rule)


@typing.dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(option,))
def declared(cls: _Class) -> _Class:
    """Make a frozen dataclass of options, whose docstring describes all its options, including inherited ones."""
    summary, _, rows = inspect.cleandoc(cls.__doc__ or "").partition(_ATTRIBUTES)
    new_class: Any = dataclasses.dataclass(frozen=True, kw_only=True)(cls)
    described = re.findall(r"^(\w+)((?:\n    .*)+)", rows, flags=re.MULTILINE)
    inherited = [pair for base in reversed(new_class.__mro__) for pair in vars(base).get("help_of", {}).items()]
    new_class.help_of = dict([*inherited, *((name, " ".join(text.split())) for name, text in described)])
    lines = []
    for field in dataclasses.fields(new_class):  # as numpydoc writes them
        default = {dataclasses.MISSING: "", None: ", optional"}.get(field.default, f", default {field.default!r}")
        lines.append(f"{field.name} : {field.type}{default}\n    {new_class.help_of.get(field.name, '')}\n")
    new_class.__doc__ = summary.rstrip() + _ATTRIBUTES + "".join(lines)
    return cls


class Options:
    """Base class of options, which checks the value of each field by its declaration.

    Attributes
    ----------
    help_of
        Description of each option, by name.
    section
        Title of the section of the help that has the options of the class.
    """

    help_of: ClassVar[dict[str, str]] = {}
    section: ClassVar[str] = "Options"

    def __post_init__(self) -> None:
        for field in fields_of(type(self)).values():
            value = getattr(self, field.name)
            if isinstance(value, os.PathLike):
                value = os.fspath(value)
            field.check(value)
            if "://" in str(value):
                from corefsample.files._remote import without_credentials

                is_text = isinstance(value, str)
                value = without_credentials(value) if is_text else tuple(map(without_credentials, value))
            object.__setattr__(self, field.name, value)
        self._check()

    def _check(self) -> None:
        """Raise ParameterError if options exclude each other."""

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Options from the JSON of a record, whose other fields are ignored."""
        values = {name: record[name] for name in fields_of(cls) if name in record}
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})

    def recorded(self) -> dict[str, Any]:
        """Options on which results depend, by name."""
        return {name: getattr(self, name) for name, each in fields_of(type(self)).items() if each.is_recorded}

    def subset(self, *names: str) -> dict[str, Any]:
        """Values of some options, by name."""
        return {name: getattr(self, name) for name in names}


def fields_of(cls: type[Options]) -> dict[str, Declared]:
    """Fields of a class by name: fields of the class, then inherited ones, and last those that are not recorded."""
    hints = typing.get_type_hints(cls)
    order = [name for each in cls.__mro__ for name in vars(each).get("__annotations__", {})]
    declarations = []
    for field in sorted(dataclasses.fields(cls), key=lambda member: order.index(member.name)):  # type: ignore[arg-type]
        hint = hints[field.name]
        members = (hint,) if typing.get_origin(hint) in (None, Literal, tuple) else typing.get_args(hint)
        kind, n_values = next(each for each in members if each is not NoneType), 1
        for inner_types in (typing.get_args(each) for each in members if typing.get_origin(each) is tuple):
            kind, n_values = inner_types[0], 0 if inner_types[-1] is ... else len(inner_types)
        choices = typing.get_args(kind) if typing.get_origin(kind) is Literal else ()
        rule: dict[str, Any] = {
            "name": field.name,
            "help": cls.help_of.get(field.name, "").replace(" [default:", "  [default:"),
            "type": str if choices else kind,
            "choices": choices,
            "n_values": n_values,
            "is_optional": NoneType in members,
            "default": field.default,
        }
        declarations.append(Declared(**rule, **field.metadata))
    return {each.name: each for each in sorted(declarations, key=lambda each: not each.is_recorded)}


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
class TriggerModelOption(Options):
    """A trigger model.

    Attributes
    ----------
    triggers
        What decides whether a sentence reports an event, with the preset asserted of a rule of the package: words, a
        model that gives each verb and noun a probability; rules, the words and conditions of the rule alone; or the
        file of a model.
    encoder
        Folder of a sentence encoder, with an ONNX file and a tokenizer.json, whose vectors the model uses beside the
        words: all-MiniLM-L6-v2 in 8 bits, or the one with which the file of --triggers was fitted. Needs the extra
        encoder. [default: none]
    """

    triggers: str = option(default="words", metavar="MODEL")
    encoder: str | None = option(default=None, metavar="FOLDER")


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
class PlanOfLabels(Options):
    """Plan of the labels of an audit.

    Attributes
    ----------
    plan
        Folder of the plan. [default: that of the first sheet]
    rounds
        Number of rounds, from the first, whose sheets are read; later rounds count as not drawn. [default: all rounds]
    level
        Level of the confidence intervals.
    """

    plan: str | None = option(default=None, metavar="FOLDER")
    rounds: int | None = option(default=None, at_least=1)
    level: float = option(default=0.95, above=0.0, below=1.0)


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
        super()._check()
        Selection(self.where)

    @property
    def stops_at_undated(self) -> bool:
        """True if a document without a date is an error."""
        return self.undated == "reject" and self.on_error == "stop"


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
class EngineOptions(Options, abc.ABC):
    """Engine that computes the parts of a corpus; no result depends on these options.

    Attributes
    ----------
    workers
        Number of processes on this machine; the results do not depend on it. [default: one; to score news, one per
        processor]
    scheduler
        Address of a Dask scheduler that runs already, tcp://host:8786, whose workers are used instead of processes on
        this machine. [default: none]
    worker_timeout
        Seconds to wait for workers of a scheduler that has none, or whose workers do not have the version of this
        process, before that is an error.
    """

    section = "Parts and processes"
    workers: int | None = option(default=None, at_least=1, is_recorded=False)
    scheduler: str | None = option(default=None, metavar="ADDRESS", is_recorded=False)
    worker_timeout: float = option(default=600.0, above=0.0, is_recorded=False)

    def _check(self) -> None:
        super()._check()
        if self.scheduler is None:
            return
        if self.workers is not None:
            raise ParameterError("must be left out where a scheduler has its own workers", parameter="workers")
        if "://" not in self.scheduler:
            rule = "must be an address like tcp://host:8786"
            raise ParameterError(f"{rule}, got {self.scheduler!r}", parameter="scheduler")
        if importlib.util.find_spec("distributed") is None:
            from corefsample._lazy import install_hint

            rule, hint = "needs dask[distributed], which is not installed", install_hint("dask")
            raise ParameterError(rule, parameter="scheduler", hint=hint)

    @property
    def is_here(self) -> bool:
        """Whether this process does the work."""
        return self.scheduler is None and self.workers in (None, 1)

    @property
    @abc.abstractmethod
    def written(self) -> tuple[str, ...]:
        """Folder of the parts, record of the run, and patterns of the names of all files that the command writes."""


_META = "meta::"


class Selection:
    """Conditions on documents, all of which must be true.

    Parameters
    ----------
    conditions
        Conditions of the form "key=value" or "key=value,value": the document's metadata `key` must match one of the
        values, in which *, ? and [...] are wildcards; if the metadata is a list, one item must match. `doc_id` is a key
        too. A document without metadata of this key is not selected. By default, every document is selected.

    Raises
    ------
    ParameterError
        If a condition is not of the form "key=value" or "key=value,value".

    Examples
    --------
    >>> news = Selection(["genre=news,court", "doc_id=GUM_*"])
    >>> news("GUM_news_1", {"genre": "news"}), news("GUM_bio_1", {"genre": "bio"})
    (True, False)
    """

    def __init__(self, conditions: Sequence[str] = ()) -> None:
        self.n_not_selected = 0  # number of documents that calls did not select
        self._conditions: list[tuple[str, list[str]]] = []
        for condition in conditions:
            key, sign, values = condition.partition("=")
            key = key.strip().removeprefix(_META)
            patterns = [value.strip() for value in values.split(",")]
            if not (key and sign and all(patterns)):
                raise ParameterError(f"must be KEY=VALUE or KEY=VALUE,VALUE, got {condition!r}", parameter="where")
            self._conditions.append((key, patterns))

    def __str__(self) -> str:
        return " and ".join(f"{key}={','.join(patterns)}" for key, patterns in self._conditions) or "no condition"

    def __call__(self, doc_id: str, metadata: Mapping[str, Any]) -> bool:
        """Whether a document meets all conditions; documents that do not are counted."""
        fields = {**{name.removeprefix(_META): value for name, value in metadata.items()}, "doc_id": doc_id}
        is_included = all(
            any(fnmatchcase(text, pattern) for text in _texts(fields.get(key)) for pattern in patterns)
            for key, patterns in self._conditions
        )
        self.n_not_selected += not is_included
        return is_included

    def require_known_names(self, names: Iterable[str]) -> None:
        """Check the keys of the conditions against the names of metadata that documents have.

        Raises
        ------
        ParameterError
            If the key of a condition is neither `doc_id` nor one of the `names`.
        """
        names_of_metadata = {"doc_id", *(name.removeprefix(_META) for name in names)}
        for key, _ in self._conditions:
            if key not in names_of_metadata:
                rule = f"must name metadata of the documents ({', '.join(sorted(names_of_metadata))})"
                raise ParameterError(f"{rule}, got {key!r}", parameter="where")


def _texts(value: object) -> list[str]:
    values = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    return [str(each) for each in values]
