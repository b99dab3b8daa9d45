"""Prediction-label pairs of events: that a word has a tag, or that two neighbours have a pair of tags.

The probabilities are the exact marginals of the posterior.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints32, Result, pd
from corefsample.errors import ParameterError, shown
from corefsample.tagging._sentences import LabelledChain, tag_codes

Event = str | tuple[str, str]

Events = Literal["tags", "pairs", "likeliest"] | Sequence[Event]


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
            if event not in self.events:
                raise ParameterError(f"must be among {shown(self.events)}, got {event!r}", parameter="events")
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
        names = pd.Index([event_name(event) for event in self.events])
        columns = {
            "event": pd.Categorical.from_codes(self.codes, names),
            "doc_id": pd.Categorical.from_codes(self.documents, pd.Index(list(self.doc_ids))),
        }
        return pd.DataFrame({**columns, "q": self.q, "y": self.y.astype(np.int64)})


def event_name(event: Event) -> str:
    """Name of an event: a tag, or the tags of a pair with a space between them."""
    return event if isinstance(event, str) else " ".join(event)


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
    if not names or len(set(names)) < len(names):
        raise ParameterError(f"must be distinct, at least one, got {shown(names)}", parameter="events")
    event_codes = []
    for event in names:
        event_tags = (event,) if isinstance(event, str) else tuple(event)
        if not 1 <= len(event_tags) <= 2 or any(part not in code for part in event_tags):
            rule = f"must be tags or pairs of tags of {shown(', '.join(code))}"
            raise ParameterError(f"{rule}, got {event!r}", parameter="events")
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
        if chain.n_tags != len(code):
            difference = f"{len(code)} for a chain of {chain.n_tags}"
            raise ParameterError(f"must be as many as the chain has, got {difference}", parameter="tags")
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
    if not any(map(len, q)):
        raise ParameterError("must contain at least one pair, got none", parameter="posteriors")
    # Rounding may lead to a marginal of 1 + 1e-16.
    probs, labels = np.minimum(np.concatenate(q), 1.0), np.concatenate(y).astype(np.float64)
    return EventPairs(probs, labels, np.concatenate(codes), np.concatenate(documents), names, tuple(numbers))
