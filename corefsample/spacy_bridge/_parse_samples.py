"""Samples of the parses of spaCy's transition parser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from corefsample import _checks
from corefsample._random import document_key
from corefsample.errors import ParameterError
from corefsample.spacy_bridge._later_components import LaterComponents
from corefsample.spacy_bridge._transition_parser import TransitionParser
from corefsample.spacy_bridge._words import require_doc

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc


Sentences = Literal["keep", "sample"]

_SENTENCES: tuple[str, ...] = get_args(Sentences)

_ARCS: list[int | str] = ["HEAD", "DEP"]


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
    return ParseSampler(nlp, temperature=temperature, sentences=sentences).samples(
        doc, n_samples, seed=seed, doc_id=doc_id
    )


class ParseSampler:
    """Draws parses of many Docs of a pipeline, as `parse_samples` does.

    Parameters
    ----------
    nlp, temperature, sentences
        As of `parse_samples`.

    Raises
    ------
    ParameterError
        If the pipeline has no transition parser, or another parameter breaks its rule.
    """

    def __init__(self, nlp: Language, *, temperature: float | None = None, sentences: Sentences = "keep") -> None:
        self._parser = TransitionParser(nlp)
        self._temperature = (
            parse_temperature(nlp) if temperature is None else _checks.above_zero("temperature", temperature)
        )
        _checks.choice("sentences", sentences, _SENTENCES)
        self._nlp, self._keeps = nlp, sentences == "keep"
        self._later = LaterComponents(nlp, self._parser.later, keeps_sentences=self._keeps)

    def samples(self, doc: Doc, n_samples: int, *, seed: int = 0, doc_id: str | None = None) -> list[Doc]:
        """Draw parses of a Doc: see `parse_samples`."""
        require_doc(doc)
        n_samples = _checks.n_samples(n_samples, 1)
        key = document_key(seed, doc.text if doc_id is None else doc_id)
        start = self._unparsed(doc)
        return self._completed(start, self._states([start], n_samples, [key])[0])

    def parsed_texts(
        self, texts: Sequence[str], n_samples: int, *, seed: int = 0, doc_ids: Sequence[str] | None = None
    ) -> list[tuple[Doc, list[Doc]]]:
        """Parse texts, and draw parses of each.

        Components before the parser run once on each text, and the draws are made together.

        Parameters
        ----------
        texts
            Any texts.
        n_samples, seed
            As of `parse_samples`.
        doc_ids
            A `doc_id` of each text. None: the texts.

        Returns
        -------
        list of (Doc, list of Doc)
            Of each text the pipeline's own parse, and what `parse_samples` returns for it. A sample that is the
            pipeline's own parse is the same Doc.
        """
        n_samples = _checks.n_samples(n_samples, 1)
        keys = [document_key(seed, name) for name in (texts if doc_ids is None else doc_ids)]
        before, parser, later = self._parser.before, self._parser.name, self._parser.later
        starts = list(self._nlp.pipe(texts, disable=[parser, *later]))
        parsed = list(self._nlp.pipe([doc.copy() for doc in starts], disable=[*before, *later]))
        for start, doc in zip(starts, parsed, strict=True):
            if self._keeps and len(start):
                begins: Any = doc.to_array(["SENT_START"])
                start.from_array(["SENT_START"], begins)
        states = self._states(starts, n_samples, keys)
        completed = [self._completed(*each) for each in zip(starts, states, parsed, strict=True)]
        return [(own, samples) for own, *samples in completed]

    def _unparsed(self, doc: Doc) -> Doc:
        """A Doc of the same words after the components before the parser; with the sentences to keep."""
        from spacy.tokens import Doc as NewDoc

        words, spaces = [token.text for token in doc], [bool(token.whitespace_) for token in doc]
        new = NewDoc(self._nlp.vocab, words=words, spaces=spaces, user_data=dict(doc.user_data))
        for token, given in zip(new, doc, strict=True):
            if token.norm_ != given.norm_:  # the tokenizer's norm of "n't" is "not"
                token.norm_ = given.norm_
        new = self._run(self._parser.before, new)
        if self._keeps and len(new):
            source = doc if doc.has_annotation("SENT_START") else self._run([self._parser.name], new.copy())
            starts = [source[t].is_sent_start for t in range(len(source))]
            for token, start in zip(new, starts, strict=True):
                if start is not None:
                    token.is_sent_start = start
        return new

    def _run(self, names: Sequence[str], doc: Doc) -> Doc:
        for name in names:
            component: Any = self._nlp.get_pipe(name)
            doc = component(doc)
        return doc

    def _states(self, starts: Sequence[Doc], n_samples: int, keys: Sequence[int]) -> list[list[Any]]:
        """Final states of the samples of each Doc; None for an empty one."""
        states: list[list[Any]] = [[None] * n_samples for _ in starts]
        filled = [number for number, start in enumerate(starts) if len(start)]
        some = [starts[number] for number in filled]
        drawn = self._parser.final_states(some, n_samples, self._temperature, [keys[number] for number in filled])
        for number, of_doc in zip(filled, drawn, strict=True):
            states[number] = of_doc
        return states

    def _completed(self, start: Doc, states: Sequence[Any], parsed: Doc | None = None) -> list[Doc]:
        """The Docs of a parse and of final states, after all components; equal parses are the same Doc."""
        template = self._later.template(start)
        distinct: dict[bytes, Doc] = {}
        order = []
        for state in states if parsed is None else [parsed, *states]:
            doc = template.copy()
            if state is parsed and parsed is not None:
                doc.from_array(_ARCS, parsed.to_array(_ARCS))
            elif state is not None:
                self._parser.annotate(doc, state)
            order.append(doc.to_array(_ARCS).tobytes())
            distinct.setdefault(order[-1], doc)
        completed = dict(zip(distinct, self._later.completed(template, list(distinct.values())), strict=True))
        return [completed[arcs] for arcs in order]


# Of the best Brier score on GUM's dev part, by `corefsample calibrate-parses --words 300`: see docs/parses.md.
PARSE_TEMPERATURES = {"en_gum_ud": 1.62, "en_core_web_sm": 1.54}

OTHERS = 1.58  # the mean of both: no measurement


def parse_temperature(nlp: Language) -> float:
    """Temperature for samples of a pipeline's parses.

    Fitted for en_gum_ud and en_core_web_sm, also where a word is added to the name of the package; for others the mean
    of both, for which nothing was measured. `corefsample calibrate-parses` fits that of any pipeline to a treebank.

    Parameters
    ----------
    nlp
        A pipeline; its language and name are compared.
    """
    meta = getattr(nlp, "meta", None)
    if not isinstance(meta, dict):
        raise ParameterError(f"must be a spaCy pipeline, got {type(nlp).__name__}", parameter="nlp")
    name = f"{meta.get('lang')}_{meta.get('name')}"
    for known, temperature in PARSE_TEMPERATURES.items():
        if name == known or name.startswith(f"{known}_"):
            return temperature
    return OTHERS
