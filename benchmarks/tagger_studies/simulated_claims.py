"""Two claims of the paper about bands of event counts, tried on simulated news whose truth is known.

Footnote 11: 10 samples give results like those of 100, and so does the number of entities that fulfil f, instead of
documents that have one. Section 6.2: an overconfident scorer gives intervals that are
too narrow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from corefsample._arrays import Floats
from corefsample.documents._scored import ScoredDocument, gold_codes
from corefsample.plots.style import COLOURS, MARKERS
from events import EventCounter, load_lexicon, load_rules, simulate_documents
from events.evidence._true_events import TrueEvents
from events.matching._matching import match_document
from tagger_studies.results import DOES_NOT_HOLD, HOLDS, NOT_DECIDED, Output, ends_of, holds, ratio, resamples, shown

N_DOCUMENTS, N_SAMPLES = 1000, (10, 100, 1000)
TEMPERATURES = {"underconfident": 0.5, "calibrated": 1.0, "overconfident": 2.0}
SIMULATED: dict[str, Any] = {"event_share": 1.0, "median_mentions": 60, "seed": 7}
LEVEL, Z = 0.95, 1.96
MARGIN = 1.1  # a ratio below it, and above its inverse, is called similar
CELL = ["actor", "period"]
Bands = dict[tuple[str, int], pd.DataFrame]  # by scorer and number of samples
Share = tuple[float, tuple[float, float]]


def run(output: Output) -> None:
    """Run the study `simulated-claims`."""
    n_documents = 200 if output.quick else N_DOCUMENTS
    bands: Bands = {}
    for model, temperature in TEMPERATURES.items():
        bands |= read_news(n_documents, model, temperature)
    bands = common_cells(bands)
    sample_study(bands, output)
    entity_study(n_documents, output)
    confidence_study({model: bands[model, 100] for model in TEMPERATURES}, output)
    output.write_claims("simulated-claims")


def read_news(n_documents: int, model: str, temperature: float) -> Bands:
    """Bands of every country and quarter by the paper's definition of an event, with the true counts."""
    rule, lexicon = load_rules("attack", preset="paper"), load_lexicon()
    documents = [each.document for each in simulate_documents(n_documents, temperature=temperature, **SIMULATED)]
    truth = TrueEvents(rule, lexicon)
    truth.update(documents)
    bands = {}
    for n_samples in N_SAMPLES if model == "calibrated" else N_SAMPLES[1:2]:
        counter = EventCounter(rule, lexicon, n_samples=n_samples)
        counter.update(documents)
        bands[model, n_samples] = bands_of(counter, truth.to_frame().groupby(CELL).size())
    return bands


def bands_of(counter: EventCounter, true: pd.Series) -> pd.DataFrame:
    """Bands of counts and their truth, including true counts without any evidence."""
    exact = counter.counts().to_frame().set_index(CELL)
    # mean +- z s, as the paper: s is the standard deviation among the samples.
    normal = counter.counts(interval="normal").to_frame().set_index(CELL)
    table = exact[["mean", "sd", "lower", "upper"]].assign(
        s=(normal["upper"] - normal["lower"]) / (2.0 * Z), normal_lower=normal["lower"], normal_upper=normal["upper"]
    )
    return table.join(true.rename("truth"), how="outer").fillna(0.0)


def common_cells(bands: Bands) -> Bands:
    """The same countries and quarters in all bands: those that some band is uncertain or wrong about."""
    cells = pd.MultiIndex.from_tuples(
        sorted(
            {cell for band in bands.values() for cell in band.index[(band["s"] > 0) | (band["mean"] != band["truth"])]}
        ),
        names=CELL,
    )
    truth = next(iter(bands.values()))["truth"].reindex(cells, fill_value=0.0)
    return {key: band.reindex(cells, fill_value=0.0).assign(truth=truth) for key, band in bands.items()}


# --- 10 samples against 100 --------------------------------------------------------------------------------


