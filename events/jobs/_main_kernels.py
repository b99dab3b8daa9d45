"""The kernels of the commands `score` and `events`, in groups that one process each compiles.

A function of a group calls its kernels on empty arrays, whose types are those of the commands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from corefsample.coreference import _check_kernels as candidate_checks
from corefsample.coreference import _kernels as coreference
from corefsample.documents import _check_kernels as document_checks
from corefsample.mention_ranking import _kernels as ranking
from corefsample.mention_ranking.features import _atom_kernels as atoms
from corefsample.mention_ranking.features import _hash_kernels as hashes
from corefsample.mention_ranking.features._codes import Atom, Column, Fact
from corefsample.mention_ranking.features._encoding_kernels import Text
from corefsample.mention_ranking.features._hash_kernels import Hashed
from corefsample.mention_ranking.features._pair_kernels import Encoded
from corefsample.spacy_bridge import _transition_kernels as transitions
from corefsample.summaries import _kernels as estimates
from corefsample.syntax import _mention_kernels as mentions
from corefsample.syntax import _role_kernels as roles
from corefsample.syntax._mention_kernels import ParsedText
from events.counting import _kernels as counting

Array = npt.NDArray[Any]


def empty(kind: npt.DTypeLike, columns: int | None = None) -> Array:
    """An array without elements, or a table without rows."""
    return np.zeros(0 if columns is None else (0, columns), kind)


def fixed(array: Array) -> Array:
    """The array made read-only, which is a type of its own to the compiler."""
    array.flags.writeable = False
    return array


def bounds() -> Array:
    """The bounds of nothing."""
    return np.zeros(1, np.int64)


def text() -> Text:
    """A text without words and mentions."""
    words, spans = empty(np.uint32, len(Column)), fixed(empty(np.int32, 3))
    return Text._make((words, *(empty(np.uint32) for _ in range(2)), *(empty(np.int32) for _ in range(6)), spans))


def encoded() -> tuple[Encoded, Hashed]:
    """A document without mentions."""
    by_mention = empty(np.uint32, len(Atom)), empty(np.uint32, len(Fact)), fixed(empty(np.int32, 3))
    by_token = (empty(np.int32) for _ in range(4))
    modifiers = empty(np.uint32), empty(np.bool_), empty(np.uint32)
    side = empty(np.uint32, 1), empty(np.uint32, 1), empty(np.int32, 3)
    document = Encoded._make((*by_mention, *by_token, np.zeros(1, np.int32), *modifiers))
    return document, Hashed(*side, *side, empty(np.uint32, 1), empty(np.int32))


def compile_scores() -> None:
    """Compile the scores of pairs."""
    weights, filled = fixed(np.zeros(1, np.float32)), (empty(np.float64), empty(np.int32), empty(np.float64))
    ranking.score_kept(*encoded(), weights, 0.5, 0, ranking.RowScratch.of(0, 1), bounds(), *filled)


def compile_atoms() -> None:
    """Compile the atoms and facts of mentions."""
    atoms.encode(text(), atoms.Scratch.of(0, 0), empty(np.uint32, len(Atom)), empty(np.uint32, len(Fact)))


def compile_clearnlp() -> None:
    """Compile the roles of ClearNLP parses."""
    integers, flags, given = empty(np.int32), empty(np.bool_), fixed(empty(np.int32))
    links = roles.Links(integers, integers, integers, flags)
    roles.from_clearnlp(integers, given, flags, flags, flags, roles.Verbs(integers, flags), links)


def compile_phrases() -> None:
    """Compile the noun phrases of parses."""
    integers, flags, given = empty(np.int32), empty(np.bool_), fixed(empty(np.int32))
    mentions.subtrees(integers, integers, integers, integers, integers)
    parse = ParsedText(integers, integers, integers, given, integers, integers, flags, flags, flags)
    mentions.phrases(parse, flags, empty(np.int32, 3))


def compile_words() -> None:
    """Compile the roles of UD parses, and the words and hashes of mentions."""
    integers, flags, given = empty(np.int32), empty(np.bool_), fixed(empty(np.int32))
    links = roles.Links(integers, integers, integers, flags)
    roles.from_universal(integers, given, flags, flags, links)
    roles.share_roles(integers, integers, integers, flags, integers, integers)
    atoms.fill_modifiers(text(), np.zeros(1, np.int32), empty(np.uint32), flags, empty(np.uint32))
    hashes.hash_mentions(empty(np.uint32, len(Atom)), empty(np.int32, 4), empty(np.uint32), empty(np.uint32, 1))


def compile_parse_checks() -> None:
    """Compile the checks of parses."""
    given = fixed(empty(np.int32))
    document_checks.check_parses(bounds(), given, given, empty(np.int64), empty(np.int8), empty(np.int64))


def compile_documents() -> None:
    """Compile the checks of documents."""
    given, places, faults = fixed(empty(np.int32)), empty(np.int64), empty(np.int8)
    document_checks.check_mentions(bounds(), given, given, given, places, faults, places)
    candidate_checks.check_antecedents(bounds(), bounds(), given, fixed(empty(np.float64)), places, faults, places)


def compile_probabilities() -> None:
    """Compile the probabilities of antecedents."""
    candidate_checks.in_order(bounds(), empty(np.int32), empty(np.float64))
    coreference.normalise(bounds(), empty(np.float64), empty(np.float64))


def compile_events() -> None:
    """Compile the evaluation of events."""
    described, labels = empty(np.int32), fixed(empty(np.int32, 1))
    tallies = empty(np.int64, 1), empty(np.int64, 1)
    rows = empty(np.int32, 1)
    rules = counting.Rules(np.zeros(1, np.int32), np.zeros(1, np.int32), described, rows, rows, rows)
    given = labels, described, np.zeros((1, 0), np.int32), empty(np.bool_), empty(np.int32, 1), rules
    counting.evaluate(*given, counting.Scratch.of(1, 0, 0), empty(np.uint8, 1), *tallies)


def compile_tables() -> None:
    """Compile the tables from which the sampler draws."""
    row_bounds, given, probs = fixed(bounds()), fixed(empty(np.int32)), fixed(empty(np.float64))
    scratch = coreference.TableScratch.of(1)
    coreference.alias_tables(row_bounds, given, probs, probs, scratch, empty(np.uint64), empty(np.uint32))


def compile_samples() -> None:
    """Compile the sampler and the sums of counts."""
    row_bounds, given, probs = fixed(bounds()), fixed(empty(np.int32)), fixed(empty(np.float64))
    cells, values, draws = empty(np.uint64), empty(np.uint32), coreference.DrawScratch.of(0)
    coreference.sample_labels(row_bounds, cells, values, np.uint64(0), 0, draws, empty(np.int32, 1))
    coreference.map_labels(row_bounds, given, probs, probs, empty(np.int32))
    coreference.poisson_binomial(empty(np.float64), np.zeros(1))


def compile_sets() -> None:
    """Compile the sampler for many draws of a recalibration."""
    row_bounds, given, probs = fixed(bounds()), fixed(empty(np.int32)), fixed(empty(np.float64, 0))
    scratch = coreference.TableScratch.of(1), coreference.DrawScratch.of(0)
    filled = empty(np.uint64), empty(np.uint32), empty(np.int32), empty(np.int32, 1)
    coreference.sample_sets(row_bounds, given, probs, probs, bounds(), np.uint64(0), 0, *scratch, *filled)


def compile_transitions() -> None:
    """Compile the sampled transitions of parses."""
    table, bias, indices = empty(np.float32, 1), empty(np.float32), empty(np.int64)
    layers = transitions.Layers(np.zeros((0, 1, 1), np.float32), bias, table, bias, indices, bounds())
    states = transitions.States(empty(np.int32, 1), indices, empty(np.uint64), indices)
    scratch = transitions.Scratch(bias, bias, empty(np.float64))
    transitions.perturbed_scores(layers, states, 1.0, 0, scratch, table)


def compile_estimates() -> None:
    """Compile the search for the best clusterings of a report's documents."""
    coreference.link_marginals(fixed(bounds()), fixed(empty(np.int32)), fixed(empty(np.float64)), empty(np.float64, 0))
    slots = np.zeros(1, np.int64), np.ones(1, np.int64)
    estimates.sweep(np.eye(1), np.empty((1, 0), np.int32), 0.0, np.zeros(2), *slots)


