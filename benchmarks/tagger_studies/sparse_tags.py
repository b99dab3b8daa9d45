"""A sparse tagset: part of speech, features and relation of GUM's words, recalibrated by groups of frequency.

The tagger is a logistic regression on attributes of the word and its two neighbours; it gives every tag a probability.
As in the paper, rare tags of training are no output of the tagger, and recalibrators are fitted to the dev part.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from corefsample._arrays import Floats
from corefsample.calibration import IsotonicRecalibration, calibration_error
from corefsample.calibration._binners import HistogramBinning, ScalingBinning
from corefsample.calibration._binning import block_bin_pairs
from corefsample.calibration._bins import BlockBins
from corefsample.calibration._grouped import GroupedRecalibrator
from corefsample.calibration._tag_errors import grouped_calibration_errors, shared_calibration_error
from corefsample.calibration._tag_scores import TagGroups, TagScores, tag_frequency_groups
from corefsample.plots.style import COLOURS, MARKERS
from corefsample.tagging import LinearChain, TaggedSentence, event_pairs, labelled_posteriors
from corefsample.tagging._classifiers import LogisticRegression
from corefsample.tagging._crf import advanced_attributes
from corefsample.tagging._events import tag_scores
from corefsample.tagging._sentences import LabelledText
from tagger_studies import corpora
from tagger_studies.results import (
    DOES_NOT_HOLD,
    HOLDS,
    NOT_DECIDED,
    Output,
    difference,
    holds,
    ratio,
    shown,
)

N_TOKENS = 45_000  # for training; the paper's second tagger had 44,801
LEAST = 3  # of a tag in training, to be an output
KINDS = ("w=", "shape=", "-1=", "+1=", "suffix=")  # attributes of the tagger
L2, ITERATIONS, LEAST_WORDS = 1.0, 40, 3
N_GROUPS, N_BINS, THRESHOLD = 5, 10, 0.01
NONE = "none"
# Table 1 of the paper: CCG and LSR; SMCE, and GMCE of groups 1 and 5. 1: shared class-wise binning, 5: five groups.
PUBLISHED = {
    "none": (".0167 .0183 .0396", ".0330 .0356 .0553"),
    "scaling-binning, shared": (".0065 .0225 .0390", ".0144 .0105 .0534"),
    "scaling-binning, 5 groups": (".0019 .0049 .0114", ".0159 .0269 .0153"),
    "isotonic, shared": (".0024 .0226 .0276", ".0130 .0161 .0374"),
    "isotonic, 5 groups": (".0032 .0230 .0228", ".0124 .0132 .0142"),
    "histogram, shared": (".0047 .0286 .0422", ".0086 .0298 .0409"),
    "histogram, 5 groups": (".0028 .0254 .0218", ".0110 .0222 .0145"),
}
METHODS = {
    "scaling-binning": ScalingBinning(n_bins=N_BINS),
    "isotonic": IsotonicRecalibration(),
    "histogram": HistogramBinning(n_bins=N_BINS),
}


class TokenTagger:
    """Logistic regression of each word's tag on attributes of the word and its neighbours."""

    def __init__(self) -> None:
        self._model = LogisticRegression(l2=L2, min_count=LEAST_WORDS, max_iterations=ITERATIONS)

    def fit(self, sentences: Sequence[TaggedSentence]) -> TokenTagger:
        counts = corpora.tag_counts(sentences)
        texts = [
            LabelledText(attributes, tag)
            for sentence in sentences
            for attributes, tag in zip(chosen_attributes(sentence.words), sentence.tags, strict=True)
            if counts[tag] >= LEAST
        ]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "lbfgs failed to converge")  # it stops early, which regularises too
            self._model.fit(texts)
        self._code = {text: code for code, text in enumerate(self._model.weights.words)}
        self._transitions = np.zeros((len(self.tags), len(self.tags)))
        self._transitions.flags.writeable = False
        return self

    @property
    def tags(self) -> tuple[str, ...]:
        return self._model.tags

    def posterior(self, words: Sequence[str]) -> LinearChain:
        weights = self._model.weights
        rows = [[self._code[each] for each in row if each in self._code] for row in chosen_attributes(words)]
        unary = np.array([weights.intercepts + weights.weights[codes].sum(axis=0) for codes in rows])
        return LinearChain.from_scores(unary, self._transitions)


