"""Components after the parser, run on several parses of one Doc no more often than their output can differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

# Factories of components that read words only, and write what those between them and the parser do not read.
_WITHOUT_PARSE = frozenset(["textcat", "textcat_multilabel"])
_WITH_SENTENCES = frozenset(["ner", "beam_ner"])
# Factories of components that read words, and perhaps what earlier components wrote of the same token.
_OF_TOKENS = frozenset("tok2vec transformer tagger morphologizer lemmatizer trainable_lemmatizer".split())
# What a rule of the attribute ruler may read of one token, and write, without its neighbours in text or tree.
_READ = frozenset("ORTH TEXT LOWER NORM SHAPE PREFIX SUFFIX LENGTH TAG POS MORPH LEMMA DEP".split())
_READ_FLAGS = ("IS_", "LIKE_")
_NEIGHBOURS = frozenset(["IS_SENT_START"])
_WRITTEN = ("TAG", "POS", "MORPH", "LEMMA")


class LaterComponents:
    """Components after the parser.

    They are of three kinds. The output of the first does not depend on the parse, so they run on the Doc before it is
    copied for each parse. The output of the second depends on no more of the parse than a token's own label, so they
    run on copies in which the tokens have their various labels, as often as some token has different labels; each
    parse then takes its tokens' annotations from these copies. The others run on each parse.

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
        while local < len(rest) and self._is_local(rest[local]):
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

    def _is_local(self, name: str) -> bool:
        factory = self._factory(name)
        if factory == "attribute_ruler":
            component: Any = self._nlp.get_pipe(name)
            return all(_is_local_rule(rule) for rule in component.patterns)
        return factory in _OF_TOKENS

    def _annotate_by_label(self, template: Doc, parses: Sequence[Doc]) -> None:
        labels = np.stack([doc.to_array("DEP") for doc in parses])  # (n_parses, n_tokens)
        choices = [np.unique(column, return_inverse=True) for column in labels.T]
        n_variants = max(len(distinct) for distinct, _ in choices)
        variants = []
        for v in range(n_variants):
            variant = template.copy()
            for token, (distinct, _) in zip(variant, choices, strict=True):
                token.dep = int(distinct[min(v, len(distinct) - 1)])
            variants.append(self._run(self._per_label, variant).to_array(list(_WRITTEN)))
        annotations = np.stack(variants)  # (n_variants, n_tokens, n_attributes)
        variant_of = np.stack([variant for _, variant in choices], axis=1)  # (n_parses, n_tokens)
        tokens = np.arange(labels.shape[1])
        for doc, chosen in zip(parses, variant_of, strict=True):
            doc.from_array(list(_WRITTEN), annotations[chosen, tokens])


def _is_local_rule(rule: Mapping[str, Any]) -> bool:
    """Whether a rule of the attribute ruler sets annotations of a token by the token's own attributes."""
    patterns = rule["patterns"]
    return set(rule["attrs"]) <= set(_WRITTEN) and all(
        len(pattern) == 1
        and all((name in _READ or name.startswith(_READ_FLAGS)) and name not in _NEIGHBOURS for name in pattern[0])
        for pattern in patterns
    )
