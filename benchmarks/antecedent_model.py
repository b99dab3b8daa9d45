"""Scores of the antecedent model: python benchmarks/antecedent_model.py [--model FILE] [--pipeline PIPELINE ...].

Without a model, one is trained on GUM's train documents and chosen on its dev documents; with one (or the word
``english``, the model that ships), that model is measured. It prints every table of docs/antecedent-model.md. With
spaCy pipelines, mentions are also found in their parses of GUM's words.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from english_texts import ENGLISH_GENRES
from held_out_scores import held_out_figures
from link_kinds import links_by_kind
from tagger_studies.recalibrators import HistogramBinning, ScalingBinning

from corefsample import ScoredDocument, link_marginals, link_tables, map_clustering, sample_clusterings
from corefsample.calibration import IsotonicRecalibration, PlattScaling, calibration_error
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._tokens import SPEAKER, Tokens
from corefsample.formats.annotated._corefud import read_corefud
from corefsample.links import calibrate_links
from corefsample.metrics._scores import ClusteringScores, clustering_scores, corpus_scores
from corefsample.recalibration import RecalibrationFitter
from corefsample.recalibration._losses import OBJECTIVES
from corefsample.recalibration._model import Recalibration
from corefsample.scorers import load_scorer, score_documents
from corefsample.scorers._scoring import ScoringTally
from corefsample.scorers.log_linear._model import AntecedentModel
from corefsample.scorers.log_linear._training import train
from corefsample.scorers.protocol import EpochReport

GUM = Path(__file__).parents[1] / ".." / "shared" / "data" / "gum"
BIN_SIZE, FLOOR_DRAWS = 5000, 20
RIGHT = 0.7  # least P of a split antecedent
# Kinds of links to show: those of pronouns with plural nouns, singular nouns and names, and of pronouns that differ.
KINDS = ("he or she", "it", "they", "first or second person")
OTHER_KINDS = ("plural noun", "singular noun", "name", *KINDS)
LENGTH, RUNS = 150, 7  # mentions of a document that speed is measured on; turns

Scored = Sequence[ScoredDocument]
Floats = npt.NDArray[np.float64]


def documents_of(split: str) -> list[AnnotatedDocument]:
    return list(read_corefud(GUM / f"en_gum-ud-{split}.conllu.gz"))


def trained(l2: Sequence[float], seed: int) -> AntecedentModel:
    """Train on GUM's train documents, with the penalty and the pass chosen on its dev documents."""

    def show(report: EpochReport) -> None:
        held_out = "" if report.held_out is None else f", held out {report.held_out.loss:.4f}"
        print(f"l2 {report.l2:g}, pass {report.epoch}: loss {report.loss:.4f}{held_out}", file=sys.stderr)

    return train(documents_of("train"), held_out=documents_of("dev"), l2=l2, seed=seed, on_epoch=show)


# --- gold mentions -----------------------------------------------------------------------------------------


def link_error(documents: Iterable[ScoredDocument], *, resamples: int = 1000) -> tuple[float, float, float]:
    """CalibErr of link marginals, with its 95% interval by document."""
    overall = calibrate_links(link_tables(documents), bin_size=BIN_SIZE, n_resamples=resamples).overall
    ends = overall.by_document
    return overall.error, np.nan if ends is None else ends.lower, np.nan if ends is None else ends.upper


def perfect_errors(documents: Scored) -> list[float]:
    """CalibErr that shows where gold is drawn from the scores, so that calibration is perfect."""
    drawn = [sample_clusterings(each.antecedents, n_samples=FLOOR_DRAWS, seed=1).labels for each in documents]
    errors = []
    for s in range(FLOOR_DRAWS):
        pairs = zip(documents, drawn, strict=True)
        errors.append(link_error((dataclasses.replace(d, gold=x[s].tolist()) for d, x in pairs), resamples=2)[0])
    return errors


def map_scores(document: ScoredDocument) -> ClusteringScores:
    return clustering_scores(document.gold or [], map_clustering(document.antecedents))


