"""`plots.plot`: every result of its table has a picture, and other objects an error."""

from typing import Any

import numpy as np
import pytest
from expected_errors import error
from matplotlib.figure import Figure

from corefsample import ParameterError, link_tables, metric_posterior, sample_clusterings
from corefsample.calibration import calibration_error, reliability_curve
from corefsample.links import calibrate_links
from corefsample.plots import plot, reliability_figure
from corefsample.summaries import credible_ball, document_links, entity_count_posterior
from events import EventCounter, count_posterior, load_rules, simulate_documents


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    """A result of each kind by the name of its class."""
    generator = np.random.default_rng(0)
    q = generator.random(500)
    y = generator.random(500) < q
    documents = [each.document for each in simulate_documents(8, event_share=0.9, seed=2)]
    first = documents[0]
    samples = sample_clusterings(first.antecedents, n_samples=60)
    counter = EventCounter(load_rules("attack"), n_samples=50)
    counter.update(documents)
    counts = counter.counts()
    found = [
        calibration_error(q, y, n_bins=10),
        reliability_curve(q, y, n_bins=10),
        calibrate_links(link_tables(documents), n_resamples=20),
        metric_posterior(first.gold, samples),
        credible_ball(samples),
        document_links(first),
        entity_count_posterior(first),
        counts,
        count_posterior(counts, counts.events()[0][0], counts.periods()[0].label),
    ]
    return {type(each).__name__: each for each in found}


def test_every_result_has_a_picture(made: dict[str, Any]) -> None:
    for name, result in made.items():
        figure = plot(result)
        assert isinstance(figure, Figure), name
        assert any(ax.has_data() for ax in figure.get_axes()), name


def test_options_reach_the_function_and_several_results_share_a_picture(made: dict[str, Any]) -> None:
    ax = Figure().subplots()
    assert plot(made["CalibrationError"], ax=ax, title="One") is ax.figure
    assert ax.get_title(loc="left") == "One"
    curve = made["ReliabilityCurve"]
    legend = plot({"a": curve, "b": curve}).get_axes()[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]
    assert reliability_figure(curve).get_axes()[0].get_legend() is None


def test_the_bars_of_a_score_have_its_samples_and_its_interval(made: dict[str, Any]) -> None:
    posterior = made["ScoreSamples"]
    containers: Any = plot(posterior).get_axes()[0].containers
    everything, inside = (sum(bar.get_height() for bar in bars) for bars in containers)
    assert everything == posterior.n_samples
    assert inside == ((posterior.values >= posterior.lower) & (posterior.values <= posterior.upper)).sum()
    ball = made["CredibleBall"]
    containers = plot(ball).get_axes()[0].containers
    assert sum(bar.get_height() for bar in containers[1]) == round(ball.share * ball.n_samples)


@pytest.mark.parametrize("value", [None, 3, {}, [1.0], "counts.csv"])
def test_what_has_no_picture_raises(value: Any, made: dict[str, Any]) -> None:
    for each in (value, {"a": made["CredibleBall"], "b": made["DocumentLinks"]}):
        with error(ParameterError, "result"):
            plot(each)