def sample_study(bands: Bands, output: Output) -> None:
    best = bands["calibrated", N_SAMPLES[-1]]
    rows = []
    for n_samples in N_SAMPLES:
        band = bands["calibrated", n_samples]
        rows.append(
            {
                "samples": n_samples,
                "counts with evidence": int((band["mean"] > 0).sum()),
                "true events in counts without": int(band["truth"][band["mean"] == 0].sum()),
                "mean s (among samples)": float(band["s"].mean()),
                "mean sd (Poisson-binomial)": float(band["sd"].mean()),
                "RMS change of the mean": root_mean_square(band["mean"] - best["mean"]),
                "RMS change of s": root_mean_square(band["s"] - best["s"]),
                "coverage of mean +- 1.96 s": shown(*coverage(band), 3),
                "of quantile intervals": shown(*coverage(band, "quantile"), 3),
            }
        )
    table = pd.DataFrame(rows)
    title = f"Bands of 10, 100 and 1,000 samples, calibrated scorer, {len(best)} counts; changes against 1,000"
    output.table("simulated-samples", title, table, 3)
    few, many = (bands["calibrated", n_samples] for n_samples in (10, 100))
    change = coverage_difference(few, many)
    shift = table["RMS change of the mean"] / best["s"].mean()
    here = f"coverage {shown(*coverage(few), 3)} against {shown(*coverage(many), 3)}, difference {shown(*change, 3)}; "
    here += f"a mean moves by {shift[0]:.0%} of s with 10 samples, {shift[1]:.0%} with 100"
    same = NOT_DECIDED if change[1][0] <= 0.0 <= change[1][1] else DOES_NOT_HOLD
    output.claim("10 samples give bands like 100", "footnote 11: similar", here, same)


def root_mean_square(changes: pd.Series) -> float:
    return float(np.sqrt(np.mean(changes**2)))


# --- entities instead of documents ------------------------------------------------------------------------


class NumberOfEntities:
    """How many entities of a clustering fulfil f for each country: described as it alone, and agent of an attack."""

    def __init__(self) -> None:
        self.rule, self.lexicon = load_rules("attack", preset="paper"), load_lexicon()

    def __call__(self, document: ScoredDocument, labels: np.ndarray) -> dict[str, np.ndarray]:
        assert document.tokens is not None
        matches = match_document(document.tokens, document.mentions, self.rule, self.lexicon, document.date)
        agents = np.unique(matches.instances)
        entities = labels[:, agents[agents >= 0]]  # (n_samples, n_agents)
        is_first = np.ones(entities.shape, bool)  # agent of an entity that no earlier one belongs to
        for k in range(1, entities.shape[1]):
            is_first[:, k] = (entities[:, :k] != entities[:, k : k + 1]).all(axis=1)
        described = [matches.described_mentions[matches.described_actors == c] for c in range(len(matches.actors))]
        is_of = [(entities[:, :, None] == labels[:, None, each]).any(axis=2) for each in described]
        n_codes = sum(each.astype(int) for each in is_of)
        return {
            code: (is_first & each & (n_codes == 1)).sum(axis=1)
            for code, each in zip(matches.actors, is_of, strict=True)
        }


def entity_study(n_documents: int, output: Output) -> None:
    """Numbers of entities and of documents, by the same samples: their means, and how often intervals are right."""
    n_entities = NumberOfEntities()
    of_documents = EventCounter(n_entities.rule, n_entities.lexicon, n_samples=100)
    of_entities = EventCounter(predicate=n_entities, n_samples=100)
    truth, rows = TrueEvents(n_entities.rule, n_entities.lexicon), []
    for each in simulate_documents(n_documents, temperature=1.0, **SIMULATED):
        document = each.document
        for counter in (of_documents, of_entities, truth):
            counter.add(document)
        gold = gold_codes(document, "single")[None, :]
        quarter = str(pd.Period(document.date, freq="Q"))
        rows += [(code, quarter, int(number[0])) for code, number in n_entities(document, gold).items()]
    numbers = pd.DataFrame(rows, columns=[*CELL, "truth"]).groupby(CELL)["truth"].sum()
    pair = {
        ("documents", 100): bands_of(of_documents, truth.to_frame().groupby(CELL).size()),
        ("entities", 100): bands_of(of_entities, numbers),
    }
    cells = sorted({cell for band in pair.values() for cell in band.index[band["s"] > 0]})
    documents, entities = (band.reindex(cells, fill_value=0.0) for band in pair.values())
    means = by_quarter(documents, documents["mean"])
    factor = ratio(by_quarter(entities, entities["mean"]), means, len(means))
    here = f"sum of entities / sum of documents {shown(*factor, 3)}, "
    here += f"correlation of means {np.corrcoef(documents['mean'], entities['mean'])[0, 1]:.3f}; coverage of mean +- "
    here += f"1.96 s: entities {shown(*coverage(entities), 3)}, documents {shown(*coverage(documents), 3)}"
    low, high = factor[1]
    similar = HOLDS if low > 1 / MARGIN and high < MARGIN else DOES_NOT_HOLD if low > MARGIN else NOT_DECIDED
    output.claim("counts of entities are like those of documents", "footnote 11: similar", here, similar)


