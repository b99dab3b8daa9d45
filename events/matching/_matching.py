"""Matches of rules in one parse: mentions described as actors, and mentions that fill the roles of events.

This is done once per document; each sampled clustering then needs only boolean operations (see `events.counts`).
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import combinations, compress, product
from math import exp
from typing import NamedTuple

import numpy as np

from corefsample._arrays import Ints32
from corefsample.documents._tokens import Tokens
from corefsample.errors import InputError, ParameterError, ParameterHint
from corefsample.languages._language import ENGLISH, load_language
from corefsample.syntax._paths import Dependents, ParseView, clause_partners, follow_each, leading_to
from corefsample.syntax._schemes import SCHEMES, schemes_of
from events.lexicon._file import OF
from events.lexicon._lexicon import Lexicon, LexiconMatches
from events.matching._matches import ABSENT, DEFAULT, NO_ACTOR, InferredDescription, MentionMatches
from events.matching._trigger_model import (
    IMPLIED,
    LEARNED,
    LEAST,
    LEAST_SCORE,
    LEAST_SIMILAR,
    UNLIKELY,
    PredicateFeatures,
    TriggerModel,
    implying_columns,
    load_trigger_model,
)
from events.rules._conditions import holding
from events.rules._format import NEAR
from events.rules._rules import BY_RULES, Frame, Phrase, Rule, load_rules

Instances = dict[tuple[int, ...], str]  # frame by the mentions that fill the roles
_POSSESSIVES = ("poss", "nmod:poss")
# P(a class noun stands for the named actor), of the development part of MUC-3/4 by benchmarks/stand_ins.py: logistic
# regression on whether the actor is the only one, whether it is named before, and whether the noun has "the".
_INTERCEPT, _ALONE, _BEFORE, _DEFINITE = -2.17, 1.57, 1.57, 0.64
_OF_STATE = 0.95  # P("the army" is that of the only country that the text names, before it), by the same script
_NO_NAMES = LexiconMatches({}, {}, 0)
_resources = cache(load_language)  # once for each language, not for each document
_SUBJECTS = frozenset(["nsubj", "nsubj:pass", "nsubjpass"])
_OBJECTS = frozenset(["obj", "dobj", "iobj", "dative"])
_VIOLENCE = "violence"
_VIOLENT = IMPLIED[_VIOLENCE].union(IMPLIED)  # event types whose agents may be those of another event: see `agents`
_PATIENTS = frozenset(["obj", "dobj", "nsubj:pass", "nsubjpass"])
# Names of the paths by which a mention is described as an actor, for whether two mentions can be of one entity.
_DESCRIBING = (
    *("head", "adjectival_modifier", "of_modifier", "possessive", "compound", "conjoined_modifier"),
    *("group_member", "origin"),
)


def readable_schemes(labels: Iterable[str], scheme: str | None) -> tuple[str, ...]:
    """Names of the dependency schemes that fit the labels of a document from a file.

    Raises
    ------
    InputError
        If the labels fit no scheme, or do not fit `scheme`.
    """
    try:
        return schemes_of(labels, scheme)
    except ParameterError as error:
        raise InputError(error.message, hint=error.hint) from None


def served_schemes(rule: Rule, readable: Sequence[str]) -> list[str]:
    """Schemes out of `readable` for which a rule has paths; raises InputError if the rule has paths for none."""
    scheme_names = [name for name in readable if rule.serves(name)]
    if not scheme_names:
        expected = f"tokens.dep must fit a scheme that the rule {rule.name} has paths for"
        raise InputError(f"{expected}, got {' or '.join(readable)}")
    return scheme_names


def match_document(
    tokens: Tokens,
    mentions: Ints32,
    rule: Rule,
    lexicon: Lexicon,
    date: datetime.date | None,
    scheme: str | None = None,
) -> MentionMatches:
    """Match a rule and a lexicon against a parse.

    Parameters
    ----------
    tokens
        Tokens of one document.
    mentions
        int32 (n_mentions, 3): first token, exclusive end and head token of each mention of the document.
    rule
        Definition of the event.
    lexicon
        Names of the actors.
    date
        Date of the document, which decides between actors that share a name at different times; None if unknown.
    scheme
        Name of the dependency scheme; by default it is recognised from the labels.

    Raises
    ------
    InputError
        If the labels of the tokens fit no scheme or no scheme for which the rule has paths, or if they fit several
        schemes which lead to different events.
    """
    return match_rules(tokens, mentions, [rule], lexicon, date, scheme)[0]


def match_rules(
    tokens: Tokens,
    mentions: Ints32,
    rules: Sequence[Rule],
    lexicon: Lexicon,
    date: datetime.date | None,
    scheme: str | None = None,
    names: LexiconMatches | None = None,
    verbs: Iterable[int] | None = None,
) -> tuple[MentionMatches, ...]:
    """Match several rules against a parse: one result per rule, as `match_document` returns it.

    Steps that the rules share are done once. `names` has the names of actors; by default they are matched here. `verbs`
    are the tokens among which verbs with a form of the rules are looked for; by default all.
    """
    readable = readable_schemes(tokens.dep, scheme)
    words = rule_words(rules)
    readings: dict[tuple[str, tuple[str, ...]], ParseReading] = {}
    readings_by_rule: list[list[RuleReading]] = []
    forms = verb_forms(tokens, range(len(tokens)) if verbs is None else verbs)
    for rule in rules:
        served, for_rule = served_schemes(rule, readable), with_forms(tokens, rule, forms)
        keys = [(name, () if for_rule is tokens else tuple(for_rule.lemma)) for name in served]
        for key in keys:
            if key not in readings:
                readings[key] = ParseReading(for_rule, mentions, key[0], words, rule.language)
        readings_by_rule.append([RuleReading(readings[key], rule) for key in keys])
    any_reading = next(iter(readings.values()))
    if names is None and any(reading.is_filled for of_rule in readings_by_rule for reading in of_rule):
        names = lexicon.match(tokens.text, any_reading.view.heads, date, tokens.lemma)
    return tuple(_agreed(readings_of_rule, names or _NO_NAMES, lexicon) for readings_of_rule in readings_by_rule)


def rule_words(rules: Iterable[Rule]) -> frozenset[str]:
    """Lemmas that triggers of the rules can have."""
    return frozenset().union(*(frame.words for rule in rules for frame in rule.frames))


def verb_forms(tokens: Tokens, candidates: Iterable[int]) -> list[tuple[int, str]]:
    """Those of some tokens that are verbs, and their forms in lower case."""
    return [(token, tokens.text[token].lower()) for token in candidates if tokens.upos[token] == "VERB"]


def with_forms(tokens: Tokens, rule: Rule, verbs: Iterable[tuple[int, str]]) -> Tokens:
    """Tokens in which each of the verbs that has a form of a rule's word has this word as its lemma.

    Lemmatisers are wrong about many forms ("raped" is "ra" or "rap"), so that the rule would never find them.
    """
    lemmas = {token: rule.forms[form] for token, form in verbs if form in rule.forms}
    if all(tokens.lemma[token] == lemma for token, lemma in lemmas.items()):
        return tokens
    return tokens.with_valid(lemma=[lemmas.get(token, lemma) for token, lemma in enumerate(tokens.lemma)])


def distinct_actors(
    tokens: Tokens, mentions: Ints32, lexicon: Lexicon, date: datetime.date | None, scheme: str | None = None
) -> tuple[Ints32, Ints32]:
    """Pairs of mentions that are described as distinct actors, and the mentions that name an actor.

    See `apart` and `naming` of `MentionMatches`. The result does not depend on a rule. If the labels fit several
    schemes, the first one is used. Raises InputError if the labels fit no scheme, or do not fit `scheme`.
    """
    reading = ParseReading(tokens, mentions, readable_schemes(tokens.dep, scheme)[0], frozenset())
    names = lexicon.match(tokens.text, reading.view.heads, date, tokens.lemma)
    pairs, n_distinct, naming = reading.apart(names, lexicon)
    return pairs[:n_distinct], naming


def _agreed(readings: Sequence[RuleReading], names: LexiconMatches, lexicon: Lexicon) -> MentionMatches:
    """Matches of one rule; raises InputError if schemes that the labels fit lead to different events."""
    matches = [reading.matches(names, lexicon) for reading in readings]
    if not all(matches[0].agrees(other_matches) for other_matches in matches[1:]):
        fitting = " and ".join(reading.parse.scheme for reading in readings)
        rule = f"tokens.dep must fit one dependency scheme, got labels that fit {fitting}, which give different events"
        raise InputError(rule, hint=ParameterHint("scheme", "chooses"))
    return matches[0]


class _Descriptions(NamedTuple):
    """Codes of actors and the descriptions of mentions as these actors: see `MentionMatches`."""

    codes: tuple[str, ...]
    mentions: Ints32
    numbers: Ints32
    words: Ints32
    inferred: tuple[InferredDescription, ...] = ()


class ParseReading:
    """A parse read by one scheme, with the intermediate results that all rules share."""

    def __init__(
        self, tokens: Tokens, mentions: Ints32, scheme: str, words: frozenset[str], language: str = ""
    ) -> None:
        self.scheme = scheme
        self._language = _resources(language or ENGLISH)
        self._feats = tokens.extra.get("feats")
        self.sentences = tokens.sent
        self.view = ParseView(tokens, SCHEMES[scheme], self._language)
        self.index = LemmaIndex(self.view, words)
        self.by_head = Dependents(mentions[:, 2], len(tokens))  # mentions by the token that is their head
        self._mentions = mentions
        self._partners = clause_partners(tokens, mentions)
        for pair in self._partners:  # a pair fills no role: its head has that of the first name alone
            head = int(mentions[pair, 2])
            self.by_head[head] = [mention for mention in self.by_head[head] if mention != pair]
        self._described: dict[tuple[str, ...], _Descriptions] = {}
        self._words: dict[tuple[str, ...], dict[tuple[int, str], int]] = {}
        self._with_inferred: dict[tuple[tuple[str, ...], bool], _Descriptions] = {}
        self._apart: tuple[Ints32, int, Ints32] | None = None

    @cached_property
    def _members(self) -> tuple[Dependents, set[int]]:
        """Mentions by the tokens that describe them, and the mentions that are coordinations.

        A coordination is described by all its members, as are two names of one clause.
        """
        mentions, heads = self._mentions, self.view.heads
        by_member, coordinations = Dependents(mentions[:, 2], len(heads)), {*self._partners}
        for pair, partner in self._partners.items():
            by_member[partner] = [*by_member[partner], pair]
        first: dict[int, int] = {}
        for token in [token for token, label in enumerate(self.view.labels) if label == "conj"]:
            first[token] = first.get(heads[token], heads[token])
            whole = [mention for mention in by_member[first[token]] if mentions[mention, 1] > token]
            if len(whole) < len(by_member[first[token]]):  # the first member is a mention by itself
                by_member[token] = by_member[token] + whole
                coordinations.update(whole)
        return by_member, coordinations

    @cached_property
    def predicates(self) -> PredicateFeatures:
        """Features of predicates for the trigger model."""
        return PredicateFeatures(self.view)

    def most_similar(
        self, model: TriggerModel, prototype: Sequence[float], predicates: Iterable[int], of_rule: Collection[int]
    ) -> dict[int, float]:
        """P by similarity to the triggers of a rule, by predicate: the most similar one of each sentence, if likely.

        Several of a sentence would count one event twice, as a verb and its object are similar to the triggers for the
        same reasons. So a sentence with a trigger of the rule has none.
        """
        assert model.encoder is not None  # without one, rules have no prototype
        intercept, slope = model.similarity.tolist()
        skipped = {int(self.sentences[token]) for token in of_rule}
        nearest: dict[int, tuple[float, int]] = {}
        for token in predicates:
            sentence = int(self.sentences[token])
            if sentence not in skipped:
                cosine = float(np.dot(self.predicates.vector(model.encoder, token), prototype))
                candidate = _logistic(intercept + slope * cosine), token
                nearest[sentence] = max(candidate, nearest.get(sentence, candidate))
        return {token: chance for chance, token in nearest.values() if chance >= LEAST_SIMILAR}

    def agents(
        self,
        model: TriggerModel,
        paths: tuple[str, ...],
        trigger: int,
        ends: Mapping[int, str],
        of_rule: Collection[int],
    ) -> Mapping[int, str]:
        """Ends of the paths to the agent of a trigger, where an event gives way to its own agents.

        In "a strike by troops killed nine" the troops killed. A trigger without an agent has that of the event of which
        it is a part: "killed when troops shelled a village". But in "killed when they attacked" they are not the agent.

        Parameters
        ----------
        model
            Trigger model, with the type of violence.
        paths
            Paths from a predicate to its agent.
        trigger, ends
            The trigger, and the ends of its paths to the agent.
        of_rule
            Triggers of the rule, which are events too.
        """
        scheme_paths = SCHEMES[self.scheme].paths
        # The noun of an "Israeli strike" names its agent, that of "tear gas" does not. In lower case it may.
        named = not self._has_capitals or any(map(self._is_capitalised, self.view.dependents[trigger]))
        # A rule's own "police firing" names the police.
        ends = {end: path for end, path in ends.items() if end != trigger or named or not path}
        events = {} if ends else follow_each(scheme_paths["larger_event"], self.view, trigger)
        for event, steps in events.items():
            of_event = follow_each(paths, self.view, event) if self._is_act(model, event, of_rule) else {}
            skipped = "PRON" if steps.startswith(">") else None
            ends = ends or {
                end: steps + path for end, path in of_event.items() if end != trigger and self.view.upos[end] != skipped
            }
        agents: dict[int, str] = {}
        without_agent: dict[int, str] = {}
        for end, path in ends.items():
            is_event = end != trigger and self.view.upos[end] == "NOUN" and self._is_act(model, end, of_rule)
            of_event = follow_each(paths + scheme_paths["participle_agent"], self.view, end) if is_event else {}
            doers = {other: path + steps for other, steps in of_event.items() if other != end}
            agents |= doers or ({} if is_event else {end: path})
            without_agent |= {} if doers or not is_event else {end: path}
        return agents or without_agent

    @cached_property
    def _has_capitals(self) -> bool:
        return any(map(self._is_capitalised, range(len(self.view.text))))

    def _is_capitalised(self, token: int) -> bool:
        return self.view.text[token][:1].isupper()

    def _is_act(self, model: TriggerModel, token: int, of_rule: Collection[int]) -> bool:
        """Whether somebody commits an act by a predicate: by its word, or else more likely than not by its context."""
        acts, deaths = _words_of_violence()
        lemma, columns = self.view.lemma[token].lower(), implying_columns(model.types, _VIOLENCE)
        if lemma in deaths:
            return False
        return lemma in acts or token in of_rule or bool(self.predicates.scores(model, [token])[0, columns].max() > 0.0)

    def apart(self, names: LexiconMatches, lexicon: Lexicon) -> tuple[Ints32, int, Ints32]:
        """Pairs of mentions that belong to different entities, computed once for all rules.

        The mentions of a pair are described as distinct actors, or are subject and object of one verb that are not
        reflexive, as in "The president attacked Georgia." The description paths are the same for all rules.

        Returns
        -------
        pairs, n_distinct, naming
            The fields `apart`, `n_distinct` and `naming` of `MentionMatches`.
        """
        if self._apart is None:
            # A tuple like the paths of a rule, because rules with equal paths share the descriptions.
            paths = tuple(dict.fromkeys(path for name in _DESCRIBING for path in SCHEMES[self.scheme].paths[name]))
            descriptions = self.described(paths, names) if names.codes else _NOTHING
            actor_sets: dict[int, frozenset[str]] = {}
            for mention, number in zip(descriptions.mentions.tolist(), descriptions.numbers.tolist(), strict=True):
                actor_sets[mention] = actor_sets.get(mention, frozenset()) | {descriptions.codes[number]}
            mentions_by_actors: dict[tuple[frozenset[str], bool], list[int]] = {}
            for mention, codes in actor_sets.items():
                mentions_by_actors.setdefault((codes, mention in self._members[1]), []).append(mention)
            # "Britain and France" is neither, but "British troops" may be among "British and French troops".
            pairs = [
                pair
                for ((actors, several), mentions), ((rivals, rivals_several), rival_mentions) in combinations(
                    mentions_by_actors.items(), 2
                )
                if lexicon.are_distinct(actors, rivals) or (several != rivals_several and actors != rivals)
                for pair in product(mentions, rival_mentions)
            ]
            n_distinct, view = len(pairs), self.view
            pairs += [
                (i, j)
                for token, label in enumerate(view.labels)
                if label in _OBJECTS and not self._is_reflexive(token)
                for subject in view.dependents[view.heads[token]]
                if view.labels[subject] in _SUBJECTS and not self._is_reflexive(subject)
                for i in self.by_head[token]
                for j in self.by_head[subject]
            ]
            self._apart = np.array(pairs, np.int32).reshape(-1, 2), n_distinct, np.array(sorted(actor_sets), np.int32)
        return self._apart

    def _is_reflexive(self, token: int) -> bool:
        return self._language.is_reflexive(self.view.text[token], self._feats[token] if self._feats else "")

    def described(self, paths: tuple[str, ...], names: LexiconMatches) -> _Descriptions:
        """Descriptions that hold in all samples, computed once for all rules with the same paths."""
        if paths not in self._described:
            words = self._words[paths] = self._described_words(paths, names.codes)
            described = sorted(words)
            actors = tuple(sorted({code for _, code in described}))
            actor_numbers = {code: c for c, code in enumerate(actors)}
            self._described[paths] = _Descriptions(
                actors,
                np.array([m for m, _ in described], np.int32),
                np.array([actor_numbers[code] for _, code in described], np.int32),
                np.array([names.spans[words[pair]] for pair in described], np.int32).reshape(-1, 2),
            )
        return self._described[paths]

    def with_inferred(
        self, paths: tuple[str, ...], names: LexiconMatches, lexicon: Lexicon, stand_ins: bool
    ) -> _Descriptions:
        """Descriptions of `described`, followed by the descriptions that hold in some samples only.

        Words stand for actors of the lexicon only with `stand_ins`.
        """
        key = paths, stand_ins
        if key not in self._with_inferred:
            base, words = self.described(paths, names), self._words[paths]
            by_code: dict[str, list[int]] = {}
            for mention, code in words:
                by_code.setdefault(code, []).append(mention)
            inferred = [*self._possessed(words, by_code)]
            if stand_ins:
                inferred += self._of_class(words, by_code, lexicon.members)
                inferred += self._of_the_state(words, by_code, lexicon)
            spans = [names.spans.get(extra.word, (extra.word, extra.word + 1)) for extra in inferred]
            # Without inferred descriptions the same object, because rules with one object are evaluated together.
            self._with_inferred[key] = (
                base
                if not inferred
                else _Descriptions(
                    base.codes,
                    np.append(base.mentions, np.array([extra.mention for extra in inferred], np.int32)),
                    np.append(base.numbers, np.array([base.codes.index(extra.code) for extra in inferred], np.int32)),
                    np.concatenate((base.words, np.array(spans, np.int32).reshape(-1, 2))),
                    tuple(inferred),
                )
            )
        return self._with_inferred[key]

    def _described_words(self, paths: tuple[str, ...], codes: Mapping[int, str]) -> dict[tuple[int, str], int]:
        """First token that describes each (mention, code), at the end of a description path from the mention's head."""
        words: dict[tuple[int, str], int] = {}
        for token in sorted(codes, reverse=True):  # the first token of an actor replaces later ones
            for head in leading_to(paths, self.view, token):
                for mention in self._members[0][head]:
                    words |= {(mention, code): token for code in codes[token].split(OF)}
        return words

    def _possessed(
        self, described: Mapping[tuple[int, str], int], by_code: Mapping[str, Sequence[int]]
    ) -> Iterator[InferredDescription]:
        """Descriptions of forces whose possessor is a pronoun ("their troops"), as each actor of the text."""
        view, forces = self.view, frozenset(self._language.words.get("forces", ()))
        for mention, head in enumerate(self._mentions[:, 2].tolist()):
            if view.lemma[head].lower() not in forces:
                continue
            for token in view.dependents[head]:
                if view.labels[token] not in _POSSESSIVES or view.upos[token] not in ("PRON", "DET"):
                    continue
                for possessor in self.by_head[token]:
                    for code, described_mentions in by_code.items():
                        if (mention, code) not in described:
                            yield InferredDescription(mention, code, token, tuple(described_mentions), possessor)

    def _of_class(
        self,
        described: Mapping[tuple[int, str], int],
        by_code: Mapping[str, Sequence[int]],
        members: Mapping[str, frozenset[str]],
    ) -> Iterator[InferredDescription]:
        """Descriptions of mentions that name only a class, as each actor of the class.

        The chances of several actors sum at most to that of the likeliest one if it were the only one.
        """
        view, sentences, heads = self.view, self.sentences, self._mentions[:, 2]
        articles = self._language.definite_articles
        for class_code, member_codes in members.items():
            candidates = {code: by_code[code] for code in by_code if code in member_codes}
            if class_code not in by_code or not candidates:
                continue
            described_mentions = tuple(sorted({i for named_by in candidates.values() for i in named_by}))
            for mention in by_code[class_code]:
                if mention in described_mentions:
                    continue
                head = int(heads[mention])
                is_definite = any(view.text[token].lower() in articles for token in view.dependents[head])
                scores = {
                    code: _INTERCEPT
                    + _BEFORE * bool((sentences[heads[named_by]] <= sentences[head]).any())
                    + _DEFINITE * is_definite
                    for code, named_by in sorted(candidates.items())
                }
                as_only_one = _logistic(max(scores.values()) + _ALONE)
                weights = {code: _logistic(z) if len(scores) > 1 else as_only_one for code, z in scores.items()}
                scale, start = min(1.0, as_only_one / sum(weights.values())), 0.0
                token = described[mention, class_code]
                for code, weight in weights.items():
                    chance = weight * scale
                    yield InferredDescription(mention, code, token, described_mentions, start=start, chance=chance)
                    start += chance

    def _of_the_state(
        self, described: Mapping[tuple[int, str], int], by_code: Mapping[str, Sequence[int]], lexicon: Lexicon
    ) -> Iterator[InferredDescription]:
        """Descriptions of mentions such as "the army" as the only country of the text, which is named before them.

        No description is returned if the country is the patient of a verb anywhere in the text, because "the army" may
        then belong to another country.
        """
        view, heads = self.view, self._mentions[:, 2]
        states = [code for code in by_code if lexicon.kinds[code] == "country"] if lexicon.state_nouns else []
        if len(states) != 1:
            return
        described_mentions = tuple(sorted(by_code[states[0]]))
        if any(view.labels[head] in _PATIENTS for head in heads[list(described_mentions)]):
            return
        first_head = int(heads[list(described_mentions)].min())
        with_other_actors = {mention for mention, code in described if lexicon.kinds[code] not in lexicon.inner}
        for mention, head in enumerate(heads.tolist()):
            is_stand_in = head > first_head and view.lemma[head].lower() in lexicon.state_nouns
            if mention in with_other_actors or not is_stand_in:
                continue
            modifiers = [view.text[token].lower() for token in view.dependents[head] if token < head]
            if len(modifiers) == 1 and modifiers[0] in self._language.definite_articles:
                yield InferredDescription(mention, states[0], head, described_mentions, chance=_OF_STATE)


