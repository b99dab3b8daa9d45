"""The evidence of one document: a row for each event that is possible, with what makes it true."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from corefsample._arrays import Ints32
from corefsample.documents._tokens import Tokens
from events.evidence._columns import TABLE_METADATA, EventKey
from events.evidence._document_events import SEVERAL, DocumentEvents, UnionMember
from events.evidence._event_kernels import NAMED
from events.lexicon._file import OF
from events.matching._matches import ABSENT, DEFAULT, NO_ACTOR
from events.matching._screening import Cooccurrence

SEPARATOR = " | "
UNSETTLED = "conditioned samples did not settle"
STAND_IN = "may stand for"  # of a class noun in the text of the mentions described as an actor
_NOBODY = {ABSENT: "-", DEFAULT: "(default)"}  # text in place of a mention
_LONGEST_MENTION = 12  # longest text of a mention, in tokens
MOST_MENTIONS = 8  # number of mentions (or other items) that a row lists, the likeliest first
_Span = list[int]  # start, end, head
_Instance = tuple[int, list[int], float, float]  # trigger, mentions, probability, P(the trigger reports the event)
_Description = tuple[int, str, list[int], float, bool]  # mention, code, tokens, probability, whether it is a stand-in
_Sources = tuple[list[_Instance], list[_Description]]  # of one event, at most eight of each, the likeliest first
Cooccurrences = Mapping[str, Mapping[tuple[str, ...], Cooccurrence]]  # by event and actors
Parses = Sequence[tuple[Tokens | None, Ints32]]  # tokens of each parse, and the spans (n_mentions, 3) of its mentions


TRIGGERS = pa.list_(
    pa.struct(
        [
            ("token", pa.int32()),
            ("trigger", pa.string()),
            ("frame", pa.string()),
            ("filled", pa.string()),
            ("p_reports", pa.float64()),
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
    - cooccurrence: "sentence" if a word of the rule and names of the actors are in one sentence, "document" if they are
      in one document, null otherwise: see `events.matching._screening.Cooccurrence`.
    - sentences: text of the sentences that have the triggers or the listed mentions, in the order of the document.
      If P is 0, it is the first sentence with a word of the rule and names of the actors, and the other texts but
      `actor_mentions` are null.
    - role_mentions: the likeliest mentions (at most eight) that fill the event's roles, with token span and P(this
      instance makes the event true).
    - actor_mentions: the likeliest mentions (at most eight) described as the actors, with token span and P(it belongs
      to an entity of an event).
    - places: JSON with positions of the evidence in the document, for a report. ``instances`` are [token of the
      trigger, mentions (one per role, -1 for no mention), probability], ``descriptions`` [mention, code, [first token,
      end] of its name, probability, whether the mention is a class noun that stands for the actor], ``reasons`` [name,
      share, [mention, share] of the other actors]. With several parses, mentions are those of the first parse, -1 if
      it has no mention with these words.
    - excluded: triggers of the event in this document that a condition excluded, with their tokens and the conditions.
    - reasons: reasons why the event is not true in the other samples, by share; the shares add up to 1 - P. "another
      actor": the role's entity names other actors only; "no actor": it names no actor; "several actors": it names
      other actors too, followed by the mentions that name them (at most eight) and their shares; "no event in the
      parse". "conditioned samples did not settle" is added if a Markov chain that keeps distinct actors apart had
      no consistent start.
    - filled: how the roles are filled: "named" in the text, by a "default" actor, because a class noun "stands for" an
      actor, or "both" (in several of these ways); empty if the event has no actor.
    - parses: number of the document's parses in which the event is true in some sample.
    - samples: bits of the samples in which the event is true, the first sample in the highest bit of the first byte;
      null if P is 0.
    - named_samples: bits of the samples in which it is true with named actors or without an actor; null if these are
      all of `samples`.
    - inefficiency: number of samples that are worth one independent sample; above 1 where Markov chains drew them, 0
      where the event is not possible in any clustering, so that none was drawn.
    - triggers: the triggers that make the event true, in the order of the text: token, text, frame of the rule, how the
      roles are filled, P(the trigger makes the event true) of the likeliest mentions, and the sentence. Empty for
      outcomes. If P is 0, the word of the rule that co-occurs.
    - numbers, best_number: the number that a predicate returned for each sample and for the likeliest clustering; null
      if it returned booleans.
    """
    texts = ("sentences", "role_mentions", "actor_mentions", "places", "excluded", "reasons")
    columns = [
        *(("doc_id", pa.string()), ("date", pa.date32()), ("period", pa.string()), ("event", pa.string())),
        *((role, pa.string()) for role in roles),
        *(("probability", pa.float64()), ("mc_se", pa.float64()), ("one_best", pa.bool_())),
        ("cooccurrence", pa.string()),
        *((name, pa.string()) for name in (*texts, *(["filled"] if defaults else []))),
        ("parses", pa.int64()),
        *(("samples", pa.binary()), ("named_samples", pa.binary()), ("inefficiency", pa.float64())),
        ("triggers", TRIGGERS),
        *([("numbers", pa.list_(pa.int32())), ("best_number", pa.int32())] if numbers else []),
    ]
    return pa.schema(columns, TABLE_METADATA)