class Group(NamedTuple):
    """Kernels that are compiled together.

    cost : roughly the seconds that it takes
    at_once : whether `events` calls these kernels while it loads rules, so that they come first
    """

    compile: Callable[[], None]
    cost: float
    kernels: tuple[Callable[..., Any], ...]
    at_once: bool = False


GROUPS = {
    "atoms": Group(compile_atoms, 3.1, (atoms.encode,)),
    "scores": Group(compile_scores, 2.6, (ranking.score_kept,)),
    "phrases": Group(compile_phrases, 0.8, (mentions.subtrees, mentions.phrases)),
    "words": Group(
        compile_words, 0.8, (roles.from_universal, roles.share_roles, atoms.fill_modifiers, hashes.hash_mentions)
    ),
    "clearnlp": Group(compile_clearnlp, 0.5, (roles.from_clearnlp,)),
    "parse checks": Group(compile_parse_checks, 0.3, (document_checks.check_parses,), at_once=True),
    "documents": Group(compile_documents, 0.5, (document_checks.check_mentions, candidate_checks.check_antecedents)),
    "probabilities": Group(compile_probabilities, 0.4, (candidate_checks.in_order, coreference.normalise)),
    "events": Group(compile_events, 0.8, (counting.evaluate,), at_once=True),
    "tables": Group(compile_tables, 0.7, (coreference.alias_tables,)),
    "samples": Group(
        compile_samples, 0.8, (coreference.sample_labels, coreference.map_labels, coreference.poisson_binomial)
    ),
    "sets": Group(compile_sets, 1.9, (coreference.sample_sets,)),
    "estimates": Group(compile_estimates, 2.0, (coreference.link_marginals, estimates.sweep)),
    "transitions": Group(compile_transitions, 0.5, (transitions.perturbed_scores,)),
}
# "clearnlp" is for pipelines with its labels, so `score` adds it when it knows them; "transitions" are for
# --parses, "sets" for scores whose recalibration is uncertain.
COMMANDS = {
    "score": ("atoms", "scores", "phrases", "words", "documents", "probabilities", "parse checks"),
    "score with ClearNLP": ("clearnlp",),
    "score with sampled parses": ("transitions",),
    "events": ("tables", "samples", "documents", "probabilities", "parse checks", "events"),
    "events with uncertain scores": ("sets",),
    "report": ("estimates",),
}
