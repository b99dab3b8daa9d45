"""Templates of features, and their notation.

A template is a line of atoms; a feature is a template with the values of its atoms. Atoms of the mention are written
``i.kind``, those of the candidate antecedent ``k.kind``, those of the pair ``pair.match``. There are three lists: for
candidates of pronouns, for candidates of other mentions, and for NEW, whose templates have atoms of the mention alone
and perhaps ``best.match`` or ``best.near`` (the best string match before the mention; and how far it is).

Atoms of a mention
    any (1), kind (pronoun by person and type, name, noun by its determiner), class (coarser), pronoun (its form; else
    the kind), head, lemma, ending (three letters and shape), meaning (person, place, time ..., by word lists), upos;
    first, last, previous, before_previous, next, after_next, before_head, after_head (words in and around it);
    role, link (its own role where it is a conjunct), governor (lemma), governor_role, adposition; length, modifiers
    (up to 2), after (kinds of modifiers after the head); number, gender, person, agreement (all three); nesting (how
    deep within others), outer (role and class of the innermost of those), inner (mentions within); place (in its
    sentence), position (in the document), quoted; same_before, head_before (how often string and head came before),
    frequency (of the head in the document), rank (of a name among names), share (of a pronoun among pronouns); style,
    dialogue (of the document: sentence length, interjections, first and second persons), sentence (interjection first,
    question, short; and the sentence before).
    A head, lemma or word that is not in the model's vocabulary is replaced by its ending.
Atoms of a pair
    sentences, mentions (distance); match (of strings, heads, modifiers and numerals); overlap (nested, adjacent);
    syntax (how the heads hang together in one sentence); agree; agreeing_between, names_between, pronouns_between
    (like pronouns), others_between (of "I" the second persons and the reverse); quotes.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from corefsample._arrays import Ints32, Words32
from corefsample.errors import ParameterError
from corefsample.mention_ranking.features import _codes as codes

__all__ = ["DEFAULT_TEMPLATES", "CompiledTemplates", "TemplateSet"]

_MOST_ATOMS = 4  # of one side of a template
_MOST_PAIR_ATOMS = 2
_BEST = {"best.match": codes.BEST_MATCH, "best.near": codes.BEST_NEAR}


class CompiledTemplates(NamedTuple):
    """One list of templates as the kernels read it."""

    mention: Ints32  # (n_templates, 4): places of atoms, -1 for none
    candidate: Ints32  # (n_templates, 4), likewise
    pair: Ints32  # (n_templates, 2): places of pair atoms, 0 for none
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

    def __post_init__(self) -> None:
        for name in ("pronoun", "phrase", "new"):
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

    def compiled(self, name: str) -> CompiledTemplates:
        """Compile the list of that name."""
        lines: Sequence[str] = getattr(self, name)
        if not lines:
            raise ParameterError(f"templates.{name} is empty")
        mention = np.full((len(lines), _MOST_ATOMS), -1, np.int32)
        sides = {"i": mention, "k": mention.copy(), "pair": np.zeros((len(lines), _MOST_PAIR_ATOMS), np.int32)}
        best = np.zeros(len(lines), np.int32)
        for t, line in enumerate(lines):
            places: dict[str, list[int]] = {side: [] for side in sides}
            for atom in line.split():
                side, _, word = atom.partition(".")
                if name == "new" and atom in _BEST:
                    if best[t]:
                        raise ParameterError(f"templates.{name}[{t}] must have at most 1 best. atom, got {line!r}")
                    best[t] = _BEST[atom]
                    continue
                if side not in sides or (name == "new" and side != "i"):
                    raise ParameterError(f"templates.{name}[{t}] must be of i., k. and pair. atoms, got {atom!r}")
                names = codes.PAIR_ATOMS if side == "pair" else codes.ATOMS
                if word not in names or word == "nothing":
                    raise ParameterError(f"templates.{name}[{t}] must be of known atoms, got {atom!r}")
                places[side].append(names.index(word))
            for side, filled in sides.items():
                if len(places[side]) > filled.shape[1]:
                    rule = f"must have at most {filled.shape[1]} {side}. atoms"
                    raise ParameterError(f"templates.{name}[{t}] {rule}, got {line!r}")
                filled[t, : len(places[side])] = places[side]
        seeds = np.array([zlib.crc32(f"{name} {line}".encode()) for line in lines], np.uint32)
        return CompiledTemplates(mention, sides["k"], sides["pair"], best, seeds)


# Templates of pronouns and other mentions alike: how the two match and agree, and where the candidate stands.
_COMPARISON = """
i.class k.class pair.match
i.kind k.kind pair.match
pair.match pair.sentences
pair.match pair.mentions
i.class k.class pair.agree
pair.agree pair.sentences
i.kind k.kind pair.overlap
pair.overlap pair.syntax
i.class k.class pair.syntax
i.role k.role pair.sentences
i.role k.role pair.match
"""
_POSITION = """
k.nesting k.role pair.sentences
k.inner pair.overlap
i.class k.same_before pair.sentences
i.class k.position
i.class k.place pair.sentences
i.length k.length pair.match
"""


def _lines(*texts: str) -> list[str]:
    return [line for text in texts for line in text.splitlines() if line]


DEFAULT_TEMPLATES = TemplateSet(
    pronoun=_lines(
        """
