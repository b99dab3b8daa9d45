"""Part of speech of newspaper text: hidden Markov models against conditional random fields, tags and pairs of tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from split_sample import split_sample_error

from corefsample._arrays import Floats
from corefsample.calibration._binning import BlockBins
from corefsample.calibration._error import error_interval
from corefsample.tagging import (
    ConditionalRandomField,
    HiddenMarkovModel,
    LinearChain,
    TaggedSentence,
    event_pairs,
    fit_chain_recalibration,
)
from corefsample.tagging._labelled import ChainRecalibration, EventPairs, SequenceModel
from tagger_studies import corpora
from tagger_studies.results import (
    Measured,
    Output,
    accuracy,
    blocks_of,
    curves_figure,
    difference,
    ends_of,
    errors,
    holds,
    measured,
    resamples,
    shown,
)

PSEUDOCOUNTS = (0.001, 0.01, 0.1, 1.0)
L2 = (0.003, 0.03, 0.3)
SIZES = (300, 400, 800, 1200)
ITERATIONS = 100  # of L-BFGS
POOLED_BIN, TAG_BIN = 5000, 1000  # pairs per bin: all tags together, as the paper; one tag or one pair of tags
ONE, CHOSEN, LEVEL_ONE, LEVEL_CHOSEN, ALL, WEAK = (
    "HMM, pseudocount 1",
    "HMM, pseudocount chosen on dev",
    "CRF-basic, level with HMM 1",
    "CRF-basic, level with chosen HMM",
    "CRF-basic, all sentences",
    f"CRF-basic, {SIZES[2]} sentences, l2 {L2[0]}",
)


def run(output: Output) -> None:
    """Run the study `tagging`."""
    split = corpora.split_by_document(corpora.wsj_sentences())
    output.say(f"Wall Street Journal sample: {split.described()}")
    models = chosen_models(split, output)
    found = {name: measured(model, split.test) for name, model in models.items()}
    overview(found, output)
    output.figure(
        "study-tagging-curves",
        curves_figure({name: found[name].pairs for name in (ONE, LEVEL_ONE, CHOSEN, LEVEL_CHOSEN)}, POOLED_BIN),
    )
    # The paper chooses the pseudocount on dev.
    for hmm, crf, which in ((CHOSEN, LEVEL_CHOSEN, "chosen"), (ONE, LEVEL_ONE, "pseudocount 1")):
        overall_claims(found[hmm], found[crf], which, output)
        tag_study(found[hmm], found[crf], which, output)
        pair_study(found[hmm], found[crf], split.test, which, output)
    gap, ends = found[WEAK].overconfidence_ends()
    here = f"confidence minus accuracy {shown(gap, ends)}"
    output.claim(f"CRF is overconfident ({WEAK})", "figure 3", here, holds(ends, False))
    sampled_study({name: found[name] for name in (CHOSEN, LEVEL_CHOSEN, ONE, ALL)}, output)
    elsewhere = corpora.newspapers_beside_wsj()
    overview(
        {name: measured(model, elsewhere) for name, model in models.items()}, output, "other newspapers (MASC)", "-masc"
    )
    recalibration_study({name: models[name] for name in (CHOSEN, ONE, LEVEL_CHOSEN, WEAK)}, split, output)
    output.write_claims("tagging")


@dataclass(frozen=True, slots=True)
class Recalibrated:
    """A model whose chains are recalibrated."""

    model: SequenceModel
    recalibration: ChainRecalibration

    @property
    def tags(self) -> tuple[str, ...]:
        return self.model.tags

    def posterior(self, words: Sequence[str], /) -> LinearChain:
        return self.recalibration.apply(self.model.posterior(words))


def recalibration_study(models: Mapping[str, SequenceModel], split: corpora.Split, output: Output) -> None:
    """One temperature per model, fitted on dev by both objectives; errors on test before and after."""
    rows = []
    for name, model in models.items():
        code = {tag: number for number, tag in enumerate(model.tags)}
        known = [each for each in split.dev if all(tag in code for tag in each.tags)]
        chains = [model.posterior(each.words) for each in known]
        gold = [np.array([code[tag] for tag in each.tags]) for each in known]
        before = measured(model, split.test)
        for objective in ("likelihood", "marginals"):
            recalibration = fit_chain_recalibration(chains, gold, objective=objective).recalibration
            after = measured(Recalibrated(model, recalibration), split.test)
            rows.append(
                {
                    "model": name,
                    "objective": objective,
                    "temperature": recalibration.temperature,
                    "CalibErr before": before.error(POOLED_BIN),
                    "CalibErr after": after.error(POOLED_BIN),
                    "confidence - accuracy before": before.overconfidence(),
                    "after": after.overconfidence(),
                }
            )
    title = "One temperature for all potentials of a chain, fitted on dev"
    output.table("tagging-recalibration", title, pd.DataFrame(rows))


def chosen_models(split: corpora.Split, output: Output) -> dict[str, SequenceModel]:
    """Fit the models; every setting is chosen by accuracy on dev."""
    rows = []

    def fitted(model: HiddenMarkovModel | ConditionalRandomField, n: int) -> tuple[float, SequenceModel]:
        every = split.train if n >= len(split.train) else spread(split.train, n)
        result = accuracy(model.fit(every), split.dev)
        rows.append({"model": repr(model), "sentences": len(every), "accuracy on dev": result})
        return result, model

    n_all = len(split.train)
    hmms = {c: fitted(HiddenMarkovModel(pseudocount=c), n_all) for c in PSEUDOCOUNTS}
    best = max(hmms, key=lambda c: hmms[c][0])
    crf = partial(ConditionalRandomField, max_iterations=20 if output.quick else ITERATIONS)
    middle = {each: fitted(crf(l2=each), SIZES[2]) for each in (L2[:2] if output.quick else L2)}
    l2 = max(middle, key=lambda each: middle[each][0])
    sizes = SIZES[1:3] if output.quick else (*SIZES, n_all)
    crfs = {n: middle[l2] if n == SIZES[2] else fitted(crf(l2=l2), n) for n in sizes}
    output.table("tagging-settings", "Settings, by accuracy on dev", pd.DataFrame(rows))

    def level_with(c: float) -> SequenceModel:
        return min(crfs.values(), key=lambda each: abs(each[0] - hmms[c][0]))[1]

    last = crfs[sizes[-1]][1]
    return {
        CHOSEN: hmms[best][1],
        LEVEL_CHOSEN: level_with(best),
        ONE: hmms[1.0][1],
        LEVEL_ONE: level_with(1.0),
        ALL: last,
        WEAK: middle[L2[0]][1],
    }


def spread(sentences: Sequence[TaggedSentence], n: int) -> list[TaggedSentence]:
    """Choose n sentences at equal distances, so that they come from all documents."""
    return [sentences[place] for place in np.linspace(0, len(sentences) - 1, n).round().astype(int)]


def overview(
    found: Mapping[str, Measured], output: Output, where: str = "Wall Street Journal, test", suffix: str = ""
) -> None:
    rows = [
        {
            "model": name,
            "accuracy": each.accuracy(),
            "confidence - accuracy": each.overconfidence(),
            f"CalibErr, all tags, bins of {POOLED_BIN:,}": each.error(POOLED_BIN),
        }
        for name, each in found.items()
    ]
    output.table(f"tagging-models{suffix}", f"Models: {where}", pd.DataFrame(rows))


def overall_claims(hmm: Measured, crf: Measured, which: str, output: Output) -> None:
    change, ends = difference(blocks_of(crf.pairs, POOLED_BIN), blocks_of(hmm.pairs, POOLED_BIN))
    here = f"CRF minus HMM {shown(change, ends)}"
    output.claim(f"CRF has the lower error at like accuracy ({which})", "figure 3: lower", here, holds(ends, True))
    for name, each, below in (("HMM is underconfident", hmm, True), ("CRF is overconfident", crf, False)):
        gap, gap_ends = each.overconfidence_ends()
        here = f"confidence minus accuracy {shown(gap, gap_ends)}"
        output.claim(f"{name} ({which})", "figure 3", here, holds(gap_ends, below))


def tag_study(hmm: Measured, crf: Measured, which: str, output: Output) -> None:
    """Errors of each tag; in how many the CRF has the lower one."""
    counts = Counter(hmm.tags[code] for item in hmm.items for code in item.gold if code >= 0)
    tags = [tag for tag in sorted(counts, key=lambda each: (-counts[each], each)) if tag in crf.tags]
    found = by_event(hmm.pairs, crf.pairs, tags)
    name = "tagging-tags-" + ("chosen" if which == "chosen" else "one")
    title = f"Errors of the five most frequent tags, bins of {TAG_BIN:,} ({which})"
    output.table(name, title, top_table(found, 5))
    n, ends = found.crf_lower()
    verdict = holds((ends[0] - len(tags) / 2, ends[1] - len(tags) / 2), False)
    here = f"{n} of {len(tags)} [{ends[0]:.0f}, {ends[1]:.0f}]"
    output.claim(f"CRF lower for most tags ({which})", "39 of 47", here, verdict)


@dataclass(frozen=True)
class ByEvent:
    """Errors of both models by event: (n_events, 2), and of resamples of documents, (n_events, 2, n_resamples)."""

    events: list[str | tuple[str, str]]
    blocks: list[tuple[BlockBins, BlockBins]]
    estimates: Floats
    draws: Floats

    def crf_lower(self) -> tuple[int, tuple[float, float]]:
        """For how many events the CRF has the lower error, with a percentile interval."""
        lower = int((self.estimates[:, 1] < self.estimates[:, 0]).sum())
        return lower, ends_of((self.draws[:, 1] < self.draws[:, 0]).sum(axis=0).astype(float))

    def mean_change(self, n: int) -> tuple[float, tuple[float, float]]:
        """Mean error of the first n events, CRF minus HMM, with its interval, reflected about the estimate."""
        estimate = float((self.estimates[:n, 1] - self.estimates[:n, 0]).mean())
        lower, upper = ends_of((self.draws[:n, 1] - self.draws[:n, 0]).mean(axis=0))
        return estimate, (2 * estimate - upper, 2 * estimate - lower)


def by_event(one: EventPairs, other: EventPairs, events: Sequence[str | tuple[str, str]]) -> ByEvent:
    weights = resamples(len(one.doc_ids), 500)
    whole = np.ones((1, len(one.doc_ids)))
    blocks = [(blocks_of(one.of(event), TAG_BIN), blocks_of(other.of(event), TAG_BIN)) for event in events]
    estimates = np.array([[errors(each, whole)[0] for each in both] for both in blocks])
    draws = np.array([[errors(each, weights) for each in both] for both in blocks])
    return ByEvent(list(events), blocks, estimates, draws)


def top_table(found: ByEvent, n: int) -> pd.DataFrame:
    """Errors of the first events, with intervals."""
    rows = []
    for event, (one, other), pair in zip(found.events[:n], found.blocks, found.estimates, strict=False):
        ends = [error_interval(each, n_resamples=2_000) for each in (one, other)]
        rows.append(
            {
                "event": event if isinstance(event, str) else " ".join(event),
                "gold": int(one.bins.sum_y.sum()),
                "HMM": shown(float(pair[0]), (ends[0].lower, ends[0].upper)),
                "CRF": shown(float(pair[1]), (ends[1].lower, ends[1].upper)),
                "CRF - HMM": shown(*difference(other, one)),
            }
        )
    return pd.DataFrame(rows)


def pair_study(hmm: Measured, crf: Measured, sentences: Sequence[TaggedSentence], which: str, output: Output) -> None:
    """Errors of the most frequent pairs of tags."""
    known = set(hmm.tags) & set(crf.tags)
    every = [pair for pair in corpora.frequent_tag_pairs(sentences, 400) if set(pair) <= known][:100]
    one, other = (event_pairs(each.items, each.tags, every) for each in (hmm, crf))
    found = by_event(one, other, every)
    name = "tagging-pairs-" + ("chosen" if which == "chosen" else "one")
    output.table(name, f"Errors of the five most frequent pairs of tags ({which})", top_table(found, 5))
    lower, ends = found.crf_lower()
    n = len(every)
    here = f"{n - lower} of {n} [{n - ends[1]:.0f}, {n - ends[0]:.0f}]"
    verdict = holds((ends[0] - n / 2, ends[1] - n / 2), False)
    output.claim(f"HMM better for a minority of the 100 most frequent pairs ({which})", "29 of 100", here, verdict)
    for top in (5, 100):
        change, ends = found.mean_change(top)
        means = found.estimates[:top].mean(axis=0)
        here = f"HMM {means[0]:.4f}, CRF {means[1]:.4f}, CRF minus HMM {shown(change, ends)}"
        name = f"mean error of the top {top} pairs lower for CRF ({which})"
        output.claim(name, "figure 4(b): lower", here, holds(ends, True))


def sampled_pairs(measured: Measured, n_samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How many samples of each half have a JJ directly before an NN, labels and numbers of documents, by sentence."""
    first, second = (measured.tags.index(tag) for tag in ("JJ", "NN"))

    def has_pair(sequences: np.ndarray) -> np.ndarray:
        return ((sequences[:, :-1] == first) & (sequences[:, 1:] == second)).any(axis=1)

    n_of_document: dict[str, int] = {}
    hits, labels, documents = [], [], []
    for item in measured.items:
        number = n_of_document[item.doc_id] = n_of_document.get(item.doc_id, -1) + 1
        samples = has_pair(item.chain.sample(n_samples, doc_id=f"{item.doc_id}#{number}"))
        hits.append(samples.reshape(2, -1).sum(axis=1))
        labels.append(float(has_pair(item.gold[None])[0]))
        documents.append(item.doc_id)
    return np.array(hits).T, np.array(labels), np.unique(documents, return_inverse=True)[1]


def sampled_study(found: Mapping[str, Measured], output: Output) -> None:
    """An event of whole sentences, from samples, without and with the correction for their noise."""
    rows = []
    for name, each in found.items():
        for n_samples in (10, 100):
            halves, labels, documents = sampled_pairs(each, n_samples)
            error = split_sample_error(*halves, labels, documents, n_samples=n_samples, bin_size=100)
            naive, corrected = error.naive_interval, error.interval
            rows.append(
                {
                    "model": name,
                    "samples": n_samples,
                    "naive": shown(error.naive, (naive.lower, naive.upper)),
                    "corrected": shown(error.corrected, (corrected.lower, corrected.upper)),
                    "p-value of calibration": error.p_value,
                }
            )
    output.table("tagging-sampled", "The sentence has a JJ directly before an NN, bins of 100", pd.DataFrame(rows))