def evidence_rows(
    rule_events: Sequence[DocumentEvents],
    parses: Parses,
    period: str,
    columns: Mapping[str, Sequence[str]],
    roles: Sequence[str],
    cooccurrences: Cooccurrences | None = None,
) -> list[dict[str, Any]]:
    """Rows of the table of evidence of one document, one for each possible event, by the columns of `evidence_schema`.

    Parameters
    ----------
    rule_events
        Events of the document by one or more rules, followed by the outcomes, which are unions of these events.
    parses
        All parses of the document, in order; if the first has no tokens, the texts in the rows are empty.
    period
        Label of the document's period.
    columns
        Names of the columns of roles of each event, by the name of the event.
    roles
        Names of the columns of roles of the table.
    cooccurrences
        Words and names that co-occur in the document, by event and key; those of other possible events are in the
        document. By default, the column `cooccurrence` is null.
    """
    rows: list[dict[str, Any]] = []
    mentions, in_document = _Mentions(parses), Cooccurrence(False, -1)
    sources: dict[tuple[str, EventKey], _Sources] = {}
    for events in rule_events:
        probabilities, errors = events.probabilities.tolist(), events.mc_errors.tolist()
        inefficiency = events.inefficiency
        packed = np.packbits(events.hits != 0, axis=1)
        triggers: Mapping[EventKey, list[dict[str, Any]]] = {}
        if any(probabilities):
            excluded = _excluded_triggers(events, parses)
            if events.members:
                of_keys = {key: _outcome_sources(events.members[e], sources) for e, key in enumerate(events.keys)}
            else:
                of_keys, triggers = _rule_sources(events, mentions)
            sources |= {(events.event, key): each for key, each in of_keys.items()}
        for index, key in enumerate(events.keys):
            row: dict[str, Any] = {
                "doc_id": events.doc_id,
                "date": events.date,
                "period": period,
                "event": events.event,
                **key.cells(columns[events.event], roles),
                "probability": probabilities[index],
                "mc_se": errors[index],
                "one_best": bool(events.one_best[index]),
                "inefficiency": inefficiency,
            }
            if cooccurrences is not None:
                row |= mentions.cooccurring(cooccurrences.get(events.event, {}).get(key, in_document))
            if events.numbers is not None:
                row |= {"numbers": events.numbers[index], "best_number": int(events.one_best[index])}
            if probabilities[index]:
                row |= {
                    **_texts(events, index, mentions, sources[events.event, key]),
                    "excluded": excluded,
                    "filled": events.filled(index),
                    "parses": max(1, len(events.parses_with(index))),
                    "triggers": triggers.get(key, []),
                    "samples": packed[index].tobytes(),
                }
                if events.ways is not None:
                    named = np.packbits(events.ways[index] & NAMED != 0).tobytes()
                    row["named_samples"] = None if named == row["samples"] else named
            rows.append(row)
    return rows


def cooccurrence_rows(
    document: Mapping[str, Any],
    rule_events: Sequence[DocumentEvents],
    parses: Parses,
    columns: Mapping[str, Sequence[str]],
    roles: Sequence[str],
    cooccurrences: Cooccurrences,
) -> list[dict[str, Any]]:
    """Rows of the table of evidence for words and names that co-occur, without an event that is possible.

    Parameters
    ----------
    document
        Columns of the document.
    rule_events, parses, columns, roles, cooccurrences
        As in `evidence_rows`, which has the rows of `rule_events`.
    """
    possible = {(events.event, key) for events in rule_events for key in events.keys}
    mentions = _Mentions(parses)
    never = {"probability": 0.0, "mc_se": 0.0, "one_best": False, "inefficiency": 0.0}
    return [
        {
            **document,
            "event": event,
            **EventKey(key).cells(columns[event], roles),
            **never,
            **mentions.cooccurring(each),
        }
        for event, of_event in cooccurrences.items()
        for key, each in of_event.items()
        if (event, key) not in possible
    ]


