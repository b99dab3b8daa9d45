"""Do intervals of counts contain the true count? python benchmarks/query_study.py FILE --out FOLDER.

Entity queries that a scored file with gold can answer. A query is a type of mention and the lemma of a verb: "some
entity has a name among its mentions, and a pronoun that is subject of *say*". A document contains the query if it has
a mention of that type and such a pronoun; whether the two belong to one entity is a question of coreference, as with
"some entity of the country attacks" in events. P comes from samples of the clustering, truth from gold entities.
Mentions without a gold entity are excluded from the queries, for P as for truth.

Writes query_coverage.csv: how often intervals of the counts contain the true count, as scored, and with a
recalibration fitted by each objective to other folds of the documents. --recalibration FILE measures one that was
fitted elsewhere instead (`english` for that of the model of the package), with rows "uncertain" that include its
uncertainty. docs/recalibration.md shows the results.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from corefsample import ParameterError, Recalibration, ScoredDocument, calibration, read_documents, sample_clusterings
from corefsample._arrays import Bools, Bytes, Floats, Ints, Ints32
from corefsample._machine import processors
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.documents._scored import Unannotated, gold_codes
from corefsample.languages._language import Language
from corefsample.recalibration import RecalibrationFitter, UncertainRecalibration, read_recalibration
from corefsample.recalibration._fitter import FORMS
from corefsample.recalibration._losses import OBJECTIVES
from corefsample.recalibration._model import document_kinds
from corefsample.recalibration._uncertain import UNCERTAINTIES, known_recalibration
from corefsample.syntax._paths import ParseView, follow
from corefsample.syntax._schemes import LISTED, SCHEMES, with_words
from events.counts import count_pmf
from events.counts._credible_intervals import hdi_interval, quantile_interval
from events.matching._matching import readable_schemes

MENTION_TYPES = ("name", "plural noun", "singular noun")
ROLES = ("subject", "object", "passive_subject", "passive_agent")
LEVELS = (0.5, 0.8, 0.95)
SIZES = (5, 10, 20, 81)  # 5-9, 10-19, 20-80, 81 and more documents
DRAW_SAMPLES = 200  # clusterings under each draw of a recalibration
AS_SCORED, RECALIBRATED = "as scored", "recalibrated"
GIVEN, UNCERTAIN = "given", "uncertain"  # values of the column `recalibration`

# Recalibrations of documents: one of each, and draws of the same (draws, documents), or None without uncertainty.
Changes = tuple[Sequence[Recalibration], Sequence[Sequence[Recalibration]] | None]


@dataclass(frozen=True)
class DocumentQueries:
    """The queries of one document: all pairs of a type of mention in `present_types` and a verb."""

    doc_id: str
    metadata: dict[str, Any]
    verbs: tuple[str, ...]  # lemmas of the verbs that have a pronoun in the role, sorted
    present_types: Ints  # types of which the document has a mention, ascending
    typed_mentions: Ints  # mentions that have a type
    types: Ints  # (n_typed,): index of the type into MENTION_TYPES
    pronouns: Ints  # pronouns in the role
    pronoun_verbs: Ints  # (n_pronouns,): index of the verb
    antecedents: AntecedentDistribution  # of the mentions up to the last of these; later ones do not matter
    kinds: Bytes
    entities: Ints  # gold entity of each of these mentions

    @property
    def names(self) -> list[tuple[str, str]]:
        """Type of mention and verb of each query."""
        return [(MENTION_TYPES[m], verb) for verb in self.verbs for m in self.present_types.tolist()]

    def holds(self, labels: Ints32) -> Bools:
        """Whether each query is true in each clustering of labels (n_samples, n_mentions): (n_queries, n_samples)."""
        samples = np.arange(len(labels))
        found = np.zeros((len(self.verbs), len(self.present_types), len(labels)), np.bool_)
        for column, m in enumerate(self.present_types.tolist()):
            has_type = np.zeros(labels.shape, np.bool_)  # by sample and entity
            for mention in self.typed_mentions[self.types == m].tolist():
                has_type[samples, labels[:, mention]] = True
            for mention, verb in zip(self.pronouns.tolist(), self.pronoun_verbs.tolist(), strict=True):
                found[verb, column] |= has_type[samples, labels[:, mention]]
        return found.reshape(-1, len(labels))

    def true_in(self, labels: Ints) -> Bools:
        """Truth of each query in one clustering: mentions with the same label form an entity."""
        codes = np.unique(labels, return_inverse=True)[1].astype(np.int32)
        return self.holds(codes[None])[:, 0]

    @property
    def truth(self) -> Bools:
        """Truth of each query by gold entities."""
        return self.true_in(np.where(self.entities >= 0, self.entities, -1 - np.arange(len(self.entities))))

    def shares(self, change: Recalibration, n_samples: int, *, seed: int = 0, first_sample: int = 0) -> Floats:
        """Share of sampled clusterings in which each query is true."""
        if not self.names:
            return np.zeros(0)
        changed = change.apply(self.antecedents, self.kinds)
        stream: dict[str, Any] = {"seed": seed, "doc_id": self.doc_id, "first_sample": first_sample}
        return self.holds(sample_clusterings(changed, n_samples=n_samples, **stream).labels).mean(axis=1)


def mention_types(document: ScoredDocument, language: Language) -> Ints:
    """Type of each mention by its head, an index into MENTION_TYPES, or -1: names are PROPN, nouns are NOUN.

    A noun is plural by the file's feats or xpos; without both, in English, if the word differs from its lemma.
    """
    tokens = document.tokens
    assert tokens is not None
    feats, xpos = (tokens.extra.get(name) for name in ("feats", "xpos"))
    types = np.full(document.n_mentions, -1)
    for i, head in enumerate(document.mentions[:, 2].tolist()):
        if tokens.upos[head] == "PROPN":
            types[i] = 0
        elif tokens.upos[head] == "NOUN":
            if feats is not None and "Number=" in str(feats[head]):
                is_plural = "Number=Plur" in str(feats[head])
            elif xpos is not None and xpos[head]:
                is_plural = xpos[head] in ("NNS", "NNPS")
            else:
                is_plural = language.plural_by_form and tokens.text[head].lower() != tokens.lemma[head].lower()
            types[i] = 1 if is_plural else 2
    return types


def match_queries(
    document: ScoredDocument, *, role: str = "subject", scheme: str | None = None, unannotated: Unannotated = "skip"
) -> DocumentQueries:
    """Find the queries of one document with tokens and gold.

    With "skip" mentions without a gold entity are excluded, with "single" each is an entity of its own. Where several
    dependency schemes fit, the first is read.
    """
    assert document.tokens is not None, f"{document.doc_id}: tokens are required for queries"
    language = Language.of_document(document.metadata)
    tokens = language.adapted(document.tokens)
    scheme_name = readable_schemes(tokens.dep, scheme)[0]
    view = ParseView(tokens, SCHEMES[scheme_name], language)
    paths = [
        with_words(path, language.words)
        for path in SCHEMES[scheme_name].written[role]
        if all(map(language.words.get, LISTED.findall(path)))  # a language may lack a list
    ]
    entities, types = gold_codes(document, unannotated), mention_types(document, language)
    heads = document.mentions[:, 2].tolist()
    fillers = {
        (mention, tokens.lemma[verb].lower())
        for verb, upos in enumerate(tokens.upos)
        if upos == "VERB"
        for path in paths
        for filler in follow(path, view, verb)
        for mention, head in enumerate(heads)
        if head == filler and tokens.upos[head] == "PRON" and entities[mention] >= 0
    }
    pronouns = np.array([mention for mention, _ in sorted(fillers)], np.int64)
    verbs = tuple(sorted({verb for _, verb in fillers}))
    typed = np.flatnonzero((types >= 0) & (entities >= 0))
    size = 1 + max(int(typed.max(initial=-1)), int(pronouns.max(initial=-1)))
    return DocumentQueries(
        doc_id=document.doc_id,
        metadata=dict(document.metadata),
        verbs=verbs,
        present_types=np.unique(types[typed]),
        typed_mentions=typed,
        types=types[typed],
        pronouns=pronouns,
        pronoun_verbs=np.array([verbs.index(verb) for _, verb in sorted(fillers)], np.int64),
        antecedents=document.antecedents.first_mentions(size),
        kinds=document_kinds(document)[:size],
        entities=entities[:size],
    )


class QueryTable:
    """All pairs of a document and a query that it contains, with their truth.

    Attributes: `documents` with a query; `queries`, names sorted; `pair_documents`, `pair_queries` and `truth` of each
    pair.
    """

    def __init__(self, documents: Iterable[DocumentQueries]) -> None:
        self.documents = [each for each in documents if each.names]
        self.queries = sorted({name for each in self.documents for name in each.names})
        number = {name: n for n, name in enumerate(self.queries)}
        self.pair_documents = np.repeat(np.arange(len(self.documents)), [len(each.names) for each in self.documents])
        self.pair_queries = np.array([number[name] for each in self.documents for name in each.names])
        self.truth = np.concatenate([each.truth for each in self.documents])

    @property
    def doc_ids(self) -> list[str]:
        """The doc_id of each document."""
        return [each.doc_id for each in self.documents]

    def probabilities(
        self, changes: Sequence[Recalibration], *, n_samples: int = 1000, seed: int = 0, first_sample: int = 0
    ) -> Floats:
        """P of each pair, (n_pairs,), each document under its recalibration."""

        def shares(document: DocumentQueries, change: Recalibration) -> Floats:
            return document.shares(change, n_samples, seed=seed, first_sample=first_sample)

        with ThreadPoolExecutor(processors()) as pool:
            return np.concatenate(list(pool.map(shares, self.documents, changes)))

    def draws(self, draws: Sequence[Sequence[Recalibration]], *, n_samples: int = 1000, seed: int = 0) -> Floats:
        """P of each pair under draws of recalibrations (draws, documents): (n_draws, n_pairs), from other samples."""
        firsts = itertools.count(n_samples, DRAW_SAMPLES)
        options = {"n_samples": DRAW_SAMPLES, "seed": seed}
        rows = zip(draws, firsts, strict=False)
        return np.stack([self.probabilities(each, **options, first_sample=first) for each, first in rows])


def count_intervals(table: QueryTable, probs: Floats) -> pd.DataFrame:
    """Credible intervals of the count of each query in at least five documents, with the true count.

    `probs` is (n_pairs,), or (n_draws, n_pairs): documents are independent given a draw, which all share, so the
    distribution of the count is the mean over draws of Poisson-binomial ones.
    """
    draws = np.atleast_2d(probs)
    rows = []
    for query, (mention_type, verb) in enumerate(table.queries):
        pairs = np.flatnonzero(table.pair_queries == query)
        if len(pairs) < SIZES[0]:
            continue
        pmf = np.mean([count_pmf(draw[pairs]) for draw in draws], axis=0)
        true_count, counts = int(table.truth[pairs].sum()), np.arange(len(pmf))
        mean = float(pmf @ counts)
        sd = math.sqrt(max(float(pmf @ (counts - mean) ** 2), 0.0))
        for level in LEVELS:
            half = NormalDist().inv_cdf((1.0 + level) / 2.0) * sd
            ends = {"normal": (mean - half, mean + half), "quantile": quantile_interval(pmf, level)}
            ends["hdi"] = hdi_interval(pmf, level)
            for interval, (lower, upper) in ends.items():
                held = lower <= true_count <= upper
                count = mention_type, verb, len(pairs), true_count, mean, sd
                rows.append((*count, interval, level, float(lower), float(upper), held))
    columns = ["mention_type", "verb", "n_documents", "true_count", "mean", "sd"]
    return pd.DataFrame(rows, columns=[*columns, "interval", "level", "lower", "upper", "held"])


def count_coverage(intervals: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Share of the queries whose interval contains the true count, by columns `by`, number of documents and level."""
    names = [f"{least}-{more - 1}" for least, more in itertools.pairwise(SIZES)] + [f"{SIZES[-1]}+"]
    table = intervals.assign(
        documents=pd.cut(intervals["n_documents"], [*SIZES, np.inf], right=False, labels=names),
        below=intervals["true_count"] < intervals["lower"],
        above=intervals["true_count"] > intervals["upper"],
        width=intervals["upper"] - intervals["lower"],
        error=intervals["mean"] - intervals["true_count"],
        **{name: pd.Categorical(intervals[name], intervals[name].unique()) for name in by},
    )
    measures = {"coverage": "held", "below": "below", "above": "above", "mean_width": "width", "mean_error": "error"}
    grouped = table.groupby([*by, "documents", "interval", "level"], sort=True, observed=True)
    coverage = grouped.agg(n_queries=("held", "size"), **{name: (column, "mean") for name, column in measures.items()})
    return coverage.reset_index().astype(dict.fromkeys([*by, "documents"], "str"))


