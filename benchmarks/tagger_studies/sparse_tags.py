"""A sparse tagset: part of speech, features and relation of GUM's words, recalibrated by groups of frequency.

The tagger is a logistic regression on attributes of the word and its two neighbours; it gives every tag a probability.
As in the paper, rare tags of training are no output of the tagger, and recalibrators are fitted to the dev part.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

from corefsample._arrays import Floats, Ints
from corefsample.calibration import IsotonicRecalibration, calibration_error
from corefsample.calibration._binning import BlockBins, block_bin_pairs
from corefsample.calibration._error import CalibrationError
from corefsample.plots.style import COLOURS, MARKERS
from corefsample.tagging import LinearChain, TaggedSentence, event_pairs, labelled_posteriors
from corefsample.tagging._crf import advanced_attributes
from tagger_studies import corpora
from tagger_studies.recalibrators import HistogramBinning, ScalingBinning, frequency_groups, recalibrated_by_group
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
from tagger_studies.texts import LabelledText, TextClassifier

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
METHODS = {"scaling-binning": ScalingBinning, "isotonic": IsotonicRecalibration, "histogram": HistogramBinning}


@dataclass(frozen=True)
class Groups:
    """Frequency group of each tag of the tagger, 1 for the most frequent ones, and its share in training."""

    of_tag: Ints
    share: Floats


class TokenTagger:
    """Logistic regression of each word's tag on attributes of the word and its neighbours."""

    def __init__(self) -> None:
        estimator = LogisticRegression(C=1.0 / L2, max_iter=ITERATIONS, tol=1e-6)
        self._model = TextClassifier(estimator, min_count=LEAST_WORDS)

    def fit(self, sentences: Sequence[TaggedSentence]) -> TokenTagger:
        counts = corpora.tag_counts(sentences)
        texts = [
            LabelledText(tuple(attributes), tag)
            for sentence in sentences
            for attributes, tag in zip(chosen_attributes(sentence.words), sentence.tags, strict=True)
            if counts[tag] >= LEAST
        ]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "lbfgs failed to converge")  # it stops early, which regularises too
            self._model.fit(texts)
        self._code = self._model.vectorizer.vocabulary_
        self._intercepts = self._model.estimator.intercept_
        self._weights = np.ascontiguousarray(self._model.estimator.coef_.T)
        self._transitions = np.zeros((len(self.tags), len(self.tags)))
        self._transitions.flags.writeable = False
        return self

    @property
    def tags(self) -> tuple[str, ...]:
        return self._model.tags

    def posterior(self, words: Sequence[str]) -> LinearChain:
        rows = [[self._code[each] for each in row if each in self._code] for row in chosen_attributes(words)]
        unary = np.array([self._intercepts + self._weights[codes].sum(axis=0) for codes in rows])
        return LinearChain.from_scores(unary, self._transitions)


@dataclass(frozen=True)
class Scores:
    """Scores of at least the threshold: score, label, tag, document, and whether the tag is its word's likeliest."""

    q: Floats
    y: Floats
    tag: Ints
    document: Ints
    top: np.ndarray

    def only(self, chosen: np.ndarray) -> Scores:
        return Scores(*(values[chosen] for values in (self.q, self.y, self.tag, self.document, self.top)))


def marginals(tagger: TokenTagger, sentences: Sequence[TaggedSentence]) -> Iterator[tuple[Floats, Ints, str]]:
    """Probabilities of the tags of each sentence's words, gold tags (-1: no output), and document."""
    for item in labelled_posteriors(tagger, sentences, unknown="outside"):
        yield item.chain.marginals(), np.asarray(item.gold), item.doc_id


def flat(parts: Sequence[tuple[Floats, Ints, str]]) -> Scores:
    numbers = {doc_id: k for k, doc_id in enumerate(dict.fromkeys(doc_id for _, _, doc_id in parts))}
    found: list[list[np.ndarray]] = [[], [], [], [], []]
    for probs, gold, doc_id in parts:
        word, tag = np.nonzero(probs >= THRESHOLD)
        row = (np.minimum(probs[word, tag], 1.0), tag == gold[word], tag, np.full(tag.size, numbers[doc_id]))
        for place, values in zip(found, (*row, probs.argmax(axis=1)[word] == tag), strict=True):
            place.append(values)
    q, y, tag, document, top = map(np.concatenate, found)
    return Scores(q, y.astype(float), tag.astype(np.int64), document.astype(np.int64), top)


