"""Make the English model that ships, and the list of the texts it was trained on: python benchmarks/english_model.py.

`english_texts` says what it is trained on. Needs GUM and LitBank beside the project; the same files give the same
bytes. --accuracy FOLDER prints how well the recipe does on each genre that it did not see, with mentions of the parse:
the log loss of link probabilities in nats per mention, and CoNLL without singletons. FOLDER keeps the scores.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import english_texts
import numpy as np
import pandas as pd
from held_out_scores import ScoreCache, conll, english_scores
from transfer_study import english_fit, kept_fit

import corefsample
from corefsample import ScoredDocument, link_marginals
from corefsample.languages._language import ENGLISH
from corefsample.recalibration._uncertain import chosen_recalibration, recalibration_file
from corefsample.scorers.log_linear._training import LINK_SLACK
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
        kept = folder / f"fit-english-{mentions}-kinds-links-log.json"
        record = kept_fit(kept, partial(english_fit, scores, mentions))
        path = recalibration_file(chosen_recalibration(None, mentions=mentions) or "")
        Path(path).write_text(json.dumps(dataclasses.replace(record, language=ENGLISH).to_json()), encoding="utf-8")


def print_accuracy(folder: Path) -> None:
    """Print log loss and CoNLL of each genre, scored by the same recipe without this genre and another."""
    by_genre = english_scores(ScoreCache(folder), "parse")
    annotated = english_texts.gum_documents()
    rows = {
        genre: {"links": link_loss(documents), "CoNLL": conll(annotated, documents)}
        for genre, documents in by_genre.items()
    }
    table = pd.DataFrame.from_dict(rows, orient="index").sort_index()
    table.loc["mean"] = table.mean()
    print(table.round(4).to_string())


def link_loss(documents: Sequence[ScoredDocument]) -> float:
    """Log loss of the probabilities of all links, drawn from 0 and 1 as in training: nats per mention, mean."""
    losses = []
    for document in documents:
        annotated = np.array([f"\0{i}" if entity is None else entity for i, entity in enumerate(document.gold or [])])
        probs = LINK_SLACK + (1 - 2 * LINK_SLACK) * link_marginals(document.antecedents)
        loss = -np.log(np.where(annotated[:, None] == annotated, probs, 1 - probs))
        losses.append(np.tril(loss, -1).sum() / len(annotated))
    return float(np.mean(losses))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recalibration", type=Path, metavar="FOLDER", help="make the recalibrations instead")
    parser.add_argument("--accuracy", type=Path, metavar="FOLDER", help="print the accuracy on genres left out instead")
    arguments = parser.parse_args()
    if arguments.recalibration is not None:
        write_recalibration(arguments.recalibration)
        return
    if arguments.accuracy is not None:
        print_accuracy(arguments.accuracy)
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
