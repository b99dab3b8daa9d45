"""The evidence of one document: a row for each event that is possible, with what makes it true."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa

from corefsample._arrays import Ints32
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._tokens import Tokens
from events.evidence._columns import TABLE_METADATA, EventKey
from events.evidence._document_events import DocumentEvents, UnionMember
from events.evidence._event_kernels import NAMED
from events.evidence._reasons import SEVERAL
from events.lexicon._entries import OF
from events.matching._matches import ABSENT, DEFAULT, NO_ACTOR

SEPARATOR = " | "
UNSETTLED = "conditioned samples did not settle"
_NOBODY = {ABSENT: "-", DEFAULT: "(default)"}  # text in place of a mention
_LONGEST_MENTION = 12  # longest text of a mention, in tokens
MOST_MENTIONS = 8  # number of mentions (or other items) that a row lists, the likeliest first
_Span = list[int]  # start, end, head
_Instance = tuple[int, list[int], float]  # trigger, mentions, probability
_Description = tuple[int, str, list[int], float]  # mention, code, tokens of the name, probability
_Reason = tuple[str, float, list[tuple[int, float]]]  # name, share of the samples, mentions with their shares


TRIGGERS = pa.list_(
    pa.struct(
        [
            ("token", pa.int32()),
            ("trigger", pa.string()),
            ("frame", pa.string()),
            ("filled", pa.string()),
            ("probability", pa.float64()),
            ("sentence", pa.string()),
        ]
    )
)


def evidence_schema(roles: Sequence[str], *, defaults: bool = False, numbers: bool = False) -> pa.Schema:
    """Schema of the table of evidence, with a row for each document and event that is possible in it.

    Parameters
    ----------
    roles
        Names of the columns of roles.
    defaults
        True to add the column `filled`.
    numbers
        True to add the columns `numbers` and `best_number`, for a predicate that may return numbers.

    Notes
    -----
    The columns are:

    - doc_id, date, period: identifier and date of the document, and label of its period.
    - event, and a column for each role: name of the rule, and code of the actor in each role.
    - probability, mc_se: P(event) and its Monte Carlo standard error.
    - one_best: whether the event is true in the likeliest-antecedent clustering.
    - sentences: text of the sentences that have the triggers or the listed mentions, in the order of the document.
      This column and the other texts are null if P is 0.
    - role_mentions: the likeliest mentions (at most eight) that fill the event's roles, with token span and P(this
      instance makes the event true).
    - actor_mentions: the likeliest mentions (at most eight) described as the actors, with token span and P(it belongs
      to an entity of an event).
    - places: JSON with positions of the evidence in the document, for a report. ``instances`` are [token of the
      trigger, mentions (one per role, -1 for no mention), probability], ``descriptions`` [mention, code, [first token,
      end] of its name, probability], ``reasons`` [name, share, [mention, share] of the other actors]. With several
      parses, mentions are those of the first parse, -1 if it has no mention with these words.
    - excluded: triggers of the event in this document that a condition excluded, with their tokens and the conditions.
    - reasons: reasons why the event is not true in the other samples, by share; the shares add up to 1 - P. "another
      actor": the role's entity names other actors only; "no actor": it names no actor; "several actors": it names
      other actors too, followed by the mentions that name them (at most eight) and their shares; "no event in the
      parse". "conditioned samples did not settle" is added if the Markov chains that keep distinct actors apart
      disagree.
    - filled: how the roles are filled: "named" in the text, by a "default" actor, because a class noun "stands for" an
      actor, or "both" (in several of these ways); empty if the event has no actor.
    - parses: number of the document's parses in which the event is true in some sample.
    - samples: bits of the samples in which the event is true, the first sample in the highest bit of the first byte;
      null if P is 0.
    - named_samples: bits of the samples in which it is true with named actors or without an actor; null if these are
      all of `samples`.
    - inefficiency: number of samples that are worth one independent sample; above 1 where Markov chains drew them.
    - triggers: the triggers that make the event true, in the order of the text: token, text, frame of the rule, how the
      roles are filled, P(the trigger makes the event true) of the likeliest mentions, and the sentence. Empty for
      outcomes.
    - numbers, best_number: the number that a predicate returned for each sample and for the likeliest clustering; null
      if it returned booleans.
    """
    texts = ("sentences", "role_mentions", "actor_mentions", "places", "excluded", "reasons")
    columns = [
        *(("doc_id", pa.string()), ("date", pa.date32()), ("period", pa.string()), ("event", pa.string())),
        *((role, pa.string()) for role in roles),
        *(("probability", pa.float64()), ("mc_se", pa.float64()), ("one_best", pa.bool_())),
        *((name, pa.string()) for name in (*texts, *(["filled"] if defaults else []))),
        ("parses", pa.int64()),
        *(("samples", pa.binary()), ("named_samples", pa.binary()), ("inefficiency", pa.float64())),
        ("triggers", TRIGGERS),
        *([("numbers", pa.list_(pa.int32())), ("best_number", pa.int32())] if numbers else []),
    ]
    return pa.schema(columns, TABLE_METADATA)


class ParsedMentions(NamedTuple):
    """One parse of a document: its tokens, and the spans int32 (n_mentions, 3) of its mentions."""

    tokens: Tokens | None
    spans: Ints32


@dataclass(frozen=True, eq=False, repr=False)
class DocumentEvidence:
    """Mentions and triggers that make the events of one document true.

    Mentions of several parses with the same words count as one mention. Mentions are numbered when they are first used.

    Attributes
    ----------
    rule_events
        Events of the document by one or more rules, followed by the outcomes, which are unions of these events.
    period
        Label of the document's period.
    parses
        All parses of the document, in order; if the first has no tokens, the texts in the rows are empty.
    """

    rule_events: Sequence[DocumentEvents]
    period: str
    parses: Sequence[ParsedMentions]
    _numbers: dict[tuple[int, ...], int] = field(init=False, default_factory=dict)
    _spans: list[_Span] = field(init=False, default_factory=list)  # by number
    _firsts: list[int] = field(init=False, default_factory=list)  # by number, the mention of the first parse or -1

    @classmethod
    def of(cls, batch: DocumentBatch, row: int, rule_events: Sequence[DocumentEvents], period: str) -> Self:
        """Make the evidence of one document of a batch."""
        parses = [ParsedMentions(batch.tokens(r), batch.spans(r)) for r in batch.parses(row)]
        return cls(rule_events, period, parses)

    def rows(self, columns: Mapping[str, Sequence[str]], roles: Sequence[str]) -> list[dict[str, Any]]:
        """Rows of the table of evidence, one for each possible event, by the columns of `evidence_schema`.

        Parameters
        ----------
        columns
            Names of the columns of roles of each event, by the name of the event.
        roles
            Names of the columns of roles of the table.
        """
        rows: list[dict[str, Any]] = []
        of_rules: dict[str, _Sources] = {}
        for events in self.rule_events:
            probabilities, errors = events.probabilities.tolist(), events.mc_errors.tolist()
            packed = np.packbits(events.hits != 0, axis=1)
            if any(probabilities):
                of_rules[events.event] = _Sources(self, events, of_rules)
            for index, key in enumerate(events.keys):
                row: dict[str, Any] = {
                    "doc_id": events.doc_id,
                    "date": events.date,
                    "period": self.period,
                    "event": events.event,
                    **EventKey(key).cells(columns[events.event], roles),
                    "probability": probabilities[index],
                    "mc_se": errors[index],
                    "one_best": bool(events.one_best[index]),
                    "inefficiency": events.inefficiency,
                }
                if events.numbers is not None:
                    row |= {"numbers": events.numbers[index], "best_number": int(events.one_best[index])}
                if probabilities[index]:
                    row |= {"samples": packed[index].tobytes(), **of_rules[events.event].row(index)}
                    if events.ways is not None:
                        named = np.packbits(events.ways[index] & NAMED != 0).tobytes()
                        row["named_samples"] = None if named == row["samples"] else named
                rows.append(row)
        return rows

    def triggers(self, events: DocumentEvents) -> dict[tuple[str, ...], list[dict[str, Any]]]:
        """Triggers that make the events of a rule true, by event; none for an outcome or without tokens."""
        triggers: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        tokens = self.parses[0].tokens
        if tokens is None or events.members:
            return triggers
        hits_by_trigger: dict[tuple[int, tuple[str, ...]], list[_InParse]] = {}
        for parse_events in events.parses:
            for trigger_and_key, in_parse in _in_parse(parse_events).items():
                hits_by_trigger.setdefault(trigger_and_key, []).append(in_parse)
        for (token, key), parses in sorted(hits_by_trigger.items()):
            filled = {each.filled for each in parses}
            trigger = {
                "token": token,
                "trigger": tokens.written[token],
                "frame": parses[0].frame,
                "filled": filled.pop() if len(filled) == 1 else "both",
                "probability": sum(each.n_hits for each in parses) / events.n_samples,
                "sentence": self.sentence(int(tokens.sent[token])),
            }
            triggers.setdefault(key, []).append(trigger)
        return triggers

    @cached_property
    def tokens(self) -> Tokens:
        """Tokens of the first parse, which has tokens wherever this is used."""
        tokens = self.parses[0].tokens
        assert tokens is not None
        return tokens

    @cached_property
    def _bounds(self) -> Mapping[int, tuple[int, int]]:
        return self.tokens.sentences()

    @cached_property
    def _of_first(self) -> dict[tuple[int, int], int]:
        """Mentions of the first parse by their spans, (start, end); the first mention if several have the same span."""
        spans = [*enumerate(self.parses[0].spans.tolist())]
        return {(start, end): mention for mention, (start, end, _) in reversed(spans)}

    def number(self, parse: int, mention: int) -> int:
        """Number of a mention over all parses; a negative `mention` stands for no mention and is returned unchanged."""
        if mention < 0:
            return mention
        start, end, head = self.parses[parse].spans[mention].tolist()
        is_alone = len(self.parses) == 1
        number = self._numbers.setdefault((mention,) if is_alone else (start, end), len(self._numbers))
        if number == len(self._spans):
            self._spans.append([start, end, head])
            self._firsts.append(mention if is_alone else self._of_first.get((start, end), -1))
        return number

    def in_first(self, number: int) -> int:
        """Mention of the first parse with the words of a numbered mention; -1 if the first parse has none."""
        return -1 if number < 0 else self._firsts[number]

    def sentence(self, number: int) -> str:
        """Text of a sentence."""
        return " ".join(self.tokens.written[slice(*self._bounds[number])])

    def mention(self, number: int) -> str:
        """Text of a numbered mention, shortened to 12 tokens, with its token span."""
        if number < 0:
            return _NOBODY[number]
        start, end, _ = self._spans[number]
        words = list(self.tokens.written[start : min(end, start + _LONGEST_MENTION)])
        shortened = " ..." if end - start > _LONGEST_MENTION else ""
        return f"{' '.join(words)}{shortened} [{start}-{end}]"

    def sentences(self, instances: list[_Instance], descriptions: list[_Description]) -> str:
        """Text of the sentences that have a trigger or a described mention."""
        places = {trigger for trigger, _, _ in instances}.union(self._spans[mention][2] for mention, *_ in descriptions)
        return SEPARATOR.join(map(self.sentence, sorted({int(self.tokens.sent[place]) for place in places})))


class _Sources:
    """Instances and descriptions that make the events of one rule or outcome true, over all parses."""

    def __init__(self, evidence: DocumentEvidence, events: DocumentEvents, of_rules: Mapping[str, _Sources]) -> None:
        self._evidence, self._events, self._of_rules = evidence, events, of_rules
        self._descriptions = [] if events.members else self._described()
        self._excluded, self._triggers = self._excluded_triggers(), evidence.triggers(events)

    def row(self, index: int) -> dict[str, Any]:
        """Columns of the table of evidence about the sources of one event with P > 0."""
        events, evidence = self._events, self._evidence
        instances, descriptions = self.of(index)
        reasons, in_first = self._reasons(index), evidence.in_first
        places: dict[str, Any] = {
            "instances": [[trigger, [*map(in_first, mentions)], p] for trigger, mentions, p in instances],
            "descriptions": [
                [place, code, words, p] for mention, code, words, p in descriptions if (place := in_first(mention)) >= 0
            ],
            "reasons": [[name, share, [[in_first(m), p] for m, p in others]] for name, share, others in reasons],
        }
        texts: dict[str, Any] = dict.fromkeys(("sentences", "role_mentions", "actor_mentions"), "")
        remarks: list[str] = []
        if evidence.parses[0].tokens is not None:
            remarks = [self._reason_text(*each) for each in reasons]
            if instances:
                mentions = (f"{evidence.mention(mention)} {p:.3f}" for mention, _, _, p in descriptions)
                texts = {
                    "sentences": evidence.sentences(instances, descriptions),
                    "role_mentions": SEPARATOR.join(
                        f"{' > '.join(map(evidence.mention, fillers or [ABSENT]))} {p:.3f}"
                        for _, fillers, p in instances
                    ),
                    "actor_mentions": SEPARATOR.join(dict.fromkeys(mentions)),
                }
        if not events.is_settled:
            remarks.append(UNSETTLED)
        return {
            **texts,
            "places": json.dumps(places),
            "excluded": self._excluded,
            "reasons": SEPARATOR.join(remarks),
            "filled": events.filled(index),
            "parses": max(1, len(events.parses_with(index))),
            "triggers": self._triggers.get(events.keys[index], []),
        }

    def _reason_text(self, name: str, share: float, other_actors: list[tuple[int, float]]) -> str:
        mentions = ", ".join(f"{self._evidence.mention(m)} {p:.3f}" for m, p in other_actors)
        return f"{name} {share:.3f}" + f" ({mentions})" * bool(mentions)

    def _excluded_triggers(self) -> str:
        """Text that lists the triggers that conditions excluded in any parse, with their tokens and the conditions."""
        texts: dict[str, None] = {}
        rules = [self._events, *(events for members in self._events.members for events, _ in members)]
        for parse_events in (parse for rule in rules for parse in rule.parses):
            tokens = self._evidence.parses[parse_events.parse].tokens
            assert tokens is not None  # rules need them
            assert parse_events.matches is not None  # of one parse
            for trigger in parse_events.matches.excluded:
                texts[f"{tokens.written[trigger.token]} [{trigger.token}] {', '.join(trigger.conditions)}"] = None
        return SEPARATOR.join(texts)

    def _described(self) -> list[_Description]:
        """Descriptions that belong to an entity of some event, the likeliest first."""
        hits = Counter[tuple[int, str, int, int]]()
        for parse_events in self._events.parses:
            matches, counts = parse_events.matches, parse_events.description_hits.tolist()
            assert matches is not None  # of one parse
            mentions, codes = matches.described_mentions.tolist(), matches.described_actors.tolist()
            for d in np.flatnonzero(parse_events.description_hits).tolist():
                first, end = (-1, -1) if matches.described_words is None else matches.described_words[d].tolist()
                key = self._evidence.number(parse_events.parse, mentions[d]), matches.actors[codes[d]], first, end
                hits[key] += counts[d]
        return [
            (mention, code, [] if first < 0 else [first, end], n / self._events.n_samples)
            for (mention, code, first, end), n in hits.most_common()
        ]

    def of(self, index: int) -> tuple[list[_Instance], list[_Description]]:
        """Instances and descriptions that make an event true, at most eight of each, the likeliest first."""
        return self._of_outcome(self._events.members[index]) if self._events.members else self._of_rule(index)

    def _of_outcome(self, members: Sequence[UnionMember]) -> tuple[list[_Instance], list[_Description]]:
        """Instances and descriptions of an outcome's event, with their highest probability in any of its members."""
        # An event that both the default actor and nobody have is one instance.
        likeliest_instances: dict[tuple[int, tuple[int, ...]], _Instance] = {}
        described: dict[tuple[int, str, tuple[int, ...]], float] = {}
        for events, member_rows in members:
            for member_row in member_rows:
                if events.n_hits[member_row]:
                    instances, descriptions = self._of_rules[events.event].of(member_row)
                    for trigger, mentions, p in instances:
                        instance_key = trigger, tuple(max(m, ABSENT) for m in mentions)
                        _, before, highest = likeliest_instances.get(instance_key, (trigger, mentions, 0.0))
                        likeliest_instances[instance_key] = trigger, [*map(min, mentions, before)], max(p, highest)
                    for mention, code, words, p in descriptions:
                        description = mention, code, tuple(words)
                        described[description] = max(p, described.get(description, 0.0))
        likeliest = sorted(((*each, p) for each, p in described.items()), key=lambda description: -description[3])
        return (
            sorted(likeliest_instances.values(), key=lambda instance: -instance[2])[:MOST_MENTIONS],
            [(mention, code, [*words], p) for mention, code, words, p in likeliest[:MOST_MENTIONS]],
        )

    def _of_rule(self, index: int) -> tuple[list[_Instance], list[_Description]]:
        key = self._events.keys[index]
        counts_by_instance = Counter[tuple[int, tuple[int, ...]]]()
        for parse_events in self._events.parses:
            if key not in parse_events.keys:
                continue
            counts, matches = parse_events.instance_hits[:, parse_events.keys.index(key)], parse_events.matches
            assert matches is not None  # of one parse
            for t in np.flatnonzero(counts).tolist():
                mentions = tuple(
                    ABSENT if m == DEFAULT and code == NO_ACTOR else self._evidence.number(parse_events.parse, m)
                    for m, code in zip(matches.instances[t].tolist(), key, strict=True)
                )
                instance_key = int(matches.triggers[t]), mentions
                counts_by_instance[instance_key] += int(counts[t])
        instances = [
            (trigger, [*mentions], n / self._events.n_samples)
            for (trigger, mentions), n in counts_by_instance.most_common(MOST_MENTIONS)
        ]
        codes = {single_code for code in key for single_code in (code, *code.split(OF))}
        return instances, [item for item in self._descriptions if item[1] in codes][:MOST_MENTIONS]

    def _reasons(self, index: int) -> list[_Reason]:
        """Reasons why an event is not true in the other samples, the most frequent first."""
        reasons, n_samples = self._events.reasons.get(index), self._events.n_samples
        if reasons is None:
            return []
        mentions = Counter[int]()
        for parse, m, n in reasons.other_actors:
            mentions[self._evidence.number(parse, m)] += n
        other_actors = [(mention, n / n_samples) for mention, n in mentions.most_common(MOST_MENTIONS)]
        return [(name, n / n_samples, other_actors if name == SEVERAL else []) for name, n in reasons.shares()]


