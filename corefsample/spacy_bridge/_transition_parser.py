"""A pipeline's transition parser: final states after transitions that are drawn at random."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample.errors import ParameterError
from corefsample.spacy_bridge import _transition_kernels
from corefsample.spacy_bridge._transition_kernels import Layers, Scratch, Singles, States

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

_MOST_STATES = 512  # states, and tokens, that are worked on together
_MOST_TOKENS = 1024
_LEAST_TEMPERATURE = 1e-30  # below it, scores in single precision would be infinite; all give the usual parse
_SUBTOKEN = "subtok"  # a label for which spaCy's transitions have conditions of their own


class TransitionParser:
    """The parser of a pipeline.

    Attributes
    ----------
    before, later
        Names of the components before and after it.

    Raises
    ------
    ParameterError
        If the pipeline has none of spaCy's factory "parser" or "beam_parser".
    """

    def __init__(self, nlp: Language) -> None:
        from spacy.pipeline import DependencyParser

        components = list(getattr(nlp, "pipeline", ()))
        places = [place for place, (_, each) in enumerate(components) if isinstance(each, DependencyParser)]
        names = [name for name, _ in components]
        if not places:
            raise ParameterError(
                f"must have a transition parser (spaCy's parser), got the components {', '.join(names) or 'none'}",
                parameter="nlp",
            )
        place = places[-1]
        self.before, self.name, self.later = names[:place], names[place], names[place + 1 :]
        self._parser: Any = components[place][1]
        self._reader: Any = None  # reads the tokens at which states look: the model of any Doc

    def final_states(self, docs: Sequence[Doc], n_samples: int, temperature: float, keys: Sequence[int]) -> list[Any]:
        """Draw the transitions of each Doc, which has passed the components before the parser.

        Parameters
        ----------
        docs
            With at least one token each. No transition is valid that contradicts their sentences.
        n_samples, temperature
            As of `parse_samples`.
        keys
            Of each Doc's random stream.

        Returns
        -------
        list of lists
            For each Doc, one final state per sample.
        """
        if self._reader is None and docs:
            self._reader = self._parser.model.predict([min(docs, key=len)])
            self._upper = _last_layer(self._reader, self._parser.moves)
        inverse = 1.0 / max(temperature, _LEAST_TEMPERATURE)
        finished: list[Any] = []
        for group in _groups([len(doc) for doc in docs]):
            of_group: list[Any] = [[] for _ in group]
            some = docs[group.start : group.stop]
            layers, first_rows = self._layers(some)
            of_keys = np.array(keys[group.start : group.stop], np.uint64)
            block = max(1, _MOST_STATES // len(some))
            for first in range(0, n_samples, block):
                samples = range(first, min(first + block, n_samples))
                drawn = [[self._parser.moves.init_batch([doc])[0] for _ in samples] for doc in some]
                number = np.repeat(np.arange(len(some)), len(samples))
                draws = np.tile(np.array(samples, np.int64), len(some))
                states = [state for of_doc in drawn for state in of_doc]
                self._finish(states, layers, first_rows[number], of_keys[number], draws, inverse)
                for of_doc, new in zip(of_group, drawn, strict=True):
                    of_doc += new
            finished += of_group
        return finished

    def annotate(self, doc: Doc, state: Any) -> Doc:
        """Give a Doc the parse of a final state."""
        self._parser.set_annotations([doc], [state])
        return doc

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

    def _finish(self, states: list[Any], layers: Layers, rows: Any, keys: Any, samples: Any, inverse: float) -> None:
        """Apply transitions to all states until all are final."""
        n_moves = len(layers.bias)
        scratch = Scratch(np.empty_like(layers.feature_bias), np.empty(n_moves, np.float32), np.empty(n_moves))
        room, step = np.empty((len(states), n_moves), np.float32), 0
        while states:
            tokens = self._reader.get_token_ids(states)
            scores = room[: len(states)]
            batch = States(tokens, rows, keys, samples)
            _transition_kernels.perturbed_scores(layers, batch, inverse, step, scratch, scores)
            running = self._parser.transition_states(states, scores)
            if len(running) < len(states):
                left = np.array([not state.is_final() for state in states], np.bool_)
                rows, keys, samples = rows[left], keys[left], samples[left]
            states, step = running, step + 1


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