_NOTHING = _Descriptions((), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros((0, 2), np.int32))


@cache
def _words_of_violence() -> tuple[frozenset[str], frozenset[str]]:
    """Words of the rule of violence: for acts; and verbs whose subject suffers it, which need another agent."""
    words: dict[bool, set[str]] = {False: set(), True: set()}
    for frame in load_rules(_VIOLENCE).frames:
        has_subject = any(">nsubj" in paths["ud2"] for paths in frame.roles.values())
        words["VERB" in frame.upos and not has_subject] |= frame.lemmas
    return frozenset(words[False] - words[True]), frozenset(words[True])


def _logistic(z: float) -> float:
    return 1.0 / (1.0 + exp(-z))


class TriggerCandidate(NamedTuple):
    """Trigger of a frame with its lemma or phrase; `ends` has, for each role, the path that ends at a token."""

    token: int
    words: str
    frame: Frame
    ends: tuple[dict[int, str], ...]


class RuleReading:
    """A parse read by one scheme, with the triggers of a rule and the instances of its event.

    Attributes
    ----------
    candidates
        Triggers of the rule, whether or not their roles are filled.
    instances
        Fillers of the roles at the triggers: see `MentionMatches`.
    is_filled
        Whether a mention fills a role of some instance, so that names of actors matter.
    chances
        P(the trigger reports an event) by the trigger's token, of candidates whose required roles are filled; empty
        without a trigger model.
    """

    def __init__(self, parse: ParseReading, rule: Rule) -> None:
        self.parse = parse
        self._rule = rule
        of_model = rule.trigger_model, rule.encoder, rule.model_checksum
        model = None if rule.trigger_model == BY_RULES else load_trigger_model(*of_model)
        frames = [(frame, parse.index.triggers(frame)) for frame in rule.frames if frame.name != LEARNED]
        of_rule = {token for _, triggers in frames for token in triggers}
        learned = [frame for frame in rule.frames if frame.name == LEARNED]
        is_violent = bool(learned) and rule.event_type in _VIOLENT and model is not None and _VIOLENCE in model.types
        # In "nine soldiers died" the soldiers did not kill.
        suffered = _words_of_violence()[1] if is_violent else frozenset()
        similar: dict[int, float] = {}
        likely: Collection[int]
        if model is not None and learned:
            predicates = parse.index.triggers(learned[0])
            if rule.prototype:
                likely = similar = parse.most_similar(model, rule.prototype, predicates, of_rule)
            else:
                scores = parse.predicates.scores(model, predicates)
                # P without conditions, which take long to test and lower P, must reach the least.
                columns = implying_columns(model.types, rule.event_type)
                likely = of_rule.union(compress(predicates, scores[:, columns].max(axis=1) >= LEAST_SCORE))
            frames.append((learned[0], {token: words for token, words in predicates.items() if token in likely}))
        # The ends of paths need not be heads of mentions.
        self.candidates = [
            TriggerCandidate(token, words, frame, tuple(follow_each(paths, parse.view, token) for paths in of_roles))
            for frame, triggers in frames
            for token, words in triggers.items()
            for roles in [{} if frame.name == LEARNED and words in suffered else frame.roles]
            for of_roles in [[roles.get(role, {}).get(parse.scheme, ()) for role in rule.event]]
        ]
        if is_violent and model is not None:
            paths = learned[0].roles[rule.event[0]][parse.scheme]
            self.candidates = [
                c._replace(ends=(dict(parse.agents(model, paths, c.token, c.ends[0], of_rule)), *c.ends[1:]))
                for c in self.candidates
            ]
        by_token: dict[int, Instances] = {}
        for candidate in self.candidates:
            role_fillers = []
            for role, ends in zip(rule.event, candidate.ends, strict=True):
                mentions = {mention for head in ends for mention in parse.by_head[head]}
                absent = [ABSENT] if role in rule.may_be_absent - candidate.frame.required else []
                role_fillers.append(sorted(mentions) or absent)
            for instance in product(*role_fillers):
                by_token.setdefault(candidate.token, {}).setdefault(instance, candidate.frame.name)
        self.instances: list[tuple[int, ...]] = []
        self.chances: dict[int, float] = {}
        self._chances: list[float] = []
        self._triggers: list[int] = []
        self._frames: list[str] = []
        self._excluded: list[tuple[int, tuple[str, ...]]] = []
        reached = {(c.token, r) for c in self.candidates for r, ends in enumerate(c.ends) if ends}
        conditions = tuple((name, rule.conditions[name].paths[parse.scheme]) for name in rule.unless)
        for token, instances in sorted(by_token.items()):
            excluding_conditions = holding(conditions, parse.view, token)
            chance = 1.0
            if token in similar:
                chance = self.chances[token] = 0.0 if excluding_conditions else similar[token]
            elif model is not None:
                chance = self.chances[token] = model.probability(
                    rule.event_type, parse.predicates, token, token in of_rule, excluding_conditions
                )
            if chance < LEAST or (model is None and excluding_conditions):
                if token in of_rule:
                    self._excluded.append((token, excluding_conditions or (UNLIKELY,)))
                continue
            default_roles = {
                r
                for r, role in enumerate(rule.event)
                if (token, r) not in reached and is_filled_by_default(rule, role, parse, token)
            }
            for instance, frame in _most_complete(instances).items():
                fillers = tuple(DEFAULT if r in default_roles else m for r, m in enumerate(instance))
                if all(m != ABSENT or role in rule.optional for role, m in zip(rule.event, fillers, strict=True)):
                    self.instances.append(fillers)
                    self._frames.append(frame)
                    self._triggers.append(token)
                    self._chances.append(chance)
        self.is_filled = any(max(instance, default=ABSENT) >= 0 for instance in self.instances)

    def matches(self, names: LexiconMatches, lexicon: Lexicon) -> MentionMatches:
        """Matches of the rule: its instances, and the mentions that the names of actors in the text describe."""
        rule, excluded = self._rule, tuple(self._excluded)
        if not self.instances:
            none = np.zeros(0, np.int32)
            instances = none.reshape(0, len(rule.event))
            return MentionMatches((), none, none, instances, none, event=rule.name, excluded=excluded)
        # Other rules may need the names; without names nothing may enter the cache that they share.
        names = names if self.is_filled else _NO_NAMES
        described = self.parse.described(rule.described[self.parse.scheme], names) if names.codes else _NOTHING
        if described.codes and rule.distinct_actors:
            paths = rule.described[self.parse.scheme]
            described = self.parse.with_inferred(paths, names, lexicon, rule.stands_for and rule.filled == "either")
        pairs, n_distinct, naming = None, None, None
        if rule.distinct_actors and self.is_filled:
            pairs, n_distinct, naming = self.parse.apart(names, lexicon)
        instances = np.array(self.instances, np.int32).reshape(len(self.instances), len(rule.event))
        # A role has no default actor if no instance needs one, or if the lexicon does not have the actor.
        defaults = tuple(
            rule.defaults[role].actor
            if rule.filled != "named"
            and role in rule.defaults
            and DEFAULT in instances[:, r]
            and rule.defaults[role].actor in lexicon.kinds
            else ""
            for r, role in enumerate(rule.event)
        )
        role_codes = []
        for role, default in zip(rule.event, defaults, strict=True):
            codes = lexicon.countable(described.codes, rule.classes.get(role))
            by_default = (default,) if default and default not in codes else ()
            role_codes.append((*codes, *((NO_ACTOR,) if role in rule.optional else ()), *by_default))
        return MentionMatches(
            actors=described.codes,
            described_mentions=described.mentions,
            described_actors=described.numbers,
            instances=np.maximum(instances, [DEFAULT if default else ABSENT for default in defaults]).astype(np.int32),
            triggers=np.array(self._triggers, np.int32),
            frames=tuple(self._frames),
            n_ambiguous=names.n_ambiguous,
            described_words=described.words,
            event=rule.name,
            role_codes=tuple(role_codes),
            inner=lexicon.inner_codes.intersection(described.codes),
            inner_counts_as=lexicon.inner_counts_as,
            excluded=excluded,
            apart=pairs,
            n_distinct=n_distinct,
            naming=naming,
            defaults=defaults,
            only_default=rule.filled == "default",
            inferred=described.inferred,
            chances=np.array(self._chances) if min(self._chances, default=1.0) < 1.0 else None,
        )


