"""Make the Spanish models that ship, and a recalibration: python benchmarks/spanish_model.py.

Runs the commands that docs/languages.md shows. --recalibration FOLDER makes the recalibration for mentions of the parse
instead, from scores of five folds, each by the same recipe without the fold, which FOLDER keeps. --compare FOLDER
prints the accuracy of such scores of either model, and what forms and objectives of a recalibration make of documents
that they were not fitted to: ten folds of the documents of the same scores. Needs AnCora, part 1, beside the project;
the same file gives the same bytes.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from language_study import ANCORA, calibration_error, conll, link_pairs

from corefsample import ScoredDocument, read_documents
from corefsample.formats.annotated._corefud import read_corefud
from corefsample.recalibration import RecalibrationFitter
from corefsample.recalibration._fitter import Form
from corefsample.recalibration._losses import Objective
from corefsample.recalibration._uncertain import SPANISH, UncertainRecalibration, recalibration_file
from corefsample.scorers.protocol import MENTION_SOURCES, SHIPPED as SHIPPED_SCORERS, MentionSource

ROOT = Path(__file__).parents[1]
DATA = ROOT / "corefsample" / "scorers" / "log_linear" / "data"
TRAINED_ON: dict[MentionSource, str] = {"annotated": "annotated", "parse": "both"}  # mentions to train on
FOLDS, COMPARED_FOLDS, N_REFITS = 5, 10, 100
SHIPPED: tuple[Form, Objective] = ("kinds", "links-log")
COMPARED: tuple[tuple[Form, Objective], ...] = (
    ("global", "likelihood"),
    ("global", "links-log"),
    ("kinds", "likelihood"),
    ("kinds", "links-log"),
)


def run(*arguments: str) -> None:
    """Run a command of corefsample."""
    subprocess.run([sys.executable, "-m", "events.commands", *arguments], check=True, cwd=ROOT)


def out_of_fold(folder: Path, mentions: MentionSource) -> list[ScoredDocument]:
    """The documents of the model, each scored by the same recipe without its fold; kept in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = (folder / f"spanish-{mentions}.jsonl.gz").resolve()
    if not path.exists():
        of_model = ("--model", "es", "--folds", str(FOLDS), "--mentions", mentions)
        run("score", str(ANCORA.resolve()), *of_model, "--out", str(path))
    return [document for document in read_documents(path) if document.gold is not None and any(document.gold)]


def fitter_of(documents: Sequence[ScoredDocument], form: Form, objective: Objective) -> RecalibrationFitter:
    """Fits to documents; a phrase of the parse that is not annotated is of no entity but its own."""
    return RecalibrationFitter(documents, objective=objective, form=form, unannotated="single")


def link_log_loss(documents: Sequence[ScoredDocument]) -> float:
    """Log loss of the link marginals of all pairs of mentions, in nats per mention."""
    q, y = link_pairs(documents)
    q = np.clip(q, 1e-12, 1 - 1e-12)
    total = -float(np.where(y, np.log(q), np.log1p(-q)).sum())
    return total / sum(document.n_mentions for document in documents)


def compared(documents: Sequence[ScoredDocument]) -> pd.DataFrame:
    """What recalibrations make of documents that they were not fitted to."""
    rows = [("as scored", "", calibration_error(documents), link_log_loss(documents))]
    for form, objective in COMPARED:
        fitter = fitter_of(documents, form, objective)
        crossed = fitter.cross_fit(COMPARED_FOLDS)
        fold_of = dict(zip(crossed.doc_ids, crossed.folds.tolist(), strict=True))
        changed = [crossed.recalibrations[fold_of[each.doc_id]].apply_document(each) for each in documents]
        rows.append((form, objective, calibration_error(changed), link_log_loss(changed)))
    return pd.DataFrame(rows, columns=["form", "objective", "calibration error", "log loss of links"])


def write_recalibration(documents: Sequence[ScoredDocument]) -> None:
    """Fit the recalibration that ships, and its refits."""
    fitter = fitter_of(documents, *SHIPPED)
    found = UncertainRecalibration(fitter.fit().recalibration, fitter.bootstrap(N_REFITS))
    place = Path(recalibration_file(SPANISH))
    place.write_text(json.dumps(dataclasses.replace(found, language="es").to_json()), encoding="utf-8")
    print(f"{place.name}: {found.recalibration}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recalibration", type=Path, metavar="FOLDER", help="make the recalibrations instead")
    parser.add_argument("--compare", type=Path, metavar="FOLDER", help="compare recalibrations instead")
    arguments = parser.parse_args()
    folder = arguments.recalibration or arguments.compare
    if folder is None:
        for source, trained_on in TRAINED_ON.items():
            options = ["--held-out-share", "0", "--epochs", "3", "--mentions", trained_on, "--windows"]
            name = SHIPPED_SCORERS["es"][source]
            print(shlex.join(["corefsample", "train", ANCORA.name, *options, "--out", name]))
            run("train", str(ANCORA.resolve()), *options, "--out", str(DATA / name), "--overwrite")
            (DATA / f"{name}.training.json").unlink()  # the model contains what matters of it
        return
    if arguments.recalibration is not None:  # none lowers the log loss of the other model: --compare
        write_recalibration(out_of_fold(folder, "parse"))
        return
    key = {document.doc_id: document for document in read_corefud(ANCORA)}
    for mentions in MENTION_SOURCES:
        documents = out_of_fold(folder, mentions)
        accuracy = conll(documents, [key[document.doc_id] for document in documents])
        print(f"\n{mentions}: {len(documents)} documents, CoNLL {accuracy:.1f}")
        print(compared(documents).round(4).to_string(index=False))


if __name__ == "__main__":
    main()
