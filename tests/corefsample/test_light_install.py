"""Work on arrays alone loads no library for texts, files or pictures."""

import re
import subprocess
import sys

import pytest
from places import PROJECT

from corefsample._lazy import explained, requirements

# Libraries that only documents, tables, files, pictures or commands need. (Numba itself loads PyYAML.)
NOT_FOR_ARRAYS = ("spacy", "matplotlib", "pyarrow", "pandas", "networkx", "dask", "fsspec", "jinja2", "click")

CALIBRATION = """
from corefsample import calibration
q, y = np.tile([0.2, 0.8], 50), np.tile([False, True], 50)
calibration.calibration_error(q, y, bin_size=10)
calibration.reliability_curve(q, y, bin_size=10)
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


@pytest.mark.parametrize(
    ("program", "package"),
    [
        ("from corefsample import read_documents", "msgspec"),
        ("from corefsample.plots import reliability_figure", "matplotlib"),
        ("from events import EventCounter", "pyarrow"),
        ("import runpy; runpy.run_module('corefsample', run_name='__main__')", "click"),
    ],
)
def test_one_line_says_what_is_missing_for_texts_pictures_and_the_program(program: str, package: str) -> None:
    missing = f"sys.modules |= dict.fromkeys({(*NOT_FOR_ARRAYS, 'msgspec', 'yaml')!r})"
    code = "\n".join(["import sys", missing, program])
    found = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    line = found.stderr.splitlines()[-1]
    assert f" needs {package}, which is not installed (python -m pip install '{package}>=" in line
    assert len(found.stderr.splitlines()) == 1 or not program.startswith("import runpy")


def test_results_are_shown_without_pandas_and_say_what_tables_need() -> None:
    missing = f"import sys; sys.modules |= dict.fromkeys({NOT_FOR_ARRAYS!r})"
    lines = [missing, "import corefsample as cs", "antecedents = cs.AntecedentDistribution.from_lists([[]], [[]])"]
    lines += ["print(antecedents._repr_html_())"]
    lines += ["try:", "    antecedents.to_frame()", "except ModuleNotFoundError as error:", "    print(error)"]
    run = [sys.executable, "-c", "\n".join(lines)]
    shown, line = subprocess.run(run, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert shown.startswith("<pre>")
    assert line.startswith("this call needs pandas, which is not installed (python -m pip install 'pandas>=")


def test_other_missing_modules_are_errors_as_ever() -> None:
    error = ModuleNotFoundError("No module named 'no_such'", name="no_such.part")
    assert explained(error, "corefsample") is error


def test_the_packages_of_the_engine_are_those_of_the_project() -> None:
    listed = [line for line in (PROJECT / "engine-requirements.txt").read_text("utf-8").splitlines() if line[0] != "#"]
    needed, _ = requirements()
    assert {re.split("[<>=]", each)[0] for each in listed} == {"lazy-loader", "numba", "numpy", "scipy"}
    assert set(listed) <= set(needed)