def is_filled_by_default(rule: Rule, role: str, reading: ParseReading, trigger: int) -> bool:
    """Whether a role has a default actor whose conditions hold at a trigger."""
    if role not in rule.defaults:
        return False
    default = rule.defaults[role]

    def holds(name: str) -> bool:
        tokens: Iterable[int] = (trigger,)
        if name.startswith(NEAR):
            sentence = int(reading.sentences[trigger])
            start, end = np.searchsorted(reading.sentences, (sentence - 1, sentence + 2)).tolist()
            tokens = range(start, end)
        condition = rule.conditions[name.removeprefix(NEAR)]
        return any(condition.holds(reading.view, token, reading.scheme) for token in tokens)

    return (not default.when or any(map(holds, default.when))) and not any(map(holds, default.unless))


def _most_complete(instances: Instances) -> Instances:
    """Instances, except those that differ from another instance only by roles that no mention fills."""

    def says_less(instance: tuple[int, ...], rival: tuple[int, ...]) -> bool:
        return instance != rival and all(a in (b, ABSENT) for a, b in zip(instance, rival, strict=True))

    return {i: frame for i, frame in instances.items() if not any(says_less(i, rival) for rival in instances)}


# --- triggers of frames --------------------------------------------------------------------------------------------


class LemmaIndex:
    """Index of the tokens of a document whose lemma, in lower case, is one of `words`."""

    def __init__(self, view: ParseView, words: Collection[str]) -> None:
        lower_lemmas = {lemma: lower for lemma in set(view.lemma) if (lower := lemma.lower()) in words}
        matching = compress(range(len(view.lemma)), map(lower_lemmas.__contains__, view.lemma))
        self._view = view
        self._lemmas = {token: lower_lemmas[view.lemma[token]] for token in matching}
        self._tokens: dict[str, list[int]] = {}
        for token, lemma in self._lemmas.items():
            self._tokens.setdefault(lemma, []).append(token)
        self._words = frozenset(self._tokens)  # of two sets, Python iterates over the smaller one

    def triggers(self, frame: Frame) -> dict[int, str]:
        """Phrase or lemma of each trigger of a frame, by its token, which has a part of speech of the frame."""
        triggers: dict[int, str] = {}
        for phrase in frame.phrases:
            if all(word in self._tokens for word in phrase.words):
                tokens = self._spans(phrase) if phrase.adjacent else self._connected(phrase)
                triggers |= {token: " ".join(phrase.words) for token in tokens if token not in triggers}
        for lemma in frame.lemmas & self._words:
            triggers |= {token: lemma for token in self._tokens[lemma] if token not in triggers}
        return {token: words for token, words in triggers.items() if self._view.upos[token] in frame.upos}

    def _spans(self, phrase: Phrase) -> Iterator[int]:
        """Head word of each run of adjacent tokens that have the lemmas of a phrase.

        The head word is the last token of the run whose syntactic head is outside the run.
        """
        for start in self._tokens[phrase.words[0]]:
            end = start + len(phrase.words)
            if tuple(map(self._lemmas.get, range(start, end))) == phrase.words:
                yield max(token for token in range(start, end) if not start <= self._view.heads[token] < end)

    def _connected(self, phrase: Phrase) -> Iterator[int]:
        """Head words of tokens with the lemmas of a phrase that are connected in the parse.

        All schemes connect the same tokens: a preposition may depend on its noun, or the noun on the preposition. The
        preposition of a noun outside the phrase ("fire on" in "fired on the crowd") counts as a dependent of the noun's
        head.
        """
        for top in (token for word in phrase.words for token in self._tokens[word]):
            missing_words = set(phrase.words) - {self._lemmas[top]}
            frontier = [top]
            while frontier and missing_words:
                below = [d for token in frontier for d in self._view.dependents[token]]
                markers = [m for d in below for m in self._view.dependents[d] if self._view.labels[m] == "case"]
                frontier = []
                for token in (*below, *markers):
                    if self._lemmas.get(token) in missing_words:
                        missing_words.remove(self._lemmas[token])
                        frontier.append(token)
            if not missing_words:
                yield top