def gold_mentions(model: AntecedentModel, splits: dict[str, list[AnnotatedDocument]]) -> pd.DataFrame:
    rows = []
    for name, documents in splits.items():
        scored = list(score_documents(model, documents))
        found = list(map(map_scores, scored))
        error, lower, upper = link_error(scored)
        perfect = perfect_errors(scored)
        rows.append(
            {
                "documents": name,
                "n": len(scored),
                "nll": held_out_figures(model, documents).loss,
                "conll_macro": statistics.fmean(each.conll.f1 for each in found),
                "conll_corpus": corpus_scores(found).conll.f1,
                "calib_err": error,
                "lower": lower,
                "upper": upper,
                "perfect_median": statistics.median(perfect),
                "perfect_least": min(perfect),
                "perfect_most": max(perfect),
            }
        )
    return pd.DataFrame(rows)


def recalibrated(model: AntecedentModel, splits: dict[str, list[AnnotatedDocument]]) -> pd.DataFrame:
    """CalibErr on test documents of what is fitted to dev documents: distributions, or only marginals."""
    dev, test = (list(score_documents(model, splits[name])) for name in ("dev", "test"))
    rows = []
    for name in OBJECTIVES:
        fit = RecalibrationFitter(dev, objective=name).fit().recalibration
        error, lower, upper = link_error([fit.apply_document(each) for each in test])
        description = f"T = {fit.temperature:.3f}, NEW bias {fit.new_bias:+.3f}, fitted to {name}"
        rows.append({"recalibration": description, "calib_err": error, "lower": lower, "upper": upper})
    (q, y, _), (q_test, y_test, documents) = pairs(dev), pairs(test)
    for recalibrator in (PlattScaling(), IsotonicRecalibration(), ScalingBinning(), HistogramBinning()):
        recalibrated = recalibrator.fit(q, y).predict(q_test)
        found = calibration_error(
            recalibrated, y_test, bin_size=BIN_SIZE, documents=documents, n_resamples=1000, debiased=False
        )
        name = f"{type(recalibrator).__name__} of marginals"
        rows.append({"recalibration": name, "calib_err": found.estimate, "lower": found.lower, "upper": found.upper})
    return pd.DataFrame(rows)


