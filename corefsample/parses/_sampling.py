"""Samples of the parses of spaCy's transition parser, at the temperature of its pipeline.

Components after the parser run on several parses of one Doc; what does not depend on the parse is done once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from corefsample import _checks
from corefsample._random import document_key
from corefsample.parses import _transition_kernels
from corefsample.parses._transition_kernels import Layers, Singles, States

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

Sentences = Literal["keep", "sample"]
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
_ARCS: list[int | str] = ["HEAD", "DEP"]
_MOST_STATES = 512  # states, and tokens, that are worked on together
_MOST_TOKENS = 1024
_LEAST_TEMPERATURE = 1e-30  # below it, scores in single precision would be infinite; all give the usual parse
_SUBTOKEN = "subtok"  # a label for which spaCy's transitions have conditions of their own


def parse_samples(
    nlp: Language,
    doc: Doc,
    n_samples: int,
    *,
    temperature: float | None = None,
    seed: int = 0,
    sentences: Sentences = "keep",
    doc_id: str | None = None,
) -> list[Doc]:
    """Draw parses of a Doc from the distribution of a pipeline's transition parser.

    The parser scores the transitions that are possible in a state and takes the best. Here each transition is drawn
    from the softmax of these scores divided by the temperature, over the transitions that are valid in the state: the
    largest of the scores plus independent Gumbel noise is such a draw.

    Components after the parser run on each distinct parse. Those whose output cannot depend on the parse run once, and
    those that see no more of it than a token's own label once per label.

    A sample depends only on the pipeline, the words and (seed, doc_id, index of the sample): the first 10 of 100
    samples are the same as 10 samples. The random words are SplitMix64's, seeded by a key of seed and document, the
    sample's index and the number of the transition.

    Parameters
    ----------
    nlp
        Pipeline with a parser of spaCy's factory "parser" or "beam_parser".
    doc
        A Doc of the pipeline, parsed or not; it is not changed. Its words, norms, spaces, user data and, if it has
        them, its sentences are used. Everything else is predicted again.
    n_samples
        Number of parses to draw, at least 1.
    temperature
        Divisor of the transitions' scores, above 0. Below 1, the samples are closer to the usual parse; above 1, they
        vary more. By default, the result of `parse_temperature`.
    seed
        Seed of the draws, in [0, 2**64).
    sentences
        "keep": sentences begin where those of `doc` do or, if it has none, where those of the usual parse do; no
        transition is valid that contradicts this. "sample": the parser draws them, too.
    doc_id
        Id that gives the document a random stream of its own. By default, the text of the document.

    Returns
    -------
    list of Doc
        One per sample, with the annotations of the whole pipeline. Equal parses are one and the same Doc.

    Raises
    ------
    ParameterError
        If the pipeline has no transition parser, `doc` is not a Doc, `n_samples` is below 1, `temperature` is not above
        0, `seed` is out of range, or `sentences` is neither "keep" nor "sample".

    References
    ----------
    Keith, Blodgett & O'Connor (2018), "Monte Carlo Syntax Marginals for Exploring and Using Dependency Parses";
    Maddison, Tarlow & Minka (2014) for Gumbel noise.
    """
    return ParseSampler(nlp, temperature=temperature, sentences=sentences).samples(
        doc, n_samples, seed=seed, doc_id=doc_id
    )


class ParseSampler:
    """Draws parses of many Docs of a pipeline, as `parse_samples` does.

    Parameters
    ----------
    nlp, temperature, sentences
        Pipeline, temperature, and treatment of sentence boundaries: see `parse_samples`.

    Raises
    ------
    ParameterError
        If the pipeline has no transition parser, or another parameter breaks its rule.
    """

    def __init__(self, nlp: Language, *, temperature: float | None = None, sentences: Sentences = "keep") -> None:
        from spacy.pipeline import DependencyParser

        components = list(getattr(nlp, "pipeline", ()))
        names = [name for name, _ in components]
        places = [place for place, (_, component) in enumerate(components) if isinstance(component, DependencyParser)]
        rule = "must have a transition parser (spaCy's parser)"
        _checks.require("nlp", places, rule, f"the components {', '.join(names) or 'none'}")
        self._before, self._name, self._after = names[: places[-1]], names[places[-1]], names[places[-1] + 1 :]
        self._parser: Any = components[places[-1]][1]
        self._reader: Any = None  # reads the tokens at which states look: the model of any Doc
        self._temperature = (
            parse_temperature(nlp) if temperature is None else _checks.above_zero("temperature", temperature)
        )
        _checks.choice("sentences", sentences, get_args(Sentences))
        self._nlp, self._keeps = nlp, sentences == "keep"
        self._later = LaterComponents(nlp, self._after, keeps_sentences=self._keeps)

    def samples(self, doc: Doc, n_samples: int, *, seed: int = 0, doc_id: str | None = None) -> list[Doc]:
        """Draw parses of a Doc: see `parse_samples`."""
        _checks.spacy_doc(doc)
        n_samples = _checks.n_samples(n_samples, 1)
        key = document_key(seed, doc.text if doc_id is None else doc_id)
        start = self._unparsed(doc)
        return self._completed(start, self._final_states([start], n_samples, [key])[0])

    def parsed_texts(
        self, texts: Sequence[str], n_samples: int, *, seed: int = 0, doc_ids: Sequence[str] | None = None
    ) -> list[tuple[Doc, list[Doc]]]:
        """Parse texts, and draw parses of each.

        Components before the parser run once on each text, and the draws are made together.

        Parameters
        ----------
        texts
            Texts to parse.
        n_samples, seed
            Number of parses to draw of each text, and seed of the draws: see `parse_samples`.
        doc_ids
            One `doc_id` per text, which gives it a random stream of its own. By default, the texts.

        Returns
        -------
        list of (Doc, list of Doc)
            One pair per text: the pipeline's usual parse, and what `parse_samples` returns for the text. A sample that
            is the usual parse is the same Doc.
        """
        n_samples = _checks.n_samples(n_samples, 1)
        keys = [document_key(seed, name) for name in (texts if doc_ids is None else doc_ids)]
        starts = list(self._nlp.pipe(texts, disable=[self._name, *self._after]))
        parsed = list(self._nlp.pipe([doc.copy() for doc in starts], disable=[*self._before, *self._after]))
        for start, doc in zip(starts, parsed, strict=True):
            if self._keeps and len(start):
                begins: Any = doc.to_array(["SENT_START"])
                start.from_array(["SENT_START"], begins)
        states = self._final_states(starts, n_samples, keys)
        completed = [self._completed(*each) for each in zip(starts, states, parsed, strict=True)]
        return [(own, samples) for own, *samples in completed]

    def _unparsed(self, doc: Doc) -> Doc:
        """A Doc of the same words after the components before the parser; with the sentences to keep."""
        from spacy.tokens import Doc as NewDoc

        words, spaces = [token.text for token in doc], [bool(token.whitespace_) for token in doc]
        new = NewDoc(self._nlp.vocab, words=words, spaces=spaces, user_data=dict(doc.user_data))
        for token, original in zip(new, doc, strict=True):
            if token.norm_ != original.norm_:  # the tokenizer's norm of "n't" is "not"
                token.norm_ = original.norm_
        new = self._later.run(self._before, new)
        if self._keeps and len(new):
            source = doc if doc.has_annotation("SENT_START") else self._later.run([self._name], new.copy())
            starts = [source[t].is_sent_start for t in range(len(source))]
            for token, start in zip(new, starts, strict=True):
                if start is not None:
                    token.is_sent_start = start
        return new

    def _final_states(self, docs: Sequence[Doc], n_samples: int, keys: Sequence[int]) -> list[list[Any]]:
        """Draw the transitions of each Doc, which has passed the components before the parser.

        Transitions that contradict the sentence boundaries of the Doc are not valid.

        Parameters
        ----------
        docs, n_samples
            Docs, and number of samples per Doc.
        keys
            Key of the random stream of each Doc.

        Returns
        -------
        list of lists
            For each Doc, one final state per sample, which is None for an empty Doc.
        """
        finished: list[list[Any]] = [[None] * n_samples if not len(doc) else [] for doc in docs]
        filled = [number for number, doc in enumerate(docs) if len(doc)]
        if self._reader is None and filled:
            self._reader = self._parser.model.predict([min((docs[number] for number in filled), key=len)])
            self._upper = _last_layer(self._reader, self._parser.moves)
        for group in _groups([len(docs[number]) for number in filled]):
            numbers = filled[group.start : group.stop]
            some = [docs[number] for number in numbers]
            layers, first_rows = self._layers(some)
            of_keys = np.array([keys[number] for number in numbers], np.uint64)
            block = max(1, _MOST_STATES // len(some))
            for first in range(0, n_samples, block):
                samples = np.arange(first, min(first + block, n_samples))
                drawn = [[self._parser.moves.init_batch([doc])[0] for _ in samples] for doc in some]
                place, draws = np.repeat(np.arange(len(some)), len(samples)), np.tile(samples, len(some))
                states = [state for of_doc in drawn for state in of_doc]
                self._finish(states, layers, first_rows[place], of_keys[place], draws)
                for number, of_doc in zip(numbers, drawn, strict=True):
                    finished[number] += of_doc
        return finished

    def _layers(self, docs: Sequence[Doc]) -> tuple[Layers, Any]:
        """The parser's layers for some Docs, and the first row of each; rows of a Doc do not depend on the others."""
        from thinc import api

        model = self._parser.model
        as_array: Any = api.to_numpy  # from a graphics processor, too
        lower = model.get_ref("lower")
        features = [as_array(lower.predict(model.get_ref("tok2vec").predict([doc]))) for doc in docs]
        rows = np.cumsum([0, *(len(each) for each in features)], dtype=np.int64)
        joined = features[0] if len(features) == 1 else np.concatenate(features)
        flat = joined.reshape(len(joined), joined.shape[1], -1)
        bias = np.ascontiguousarray(as_array(lower.get_param("b"))).reshape(-1)
        return Layers(np.ascontiguousarray(flat), bias, *self._upper), rows[:-1]

    def _finish(self, states: list[Any], layers: Layers, rows: Any, keys: Any, samples: Any) -> None:
        """Apply transitions to all states until all are final."""
        inverse, step = 1.0 / max(self._temperature, _LEAST_TEMPERATURE), 0
        room = np.empty((len(states), len(layers.bias)), np.float32)
        while states:
            tokens = self._reader.get_token_ids(states)
            scores = room[: len(states)]
            batch = States(tokens, rows, keys, samples)
            _transition_kernels.perturbed_scores(layers, batch, inverse, step, scores)
            running = self._parser.transition_states(states, scores)
            if len(running) < len(states):
                left = np.array([not state.is_final() for state in states], np.bool_)
                rows, keys, samples = rows[left], keys[left], samples[left]
            states, step = running, step + 1

    def _completed(self, start: Doc, states: Sequence[Any], parsed: Doc | None = None) -> list[Doc]:
        """The Docs of a parse and of final states, after all components; equal parses are the same Doc."""
        template = self._later.run(self._later.once, start.copy())
        distinct: dict[bytes, Doc] = {}
        order = []
        for state in states if parsed is None else [parsed, *states]:
            doc = template.copy()
            if state is parsed and parsed is not None:
                doc.from_array(_ARCS, parsed.to_array(_ARCS))
            elif state is not None:
                self._parser.set_annotations([doc], [state])
            order.append(doc.to_array(_ARCS).tobytes())
            distinct.setdefault(order[-1], doc)
        completed = dict(zip(distinct, self._later.completed(template, list(distinct.values())), strict=True))
        return [completed[arcs] for arcs in order]