def changes_elsewhere(
    table: QueryTable, record: UncertainRecalibration, uncertainty: str | None, n_draws: int, seed: int
) -> Changes:
    """A recalibration that was fitted elsewhere; scores that have it already get only its uncertainty."""
    source: Any = uncertainty or record.widest
    nothing, fit, by_document, draws = Recalibration(), record.recalibration, [], []
    for document in table.documents:
        is_included = record.is_in(Recalibration.applied_to(document.metadata))
        by_document.append(nothing if is_included else fit)
        if n_draws and source != "none":
            sampled = record.sampled(source, n_draws, seed=seed, domain=record.domain_of(document.metadata))
            draws.append([each.relative_to(fit) for each in sampled] if is_included else sampled)
    return by_document, list(zip(*draws, strict=True)) if draws else None


def changes_by_folds(table: QueryTable, fitter: RecalibrationFitter, options: argparse.Namespace) -> Changes:
    """Recalibrations that were fitted without each document."""
    fit = fitter.cross_fit(options.folds, seed=options.seed)
    fold_of = dict(zip(fit.doc_ids, fit.folds.tolist(), strict=True))
    return [fit.recalibrations[fold_of[doc_id]] for doc_id in table.doc_ids], None


def variants(
    documents: Sequence[ScoredDocument], table: QueryTable, options: argparse.Namespace
) -> Iterator[tuple[str, Changes]]:
    """Names of what is done to the scores, and the recalibrations of the table's documents."""
    names = {Recalibration.applied_to(each.metadata) for each in documents}
    applied = known_recalibration(names.pop()) if len(names) == 1 else None
    elsewhere = options.uncertainty, options.resamples, options.seed
    draws = None if applied is None or options.recalibration else changes_elsewhere(table, applied, *elsewhere)[1]
    yield AS_SCORED, ([Recalibration()] * len(table.documents), draws)
    if options.recalibration:
        yield RECALIBRATED, changes_elsewhere(table, read_recalibration(options.recalibration), *elsewhere)
        return
    domains = None
    if options.form == "kinds" and all(options.domains in each.metadata for each in documents):
        domains = {each.doc_id: str(each.metadata[options.domains]) for each in documents}
    for objective in options.objectives:
        settings: dict[str, Any] = {"form": options.form, "domains": domains, "unannotated": options.unannotated}
        fitter = RecalibrationFitter(documents, objective=objective, **settings)
        try:
            yield objective, changes_by_folds(table, fitter, options)
        except ParameterError as error:  # the other objective may have one
            print(f"{objective}: not fitted. {error}")


