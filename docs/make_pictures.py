"""Make the pictures of docs/pictures.md from simulated news: ``python docs/make_pictures.py [FOLDER]``.

Without a folder they are written beside this file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from corefsample import ScoredDocument, plots
from corefsample.calibration import ReliabilityCurve, calibration_error, reliability_curve
from corefsample.calibration._error import CalibrationError
from corefsample.links import calibrate_links
from corefsample.links._calibration import link_tables
from corefsample.summaries import document_links, entity_count_posterior
from events import EventCounter, load_lexicon, load_rules, plots as event_plots, simulate_documents
from events.counts._distributions import count_posterior
from events.counts._event_counts import EventCounts

N_DOCUMENTS = 1500
PAIR = ("YUG", "X-NATO")


def counted() -> EventCounts:
    """Attacks by country and quarter in simulated news."""
    counter = EventCounter(load_rules("attack", preset="extended"), n_samples=1000, seed=0)
    counter.update(each.document for each in simulate_documents(N_DOCUMENTS, event_share=0.3))
    return counter.counts()


def links_of(temperature: float, n_documents: int = 60) -> Iterable[ScoredDocument]:
    """Simulated documents whose scores would have to be divided by the temperature."""
    return (each.document for each in simulate_documents(n_documents, temperature=temperature))


def event_pictures(counts: EventCounts) -> dict[str, Figure]:
    """Pictures of counts."""
    names = dict(load_lexicon().names)
    table = counts.to_frame()
    open_counts = table.sort_values("sd", ascending=False).iloc[0]
    posterior = count_posterior(counts, open_counts["actor"], open_counts["period"])
    return {
        "bands": event_plots.event_bands(table, names=names, most=6),
        "comparison": event_plots.actor_comparison(table, counts.compare(*PAIR), names=names),
        "count": event_plots.count_bars(posterior).figure,
    }


def curves() -> dict[str, ReliabilityCurve]:
    """Reliability of one simulated model with three temperatures."""
    models = {"calibrated": 1.0, "overconfident": 2.0, "underconfident": 0.6}
    tables = {name: link_tables(links_of(temperature)) for name, temperature in models.items()}
    return {
        name: reliability_curve(links.q, links.y, documents=links.documents, n_bins=10, strategy="uniform")
        for name, links in tables.items()
    }


def tag_errors() -> dict[str, CalibrationError]:
    """Calibration error of each tag of an invented tagger with 20 tags; rarer tags are more overconfident."""
    rng = np.random.default_rng(5)
    codes = rng.choice(20, 40_000, p=np.arange(20, 0, -1) / 210)
    scores = rng.beta(0.6, 0.6, codes.size)
    labels = rng.random(codes.size) < scores ** (1.0 + 0.04 * codes)
    documents = rng.integers(0, 200, codes.size)
    errors = {}
    for code in range(20):
        rows = (codes == code) & (scores >= 0.01)
        errors[f"tag {chr(97 + code)}"] = calibration_error(
            scores[rows], labels[rows], bin_size=200, documents=documents[rows], n_resamples=500
        )
    return errors


def calibration_pictures() -> dict[str, Figure]:
    """Pictures of calibration."""
    links = calibrate_links(link_tables(links_of(2.0)), bin_size=2000, n_resamples=1000)
    return {
        "reliability": plots.reliability_figure(curves(), title="Three simulated models"),
        "errors": plots.calibration_error_dots(links, title="Link probabilities, overconfident").figure,
        "tags": plots.calibration_error_dots(tag_errors(), title="A simulated tagger").figure,
    }


def document_pictures() -> dict[str, Figure]:
    """Pictures of one document."""
    document = next(iter(simulate_documents(1, seed=7, median_mentions=60.0, event_share=1.0))).document
    return {
        "links": plots.link_heat_map(document_links(document, by="gold", smallest=2)).figure,
        "entities": plots.plot(entity_count_posterior(document)),
        "network": plots.link_network(document_links(document)).figure,
    }


def main(folder: Path) -> None:
    """Make every picture."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {
        **event_pictures(counted()),
        **calibration_pictures(),
        **document_pictures(),
    }
    for name, figure in pictures.items():
        plots.save_figure(figure, folder / f"picture-{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
