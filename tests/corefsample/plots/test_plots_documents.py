"""Pictures of one document: its marginals, its entities and their number."""

import numpy as np
import pytest
from expected_errors import error
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from strategies.documents import one_word_document

from corefsample import AntecedentDistribution, ParameterError, ScoredDocument
from corefsample.plots import link_heat_map, link_network
from corefsample.plots.clusterings import entity_count_bars
from corefsample.summaries import document_links, entity_count_posterior, point_estimate
from corefsample.summaries._document_links import DocumentLinks, EntityCountDistribution
from events import simulate_documents


def document(n: int = 6) -> ScoredDocument:
    """Mentions of one token; 2 probably corefers with 0, 3 with 1, and 4 possibly with 0."""
    antecedents = [[], [], [0], [1], [0]] + [[] for _ in range(5, n)]
    scores = [[], [], [3.0], [2.0], [-0.5]] + [[] for _ in range(5, n)]
    gold = [0, 1, 0, 1, 0, *range(5, n)]
    return one_word_document((antecedents, scores), gold, "doc", text=[f"w{i}" for i in range(n)])


def empty() -> DocumentLinks:
    return document_links(document(), smallest=9)


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


# --- heat map ----------------------------------------------------------------------------------------------


def test_the_heat_map_shows_the_marginals_in_the_order_of_the_entities() -> None:
    links = document_links(document())
    ax = Figure().subplots()
    assert link_heat_map(links, ax=ax) is ax
    (image,) = ax.images
    np.testing.assert_array_equal(image.get_array(), links.marginals)
    assert image.get_clim() == (0.0, 1.0)
    # By likeliest antecedents: {0, 2}, {1, 3}, {4}, {5}.
    assert [label.get_text() for label in ax.get_yticklabels()] == ["w0", "w2", "w1", "w3", "w4", "w5"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["w0", "w2", "w1", "w3", "w4", "w5"]
    assert len(ax.figure.axes) == 2  # with the bar of the colours


@pytest.mark.parametrize("draw", [link_heat_map, link_network])
def test_no_mention_is_stated(draw: object) -> None:
    assert texts(draw(empty())) == ["No mention to draw."]  # type: ignore[operator]


# --- number of entities ------------------------------------------------------------------------------------


def test_bars_are_the_probabilities_of_the_number_of_entities() -> None:
    posterior = entity_count_posterior(document())
    ax = Figure().subplots()
    assert entity_count_bars(posterior, ax=ax) is ax
    heights = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in ax.patches}
    # 0, 1 and 5 are certainly new; 2, 3 and 4 may be: 3 to 6 entities.
    assert heights == {count: posterior.pmf[count] for count in (3, 4, 5, 6)}
    mean, gold, best = ax.lines
    assert list(mean.get_xdata()) == [posterior.mean, posterior.mean]
    assert (list(gold.get_xdata()), list(best.get_xdata())) == ([3], [4])
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words[1:] == ["3 by gold", "4 by likeliest antecedents"]


def test_a_document_without_mentions_has_certainly_no_entity() -> None:
    posterior = EntityCountDistribution("none", np.ones(1), 0.0, 0.0, 0, None)
    (bar,) = entity_count_bars(posterior).patches
    assert (bar.get_x() + bar.get_width() / 2, bar.get_height()) == (0.0, 1.0)


# --- network -----------------------------------------------------------------------------------------------


def ties(ax: Axes) -> list[float]:
    (lines,) = [each for each in ax.collections if isinstance(each, LineCollection)]
    return sorted(np.asarray(lines.get_linewidths()).tolist()) if len(lines.get_segments()) else []


def test_the_width_of_a_tie_is_its_probability() -> None:
    links = document_links(document())
    ax = Figure().subplots()
    assert link_network(links, ax=ax) is ax
    above = np.tril(links.marginals, -1)
    assert ties(ax) == pytest.approx(sorted(5.0 * above[above >= 0.1]))
    assert len(ties(link_network(links, floor=0.9))) == int((above >= 0.9).sum()) == 1


def test_the_layout_depends_only_on_the_seed() -> None:
    links = document_links(document())

    def places(seed: int) -> list[list[float]]:
        groups = [each for each in link_network(links, seed=seed).collections if isinstance(each, PathCollection)]
        return np.concatenate([each.get_offsets() for each in groups]).tolist()

    assert places(1) == places(1)
    assert places(1) != places(2)


def test_options_outside_their_range_raise() -> None:
    with error(ParameterError, "floor"):
        link_network(document_links(document()), floor=0)
    for draw in (link_network, link_heat_map):
        with error(ParameterError, "most_labels"):
            draw(document_links(document()), most_labels=0)


# --- all ---------------------------------------------------------------------------------------------------


def test_the_heat_map_can_be_sorted_by_an_estimate() -> None:
    lists = [[], [0], [0, 1], [0, 2], [1]], [[], [0.5], [0.0, 1.0], [-1.0, 1.0], [2.0]]
    distribution = AntecedentDistribution.from_lists(*lists)
    links = document_links(ScoredDocument("d", np.array([[i, i + 1, i] for i in range(5)]), distribution), by="binder")
    labels = point_estimate(distribution, loss="binder").labels
    assert links.entities.tolist() == np.unique(labels[links.mentions], return_inverse=True)[1].tolist()
    assert "smallest Binder loss" in link_heat_map(links).get_xlabel()


def test_every_mention_of_a_small_network_has_a_label_that_covers_no_other_mention() -> None:
    figure = Figure(figsize=(10, 6))
    links = document_links(next(simulate_documents(1, seed=1, median_mentions=20)).document)
    ax = link_network(links, ax=figure.subplots())
    figure.canvas.draw()
    assert len(ax.texts) == links.n_mentions
    points = ax.transData.transform(np.concatenate([each.get_offsets() for each in ax.collections[1:]]))
    for text in ax.texts:
        box = text.get_window_extent()
        assert not ((box.min < points) & (points < box.max)).all(axis=1).any()