# --- overconfident scorers ---------------------------------------------------------------------------------


def confidence_study(bands: dict[str, pd.DataFrame], output: Output) -> None:
    rows = []
    shares = {model: coverage(band) for model, band in bands.items()}
    for model, band in bands.items():
        misses, spread = by_quarter(band, (band["truth"] - band["mean"]) ** 2), by_quarter(band, band["s"] ** 2)
        weights = resamples(len(misses))
        draws = np.sqrt((weights @ misses) / (weights @ spread))
        rows.append(
            {
                "scorer": model,
                "temperature": TEMPERATURES[model],
                "mean s of a count": float(band["s"].mean()),
                "RMS error of the mean / RMS s": shown(float(np.sqrt(misses.sum() / spread.sum())), ends_of(draws), 2),
                "coverage of mean +- 1.96 s": shown(*shares[model], 3),
                "of quantile intervals": shown(*coverage(band, "quantile"), 3),
            }
        )
    output.table("simulated-confidence", "Scorers of other confidence, 100 samples", pd.DataFrame(rows), 3)
    change = coverage_difference(bands["overconfident"], bands["calibrated"])
    here = f"coverage {shown(*shares['overconfident'], 3)}, calibrated {shown(*shares['calibrated'], 3)}, "
    here += f"difference {shown(*change, 3)}"
    claim = "intervals of an overconfident scorer are too narrow"
    output.claim(claim, "section 6.2: expected", here, holds(change[1], True))
    output.figure("study-simulated", figure_of(shares))


def covered(band: pd.DataFrame, kind: str = "normal") -> pd.Series:
    """Whether the interval of each count contains the truth."""
    lower, upper = ("normal_lower", "normal_upper") if kind == "normal" else ("lower", "upper")
    return band["truth"].between(band[lower], band[upper])


def by_quarter(band: pd.DataFrame, values: pd.Series) -> Floats:
    """Sums by quarter, whose documents are not shared."""
    return values.astype(float).groupby(band.index.get_level_values("period")).sum().to_numpy()


def coverage(band: pd.DataFrame, kind: str = "normal") -> Share:
    """Share of counts whose interval contains the truth, with an interval by quarter."""
    inside = by_quarter(band, covered(band, kind))
    return ratio(inside, by_quarter(band, band["truth"] >= 0.0), len(inside))


def coverage_difference(one: pd.DataFrame, other: pd.DataFrame) -> Share:
    """Coverage of one band minus that of the other, of the same counts, with an interval by quarter."""
    change = by_quarter(one, covered(one).astype(float) - covered(other))
    return ratio(change, by_quarter(one, one["truth"] >= 0.0), len(change))


def figure_of(shares: dict[str, tuple[float, tuple[float, float]]]) -> Figure:
    figure = Figure(figsize=(4.6, 3.4), layout="constrained")
    ax = figure.subplots()
    ax.axhline(LEVEL, color="0.5", linewidth=0.9, linestyle=(0, (4, 2)))
    for k, (share, ends) in enumerate(shares.values()):
        ax.vlines(k, *ends, color=COLOURS[k])
        ax.plot(k, share, MARKERS[k], color=COLOURS[k])
    ax.set_xticks(range(len(shares)), list(shares))
    ax.set_xlim(-0.5, len(shares) - 0.5)
    ax.set_ylabel("95% interval contains the true count")
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.spines[["top", "right"]].set_visible(False)
    return figure