i.kind k.kind pair.sentences
i.kind k.kind pair.mentions
""",
        _COMPARISON,
        """
i.role i.class k.role k.class
i.pronoun k.pronoun pair.quotes
i.class k.head
i.lemma pair.match
""",
        _POSITION,
        """
k.last pair.match
i.class k.next
i.class k.previous
k.after pair.overlap
i.meaning k.meaning pair.match
i.pronoun k.lemma
i.pronoun k.agreement
i.pronoun k.agreement pair.agreeing_between
i.pronoun pair.agreeing_between
i.pronoun pair.names_between
i.pronoun k.meaning
i.pronoun i.role k.role pair.sentences
i.pronoun pair.syntax
i.pronoun k.kind pair.overlap
i.pronoun k.ending
i.pronoun k.head_before k.same_before
i.governor i.role k.governor k.role
i.pronoun k.outer pair.sentences
i.pronoun k.upos pair.sentences
i.previous i.pronoun k.class pair.sentences
i.pronoun i.style k.pronoun
i.pronoun i.dialogue k.pronoun
i.pronoun k.pronoun pair.others_between
i.pronoun k.class pair.pronouns_between pair.sentences
i.pronoun k.pronoun pair.pronouns_between pair.names_between
i.pronoun k.class k.frequency
i.pronoun k.rank k.gender pair.sentences
i.pronoun k.rank k.gender pair.names_between
i.pronoun k.rank pair.pronouns_between
""",
    ),
    phrase=_lines(
        _COMPARISON,
        """
""",
        _POSITION,
        """
i.adposition k.adposition pair.match
k.first pair.match
k.last pair.match
k.after pair.overlap
i.meaning k.meaning pair.match
i.ending k.ending pair.match
i.ending k.lemma
i.meaning i.class k.meaning k.class
i.lemma k.class
i.first k.class pair.match
i.head_before i.same_before pair.match
i.kind i.head_before pair.match
i.modifiers k.modifiers pair.match
i.kind k.kind pair.syntax
i.after k.after pair.match
i.number k.number pair.match
i.class k.class k.frequency pair.match
i.rank k.class k.gender pair.sentences
i.rank k.rank pair.match
i.before_head k.before_head pair.match
i.after_head k.after_head pair.match
""",
    ),
    new=_lines("""
i.any
i.kind
i.head
i.lemma
i.lemma i.kind
i.first
i.previous
i.before_previous i.previous
i.next i.after_next
i.role i.class
i.role i.kind
i.governor i.role
i.adposition i.kind
i.length i.kind
i.number i.gender i.person
i.pronoun i.role
i.pronoun i.governor
i.pronoun i.previous
i.pronoun i.next
i.ending i.kind
i.meaning i.kind
i.inner i.kind
i.place i.kind
i.position i.class
i.position i.kind
i.same_before i.head_before
i.same_before i.lemma
i.quoted i.pronoun
i.after i.kind
i.after i.same_before i.head_before
i.modifiers i.head_before i.kind
i.first i.lemma
i.adposition i.lemma
i.link i.governor_role i.class
i.lemma i.head_before i.first
i.pronoun i.dialogue
i.pronoun i.sentence
i.share i.role
i.frequency i.same_before i.kind
i.class best.near
i.lemma best.match
i.before_head i.head_before
i.before_head i.lemma
i.after_head i.lemma
"""),
)
