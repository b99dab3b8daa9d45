"""Components after the parser, run on several parses of one Doc no more often than their output can differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample._arrays import Ints

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

# Factories of components that read words only, and write what those between them and the parser do not read.
_WITHOUT_PARSE = frozenset(["textcat", "textcat_multilabel"])
_WITH_SENTENCES = frozenset(["ner", "beam_ner"])
# Factories of components that read words, and perhaps what earlier components wrote of the same token.
_OF_TOKENS = frozenset(["tok2vec", "transformer", "tagger", "morphologizer", "lemmatizer", "trainable_lemmatizer"])
# What a rule of the attribute ruler may read of a token, and write.
_READ = frozenset(
    ["ORTH", "TEXT", "LOWER", "NORM", "SHAPE", "PREFIX", "SUFFIX", "LENGTH", "TAG", "POS", "MORPH", "LEMMA", "DEP"]
)
_READ_FLAGS = ("IS_", "LIKE_")
_NEIGHBOURS = frozenset(["IS_SENT_START"])
_WRITTEN = ("TAG", "POS", "MORPH", "LEMMA", "DEP")


class LaterComponents:
    """Components after the parser.

    They are of three kinds. The output of the first does not depend on the parse, so they run on the Doc before it is
    copied for each parse. The output of the second depends on no more of the parse than the labels of a token and of
    few others in known places. So they run on copies in which the tokens have their various labels, as often as some
    group of such tokens has different labels, and each parse takes its tokens' annotations from these copies. The
    others run on each parse.

    Parameters
    ----------
    nlp
        The pipeline.
    names
        Its components after the parser, in order.
    keeps_sentences
        Whether all parses have the sentences of the Doc before parsing.
    """

    def __init__(self, nlp: Language, names: Sequence[str], *, keeps_sentences: bool) -> None:
        self._nlp = nlp
        anywhere = _WITHOUT_PARSE | (_WITH_SENTENCES if keeps_sentences else frozenset())
        self._once = [name for name in names if self._factory(name) in anywhere]
        rest = [name for name in names if name not in self._once]
        local = 0
        while local < len(rest) and self._is_local(rest[local], rest[:local]):
            local += 1
        self._per_label, self._per_parse = rest[:local], rest[local:]
        if not any(self._factory(name) == "attribute_ruler" for name in self._per_label):  # none reads labels
            self._once, self._per_label = [*self._per_label, *self._once], []

    def template(self, doc: Doc) -> Doc:
        """A copy of a Doc before its parse, with everything that does not depend on the parse."""
        return self._run(self._once, doc.copy())

    def completed(self, template: Doc, parses: Sequence[Doc]) -> list[Doc]:
        """The parses, copies of the template, after all components."""
        if self._per_label:
            self._annotate_by_label(template, parses)
        return [self._run(self._per_parse, doc) for doc in parses]

    def _run(self, names: Sequence[str], doc: Doc) -> Doc:
        for name in names:
            doc = self._nlp.get_pipe(name)(doc)
        return doc

    def _factory(self, name: str) -> str:
        return str(self._nlp.get_pipe_meta(name).factory)

    def _is_local(self, name: str, before: Sequence[str]) -> bool:
        factory = self._factory(name)
        if factory != "attribute_ruler":
            return factory in _OF_TOKENS
        # An attribute ruler matches all rules before any of them writes, so no rule reads what another one wrote. Of
        # two attribute rulers, the second may read what the first wrote.
        return factory not in map(self._factory, before) and all(map(_is_local_rule, self._rules(name)))

    def _rules(self, name: str) -> Sequence[Mapping[str, Any]]:
        component: Any = self._nlp.get_pipe(name)
        rules: Sequence[Mapping[str, Any]] = component.patterns
        return rules

    def _label_groups(self, template: Doc) -> list[Ints]:
        """Groups of tokens such that annotations of a token depend on the labels of its own group only."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        rules = [
            rule for name in self._per_label if self._factory(name) == "attribute_ruler" for rule in self._rules(name)
        ]
        pairs = [pair for rule in rules for pair in _label_pairs(rule, template)]
        ends = np.array(pairs, np.int64).reshape(-1, 2)
        graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(template), len(template)))
        n_groups, group = connected_components(graph, directed=False)
        order = np.argsort(group, kind="stable")
        return np.split(order, np.cumsum(np.bincount(group, minlength=n_groups))[:-1])

    def _annotate_by_label(self, template: Doc, parses: Sequence[Doc]) -> None:
        labels = np.stack([doc.to_array("DEP") for doc in parses])  # (n_parses, n_tokens)
        variant_of = np.empty(labels.shape, np.int64)
        variants: list[Doc] = []
        for group in self._label_groups(template):
            choices, chosen = np.unique(labels[:, group], axis=0, return_inverse=True)
            variant_of[:, group] = chosen.reshape(-1, 1)
            variants += [template.copy() for _ in range(len(choices) - len(variants))]
            for v, variant in enumerate(variants):
                for token, label in zip(group.tolist(), choices[min(v, len(choices) - 1)].tolist(), strict=True):
                    variant[token].dep = label
        names: list[int | str] = list(_WRITTEN)
        annotations: Any = np.stack([self._run(self._per_label, variant).to_array(names) for variant in variants])
        tokens = np.arange(labels.shape[1])
        for doc, of_tokens in zip(parses, variant_of, strict=True):
            doc.from_array(names, annotations[of_tokens, tokens])


def _is_local_rule(rule: Mapping[str, Any]) -> bool:
    """Whether a rule of the attribute ruler reads and writes attributes of tokens in fixed places, and not the tree."""
    names = {name for pattern in rule["patterns"] for token in pattern for name in token}
    readable = all(name in _READ or (name.startswith(_READ_FLAGS) and name not in _NEIGHBOURS) for name in names)
    return readable and set(rule["attrs"]) <= set(_WRITTEN)


def _label_pairs(rule: Mapping[str, Any], template: Doc) -> list[tuple[int, int]]:
    """Pairs of the token that a rule may annotate and another one whose label it then reads."""
    from spacy.matcher import Matcher

    pairs = []
    for pattern in rule["patterns"]:
        read = [place for place, token in enumerate(pattern) if "DEP" in token]
        if len(pattern) > 1 and read:
            matcher = Matcher(template.vocab)  # of everything but labels
            matcher.add("rule", [[{name: token[name] for name in token if name != "DEP"} for token in pattern]])
            for _, start, end in matcher(template, allow_missing=True):
                annotated = range(start, end)[rule["index"]]
                pairs += [(annotated, start + place) for place in read]
    return pairs
