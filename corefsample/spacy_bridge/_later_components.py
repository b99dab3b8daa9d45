"""Components after the parser, run on several parses of one Doc; what does not depend on the parse is done once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

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


class LaterComponents:
    """Components after the parser.

    Those at the beginning that do not depend on the parse run on the Doc before it is copied for each parse. If an
    attribute ruler follows, its rules on words and tags are matched once. Parses in which the same of its rules match
    in the same places share the annotations, also those of the components behind it that read no more than these. The
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
        factories = {name: str(nlp.get_pipe_meta(name).factory) for name in names}
        anywhere = _WITHOUT_PARSE | (_WITH_SENTENCES if keeps_sentences else frozenset())
        independent = [name for name in names if factories[name] in anywhere]
        rest = [name for name in names if name not in independent]

        def leading(names: Sequence[str]) -> list[str]:
            return list(takewhile(lambda name: factories[name] in _OF_TOKENS, names))

        first = leading(rest)
        self._once, rest = [*first, *independent], rest[len(first) :]
        self._rules: _Rules | None = None
        self._of_annotations: list[str] = []
        if rest and factories[rest[0]] == "attribute_ruler":
            self._rules = _Rules(nlp.get_pipe(rest[0]), nlp)
            self._of_annotations = leading(rest[1:])
            rest = rest[1 + len(self._of_annotations) :]
        self._per_parse = rest

    def template(self, doc: Doc) -> Doc:
        """A copy of a Doc before its parse, with everything that does not depend on the parse."""
        return self._run(self._once, doc.copy())

    def completed(self, template: Doc, parses: Sequence[Doc]) -> list[Doc]:
        """The parses, copies of the template, after all components."""
        annotated = parses if self._rules is None else self._annotated(self._rules, template, parses)
        return [self._run(self._per_parse, doc) for doc in annotated]

    def _annotated(self, rules: _Rules, template: Doc, parses: Sequence[Doc]) -> list[Doc]:
        names: list[int | str] = list(_WRITTEN)
        same = rules.same_matches(template)
        known: dict[tuple[Any, ...], Any] = {}  # matches -> annotations
        docs = []
        for doc in parses:
            matches = rules.matches(doc, same)
            if matches in known:
                docs.append(doc.from_array(names, known[matches]))
                continue
            rules.annotate(doc, matches)
            docs.append(self._run(self._of_annotations, doc))
            if not rules.write_more(matches):
                known[matches] = doc.to_array(names)
        return docs

    def _run(self, names: Sequence[str], doc: Doc) -> Doc:
        for name in names:
            doc = self._nlp.get_pipe(name)(doc)
        return doc


class _Rules:
    """The rules of an attribute ruler, which match before any of them writes, so that none reads what another wrote.

    A match is the rule's number, its name as a hash, and the first token and the one past the last, as the ruler has
    it.
    """

    def __init__(self, ruler: Any, nlp: Language) -> None:
        from spacy.matcher import Matcher

        self._ruler, self._strings = ruler, nlp.vocab.strings
        self._same, self._others = Matcher(nlp.vocab), Matcher(nlp.vocab)
        self._write_more: set[int] = set()
        for number, rule in enumerate(ruler.patterns):
            read = {name for pattern in rule["patterns"] for token in pattern for name in token} - _SAME
            is_same = all(name.startswith(_SAME_FLAGS) and name not in _OF_PARSE for name in read)
            (self._same if is_same else self._others).add(str(number), rule["patterns"])
            if not set(rule["attrs"]) <= set(_WRITTEN):
                self._write_more.add(number)

    def same_matches(self, template: Doc) -> list[tuple[int, ...]]:
        """Matches that all parses have."""
        return self._numbered(self._same, template)

    def matches(self, doc: Doc, same: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
        """All matches, in the order in which they are applied."""
        return tuple(sorted([*same, *self._numbered(self._others, doc)]))

    def annotate(self, doc: Doc, matches: Sequence[tuple[int, ...]]) -> None:
        """Apply rules that match."""
        self._ruler.set_annotations(doc, matches)

    def write_more(self, matches: Sequence[tuple[int, ...]]) -> bool:
        """Whether one of the rules that match writes a label or anything else that parses do not share."""
        return not self._write_more.isdisjoint(number for number, *_ in matches)

    def _numbered(self, matcher: Any, doc: Doc) -> list[tuple[int, ...]]:
        found = matcher(doc, allow_missing=True) if len(matcher) else ()  # spaCy warns about one without rules
        return [(int(self._strings[name]), name, *place) for name, *place in found]