def coverage_of(documents: Sequence[ScoredDocument], options: argparse.Namespace) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Coverage of the intervals of all variants, and scores of P: mean, share of true pairs, calibration error."""
    matching = {"role": options.role, "scheme": options.scheme, "unannotated": options.unannotated}
    table = QueryTable(match_queries(document, **matching) for document in documents)
    intervals, scores, sampling = [], [], {"n_samples": options.samples, "seed": options.seed}
    for name, (changes, draws) in variants(documents, table, options):
        probs = {GIVEN: table.probabilities(changes, **sampling)}
        if draws is not None:
            probs[UNCERTAIN] = table.draws(draws, **sampling)
        for kind, values in probs.items():
            intervals.append(count_intervals(table, values).assign(variant=name, recalibration=kind))
        p, options_of_error = probs[GIVEN], {"n_bins": 20, "documents": table.pair_documents, "debiased": False}
        error = calibration.calibration_error(p, table.truth, **options_of_error)  # type: ignore[arg-type]
        row = {"variant": name, "n_pairs": len(p), "mean_p": p.mean(), "share_true": table.truth.mean()}
        ends = {"calibration_error": error.estimate, "lower": error.lower, "upper": error.upper}
        scores.append({**row, "brier": float(np.mean((p - table.truth) ** 2)), **ends})
        print(f"{name}: {len(table.queries):,} queries, {len(p):,} pairs of query and document", flush=True)
    return count_coverage(pd.concat(intervals), ["variant", "recalibration"]), pd.DataFrame(scores)


def parsed_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="+", help="scored file with gold and tokens")
    parser.add_argument("--out", type=Path, required=True, help="folder for query_coverage.csv")
    parser.add_argument("--form", choices=FORMS, default="global", help="of the recalibrations that are fitted")
    parser.add_argument("--objectives", nargs="+", choices=OBJECTIVES, default=list(OBJECTIVES))
    parser.add_argument("--domains", default="genre", help="metadata field of the domains, for the form kinds")
    parser.add_argument("--recalibration", help="record or name of a recalibration that was fitted elsewhere")
    parser.add_argument("--uncertainty", choices=UNCERTAINTIES, help="of that recalibration [default: all it has]")
    parser.add_argument("--role", choices=ROLES, default="subject", help="of the pronoun at the verb")
    parser.add_argument("--scheme", choices=list(SCHEMES))
    parser.add_argument("--unannotated", choices=("skip", "single"), default="skip")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=1000, help="clusterings of a document")
    parser.add_argument("--resamples", type=int, default=100, help="draws of a recalibration fitted elsewhere; 0: none")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table, and print the coverage of 95% quantile intervals and the scores of P."""
    options = parsed_options(arguments)
    documents = [document for document in read_documents(options.file) if document.gold is not None]
    coverage, scores = coverage_of(documents, options)
    options.out.mkdir(parents=True, exist_ok=True)
    coverage.to_csv(options.out / "query_coverage.csv", index=False)
    shown = coverage[(coverage["level"] == max(LEVELS)) & (coverage["interval"] == "quantile")]
    columns = shown.pivot_table(
        index=["variant", "recalibration"], columns="documents", values="coverage", sort=False, aggfunc="first"
    )
    print(f"\n{scores.round(4).to_string(index=False)}\n\n{columns.round(3).to_string()}")


if __name__ == "__main__":
    main()
