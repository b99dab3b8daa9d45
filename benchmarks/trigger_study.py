"""Is P that a sentence reports an event right? python benchmarks/trigger_study.py [--only PART] [--encoder FOLDER].

`left-out`: texts of training/events in four folds of batches; log loss (P clipped to .01 .. .99) of P that a text
reports a type, of the model and of the rules alone, and calibration by type, with a picture of it (`--curves FILE`;
with `--folder`, and without an encoder, it has the documents of `corpora`, too).
`types`: the same for each type with a model of the others, as for a user's rule. `sentences`: texts with a reader's
answers by rule and actor (leads and traps, beside the project), which the model has not seen; log loss, share wrong
(P >= .7 for no, <= .3 for yes), share of yes with P > .5, and of no. `corpora`: documents with answers which no model
has seen, of the folder of rule_reference.py (`--folder`); average precision of P, and of P that a reader says yes
(with a reference class of the other corpora), and share true where P > .8. `cost`: share of the processor time of
`events` on the MUC reports of that folder that features and scores of predicates take.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import spacy
from matplotlib.figure import Figure
from police_events import average_precision
from rule_error_study import of_readers
from rule_reference import CORPORA, labelled_documents, reference_table
from studies import markdown

from corefsample import read_documents
from corefsample._arrays import Bools, Floats
from corefsample.calibration import ReliabilityCurve, calibration_error, reliability_curve
from corefsample.plots import reliability_axes
from corefsample.plots.style import save_figure
from events import EventCounter, load_lexicon, load_rules
from events.commands import EventsOptions, run_events
from events.evidence._rule_set import RuleSet
from events.matching._encoder import load_encoder
from events.matching._trigger_model import (
    CONDITION,
    LEAST,
    LEAST_SIMILAR,
    TRIGGER,
    TYPES,
    PredicateFeatures,
    TriggerModel,
    feature_hash,
    implying_columns,
    prototype_of,
)
from events.rule_error._model import Cell, RuleErrorModel
from events.rules._rules import Rule
from events.triggers import _fit
from events.triggers._texts import AnsweredText, read_answered_texts

ROOT = Path(__file__).parents[1]
SENTENCES = ROOT / ".." / "shared" / "data" / "sentences"
PIPELINE = ROOT / ".." / "shared" / "models" / "en_core_web_sm"
N_FOLDS, N_SAMPLES = 4, 500
BIN_SIZE = 150  # of the curves by type


def log_loss(yes: Bools, p: Floats) -> float:
    clipped = np.clip(p, 0.01, 0.99)
    return float(-np.where(yes, np.log(clipped), np.log(1.0 - clipped)).mean())


def figures(yes: Bools, p: Floats) -> dict[str, float]:
    return {
        "answers": len(yes),
        "log loss": log_loss(yes, p),
        "wrong": float(np.where(yes, p <= 0.3, p >= 0.7).mean()),
        "found of yes": float((p[yes] > 0.5).mean()),
        "false of no": float((p[~yes] > 0.5).mean()),
    }


# --- batches left out --------------------------------------------------------------------------------------


def subset(predicates: _fit.Predicates, texts: Bools) -> _fit.Predicates:
    rows = np.flatnonzero(texts[predicates.text])
    chosen = [[values[i] for i in rows] for values in (predicates.features, predicates.lemmas)]
    index = dict(zip(rows.tolist(), range(len(rows)), strict=True))
    triggers = [(index[i], *rest) for i, *rest in predicates.triggers if i in index]
    return _fit.Predicates(predicates.text[rows], *chosen, predicates.reports[rows], predicates.vectors[rows], triggers)


def of_texts(predicates: _fit.Predicates, p: Floats, n_texts: int) -> Floats:
    """P that a text reports each type, if its predicates are independent."""
    none = np.ones((n_texts, p.shape[1]))
    np.multiply.at(none, predicates.text, 1.0 - p)
    return 1.0 - none


def by_rules(predicates: _fit.Predicates, rules: list[Rule]) -> Floats:
    """1 for triggers of a rule of which no condition of the rule holds, else 0."""
    has = [set(features) for features in predicates.features]

    def reports(of_predicate: set[int], rule: Rule) -> bool:
        conditions = (feature_hash(CONDITION + name) for name in rule.unless)
        return feature_hash(TRIGGER + rule.name) in of_predicate and not any(c in of_predicate for c in conditions)

    return np.array([[float(reports(of_predicate, rule)) for rule in rules] for of_predicate in has])


def by_model(predicates: _fit.Predicates, rules: list[Rule], model: TriggerModel) -> Floats:
    """P that predicates report the types of a model."""
    n = len(model.types)
    z = _fit.design_matrix(predicates.features, model.rows) @ model.weights + predicates.vectors @ model.of_vectors
    scores, is_trigger = np.asarray(z[:, :n], np.float64), np.zeros((len(z), n), np.bool_)
    i, t = (np.array([trigger[axis] for trigger in predicates.triggers]) for axis in (0, 1))
    scores[i, t] += shared_scores(predicates, model)
    for column, name in enumerate(model.types):
        scores[:, column] = scores[:, implying_columns(model.types, name)].max(axis=1)
    is_trigger[i, t] = True
    is_known = np.array([lemma in model.lemmas for lemma in predicates.lemmas])[:, None]
    p = 1.0 / (1.0 + np.exp(-scores))
    return np.where((is_known | is_trigger) & (p >= LEAST), p, 0.0)


def shared_scores(predicates: _fit.Predicates, model: TriggerModel) -> Floats:
    """What triggers of all rules share, of each trigger."""
    features = _fit.design_matrix([features for *_, features in predicates.triggers], model.rows)
    vectors = predicates.vectors[[i for i, *_ in predicates.triggers]]
    return np.asarray(features @ model.weights[:, -1] + vectors @ model.of_vectors[:, -1], np.float64)


def by_similarity(predicates: _fit.Predicates, rule: Rule, model: TriggerModel) -> Floats:
    """P that predicates report the event of a rule whose type the model does not have, of texts without a trigger."""
    p = np.zeros((len(predicates.text), 1))
    if model.encoder is not None:
        intercept, slope = model.similarity.tolist()
        z = intercept + slope * (predicates.vectors @ np.array(prototype_of(rule, model.encoder)))
        of_word = np.where([lemma in model.vocabulary for lemma in predicates.lemmas], 1.0 / (1.0 + np.exp(-z)), 0.0)
        trigger = feature_hash(TRIGGER + rule.name)
        with_trigger = {t for t, has in zip(predicates.text, predicates.features, strict=True) if trigger in has}
        order = np.argsort(-of_word)
        _, firsts = np.unique(predicates.text[order], return_index=True)
        for i in order[firsts]:
            is_excluded = any(feature_hash(CONDITION + name) in predicates.features[i] for name in rule.unless)
            if of_word[i] >= LEAST_SIMILAR and predicates.text[i] not in with_trigger and not is_excluded:
                p[i] = of_word[i]
    return p


def training(pipeline: str, encoder: str | None) -> tuple[list[AnsweredText], list[Rule], _fit.Predicates, Bools]:
    """Texts, rules, predicates, and bool (n_texts, n_types): whether a text reports a type."""
    texts = list(read_answered_texts(sorted((ROOT / "training" / "events").glob("*.txt")), TYPES))
    rules = [load_rules(name) for name in TYPES]
    of_words = None if encoder is None else load_encoder(encoder)
    predicates = _fit.predicates_of(texts, rules, spacy.load(pipeline, exclude=["ner"]), of_words)
    yes = np.array([[any(name in mark.types for mark in text.marks) for name in TYPES] for text in texts])
    return texts, rules, predicates, yes


def left_out(pipeline: str, encoder: str | None, picture: Path | None, folder: Path | None) -> pd.DataFrame:
    """Log losses and calibration by type, each text with a model of the batches of other folds."""
    texts, rules, predicates, yes = training(pipeline, encoder)
    batches = sorted({text.batch for text in texts})
    fold = np.array([batches.index(text.batch) % N_FOLDS for text in texts])
    p, rule_p = np.zeros((2, *yes.shape))
    for number in range(N_FOLDS):
        model = _fit.fit_trigger_model([subset(predicates, fold != number)], rules)
        tested = subset(predicates, fold == number)
        p += of_texts(tested, by_model(tested, rules, model), len(texts))
        rule_p += of_texts(tested, by_rules(tested, rules), len(texts))
    rows, curves = [], {}
    for column, name in enumerate([*TYPES, "all"]):
        chosen = slice(None) if name == "all" else [column]
        truth, q, of_rules = (values[:, chosen].ravel() for values in (yes, p, rule_p))
        error, curves[name] = (
            calibration_error(q, truth),
            reliability_curve(q, truth, bin_size=BIN_SIZE if name != "all" else None),
        )
        losses = {"log loss": log_loss(truth, q), "of rules": log_loss(truth, of_rules)}
        shares = {"calibration error": error.estimate, "true where P > .8": float(truth[q > 0.8].mean())}
        rows.append(
            {"type": name, "yes": int(truth.sum()), **losses, **shares, "mean P there": float(q[q > 0.8].mean())}
        )
    if picture is not None:
        # The file has P of the model without an encoder.
        documents = pd.read_parquet(folder / "labelled.parquet") if folder and encoder is None else None
        figure = Figure(figsize=(9.6, 7.6), layout="constrained")
        for ax, (name, curve) in zip(figure.subplots(3, 4).flat, curves.items(), strict=True):
            of_news = {} if documents is None else curves_of_news(documents, name)
            reliability_axes(ax, {"texts": curve} | of_news if of_news else curve).set_title(name, fontsize=10)
            ax.set(xlabel="", ylabel="")
        figure.supxlabel("P that a text or document reports the type, with a model of other texts")
        figure.supylabel("share that does")
        save_figure(figure, picture)
    return pd.DataFrame(rows)


def curves_of_news(documents: pd.DataFrame, event: str) -> dict[str, ReliabilityCurve]:
    """Reliability of P that documents report a type, by anybody or the police, by corpus."""
    curves = {}
    of_type = documents[(documents["event"] == event) & documents["actor"].isin(["*", "POLICE"])]
    for corpus, part in of_type.groupby("corpus"):
        if part["yes"].sum() >= 20:
            yes, p = part["yes"].to_numpy(bool), part["p"].to_numpy(float)
            curves[str(corpus)] = reliability_curve(p, yes, n_bins=5, strategy="uniform")
    return curves


def types_left_out(pipeline: str, encoder: str | None) -> pd.DataFrame:
    """Log losses by type with a model of the other types, from texts without triggers or events of the type."""
    texts, rules, predicates, yes = training(pipeline, encoder)
    of_words = None if encoder is None else load_encoder(encoder)
    rows = []
    for column, rule in enumerate(rules):
        of_type = [(i, features) for i, t, features in predicates.triggers if t == column]
        mentions_type = yes[:, column].copy()
        mentions_type[predicates.text[[i for i, _ in of_type]]] = True
        others = subset(predicates, ~mentions_type)
        kept = [t for t in range(len(rules)) if t != column]
        triggers = [(i, kept.index(t), features) for i, t, features in others.triggers if t != column]
        part = others._replace(reports=others.reports[:, kept], triggers=triggers)
        model = _fit.fit_trigger_model([part], [rules[t] for t in kept], of_words)
        z = shared_scores(predicates._replace(triggers=[(i, 0, features) for i, features in of_type]), model)
        p = by_similarity(predicates, rule, model)
        p[[i for i, _ in of_type], 0] = 1.0 / (1.0 + np.exp(-z))
        pair = (of_texts(predicates, q, len(texts))[:, 0] for q in (p, by_rules(predicates, [rule])))
        of_model, of_rule = (log_loss(yes[:, column], q) for q in pair)
        rows.append({"type": rule.name, "of other types": of_model, "rule": of_rule, "ratio": of_model / of_rule})
    table = pd.DataFrame(rows)
    mean = table.mean(numeric_only=True)
    mean["ratio"] = mean["of other types"] / mean["rule"]
    return pd.concat([table, pd.DataFrame([{"type": "all", **mean}])], ignore_index=True)


# --- sentences with answers --------------------------------------------------------------------------------


def sentences(pipeline: str, encoder: str | None) -> pd.DataFrame:
    """Figures of P by rule and actor for texts that no model has seen."""
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for name in ("leads", "traps"):
            scored = str(Path(temporary) / f"{name}.parquet")
            command = ["corefsample", "score", str(SENTENCES / f"{name}.csv"), "--out", scored, "--pipeline", pipeline]
            subprocess.run([*command, "--workers", "1"], check=True, capture_output=True)
            answers = pd.read_csv(SENTENCES / f"{name}_readers.csv", dtype=str)
            answers = answers[answers["reader"].isin(["0", "1"])]
            for model, folder in (("rules", None), ("words", None), *([("words", encoder)] if encoder else [])):
                of_lexicons = [_probabilities(answers, each, scored, model, folder) for each in ("countries", "police")]
                joined = answers.merge(pd.concat(of_lexicons), how="left", on=["doc_id", "rule", "actor", "lexicon"])
                yes, p = (joined["reader"] == "1").to_numpy(), joined["probability"].fillna(0.0).to_numpy()
                rows.append({"texts": name, "triggers": "encoder" if folder else model, **figures(yes, p)})
    return pd.DataFrame(rows)


def _probabilities(answers: pd.DataFrame, lexicon: str, scored: str, model: str, encoder: str | None) -> pd.DataFrame:
    rules = [load_rules(rule) for rule in answers["rule"][answers["lexicon"] == lexicon].unique()]
    outcomes = [f"any_{rule.name}={rule.name}:*" for rule in rules]
    definitions = RuleSet.of(rules, load_lexicon(lexicon), outcomes, triggers=model, encoder=encoder)
    counter = EventCounter(definitions)
    counter.update(read_documents(scored))
    evidence = counter.evidence()
    is_any = evidence["event"].str.startswith("any_")
    rule = evidence["event"].str.removeprefix("any_")
    evidence = evidence.assign(rule=rule, actor=evidence["actor"].mask(is_any, "*"), lexicon=lexicon)
    return evidence[["doc_id", "rule", "actor", "lexicon", "probability"]].drop_duplicates(["doc_id", "rule", "actor"])


# --- documents with answers --------------------------------------------------------------------------------


def corpora(folder: Path, pipeline: str, encoder: str | None) -> pd.DataFrame:
    """Figures by event and actor with 20 or more yes in documents that no model has seen."""
    rows = []
    if encoder is None:
        documents = pd.read_parquet(folder / "labelled.parquet")
    else:
        documents = pd.concat(labelled_documents(name, folder, pipeline, N_SAMPLES, encoder) for name in CORPORA)
    cells = documents.groupby(["corpus", "event", "actor"]).filter(lambda part: part["yes"].sum() >= 20)
    for (corpus, event, actor, kind), part in cells.groupby(["corpus", "event", "actor", "kind"]):
        yes, p = part["yes"].to_numpy(bool), part["p"].to_numpy(float)
        others = RuleErrorModel(reference_table(documents[documents["corpus"] != corpus], ""))
        of_reader = of_readers(part, Cell(kind, event, actor), others)
        high = {"true where P > .8": yes[p > 0.8].mean(), "mean P there": p[p > 0.8].mean()} if p.max() > 0.8 else {}
        names = {
            "corpus": corpus,
            "event": event,
            "actor": actor,
            "yes": int(yes.sum()),
            "counted": int((p > 0.5).sum()),
        }
        precisions = {
            "average precision": average_precision(p, yes),
            "of readers' P": average_precision(of_reader, yes),
        }
        rows.append({**names, **precisions, "log loss": log_loss(yes, p), **high})
    return pd.DataFrame(rows)


def cost(folder: Path) -> pd.DataFrame:
    """Processor time of runs, and share of `PredicateFeatures`, by rules."""
    seconds = [0.0]

    def timed(function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            started = time.thread_time()
            try:
                return function(*arguments)
            finally:
                seconds[0] += time.thread_time() - started

        return call

    rows = []
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as out:
        for name in ("__init__", "scores"):
            patch.setattr(PredicateFeatures, name, timed(getattr(PredicateFeatures, name)))
        for rules in (("kill",), ("kill",), ("conflict",), TYPES):
            seconds[0], started = 0.0, time.process_time()
            options = EventsOptions(out=f"{out}/{len(rows)}", rule=rules, pictures=False)
            run_events(str(folder / "muc.parquet"), options)
            total = time.process_time() - started
            rows.append({"rules": ", ".join(rules), "seconds": total, "share of triggers": seconds[0] / total})
    return pd.DataFrame(rows[1:])  # the first run compiles kernels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["left-out", "types", "sentences", "corpora", "cost"], help="one part alone")
    parser.add_argument("--pipeline", default=str(PIPELINE), help="a name or a folder")
    parser.add_argument("--encoder", help="folder of a sentence encoder, whose vectors the model uses")
    parser.add_argument("--curves", type=Path, help="picture of calibration by type, of the part left-out")
    parser.add_argument("--folder", type=Path, help="of rule_reference.py, for corpora, cost and curves")
    options = parser.parse_args()
    inputs = options.pipeline, options.encoder
    parts: dict[str, Callable[[], pd.DataFrame]] = {
        "left-out": lambda: left_out(*inputs, options.curves, options.folder),
        "types": lambda: types_left_out(*inputs),
        "sentences": lambda: sentences(*inputs),
        **({"corpora": lambda: corpora(options.folder, *inputs)} if options.folder else {}),
        **({"cost": lambda: cost(options.folder)} if options.folder else {}),
    }
    for part, table in parts.items():
        if options.only in (None, part):
            markdown(part, table())


if __name__ == "__main__":
    main()
