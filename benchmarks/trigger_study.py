"""Is P that a sentence reports an event right? python benchmarks/trigger_study.py [--only PART] [--encoder FOLDER].

`left-out`: texts of training/events in four folds of batches; log loss (P clipped to .01 .. .99) of P that a text
reports a type, of the model and of the rules alone, and calibration by type. `sentences`: texts with a reader's
answers by rule and actor (leads and traps, beside the project), which the model has not seen; log loss, share wrong
(P >= .7 for no, <= .3 for yes), share of yes with P > .5, and of no.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import spacy
from studies import markdown

from corefsample import read_documents
from corefsample._arrays import Bools, Floats
from corefsample.calibration import calibration_error
from events import EventCounter, load_lexicon, load_rules
from events.evidence._rule_set import RuleSet
from events.matching._encoder import load_encoder
from events.matching._trigger_model import CONDITION, LEAST, TRIGGER, TYPES, TriggerModel, feature_hash
from events.rules._rules import Rule
from events.triggers import _fit
from events.triggers._texts import read_answered_texts

ROOT = Path(__file__).parents[1]
SENTENCES = ROOT / ".." / "shared" / "data" / "sentences"
PIPELINE = ROOT / ".." / "shared" / "models" / "en_core_web_sm"
N_FOLDS = 4


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
    return _fit.Predicates(predicates.text[rows], *chosen, predicates.reports[rows], predicates.vectors[rows])


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
    z = _fit.design_matrix(predicates.features, model.rows) @ model.weights + predicates.vectors @ model.of_vectors
    p = 1.0 / (1.0 + np.exp(-np.asarray(z, np.float64)))
    triggers = [
        [feature_hash(TRIGGER + rule.name) in of_predicate for rule in rules] for of_predicate in predicates.features
    ]
    is_known = np.array([lemma in model.lemmas for lemma in predicates.lemmas])[:, None]
    return np.where((is_known | np.array(triggers)) & (p >= LEAST), p, 0.0)


def left_out(pipeline: str, encoder: str | None) -> pd.DataFrame:
    """Log losses and calibration by type, each text with a model of the batches of other folds."""
    texts = list(read_answered_texts(sorted((ROOT / "training" / "events").glob("*.txt")), TYPES))
    rules = [load_rules(name) for name in TYPES]
    of_words = None if encoder is None else load_encoder(encoder)
    predicates = _fit.predicates_of(texts, rules, spacy.load(pipeline, exclude=["ner"]), of_words)
    batches = sorted({text.batch for text in texts})
    fold = np.array([batches.index(text.batch) % N_FOLDS for text in texts])
    yes, p, rule_p = np.zeros((3, len(texts), len(rules)))
    np.maximum.at(yes, predicates.text, predicates.reports.astype(float))
    for number in range(N_FOLDS):
        model = _fit.fit_trigger_model([subset(predicates, fold != number)], rules)
        tested = subset(predicates, fold == number)
        p += of_texts(tested, by_model(tested, rules, model), len(texts))
        rule_p += of_texts(tested, by_rules(tested, rules), len(texts))
    rows = []
    for column, name in enumerate([*TYPES, "all"]):
        chosen = slice(None) if name == "all" else [column]
        truth, q, of_rules = (values[:, chosen].ravel() for values in (yes, p, rule_p))
        error = calibration_error(q, truth)
        losses = {"log loss": log_loss(truth == 1, q), "of rules": log_loss(truth == 1, of_rules)}
        shares = {"calibration error": error.estimate, "true where P > .8": float(truth[q > 0.8].mean())}
        rows.append(
            {"type": name, "yes": int(truth.sum()), **losses, **shares, "mean P there": float(q[q > 0.8].mean())}
        )
    return pd.DataFrame(rows)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["left-out", "sentences"], help="one part alone")
    parser.add_argument("--pipeline", default=str(PIPELINE), help="a name or a folder")
    parser.add_argument("--encoder", help="folder of a sentence encoder, whose vectors the model uses")
    options = parser.parse_args()
    for part, table in (("left-out", left_out), ("sentences", sentences)):
        if options.only in (None, part):
            markdown(part, table(options.pipeline, options.encoder))


if __name__ == "__main__":
    main()