class _Mentions:
    """Mentions of all parses of a document, and their texts.

    Mentions of several parses with the same words count as one mention. Mentions are numbered when they are first used.
    """

    def __init__(self, parses: Parses) -> None:
        self._parses = parses
        self._numbers: dict[tuple[int, ...], int] = {}
        self._spans: list[_Span] = []  # by number
        self._firsts: list[int] = []  # by number, the mention of the first parse or -1
        self._texts: dict[int, str] = {}  # by number
        self._sentences: dict[int, str] = {}

    @cached_property
    def _mentions(self) -> list[list[list[int]]]:
        """Start, end and head of each mention of each parse."""
        return [mentions.tolist() for _, mentions in self._parses]

    @property
    def has_tokens(self) -> bool:
        return self._parses[0][0] is not None

    @cached_property
    def tokens(self) -> Tokens:
        """Tokens of the first parse, which has tokens wherever this is used."""
        tokens = self._parses[0][0]
        assert tokens is not None
        return tokens

    @cached_property
    def _sentence_of(self) -> list[int]:
        numbers: list[int] = self.tokens.sent.tolist()
        return numbers

    @cached_property
    def _bounds(self) -> Mapping[int, tuple[int, int]]:
        return self.tokens.sentences()

    def number(self, parse: int, mention: int) -> int:
        """Number of a mention over all parses; a negative `mention` stands for no mention and is returned unchanged."""
        if mention < 0:
            return mention
        start, end, head = self._mentions[parse][mention]
        is_alone = len(self._parses) == 1
        number = self._numbers.setdefault((mention,) if is_alone else (start, end), len(self._numbers))
        if number == len(self._spans):
            self._spans.append([start, end, head])
            if not is_alone:
                same_words = (self._parses[0][1][:, :2] == (start, end)).all(axis=1)
                mention = next(iter(np.flatnonzero(same_words).tolist()), -1)
            self._firsts.append(mention)
        return number

    def in_first(self, number: int) -> int:
        """Mention of the first parse with the words of a numbered mention; -1 if the first parse has none."""
        return -1 if number < 0 else self._firsts[number]

    def sentence(self, token: int) -> str:
        """Text of the sentence of a token."""
        number = self._sentence_of[token]
        if number not in self._sentences:
            self._sentences[number] = " ".join(self.tokens.written[slice(*self._bounds[number])])
        return self._sentences[number]

    def text(self, number: int) -> str:
        """Text of a numbered mention, shortened to 12 tokens, with its token span."""
        if number < 0:
            return _NOBODY[number]
        if number not in self._texts:
            start, end, _ = self._spans[number]
            words = self.tokens.written[start : min(end, start + _LONGEST_MENTION)]
            shortened = " ..." if end - start > _LONGEST_MENTION else ""
            self._texts[number] = f"{' '.join(words)}{shortened} [{start}-{end}]"
        return self._texts[number]

    def cooccurring(self, cooccurrence: Cooccurrence) -> dict[str, Any]:
        """Columns of a word and of names that co-occur."""
        if not cooccurrence.in_sentence:
            return {"cooccurrence": "document"}
        token, written = cooccurrence.token, self.tokens.written
        names = (f"{' '.join(written[start:end])} [{start}-{end}]" for start, end in cooccurrence.names)
        return {
            "cooccurrence": "sentence",
            "sentences": self.sentence(token),
            "actor_mentions": SEPARATOR.join(names),
            "triggers": [{"token": token, "trigger": written[token], "probability": 0.0}],
        }

    def sentences(self, instances: list[_Instance], descriptions: list[_Description]) -> str:
        """Text of the sentences that have a trigger or a described mention."""
        tokens = {trigger for trigger, *_ in instances}.union(self._spans[mention][2] for mention, *_ in descriptions)
        firsts = {self._sentence_of[token]: token for token in tokens}
        return SEPARATOR.join(self.sentence(token) for _, token in sorted(firsts.items()))


