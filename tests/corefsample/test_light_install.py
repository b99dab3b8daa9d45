"""Work on arrays alone loads no library for texts, files or pictures."""

from __future__ import annotations

import subprocess
import sys

import pytest
from places import PROJECT

# Libraries that only documents, tables, files, pictures or commands need. (Numba itself loads PyYAML.)
NOT_FOR_ARRAYS = (
    "spacy",
    "matplotlib",
    "pyarrow",
    "pandas",
    "networkx",
    "sklearn",
    "dask",
    "fsspec",
    "jinja2",
    "click",
    "rich",
)

CALIBRATION = """
from corefsample import calibration
q, y = np.tile([0.2, 0.8], 50), np.tile([False, True], 50)
calibration.calibration_error(q, y, bin_size=10)
calibration.reliability_curve(q, y, bin_size=10)
calibration.brier_score(q, y)
"""
COREFERENCE = """
import corefsample as cs
antecedents = cs.AntecedentDistribution.from_lists([[], [0], [0, 1]], [[], [0.5], [0.1, -0.3]])
samples = cs.sample_clusterings(antecedents, n_samples=10)
cs.link_marginals(antecedents), cs.root_posterior(antecedents), cs.entity_count_pmf(antecedents)
cs.clustering_log_prob(antecedents, samples.labels[0])
"""
TAGGING = """
from corefsample import tagging
chain = tagging.LinearChain.from_scores(np.zeros((4, 2)), np.zeros((2, 2)))
chain.marginals(), chain.sample(5), chain.map()
"""


@pytest.mark.parametrize("program", [CALIBRATION, COREFERENCE, TAGGING], ids=["calibration", "coreference", "tagging"])
def test_work_on_arrays_needs_numpy_scipy_numba_and_lazy_loader_only(program: str) -> None:
    """A module that is None in sys.modules cannot be imported."""
    missing = (*NOT_FOR_ARRAYS, "msgspec", "yaml")
    lines = ["import sys", f"sys.modules |= dict.fromkeys({missing!r})", "import numpy as np", program]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], cwd=PROJECT, check=True, capture_output=True)


@pytest.mark.parametrize("program", [CALIBRATION, "import corefsample, corefsample.tagging, events", "import jinja2"])
def test_no_library_for_texts_files_or_pictures_is_loaded(program: str) -> None:
    ending = f"print(*(name for name in {NOT_FOR_ARRAYS!r} if name in sys.modules))"
    arguments = [sys.executable, "-c", "\n".join(["import sys", "import numpy as np", program, ending])]
    found = subprocess.run(arguments, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.split()
    assert found == (["jinja2"] if "jinja2" in program else [])  # a library that is loaded is found