# Of the best Brier score on GUM's dev part, by `benchmarks/parse_calibration.py --words 300`: see docs/parses.md.
PARSE_TEMPERATURES = {"en_gum_ud": 1.62, "en_core_web_sm": 1.54}
OTHERS = 1.58  # the mean of both: no measurement


def parse_temperature(nlp: Language) -> float:
    """Temperature for samples of a pipeline's parses.

    The temperatures of en_gum_ud and en_core_web_sm were fitted to treebanks; they also apply to packages whose name
    has a word added to one of these. Other pipelines have the mean of both, which was not measured for them.

    Parameters
    ----------
    nlp
        The pipeline, recognised by its language and name.

    Raises
    ------
    ParameterError
        If `nlp` is not a spaCy pipeline.
    """
    meta: Any = getattr(nlp, "meta", None)
    _checks.require("nlp", isinstance(meta, dict), "must be a spaCy pipeline", type(nlp).__name__)
    name = f"{meta.get('lang')}_{meta.get('name')}"
    for package, temperature in PARSE_TEMPERATURES.items():
        if name == package or name.startswith(f"{package}_"):
            return temperature
    return OTHERS


def _groups(lengths: Sequence[int]) -> Iterator[range]:
    """Ranges of Docs with few tokens together, in order."""
    first = n_tokens = 0
    for number, length in enumerate(lengths):
        if number > first and n_tokens + length > _MOST_TOKENS:
            yield range(first, number)
            first, n_tokens = number, 0
        n_tokens += length
    if lengths:
        yield range(first, len(lengths))


def _last_layer(step_model: Any, moves: Any) -> tuple[Singles, Singles, Any, Any]:
    """Weights and bias from hidden units to scores; and groups of transitions valid in the same states."""
    from thinc import api

    as_array: Any = api.to_numpy
    n_moves = int(moves.n_moves)
    if step_model.vec2scores is None:  # the hidden units are the scores
        weights, bias = np.eye(n_moves, dtype=np.float32), np.zeros(n_moves, np.float32)
    else:
        weights, bias = (as_array(step_model.vec2scores.get_param(name)) for name in ("W", "b"))
    groups: dict[str, list[int]] = {}
    for move in np.flatnonzero(step_model._class_mask).tolist():  # others were never seen in training
        kind, _, label = moves.get_class_name(move).partition("-")
        groups.setdefault(f"{kind}-{label}" if label == _SUBTOKEN else kind, []).append(move)
    members = np.concatenate([np.array(group, np.int64) for group in groups.values()])
    bounds = np.cumsum([0, *(len(group) for group in groups.values())], dtype=np.int64)
    return np.ascontiguousarray(weights.T), np.ascontiguousarray(bias), members, bounds


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
