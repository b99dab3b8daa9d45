"""Chains beside gold tags: labelled posteriors, prediction-label pairs of events, and temperatures fitted to gold.

An event is that a word has a tag, or that two neighbours have a pair of tags; its probabilities are exact marginals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, HtmlTable, Ints32, Result, pd
from corefsample.errors import CorefsampleError, ParameterError, shown
from corefsample.tagging._chain import LinearChain
from corefsample.tagging._taggers import TaggedSentence

Event = str | tuple[str, str]
Events = Literal["tags", "pairs", "likeliest"] | Sequence[Event]
Unknown = Literal["raise", "outside"]

OUTSIDE = -1  # code of a gold tag that the model does not have
OBJECTIVES = ("likelihood", "marginals")
LIMITS = 0.01, 100.0  # of fitted temperatures
_LEAST = -745.0  # log of the smallest positive float: marginals that underflow count as it


class SequenceModel(Protocol):
    """Interface of a tagger: names of the tags, and a posterior for each sentence."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Names of the tags, in the order of the tags of a chain."""
        ...

    def posterior(self, words: Sequence[str], /) -> LinearChain:
        """Distribution of the tags of a sentence."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class LabelledChain:
    """The posterior of a sentence's tags, and the gold tags.

    Attributes
    ----------
    chain
        Distribution of the tags.
    gold
        int32 (n,): code of each gold tag, or -1 where the model does not have it; read-only.
    doc_id
        Document of the sentence.
    """

    chain: LinearChain
    gold: Ints32
    doc_id: str = ""

    @classmethod
    def from_tags(
        cls,
        chain: LinearChain,
        gold: Sequence[str],
        tags: Sequence[str],
        *,
        doc_id: str = "",
        unknown: Unknown = "raise",
    ) -> LabelledChain:
        """Labelled posterior from names of tags.

        Parameters
        ----------
        chain
            Distribution of the tags of the n words of a sentence.
        gold
            Gold tags, one per word.
        tags
            Distinct names of the chain's tags, in its order.
        doc_id
            Document of the sentence.
        unknown
            Treatment of a gold tag that is not one of `tags`. "raise": it is an error. "outside": it gets the code -1,
            so every event of the model's tags is false there.

        Raises
        ------
        ParameterError
            If a gold tag is unknown and `unknown` is "raise", or the numbers of words or of tags differ from the
            chain's.
        """
        code = tag_codes(tags)
        _checks.choice("unknown", unknown, ("raise", "outside"))
        rule = f"must be as many as the chain has, {chain.n_tags}"
        _checks.require("tags", len(code) == chain.n_tags, rule, len(code))
        _checks.require("gold", len(gold) == chain.n, f"must be one tag per word ({chain.n})", len(gold))
        codes = np.array([code.get(tag, OUTSIDE) for tag in gold], np.int32)
        if unknown == "raise" and (codes == OUTSIDE).any():
            index = int(np.argmin(codes))
            rule = f"must be tags of the model, {shown(', '.join(tags))}, got {gold[index]!r} at [{index}]"
            hint = "unknown='outside' counts such tags as events that no model predicts"
            raise ParameterError(rule, parameter="gold", hint=hint)
        codes.flags.writeable = False
        return cls(chain, codes, doc_id)


def tag_codes(tags: Sequence[str]) -> dict[str, int]:
    """Code of each tag; raises ParameterError if the names are not distinct."""
    codes = {tag: code for code, tag in enumerate(_checks.elements("tags", tags, str))}
    _checks.require("tags", len(codes) == len(tags), "must be distinct names", tags)
    return codes


def labelled_posteriors(
    model: SequenceModel, sentences: Iterable[TaggedSentence], *, unknown: Unknown = "raise"
) -> Iterator[LabelledChain]:
    """Posteriors of sentences one after another, with the gold tags.

    Parameters
    ----------
    model
        A tagger of this package, or any object with `tags` and `posterior(words)`.
    sentences
        Sentences with gold tags.
    unknown
        Treatment of gold tags that the model does not have, "raise" or "outside": see `LabelledChain.from_tags`.

    Raises
    ------
    ParameterError
        If `model` is not a tagger, an element of `sentences` has no words and tags, a sentence has no word or not one
        tag for each word, or `unknown` is "raise" and the model does not have a gold tag. The error names the number of
        the sentence (from 0) and its document.
    """
    _checks.require("model", hasattr(model, "posterior"), "must be a tagger", shown(model), hint="load_tagger(path)")
    for number, sentence in enumerate(_checks.elements("sentences", sentences, object)):
        is_labelled = hasattr(sentence, "words") and hasattr(sentence, "tags")
        _checks.require("sentences", is_labelled, "must have words and tags", f"{shown(sentence)} at [{number}]")
        try:
            chain = model.posterior(sentence.words)
            item = LabelledChain.from_tags(chain, sentence.tags, model.tags, doc_id=sentence.doc_id, unknown=unknown)
        except CorefsampleError as error:
            document = f" of document {sentence.doc_id!r}" if sentence.doc_id else ""
            raise error.at(f"sentence {number}{document}") from None
        yield item


# --- events --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EventPairs(Result):
    """Prediction-label pairs of events, one per event and place; arrays read-only.

    Attributes
    ----------
    q
        float64 (n_pairs,) in [0, 1]: probability of the event.
    y
        float64 (n_pairs,): 1 where the gold tags are the event, else 0.
    codes
        int32 (n_pairs,): event of each pair, an index into `events`.
    documents
        int32 (n_pairs,): document of each pair, an index into `doc_ids`.
    events
        Events: a tag or a pair of tags each.
    doc_ids
        Names of the documents, in the order of the sentences.
    """

    q: Floats
    y: Floats
    codes: Ints32
    documents: Ints32
    events: tuple[Event, ...]
    doc_ids: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of pairs."""
        return int(self.q.shape[0])

    def of(self, *events: Event) -> EventPairs:
        """The pairs of some of the events; raise if one is not among them."""
        for event in events:
            _checks.require("events", event in self.events, f"must be among {shown(self.events)}", repr(event))
        is_selected = np.isin(self.codes, [self.events.index(event) for event in events])
        return EventPairs(
            self.q[is_selected],
            self.y[is_selected],
            self.codes[is_selected],
            self.documents[is_selected],
            self.events,
            self.doc_ids,
        )

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per pair: event (a pair as "DET NOUN"), doc_id, q, y."""
        names = pd.Index([event if isinstance(event, str) else " ".join(event) for event in self.events])
        columns = {
            "event": pd.Categorical.from_codes(self.codes, names),
            "doc_id": pd.Categorical.from_codes(self.documents, pd.Index(list(self.doc_ids))),
        }
        return pd.DataFrame({**columns, "q": self.q, "y": self.y.astype(np.int64)})


def event_pairs(posteriors: Iterable[LabelledChain], tags: Sequence[str], events: Events = "tags") -> EventPairs:
    """Pairs of prediction and label of events, all in memory: 24 bytes per pair.

    Parameters
    ----------
    posteriors
        Posteriors with gold tags, from `labelled_posteriors` for example.
    tags
        Names of the chains' tags, in their order.
    events
        "tags": that a word has each tag. "pairs": that two neighbours have each pair of tags; n_tags^2 pairs per two
        words, so name the tags where there are many. "likeliest": that each word has the tag that is its
        likeliest, one pair per word, for the calibration of the tagger's answers alone (top-1). Or a list of events,
        each a tag or a pair of tags.

    Raises
    ------
    ParameterError
        If an event is unknown, or there is no pair, such as a pair of tags in sentences of one word.

    Examples
    --------
    >>> from corefsample.tagging import LinearChain
    >>> chain = LinearChain.from_scores(np.log([[0.75, 0.25], [0.5, 0.5]]), np.zeros((2, 2)))
    >>> posterior = LabelledChain.from_tags(chain, ["N", "V"], ["N", "V"])
    >>> event_pairs([posterior], ["N", "V"], ["N", ("N", "V")]).to_frame()[["event", "q", "y"]]
      event      q  y
    0     N  0.750  1
    1     N  0.500  0
    2   N V  0.375  1
    """
    code = tag_codes(tags)
    likeliest_only = events == "likeliest"
    if events in ("tags", "likeliest"):
        events = list(code)
    elif events == "pairs":
        events = [(one, other) for one in code for other in code]
    elif isinstance(events, str):
        rule = 'must be "tags", "pairs", "likeliest" or a list of events'
        raise ParameterError(f"{rule}, got {events!r}", parameter="events")
    names: tuple[Event, ...] = tuple(events)
    _checks.require("events", names and len(set(names)) == len(names), "must be distinct, at least one", names)
    event_codes = []
    for event in names:
        event_tags = (event,) if isinstance(event, str) else tuple(event)
        good = 1 <= len(event_tags) <= 2 and all(part in code for part in event_tags)
        _checks.require("events", good, f"must be tags or pairs of tags of {shown(', '.join(code))}", repr(event))
        event_codes.append([code[part] for part in event_tags])
    single_codes, pair_codes = ([k for k, c in enumerate(event_codes) if len(c) == size] for size in (1, 2))
    singles = np.array([event_codes[place][0] for place in single_codes], np.int64)
    first, second = np.array([event_codes[place] for place in pair_codes], np.int64).reshape(-1, 2).T
    # Parts of one posterior or of one kind of event: events of single tags place by place, then pairs of tags.
    q, y, codes, documents = [np.empty(0)], [np.empty(0)], [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    numbers: dict[str, int] = {}
    hint = "labelled_posteriors(model, sentences) makes them"
    for item in _checks.elements("posteriors", posteriors, LabelledChain, hint=hint):
        chain, gold = item.chain, item.gold
        difference = f"{len(code)} for a chain of {chain.n_tags}"
        _checks.require("tags", chain.n_tags == len(code), "must be as many as the chain has", difference)
        n_parts = len(q)
        if likeliest_only:
            marginals = chain.marginals()
            likeliest = marginals.argmax(axis=1)
            q.append(marginals.max(axis=1, initial=0.0))
            y.append(gold == likeliest)
            codes.append(likeliest.astype(np.int32))
        elif single_codes:
            q.append(chain.marginals()[:, singles].ravel())
            y.append((gold[:, None] == singles).ravel())
            codes.append(np.tile(np.array(single_codes, np.int32), gold.shape[0]))
        if pair_codes and gold.shape[0] > 1:
            q.append(chain.pair_marginals()[:, first, second].ravel())
            y.append(((gold[:-1, None] == first) & (gold[1:, None] == second)).ravel())
            codes.append(np.tile(np.array(pair_codes, np.int32), gold.shape[0] - 1))
        n_pairs = sum(len(part) for part in q[n_parts:])
        documents.append(np.full(n_pairs, numbers.setdefault(item.doc_id, len(numbers)), np.int32))
    _checks.require("posteriors", any(map(len, q)), "must contain at least one pair", "none")
    # Rounding may lead to a marginal of 1 + 1e-16.
    probs, labels = np.minimum(np.concatenate(q), 1.0), np.concatenate(y).astype(np.float64)
    return EventPairs(probs, labels, np.concatenate(codes), np.concatenate(documents), names, tuple(numbers))


# --- temperatures --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChainRecalibration:
    """A change of a chain's potentials: each is divided by the temperature, and forbidden tags stay forbidden.

    The order of sequences by probability does not change. A temperature above 1 reduces confidence, one below 1
    increases it.

    Attributes
    ----------
    temperature
        Divisor of the potentials, above 0 and finite.

    Examples
    --------
    >>> chain = LinearChain.from_scores([[2.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]])
    >>> ChainRecalibration(temperature=2.0).apply(chain).unary
    array([[1., 0.]])
    """

    temperature: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "temperature", _checks.above_zero("temperature", self.temperature))

    def apply(self, chain: LinearChain) -> LinearChain:
        """Recalibrate one chain.

        Raises
        ------
        ParameterError
            If a score would overflow.
        """
        _checks.require("chain", isinstance(chain, LinearChain), "must be a LinearChain", chain)
        with np.errstate(over="ignore"):
            return LinearChain.from_scores(chain.unary / self.temperature, chain.pairwise / self.temperature)


@dataclass(frozen=True, slots=True, repr=False)
class ChainRecalibrationFit(HtmlTable):
    """A recalibration fitted on sentences with gold tags.

    Attributes
    ----------
    recalibration
        Fitted recalibration.
    objective
        Name of the minimised loss.
    loss_before, loss_after
        Mean loss per token, in nats, on the same sentences, before and after recalibration. The second is too
        optimistic for other sentences.
    n_sentences, n_tokens
        Number of sentences, and of their tokens, in the fit.
    """

    recalibration: ChainRecalibration
    objective: str
    loss_before: float
    loss_after: float
    n_sentences: int
    n_tokens: int


def fit_chain_recalibration(
    chains: Sequence[LinearChain], gold: Sequence[np.typing.ArrayLike], *, objective: str = "likelihood"
) -> ChainRecalibrationFit:
    """Fit the temperature of chains to gold tags.

    Parameters
    ----------
    chains
        The distribution of each sentence's tags; no chain may be one that was used to train the tagger.
    gold
        Codes of the gold tags of each chain, (n,) from 0 to n_tags - 1.
    objective
        "likelihood": minus the log probability of the gold sequence, which is convex in 1 / temperature.
        "marginals": minus the summed log marginals of the gold tags; probabilities too small for a float count as the
        smallest one.

    Returns
    -------
    ChainRecalibrationFit
        Fit with a temperature from 0.01 to 100; the temperature is one of these ends if the loss falls beyond it.

    Raises
    ------
    ParameterError
        If there is no chain, chains and gold differ in number or length, a gold tag is unknown or forbidden by its
        chain, or the objective is neither "likelihood" nor "marginals".

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), section 4.2, for the temperature of a classifier.
    """
    from scipy.optimize import minimize_scalar

    _checks.choice("objective", objective, OBJECTIVES)
    chains, gold = list(_checks.elements("chains", chains, LinearChain)), list(_checks.elements("gold", gold, object))
    rule = "must have one sequence for each of at least one chain"
    _checks.require("gold", 0 < len(chains) == len(gold), rule, f"{len(gold)} for {len(chains)}")
    sequences = []
    for c, (chain, tags) in enumerate(zip(chains, gold, strict=True)):
        try:
            log_prob = chain.log_prob(tags)
        except ParameterError as error:
            raise error.at(f"gold[{c}]") from None
        _checks.require(f"gold[{c}]", log_prob != -np.inf, "must be allowed by its chain", "a forbidden sequence")
        sequences.append(np.asarray(tags, np.int64))
    n_tokens = sum(map(len, sequences))

    def mean_loss(log_temperature: float) -> float:
        recalibration = ChainRecalibration(math.exp(log_temperature))
        losses = []
        for chain, tags in zip(map(recalibration.apply, chains), sequences, strict=True):
            if objective == "likelihood":
                losses.append(-chain.log_prob(tags))
            else:
                with np.errstate(divide="ignore"):
                    log_probs = np.log(chain.marginals()[np.arange(chain.n), tags])
                losses.append(-float(np.maximum(log_probs, _LEAST).sum()))
        return math.fsum(losses) / n_tokens

    low, high = math.log(LIMITS[0]), math.log(LIMITS[1])
    minimum = minimize_scalar(mean_loss, bounds=(low, high), method="bounded", options={"xatol": 1e-6})
    best = min((low, float(minimum.x), high, 0.0), key=mean_loss)
    after = mean_loss(best)
    recalibration = ChainRecalibration(math.exp(best))
    return ChainRecalibrationFit(recalibration, objective, mean_loss(0.0), after, len(chains), n_tokens)
