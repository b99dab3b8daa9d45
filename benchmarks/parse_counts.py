"""Counts from words: one parse against ten and a hundred (docs/parses.md).

python benchmarks/parse_counts.py [--parses 1 10 100] [--temperature T] [--documents N] [--out FILE]

The queries are those of query_study.py: "some entity has a name among its mentions, and a pronoun
that is subject of *say*". Truth comes from the gold parse and the gold entities of GUM's dev and test parts. P comes
from the words alone: parses of en_gum_ud, the mentions found in them, the English antecedent model, and sampled
clusterings. The
pipeline and the model were trained on GUM's train part; the temperature was chosen on its dev part.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from query_study import match_queries

from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import Tokens
from corefsample.formats.annotated._corefud import read_corefud
from corefsample.parses import parse_samples
from corefsample.recalibration._model import Recalibration
from corefsample.scorers import load_scorer, score_documents
from corefsample.scorers.log_linear._model import AntecedentModel
from corefsample.spacy_bridge.documents import tokens_of_doc
from corefsample.syntax._mentions import mentions_from_parse
from events.counts import count_pmf
from events.counts._credible_intervals import quantile_interval

SHARED = Path(__file__).parents[2] / "shared"
PIPELINE = SHARED / "models" / "en_gum_ud"
PARTS = [SHARED / "data" / "gum" / f"en_gum-ud-{part}.conllu.gz" for part in ("dev", "test")]
SAMPLES = 2000  # clusterings of a document, over all its parses
LEVEL = 0.95
GROUPS = {"3-4": (3, 4), "5-9": (5, 9), "10-60": (10, 60)}

Query = tuple[str, str]  # type of mention, lemma of the verb
Shares = dict[Query, float]


def gold_queries(document: AnnotatedDocument) -> dict[Query, bool]:
    """The queries that a document contains by its annotation, with their truth; all mentions are annotated."""
    (scored,) = score_documents(load_scorer(), [document])
    found = match_queries(scored, unannotated="single")
    return dict(zip(found.names, found.truth.tolist(), strict=True))


def spacy_doc(document: AnnotatedDocument, nlp: Any) -> Any:
    """The words of a document, without any annotation."""
    from spacy.tokens import Doc

    assert document.tokens is not None
    text, extra = list(document.tokens.text), document.tokens.extra
    return Doc(nlp.vocab, words=text, spaces=[bool(space) for space in extra.get("space_after", [True] * len(text))])


def shares_of_parse(
    tokens: Tokens, doc_id: str, model: AntecedentModel, n_samples: int, first_sample: int
) -> Iterator[tuple[Query, int]]:
    """Queries that one parse contains, and the samples of its clusterings in which each is true."""
    mentions = mentions_from_parse(tokens)
    # Every mention counts: the "gold" is not used otherwise.
    document = ScoredDocument(
        doc_id,
        mentions,
        model.score([tokens], [mentions])[0].distribution,
        tokens=tokens,
        gold=list(range(len(mentions))),
    )
    queries = match_queries(document)
    shares = queries.shares(Recalibration(), n_samples, first_sample=first_sample)
    for name, share in zip(queries.names, shares.tolist(), strict=True):
        yield name, round(n_samples * share)


def document_shares(parses: Sequence[Any], doc_id: str, model: AntecedentModel) -> Shares:
    """P of each query that some parse of a document contains, the parses weighted equally."""
    n_samples = max(20, SAMPLES // len(parses))
    hits: dict[Query, int] = defaultdict(int)
    known: dict[int, Tokens] = {}  # equal samples are the same Doc
    for k, parse in enumerate(parses):
        tokens = known.setdefault(id(parse), tokens_of_doc(parse))
        for query, count in shares_of_parse(tokens, doc_id, model, n_samples, k * n_samples):
            hits[query] += count
    return {query: count / (n_samples * len(parses)) for query, count in hits.items()}


def coverage(truths: list[dict[Query, bool]], shares: list[Shares]) -> pd.DataFrame:
    """Intervals of the counts of all queries that enough documents contain by their annotation, and the true counts."""
    documents: dict[Query, int] = defaultdict(int)
    for truth in truths:
        for query in truth:
            documents[query] += 1
    rows = []
    for query, n_documents in documents.items():
        probs = [share[query] for share in shares if share.get(query, 0.0) > 0.0]
        true_count = sum(truth.get(query, False) for truth in truths)
        lower, upper = quantile_interval(count_pmf(probs), LEVEL)
        rows.append((n_documents, true_count, sum(probs), lower, upper, lower <= true_count <= upper))
    return pd.DataFrame(rows, columns=["n_documents", "true_count", "mean", "lower", "upper", "held"])


def summary(
    name: str, truths: list[dict[Query, bool]], shares: list[Shares], pairs: list[set[Query]]
) -> dict[str, Any]:
    """One row of the table: scores of P over pairs of document and query, and coverage by the number of documents."""
    p = np.array([share.get(query, 0.0) for share, own in zip(shares, pairs, strict=True) for query in sorted(own)])
    y = np.array([truth.get(query, False) for truth, own in zip(truths, pairs, strict=True) for query in sorted(own)])
    row: dict[str, Any] = {
        "parses": name,
        "Brier": float(np.mean((p - y) ** 2)),
        "missed": int(np.sum(y & (p == 0.0))),
        "true": int(y.sum()),
        "mean p": float(p.sum()),
    }
    table = coverage(truths, shares)
    for group, (least, most) in GROUPS.items():
        chosen = table[table["n_documents"].between(least, most)]
        row[f"{group}: queries"] = len(chosen)
        row[f"{group}: held"] = float(chosen["held"].mean())
        row[f"{group}: width"] = float((chosen["upper"] - chosen["lower"]).mean())
        row[f"{group}: error"] = float((chosen["mean"] - chosen["true_count"]).mean())
    return row


def study(
    numbers: Sequence[int] = (1, 10, 100), *, temperature: float | None = None, n_documents: int | None = None
) -> pd.DataFrame:
    """The table: one row for each number of parses; 1 is the usual parse."""
    import spacy

    nlp, model = spacy.load(PIPELINE), load_scorer()
    documents = [each for path in PARTS for each in read_corefud(path)][:n_documents]
    truths = [gold_queries(document) for document in documents]
    by_number: dict[int, list[Shares]] = {number: [] for number in numbers}
    for number, document in enumerate(documents):
        started = time.process_time()
        parsed = nlp(spacy_doc(document, nlp))
        samples = parse_samples(nlp, parsed, max(numbers), temperature=temperature, doc_id=document.doc_id)
        for n_parses, shares in by_number.items():
            parses = [parsed] if n_parses == 1 else samples[:n_parses]
            shares.append(document_shares(parses, document.doc_id, model))
        print(f"{number + 1} {document.doc_id} {time.process_time() - started:.1f} s", flush=True)
    every = zip(truths, *by_number.values(), strict=True)
    pairs = [{*truth, *(query for share in each for query in share)} for truth, *each in every]
    rows = [summary(f"{n} (usual)" if n == 1 else str(n), truths, shares, pairs) for n, shares in by_number.items()]
    return pd.DataFrame(rows)


def main() -> None:
    """Run the study and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parses", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--temperature", type=float)
    parser.add_argument("--documents", type=int, help="the first so many only")
    parser.add_argument("--out", help="CSV file for the table")
    options = parser.parse_args()
    table = study(options.parses, temperature=options.temperature, n_documents=options.documents)
    print(table.set_index("parses").T.to_string(float_format=lambda value: f"{value:.3f}"))
    if options.out:
        table.to_csv(options.out, index=False)


if __name__ == "__main__":
    main()
