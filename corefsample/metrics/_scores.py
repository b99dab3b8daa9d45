"""Scores of a clustering against the annotated one: MUC, B3, CEAFe, CEAFm, LEA, BLANC, and the CoNLL average.

Conventions of all metrics
    Mentions that only the key or only the response has ("twinless") count as they are, as in the reference scorer
    v8.01, the CorefUD scorer, and scorch's functions: nothing is added to the key or removed from the response.
    (scorch's command line differs: it adds the response's twinless mentions to the key as singletons.)

    A response that repeats a span (in one entity, or in two) has it once: the first one counts, and the others are
    removed before anything is scored, as in v8.01 (cases A7 to A9 of its tests). v8.01 does so for mentions of the key
    alone, and gives up after ten; here it is so for twinless ones too. A span that the key repeats may be repeated as
    often.

    0/0 is 0. A key without coreference links has MUC 0 for every response, the perfect one included. If the key has
    only one kind of links (coreference or non-coreference), BLANC is the score of that kind, as in v8.01 and scorch.
    A key of fewer than two mentions has neither kind: BLANC is then 1 if the response has the same mentions as the
    key, else 0. (v8.01 always gives 0; scorch also gives 1 if the response is one entity of other mentions.)

    Without singletons, entities of one mention are removed from the key and from the response independently, which
    can make mentions twinless. Before that, mentions whose key label is None (not annotated) are removed from both.

    The CoNLL average is the mean F1 of MUC, B3 and CEAFe; its recall and precision are the means of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats, Ints
from corefsample._html import HtmlTable
from corefsample._lazy import pd
from corefsample.errors import ParameterError
from corefsample.metrics._alignment import Key, Labels, key_over, label_codes
from corefsample.metrics._counts import METRICS, PARTS, Counts, counts_of, scores_of


@dataclass(frozen=True, slots=True)
class Score:
    """Recall, precision and F1 of one metric, each in [0, 1]."""

    recall: float
    precision: float
    f1: float


@dataclass(frozen=True, slots=True)
class Scores(HtmlTable):
    """Scores of all metrics."""

    muc: Score
    b3: Score
    ceafe: Score
    ceafm: Score
    lea: Score
    blanc: Score
    conll: Score

    def __repr__(self) -> str:
        scores = ", ".join(f"{metric}={getattr(self, metric).f1:.3f}" for metric in METRICS)
        return f"{type(self).__name__}(F1: {scores})"

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a metric: metric, recall, precision, f1."""
        scores = [getattr(self, metric) for metric in METRICS]
        columns = {str(part): [getattr(score, part) for score in scores] for part in PARTS}
        return pd.DataFrame({"metric": METRICS, **columns})


