"""Components after the parser, run on several parses of one Doc no more often than their output can differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample._arrays import Ints
from corefsample.spacy_bridge._label_readers import LabelReaders, is_local_rule

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

# Factories of components that read words only, and write what those between them and the parser do not read.
_WITHOUT_PARSE = frozenset(["textcat", "textcat_multilabel"])
_WITH_SENTENCES = frozenset(["ner", "beam_ner"])
# Factories of components that read words, and perhaps what others than the parser wrote of the same token.
_OF_TOKENS = frozenset(["tok2vec", "transformer", "tagger", "morphologizer", "lemmatizer", "trainable_lemmatizer"])
_RULER = "attribute_ruler"
_WRITTEN = ("TAG", "POS", "MORPH", "LEMMA", "DEP")


class LaterComponents:
    """Components after the parser.

    They are of three kinds. The output of the first does not depend on the parse, so they run on the Doc before it is
    copied for each parse. The second are an attribute ruler whose rules read no more of the parse than labels of tokens
    in fixed places, and components that read what it wrote. They run on copies in which tokens have various labels, as
    often as these make a difference to the rules, and each parse takes its tokens' annotations from the copies. The
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
        once = [name for name in names if self._factory(name) in anywhere]
        rest = [name for name in names if name not in once]
        local = 0
        while local < len(rest) and self._is_local(rest[local], rest[:local]):
            local += 1
        rulers = [place for place in range(local) if self._factory(rest[place]) == _RULER]
        ruler = rulers[0] if rulers else local
        self._once, self._by_label, self._per_parse = [*rest[:ruler], *once], rest[ruler:local], rest[local:]
        self._readers = LabelReaders(nlp.vocab, self._rules(rest[ruler])) if rulers else None

    def template(self, doc: Doc) -> Doc:
        """A copy of a Doc before its parse, with everything that does not depend on the parse."""
        return self._run(self._once, doc.copy())

    def completed(self, template: Doc, parses: Sequence[Doc], own: tuple[Doc, Ints] | None = None) -> list[Doc]:
        """The parses, copies of the template, after all components.

        `own` is another parse of the Doc that has passed all components, and its labels before they ran: parses take
        annotations from it where they can.
        """
        if self._readers is not None:
            known = None if self._per_parse else own  # these may have changed annotations
            self._annotate_by_label(self._readers, template, parses, known)
        return [self._run(self._per_parse, doc) for doc in parses]

    def _run(self, names: Sequence[str], doc: Doc) -> Doc:
        for name in names:
            doc = self._nlp.get_pipe(name)(doc)
        return doc

    def _factory(self, name: str) -> str:
        return str(self._nlp.get_pipe_meta(name).factory)

    def _is_local(self, name: str, before: Sequence[str]) -> bool:
        factory = self._factory(name)
        if factory != _RULER:
            return factory in _OF_TOKENS
        # An attribute ruler matches all rules before any of them writes, so no rule reads what another one wrote. Of
        # two attribute rulers, the second may read what the first wrote.
        return factory not in map(self._factory, before) and all(map(is_local_rule, self._rules(name)))

    def _rules(self, name: str) -> Sequence[Mapping[str, Any]]:
        component: Any = self._nlp.get_pipe(name)
        rules: Sequence[Mapping[str, Any]] = component.patterns
        return rules

    def _annotate_by_label(
        self, readers: LabelReaders, template: Doc, parses: Sequence[Doc], own: tuple[Doc, Ints] | None
    ) -> None:
        names: list[int | str] = list(_WRITTEN)
        given = [doc.to_array("DEP") for doc in parses]
        labels = np.stack(given if own is None else [own[1], *given])  # (n_parses, n_tokens)
        variants = readers.variants(template, labels)
        copies = [] if own is None else [own[0]]
        for of_tokens in variants.labels[len(copies) :]:
            variant = template.copy()
            variant.from_array(["DEP"], of_tokens.reshape(-1, 1))
            copies.append(self._run(self._by_label, variant))
        annotations: Any = np.stack([copy.to_array(names) for copy in copies])
        tokens = np.arange(labels.shape[1])
        for doc, own_labels, chosen in zip(parses, given, variants.chosen[-len(parses) :], strict=True):
            new = annotations[chosen, tokens]
            new[:, -1] = np.where(variants.writes_label, new[:, -1], own_labels)
            doc.from_array(names, new)
