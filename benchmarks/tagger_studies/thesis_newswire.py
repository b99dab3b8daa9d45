"""The thesis's section 4.1: NN on newspaper text, with more and more features; and the paper's figure 4 as bars.

The thesis reports the mean squared calibration error (CalibMSE) of "the word is NN", and reads the refinement off the
curves. Here both are the parts of the Brier score in bins of 1,000 words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from corefsample._arrays import Floats
from corefsample.calibration import calibration_error
from corefsample.calibration._binning import BlockBins
from corefsample.plots.style import COLOURS
from corefsample.tagging import (
    ConditionalRandomField,
    HiddenMarkovModel,
    TaggedSentence,
    event_pairs,
)
from corefsample.tagging._crf import FEATURES, advanced_attributes
from tagger_studies import corpora
from tagger_studies.newswire import ITERATIONS, TAG_BIN, ByEvent, by_event
from tagger_studies.results import (
    Measured,
    Output,
    blocks_of,
    curves_figure,
    ends_of,
    errors,
    holds,
    measured,
    resamples,
    shown,
    verdict,
)

TAG = "NN"
PSEUDOCOUNT, L2 = 0.01, 0.03  # chosen on dev by the study `tagging`
HMM, BASIC, ADVANCED = "HMM", "CRF-basic", "CRF-advanced"
# Attributes of the advanced features by what the thesis calls them; all have the word itself.
PARTS = {
    "surrounding words": ("-1=", "-2=", "+1=", "+2=", "-1,0=", "0,+1="),
    "word shape": ("shape=", "classes=", "lower="),
    "word length": ("length=",),
    "prefixes": ("prefix=",),
    "suffixes": ("suffix=",),
}


def with_parts(parts: Sequence[str]) -> Callable[[Sequence[str]], list[list[str]]]:
    """The word, and some parts of the advanced features."""
    kept = ("w=", *(start for part in parts for start in PARTS[part]))

    def attributes(words: Sequence[str]) -> list[list[str]]:
        return [[each for each in row if each.startswith(kept)] for row in advanced_attributes(words)]

    return attributes


def run(output: Output) -> None:
    """Run the study `newswire`."""
    split = corpora.split_by_document(corpora.wsj_sentences())
    output.say(f"Wall Street Journal sample: {split.described()}")
    iterations = 20 if output.quick else ITERATIONS

    def crf(features: str) -> Measured:
        model = ConditionalRandomField(features=features, l2=L2, max_iterations=iterations)  # type: ignore[arg-type]
        return measured(model.fit(split.train), split.test)

    hmm = HiddenMarkovModel(pseudocount=PSEUDOCOUNT).fit(split.train)
    found = {HMM: measured(hmm, split.test), BASIC: crf("basic")}
    for part in PARTS:
        FEATURES["some"] = with_parts([part])
        found[f"basic and {part}"] = crf("some")
    del FEATURES["some"]
    found[ADVANCED] = crf("advanced")
    features_study(found, output)
    pairs = {name: found[name].pairs.of(TAG) for name in (HMM, BASIC, ADVANCED)}
    output.figure("study-newswire-curves", curves_figure(pairs, TAG_BIN))
    bars(found, split.test, output)
    output.write_claims("newswire")


def refinements(blocks: BlockBins, weights: Floats) -> Floats:
    """Refinement of each resample: mean of p (1 - p) over the bins, p the share of the label."""
    n, positive = weights @ blocks.n, weights @ blocks.sum_y
    return np.asarray((positive * (1.0 - positive / np.maximum(n, 1.0))).sum(axis=1) / n.sum(axis=1))


def features_study(found: dict[str, Measured], output: Output) -> None:
    """Calibration and refinement of NN by features; differences by document."""
    blocks = {name: blocks_of(each.pairs.of(TAG), TAG_BIN) for name, each in found.items()}
    n = found[HMM].n_documents
    weights = np.vstack((np.ones(n), resamples(n)))
    squares = {name: errors(each, weights) ** 2 for name, each in blocks.items()}
    refined = {name: refinements(each, weights) for name, each in blocks.items()}
    rows = []
    for name, each in found.items():
        change = squares[name] - squares[BASIC], refined[name] - refined[BASIC]
        rows.append(
            {
                "model": name,
                "accuracy": each.accuracy(),
                f"CalibMSE of {TAG}": shown(float(squares[name][0]), ends_of(squares[name][1:]), 5),
                "minus basic": "" if name == BASIC else shown(float(change[0][0]), reflected(change[0]), 5),
                "refinement": shown(float(refined[name][0]), ends_of(refined[name][1:])),
                "less basic": "" if name == BASIC else shown(float(change[1][0]), reflected(change[1])),
                "top-1 CalibErr": top_one(each),
            }
        )
    table = pd.DataFrame(rows).rename(columns={"less basic": "refinement minus basic"})
    output.table("newswire-features", f"{TAG}, bins of {TAG_BIN:,}", table)
    for one, other, paper in ((BASIC, HMM, ".019 against .035"), (ADVANCED, BASIC, "nearly on the diagonal")):
        for what, values, digits in (("CalibMSE", squares, 5), ("refinement", refined, 4)):
            change_of = values[one] - values[other]
            here = f"difference {shown(float(change_of[0]), reflected(change_of), digits)}"
            source = paper if what == "CalibMSE" else "section 4.1.2, figures"
            output.claim(f"{one} has lower {what} than {other}", source, here, holds(reflected(change_of), True))
    right, (low, high) = found[ADVANCED].right()
    here = shown(right, (low, high))
    output.claim("accuracy of CRF-advanced", "96%", here, verdict(low <= 0.96 <= high))


def top_one(found: Measured) -> str:
    """Calibration error of each word's likeliest tag."""
    pairs = event_pairs(found.items, found.tags, "likeliest")
    error = calibration_error(pairs.q, pairs.y, documents=pairs.documents, bin_size=TAG_BIN, debiased=False)
    return shown(error.estimate, (error.lower, error.upper))


