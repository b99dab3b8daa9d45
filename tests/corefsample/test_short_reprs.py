"""Results show four digits of their numbers."""

import pytest

from corefsample import AntecedentDistribution, ScoredDocument, link_tables
from corefsample.calibration import reliability_curve
from corefsample.links import compare_links
from corefsample.metrics._scores import Score
from events.audit import estimate_total

PAIR = AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])
DOCUMENTS = [ScoredDocument(name, [[0, 1, 0], [1, 2, 1]], PAIR, gold=[1, 1]) for name in "ab"]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (
            compare_links(link_tables(DOCUMENTS), link_tables(DOCUMENTS), n_resamples=9),
            "PairedComparison(second - first: calibration error 0 [0, 0], log score 0 [0, 0], refinement 0 [0, 0]; ",
        ),
        (link_tables(DOCUMENTS), "LinkTables(n_documents=2, n_pairs=2, 100% coreferent)"),
        (
            reliability_curve([0.9] * 80, [1] * 20 + [0] * 60),
            "ReliabilityCurve(n_pairs=80, n_bins=1, of which 1 overconfident and 0 underconfident)",
        ),
        (Score(1 / 3, 2 / 3, 4 / 9), "Score(recall=0.3333, precision=0.6667, f1=0.4444)"),
        (
            estimate_total([1, 40], [100, 45], [1000, 50]),
            "TotalEstimate(estimate=54.44, lower=41, upper=90, level=0.95, method='mid-p', ",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_numbers_have_four_digits(result: object, expected: str) -> None:
    assert repr(result).startswith(expected)
