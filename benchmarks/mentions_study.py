"""Which mentions and windows transfer best? python benchmarks/mentions_study.py --models FOLDER [--genre GENRE ...].

For each genre of the English model, the English recipe is trained without it: on annotated mentions, those of the
parse, or both; on whole documents, or on windows of them, too (-windows). Each model is tested on all documents of the
genre that it did not see: with annotated mentions and those of the parse, whole and cut into windows of 1 to 6
sentences. FOLDER keeps the models, as GENRE-RECIPE-ORDERS.npz, so that a second run does not train again.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import get_args

import held_out_scores as held_out
import pandas as pd
from english_texts import ENGLISH_GENRES

from corefsample.documents._annotated import AnnotatedDocument
from corefsample.scorers import load_scorer, score_documents
from corefsample.scorers.log_linear._examples import TrainingMentions, TrainingTexts, examples_of
from corefsample.scorers.log_linear._model import AntecedentModel
from corefsample.scorers.log_linear._training import figures, train
from corefsample.scorers.protocol import MentionSource

WINDOWS = "-windows"
RECIPES = {
    f"{mentions}{WINDOWS * windows}": (mentions, windows)
    for mentions in get_args(TrainingMentions)
    for windows in (False, True)
}
WINDOW_SEED = 1  # of the tested windows


def model_without(genre: str, recipe: str, orders: int, folder: Path) -> AntecedentModel:
    """The model of a recipe that did not see a genre, from the folder or trained."""
    path = folder / f"{genre}-{recipe}-{orders}.npz"
    if not path.exists():
        mentions, windows = RECIPES[recipe]
        others = set(ENGLISH_GENRES) - {genre}
        seen = [each for each in held_out.gum(("train",)) if held_out.genre_of(each.doc_id) in others]
        train_recipe = partial(train, epochs=held_out.EPOCHS, orders=orders)
        train_recipe(seen, mentions=mentions, windows=windows).save(path)
    return load_scorer(path)


def tested(genre: str, recipe: str, orders: int, folder: Path) -> list[dict[str, object]]:
    """Figures of one model: a row for each kind of mentions, whole or in windows."""
    model = model_without(genre, recipe, orders, folder)
    unseen = [each for each in held_out.gum() if held_out.genre_of(each.doc_id) == genre]
    return [
        {"genre": genre, "recipe": recipe, "tested on": mentions, **row}
        for mentions in get_args(MentionSource)
        for row in _rows(model, unseen, mentions)
    ]


def _rows(
    model: AntecedentModel, documents: Sequence[AnnotatedDocument], mentions: MentionSource
) -> Iterator[dict[str, object]]:
    encoding = model.vocabulary, model.templates, model.language, None, WINDOW_SEED
    read = [examples_of(TrainingTexts([each], mentions=mentions, windows=True), *encoding) for each in documents]
    wholes, windows = [each[0] for each in read], [window for each in read for window in each[1:]]
    for text, examples in (("whole", wholes), ("windows", windows)):
        found = figures(examples, model.weights)
        row = {"text": text, "texts": len(examples), "antecedent loss": found.loss, "link loss": found.link_loss}
        if text == "whole":
            row["CoNLL"] = held_out.conll(documents, score_documents(model, documents, mentions=mentions))
        yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--genre", nargs="+", choices=ENGLISH_GENRES, default=ENGLISH_GENRES)
    parser.add_argument("--recipe", nargs="+", choices=RECIPES, default=list(RECIPES))
    parser.add_argument("--orders", type=int, default=held_out.ENGLISH_ORDERS, help="of the documents, in training")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    arguments.models.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, object]] = []
    with ProcessPoolExecutor(arguments.processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        chosen = product(arguments.genre, arguments.recipe)
        runs = [pool.submit(tested, *each, arguments.orders, arguments.models) for each in chosen]
        for run in runs:
            rows += run.result()
            print(pd.DataFrame(run.result()).round(4).to_string(index=False), flush=True)
    means = pd.DataFrame(rows).groupby(["recipe", "tested on", "text"]).mean(numeric_only=True)
    print(f"\nMeans over {', '.join(arguments.genre)}\n{means.drop(columns='texts').round(4).to_string()}")


if __name__ == "__main__":
    main()
