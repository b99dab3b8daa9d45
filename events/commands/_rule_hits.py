"""Hits of a rule and a lexicon in a corpus: triggers, conditions, names, and actors that the rule does not reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from corefsample.documents._batch import DocumentBatch
from corefsample.formats import DocumentStream
from events._options import Progress
from events._summary import counted, listed
from events.commands._explaining import traced
from events.commands._reading import CheckReport
from events.lexicon._content import OF
from events.lexicon._file import lexicon_content
from events.lexicon._lexicon import Lexicon
from events.matching._screening import Screen
from events.matching._tracing import COUNTED, DocumentTrace, TriggerTrace
from events.rules._rules import Rule

_LISTED = 12  # number of items that are listed on the screen; the JSON summary has all
_MOST_STEPS = 3  # longest path from a trigger to an actor that is reported, because longer paths are accidental


@dataclass(slots=True, kw_only=True)
class RuleHits(CheckReport):
    """Numbers of hits of a rule and a lexicon in a corpus.

    Attributes
    ----------
    rule, preset, lexicon
        Names of the rule and of its preset, and the source of the lexicon.
    n_documents, n_with_actor, n_with_trigger, n_with_event
        Number of documents; number of documents that name an actor of the lexicon; number of documents with a trigger;
        and number of documents with a trigger whose roles are filled without coreference.
    n_with_parses
        Number of documents with several parses; only the likeliest parse is inspected.
    n_by_actor, n_by_nobody
        Number of documents with an event by an actor of the lexicon, and number of documents with an event whose
        optional role no name of the lexicon fills.
    triggers
        Number of hits by outcome (see `TriggerTrace`), for each trigger of the rule.
    conditions
        Number of triggers for which a condition holds, by condition of the preset.
    aliases
        Number of hits by name as in the text (ignoring case), by code of the actor.
    unused
        Names of the lexicon that are in no document, with their codes.
    n_ambiguous
        Number of names in the text that are ambiguous on the document's date.
    unmatched
        Number of hits and doc_id of the first hit, by path from a trigger to an actor in its sentence that fills no
        role of the trigger.
    """

    rule: str
    preset: str
    lexicon: str
    n_documents: int = 0
    n_with_actor: int = 0
    n_with_trigger: int = 0
    n_with_parses: int = 0
    n_with_event: int = 0
    n_by_actor: int = 0
    n_by_nobody: int = 0
    triggers: dict[str, Counter[str]] = field(default_factory=dict)
    conditions: Counter[str] = field(default_factory=Counter)
    aliases: dict[str, Counter[str]] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    n_ambiguous: int = 0
    unmatched: dict[str, tuple[int, str]] = field(default_factory=dict)

    def lines(self) -> list[tuple[str, str]]:
        """Pairs of name and value, to print."""
        hits_by_trigger = {trigger: hits for trigger, hits in self.triggers.items() if hits}
        missing = [trigger for trigger, hits in self.triggers.items() if not hits]
        names = Counter({f"{code} {name}": n for code, hits in self.aliases.items() for name, n in hits.items()})
        outcomes: Counter[str] = sum(hits_by_trigger.values(), Counter())
        unmatched = [f"{path} {n:,} ({doc_id})" for path, (n, doc_id) in self.unmatched.items()]
        return [
            ("rule", f"{self.rule}, preset {self.preset}; lexicon {self.lexicon}"),
            ("documents", f"{self.n_documents:,}; {self.n_with_actor:,} name an actor of the lexicon"),
            ("", f"{self.n_with_trigger:,} have a trigger, {self.n_with_event:,} an event without coreference"),
            *(
                [("", f"{self.n_by_actor:,} by an actor, {self.n_by_nobody:,} by nobody whom the lexicon names")]
                * bool(self.n_by_nobody)
            ),
            ("triggers", _most(Counter({trigger: hits.total() for trigger, hits in hits_by_trigger.items()}))),
            ("not found", listed(missing, _LISTED)),
            ("outcomes", _most(outcomes)),
            ("conditions", _most(self.conditions)),
            ("actors", _most(names)),
            ("ambiguous", f"{self.n_ambiguous:,} names"),
            ("unused", f"{len(self.unused):,} names of the lexicon"),
            ("unmatched", listed(unmatched, _LISTED) if unmatched else "no actor beside a trigger"),
            *(("note", note) for note in self.notes()),
        ]

    def notes(self) -> list[str]:
        """Sentences about probable errors, and about documents of which only one parse was inspected."""
        notes = []
        if self.n_with_parses:
            notes.append(
                f"the likeliest parse alone is inspected of {counted(self.n_with_parses, 'document')} with several"
            )
        if self.n_documents and not self.n_with_actor:
            notes.append(f"no document names an actor of the lexicon {self.lexicon}: check that it is the right one")
        if self.n_documents and not self.n_with_trigger:
            notes.append("no document has a trigger of the rule: check the lemmas and parts of speech in the file")
        return notes


def rule_hits(
    files: Sequence[str],
    rule: Rule,
    lexicon: Lexicon,
    *,
    scheme: str | None = None,
    on_progress: Progress | None = None,
) -> RuleHits:
    """Count the hits of a rule and a lexicon in scored documents.

    Parameters
    ----------
    files
        Paths of files of scored mentions, globs, or "-" for standard input.
    rule, lexicon
        Rule whose triggers are traced, and lexicon whose names are counted.
    scheme
        Dependency scheme of the documents; by default, it is determined from the labels of each document.
    on_progress
        Function that is called after each batch with the bytes read, the bytes of all files, and the documents read.

    Raises
    ------
    ParameterError, InputError
        If a file cannot be read. Invalid documents are listed as problems of the result instead.
    """
    hits = RuleHits(title=", ".join(files), rule=rule.name, preset=rule.preset, lexicon=lexicon.source)
    hits.triggers = {trigger: Counter() for trigger in _triggers(rule)}
    hits.conditions.update(dict.fromkeys(rule.unless, 0))
    stream = DocumentStream(files, needs=("tokens",), on_rejected=hits.reject, parses=True)
    spellings: set[str] = set()  # texts and lemmas of the names found, without white space
    for batch, traces in traced(stream, rule, Screen(rule, lexicon, scheme), on_progress, hits):
        hits.n_with_parses += sum(len(batch.parses(row)) > 1 for row in batch.firsts.tolist())
        for row, trace in traces.items():
            _add_names(hits, spellings, batch, row, trace)
            _add_triggers(hits, batch.doc_ids[row], trace)
    hits.unused = _unused(lexicon, spellings)
    hits.unmatched = dict(sorted(hits.unmatched.items(), key=lambda item: (-item[1][0], item[0])))
    return hits


def _triggers(rule: Rule) -> list[str]:
    """Lemmas and phrases of all frames, sorted, without repetitions."""
    lemmas = {lemma for frame in rule.frames for lemma in frame.lemmas}
    return sorted(lemmas | {" ".join(phrase.words) for frame in rule.frames for phrase in frame.phrases})


def _add_names(hits: RuleHits, spellings: set[str], batch: DocumentBatch, row: int, trace: DocumentTrace) -> None:
    hits.n_documents += 1
    hits.n_with_actor += bool(trace.names.codes)
    hits.n_ambiguous += trace.names.n_ambiguous
    if not trace.names.codes:
        return
    tokens = batch.tokens(row)
    assert tokens is not None  # the stream needs them
    for token, code in trace.names.codes.items():
        start, end = trace.names.spans[token]
        words = " ".join(tokens.text[start:end])
        hits.aliases.setdefault(code, Counter())[words.casefold()] += 1
        spellings |= {"".join(column[start:end]).casefold() for column in (tokens.text, tokens.lemma)}


def _add_triggers(hits: RuleHits, doc_id: str, trace: DocumentTrace) -> None:
    hits.n_with_trigger += bool(trace.triggers)
    named = [trigger.is_named for trigger in trace.triggers if trigger.outcome == COUNTED]
    hits.n_with_event += bool(named)
    hits.n_by_actor += any(named)
    hits.n_by_nobody += not all(named)
    for trigger in trace.triggers:
        hits.triggers[trigger.trigger][trigger.outcome] += 1
        hits.conditions.update(trigger.conditions)
        for route in _routes_beside(trigger):
            count, first = hits.unmatched.get(route, (0, doc_id))
            hits.unmatched[route] = count + 1, first


def _routes_beside(trigger: TriggerTrace) -> list[str]:
    """Paths from a trigger to the actors in its sentence that fill none of its roles."""
    codes = {single_code for role in trigger.roles for code in role.actors for single_code in code.split(OF)}
    return [
        path or "the trigger itself"
        for actor in trigger.actors
        for path in [actor.path_from_trigger]
        if codes.isdisjoint(actor.actor.split(OF))
        and path is not None
        and path.count("<") + path.count(">") <= _MOST_STEPS
    ]


def _unused(lexicon: Lexicon, spellings: set[str]) -> list[str]:
    """Names of the lexicon that are not in the documents, with their codes."""
    lexicon_file = lexicon_content(lexicon.source)
    names = [(entry.code, alias) for entry in lexicon_file.entries.values() for alias in entry.names]
    names += [(title.code, title.alias) for title in lexicon_file.titles]
    return [f"{code} {alias.written}" for code, alias in names if alias.key not in spellings]


def _most(counts: Counter[str]) -> str:
    """Text with the most frequent items, their numbers, and the number of items that are left out."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return listed([f"{name} {n:,}" for name, n in ordered], _LISTED)
