"""Templates of features, and their notation.

A template is a line of atoms; a feature is a template with the values of its atoms. Atoms of the mention are written
``i.kind``, those of the candidate antecedent ``k.kind``, those of the pair ``pair.match``. There are three lists: for
candidates of pronouns, for candidates of other mentions, and for NEW, whose templates have atoms of the mention alone
and perhaps ``best.match`` or ``best.near`` (the best string match before the mention; and how far it is).

A template of candidates may begin with a whole number and a star. In ``8* i.sort k.sort pair.agree`` each feature has
the value 8 instead of 1, so the penalty of training restrains its part of a score a 64th as much. This is meant for
features that exclude an antecedent, such as a clash in number: they are few, independent of words, and hardly any of
their pairs is a true link.

Atoms of a mention
    any (1), kind (pronoun by person and type, name, noun by its determiner), class (coarser), sort (which pronoun, or a
    name or noun by number), pronoun (its form; else the kind), head, lemma, ending (three letters and shape), meaning
    (person, place, time ..., by word lists), upos; first, last, previous, before_previous, next, after_next,
    before_head, after_head (words in and around it); role, link (its own role where it is a conjunct), governor
    (lemma), governor_role, adposition; length, modifiers (up to 2), after (kinds of modifiers after the head); number,
    gender, person, agreement (all three); nesting (how deep within others), outer (role and class of the innermost of
    those), inner (mentions within); place (in its sentence), position (in the document), quoted; same_before,
    head_before (how often string and head came before), frequency (of the head in the document), rank (of a name among
    names), share (of a pronoun among pronouns); style, dialogue (of the document: sentence length, interjections, first
    and second persons), sentence (interjection first, question, short; and the sentence before); naming (what a
    description can mean, and what a name means, by the lists `descriptions` of the language and by the text around the
    name), partial (1 in training texts in which only some kinds of entities are annotated), spoken (of "I",
    "we" and "you": how often this speaker and others spoke of that person before; the number of speakers).
    A head, lemma or word that is not in the model's vocabulary is replaced by its ending.
Atoms of a pair
    sentences, mentions (distance); match (of strings, heads, modifiers and numerals; of a description with what a name
    means); overlap (nested, adjacent);
    syntax (how the heads hang together in one sentence); agree; agreeing_between, names_between, pronouns_between
    (like pronouns), others_between (of "I" the second persons and the reverse); quotes; clash (one person and several,
    whose score is reduced by `CLASH_PENALTY` whatever the weights are); described (a new description and a name
    close by that it can mean, whose score is raised by `DESCRIPTION_BONUSES`); speakers (of "I", "we" and "you":
    whether one speaker says both, turns between them, the number of speakers).
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import NamedTuple, Self

import numpy as np

from corefsample._arrays import Ints32, Words32
from corefsample.errors import ParameterError
from corefsample.scorers.log_linear.features import _encoding_kernels
from corefsample.scorers.log_linear.features import _feature_codes as codes
from corefsample.scorers.log_linear.features._encoding_kernels import Hashed
from corefsample.scorers.log_linear.features._pair_kernels import Encoded

LISTS = ("pronoun", "phrase", "new")
_MOST_ATOMS = 4  # of one side of a template
_MOST_PAIR_ATOMS = 2
_LARGEST_FACTOR = 16
_BEST = {"best.match": codes.BEST_MATCH, "best.near": codes.BEST_NEAR}


class CompiledTemplates(NamedTuple):
    """One list of templates as the kernels read it."""

    mention: Ints32  # (n_templates, 4): places of atoms, -1 for none
    candidate: Ints32  # (n_templates, 4), likewise
    pair: Ints32  # (n_templates, 3): places of pair atoms, 0 for none; factor, those above 1 first
    best: Ints32  # (n_templates,): 0, BEST_MATCH or BEST_NEAR
    seeds: Words32  # (n_templates,): where the hash of each template starts


@dataclass(frozen=True, repr=False)
class TemplateSet:
    """The three lists of templates of a model.

    Attributes
    ----------
    pronoun, phrase
        Templates of candidates, where the mention is a pronoun and where it is not.
    new
        Templates of NEW.

    Raises
    ------
    ParameterError
        On construction, if a template has an unknown atom, too many, or one that its list cannot have.

    Examples
    --------
    >>> TemplateSet(pronoun=["i.pronoun k.agreement"], phrase=["pair.match"], new=["i.kind best.match"])
    TemplateSet(1 for pronouns, 1 for phrases, 1 for NEW)
    """

    pronoun: Sequence[str]
    phrase: Sequence[str]
    new: Sequence[str]

    @classmethod
    def of(cls, lists: Mapping[str, Sequence[str]]) -> Self:
        """The templates of lists by name; raise ParameterError unless there are these three."""
        if set(lists) != set(LISTS):
            names = ", ".join(lists) or "nothing"
            raise ParameterError(f"templates must be in the lists {', '.join(LISTS)}, got {names}")
        return cls(**lists)

    def __post_init__(self) -> None:
        for name in LISTS:
            object.__setattr__(self, name, tuple(" ".join(line.split()) for line in getattr(self, name)))
            self.compiled(name)

    def __repr__(self) -> str:
        return f"TemplateSet({len(self.pronoun)} for pronouns, {len(self.phrase)} for phrases, {len(self.new)} for NEW)"

    @property
    def n_templates(self) -> int:
        """Number of templates of all lists."""
        return len(self.pronoun) + len(self.phrase) + len(self.new)

    @cached_property
    def groups(self) -> tuple[CompiledTemplates, CompiledTemplates, CompiledTemplates]:
        """The lists pronoun, phrase and new, compiled."""
        return self.compiled("pronoun"), self.compiled("phrase"), self.compiled("new")

    def hashed(self, doc: Encoded) -> Hashed:
        """Hash the mentions of an encoded document by each template."""

        def hashes(template_atoms: Ints32, seeds: Words32) -> Words32:
            values = np.empty((len(doc.atoms), len(seeds)), np.uint32)
            _encoding_kernels.hash_mentions(doc.atoms, template_atoms, seeds, values)
            return values

        def sides(group: CompiledTemplates) -> tuple[Words32, Words32, Ints32]:
            return hashes(group.mention, group.seeds), hashes(group.candidate, np.zeros_like(group.seeds)), group.pair

        pronoun, phrase, new = self.groups
        return Hashed(*sides(pronoun), *sides(phrase), hashes(new.mention, new.seeds), new.best)

    def compiled(self, name: str) -> CompiledTemplates:
        """Compile the list of that name."""
        lines: Sequence[str] = getattr(self, name)
        if not lines:
            raise ParameterError(f"templates.{name} is empty")
        mention = np.full((len(lines), _MOST_ATOMS), -1, np.int32)
        sides = {"i": mention, "k": mention.copy(), "pair": np.zeros((len(lines), _MOST_PAIR_ATOMS), np.int32)}
        best, factors = np.zeros(len(lines), np.int32), np.ones(len(lines), np.int32)
        for t, line in enumerate(lines):
            location = f"templates.{name}[{t}]"
            atoms = line.split()
            if atoms and atoms[0].endswith("*"):
                factors[t] = _factor(atoms.pop(0), location, name)
            places: dict[str, list[int]] = {side: [] for side in sides}
            for atom in atoms:
                side, _, word = atom.partition(".")
                if name == "new" and atom in _BEST:
                    if best[t]:
                        raise ParameterError(f"{location} must have at most 1 best. atom, got {line!r}")
                    best[t] = _BEST[atom]
                    continue
                if side not in sides or (name == "new" and side != "i"):
                    raise ParameterError(f"{location} must be of i., k. and pair. atoms, got {atom!r}")
                names = codes.PAIR_ATOMS if side == "pair" else codes.ATOMS
                if word not in names or word == "nothing":
                    raise ParameterError(f"{location} must be of known atoms, got {atom!r}")
                places[side].append(names.index(word))
            for side, filled in sides.items():
                if len(places[side]) > filled.shape[1]:
                    raise ParameterError(f"{location} must have at most {filled.shape[1]} {side}. atoms, got {line!r}")
                filled[t, : len(places[side])] = places[side]
        seeds = np.array([zlib.crc32(f"{name} {line}".encode()) for line in lines], np.uint32)
        pair = np.column_stack((sides["pair"], factors))
        by_factor = np.argsort(factors == 1, kind="stable")
        mention, candidate, pair, best = (array[by_factor] for array in (mention, sides["k"], pair, best))
        return CompiledTemplates(mention, candidate, pair, best, seeds[by_factor])


def _factor(text: str, location: str, name: str) -> int:
    """Factor at the beginning of a template."""
    if name == "new":
        raise ParameterError(f"{location} must have no factor, got {text!r}")
    number = text[:-1]
    if not (number.isascii() and number.isdigit() and 1 <= int(number) <= _LARGEST_FACTOR):
        raise ParameterError(f"{location} must have a whole factor from 1 to {_LARGEST_FACTOR}, got {text!r}")
    return int(number)


def _default_templates() -> TemplateSet:
    """Read data/templates.txt: the lists that a template is in, and its atoms."""
    lists: dict[str, list[str]] = {name: [] for name in LISTS}
    source = resources.files("corefsample.scorers.log_linear").joinpath("data", "templates.txt")
    for line in source.read_text(encoding="utf-8").splitlines():
        names, _, template = line.partition(": ")
        for name in () if line.startswith("#") else names.split(","):
            lists[name].append(template)
    return TemplateSet.of(lists)


DEFAULT_TEMPLATES = _default_templates()