def _texts(events: DocumentEvents, index: int, mentions: _Mentions, sources: _Sources) -> dict[str, Any]:
    """Columns of the table of evidence that quote the sources of one event with P > 0, or say where they are."""
    instances, descriptions = sources
    in_first, n_samples = mentions.in_first, events.n_samples
    reasons: list[tuple[str, float, list[tuple[int, float]]]] = []  # name, share, mentions with their shares
    if index in events.reasons:
        other_hits = Counter[int]()
        for parse, mention, n in events.reasons[index].other_actors:
            other_hits[mentions.number(parse, mention)] += n
        others = [(mention, n / n_samples) for mention, n in other_hits.most_common(MOST_MENTIONS)]
        shares = events.reasons[index].shares()
        reasons = [(name, n / n_samples, others if name == SEVERAL else []) for name, n in shares]
    places = {
        "instances": [[trigger, [*map(in_first, fillers)], *p] for trigger, fillers, *p in instances],
        "descriptions": [[in_first(mention), *others] for mention, *others in descriptions if in_first(mention) >= 0],
        "reasons": [[name, share, [[in_first(m), p] for m, p in others]] for name, share, others in reasons],
    }
    sentences = role_mentions = actor_mentions = ""
    remarks: list[str] = []
    if mentions.has_tokens:
        for name, share, others in reasons:
            other_texts = ", ".join(f"{mentions.text(m)} {p:.3f}" for m, p in others)
            remarks.append(f"{name} {share:.3f}" + f" ({other_texts})" * bool(other_texts))
        if instances:
            sentences = mentions.sentences(instances, descriptions)
            role_mentions = SEPARATOR.join(
                f"{' > '.join(map(mentions.text, fillers or [ABSENT]))} {p:.3f}" for _, fillers, p, _ in instances
            )
            described = (
                f"{mentions.text(mention)}{f' {STAND_IN} {code}, named in this text' * is_stand_in} {p:.3f}"
                for mention, code, _, p, is_stand_in in descriptions
            )
            actor_mentions = SEPARATOR.join(dict.fromkeys(described))
    if not events.is_settled:
        remarks.append(UNSETTLED)
    return {
        "sentences": sentences,
        "role_mentions": role_mentions,
        "actor_mentions": actor_mentions,
        "places": msgspec.json.encode(places).decode(),
        "reasons": SEPARATOR.join(remarks),
    }


def _excluded_triggers(events: DocumentEvents, parses: Parses) -> str:
    """Text that lists the triggers that conditions excluded in any parse, with their tokens and the conditions."""
    texts: dict[str, None] = {}
    rules = [events, *(of_rule for members in events.members for of_rule, _ in members)]
    for parse_events in (parse for rule in rules for parse in rule.parses):
        tokens = parses[parse_events.parse][0]
        assert tokens is not None  # rules need them
        assert parse_events.matches is not None  # of one parse
        for token, conditions in parse_events.matches.excluded:
            texts[f"{tokens.written[token]} [{token}] {', '.join(conditions)}"] = None
    return SEPARATOR.join(texts)


