"""Dependency schemes: their label inventories, and paths of common grammatical roles in each.

A scheme is recognised from the labels of a document. A label is a base and perhaps a subtype (nsubj:pass). Subtypes
that no scheme here has are ignored (obl:foo counts as obl), and so is root in any spelling.

Paths are written in the notation of `corefsample.syntax`. In them ``{by}`` stands for the words of a list in `WORDS`,
which the rules of `events` can replace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from corefsample import _checks
from corefsample.errors import ParameterError
from corefsample.languages._language import ENGLISH, load_language

if TYPE_CHECKING:
    from spacy.language import Language as Pipeline

# Words of named paths where a rule or a language gives no others: prepositions by what they say, pronouns of relative
# clauses, and verbs that say that someone did what a noun means.
WORDS: Mapping[str, tuple[str, ...]] = load_language(ENGLISH).words
LISTED = re.compile(r"\{([A-Za-z][A-Za-z0-9_-]*)\}")


def with_words(path: str, words: Mapping[str, Sequence[str]] = WORDS) -> str:
    """A path in which the words of lists replace the names of the lists."""
    return LISTED.sub(lambda name: "|".join(words[name.group(1)]), path)


@dataclass(frozen=True, slots=True)
class Scheme:
    """One dependency scheme.

    Attributes
    ----------
    name
        Name of the scheme: ud2 and ud1 (Universal Dependencies), or clearnlp (spaCy's English pipelines).
    bases
        Labels without a subtype.
    subtypes
        Labels with a subtype that mean something here.
    written, paths
        For each named role, the paths that lead to it: from a verb to its argument, or from a noun to its modifier. As
        they are written, and with the words of `WORDS`.
    """

    name: str
    bases: frozenset[str]
    subtypes: frozenset[str]
    written: Mapping[str, tuple[str, ...]]
    paths: Mapping[str, tuple[str, ...]] = field(init=False)

    def __post_init__(self) -> None:
        paths = {name: tuple(map(with_words, several)) for name, several in self.written.items()}
        object.__setattr__(self, "paths", paths)

    def reads(self, label: str) -> str | None:
        """Return the label as this scheme reads it, or None if the scheme has no such label."""
        if label.lower() == "root":
            return "root"
        if label in self.bases or label in self.subtypes:
            return label
        # A subtype of another scheme is a label of that scheme alone; a subtype of no scheme is ignored.
        if not self.subtypes or ":" not in label or label in _all_subtypes():
            return None
        return self.reads(label.rpartition(":")[0])


_UD_SHARED = (
    "nsubj csubj ccomp xcomp advcl acl amod advmod appos aux case cc compound conj cop dep det discourse dislocated "
    "expl goeswith iobj list mark nmod nummod parataxis punct reparandum vocative"
)
_UD_SHARED_SUBTYPES = (
    "acl:relcl advcl:relcl cc:preconj compound:prt det:predet nmod:poss nmod:tmod nmod:npmod nmod:of nmod:by "
    "advmod:emph nsubj:xsubj"
)
_CLEARNLP = (
    "acl acomp advcl advmod agent amod appos attr aux auxpass case cc ccomp compound conj csubj csubjpass dative dep "
    "det dobj expl intj mark meta neg nmod npadvmod nsubj nsubjpass nummod oprd parataxis pcomp pobj poss preconj "
    "predet prep prt punct quantmod relcl xcomp"
)


def _groups(
    of: str, group_of: str, origin: str, loyal: str, owner: str, modifiers: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """Paths from a noun that counts or groups to the modifiers of its members, and to the origin of a mention.

    A group may be one of groups: "tens of thousands of French farmers", "members of the forces of Chad".
    """
    members = (f"[lemma={{group}}|{{forces}}]{of}", f"[lemma={{group}}]{group_of}{of}", loyal, owner)
    return {
        "group_member": tuple(f"{start}{end}" for start in members for end in ("", ">conj+", *modifiers)),
        "origin": (origin, f"{origin}>conj+"),
    }


def _with_conjuncts(*paths: str) -> tuple[str, ...]:
    return (*paths, *(f"{path}>conj+" for path in paths))


def _arguments(
    *,
    passive: str,
    clausal: str,
    objects: str,
    agents: tuple[str, ...],
    relative: str,
    governed: tuple[str, ...],
    blamed: str,
    possessor: str,
    compound: tuple[str, ...],
    prepositional: tuple[str, ...],
    of: tuple[str, ...],
    by: tuple[str, ...],
    done_by: tuple[str, ...],
    governing: tuple[str, ...],
) -> dict[str, tuple[str, ...]]:
    """Paths from a verb or a noun to its arguments, composed equally for all schemes.

    passive, clausal, objects, relative
        Labels of passive subjects, subject clauses, objects (the direct one first) and relative clauses.
    agents, governed, blamed
        Paths to agents of the passive; from a verb without a subject ("idle") to the verb that governs it; and from
        one after "for", "of" or the like, in clauses of blame and credit.
    possessor, compound, prepositional, of, by
        Paths to modifiers of nouns: "of" in a path stands for any preposition; and further ones for "of" and "by".
    done_by
        Paths to the agent of a passive light verb.
    governing
        Paths from a noun to the verb or noun that governs it.
    """
    direct_object, _ = objects.split("|")
    any_subject = f"nsubj|{passive}|{clausal}"
    idle = f"active,no >{any_subject}"
    # The subject comes from the nearest verb up the chain of conjuncts that has one; no verb between has a subject.
    shared = (f"[{idle}]<conj>nsubj", f"[{idle}]<conj[no >{any_subject}]+<conj>nsubj")
    # Of two arguments the object controls ("ordered them to attack"), else the subject, in active and passive.
    by_subject = f"[{idle}]<xcomp[no >{objects}]+>nsubj|{passive}"
    by_object = f"[{idle}]<xcomp>{objects}"
    # After attacking, they left; they succeeded in attacking; they were able to attack; they apologised for attacking.
    # But whom they accused of attacking, stopped from it or thanked for it did it, unless they claimed responsibility
    # or drew criticism. Parsers hang the clause on the verb or on its object.
    blamed = blamed.replace("{idle}", idle)
    by_governor = (
        *(f"{steps.replace('{idle}', idle)}>nsubj|{passive}" for steps in governed),
        f"{blamed}[no >{objects}]>nsubj|{passive}",
        f"{blamed}[lemma={{receiving}}]>nsubj",
        f"{blamed}<{direct_object}[lemma={{receiving}}]>nsubj",
    )
    by_blamed = f"{blamed}>{objects}", f"{blamed}<{direct_object}>{objects}"
    # They crossed the border and had to attack.
    by_shared = f"[{idle}]<xcomp[no >{any_subject}|{objects}]+<conj>nsubj"
    # A relative pronoun stands for the noun that its clause hangs on, by the label that led to the pronoun.
    pronouns = (
        *((start, "nsubj") for start in (">nsubj", *shared)),
        *((start, f"nsubj|{passive}") for start in (by_subject, *by_governor)),
        (by_object, objects),
    )

    def noun_phrases(word: str, *others: str) -> tuple[str, ...]:
        return _with_conjuncts(*(path.replace("{of}", f"{{{word}}}") for path in prepositional), *others)

    return {
        "subject": (">nsubj",),
        "passive_agent": agents,
        "conjoined_subject": tuple(f"{path}>conj+" for path in (">nsubj", *agents)),
        "shared_subject": _with_conjuncts(*shared),
        "relative_subject": (
            # "Hundreds of soldiers attacked a town", where a parser takes the verb for a participle of the noun.
            f"[has >{objects}]<acl[root]",
            *(
                f"{start}[lemma={{relative}}]<{labels}<{relative}{tail}"
                for start, labels in pronouns
                for tail in ("", ">conj+")
            ),
        ),
        "controlled_subject": _with_conjuncts(by_subject, by_object, *by_governor, *by_blamed, by_shared),
        "object": (f">{direct_object}",),
        "passive_subject": (f">{passive}",),
        "conjoined_object": (f">{direct_object}>conj+", f">{passive}>conj+"),
        "itself": ("",),
        # An air strike; opened fire; killed in a raid; killed when troops fired; raids in which some were killed;
        # troops fired, and some were killed.
        "larger_event": (
            *(f"[upos=NOUN]{steps}" for steps in governing),
            *(f">advcl[{label}={{meanwhile}},advmod!=even]" for label in ("mark", "advmod")),
            f"<{relative}",
            f"[has >{passive}]<conj",
        ),
        "noun_possessor": _with_conjuncts(possessor),
        "noun_compound": _with_conjuncts(*compound),
        "noun_of": noun_phrases("of", *of),
        "noun_by": noun_phrases("by", *by),
        "with_phrase": noun_phrases("with"),
        "between_phrase": noun_phrases("between"),
        "against_phrase": noun_phrases("against"),
        # Strikes launched by jets.
        "participle_agent": tuple(f">acl{path}" for path in done_by),
        "light_verb_subject": _with_conjuncts(
            f"[upos=NOUN]<{direct_object}[lemma={{doing}},active]>nsubj",
            f"[upos=NOUN]<{direct_object}[lemma={{doing}},active,no >nsubj|{passive}]<conj>nsubj",
            *(f"[upos=NOUN]<{passive}[lemma={{doing}}]{path}" for path in done_by),
        ),
    }


def _universal(name: str, bases: str, subtypes: str, **labels: Any) -> Scheme:
    """A version of Universal Dependencies: its labels, and those of its arguments in addition to the shared ones."""
    modifiers = (">amod", ">amod>conj+", ">compound", ">compound>conj+", ">nmod:poss", ">nmod[case={of}]")
    written = {
        **_groups(
            ">nmod[case={of}|{from}]",
            ">nmod[case={of},lemma={group}]",
            ">nmod[case={from}]",
            ">amod[lemma={loyal}]>obl|nmod[case={to}]",
            ">nmod:poss[lemma={forces}]",
            modifiers,
        ),
        "head": ("",),
        "adjectival_modifier": (">amod",),
        "nominal_modifier": (">nmod*",),
        "of_modifier": (">nmod[case={of}]", ">nmod:of"),
        "possessive": (">nmod:poss",),
        "compound": (">compound",),
        "conjoined_modifier": (
            ">amod>amod",
            *(f"{path}>conj+" for path in (">amod", ">nmod[case={of}]", ">nmod:of", ">nmod:poss", ">compound")),
        ),
        **_arguments(
            relative="acl:relcl",
            governed=("[{idle},mark!={blamed_for}]<advcl",),
            blamed="[{idle},mark={blamed_for}]<advcl|acl",
            possessor=">nmod:poss",
            compound=(">compound",),
            **labels,
        ),
    }
    bases, subtypes = f"{_UD_SHARED} {bases}", f"{_UD_SHARED_SUBTYPES} {subtypes}"
    return Scheme(name, frozenset(bases.split()), frozenset(subtypes.split()), written)


_ALL = (
    _universal(
        "ud2",
        "obj obl clf fixed flat orphan",
        "nsubj:pass csubj:pass aux:pass nsubj:outer csubj:outer obl:agent obl:tmod obl:npmod obl:unmarked "
        "nmod:unmarked nmod:desc expl:pass flat:name flat:foreign",
        passive="nsubj:pass",
        clausal="csubj|csubj:pass",
        objects="obj|iobj",
        agents=(">obl:agent", "[passive]>obl[case={by}]"),
        prepositional=(">nmod[case={of}]", ">obl[case={of}]"),
        of=(),
        by=(">nmod:by", ">nmod:agent", ">obl:agent"),
        done_by=(">obl[case={by}]", ">obl:agent"),
        governing=("<compound|obj|nmod|obl",),
    ),
    _universal(
        "ud1",
        "dobj nsubjpass csubjpass auxpass neg mwe name foreign remnant",
        "nmod:agent",
        passive="nsubjpass",
        clausal="csubj|csubjpass",
        objects="dobj|iobj",
        agents=(">nmod:agent", "[passive]>nmod[case={by}]", "[passive]>nmod:by"),
        prepositional=(">nmod[case={of}]",),
        of=(">nmod:of",),
        by=(">nmod:by", ">nmod:agent"),
        done_by=(">nmod[case={by}]", ">nmod:agent"),
        governing=("<compound|dobj|nmod",),
    ),
    Scheme(
        name="clearnlp",
        bases=frozenset(_CLEARNLP.split()),
        subtypes=frozenset(),
        written={
            "head": ("",),
            "adjectival_modifier": (">amod",),
            "nominal_modifier": (">nmod", ">prep>pobj", ">poss"),
            "of_modifier": (">prep[lemma={of}]>pobj",),
            "possessive": (">poss",),
            "compound": (">compound", ">nmod"),
            **_groups(
                ">prep[lemma={of}|{from}]>pobj",
                ">prep[lemma={of}]>pobj[lemma={group}]",
                ">prep[lemma={from}]>pobj",
                ">amod[lemma={loyal}]>prep[lemma={to}]>pobj",
                ">poss[lemma={forces}]",
                (">amod", ">amod>conj+", ">compound|nmod", ">compound|nmod>conj+", ">poss", ">prep[lemma={of}]>pobj"),
            ),
            "conjoined_modifier": (
                ">amod>amod",
                *(f"{path}>conj+" for path in (">amod", ">prep[lemma={of}]>pobj", ">poss", ">compound", ">nmod")),
            ),
            **_arguments(
                passive="nsubjpass",
                clausal="csubj|csubjpass",
                objects="dobj|dative",
                agents=(">agent>pobj",),
                relative="relcl",
                governed=(
                    "[{idle}]<advcl",
                    "[{idle}]<pcomp[lemma!={blamed_for}]<prep",
                    "[{idle}]<pcomp<prep<acomp",
                    "[{idle}]<xcomp[no >dobj|dative]+<acomp",
                ),
                blamed="[{idle}]<pcomp[lemma={blamed_for}]<prep",
                possessor=">poss",
                compound=(">compound", ">nmod"),
                prepositional=(">prep[lemma={of}]>pobj",),
                of=(),
                by=(">agent>pobj",),
                done_by=(">agent>pobj",),
                governing=("<compound|nmod|dobj", "<pobj<prep"),
            ),
        },
    ),
)
SCHEMES: Mapping[str, Scheme] = {scheme.name: scheme for scheme in _ALL}


@cache
def _all_subtypes() -> frozenset[str]:
    return frozenset().union(*(scheme.subtypes for scheme in SCHEMES.values()))


def scheme_names() -> tuple[str, ...]:
    """Short names of the schemes."""
    return tuple(SCHEMES)


def fitting_schemes(labels: Iterable[str]) -> tuple[str, ...]:
    """Names of the schemes that have all of these labels; several if the labels do not determine the scheme."""
    return _fitting(frozenset(labels))


@lru_cache(maxsize=4096)
def _fitting(labels: frozenset[str]) -> tuple[str, ...]:
    return tuple(name for name, scheme in SCHEMES.items() if all(scheme.reads(label) for label in labels))


SCHEME_FIELD = "scheme"  # metadata of a document whose labels fit several schemes: that of its pipeline or format
UNIVERSAL = ("ud2", "ud1")


def declared_scheme(metadata: Mapping[str, Any], labels: Iterable[str]) -> str | None:
    """The scheme that a document's metadata declare, if its labels fit it."""
    declared = metadata.get(SCHEME_FIELD)
    return declared if declared in fitting_schemes(labels) else None


def universal_scheme(labels: Iterable[str]) -> str | None:
    """The newest version of Universal Dependencies that has all labels (of a CoNLL-U file), if one has them."""
    return next((name for name in fitting_schemes(labels) if name in UNIVERSAL), None)


def pipeline_scheme(pipeline: Pipeline) -> str | None:
    """The scheme of all labels of a spaCy pipeline's parser, if they fit exactly one."""
    labels = {part for label in pipeline.pipe_labels.get("parser", ()) for part in label.split("||")}
    fitting = fitting_schemes(labels) if labels else ()
    return fitting[0] if len(fitting) == 1 else None


def scheme_metadata(name: str | None, labels: Iterable[str]) -> dict[str, str]:
    """Metadata with the scheme of a document; empty if it is unknown, or if the labels alone determine it."""
    distinct = frozenset(labels)
    return {SCHEME_FIELD: name} if name and distinct and len(fitting_schemes(distinct)) > 1 else {}


def schemes_of(labels: Iterable[str], name: str | None = None) -> tuple[str, ...]:
    """Names of the schemes by which a document is read.

    Parameters
    ----------
    labels
        Dependency labels of the document's tokens.
    name
        Name of the scheme: ud2, ud1 or clearnlp. By default, a document is read by every scheme that has all its
        labels; if there are several, the caller compares the results and raises if they differ.

    Returns
    -------
    tuple of str
        At least one name, in the order of `SCHEMES`.

    Raises
    ------
    ParameterError
        If there is no such scheme, or the labels fit none, or not the chosen one.

    Examples
    --------
    >>> schemes_of(["root", "nsubj"]), schemes_of(["root", "nsubj", "obl"])
    (('ud2', 'ud1', 'clearnlp'), ('ud2',))
    """
    distinct = sorted(set(labels))
    if name is not None:
        _checks.choice("scheme", name, scheme_names())
        if unknown := _unknown(SCHEMES[name], distinct):
            raise ParameterError(f"tokens.dep must fit the scheme {name}, got {_shown(unknown)}")
        return (name,)
    fitting = fitting_schemes(distinct)
    if not fitting:
        unknown_labels = {each.name: _unknown(each, distinct) for each in SCHEMES.values()}
        closest = min(unknown_labels, key=lambda scheme: len(unknown_labels[scheme]))
        raise ParameterError(
            f"tokens.dep must fit a dependency scheme ({', '.join(SCHEMES)}), got {_shown(unknown_labels[closest])} "
            f"(not in {closest}, the closest)"
        )
    return fitting


def _unknown(scheme: Scheme, labels: list[str]) -> list[str]:
    return [label for label in labels if scheme.reads(label) is None]


def _shown(labels: list[str]) -> str:
    return ", ".join(map(repr, labels[:5]))
