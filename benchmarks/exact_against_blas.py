"""Seconds of exact link marginals and of a matrix product: python benchmarks/exact_against_blas.py RUNS.

benchmarks/run.py starts it with one thread for BLAS, which reads its setting when NumPy is loaded.
"""

from __future__ import annotations

import json
import sys

import numpy as np
from measure import in_turn

from corefsample import AntecedentDistribution, link_marginals

N_MENTIONS = 1_000


def main() -> None:
    rng = np.random.default_rng(0)
    indptr = np.concatenate(([0], np.cumsum(np.arange(N_MENTIONS))))
    antecedents = np.concatenate([np.arange(i) for i in range(N_MENTIONS)])
    dense = AntecedentDistribution.from_csr(indptr, antecedents, rng.normal(-4.0, 2.0, len(antecedents)))
    left, right = rng.random((2, N_MENTIONS, N_MENTIONS))
    sides = in_turn(lambda: link_marginals(dense), lambda: left @ right, 10 * int(sys.argv[1]))
    print(json.dumps(sides))


if __name__ == "__main__":
    main()
