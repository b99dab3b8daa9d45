"""Can the probabilities of sampled parses be trusted? Their calibration against a treebank (docs/parses.md).

python benchmarks/parse_calibration.py TREEBANK.conllu... --pipeline SPACY [--fit FILE] [--temperature T]
    [--words N] [--out FOLDER]

The pipeline parses the words of each document many times, each parse drawn from its parser's probabilities at a
temperature. Properties of the tokens are compared with the treebank: arcs, labelled arcs, paths of 1 to 7 arcs
upwards, roles in the notation that all dependency schemes share, and the paths of a rule's roles from verbs (role
paths). A pipeline with labels of another scheme than the treebank's is measured by the last two.

Unless it is given, the temperature is the one of the best Brier score on the documents of --fit or, without them, for
each half of the documents, on the other half. Prints the fit and the calibration of each property; --out writes
parse_calibration.csv and parse_reliability.csv.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import spacy
from spacy.tokens import Doc

from corefsample import calibration
from corefsample._arrays import Floats, Ints
from corefsample.documents._tokens import STRING_COLUMNS, Tokens
from corefsample.formats.annotated._corefud import read_corefud
from corefsample.parses._sampling import ParseSampler
from corefsample.spacy_bridge.documents import tokens_of_doc
from corefsample.syntax._codes import Role
from corefsample.syntax._mentions import NeutralParse
from corefsample.syntax._paths import ParseView, follow
from corefsample.syntax._schemes import SCHEMES, fitting_schemes, schemes_of
from events import load_rules
from events.rules._rules import Rule

SHARED = Path(__file__).parents[2] / "shared"
PIPELINES = ("en_gum_ud", "en_core_web_sm")
TEMPERATURES = (0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5)
N_BINS = 10
LEAST = 0.01  # smaller shares of samples are left out: most are of properties that no sample has
MOST_ARCS = 7
COLUMNS = ["pipeline", "temperature", "property", "n_pairs", "mean_q", "share_true", "error", "largest_gap"]

Pairs = tuple[
    Floats, Ints, int
]  # share of the samples with a property, 1 if the treebank has it, number in the treebank


# --- properties of parses ----------------------------------------------------------------------------------


def properties_of(parses: Sequence[Tokens], schemes: Sequence[str]) -> dict[str, Ints]:
    """Properties of each token in several parses of one document, by name: int64 (n_parses, n_tokens).

    Numbers are equal in two parses if the property is, and -1 for a token without it.
    """
    properties: dict[str, Ints] = {}
    if len(set(schemes)) == 1:
        heads = np.stack([tokens.head for tokens in parses]).astype(np.int64)
        names = [["root" if label.lower() == "root" else label for label in tokens.dep] for tokens in parses]
        labels = np.unique(names, return_inverse=True)[1].reshape(heads.shape)
        arcs = (heads + 1) * (labels.max(initial=0) + 1) + labels
        properties = {"arcs": heads + 1, "labelled arcs": arcs, "paths of 1 arc": arcs}
        paths = arcs
        for length in range(2, MOST_ARCS + 1):  # the token's arc, and the path of its head
            above = np.take_along_axis(paths, np.maximum(heads, 0), axis=1)
            exists = (heads >= 0) & (above >= 0)
            pairs = np.stack([arcs[exists], above[exists]])
            paths = np.full(heads.shape, -1, np.int64)
            paths[exists] = np.unique(pairs, axis=1, return_inverse=True)[1].ravel()
            properties[f"paths of {length} arcs"] = paths
    neutral = [NeutralParse.of(tokens, scheme) for tokens, scheme in zip(parses, schemes, strict=True)]
    roles = np.stack([parse.role for parse in neutral]).astype(np.int64)
    keys = (np.stack([parse.governor for parse in neutral]).astype(np.int64) + 1) * len(Role) + roles
    properties["roles"] = np.where(np.isin(roles, (Role.OTHER, Role.FUNCTION)), -1, keys)
    return properties


def role_path_ends(tokens: Tokens, scheme: str, rule: Rule) -> set[tuple[int, int, int]]:
    """Where the paths of a rule's roles lead from possible triggers: role, first token, and last token."""
    view = ParseView(tokens, SCHEMES[scheme])
    starts = [token for token, tag in enumerate(tokens.upos) if tag in rule.upos]
    paths = [
        (rule.event.index(role), path)
        for frame in rule.frames
        for role, by_scheme in frame.roles.items()
        for path in by_scheme.get(scheme, ())
    ]
    return {(number, start, end) for number, path in paths for start in starts for end in follow(path, view, start)}


def _counts(keys: Ints) -> tuple[Ints, Ints]:
    """Numbers of the pairs of key and token, below 0 for keys of -1, and number of parses with each."""
    n_tokens = keys.shape[1]
    return np.unique(keys * n_tokens + np.arange(n_tokens), return_counts=True)