def chosen_attributes(words: Sequence[str]) -> list[list[str]]:
    return [[each for each in row if each.startswith(KINDS)] for row in advanced_attributes(words)]


def run(output: Output) -> None:
    """Run the study `sparse-tags`."""
    split = corpora.gum_sparse()
    output.say(f"GUM: {split.described()}")
    train = some_documents(split.train, 5_000 if output.quick else N_TOKENS)
    tagger = TokenTagger().fit(train)
    frequencies = corpora.tag_counts(train)
    groups = printed_groups({tag: frequencies[tag] for tag in tagger.tags})
    dev, _ = scored(tagger, split.dev)
    test, accuracy = scored(tagger, split.test)
    n_words = sum(len(each.words) for each in train)
    output.say(
        f"Trained on {n_words:,} words: {len(frequencies)} tags, {len(tagger.tags)} of them {LEAST} times or more; "
        f"accuracy {accuracy:.1%}; {test.n_gold_outside} gold tags of test are no output"
    )
    top = event_pairs(labelled_posteriors(tagger, split.test, unknown="outside"), tagger.tags, "likeliest")
    error = calibration_error(top.q, top.y, documents=top.documents, n_bins=N_BINS)
    gap_of_tops = mean_by_document(top.q - top.y, np.ones(top.n), top.documents)
    output.say(
        f"Top-1, {N_BINS} bins: CalibErr {shown(error.estimate, (error.lower, error.upper))}, mean probability minus "
        f"accuracy {shown(*gap_of_tops)}"
    )
    versions = recalibrated(dev, test, groups)
    table = errors_table(versions, groups)
    output.table("sparse-tags", "SMCE, GMCE of groups 1 and 5; relative change; published figures", table)
    group_table(test, groups, output)
    claims(versions, groups, output)
    output.figure("study-sparse-tags", figure_of(versions, groups))
    output.write_claims("sparse-tags")


def printed_groups(counts: dict[str, int]) -> TagGroups:
    """Groups by the rule that the paper prints: one is closed when its share is at least 1/G, and the sum restarts.

    The published code says "above 1/G", which gives the same groups unless a share is 1/G to the last digit.
    """
    groups = tag_frequency_groups(counts, n_groups=N_GROUPS, convention="kranzlein2021")
    sums = [np.cumsum(groups.frequencies[groups.group == number]) for number in range(1, groups.n_groups + 1)]
    assert groups.n_groups == N_GROUPS
    assert not any((each * N_GROUPS == groups.frequencies.sum()).any() for each in sums)
    return groups


def some_documents(sentences: Sequence[TaggedSentence], n_tokens: int) -> list[TaggedSentence]:
    """Sentences of training at equal distances with about this number of words."""
    total = sum(len(each.words) for each in sentences)
    step = max(total / n_tokens, 1.0)
    return [sentences[int(place)] for place in np.arange(0.0, len(sentences), step)]


def scored(tagger: TokenTagger, sentences: Sequence[TaggedSentence]) -> tuple[TagScores, float]:
    """Scores above the threshold, and accuracy."""
    right: list[np.ndarray] = []

    def watched() -> Any:
        for item in labelled_posteriors(tagger, sentences, unknown="outside"):
            right.append(item.chain.unary.argmax(axis=1) == item.gold)
            yield item

    scores = tag_scores(watched(), tagger.tags, threshold=THRESHOLD)
    return scores, float(np.concatenate(right).mean())


