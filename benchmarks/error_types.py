"""The study `error-types` of benchmarks/studies.py: which errors of coreference change an event, and how often.

Section 6.3 of Nguyen & O'Connor (2015) reads documents with P near one half by hand. Here queries of GUM's annotated
documents take the place of events ("some entity has a name among its mentions, and a pronoun that is subject of
*say*"), so every error is known. An error of the likeliest antecedents changes a query if correcting this one
antecedent makes the query right. See docs/papers.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import held_out_scores as held_out
import numpy as np
import pandas as pd
from english_texts import ENGLISH_GENRES
from query_study import MENTION_TYPES, match_queries
from tagger_studies.corpora import require
from tagger_studies.results import Output, difference_of_shares, holds, ratio, shown

from corefsample import ScoredDocument, read_documents
from corefsample._arrays import Bools, Floats, Ints
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._scored import gold_codes
from corefsample.recalibration._model import Recalibration
from corefsample.scorers import load_scorer, score_documents

GUM = Path(__file__).parents[1] / ".." / "shared" / "data" / "gum" / "gum-scored.jsonl.gz"
NEW = -1
N_SAMPLES = 1000
KINDS = {"PROPN": "name", "PRON": "pronoun", "DET": "pronoun"}  # of a mention by its head; all others are nouns
MISSED, WRONG, FALSE = "link missed", "linked to the wrong entity", "linked, but begins an entity"
SEVERAL = "several errors together", ""
BANDS = ((0.0, 0.1), (0.1, 0.25), (0.25, 0.4), (0.4, 0.5))  # distance of P from 0 or 1
Kind = tuple[str, str]  # type of error, kind of mention


def likeliest(document: ScoredDocument) -> Ints:
    """The likeliest antecedent of each mention, or NEW; of equal ones NEW, then the nearest."""
    dist = document.antecedents
    chosen = np.full(dist.n_mentions, NEW)
    for i in range(dist.n_mentions):
        own = slice(dist.indptr[i], dist.indptr[i + 1])
        best = dist.probs[own].max(initial=0.0)
        if best > dist.new_probs[i]:
            chosen[i] = dist.antecedents[own][dist.probs[own] == best].max()
    return chosen


def clusters(antecedents: Sequence[int]) -> Ints:
    """Label of each mention: that of its antecedent, or its own number."""
    labels = np.arange(len(antecedents))
    for i, antecedent in enumerate(antecedents):
        if antecedent != NEW:
            labels[i] = labels[antecedent]
    return labels


def true_antecedents(entities: Ints) -> Ints:
    """The nearest earlier mention of the same entity, or NEW."""
    last: dict[int, int] = {}
    found = np.full(len(entities), NEW)
    for i, entity in enumerate(entities.tolist()):
        found[i] = last.get(entity, NEW)
        last[entity] = i
    return found


def kind_of(document: ScoredDocument, mention: int) -> str:
    assert document.tokens is not None
    return KINDS.get(document.tokens.upos[int(document.mentions[mention][2])], "noun")


def corrections(document: ScoredDocument) -> Iterator[tuple[Kind, Ints]]:
    """Each wrong antecedent: its type and kind of mention, and the clustering in which it alone is right."""
    entities, chosen = gold_codes(document, "single"), likeliest(document)
    for i, right in enumerate(true_antecedents(entities).tolist()):
        own = int(chosen[i])
        if entities[own] == entities[i] if own != NEW else right == NEW:
            continue
        error = MISSED if own == NEW else FALSE if right == NEW else WRONG
        corrected = chosen.copy()
        corrected[i] = right
        yield (error, kind_of(document, i)), clusters(corrected)


@dataclass(frozen=True)
class Found:
    """Queries of one document: P and truth of each, its answer by the likeliest antecedents, and what corrects it."""

    doc_id: str
    p: Floats
    truth: Bools
    answer: Bools
    causes: tuple[dict[Kind, float], ...]  # of each query: shares of the errors that change it

    @property
    def wrong(self) -> Bools:
        return self.truth != self.answer


def examined(document: ScoredDocument, role: str = "subject") -> Found | None:
    """Find the errors that change the queries of a document; None without a query."""
    queries = match_queries(document, role=role, unannotated="single")
    if not queries.names:
        return None
    truth, answer = queries.truth, queries.true_in(clusters(likeliest(document).tolist()))
    p = queries.shares(Recalibration(), N_SAMPLES)
    causes: list[Counter[Kind]] = [Counter() for _ in truth]
    wrong = np.flatnonzero(truth != answer)
    if wrong.size:
        for kind, labels in corrections(document):
            corrected = queries.true_in(labels)
            for number in wrong[corrected[wrong] == truth[wrong]].tolist():
                causes[number][kind] += 1
        for number in wrong.tolist():
            causes[number] = causes[number] or Counter({SEVERAL: 1})
    shares = tuple({kind: n / each.total() for kind, n in each.items()} for each in causes)
    return Found(document.doc_id, p, truth, answer, shares)


def error_table(found: Sequence[Found]) -> pd.DataFrame:
    """Wrong answers by type of error and kind of mention: events found wrongly and missed, and shares of all."""
    kinds = sorted({kind for each in found for cause in each.causes for kind in cause})
    wrong = np.array([each.wrong.sum() for each in found], float)
    rows = []
    for error, mention in kinds:
        parts = np.zeros((len(found), 2))
        for d, each in enumerate(found):
            for truth, cause in zip(each.truth.tolist(), each.causes, strict=True):
                parts[d, int(truth)] += cause.get((error, mention), 0.0)
        share = ratio(parts.sum(axis=1), wrong, len(found))
        totals = parts.sum(axis=0)
        row = {"error": error, "of a": mention, "found wrongly": totals[0], "missed": totals[1]}
        rows.append({**row, "share of wrong answers": shown(*share, 3), "order": -totals.sum()})
    return pd.DataFrame(rows).sort_values("order").drop(columns="order")


def uncertainty_table(found: Sequence[Found]) -> tuple[pd.DataFrame, tuple[float, tuple[float, float]]]:
    """Share of wrong answers by the distance of P from 0 and 1; and that of the last band minus the first."""
    distance = [np.minimum(each.p, 1.0 - each.p) for each in found]
    rows, parts = [], []
    for low, high in BANDS:
        inside = [(each >= low) & (each < high if high < 0.5 else each <= high) for each in distance]
        n = np.array([chosen.sum() for chosen in inside], float)
        wrong = np.array([(each.wrong & chosen).sum() for each, chosen in zip(found, inside, strict=True)], float)
        parts.append((wrong, n))
        band = f"{low:g}-{high:g} or {1 - high:g}-{1 - low:g}"
        share = shown(*ratio(wrong, n, len(found)), 3) if n.any() else ""
        rows.append({"P": band, "queries": int(n.sum()), "wrong": int(wrong.sum()), "share wrong": share})
    return pd.DataFrame(rows), difference_of_shares(*parts[-1], *parts[0])


# --- mentions of the parse ---------------------------------------------------------------------------------


def mention_errors(annotated: Sequence[AnnotatedDocument]) -> pd.DataFrame:
    """Wrong answers with mentions of the parse: through mentions that are missed or spurious, or through links."""
    counts: Counter[tuple[str, str]] = Counter()
    by_parse = score_documents(load_scorer(), annotated, mentions="parse")
    for gold, found in zip(score_documents(load_scorer(), annotated), by_parse, strict=True):
        entities = gold_codes(gold, "single")
        truth = instances(gold, entities)
        answer = instances(found, clusters(likeliest(found).tolist()))
        gold_heads, heads = (set(np.asarray(each.mentions)[:, 2].tolist()) for each in (gold, found))
        spans = {tuple(span) for span in np.asarray(found.mentions).tolist()}
        for query in truth.keys() | answer.keys():
            if query in truth and query not in answer:
                here = [pair for pair in truth[query] if {pair[0][2], pair[1][2]} <= heads]
                same = any({pair[0], pair[1]} <= spans for pair in here)
                cause = ("link" if same else "link, a mention with another span") if here else "mention missed"
                counts["missed", cause] += 1
            elif query not in truth:
                here = [pair for pair in answer[query] if {pair[0][2], pair[1][2]} <= gold_heads]
                counts["found wrongly", "link" if here else "spurious mention"] += 1
            else:
                counts["right", ""] += 1
    total = sum(n for (answer_is, _), n in counts.items() if answer_is != "right")
    rows = [
        {"answer": answer_is, "because of": cause, "n": n, "share of wrong answers": n / total}
        for (answer_is, cause), n in sorted(counts.items())
        if answer_is != "right"
    ]
    return pd.DataFrame(rows)


Span = tuple[int, ...]


def instances(document: ScoredDocument, labels: Ints) -> dict[tuple[str, str], list[tuple[Span, Span]]]:
    """The true queries of one clustering, each with the pairs of a pronoun and a typed mention that make it true."""
    queries = match_queries(document, unannotated="single")
    spans = [tuple(span) for span in np.asarray(document.mentions).tolist()]
    found: dict[tuple[str, str], list[tuple[Span, Span]]] = {}
    for pronoun, verb in zip(queries.pronouns.tolist(), queries.pronoun_verbs.tolist(), strict=True):
        for mention, kind in zip(queries.typed_mentions.tolist(), queries.types.tolist(), strict=True):
            if labels[pronoun] == labels[mention]:
                key = MENTION_TYPES[kind], queries.verbs[verb]
                found.setdefault(key, []).append((spans[pronoun], spans[mention]))
    return found


def run(output: Output) -> None:
    """Run the study `error-types`."""
    require(GUM)
    documents: Iterable[ScoredDocument] = list(read_documents(GUM))[:: 6 if output.quick else 1]
    found = [each for each in map(examined, documents) if each is not None]
    n, wrong = (sum(int(values.sum()) for values in parts) for parts in zip(*map(sizes, found), strict=True))
    output.say(f"{n:,} queries of {len(found)} documents, {wrong} answered wrongly by the likeliest antecedents")
    output.table("error-types", "Errors that change a query, alone", error_table(found), 1)
    table, (gap, ends) = uncertainty_table(found)
    output.table("error-types-p", "Wrong answers by P", table)
    output.claim(
        "the more uncertain a prediction, the more likely it is wrong",
        "section 6.3",
        f"share of wrong answers, P of .4 to .6 minus P below .1 or above .9: {shown(gap, ends, 3)}",
        holds(ends, False),
    )
    unseen = [each for each in held_out.gum() if held_out.genre_of(each.doc_id) not in ENGLISH_GENRES]
    table = mention_errors(unseen[:: 6 if output.quick else 1])
    output.table("error-types-mentions", "Mentions of the parse, English model, genres that it never saw", table, 3)
    output.write_claims("error-types")


def sizes(found: Found) -> tuple[np.ndarray, np.ndarray]:
    return np.ones(found.truth.shape), found.wrong