def chosen_attributes(words: Sequence[str]) -> list[list[str]]:
    return [[each for each in row if each.startswith(KINDS)] for row in advanced_attributes(words)]


def run(output: Output) -> None:
    """Run the study `sparse-tags`."""
    split = corpora.gum_sparse()
    output.say(f"GUM: {split.described()}")
    train = some_documents(split.train, 5_000 if output.quick else N_TOKENS)
    tagger = TokenTagger().fit(train)
    frequencies = corpora.tag_counts(train)
    groups = printed_groups({tag: frequencies[tag] for tag in tagger.tags}, tagger.tags)
    dev = flat(list(marginals(tagger, split.dev)))
    of_test = list(marginals(tagger, split.test))
    test, gold = flat(of_test), np.concatenate([each for _, each, _ in of_test])
    accuracy = float(np.mean(np.concatenate([probs.argmax(axis=1) for probs, _, _ in of_test]) == gold))
    n_words = sum(len(each.words) for each in train)
    output.say(
        f"Trained on {n_words:,} words: {len(frequencies)} tags, {len(tagger.tags)} of them {LEAST} times or more; "
        f"accuracy {accuracy:.1%}; {(gold < 0).sum()} gold tags of test are no output"
    )
    top = event_pairs(labelled_posteriors(tagger, split.test, unknown="outside"), tagger.tags, "likeliest")
    error = calibration_error(top.q, top.y, documents=top.documents, n_bins=N_BINS, debiased=False)
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


def printed_groups(counts: Mapping[str, int], tags: Sequence[str]) -> Groups:
    """Groups by the rule that the paper prints: one is closed when its share is at least 1/G, and the sum restarts.

    The published code says "above 1/G", which gives the same groups unless a share is 1/G to the last digit.
    """
    by_tag, total = frequency_groups(counts, N_GROUPS), sum(counts.values())
    of_tag = np.array([by_tag[tag] for tag in tags])
    frequencies = np.array([counts[tag] for tag in tags])
    assert max(by_tag.values()) == N_GROUPS
    for number in range(1, N_GROUPS + 1):
        assert not (np.cumsum(-np.sort(-frequencies[of_tag == number])) * N_GROUPS == total).any()
    return Groups(of_tag, frequencies / total)


def some_documents(sentences: Sequence[TaggedSentence], n_tokens: int) -> list[TaggedSentence]:
    """Sentences of training at equal distances with about this number of words."""
    total = sum(len(each.words) for each in sentences)
    step = max(total / n_tokens, 1.0)
    return [sentences[int(place)] for place in np.arange(0.0, len(sentences), step)]


def recalibrated(dev: Scores, test: Scores, groups: Groups) -> dict[str, Scores]:
    """Scores of test as they are, and recalibrated by each method, fitted to dev."""
    versions = {NONE: test}
    for name, method in METHODS.items():
        for kind, group in (("shared", np.zeros_like(groups.of_tag)), ("5 groups", groups.of_tag)):
            q = recalibrated_by_group(method, (dev.q, dev.y, group[dev.tag]), test.q, group[test.tag])
            versions[f"{name}, {kind}"] = replace(test, q=q)
    return versions


def shared_error(scores: Scores) -> CalibrationError:
    """SMCE: the error of all scores."""
    return calibration_error(scores.q, scores.y, n_bins=N_BINS, documents=scores.document, debiased=False)


def grouped_errors(scores: Scores, groups: Groups) -> list[CalibrationError]:
    """GMCE: the error of the scores of each group's tags."""
    of_score = groups.of_tag[scores.tag]
    return [shared_error(scores.only(of_score == number)) for number in range(1, N_GROUPS + 1)]


def errors_table(versions: dict[str, Scores], groups: Groups) -> pd.DataFrame:
    rows = []
    base: list[float] = []
    for name, scores in versions.items():
        whole = shared_error(scores)
        parts = grouped_errors(scores, groups)
        found = [
            (whole.estimate, (whole.lower, whole.upper)),
            *((parts[k].estimate, (parts[k].lower, parts[k].upper)) for k in (0, N_GROUPS - 1)),
        ]
        base = base or [estimate for estimate, _ in found]
        row: dict[str, Any] = {"recalibration": name}
        for title, (estimate, ends), first in zip(("SMCE", "GMCE 1", "GMCE 5"), found, base, strict=True):
            change = "" if name == NONE else f" ({100 * (estimate / first - 1):+.0f}%)"
            row[title] = shown(estimate, ends) + change
        row["published: CCG"], row["published: LSR"] = PUBLISHED[name]
        rows.append(row)
    return pd.DataFrame(rows)


