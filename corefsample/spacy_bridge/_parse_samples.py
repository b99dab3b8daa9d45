"""Samples of the parses of spaCy's transition parser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from corefsample import _checks
from corefsample._random import document_key
from corefsample.errors import ParameterError
from corefsample.spacy_bridge import _transition_kernels
from corefsample.spacy_bridge._later_components import LaterComponents
from corefsample.spacy_bridge._parse_temperatures import parse_temperature
from corefsample.spacy_bridge._words import require_doc

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

__all__ = ["Sentences", "parse_samples"]

Sentences = Literal["keep", "sample"]
_SENTENCES: tuple[str, ...] = get_args(Sentences)

_BLOCK = 256  # samples that are drawn together
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
        At least 1.
    temperature
        Above 0. Below 1 the samples are closer to the usual parse, above 1 they vary more. None: that of
        `parse_temperature`.
    seed
        In [0, 2**64).
    sentences
        "keep": sentences begin where those of `doc` do or, if it has none, where those of the usual parse do; no
        transition is valid that contradicts this. "sample": the parser draws them, too.
    doc_id
        Gives each document a random stream of its own. None: its text.

    Returns
    -------
    list of Doc
        One per sample, with the annotations of the whole pipeline. Equal parses are one and the same Doc.

    Raises
    ------
    ParameterError
        If the pipeline has no transition parser, `doc` is not a Doc, or another parameter breaks its rule.

    References
    ----------
    Keith, Blodgett & O'Connor (2018), "Monte Carlo Syntax Marginals for Exploring and Using Dependency Parses";
    Maddison, Tarlow & Minka (2014) for Gumbel noise.
    """
    parser = _TransitionParser(nlp)
    require_doc(doc)
    n_samples = _checks.n_samples(n_samples, 1)
    temperature = parse_temperature(nlp) if temperature is None else _checks.above_zero("temperature", temperature)
    _checks.choice("sentences", sentences, _SENTENCES)
    key = document_key(seed, doc.text if doc_id is None else doc_id)
    start = parser.unparsed(doc, sentences == "keep")
    if not len(start):
        return [nlp(start)] * n_samples
    later = LaterComponents(nlp, parser.later, keeps_sentences=sentences == "keep")
    template = later.template(start)
    distinct: dict[tuple[Any, ...], Doc] = {}
    order = []
    for state in parser.final_states(start, n_samples, temperature, key):
        arcs = tuple(sorted((arc["child"], arc["head"], arc["label"]) for arc in state.arcs))
        if arcs not in distinct:
            distinct[arcs] = parser.annotated(template.copy(), state)
        order.append(arcs)
    completed = dict(zip(distinct, later.completed(template, list(distinct.values())), strict=True))
    return [completed[arcs] for arcs in order]


class _TransitionParser:
    """The parser of a pipeline, the components before it, and the names of those after it."""

    def __init__(self, nlp: Language) -> None:
        from spacy.pipeline import DependencyParser

        components = list(getattr(nlp, "pipeline", ()))
        places = [place for place, (_, each) in enumerate(components) if isinstance(each, DependencyParser)]
        if not places:
            names = ", ".join(name for name, _ in components) or "none"
            raise ParameterError(
                f"must have a transition parser (spaCy's parser), got the components {names}", parameter="nlp"
            )
        place = places[-1]
        self._nlp = nlp
        self._parser: Any = components[place][1]
        self._before: list[Any] = [component for _, component in components[:place]]
        self.later = [name for name, _ in components[place + 1 :]]

    def unparsed(self, doc: Doc, keep: bool) -> Doc:
        """A Doc of the same words after the components before the parser; with the sentences to keep."""
        from spacy.tokens import Doc as NewDoc

        words, spaces = [token.text for token in doc], [bool(token.whitespace_) for token in doc]
        new = NewDoc(self._nlp.vocab, words=words, spaces=spaces, user_data=dict(doc.user_data))
        for token, given in zip(new, doc, strict=True):
            if token.norm_ != given.norm_:  # the tokenizer's norm of "n't" is "not"
                token.norm_ = given.norm_
        for component in self._before:
            new = component(new)
        if keep and len(new):
            source = doc if doc.has_annotation("SENT_START") else self._parser(new.copy())
            starts = [source[t].is_sent_start for t in range(len(source))]
            for token, start in zip(new, starts, strict=True):
                if start is not None:
                    token.is_sent_start = start
        return new

    def annotated(self, doc: Doc, state: Any) -> Doc:
        """The Doc with the parse of a final state."""
        self._parser.set_annotations([doc], [state])
        return doc

    def final_states(self, start: Doc, n_samples: int, temperature: float, key: int) -> list[Any]:
        """One final state of the parser per sample."""
        step_model = self._parser.model.predict([start])
        layer = _LastLayer(step_model, self._parser.moves)
        finished: list[Any] = []
        for first in range(0, n_samples, _BLOCK):
            states = [self._initial(start) for _ in range(min(_BLOCK, n_samples - first))]
            self._finish(states, step_model, layer, 1.0 / temperature, np.uint64(key), first)
            finished += states
        step_model.clear_memory()
        return finished

    def _initial(self, start: Doc) -> Any:
        return self._parser.moves.init_batch([start])[0]

    def _finish(
        self, states: list[Any], step_model: Any, layer: _LastLayer, inverse: float, key: np.uint64, first: int
    ) -> None:
        """Apply transitions to all states until all are final."""
        waiting, step = list(enumerate(states, start=first)), 0
        row, sums = np.empty(layer.n_moves, np.float32), np.empty(layer.n_moves)
        all_scores = np.empty((len(states), layer.n_moves), np.float32)
        while waiting := [(s, state) for s, state in waiting if not state.is_final()]:
            current = [state for _, state in waiting]
            samples = np.array([s for s, _ in waiting], np.int64)
            hidden, _ = step_model.state2vec(step_model.get_token_ids(current), False)
            scores = all_scores[: len(current)]
            _transition_kernels.perturbed_scores(hidden, *layer.arrays, inverse, key, samples, step, row, sums, scores)
            self._parser.transition_states(current, scores)
            step += 1


class _LastLayer:
    """The layer from hidden units to scores of transitions, and the groups of transitions valid in the same states."""

    def __init__(self, step_model: Any, moves: Any) -> None:
        from thinc import api

        as_array: Any = api.to_numpy  # from a graphics processor, too
        self.n_moves = int(moves.n_moves)
        if step_model.vec2scores is None:  # the hidden units are the scores
            weights, bias = np.eye(self.n_moves, dtype=np.float32), np.zeros(self.n_moves, np.float32)
        else:
            weights, bias = (as_array(step_model.vec2scores.get_param(name)) for name in ("W", "b"))
        groups: dict[str, list[int]] = {}
        for move in np.flatnonzero(step_model._class_mask).tolist():  # others were never seen in training
            kind, _, label = moves.get_class_name(move).partition("-")
            groups.setdefault(f"{kind}-{label}" if label == _SUBTOKEN else kind, []).append(move)
        members = np.concatenate([np.array(group, np.int64) for group in groups.values()])
        bounds = np.cumsum([0, *(len(group) for group in groups.values())], dtype=np.int64)
        self.arrays = np.ascontiguousarray(weights.T), bias, members, bounds
