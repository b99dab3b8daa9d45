"""Antecedent scores of GUM by models that saw neither the document nor its genre; kept in a folder between runs.

`leave_out_scores` trains models without one genre and without two blocks of three genres, so that a study can fit on
other genres what it tests on one: no model behind a fit saw the genre that the fit is tested on.
`english_scores` trains the shipped model's recipe without two of its genres at a time, and scores annotated mentions
and those of the parse.
"""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import english_texts
from english_texts import genre_of

from corefsample import ScoredDocument, map_clustering, read_documents, write_documents
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.formats.annotated._corefud import read_corefud
from corefsample.metrics import corpus_scores
from corefsample.metrics._scores import clustering_scores
from corefsample.scorers import score_documents
from corefsample.scorers._scoring import gold_entities
from corefsample.scorers.log_linear._examples import TrainingTexts, examples_of
from corefsample.scorers.log_linear._model import AntecedentModel
from corefsample.scorers.log_linear._training import figures, train
from corefsample.scorers.protocol import MENTION_SOURCES, HeldOutFigures, MentionSource

GUM = Path(__file__).parents[1] / ".." / "shared" / "data" / "gum"
SPLITS = ("train", "dev", "test")
BLOCK = 3  # genres left out together
# Genres left out together for the English model: they differ, so that the genre most similar to each is trained on.
ENGLISH_BLOCKS = (("academic", "vlog"), ("conversation", "news"), ("court", "textbook"), ("interview", "speech"))
EPOCHS, ENGLISH_ORDERS = 3, 1  # three orders lower the loss of links by two thousandths

Documents = dict[str, list[ScoredDocument]]  # by genre


@cache
def gum(splits: tuple[str, ...] = SPLITS) -> tuple[AnnotatedDocument, ...]:
    """Documents of GUM."""
    return tuple(document for split in splits for document in read_corefud(GUM / f"en_gum-ud-{split}.conllu.gz"))


def genres(splits: tuple[str, ...] = SPLITS) -> tuple[str, ...]:
    """Genres of GUM, sorted."""
    return tuple(sorted({genre_of(document.doc_id) for document in gum(splits)}))


def block_of(genre: str) -> tuple[str, ...]:
    """The genres that are left out together with one: every fifth of the sorted ones."""
    names = genres()
    n_blocks = len(names) // BLOCK
    return names[names.index(genre) % n_blocks :: n_blocks]


def blocks() -> tuple[tuple[str, ...], ...]:
    """All blocks."""
    return tuple(sorted({block_of(genre) for genre in genres()}))


class ScoreCache:
    """Scored documents in a folder, one file for each model, named after the genres that the model did not see.

    The names do not say the recipe: another recipe needs another folder.
    """

    def __init__(self, folder: Path, *, n_processes: int = 2, orders: int = 1) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.n_processes, self.orders = folder, n_processes, orders
        self._read: dict[Path, Documents] = {}

    def _path(self, without: Iterable[str], *, english: MentionSource | None) -> Path:
        name = f"all-{self.orders}" if english is None else f"english-{ENGLISH_ORDERS}-{english}"
        return self.folder / f"{name}-without-{'+'.join(without)}.jsonl.gz"

    def make(self, parts: Iterable[Sequence[str]], *, english: bool = False) -> None:
        """Train the models that are missing, in processes, and score the genres that they did not see."""
        orders = ENGLISH_ORDERS if english else self.orders
        sources: tuple[MentionSource, ...] = MENTION_SOURCES if english else ("annotated",)
        missing = []
        for part in map(tuple, parts):
            paths = {source: self._path(part, english=source if english else None) for source in sources}
            if not all(path.exists() for path in paths.values()):
                missing.append((part, paths))
        if not missing:
            return
        spawned = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(self.n_processes, len(missing)), mp_context=spawned) as pool:
            runs = [pool.submit(_score_left_out, part, paths, orders, english) for part, paths in missing]
            for number, run in enumerate(runs, 1):
                print(f"model {number} of {len(runs)}: without {', '.join(run.result())}", flush=True)

    def documents(self, without: Sequence[str], *, english: MentionSource | None = None) -> Documents:
        """Scored documents of the genres that one model did not see."""
        path = self._path(without, english=english)
        if path not in self._read:
            by_genre: Documents = {}
            for document in read_documents(path):
                by_genre.setdefault(genre_of(document.doc_id), []).append(document)
            self._read[path] = by_genre
        return self._read[path]


def _score_left_out(
    without: tuple[str, ...], paths: dict[MentionSource, Path], orders: int, english: bool
) -> tuple[str, ...]:
    if english:
        documents = english_texts.gum_documents()
        model = english_texts.trained(without, orders=orders)
    else:
        documents = gum()
        seen = [each for each in documents if genre_of(each.doc_id) not in without]
        model = train(seen, epochs=EPOCHS, orders=orders)
    unseen = [each for each in documents if genre_of(each.doc_id) in without]
    for source, path in paths.items():
        write_documents(score_documents(model, unseen, mentions=source), path, overwrite=True)
    return without


def held_out_figures(model: AntecedentModel, documents: Iterable[AnnotatedDocument]) -> HeldOutFigures:
    """Losses of a model on annotated documents; nothing is pruned."""
    texts = TrainingTexts(list(documents))
    return figures(examples_of(texts, model.vocabulary, model.templates, model.language, None), model.weights)


def conll(annotated: Iterable[AnnotatedDocument], scored: Iterable[ScoredDocument]) -> float:
    """CoNLL F1 without singletons of the likeliest antecedents' clusterings against all annotated mentions."""
    keys = {document.doc_id: document for document in annotated}
    return corpus_scores(
        clustering_scores(
            gold_entities(keys[document.doc_id]) or [],
            map_clustering(document.antecedents),
            key_spans=keys[document.doc_id].mentions,
            response_spans=document.mentions,
            singletons=False,
        )
        for document in scored
    ).conll.f1


def leave_out_scores(scores: ScoreCache) -> None:
    """Make the scores for a study that leaves out each genre: see `fit_documents`."""
    pairs = [tuple(sorted({*one, *other})) for one, other in itertools.combinations(blocks(), 2)]
    scores.make([*((genre,) for genre in genres()), *pairs])


def test_documents(scores: ScoreCache, genre: str) -> list[ScoredDocument]:
    """Documents of a genre by the model that was trained on all others."""
    return scores.documents((genre,))[genre]


def fit_documents(scores: ScoreCache, block: tuple[str, ...]) -> Documents:
    """Documents of the genres of other blocks, by models that saw neither this block nor theirs."""
    found: Documents = {}
    for other in blocks():
        if other != block:
            by_genre = scores.documents(tuple(sorted({*block, *other})))
            found |= {genre: by_genre[genre] for genre in other}
    return found


def english_scores(scores: ScoreCache, mentions: MentionSource) -> Documents:
    """Documents of GUM that the shipped model was trained on, each by the same recipe without its genre and another."""
    scores.make(ENGLISH_BLOCKS, english=True)
    return {genre: scores.documents(block, english=mentions)[genre] for block in ENGLISH_BLOCKS for genre in block}


def main() -> None:
    """Make all scores."""
    import argparse

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where scored documents are kept")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--orders", type=int, default=1, help="of the documents, in training (the shipped model: 3)")
    arguments = parser.parse_args()
    scores = ScoreCache(arguments.folder, n_processes=arguments.processes, orders=arguments.orders)
    leave_out_scores(scores)
    scores.make(ENGLISH_BLOCKS, english=True)


if __name__ == "__main__":
    main()
