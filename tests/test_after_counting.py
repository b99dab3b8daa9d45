"""The page on what to do with counts: its blocks run one after the other, and its formulas are those of the papers."""

import math
from importlib.util import find_spec
from typing import Any

import numpy as np
import places
import pytest
from scipy.stats import nbinom

from events.commands.demo import DemoOptions, run_demo

PAGE = places.PROJECT / "docs" / "after-counting.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the pages are beside the sources alone")


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Names that the blocks define."""
    folder = tmp_path_factory.mktemp("after")
    run_demo(DemoOptions(out=str(folder / "corefsample-demo"), n_documents=100))
    defined: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in places.blocks(PAGE, "python"):
            if "to_arviz" not in block or find_spec("arviz_base"):  # an extra
                exec(block, defined)
    return defined


def test_the_blocks_of_the_page_run(blocks: dict[str, Any]) -> None:
    counts, samples = blocks["counts"], blocks["samples"]
    assert counts.shape == (1000, len(samples.periods))
    assert counts.sum() == samples.counts.sum(axis=(0, 2)).max()
    assert blocks["table"].shape == ((samples.n_docs > 0).sum(), 3)
    assert (blocks["shares"] * samples.n_docs[samples.n_docs > 0] == counts[:, samples.n_docs > 0]).all()


def test_uncertain_counts_widen_the_error_as_rubin_says(blocks: dict[str, Any]) -> None:
    """Two fits, 1 and 3 with standard errors 1 and 2: within 2.5, between 1.5 * 2 = 3."""
    slope, error, _ = blocks["pooled"]([1.0, 3.0], [1.0, 2.0], 12)
    assert (slope, error) == pytest.approx((2.0, math.sqrt(5.5)))


def test_the_probability_of_a_change_is_that_of_the_two_marginal_likelihoods(blocks: dict[str, Any]) -> None:
    """A count with a Gamma rate is negative binomial, given the counts before it."""
    numbers, exposure = np.array([0, 1, 4, 6]), np.array([10.0, 20.0, 10.0, 30.0])
    prior = 0.5, 0.5 * exposure.sum() / numbers.sum()

    def likelihood(part: slice) -> float:
        (shape, rate), product = prior, 1.0
        for n, e in zip(numbers[part], exposure[part], strict=True):
            product *= float(nbinom.pmf(n, shape, rate / (rate + e)))
            shape, rate = shape + n, rate + e
        return product

    by_hand = np.array([likelihood(slice(0, k)) * likelihood(slice(k, 4)) for k in (1, 2, 3)])
    np.testing.assert_allclose(blocks["change_points"](numbers, exposure), by_hand / by_hand.sum())