def recalibrated(dev: TagScores, test: TagScores, groups: TagGroups) -> dict[str, TagScores]:
    """Scores of test as they are, and recalibrated by each method, fitted to dev."""
    versions = {NONE: test}
    for name, method in METHODS.items():
        grouped = GroupedRecalibrator(method).fit(dev.scores, dev.labels, dev.groups(groups))
        versions[f"{name}, shared"] = test.recalibrated(grouped.shared_.predict(test.scores))
        versions[f"{name}, 5 groups"] = test.recalibrated(grouped.predict(test.scores, test.groups(groups)))
    return versions


def errors_table(versions: dict[str, TagScores], groups: TagGroups) -> pd.DataFrame:
    rows = []
    base: list[float] = []
    for name, scores in versions.items():
        whole = shared_calibration_error(scores, n_bins=N_BINS)
        parts = grouped_calibration_errors(scores, groups, n_bins=N_BINS)
        found = [
            (whole.estimate, (whole.lower, whole.upper)),
            *((float(parts.error[k]), (float(parts.lower[k]), float(parts.upper[k]))) for k in (0, N_GROUPS - 1)),
        ]
        base = base or [estimate for estimate, _ in found]
        row: dict[str, Any] = {"recalibration": name}
        for title, (estimate, ends), first in zip(("SMCE", "GMCE 1", "GMCE 5"), found, base, strict=True):
            change = "" if name == NONE else f" ({100 * (estimate / first - 1):+.0f}%)"
            row[title] = shown(estimate, ends) + change
        row["published: CCG"], row["published: LSR"] = PUBLISHED[name]
        rows.append(row)
    return pd.DataFrame(rows)


def group_table(test: TagScores, groups: TagGroups, output: Output) -> None:
    parts = grouped_calibration_errors(test, groups, n_bins=N_BINS)
    place = test.groups(groups)
    table = parts.to_frame()[["group", "n_tags", "share_min", "share_max", "n", "error", "lower", "upper"]]
    table["labels - scores"] = [shown(*gap(test, place == group)) for group in parts.group]
    output.table("sparse-tags-groups", "Groups, without recalibration", table)


def claims(versions: dict[str, TagScores], groups: TagGroups, output: Output) -> None:
    smce = {name: shared_calibration_error(scores, n_bins=N_BINS) for name, scores in versions.items()}
    gmce = {name: grouped_calibration_errors(scores, groups, n_bins=N_BINS) for name, scores in versions.items()}
    recalibrated_ones = [name for name in smce if name != NONE]
    blocks = {name: blocks_of_scores(scores) for name, scores in versions.items()}
    verdicts = [holds(difference(blocks[name], blocks[NONE])[1], True) for name in recalibrated_ones]
    n_lower = sum(smce[name].estimate < smce[NONE].estimate for name in recalibrated_ones)
    worst = max(recalibrated_ones, key=lambda name: smce[name].estimate)
    change = shown(*difference(blocks[worst], blocks[NONE]))
    here = f"{n_lower} of 6 lower, {verdicts.count(HOLDS)} of them by the interval; the least by {change} ({worst})"
    output.claim("every recalibration lowers SMCE", "6 of 6, on both tasks", here, all_of(verdicts))
    errors = gmce[NONE].error
    here = ", ".join(f"{each:.4f}" for each in errors)
    of_groups = [group_blocks(versions[NONE], groups, number) for number in range(1, N_GROUPS + 1)]
    for claim, paper, number, below in (
        ("the rarest tags (group 5) have the highest error", ".0396, .0553", N_GROUPS, False),
        ("group 2 has the lowest error", "both tasks", 2, True),
    ):
        own = of_groups[number - 1]
        found = [holds(difference(own, each)[1], below) for each in of_groups if each is not own]
        output.claim(claim, paper, f"groups 1 to 5: {here}", all_of(found))
    published = {5: (".0114/.0390, .0153/.0534", ".0228/.0276, .0142/.0374", ".0218/.0422, .0145/.0409")}
    published[1] = (".0049/.0225, .0269/.0105", ".0230/.0226, .0132/.0161", ".0254/.0286, .0222/.0298")
    for number, words in ((5, "rarest"), (1, "most frequent")):
        for name, source in zip(METHODS, published[number], strict=True):
            shared, grouped = (
                group_blocks(versions[f"{name}, {kind}"], groups, number) for kind in ("shared", "5 groups")
            )
            change, ends = difference(grouped, shared)
            pair = [float(gmce[f"{name}, {kind}"].error[number - 1]) for kind in ("5 groups", "shared")]
            here = f"{pair[0]:.4f}/{pair[1]:.4f}, difference {shown(change, ends)}"
            claim = f"groups do better than shared on the {words} tags: {name}"
            output.claim(claim, source, here, holds(ends, True))
    top = versions[NONE]
    place = top.groups(groups)
    first, last = (gap(top, place == group) for group in (1, N_GROUPS))
    for words, found_gap, below in (
        ("overconfident on frequent tags (group 1)", first, True),
        ("underconfident on rare tags (group 5)", last, False),
    ):
        here = f"labels minus scores {shown(*found_gap)}"
        output.claim(words, "section 3.3", here, holds(found_gap[1], below))


