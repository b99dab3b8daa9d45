"""What shipped rules find in GUM, and what a wider keyword search finds beside it: python benchmarks/rule_study.py.

The rules read the gold parses and the gold entities of all documents. Every sentence with a keyword of a rule's subject
gets the cause that is nearest to an event: `CAUSES` in order. The tables of docs/rules.md are printed; `--counts FILE`
writes them as CSV, `--sentences FILE` writes doc_id, sentence and cause of every sentence, with its text if `--text` is
given. About 20 seconds.

The causes come from the matches of the rule and of variants of it: without conditions, with its roles optional, with
triggers of any part of speech. What only a reader can see (a word in another sense, an event in other words) is no
cause here, so this is neither precision nor recall.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from studies import markdown

from corefsample import CorefsampleError, ScoredDocument, read_documents
from corefsample._arrays import Ints
from corefsample.documents._scored import gold_codes
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError
from corefsample.syntax._codes import UPOS
from events.evidence._evaluation import evaluate_clustering
from events.lexicon._lexicon import Lexicon, load_lexicon
from events.matching._matches import ABSENT, NO_ACTOR, MentionMatches
from events.matching._matching import match_rules
from events.rules._conditions import shipped_conditions
from events.rules._rules import Rule, load_rules

GUM = Path(__file__).parents[1] / ".." / "shared" / "data" / "gum" / "gum-scored.jsonl.gz"
PRESETS = ("asserted", "extended")
LEXICONS = ("police", "countries")
# Lemmas of each rule's subject, in lower case and as a whole. The triggers of the rule are keywords too, and so are
# sentences with all words of one of its phrases, in any order.
KEYWORDS = {
    "meet": r"meet(ing|up)?|summit|talks?|negotiat\w*|confer(ence)?|discuss\w*|dialog(ue)?|convers(e|ation)|consult\w*"
    r"|convene|visit|gather(ing)?|encounter",
    "kill": r"kill(er|ing)?|murder\w*|assassin\w*|slay(er|ing)?|slain|massacre|behead(ing)?|lynch(ing)?"
    r"|execut(e|ion|ioner)|slaughter|homicid(e|al)|manslaughter|genocid(e|al)|die|dead(ly)?|death|fatal(ly|ity)?"
    r"|shoot(er|ing)?|gunshot",
    "arrest": r"arrest\w*|detain\w*|detention|apprehen(d|sion)|nab|imprison\w*|jail\w*|prison\w*|custod\w+"
    r"|incarcerat\w*|captur\w*|captiv(e|ity)|handcuff|round-?up|inmate",
    "protest": r"protest(er|or)?|demonstrat\w*|march(er)?|riot\w*|rally|picket\w*|strik(e|er)|sit-in|dharna|boycott\w*"
    r"|uprising|unrest|revolt|petition|blockade|vigil|activis[mt]",
}
NO_KEYWORDS = {("march", "PROPN")}  # the month

WITH_ACTOR = "found, with an actor"
SEVERAL = "several actors"
NOT_IN_LEXICON = "filler is no actor of the lexicon"
UNFILLED = "nothing fills the role"
FOUND_WITHOUT = {cause: f"found, no actor: {cause}" for cause in (SEVERAL, NOT_IN_LEXICON, UNFILLED)}
FOUND = (WITH_ACTOR, *FOUND_WITHOUT.values())
NO_MENTION = "filler is no mention"
UPOS_DIFFERS = "part of speech"
PHRASE_APART = "words of a phrase, not connected"
NO_TRIGGER = "keyword only: lemma is no trigger"
CAUSES = (
    *FOUND,
    *(f"excluded: {name}" for name in shipped_conditions()),
    SEVERAL,
    NOT_IN_LEXICON,
    NO_MENTION,
    UNFILLED,
    UPOS_DIFFERS,
    PHRASE_APART,
    NO_TRIGGER,
)


@dataclass(frozen=True, slots=True)
class SentenceCause:
    """What one reading of a rule makes of one sentence that has a keyword.

    Attributes
    ----------
    rule, preset, lexicon
        The reading.
    doc_id, sentence
        The document, and the number of the sentence in it (``tokens.sent``, from 0).
    cause
        One of `CAUSES`.
    conditions
        All conditions that exclude the trigger, with spaces between them.
    word
        Lemma and part of speech of the token with this cause, or a phrase.
    text
        Tokens of the sentence.
    """

    rule: str
    preset: str
    lexicon: str
    doc_id: str
    sentence: int
    cause: str
    conditions: str
    word: str
    text: str


# --- one document ------------------------------------------------------------------------------------------


def sentence_causes(
    document: ScoredDocument, rules: Sequence[Rule], lexicon: Lexicon, lexicon_name: str, scheme: str | None = "ud2"
) -> Iterator[SentenceCause]:
    """The causes of all sentences of a document with a keyword of a rule, for each rule.

    Raises
    ------
    ParameterError
        If the document has no tokens or no gold, or a rule has other than one role or no keywords.
    """
    if document.tokens is None:
        raise ParameterError("tokens are required", place=f"doc_id {document.doc_id!r}")
    tokens, labels = document.tokens, gold_codes(document, "single")
    variants = [variant for rule in rules for variant in _variants(rule)]
    matched = match_rules(tokens, document.mentions, variants, lexicon, document.date, scheme)
    # As if every token was a mention: which fillers are lost because they are none?
    every = np.arange(len(tokens.text), dtype=np.int32)
    all_mentions = np.stack([every, every + 1, every], axis=1)
    unlimited = match_rules(
        tokens, all_mentions, [replace(r, unless=()) for r in rules], lexicon, document.date, scheme
    )
    for r, rule in enumerate(rules):
        causes = _trigger_causes(matched[N_VARIANTS * r :][:N_VARIANTS], unlimited[r], labels)
        for sentence, found in sorted(_candidates(tokens, rule, causes).items()):
            nearest, word = min(found, key=lambda each: CAUSES.index(each[0].name))
            yield SentenceCause(
                rule.name,
                rule.preset,
                lexicon_name,
                document.doc_id,
                sentence,
                nearest.name,
                " ".join(nearest.conditions),
                word,
                " ".join(tokens.text[token] for token in np.flatnonzero(tokens.sent == sentence)),
            )


class Cause(NamedTuple):
    """One of `CAUSES`, and the conditions that exclude the trigger."""

    name: str
    conditions: tuple[str, ...] = ()


N_VARIANTS = 4


def _variants(rule: Rule) -> tuple[Rule, Rule, Rule, Rule]:
    """The rule, without conditions, that with all triggers also where nothing fills the role, of any part of speech."""
    if len(rule.event) != 1 or rule.name not in KEYWORDS:
        raise ParameterError(f"must have one role and keywords, got {rule.name!r}", parameter="rules")
    asserted = replace(rule, unless=())
    unfilled = replace(asserted, optional=frozenset(rule.event))
    frames = tuple(replace(frame, upos=frozenset(UPOS)) for frame in rule.frames)
    return rule, asserted, unfilled, replace(unfilled, frames=frames)


def _trigger_causes(variants: Sequence[MentionMatches], all_mentions: MentionMatches, labels: Ints) -> dict[int, Cause]:
    """The cause of each trigger, by token; from the matches of the variants of a rule."""
    rule, without_conditions, unfilled, any_upos = variants
    causes = {token: Cause(UPOS_DIFFERS) for token in any_upos.triggers.tolist()}
    causes |= {token: Cause(UNFILLED) for token in unfilled.triggers.tolist()}
    filled = all_mentions.triggers[all_mentions.instances[:, 0] != ABSENT]
    causes |= {token: Cause(NO_MENTION) for token in filled.tolist() if causes[token].name == UNFILLED}
    own: dict[int, list[str]] = {}
    for i, token in enumerate(without_conditions.triggers.tolist()):
        own.setdefault(token, []).append(_instance_cause(without_conditions, i, labels))
    causes |= {token: Cause(min(names, key=CAUSES.index)) for token, names in own.items()}
    for token, conditions in rule.excluded:
        # Only what would be found otherwise is lost by a condition.
        if causes[token].name in FOUND:
            causes[token] = Cause(f"excluded: {conditions[0]}", conditions)
    return causes


def _instance_cause(matches: MentionMatches, i: int, labels: Ints) -> str:
    """What comes of one way to fill the role, where the entities are those of `labels`."""
    one = replace(matches, instances=matches.instances[i : i + 1], triggers=matches.triggers[i : i + 1])
    events = evaluate_clustering(one, labels) if one.possible else ()
    if events and events != ((NO_ACTOR,),):
        return WITH_ACTOR
    mention = int(one.instances[0, 0])
    cause = UNFILLED
    if mention != ABSENT:
        entity = labels[matches.described_mentions] == labels[mention]
        cause = SEVERAL if np.any(entity) else NOT_IN_LEXICON
    return FOUND_WITHOUT[cause] if events else cause


def _candidates(tokens: Tokens, rule: Rule, causes: Mapping[int, Cause]) -> dict[int, list[tuple[Cause, str]]]:
    """By sentence the causes of its triggers and keywords, with the words."""
    lemmas = [lemma.lower() for lemma in tokens.lemma]
    is_keyword = re.compile(KEYWORDS[rule.name]).fullmatch
    found: dict[int, list[tuple[Cause, str]]] = {}
    in_sentence: dict[int, set[str]] = {}
    for token, (lemma, upos, sentence) in enumerate(zip(lemmas, tokens.upos, tokens.sent.tolist(), strict=True)):
        in_sentence.setdefault(sentence, set()).add(lemma)
        if token in causes or is_keyword(lemma):
            if causes.get(token, Cause(NO_TRIGGER)).name in (UPOS_DIFFERS, NO_TRIGGER) and (lemma, upos) in NO_KEYWORDS:
                continue
            found.setdefault(sentence, []).append((causes.get(token, Cause(NO_TRIGGER)), f"{lemma} {upos}"))
    phrases = {" ".join(phrase.words): set(phrase.words) for frame in rule.frames for phrase in frame.phrases}
    for sentence, words in in_sentence.items():
        for phrase, needed in phrases.items():
            if needed <= words:
                found.setdefault(sentence, []).append((Cause(PHRASE_APART), phrase))
    return found


# --- a corpus ----------------------------------------------------------------------------------------------


def study(
    documents: Iterable[ScoredDocument],
    *,
    presets: Sequence[str] = PRESETS,
    lexicons: Sequence[str] = LEXICONS,
    scheme: str | None = "ud2",
) -> pd.DataFrame:
    """The causes of all sentences of a corpus with a keyword: one row per reading and sentence, as `SentenceCause`."""
    rules = [load_rules(name, preset) for name in KEYWORDS for preset in presets]
    loaded = {name: load_lexicon(name) for name in lexicons}
    rows = [
        astuple(each)
        for document in documents
        for name, lexicon in loaded.items()
        for each in sentence_causes(document, rules, lexicon, name, scheme)
    ]
    return pd.DataFrame(rows, columns=[field.name for field in fields(SentenceCause)])


def counts(sentences: pd.DataFrame) -> pd.DataFrame:
    """Number of sentences by reading and cause: rule, preset, lexicon, cause, sentences; causes with none left out."""
    by = sentences.groupby(["rule", "preset", "lexicon", "cause"], sort=False).size().rename("sentences").reset_index()
    order = [by["lexicon"].map(LEXICONS.index), by["cause"].map(CAUSES.index)]
    return by.iloc[np.lexsort(order[::-1])].reset_index(drop=True)


def wide(table: pd.DataFrame) -> pd.DataFrame:
    """The counts of one lexicon with a row for each cause, their sums, and a column for each rule and preset."""
    cells = table.pivot_table(index="cause", columns=["rule", "preset"], values="sentences", fill_value=0, sort=False)
    cells = cells.reindex(columns=[(rule, preset) for rule in KEYWORDS for preset in PRESETS], fill_value=0).astype(int)
    is_found = cells.index.isin(FOUND)
    sums = {"with a keyword": cells.sum(), "found": cells[is_found].sum(), "not found": cells[~is_found].sum()}
    totals = pd.DataFrame(sums).T
    rows = [totals.iloc[:2], cells[is_found], totals.iloc[2:], cells[~is_found]]
    whole = pd.concat(rows)
    whole.columns = [f"{rule}, {preset}" for rule, preset in whole.columns]
    return whole.rename_axis("sentences").reset_index()


def print_tables(sentences: pd.DataFrame) -> None:
    """Print the counts by cause, and by words where these explain a cause; the latter of the first reading."""
    table = counts(sentences)
    for lexicon, part in table.groupby("lexicon", sort=False):
        markdown(f"Lexicon {lexicon}", wide(part))
    first = sentences[(sentences["preset"] == PRESETS[0]) & (sentences["lexicon"] == LEXICONS[0])]
    for title, causes in (
        ("found", FOUND),
        (UNFILLED, [UNFILLED]),
        (UPOS_DIFFERS, [UPOS_DIFFERS]),
        (PHRASE_APART, [PHRASE_APART]),
        (NO_TRIGGER, [NO_TRIGGER]),
    ):
        for rule, part in first[first["cause"].isin(causes)].groupby("rule", sort=False):
            words = part["word"].value_counts()
            print(f"{rule}, {title}: " + ", ".join(f"{word} {n}" for word, n in words.items()))


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", default=GUM, help="pre-scored mention file with gold and tokens")
    parser.add_argument("--scheme", default="ud2", help="dependency scheme of the parses")
    parser.add_argument("--counts", type=Path, metavar="FILE", help="write the counts as CSV")
    parser.add_argument("--sentences", type=Path, metavar="FILE", help="write the causes of all sentences as CSV")
    parser.add_argument("--text", action="store_true", help="with the text of the sentences")
    arguments = parser.parse_args()
    try:
        sentences = study(read_documents(arguments.file), scheme=arguments.scheme)
    except CorefsampleError as error:
        sys.exit(f"Error: {error}")
    if sentences.empty:
        sys.exit(f"Error: no sentence of {arguments.file} has a keyword")
    print_tables(sentences)
    if arguments.counts is not None:
        counts(sentences).to_csv(arguments.counts, index=False)
    if arguments.sentences is not None:
        (sentences if arguments.text else sentences.drop(columns="text")).to_csv(arguments.sentences, index=False)


if __name__ == "__main__":
    main()