class _InParse(NamedTuple):
    n_hits: int
    filled: str
    frame: str


def _in_parse(events: DocumentEvents) -> dict[tuple[int, tuple[str, ...]], _InParse]:
    """Hits of one parse by trigger and event; of several instances, the one that is true in most samples."""
    hits_by_trigger: dict[tuple[int, tuple[str, ...]], _InParse] = {}
    matches, keys = events.matches, events.keys
    assert matches is not None  # of one parse
    instances, triggers = matches.instances.tolist(), matches.triggers.tolist()
    by_default = matches.by_default
    for t, k in np.argwhere(events.instance_hits).tolist():
        key = keys[k]
        # Where a default actor has the event, the row of nobody would be the same event again.
        if any(m == DEFAULT and code == NO_ACTOR for m, code in zip(instances[t], key, strict=True)):
            continue
        filled = "" if not any(key) else "default" if by_default[t, k] else "named"
        if (
            filled == "named"
            and events.named_hits is not None
            and 2 * events.named_hits[t, k] < events.instance_hits[t, k]
        ):
            filled = "stands for"
        instance_hits = _InParse(int(events.instance_hits[t, k]), filled, matches.frames[t] if matches.frames else "")
        trigger_and_key = triggers[t], key
        if trigger_and_key not in hits_by_trigger or instance_hits.n_hits > hits_by_trigger[trigger_and_key].n_hits:
            hits_by_trigger[trigger_and_key] = instance_hits
    return hits_by_trigger
