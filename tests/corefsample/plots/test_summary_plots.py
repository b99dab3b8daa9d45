"""Plots of summaries show the numbers of the results."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

from corefsample import ScoredDocument, sample_clusterings
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.plots import link_heat_map
from corefsample.plots.clusterings import core_curve_line, precision_recall_line
from corefsample.summaries import core_curve, document_links, point_estimate, threshold_curve

mpl.use("Agg")
LISTS = [[], [0], [0, 1], [0, 2], [1]], [[], [0.5], [0.0, 1.0], [-1.0, 1.0], [2.0]]
DISTRIBUTION = AntecedentDistribution.from_lists(*LISTS)


def test_the_core_curve_has_a_step_per_threshold() -> None:
    curve = core_curve(DISTRIBUTION, thresholds=[0.2, 0.5, 0.9])
    ax = core_curve_line(curve, title="cores")
    mentions, entities = ax.get_lines()
    np.testing.assert_array_equal(mentions.get_ydata(), curve.n_mentions)
    np.testing.assert_array_equal(entities.get_ydata(), curve.n_entities)
    assert ax.get_ylabel() == "in the core, of 5 mentions"


def test_precision_and_recall_have_a_point_per_threshold_and_a_ring_at_the_best() -> None:
    samples = sample_clusterings(DISTRIBUTION, n_samples=50)
    curve = threshold_curve(DISTRIBUTION, thresholds=[0.2, 0.5, 0.9], metrics=["b3", "conll"], samples=samples)
    ax = precision_recall_line(curve)
    lines = ax.get_lines()
    np.testing.assert_array_equal(lines[0].get_xdata(), curve.expected[:, 0, 1])
    np.testing.assert_array_equal(lines[0].get_ydata(), curve.expected[:, 0, 0])
    best = curve.best("b3")
    assert lines[1].get_xdata()[0] == pytest.approx(curve.expected[best, 0, 1])
    assert [text.get_text() for text in ax.texts] == [f"{curve.thresholds[curve.best(m)]:g}" for m in curve.metrics]


def test_the_heat_map_can_be_sorted_by_an_estimate() -> None:
    document = ScoredDocument("d", np.array([[i, i + 1, i] for i in range(5)]), DISTRIBUTION)
    links = document_links(document, by="binder")
    labels = point_estimate(DISTRIBUTION, loss="binder").labels
    assert links.entities.tolist() == np.unique(labels[links.mentions], return_inverse=True)[1].tolist()
    assert "smallest Binder loss" in link_heat_map(links).get_xlabel()