def all_of(verdicts: Sequence[str]) -> str:
    """Verdict on a claim that needs all of several."""
    one = DOES_NOT_HOLD if DOES_NOT_HOLD in verdicts else NOT_DECIDED
    return HOLDS if set(verdicts) == {HOLDS} else one


def blocks_of_scores(scores: TagScores) -> BlockBins:
    """Sums of all scores by document and bin."""
    assert scores.documents is not None
    return block_bin_pairs(scores.scores, scores.labels, scores.documents, n_bins=N_BINS)


def group_blocks(scores: TagScores, groups: TagGroups, number: int) -> BlockBins:
    """Sums of the scores of one group by document and bin; all documents have a row."""
    assert scores.documents is not None
    chosen = scores.groups(groups) == number
    return block_bin_pairs(scores.scores[chosen], scores.labels[chosen], scores.documents[chosen], n_bins=N_BINS)


def gap(scores: TagScores, chosen: np.ndarray) -> tuple[float, tuple[float, float]]:
    """Mean label minus mean score of some scores, with its interval by document."""
    assert scores.documents is not None
    return mean_by_document((scores.labels - scores.scores) * chosen, chosen, scores.documents)


def mean_by_document(values: Floats, chosen: np.ndarray, documents: np.ndarray) -> tuple[float, tuple[float, float]]:
    """Sum of values over the number of chosen ones, with its interval by document."""
    n_documents = int(documents.max()) + 1
    n = np.bincount(documents, chosen.astype(float), n_documents)
    return ratio(np.bincount(documents, values, n_documents), n, n_documents)


def figure_of(versions: dict[str, TagScores], groups: TagGroups) -> Figure:
    """GMCE of each group, by method, with intervals."""
    figure = Figure(figsize=(9.6, 4.0), layout="constrained")
    panels = figure.subplots(1, len(METHODS), sharey=True)
    for ax, name in zip(panels, METHODS, strict=True):
        for k, version in enumerate((NONE, f"{name}, shared", f"{name}, 5 groups")):
            parts = grouped_calibration_errors(versions[version], groups, n_bins=N_BINS)
            x = parts.group + 0.15 * (k - 1)
            ax.vlines(x, parts.lower, parts.upper, color=COLOURS[k], linewidth=1.0)
            ax.plot(x, parts.error, MARKERS[k], color=COLOURS[k], markersize=5, label=version.replace(f"{name}, ", ""))
        ax.set_title(name, loc="left", fontsize=10)
        ax.set_xlabel("frequency group (5: the rarest tags)")
        ax.set_ylim(bottom=0.0)
        ax.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("calibration error (GMCE)")
    panels[-1].legend(frameon=False, fontsize=9)
    return figure
