"""Open points of Kranzlein, Liu & Schneider (2021): the number of groups, balanced tagsets, and the likeliest tags.

The paper fixes five groups and calls the choice tricky (section 3.3); it recommends one recalibration a tag for large
balanced data; its figures for the likeliest tags are in an appendix that is not available. The measure here is the
Brier score, which no binning of the evaluation can change; differences are by document.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from corefsample._arrays import Floats, Ints
from corefsample.calibration import IsotonicRecalibration, calibration_error
from corefsample.tagging import TaggedSentence
from tagger_studies import corpora
from tagger_studies.recalibrators import HistogramBinning, frequency_groups, recalibrated_by_group
from tagger_studies.results import Output, difference_of_shares, holds, shown
from tagger_studies.sparse_tags import N_BINS, N_TOKENS, Scores, TokenTagger, flat, marginals, some_documents

NUMBERS = (1, 2, 3, 5, 10, 20, 50)
METHODS = {"isotonic": IsotonicRecalibration, "histogram": HistogramBinning}
N_FOLDS = 5
N_BALANCED = 10  # tags of the balanced tagset
UNBALANCED, BALANCED = "all words", "equally many words of each tag"


def groups_of(tagger: TokenTagger, train: Sequence[TaggedSentence], number: int) -> Ints:
    """Group of each tag of the tagger, by its frequency in training."""
    counts = corpora.tag_counts(train)
    groups = frequency_groups({tag: counts[tag] for tag in tagger.tags}, number)
    return np.array([groups[tag] for tag in tagger.tags])


def recalibrated(method: str, dev: Scores, test: Scores, group: Ints) -> Floats:
    fit = dev.q, dev.y, group[dev.tag]
    return recalibrated_by_group(METHODS[method], fit, test.q, group[test.tag], N_BINS)


def held_out_brier(method: str, dev: Scores, group: Ints) -> float:
    """Mean squared error on dev, recalibrated by documents of other folds."""
    fold, total = dev.document % N_FOLDS, 0.0
    for k in range(N_FOLDS):
        inside = fold == k
        part = dev.only(inside)
        total += float(np.sum((recalibrated(method, dev.only(~inside), part, group) - part.y) ** 2))
    return total / dev.q.size


def change(one: Floats, other: Floats, scores: Scores) -> tuple[float, tuple[float, float]]:
    """Mean of one loss minus that of the other, with its interval by document."""
    n = np.bincount(scores.document).astype(float)
    first, second = (np.bincount(scores.document, loss, n.size) for loss in (one, other))
    return difference_of_shares(first, n, second, n)


def number_of_groups(output: Output) -> None:
    """Brier score on test by the number of groups, and the number that dev chooses."""
    split = corpora.gum_sparse()
    train = some_documents(split.train, 5_000 if output.quick else N_TOKENS // 2)
    tagger = TokenTagger().fit(train)
    dev, test = (flat(list(marginals(tagger, part))) for part in (split.dev, split.test))
    output.say(f"GUM: {sum(len(each.words) for each in train):,} words of training, {len(tagger.tags)} tags")
    rows = []
    for method in METHODS:
        losses: dict[object, Floats] = {}
        on_dev: dict[object, float] = {}
        tops: dict[object, str] = {"none": top_error(test, test.q)}
        every = {number: groups_of(tagger, train, number) for number in NUMBERS}
        every["a tag"] = np.arange(len(tagger.tags))  # type: ignore[index]
        for number, group in every.items():
            predicted = recalibrated(method, dev, test, group)
            losses[number], on_dev[number] = (predicted - test.y) ** 2, held_out_brier(method, dev, group)
            tops[number] = top_error(test, predicted)
        none = (test.q - test.y) ** 2
        best = min(on_dev, key=on_dev.__getitem__)
        for number, loss in losses.items():
            rows.append(
                {
                    "recalibration": method,
                    "groups": f"{number}{', chosen on dev' if number == best else ''}",
                    "Brier score on dev": f"{on_dev[number]:.5f}",
                    "on test, minus none": shown(*change(loss, none, test), 5),
                    "minus shared": "" if number == 1 else shown(*change(loss, losses[1], test), 5),
                    "top-1 CalibErr": tops[number],
                }
            )
        for number in dict.fromkeys((5, best)):
            if number == 1:
                continue  # dev chooses the shared recalibration
            found = change(losses[number], losses[1], test)
            words = "5 groups have" if number == 5 else f"the number of groups that dev chooses ({number}) has"
            name = f"{method}: {words} a lower Brier score than shared"
            here = f"difference {shown(*found, 5)}"
            output.claim(name, "section 3.3", here, holds(found[1], True))
        found = change(losses["a tag"], losses[5], test)
        output.claim(
            f"{method}: one recalibration a tag is worse than 5 groups on a sparse tagset",
            "section 3.2: not feasible",
            f"difference {shown(*found, 5)}",
            holds(found[1], False),
        )
    output.say(f"top-1 CalibErr without recalibration: {top_error(test, test.q)}")
    output.table("tag-groups", "By number of groups", pd.DataFrame(rows))


def top_error(scores: Scores, predicted: Floats) -> str:
    """Calibration error of the likeliest tags, 10 bins."""
    top = scores.top
    q, y, documents = predicted[top], scores.y[top], scores.document[top]
    error = calibration_error(q, y, documents=documents, n_bins=N_BINS, debiased=False)
    return shown(error.estimate, (error.lower, error.upper))


def balanced_tagset(output: Output) -> None:
    """One recalibration a tag against a shared one, where all tags are equally frequent and where they are not."""
    split = corpora.gum_sparse()
    train, dev, test = (
        [TaggedSentence(each.words, [tag.split(" ")[0] for tag in each.tags], each.doc_id) for each in part]
        for part in (some_documents(split.train, 2_000 if output.quick else 10_000), split.dev, split.test)
    )
    tagger = TokenTagger().fit(train)
    both = [list(marginals(tagger, part)) for part in (dev, test)]
    rows = []
    for words in (UNBALANCED, BALANCED):
        fit, test_scores = (flat(equal(part) if words == BALANCED else part) for part in both)
        for method in METHODS:
            one, each = (
                (recalibrated(method, fit, test_scores, group) - test_scores.y) ** 2
                for group in (np.zeros(len(tagger.tags), np.int64), np.arange(len(tagger.tags)))
            )
            found = change(each, one, test_scores)
            row = {"words": words, "recalibration": method, "scores in dev": fit.q.size}
            rows.append(
                {**row, "shared": float(one.mean()), "one a tag": float(each.mean()), "change": shown(*found, 5)}
            )
            name = f"{method}, {words}: one recalibration a tag has a lower Brier score than a shared one"
            paper = "section 3.3: recommended" if words == BALANCED else ""
            output.claim(name, paper, f"difference {shown(*found, 5)}", holds(found[1], True))
    output.table("tag-groups-balanced", "Parts of speech: one recalibration a tag", pd.DataFrame(rows), 5)


def equal(parts: Sequence[tuple[Floats, Ints, str]]) -> list[tuple[Floats, Ints, str]]:
    """As many words of each of the most frequent tags, at random, as the rarest of these has."""
    gold = np.concatenate([own for _, own, _ in parts])
    counts = np.bincount(gold[gold >= 0])
    tags = np.argsort(-counts, kind="stable")[:N_BALANCED]
    rng = np.random.default_rng(0)
    kept = np.zeros(gold.size, bool)
    for tag in tags:
        kept[rng.choice(np.flatnonzero(gold == tag), counts[tags].min(), replace=False)] = True
    pieces = np.split(kept, np.cumsum([own.size for _, own, _ in parts])[:-1])
    return [(p[k], own[k], doc_id) for (p, own, doc_id), k in zip(parts, pieces, strict=True)]


def run(output: Output) -> None:
    """Run the study `tag-groups`."""
    number_of_groups(output)
    balanced_tagset(output)
    output.write_claims("tag-groups")
