"""Documents that are held out of a training."""

import math
from typing import Any

from hypothesis import given, strategies as st

from corefsample.scorers._loading import held_out_ids


@given(st.sets(st.text(min_size=1, max_size=5), min_size=2, max_size=30), st.floats(0.01, 0.4), st.randoms())
def test_held_out_documents_depend_only_on_names_and_seed(names: set[str], share: float, random: Any) -> None:
    order = sorted(names)
    held_out = held_out_ids(order, share, seed=3)
    assert len(held_out) == math.ceil(share * len(names))
    assert held_out <= names
    random.shuffle(order)
    assert held_out_ids(order, share, seed=3) == held_out
