"""Calibration errors against NumPy's sort and against peers: 4.3 million pairs, q ~ Beta(0.1, 1), perfectly calibrated.

Peers come with the extra `bench`; one that is not installed is reported and left out.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt
from measure import Row, faster, in_turn, within

from corefsample.calibration import calibration_error
from corefsample.calibration._binning import BlockBins, block_bin_pairs
from corefsample.calibration._draws import ErrorDraws, bootstrap_draws, simulated_draws

__all__ = ["calibration_rows"]

N_PAIRS, BIN_SIZE, N_SAMPLES, N_DRAWS, N_DOCUMENTS = 4_300_000, 5000, 1000, 10_000, 350
SORT = "NumPy argsort + add.reduceat"

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Peer = Callable[[Floats, Labels, int], object]


def sorted_error(q: Floats, y: npt.NDArray[np.bool_]) -> float:
    """What one would write with NumPy: sort by prediction, then sums of every 5,000 pairs."""
    order = np.argsort(q)
    starts = np.arange(0, len(q) // BIN_SIZE * BIN_SIZE, BIN_SIZE)
    sums = np.add.reduceat(q[order], starts) - np.add.reduceat(y[order].astype(np.float64), starts)
    return float(np.sqrt(np.sum(sums**2 / np.diff(starts, append=len(q))) / len(q)))


def calibration_rows(runs: int) -> Iterator[Row]:
    rng = np.random.default_rng(0)
    q = rng.beta(0.1, 1.0, N_PAIRS)
    y = rng.random(N_PAIRS) < q

    def sort() -> float:
        return sorted_error(q, y)

    def ours() -> float:
        return calibration_error(q, y, interval=None, debiased=False).estimate

    if not np.isclose(sort(), ours(), rtol=1e-9):
        raise RuntimeError(f"both sides must find one error, got {sort()} and {ours()}")
    work = f"calibration error of {N_PAIRS / 1e6:.1f}M pairs"
    yield within(work, SORT, in_turn(ours, sort, runs), 0.5)
    blocks = block_bin_pairs(q, y, np.sort(rng.integers(0, N_DOCUMENTS, N_PAIRS)))
    name = (
        f"{N_DRAWS:,} draws of Algorithm 2 + {N_DRAWS:,} bootstraps, {N_DOCUMENTS} documents, {blocks.bins.n_bins} bins"
    )
    yield within(name, SORT, in_turn(lambda: draws(blocks), sort, runs), 2)
    yield from peer_rows(q, y.astype(np.int64), ours, blocks.bins.n_bins)


def draws(blocks: BlockBins) -> tuple[ErrorDraws, ErrorDraws]:
    return simulated_draws(blocks.bins, n_resamples=N_DRAWS), bootstrap_draws(blocks, n_resamples=N_DRAWS)


# --- peers -------------------------------------------------------------------------------------------------


def peer_rows(q: Floats, y: Labels, ours: Callable[[], float], n_bins: int) -> Iterator[Row]:
    for name, make in PEERS.items():
        try:
            peer = make()
        except ImportError as error:
            print(f"left out: {name} ({error})", file=sys.stderr)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # theirs
            sides = in_turn(ours, lambda peer=peer: peer(q, y, n_bins), 1)  # type: ignore[misc]
        yield faster(f"calibration error of {N_PAIRS / 1e6:.1f}M pairs, float q", name, sides, 1)


def scikit_learn() -> Peer:
    curve = importlib.import_module("sklearn.calibration").calibration_curve
    return lambda q, y, n_bins: curve(y, q, n_bins=n_bins, strategy="quantile")


def model_diagnostics() -> Peer:
    bias = importlib.import_module("model_diagnostics.calibration").compute_bias
    return lambda q, y, n_bins: bias(y_obs=y, y_pred=q, feature=q, n_bins=n_bins, bin_method="quantile")


def uncertainty_calibration() -> Peer:
    error = own_name("uncertainty-calibration", "calibration").lower_bound_scaling_ce
    return lambda q, y, n_bins: error(q, y, p=2, debias=False, num_bins=n_bins, mode="marginal")


def relplot() -> Peer:
    smooth_error = importlib.import_module("relplot").smECE
    return lambda q, y, n_bins: smooth_error(q, y)


def netcal() -> Peer:
    measure = importlib.import_module("netcal.metrics").ACE
    return lambda q, y, n_bins: measure(n_bins).measure(q, y)


PEERS: dict[str, Callable[[], Peer]] = {
    "scikit-learn calibration_curve, quantile": scikit_learn,
    "model-diagnostics compute_bias, quantile": model_diagnostics,
    "uncertainty-calibration lower_bound_scaling_ce": uncertainty_calibration,
    "relplot smECE": relplot,
    "netcal ACE": netcal,
}


def own_name(distribution: str, package: str) -> ModuleType:
    """Load the package of a distribution under another name, since this very module has the name of theirs."""
    try:
        found = importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError as error:
        raise ImportError(f"No module of {distribution}") from error
    folder = Path(str(found.locate_file(package)))
    name = distribution.replace("-", "_")
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"No module in {folder}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    for row in calibration_rows(5):
        print("  ".join(row.cells()))


if __name__ == "__main__":
    main()
