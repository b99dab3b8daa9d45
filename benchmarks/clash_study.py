"""How strong should the penalty of clashes be? python benchmarks/clash_study.py [--nats 0 2.5 5 10] [--processes 2].

A link of one person and several ("he" and "the rebels") has its score reduced by a constant, which is not fitted. This
compares others on GUM's train documents, cross-validated: for each block of three genres a model is trained
without it and scores it. Every setting has a process that compiles its own kernels, because they contain the constant.
"""

from __future__ import annotations

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import held_out_scores as held_out
import pandas as pd
from link_kinds import links_by_kind
from numba.core.caching import NullCache

from corefsample import ScoredDocument, _jit
from corefsample.recalibration import RecalibrationFitter
from corefsample.recalibration._model import Recalibration
from corefsample.scorers import score_documents
from corefsample.scorers.log_linear import _feature_codes as codes
from corefsample.scorers.log_linear._training import train

LINKS = (("he or she", "plural noun"), ("he or she", "singular noun"), ("they", "name"))


def held_out_documents() -> list[ScoredDocument]:
    """Train documents by models that did not see their block of genres, with all candidates."""
    documents = held_out.gum(("train",))
    scored = []
    for block in held_out.blocks():
        seen = [each for each in documents if held_out.genre_of(each.doc_id) not in block]
        model = train(seen, epochs=held_out.EPOCHS, orders=1)
        unseen = [each for each in documents if held_out.genre_of(each.doc_id) in block]
        scored += score_documents(model, unseen, min_prob=0.0)
    return scored


def figures(nats: float) -> dict[str, object]:
    """Mean -log P(gold antecedents) per mention with one setting, and expected and true numbers of some links."""
    for each in _jit._kernels:
        each._cache = NullCache()
    codes.CLASH_PENALTY = nats  # type: ignore[misc]
    documents = held_out_documents()
    row: dict[str, object] = {"nats": nats}
    row["nll"] = RecalibrationFitter(documents).fit().score_before
    by_kind = links_by_kind(documents, [Recalibration()] * len(documents)).set_index(["kind", "earlier"])
    for kind, earlier in LINKS:
        links = by_kind.loc[(kind, earlier)]
        row[f"{kind}, {earlier}"] = f"{links['expected']:.1f} of {links['true']:.0f}"
    return row


def main() -> None:
    """Print one row for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nats", type=float, nargs="+", default=[0.0, 2.5, 5.0, 10.0])
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(arguments.processes, mp_context=spawned, max_tasks_per_child=1) as pool:
        rows = []
        for row in pool.map(figures, arguments.nats):
            rows.append(row)
            print(row, flush=True)
    print(pd.DataFrame(rows).round(5).to_string(index=False))


if __name__ == "__main__":
    main()