def reflected(values: Floats) -> tuple[float, float]:
    """Interval of the first value, from resamples reflected about it."""
    lower, upper = ends_of(values[1:])
    return 2.0 * float(values[0]) - upper, 2.0 * float(values[0]) - lower


def bars(found: dict[str, Measured], sentences: Sequence[TaggedSentence], output: Output) -> None:
    """Errors of HMM and CRF-basic on the most frequent tags and pairs of tags, and their averages (figure 4)."""
    hmm, crf = found[HMM], found[BASIC]
    counts = Counter(hmm.tags[code] for item in hmm.items for code in item.gold if code >= 0)
    tags = [tag for tag in sorted(counts, key=lambda each: (-counts[each], each)) if tag in crf.tags]
    known = set(hmm.tags) & set(crf.tags)
    every = [pair for pair in corpora.frequent_tag_pairs(sentences, 400) if set(pair) <= known][:100]
    of_tags = by_event(hmm.pairs, crf.pairs, tags)
    one, other = (event_pairs(each.items, each.tags, every) for each in (hmm, crf))
    of_pairs = by_event(one, other, every)
    for words, each in (("tags", of_tags), ("pairs of tags", of_pairs)):
        for top in (5, len(each.events)):
            change, ends = each.mean_change(top)
            means = each.estimates[:top].mean(axis=0)
            here = f"HMM {means[0]:.4f}, CRF-basic {means[1]:.4f}, difference {shown(change, ends)}"
            name = f"mean error over {top} {words} lower for CRF-basic, all sentences"
            output.claim(name, "figure 4: lower", here, holds(ends, True))
    output.figure("study-newswire-bars", bars_figure({"tags": of_tags, "pairs of tags": of_pairs}))


def bars_figure(found: dict[str, ByEvent]) -> Figure:
    figure = Figure(figsize=(9.6, 3.4), layout="constrained")
    for ax, (title, each) in zip(figure.subplots(1, len(found)), found.items(), strict=True):
        names = [event if isinstance(event, str) else "-".join(event) for event in each.events[:5]]
        heights = np.vstack((each.estimates[:5], each.estimates[:5].mean(axis=0), each.estimates.mean(axis=0)))
        draws = np.concatenate((each.draws[:5], each.draws[:5].mean(0)[None], each.draws.mean(0)[None]))
        ends = np.quantile(draws, [0.025, 0.975], axis=2)
        for k, model in enumerate((HMM, BASIC)):
            x = np.arange(len(heights)) + 0.4 * (k - 0.5)
            ax.bar(x, heights[:, k], 0.38, color=COLOURS[k], label=model, hatch=("", "//")[k], edgecolor="white")
            ax.vlines(x, ends[0, :, k], ends[1, :, k], color="0.2", linewidth=1.0)
        ax.set_xticks(range(len(heights)), [*names, "mean (5)", f"mean ({len(each.events)})"], rotation=30, ha="right")
        ax.set_title(title, loc="left", fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_ylabel("calibration error")
        ax.legend(frameon=False, fontsize=9)
    return figure
