"""Make the English model that ships, and the list of the texts it was trained on: python benchmarks/english_model.py.

Runs the command that corefsample/scorers/log_linear/data/README.md shows. Needs GUM beside the project; the same GUM
gives the same bytes.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path

from held_out_scores import ENGLISH_GENRES, ScoreCache
from transfer_study import english_fit, kept_fit

from corefsample.formats.annotated._corefud import read_corefud
from corefsample.languages._language import ENGLISH
from corefsample.recalibration._shipped import chosen_recalibration, recalibration_file
from corefsample.scorers.protocol import MENTION_SOURCES

ROOT = Path(__file__).parents[1]
TRAIN = ROOT / ".." / "shared" / "data" / "gum" / "en_gum-ud-train.conllu.gz"
DATA = ROOT / "corefsample" / "scorers" / "log_linear" / "data"
LICENCES = {
    "academic": "CC BY 4.0",
    "conversation": "CC BY",
    "court": "CC BY 4.0",
    "interview": "CC BY 2.5",
    "news": "CC BY 2.5",
    "speech": "public domain",
    "textbook": "CC BY",
    "vlog": "CC BY",
}
ATTRIBUTION = (
    "GUM V11, the Georgetown University Multilayer corpus (Zeldes 2017), annotations CC BY 4.0; "
    "texts as english_sources.csv lists them"
)
OPTIONS = [
    *("--where", f"genre={','.join(ENGLISH_GENRES)}"),
    *("--held-out-share", "0"),
    *("--epochs", "3"),
    *("--mentions", "both"),
    "--windows",
    *("--attribution", ATTRIBUTION),
]


def write_recalibration(folder: Path) -> None:
    """Fit the recalibrations to the documents of the model, each scored by the same recipe without its genre."""
    scores = ScoreCache(folder)
    for mentions in MENTION_SOURCES:
        kept = folder / f"fit-english-{mentions}-kinds-joint.json"
        record = kept_fit(kept, partial(english_fit, scores, mentions))
        place = recalibration_file(chosen_recalibration(None, mentions=mentions) or "")
        content = dataclasses.replace(record, language=ENGLISH).to_json()
        Path(place).write_text(json.dumps(content), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recalibration", type=Path, metavar="FOLDER", help="make the recalibrations instead")
    folder = parser.parse_args().recalibration
    if folder is not None:
        write_recalibration(folder)
        return
    options = [*OPTIONS, "--out", str(DATA / "english.npz"), "--overwrite"]
    print(shlex.join(["corefsample", "train", TRAIN.name, *OPTIONS, "--out", "english.npz"]))
    subprocess.run(
        [sys.executable, "-m", "events.commands", "train", str(TRAIN.resolve()), *options], check=True, cwd=ROOT
    )
    (DATA / "english.npz.training.json").unlink()  # the model contains what matters of it
    with (DATA / "english_sources.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["doc_id", "genre", "licence", "author", "title", "source"])
        for document in read_corefud(TRAIN):
            notes = {key.removeprefix("meta::"): value for key, value in document.metadata.items()}
            genre = notes["genre"]
            if genre in ENGLISH_GENRES:
                author = notes.get("author") or notes.get("speakerList") or ""
                row = [document.doc_id, genre, LICENCES[genre], author, notes.get("title", ""), notes["sourceURL"]]
                table.writerow(row)


if __name__ == "__main__":
    main()