def _rule_sources(
    events: DocumentEvents, mentions: _Mentions
) -> tuple[dict[EventKey, _Sources], dict[EventKey, list[dict[str, Any]]]]:
    """Sources of each event of a rule, and the triggers that make it true, in the order of the text."""
    n_samples = events.n_samples
    described = Counter[tuple[int, str, int, int, bool]]()
    instance_hits: dict[EventKey, Counter[tuple[int, tuple[int, ...]]]] = defaultdict(Counter)
    # By trigger and event: for each parse, of several instances the one that is true in most samples, as its number of
    # samples, how its roles are filled, and its frame.
    hits_by_trigger: dict[tuple[int, EventKey], list[tuple[int, str, str]]] = {}
    p_reports: dict[int, float] = {}  # by trigger
    for part in events.parses:
        matches, parse = part.matches, part.parse
        assert matches is not None  # of one parse
        chances = np.ones(len(matches.triggers)) if matches.chances is None else matches.chances
        p_reports |= zip(matches.triggers.tolist(), chances.tolist(), strict=True)
        hit, n_certain = np.flatnonzero(part.description_hits), len(matches.described_mentions) - len(matches.inferred)
        words = [(-1, -1)] * len(hit) if matches.described_words is None else matches.described_words[hit].tolist()
        arrays = hit, matches.described_mentions[hit], matches.described_actors[hit], part.description_hits[hit]
        for d, m, actor, n, (first, end) in zip(*(array.tolist() for array in arrays), words, strict=True):
            is_stand_in = d >= n_certain and matches.inferred[d - n_certain].possessor is None
            described[mentions.number(parse, m), matches.actors[actor], first, end, is_stand_in] += n
        by_default, triggers_of, instances = (
            array.tolist() for array in (matches.by_default, matches.triggers, matches.instances)
        )
        named_hits = None if part.named_hits is None else part.named_hits.tolist()
        most: dict[tuple[int, EventKey], tuple[int, str, str]] = {}
        of_instances, of_keys = part.instance_hits.nonzero()
        hits_of = part.instance_hits[of_instances, of_keys].tolist()
        for t, k, n in zip(of_instances.tolist(), of_keys.tolist(), hits_of, strict=True):
            key, trigger, fillers = part.keys[k], triggers_of[t], instances[t]
            is_nobody = [m == DEFAULT and code == NO_ACTOR for m, code in zip(fillers, key, strict=True)]
            numbers = [ABSENT if no else mentions.number(parse, m) for m, no in zip(fillers, is_nobody, strict=True)]
            instance_hits[key][trigger, tuple(numbers)] += n
            # Where a default actor has the event, the row of nobody would be the same event again.
            if not any(is_nobody) and n > most.get((trigger, key), (0, "", ""))[0]:
                filled = "" if not any(key) else "default" if by_default[t][k] else "named"
                if filled == "named" and named_hits is not None and 2 * named_hits[t][k] < n:
                    filled = "stands for"
                most[trigger, key] = n, filled, matches.frames[t] if matches.frames else ""
        for trigger_and_key, hits in most.items():
            hits_by_trigger.setdefault(trigger_and_key, []).append(hits)
    descriptions = [
        (mention, code, [] if first < 0 else [first, end], n / n_samples, is_stand_in)
        for (mention, code, first, end, is_stand_in), n in described.most_common()
    ]
    sources: dict[EventKey, _Sources] = {}
    for key in events.keys:
        likeliest = instance_hits[key].most_common(MOST_MENTIONS)
        codes = {single_code for code in key for single_code in (code, *code.split(OF))}
        sources[key] = (
            [(trigger, [*fillers], n / n_samples, p_reports[trigger]) for (trigger, fillers), n in likeliest],
            [item for item in descriptions if item[1] in codes][:MOST_MENTIONS],
        )
    triggers: dict[EventKey, list[dict[str, Any]]] = {}
    for (token, key), of_parses in sorted(hits_by_trigger.items()) if mentions.has_tokens else ():
        filled_in_parses = {filled for _, filled, _ in of_parses}
        trigger_of_event = {
            "token": token,
            "trigger": mentions.tokens.written[token],
            "frame": of_parses[0][2],
            "filled": filled_in_parses.pop() if len(filled_in_parses) == 1 else "both",
            "p_reports": p_reports[token],
            "probability": sum(n for n, _, _ in of_parses) / n_samples,
            "sentence": mentions.sentence(token),
        }
        triggers.setdefault(key, []).append(trigger_of_event)
    return sources, triggers


def _outcome_sources(members: Sequence[UnionMember], sources: Mapping[tuple[str, EventKey], _Sources]) -> _Sources:
    """Sources of an outcome's event, with their highest probability in any of its members."""
    # An event that both the default actor and nobody have is one instance.
    likeliest: dict[tuple[int, tuple[int, ...]], _Instance] = {}
    described: dict[tuple[int, str, tuple[int, ...], bool], float] = {}
    for events, rows in members:
        for row in (row for row in rows if events.n_hits[row]):
            instances, descriptions = sources[events.event, events.keys[row]]
            for trigger, fillers, p, reports in instances:
                instance_key = trigger, tuple(max(m, ABSENT) for m in fillers)
                _, before, p_before, reports_before = likeliest.get(instance_key, (trigger, fillers, 0.0, 0.0))
                least, highest = [*map(min, fillers, before)], max(p, p_before)
                likeliest[instance_key] = trigger, least, highest, max(reports, reports_before)
            for mention, code, words, p, is_stand_in in descriptions:
                description = mention, code, tuple(words), is_stand_in
                described[description] = max(p, described.get(description, 0.0))
    in_order = sorted(((*each, p) for each, p in described.items()), key=lambda description: -description[-1])
    return (
        sorted(likeliest.values(), key=lambda instance: -instance[2])[:MOST_MENTIONS],
        [
            (mention, code, [*words], p, is_stand_in)
            for mention, code, words, is_stand_in, p in in_order[:MOST_MENTIONS]
        ],
    )
