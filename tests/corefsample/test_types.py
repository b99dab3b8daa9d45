"""What users pass is typed as what is accepted: mypy --strict accepts the examples of docs/my-system.md."""

from pathlib import Path

import pytest

USER = """
import numpy as np
from corefsample import AntecedentDistribution, ScoredDocument

mentions = [(0, 1, 0), (2, 3, 2)]
antecedents = AntecedentDistribution.from_lists([[], [0]], [[], [1.5]])
documents = [ScoredDocument("a", mentions, antecedents, gold=gold) for gold in (np.array([1, 1]), ["x", None])]
table = documents[0].to_frame()
"""


def test_lists_of_tuples_and_arrays_of_numpy_are_accepted_by_mypy(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    (tmp_path / "user.py").write_text(USER)
    found, _, status = api.run(["--strict", "--cache-dir", str(tmp_path / "cache"), str(tmp_path / "user.py")])
    assert status == 0, found