def parse_pairs(gold: Tokens, samples: Sequence[Tokens], schemes: tuple[str, str], rule: Rule) -> dict[str, Pairs]:
    """Prediction-label pairs of each property of the sampled parses of a document."""
    of_parses = [schemes[0], *[schemes[1]] * len(samples)]
    pairs: dict[str, Pairs] = {}
    for name, keys in properties_of([gold, *samples], of_parses).items():
        properties, counts = _counts(keys[1:])
        in_gold = _counts(keys[:1])[0]
        in_gold = in_gold[in_gold >= 0]
        exists = properties >= 0
        pairs[name] = counts[exists] / len(samples), np.isin(properties[exists], in_gold).astype(np.int64), len(in_gold)
    ends = [role_path_ends(tokens, scheme, rule) for tokens, scheme in zip((gold, *samples), of_parses, strict=True)]
    hits = Counter(end for of_sample in ends[1:] for end in of_sample)
    shares = np.array([*hits.values()], np.float64) / len(samples)
    pairs["role paths"] = shares, np.array([end in ends[0] for end in hits], np.int64), len(ends[0])
    return pairs


def gold_score(gold: Tokens, samples: Sequence[Tokens], schemes: tuple[str, str]) -> float:
    """Brier score, higher is better, of the samples' distribution over each token's labelled arc, or role.

    A sum over tokens of 2 p - sum of p_k**2 - 1 for the probability p of the treebank's and p_k of each, estimated
    without bias from any number of samples above 1 (Gneiting & Raftery 2007). The logarithm of p could not be.
    """
    n = len(samples)
    properties = properties_of([gold, *samples], [schemes[0], *[schemes[1]] * n])
    keys = properties.get("labelled arcs", properties["roles"])
    counts = _counts(keys[1:])[1].astype(np.float64)
    # Of the ordered pairs of different samples, the share that agrees is an unbiased estimate of the sum of p_k**2.
    agreeing = np.sum(counts * (counts - 1.0)) / (n * (n - 1.0))
    return float(2.0 * np.sum(keys[1:] == keys[0]) / n - agreeing - keys.shape[1])


# --- calibration and temperature ---------------------------------------------------------------------------


