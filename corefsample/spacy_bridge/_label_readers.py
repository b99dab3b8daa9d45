"""Which labels of dependencies make a difference to the rules of an attribute ruler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from corefsample._arrays import Bools, Ints

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

# What a rule of the attribute ruler may read of a token, and write.
_READ = frozenset(
    ["ORTH", "TEXT", "LOWER", "NORM", "SHAPE", "PREFIX", "SUFFIX", "LENGTH", "TAG", "POS", "MORPH", "LEMMA", "DEP"]
)
_READ_FLAGS = ("IS_", "LIKE_")
_NEIGHBOURS = frozenset(["IS_SENT_START"])
_WRITTEN = frozenset(["TAG", "POS", "MORPH", "LEMMA", "DEP"])
_LABEL = "DEP"
_LISTS = frozenset(["IN", "NOT_IN"])


def is_local_rule(rule: Mapping[str, Any]) -> bool:
    """Whether a rule of the attribute ruler reads and writes attributes of tokens in fixed places, and not the tree."""
    names = {name for pattern in rule["patterns"] for token in pattern for name in token}
    readable = all(name in _READ or (name.startswith(_READ_FLAGS) and name not in _NEIGHBOURS) for name in names)
    return readable and set(rule["attrs"]) <= _WRITTEN


class Variants(NamedTuple):
    """Labels with which the rules have to run so that all parses find their annotations.

    chosen : (n_parses, n_tokens), from which variant a parse takes its annotation of a token
    labels : (n_variants, n_tokens), hashes; the first are those of the first parse
    writes_label : (n_tokens,), whether a rule may give the token a label
    """

    chosen: Ints
    labels: Any
    writes_label: Bools


class LabelReaders:
    """The conditions on labels in the local rules of an attribute ruler.

    A label makes a difference only to the rules whose other conditions hold at its token, and only by which of their
    conditions on labels it fulfils.

    Parameters
    ----------
    vocab
        Of the pipeline.
    rules
        As `AttributeRuler.patterns` has them, for all of which `is_local_rule` is true.
    """

    def __init__(self, vocab: Vocab, rules: Sequence[Mapping[str, Any]]) -> None:
        from spacy.matcher import Matcher

        self._strings: Any = vocab.strings
        self._matcher = Matcher(vocab)  # of everything but labels
        self._conditions: list[Any] = [None]  # what a label may fulfil; None: each label is different
        self._reads: dict[int, list[tuple[int, int]]] = {}  # rule -> places in the match, and their conditions
        self._annotates: dict[int, int] = {}  # rule -> place in the match
        self._writes: set[int] = set()
        self._outcomes: dict[tuple[frozenset[int], int], tuple[bool, ...]] = {}
        for rule in rules:
            writes = _LABEL in rule["attrs"]
            for pattern in rule["patterns"]:
                reads = [
                    (place, self._condition(token[_LABEL])) for place, token in enumerate(pattern) if _LABEL in token
                ]
                place = range(len(pattern))[rule["index"]]
                if not reads and not writes:
                    continue
                name = f"{len(self._reads)}"
                key = self._strings.add(name)
                self._reads[key] = [*reads, *([(place, 0)] if writes else [])]
                self._annotates[key] = place
                if writes:
                    self._writes.add(key)
                self._matcher.add(
                    name, [[{each: token[each] for each in token if each != _LABEL} for token in pattern]]
                )

    def _condition(self, value: Any) -> int:
        """Number of a condition on a label."""
        listed = isinstance(value, str) or (isinstance(value, Mapping) and set(value) <= _LISTS)
        if not listed:
            return 0
        if value not in self._conditions:
            self._conditions.append(value)
        return self._conditions.index(value)

    def variants(self, template: Doc, labels: Any) -> Variants:
        """Find the variants that some parses of a Doc need.

        Parameters
        ----------
        template
            The Doc with what the rules read but labels.
        labels
            uint64 (n_parses, n_tokens): hashes.
        """
        conditions, groups, writes = self._read(template)
        varies = (labels != labels[0]).any(axis=0)
        chosen = np.zeros(labels.shape, np.int64)
        sources: list[
            list[tuple[Ints, int]]
        ] = []  # of each variant but the first: tokens, and the parse of their labels
        for tokens in groups:
            if not varies[tokens].any():
                continue
            own = [conditions[token] for token in tokens.tolist()]
            of_parses = list(map(tuple, labels[:, tokens].tolist()))
            outcomes = {each: tuple(map(self._outcome, own, each)) for each in dict.fromkeys(of_parses)}
            numbers = {outcome: variant for variant, outcome in enumerate(dict.fromkeys(outcomes.values()))}
            if len(numbers) == 1:
                continue
            variants = [numbers[outcomes[each]] for each in of_parses]
            chosen[:, tokens] = np.array(variants)[:, np.newaxis]
            sources += [[] for _ in range(len(numbers) - 1 - len(sources))]
            for variant in range(1, len(numbers)):
                sources[variant - 1].append((tokens, variants.index(variant)))
        every = np.repeat(labels[:1], len(sources) + 1, axis=0)
        for variant, of_variant in enumerate(sources, start=1):
            for tokens, parse in of_variant:
                every[variant, tokens] = labels[parse, tokens]
        return Variants(chosen, every, writes)

    def _read(self, template: Doc) -> tuple[list[frozenset[int]], list[Ints], Bools]:
        """Read the tokens whose labels matter.

        Returns
        -------
        tuple
            The conditions on the label of each token; groups of tokens such that annotations of a token depend on no
            labels but those of its group; whether a rule may write a token's label.
        """
        conditions: list[set[int]] = [set() for _ in range(len(template))]
        pairs, writes = [], np.zeros(len(template), np.bool_)
        for rule, start, _ in self._matcher(template, allow_missing=True):
            annotated = start + self._annotates[rule]
            writes[annotated] |= rule in self._writes
            for place, condition in self._reads[rule]:
                conditions[start + place].add(condition)
                if start + place != annotated:
                    pairs.append((annotated, start + place))
        groups = (
            [np.array([token]) for token, own in enumerate(conditions) if own]
            if not pairs
            else _joined(pairs, len(template))
        )
        return list(map(frozenset, conditions)), groups, writes

    def _outcome(self, conditions: frozenset[int], label: int) -> Any:
        """What the rules can tell of a label."""
        if 0 in conditions:
            return label
        known = self._outcomes.get((conditions, label))
        if known is None:
            text = self._strings[label] if label else ""
            known = tuple(_holds(self._conditions[condition], text) for condition in sorted(conditions))
            self._outcomes[conditions, label] = known
        return known


def _holds(condition: str | Mapping[str, Sequence[str]], label: str) -> bool:
    """Whether a label fulfils a condition; which of two outcomes is true makes no difference here."""
    if isinstance(condition, str):
        return label == condition
    return label in condition.get("IN", [label]) and label not in condition.get("NOT_IN", [])


def _joined(pairs: Sequence[tuple[int, int]], n_tokens: int) -> list[Ints]:
    """Groups of tokens that pairs connect, those of one token included."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = np.array(pairs, np.int64)
    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n_tokens, n_tokens))
    n_groups, group = connected_components(graph, directed=False)
    order = np.argsort(group, kind="stable")
    return np.split(order, np.cumsum(np.bincount(group, minlength=n_groups))[:-1])