def pairs(documents: Scored) -> tuple[Floats, npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    """Link marginals of all pairs of mentions, whether gold links them, and their documents."""
    tables = link_tables(documents)
    return tables.q, tables.y, tables.documents


def by_genre(model: AntecedentModel, documents: Iterable[AnnotatedDocument]) -> pd.DataFrame:
    rows = [
        {
            "genre": each.doc_id.split("_")[1],
            "n_mentions": each.n_mentions,
            "loss": held_out_figures(model, [each]).loss * each.n_mentions,
            "conll": map_scores(scored).conll.f1,
        }
        for each, scored in ((each, next(score_documents(model, [each]))) for each in documents)
    ]
    frame = (
        pd.DataFrame(rows)
        .groupby("genre")
        .agg(n=("conll", "size"), n_mentions=("n_mentions", "sum"), loss=("loss", "sum"), conll_macro=("conll", "mean"))
    )
    frame["nll"] = frame.pop("loss") / frame["n_mentions"]
    frame["trained on"] = [genre in ENGLISH_GENRES for genre in frame.index]
    return frame.reset_index()


def by_kind(documents: Scored) -> pd.DataFrame:
    """Mean link marginal and share of true links by kinds of the two mentions, in either order."""
    links = links_by_kind(documents, [Recalibration()] * len(documents))
    rows = []
    for number, one in enumerate(KINDS):
        for other in OTHER_KINDS[: len(OTHER_KINDS) - len(KINDS) + number + 1]:
            both = links[
                ((links["kind"] == one) & (links["earlier"] == other))
                | ((links["kind"] == other) & (links["earlier"] == one))
            ]
            n_pairs, expected, true = (both[name].sum() for name in ("n_pairs", "expected", "true"))
            rows.append(
                {"kinds": f"{one}, {other}", "pairs": n_pairs, "expected": expected / n_pairs, "true": true / n_pairs}
            )
    return pd.DataFrame(rows)


# --- mentions found in the parse ---------------------------------------------------------------------------


def parsed_again(documents: Iterable[AnnotatedDocument], pipeline: str) -> list[AnnotatedDocument]:
    """GUM's words and sentences with a spaCy pipeline's parse."""
    import spacy
    from spacy.tokens import Doc

    from corefsample.spacy_bridge.documents import tokens_of_doc

    nlp = spacy.load(pipeline)
    made = []
    for each in documents:
        tokens = each.tokens
        starts = np.diff(tokens.sent, prepend=-1) != 0
        sentences = np.split(np.arange(len(tokens)), np.flatnonzero(starts)[1:])
        texts = [Doc(nlp.vocab, words=[tokens.text[t] for t in places]) for places in sentences]
        parses = [tokens_of_doc(doc) for doc in nlp.pipe(texts)]
        offsets = np.cumsum([0, *(len(parse) for parse in parses)])[:-1]
        heads = [np.where(p.head < 0, -1, p.head + start) for p, start in zip(parses, offsets, strict=True)]
        joined = Tokens(
            text=tokens.text,
            lemma=[lemma for parse in parses for lemma in parse.lemma],
            upos=[upos for parse in parses for upos in parse.upos],
            dep=[dep for parse in parses for dep in parse.dep],
            head=np.concatenate(heads),
            sent=tokens.sent,
            extra={name: column for name, column in tokens.extra.items() if name == SPEAKER}
            | {
                name: [value for parse in parses for value in parse.extra[name]]
                for name in ("xpos", "feats")
                if name in parses[0].extra
            },
        )
        made.append(dataclasses.replace(each, tokens=joined))
    return made


def found_by_genre(model: AntecedentModel, parses: dict[str, Sequence[AnnotatedDocument]]) -> pd.DataFrame:
    """CoNLL with mentions found in the parse, mean over a genre's documents, for each kind of parses."""
    columns: dict[str, dict[str, list[float]]] = {}
    for name, documents in parses.items():
        genres = columns.setdefault(name, {})
        for gold, scored in zip(documents, score_documents(model, documents, mentions="parse"), strict=True):
            found = clustering_scores(
                gold.entities,
                map_clustering(scored.antecedents).tolist(),
                key_spans=gold.mentions,
                response_spans=scored.mentions,
            )
            genres.setdefault(gold.doc_id.split("_")[1], []).append(found.conll.f1)
    means = {name: {genre: statistics.fmean(values) for genre, values in of.items()} for name, of in columns.items()}
    frame = pd.DataFrame(means).rename_axis("genre").sort_index().reset_index()
    frame["trained on"] = [genre in ENGLISH_GENRES for genre in frame["genre"]]
    return frame


def found_mentions(model: AntecedentModel, name: str, documents: Sequence[AnnotatedDocument]) -> dict[str, object]:
    """Scores of mentions found in the parse, and of the MAP clusterings over them."""
    tally = ScoringTally()
    scored = list(score_documents(model, documents, mentions="parse", tally=tally))
    n_gold = sum(each.n_mentions for each in documents)
    shared = [
        len({tuple(m[:2]) for m in a.mentions.tolist()} & {tuple(m[:2]) for m in b.mentions.tolist()})
        for a, b in zip(documents, scored, strict=True)
    ]
    found, without = (
        [
            clustering_scores(
                a.entities,
                map_clustering(b.antecedents).tolist(),
                key_spans=a.mentions,
                response_spans=b.mentions,
                singletons=singletons,
            )
            for a, b in zip(documents, scored, strict=True)
        ]
        for singletons in (True, False)
    )
    error, lower, upper = link_error(scored)
    return {
        "documents": name,
        "recall": sum(shared) / n_gold,
        "precision": sum(shared) / tally.n_mentions,
        "conll_macro": statistics.fmean(each.conll.f1 for each in found),
        "conll_corpus": corpus_scores(found).conll.f1,
        "conll_no_singletons": corpus_scores(without).conll.f1,
        "calib_err": error,
        "lower": lower,
        "upper": upper,
    }


def split_antecedents(model: AntecedentModel, splits: dict[str, list[AnnotatedDocument]]) -> pd.DataFrame:
    """P that an anaphor with a split antecedent is one with all its members, or with a coordination of them.

    If the members are mentions alone, the P is that of the least probable one, which is too high rather than too low.
    """
    rows = []
    for name, documents in splits.items():
        for document, scored in zip(documents, score_documents(model, documents, mentions="parse"), strict=True):
            q, (start, end, head) = link_marginals(scored.antecedents), scored.mentions.T
            gold = np.array(list(map(str, scored.gold or [])))
            for token, misc in enumerate(document.tokens.extra["misc"]):
                for note in re.findall(r"SplitAnte=([^|]*)", misc):
                    names, (whole, *_) = zip(*(pair.split("<") for pair in note.split(",")), strict=True)
                    i = np.argmax((gold == whole) & (start <= token) & (token < end))  # 0 if it is not in the parse
                    members = [np.flatnonzero(gold[:i] == member) for member in names]
                    covers = [
                        k
                        for k in set(range(i)).difference(*members)
                        if all(np.any((start[k] <= start[m]) & (end[m] <= end[k])) for m in members)
                        and head[k] in head[np.concatenate(members)]
                    ]
                    p = max(min(q[i, m].max(initial=0.0) for m in members), q[i, covers].max(initial=0.0))
                    rows.append((name, document.doc_id.split("_")[1] in ENGLISH_GENRES, p, bool(covers), p >= RIGHT))
    frame = pd.DataFrame(rows, columns=["documents", "trained on", "mean_p", "coordination", "right"])
    sums = frame.groupby(["documents", "trained on", "coordination"])
    return sums.agg(n=("right", "size"), right=("right", "sum"), mean_p=("mean_p", "mean")).reset_index()


# --- speed -------------------------------------------------------------------------------------------------


def cut(document: AnnotatedDocument, n_mentions: int) -> tuple[Tokens, npt.NDArray[np.int32]]:
    """The document's first sentences, up to that of the last of `n_mentions` mentions, and these mentions."""
    tokens, mentions = document.tokens, document.mentions[:n_mentions]
    end = int(np.flatnonzero(tokens.sent == tokens.sent[mentions[:, 1].max() - 1])[-1]) + 1
    columns = {name: getattr(tokens, name)[:end] for name in ("text", "lemma", "upos", "dep", "head", "sent")}
    return Tokens(**columns, extra={name: values[:end] for name, values in tokens.extra.items()}), mentions


def speed(model: AntecedentModel, documents: Iterable[AnnotatedDocument]) -> pd.DataFrame:
    """Documents per second on one core, words already in the cache, median of several turns."""
    short = [cut(each, LENGTH) for each in documents if each.n_mentions >= LENGTH]
    for tokens, mentions in short:
        model.score([tokens], [mentions])
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        for tokens, mentions in short:
            model.score([tokens], [mentions])
        seconds.append(time.perf_counter() - start)
    rate = len(short) / statistics.median(seconds)
    return pd.DataFrame([{"documents": len(short), "mentions": LENGTH, "documents per second": rate}])


def show(title: str, frame: pd.DataFrame) -> None:
    print(f"\n{title}\n{frame.to_string(index=False, float_format=lambda value: f'{value:.4f}')}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a model file, or english; without it a model is trained")
    parser.add_argument("--l2", type=float, nargs="+", default=[0.02], help="penalties to choose from on dev")
    parser.add_argument("--seed", type=int, default=0, help="of the orders of training documents")
    parser.add_argument("--save", help="keep the trained model in this file")
    parser.add_argument(
        "--pipeline", nargs="+", default=[], help="spaCy pipelines, to find mentions in their parses too"
    )
    chosen = parser.parse_args()
    if not GUM.exists():
        raise SystemExit(f"GUM must be in {GUM.name}, beside the project, got nothing there")
    if chosen.model is None:
        model = trained(chosen.l2, chosen.seed)
        if chosen.save:
            model.save(chosen.save)
    else:
        model = load_scorer() if chosen.model == "english" else load_scorer(chosen.model)
    dev, test = documents_of("dev"), documents_of("test")
    splits = {"dev": dev, "test": test, "dev+test": dev + test}
    show("Gold mentions (perfect_*: CalibErr where gold is drawn from the scores)", gold_mentions(model, splits))
    show("After recalibration: fitted on dev, shown on test", recalibrated(model, splits))
    show("By genre, dev+test", by_genre(model, splits["dev+test"]))
    show("By kind of link, dev+test", by_kind(list(score_documents(model, splits["dev+test"]))))
    rows = [found_mentions(model, f"{name}, gold parses", splits[name]) for name in splits]
    parses: dict[str, Sequence[AnnotatedDocument]] = {"gold parses": splits["dev+test"]}
    for pipeline in chosen.pipeline:
        again = {name: parsed_again(splits[name], pipeline) for name in ("dev", "test")}
        parses[Path(pipeline).name] = again["dev+test"] = again["dev"] + again["test"]
        rows += [found_mentions(model, f"{name}, {Path(pipeline).name}", again[name]) for name in again]
    show("Mentions found in the parse", pd.DataFrame(rows))
    show("Mentions found in the parse, by genre, dev+test: CoNLL", found_by_genre(model, parses))
    show("Split antecedents", split_antecedents(model, {"train": documents_of("train"), **splits}))
    show("Scoring, one core", speed(model, dev + test))


if __name__ == "__main__":
    main()
