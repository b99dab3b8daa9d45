"""How often does coreference merge two countries? python benchmarks/merged_actors.py [--model FILE] [--pipeline SPACY].

The 199 articles of NLTK's sample of the Wall Street Journal are parsed and scored as `corefsample score` does, by the
model of the package, recalibrated, or by another model, as it scores. Two figures are of the samples before distinct
actors are kept apart: the probability that the entity of a country's name has the name of another country, which is
never true; and what `corefsample doctor` says, of all mentions that name a country, such as "Iraqi troops".
"""

from __future__ import annotations

import argparse
import csv
import zipfile
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from corefsample import sample_clusterings
from corefsample.coreference._conditioning import CannotLinks
from corefsample.documents._batch import DocumentBatch
from corefsample.formats import DocumentStream
from events import load_lexicon
from events.commands import ScoreOptions, run_score
from events.counts._run_tables import CountNotes
from events.evidence._documents_table import merging_summary, merging_table, sampled_merged_actors
from events.lexicon._lexicon import Lexicon

SHARED = Path(__file__).parents[1] / ".." / "shared"
WSJ = SHARED / "data" / "wsj-sample" / "treebank.zip"
PIPELINE = SHARED / "models" / "en_core_web_sm"
DATE = "1989-11-01"  # of all articles, about; it decides which countries there are


def write_articles(path: Path) -> None:
    """The raw texts as a table of news."""
    with zipfile.ZipFile(WSJ) as archive, path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["doc_id", "date", "text"])
        for name in sorted(archive.namelist()):
            if name.startswith("treebank/raw/wsj_"):
                text = archive.read(name).decode("latin-1").removeprefix(".START")
                table.writerow([name.rpartition("/")[2], DATE, text.strip()])


def probabilities(batch: DocumentBatch, row: int, lexicon: Lexicon, n_samples: int) -> list[float]:
    """For each mention whose head is a name of the lexicon, P(its entity has a name of a distinct actor)."""
    tokens = batch.tokens(row)
    assert tokens is not None
    codes = lexicon.match(tokens.text, tokens.head.tolist(), batch.dates[row].item(), tokens.lemma).codes
    names = {i: frozenset([codes[head]]) for i, (*_, head) in enumerate(batch.spans(row).tolist()) if head in codes}
    pairs = [(i, j) for i, j in combinations(names, 2) if lexicon.are_distinct(names[i], names[j])]
    antecedents = batch.antecedents(row)
    labels = sample_clusterings(antecedents, n_samples=n_samples, doc_id=batch.doc_ids[row]).labels
    merged = CannotLinks.of_pairs(np.array(pairs, np.int32).reshape(-1, 2), antecedents.n_mentions).clashes(labels.T)
    shares: list[float] = merged.mean(axis=1)[[*names]].tolist()
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", metavar="FILE", help="whose scores are not recalibrated; default: the package's")
    parser.add_argument("--pipeline", default=str(PIPELINE), metavar="SPACY")
    parser.add_argument("--samples", type=int, default=1000)
    arguments = parser.parse_args()
    merged, lexicon = list[dict[str, Any]](), load_lexicon()
    with TemporaryDirectory() as folder:
        news, scored = Path(folder) / "news.csv", Path(folder) / "scored.parquet"
        write_articles(news)
        options = ScoreOptions(out=str(scored), pipeline=arguments.pipeline, model=arguments.model)
        run_score(str(news), options)
        n_articles, names = 0, list[float]()
        for batch in DocumentStream(str(scored)):
            n_articles += len(batch)
            for row in range(len(batch)):
                names += probabilities(batch, row, lexicon, arguments.samples)
                merged.append(sampled_merged_actors(batch, row, lexicon, n_samples=arguments.samples))
    found = merging_summary(merging_table(merged), arguments.samples)
    assert found is not None
    often = np.mean(np.array(names) > 0.2)
    print(f"{n_articles} articles, {len(names)} names: mean P {np.mean(names):.4f}, above .2 for {often:.1%}")
    print(CountNotes(found).merging())
    print(f"Documents by how samples without merged countries were found: {found['n_documents']}")


if __name__ == "__main__":
    main()