def group_table(test: Scores, groups: Groups, output: Output) -> None:
    rows = []
    for number, error in enumerate(grouped_errors(test, groups), 1):
        share = groups.share[groups.of_tag == number]
        row = {"group": number, "n_tags": share.size, "share_min": share.min(), "share_max": share.max()}
        row |= {"n": error.bins.n_pairs, "error": error.estimate, "lower": error.lower, "upper": error.upper}
        rows.append({**row, "labels - scores": shown(*gap(test, groups.of_tag[test.tag] == number))})
    output.table("sparse-tags-groups", "Groups, without recalibration", pd.DataFrame(rows))


def claims(versions: dict[str, Scores], groups: Groups, output: Output) -> None:
    smce = {name: shared_error(scores) for name, scores in versions.items()}
    gmce = {name: grouped_errors(scores, groups) for name, scores in versions.items()}
    recalibrated_ones = [name for name in smce if name != NONE]
    blocks = {name: blocks_of_scores(scores) for name, scores in versions.items()}
    verdicts = [holds(difference(blocks[name], blocks[NONE])[1], True) for name in recalibrated_ones]
    n_lower = sum(smce[name].estimate < smce[NONE].estimate for name in recalibrated_ones)
    worst = max(recalibrated_ones, key=lambda name: smce[name].estimate)
    change = shown(*difference(blocks[worst], blocks[NONE]))
    here = f"{n_lower} of 6 lower, {verdicts.count(HOLDS)} of them by the interval; the least by {change} ({worst})"
    output.claim("every recalibration lowers SMCE", "6 of 6, on both tasks", here, all_of(verdicts))
    here = ", ".join(f"{each.estimate:.4f}" for each in gmce[NONE])
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
            pair = [gmce[f"{name}, {kind}"][number - 1].estimate for kind in ("5 groups", "shared")]
            here = f"{pair[0]:.4f}/{pair[1]:.4f}, difference {shown(change, ends)}"
            claim = f"groups do better than shared on the {words} tags: {name}"
            output.claim(claim, source, here, holds(ends, True))
    top = versions[NONE]
    place = groups.of_tag[top.tag]
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


def blocks_of_scores(scores: Scores) -> BlockBins:
    """Sums of all scores by document and bin."""
    return block_bin_pairs(scores.q, scores.y, scores.document, n_bins=N_BINS)


def group_blocks(scores: Scores, groups: Groups, number: int) -> BlockBins:
    """Sums of the scores of one group by document and bin; all documents have a row."""
    return blocks_of_scores(scores.only(groups.of_tag[scores.tag] == number))


def gap(scores: Scores, chosen: np.ndarray) -> tuple[float, tuple[float, float]]:
    """Mean label minus mean score of some scores, with its interval by document."""
    return mean_by_document((scores.y - scores.q) * chosen, chosen, scores.document)


def mean_by_document(values: Floats, chosen: np.ndarray, documents: np.ndarray) -> tuple[float, tuple[float, float]]:
    """Sum of values over the number of chosen ones, with its interval by document."""
    n_documents = int(documents.max()) + 1
    n = np.bincount(documents, chosen.astype(float), n_documents)
    return ratio(np.bincount(documents, values, n_documents), n, n_documents)


def figure_of(versions: dict[str, Scores], groups: Groups) -> Figure:
    """GMCE of each group, by method, with intervals."""
    figure = Figure(figsize=(9.6, 4.0), layout="constrained")
    panels = figure.subplots(1, len(METHODS), sharey=True)
    for ax, name in zip(panels, METHODS, strict=True):
        for k, version in enumerate((NONE, f"{name}, shared", f"{name}, 5 groups")):
            parts = grouped_errors(versions[version], groups)
            x = np.arange(1, N_GROUPS + 1) + 0.15 * (k - 1)
            ax.vlines(x, [e.lower for e in parts], [e.upper for e in parts], color=COLOURS[k], linewidth=1.0)
            look = {"color": COLOURS[k], "markersize": 5, "label": version.replace(f"{name}, ", "")}
            ax.plot(x, [each.estimate for each in parts], MARKERS[k], **look)
        ax.set_title(name, loc="left", fontsize=10)
        ax.set_xlabel("frequency group (5: the rarest tags)")
        ax.set_ylim(bottom=0.0)
        ax.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("calibration error (GMCE)")
    panels[-1].legend(frameon=False, fontsize=9)
    return figure
