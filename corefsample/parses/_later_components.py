"""Components after the parser, run on several parses of one Doc; what does not depend on the parse is done once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

# Factories of components that read words only, and write what those between them and the parser do not read.
_WITHOUT_PARSE = frozenset(["textcat", "textcat_multilabel"])
_WITH_SENTENCES = frozenset(["ner", "beam_ner"])
# Factories of components that read words, and perhaps what others than the parser wrote of the same token.
_OF_TOKENS = frozenset(["tok2vec", "transformer", "tagger", "morphologizer", "lemmatizer", "trainable_lemmatizer"])
_WRITTEN = ("TAG", "POS", "MORPH", "LEMMA")
# What a rule of an attribute ruler reads of a token that is the same in all parses; also names like IS_TITLE.
_SAME = frozenset(["ORTH", "TEXT", "LOWER", "NORM", "SHAPE", "PREFIX", "SUFFIX", "LENGTH", *_WRITTEN])
_SAME_FLAGS = ("IS_", "LIKE_")
_OF_PARSE = frozenset(["IS_SENT_START"])
_LABEL = "DEP"
_LISTS = {"IN": True, "NOT_IN": False}
_Match = tuple[int, int, int, int]  # rule, hash of a pattern, first token and the one past the last
_Condition = tuple[int, frozenset[int], bool]  # place, hashes of labels, whether its token must have one of them


class LaterComponents:
    """Components after the parser.

    Those at the beginning that do not depend on the parse run on the Doc before it is copied for each parse. If an
    attribute ruler follows whose rules read no more of a parse than labels of tokens, its rules are matched once, but
    for labels. Tokens that the same rules annotate share the annotations, also those of the components behind it that
    read no more than these. The others run on each parse.

    Parameters
    ----------
    nlp
        The pipeline.
    names
        Its components after the parser, in order.
    keeps_sentences
        Whether all parses have the sentences of the Doc before parsing.

    Attributes
    ----------
    once
        Names of the components that do not depend on the parse.
    """

    def __init__(self, nlp: Language, names: Sequence[str], *, keeps_sentences: bool) -> None:
        self._nlp = nlp
        factories = {name: str(nlp.get_pipe_meta(name).factory) for name in names}
        anywhere = _WITHOUT_PARSE | (_WITH_SENTENCES if keeps_sentences else frozenset())
        independent = [name for name in names if factories[name] in anywhere]
        remaining = [name for name in names if name not in independent]

        def leading(names: Sequence[str]) -> list[str]:
            return list(takewhile(lambda name: factories[name] in _OF_TOKENS, names))

        first = leading(remaining)
        self.once, remaining = [*first, *independent], remaining[len(first) :]
        self._rules: _Rules | None = None
        self._of_annotations: list[str] = []
        ruler: Any = nlp.get_pipe(remaining[0]) if remaining and factories[remaining[0]] == "attribute_ruler" else None
        if ruler is not None and all(map(_reads_labels_only, ruler.patterns)):
            self._rules = _Rules(ruler, nlp)
            self._of_annotations = leading(remaining[1:])
            remaining = remaining[1 + len(self._of_annotations) :]
        self._per_parse = remaining

    def completed(self, template: Doc, parses: Sequence[Doc]) -> list[Doc]:
        """The parses, copies of the template after the components `once`, after all components."""
        annotated = parses if self._rules is None else self._annotated(self._rules, template, parses)
        return [self.run(self._per_parse, doc) for doc in annotated]

    def _annotated(self, rules: _Rules, template: Doc, parses: Sequence[Doc]) -> list[Doc]:
        names: list[int | str] = list(_WRITTEN)
        same, varying = rules.candidates(template)
        rows: dict[tuple[int, tuple[int, ...]], int] = {}  # token and the rules that annotate it -> row of annotations
        annotations: Any = np.zeros((0, len(names)), np.uint64)
        docs = []
        for doc in parses:
            matches = rules.matches(doc, varying)
            keys = list(enumerate(rules.of_tokens(matches, len(doc))))
            matches += same
            if keys and rows.keys() >= set(keys) and rules.write_more.isdisjoint(number for number, *_ in matches):
                docs.append(doc.from_array(names, annotations[[rows[key] for key in keys]]))
                continue
            rules.ruler.set_annotations(doc, sorted(matches))
            docs.append(self.run(self._of_annotations, doc))
            rows |= {key: row for row, key in enumerate(keys, start=len(annotations))}
            annotations = np.concatenate([annotations, doc.to_array(names)])
        return docs

    def run(self, names: Sequence[str], doc: Doc) -> Doc:
        """The Doc after some components of the pipeline."""
        for name in names:
            doc = self._nlp.get_pipe(name)(doc)
        return doc


class _Rules:
    """The rules of an attribute ruler, which match before any of them writes, so that none reads what another wrote.

    A place of the Doc is a candidate if a rule matches there in a parse with the right labels. Numbers of rules are
    those of the ruler; `write_more` has those that write a label or anything else that parses do not share.
    """

    def __init__(self, ruler: Any, nlp: Language) -> None:
        from spacy.matcher import Matcher

        self.ruler = ruler
        self.write_more = {n for n, rule in enumerate(ruler.patterns) if not set(rule["attrs"]) <= set(_WRITTEN)}
        self._matcher = Matcher(nlp.vocab)  # of everything but labels
        self._patterns: dict[int, tuple[int, list[_Condition]]] = {}
        strings: Any = nlp.vocab.strings
        for number, rule in enumerate(ruler.patterns):
            for pattern in rule["patterns"]:
                key = strings.add(f"{len(self._patterns)}")
                conditions = [
                    (place, frozenset(map(strings.add, labels)), wanted)
                    for place, token in enumerate(pattern)
                    for labels, wanted in _label_conditions(token)
                ]
                self._patterns[key] = number, conditions
                self._matcher.add(key, [[{name: token[name] for name in token if name != _LABEL} for token in pattern]])

    def candidates(self, template: Doc) -> tuple[list[_Match], list[tuple[_Match, list[_Condition]]]]:
        """Matches that all parses have, and those that some have, with their conditions on labels."""
        same, varying = [], []
        for key, start, end in self._matcher(template, allow_missing=True) if self._patterns else ():
            number, conditions = self._patterns[key]
            match = number, key, start, end
            if conditions:
                varying.append((match, [(start + place, some, wanted) for place, some, wanted in conditions]))
            else:
                same.append(match)
        return same, varying

    def matches(self, doc: Doc, varying: Sequence[tuple[_Match, list[_Condition]]]) -> list[_Match]:
        """Matches of the rules in one parse."""
        token_labels: list[int] = doc.to_array(_LABEL).tolist()
        matches = []
        for match, conditions in varying:
            for token, labels, wanted in conditions:
                if (token_labels[token] in labels) is not wanted:
                    break
            else:
                matches.append(match)
        return matches

    def of_tokens(self, matches: Sequence[_Match], n_tokens: int) -> list[tuple[int, ...]]:
        """Numbers of the rules that annotate each token."""
        numbers: list[tuple[int, ...]] = [()] * n_tokens
        for number, _, start, end in matches:
            numbers[range(start, end)[self.ruler.indices[number]]] += (number,)
        return numbers


def _reads_labels_only(rule: Mapping[str, Any]) -> bool:
    """Whether a rule depends only on the labels that tokens at fixed offsets have in a parse."""
    tokens = [token for pattern in rule["patterns"] for token in pattern]
    read = {name for token in tokens for name in token} - _SAME - {_LABEL}
    conditions = [token.get(_LABEL, "") for token in tokens]
    return all(name.startswith(_SAME_FLAGS) and name not in _OF_PARSE for name in read) and all(
        isinstance(condition, str) or set(condition) <= _LISTS.keys() for condition in conditions
    )


def _label_conditions(token: Mapping[str, Any]) -> list[tuple[Sequence[str], bool]]:
    """Labels of which a token must have one (true) or none."""
    condition = token.get(_LABEL, {})
    if isinstance(condition, str):
        return [([condition], True)]
    return [(labels, _LISTS[name]) for name, labels in condition.items()]