@dataclass(frozen=True, slots=True, repr=False)
class ClusteringScores(Scores):
    """Scores of one document, or of a corpus by its summed counts.

    Attributes
    ----------
    counts
        What the scores are computed from, read-only float64 by metric. "mentions" (3,): of the key, of the response,
        of both. "blanc" (6,): correct coreference links, those of the key, those of the response, and the same of
        non-coreference links. Each other metric (4,): numerator and denominator of recall, then of precision.
    singletons
        Whether entities of one mention count.
    """

    counts: Counts = field(compare=False, kw_only=True)
    singletons: bool = field(kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class CorpusScores(HtmlTable):
    """Scores of a corpus.

    Attributes
    ----------
    corpus
        Of the sums of the documents' numerators and denominators, as coreference scorers report.
    macro
        Mean over documents, without those that have no mention in key and response.
    documents
        float64 (n_documents, 7, 3), read-only: by document, metric (in the order of `METRICS`), and recall, precision
        and F1.
    n_scored
        Documents in the macro mean.
    """

    corpus: ClusteringScores
    macro: Scores
    documents: Floats
    n_scored: int

    def __repr__(self) -> str:
        return f"CorpusScores({self.n_documents} documents,\n  corpus={self.corpus!r},\n  macro={self.macro!r})"

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return int(self.documents.shape[0])

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per average and metric: average ("corpus", "macro"), metric, recall, precision, f1.

        The scores by document are in `documents`.
        """
        frames = {"corpus": self.corpus.to_frame(), "macro": self.macro.to_frame()}
        return pd.concat([frame.assign(average=name) for name, frame in frames.items()], ignore_index=True)[
            ["average", "metric", *PARTS]
        ]


def clustering_scores(
    key: Labels,
    response: Labels,
    *,
    key_spans: npt.ArrayLike | None = None,
    response_spans: npt.ArrayLike | None = None,
    singletons: bool = True,
) -> ClusteringScores:
    """Score a clustering given as labels, over the mentions of the key or over other mentions.

    Parameters
    ----------
    key
        Annotated entity of each mention: whole numbers, strings, or None (not annotated: the mention leaves key and
        response).
    response
        Entity of each mention in the system's clustering; None: the system has no such mention.
    key_spans, response_spans
        int (n, 2) or (n, 3): start and end of each mention of key and of response (a third column, the head, is
        ignored), if the two have different mentions. Mentions with the same span are the same; of several with one
        span, the first of the key is the first of the response, and so on; those that the response has more often
        than the key are removed. Without spans, mention i is mention i.
    singletons
        Whether entities of one mention count; see the module's docstring.

    Returns
    -------
    ClusteringScores

    Raises
    ------
    ParameterError
        If labels have the wrong type or number, or spans are invalid.

    References
    ----------
    Pradhan et al. (2014), "Scoring coreference partitions of predicted mentions: a reference implementation"; Vilain
    et al. (1995) for MUC; Bagga & Baldwin (1998) for B3; Luo (2005) for CEAF; Recasens & Hovy (2011) and Luo et al.
    (2014) for BLANC; Moosavi & Strube (2016) for LEA.

    Examples
    --------
    >>> clustering_scores(["a", "a", "b"], [0, 0, 0]).muc
    Score(recall=1.0, precision=0.5, f1=0.6666666666666666)
    """
    key_codes, response_codes = label_codes("key", key), label_codes("response", response)
    alignment = key_over(
        "key",
        key_codes,
        response_codes.shape[0],
        singletons=singletons,
        key_spans=key_spans,
        response_spans=response_spans,
    )
    return _scored(alignment, response_codes, singletons)


def corpus_scores(documents: Iterable[ClusteringScores]) -> CorpusScores:
    """Scores of a corpus: from the summed counts of its documents, and on average over documents.

    Parameters
    ----------
    documents
        Scores of each document, all with or all without singletons.

    Raises
    ------
    ParameterError
        If there is no document, or some are with and some without singletons.
    """
    sums: dict[str, Floats] = {}
    rows, empty = [], []
    singletons: bool | None = None
    for document in documents:
        if singletons is not None and document.singletons != singletons:
            rule = "must be scored all with or all without singletons"
            raise ParameterError(f"{rule}, got both", parameter="documents")
        singletons = document.singletons
        sums = {name: sums.get(name, 0.0) + counts for name, counts in document.counts.items()}
        rows.append([[getattr(getattr(document, name), part) for part in PARTS] for name in METRICS])
        empty.append(not document.counts["mentions"].any())
    if singletons is None:
        raise ParameterError("must have at least one document, got none", parameter="documents")
    table = np.array(rows)
    table.flags.writeable = False
    n_scored = len(empty) - sum(empty)
    means = table[~np.array(empty)].sum(axis=0) / max(n_scored, 1)
    macro = Scores(*(Score(*row) for row in means.tolist()))
    return CorpusScores(_from_counts(sums, singletons), macro, table, n_scored)


def _scored(key: Key, codes: Ints, singletons: bool) -> ClusteringScores:
    counts = counts_of(key, key.responses(codes[None, :]), singletons=singletons)
    return _from_counts({name: array[0] for name, array in counts.items()}, singletons)


def _from_counts(counts: dict[str, Floats], singletons: bool) -> ClusteringScores:
    for array in counts.values():
        array.flags.writeable = False
    table = {name: array[None, :] for name, array in counts.items()}
    scores = (Score(*scores_of(metric, table)[0].tolist()) for metric in METRICS)
    return ClusteringScores(*scores, counts=counts, singletons=singletons)
