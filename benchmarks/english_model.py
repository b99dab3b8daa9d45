"""Make the English model that ships, and the list of the texts it was trained on: python benchmarks/english_model.py.

`english_texts` says what it is trained on. Needs GUM and LitBank beside the project; the same files give the same
bytes.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
from functools import partial
from pathlib import Path

import english_texts
from held_out_scores import ScoreCache
from transfer_study import english_fit, kept_fit

import corefsample
from corefsample.languages._language import ENGLISH
from corefsample.recalibration._shipped import chosen_recalibration, recalibration_file
from corefsample.scorers.protocol import MENTION_SOURCES

DATA = Path(__file__).parents[1] / "corefsample" / "scorers" / "log_linear" / "data"
ATTRIBUTION = (
    "GUM V11, the Georgetown University Multilayer corpus (Zeldes 2017), annotations CC BY 4.0; LitBank (Bamman, Lewke "
    "& Mansoor 2020), annotations CC BY 4.0; texts as english_sources.csv lists them"
)


def write_recalibration(folder: Path) -> None:
    """Fit the recalibrations to the documents of the model, each scored by the same recipe without its genre."""
    scores = ScoreCache(folder)
    for mentions in MENTION_SOURCES:
        kept = folder / f"fit-english-{mentions}-kinds-joint.json"
        record = kept_fit(kept, partial(english_fit, scores, mentions))
        path = recalibration_file(chosen_recalibration(None, mentions=mentions) or "")
        Path(path).write_text(json.dumps(dataclasses.replace(record, language=ENGLISH).to_json()), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recalibration", type=Path, metavar="FOLDER", help="make the recalibrations instead")
    folder = parser.parse_args().recalibration
    if folder is not None:
        write_recalibration(folder)
        return
    made_by = f"benchmarks/english_model.py, version {corefsample.__version__}"
    model = english_texts.trained(provenance={"made_by": made_by, "attribution": ATTRIBUTION})
    model.save(DATA / "english.npz", overwrite=True)
    with (DATA / "english_sources.csv").open("w", newline="", encoding="utf-8") as file:
        rows = list(english_texts.sources())
        table = csv.DictWriter(file, rows[0], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    main()