def calibrate_parses(documents: Sequence[Mapping[str, Pairs]]) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Calibration of each property over documents, one row a property, and the bins of its reliability curve."""
    rows, bins = [], {}
    for name in dict.fromkeys(name for pairs in documents for name in pairs):
        of_property = [pairs[name] for pairs in documents if name in pairs]
        q, y = (np.concatenate([pairs[c] for pairs in of_property]) for c in (0, 1))
        document = np.repeat(np.arange(len(of_property)), [len(pairs[0]) for pairs in of_property])
        likely = q >= LEAST
        if np.count_nonzero(likely) < N_BINS:
            continue
        by_document = {"documents": document[likely]} if len(np.unique(document[likely])) > 1 else {}
        options: dict[str, Any] = {"n_bins": N_BINS, "strategy": "uniform", **by_document}
        error = calibration.calibration_error(q[likely], y[likely], n_resamples=2000, debiased=False, **options)
        bins[name] = calibration.reliability_curve(q[likely], y[likely], **options).to_frame()
        rows.append(
            {
                "property": name,
                "n_pairs": int(np.count_nonzero(likely)),
                "mean_q": q[likely].mean(),
                "share_true": y[likely].mean(),
                "error": error.estimate,
                "lower": error.lower,
                "upper": error.upper,
                "largest_gap": calibration.calibration_error(
                    q[likely], y[likely], norm="max", interval=None, **options
                ).estimate,
                "share_found": y.sum() / max(sum(pairs[2] for pairs in of_property), 1),
            }
        )
    return pd.DataFrame(rows), bins


def fit_temperature(scores: Floats, seed: int = 0) -> tuple[float, float, float]:
    """Temperature with the highest score (n_documents, n_temperatures), and its 95% bootstrap interval by document."""
    generator = np.random.Generator(np.random.Philox(seed))
    weights = generator.multinomial(len(scores), np.full(len(scores), 1 / len(scores)), 2000)
    lower, upper = np.quantile([_top(total) for total in weights @ scores], [0.025, 0.975])
    return _top(scores.sum(axis=0)), float(lower), float(upper)


def _top(total: Floats) -> float:
    """Top of a parabola through the highest total and its neighbours, in the logarithm of the temperature."""
    x, best = np.log(TEMPERATURES), int(np.argmax(total))
    middle = min(max(best, 1), len(x) - 2)
    curvature, slope, _ = np.polyfit(x[middle - 1 : middle + 2], total[middle - 1 : middle + 2], 2)
    top = -slope / (2.0 * curvature) if curvature < 0 else x[best]
    return float(np.exp(np.clip(top, x[0], x[-1])))


def first_sentences(tokens: Tokens, n_words: int | None) -> Tokens:
    """The first sentences with at most `n_words` words in total, but at least one sentence."""
    if n_words is None or len(tokens) <= n_words:
        return tokens
    ends = [end for _, end in tokens.sentences().values()]
    end = max([each for each in ends if each <= n_words], default=ends[0])
    columns = {name: getattr(tokens, name)[:end] for name in (*STRING_COLUMNS, "head", "sent")}
    return Tokens(**columns, extra={name: list(column)[:end] for name, column in tokens.extra.items()})


class TreebankParses:
    """Parses of the words of treebank documents that are sampled from a pipeline, in its own sentences."""

    def __init__(self, paths: Sequence[Path], pipeline: str, n_words: int | None, n_samples: int = 100) -> None:
        self.nlp, self.n_samples = spacy.load(pipeline), n_samples
        documents = [document for path in paths for document in read_corefud(path)]
        self.documents = [(document.doc_id, first_sentences(document.tokens, n_words)) for document in documents]
        of_treebank = schemes_of({label for _, tokens in self.documents for label in tokens.dep})
        labels = {part for label in self.nlp.pipe_labels["parser"] for part in label.split("||")}
        of_parser = fitting_schemes(labels)
        shared = [scheme for scheme in of_treebank if scheme in of_parser]
        self.schemes = (shared[0], shared[0]) if shared else (of_treebank[0], of_parser[0])

    def samples(self, number: int, temperature: float) -> list[Tokens]:
        """Sampled parses of a document."""
        doc_id, tokens = self.documents[number]
        spaces = [bool(space) for space in tokens.extra.get("space_after", [True] * len(tokens))]
        doc = Doc(self.nlp.vocab, words=list(tokens.text), spaces=spaces)  # without the sentences of the treebank
        sampler = ParseSampler(self.nlp, temperature=temperature)
        docs = sampler.samples(doc, self.n_samples, doc_id=doc_id)
        distinct = {id(each): each for each in docs}  # equal parses are one Doc
        parses = {key: tokens_of_doc(each) for key, each in distinct.items()}
        return [parses[id(each)] for each in docs]

    def scores(self) -> Floats:
        """Score of each document at each temperature: float64 (n_documents, n_temperatures)."""
        return np.array(
            [
                [gold_score(tokens, self.samples(d, temperature), self.schemes) for temperature in TEMPERATURES]
                for d, (_, tokens) in enumerate(self.documents)
            ]
        )

    def calibration(self, temperatures: Sequence[float]) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
        """Calibration at one temperature, or at one for each half of the documents, which alternate."""
        rule = load_rules("attack", "extended")
        return calibrate_parses(
            [
                parse_pairs(tokens, self.samples(d, temperatures[d % len(temperatures)]), self.schemes, rule)
                for d, (_, tokens) in enumerate(self.documents)
            ]
        )


def treebank(part: str) -> Path:
    return SHARED / "data" / "gum" / f"en_gum-ud-{part}.conllu.gz"


def missing() -> list[str]:
    """Names of the files and folders that the study of GUM needs and that are not there."""
    needed = [treebank("dev"), treebank("test"), *(SHARED / "models" / name for name in PIPELINES)]
    return [path.name for path in needed if not path.exists()]


def parse_tables(*, quick: bool) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, pd.DataFrame]]:
    """Temperatures fitted to GUM's dev part, calibration of the test part at 1 and at the fitted one, and its bins."""
    fits, rows, bins = [], [], {}
    for name in PIPELINES:
        options = str(SHARED / "models" / name), 300 if quick else None
        temperature, lower, upper = fit_temperature(TreebankParses([treebank("dev")], *options).scores())
        fits.append({"pipeline": name, "temperature": temperature, "lower": lower, "upper": upper})
        parses = TreebankParses([treebank("test")], *options)
        for measured in (1.0, temperature):
            table, curves = parses.calibration([measured])
            rows.append(table.assign(pipeline=name, temperature=round(measured, 2))[[*COLUMNS, "share_found"]])
        name_of_bins = "labelled arcs" if "labelled arcs" in curves else "roles"
        bins[f"{name}, {name_of_bins}"] = curves[name_of_bins]
    return pd.DataFrame(fits), pd.concat(rows, ignore_index=True), bins


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("treebank", nargs="+", type=Path)
    parser.add_argument("--pipeline", required=True)
    parser.add_argument("--fit", nargs="+", type=Path, default=())
    parser.add_argument("--temperature", type=float)
    parser.add_argument("--words", type=int, help="measure only the first sentences of each document, up to N words")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    parses = TreebankParses(options.treebank, options.pipeline, options.words)
    temperatures = [options.temperature]
    if options.temperature is None:
        fitted = TreebankParses(options.fit, options.pipeline, options.words) if options.fit else parses
        scores = fitted.scores()
        print("Temperature by Brier score: {:.2f}, 95% interval {:.2f} to {:.2f}.".format(*fit_temperature(scores)))
        halves = [scores] if options.fit else [scores[1::2], scores[::2]]  # each half is fitted on the other one
        temperatures = [fit_temperature(half)[0] for half in halves]
    table, bins = parses.calibration(temperatures)
    print(table.to_string(index=False, float_format="{:.4f}".format))
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        table.to_csv(options.out / "parse_calibration.csv", index=False)
        pd.concat(bins, names=["property"]).to_csv(options.out / "parse_reliability.csv")


if __name__ == "__main__":
    main()
