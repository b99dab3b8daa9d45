"""Entity queries of annotated documents, which test whether event probabilities and counts can be trusted.

A query is a type of mention and the lemma of a verb: "some entity has a name among its mentions, and a pronoun that is
subject of *say*". A document contains the query if it has a mention of that type and such a pronoun. The two may or may
not belong to one entity, as with "some entity of the country attacks" in events. P comes from samples of the
clustering, truth from gold entities.

Mentions without a gold entity are excluded from the query, for P as for truth. Then both are about the same mentions,
and whether a document contains a query does not depend on its truth.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Bools, Bytes, Floats, Ints, Ints32
from corefsample._lazy import pd
from corefsample._machine import processors
from corefsample._results import HtmlTable
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.coreference._clusterings import canonical_labels, sample_clusterings
from corefsample.documents._scored import ScoredDocument
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError
from corefsample.languages._language import Language
from corefsample.links._pairs import Unannotated, gold_codes
from corefsample.recalibration._model import Recalibration, document_kinds
from corefsample.syntax._paths import follow
from corefsample.syntax._schemes import SCHEMES
from corefsample.syntax._views import ParseView
from events.matching._matching import ambiguous_labels, readable_schemes
from events.queries import _kernels

MENTION_TYPES = ("name", "plural noun", "singular noun")
NAME, PLURAL, SINGULAR = range(3)
NO_TYPE = -1
VERBS, PRONOUNS = frozenset({"VERB"}), frozenset({"PRON"})
ROLES = ("subject", "object", "passive_subject", "passive_agent")
_PLURAL_TAGS = frozenset({"NNS", "NNPS"})


def mention_types(tokens: Tokens, mentions: Ints32, language: Language | None = None) -> Ints32:
    """Type of each mention by its head: int32 (n_mentions,), an index into MENTION_TYPES, or -1.

    The head of a name is a PROPN, that of a noun a NOUN. A noun is plural by the file's feats or xpos; without both, in
    English (or None), if the word differs from its lemma.
    """
    by_form = language is None or language.plural_by_form
    types = np.full(len(mentions), NO_TYPE, np.int32)
    for i, head in enumerate(mentions[:, 2].tolist()):
        if tokens.upos[head] == "PROPN":
            types[i] = NAME
        elif tokens.upos[head] == "NOUN":
            types[i] = PLURAL if _is_plural(tokens, head, by_form=by_form) else SINGULAR
    return types


def _is_plural(tokens: Tokens, token: int, *, by_form: bool) -> bool:
    feats, xpos = (tokens.extra.get(name) for name in ("feats", "xpos"))
    if feats is not None and "Number=" in str(feats[token]):
        return "Number=Plur" in str(feats[token])
    if xpos is not None and xpos[token]:
        return xpos[token] in _PLURAL_TAGS
    return by_form and tokens.text[token].lower() != tokens.lemma[token].lower()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DocumentQueries:
    """The queries of one document, and the mentions that determine them.

    Attributes
    ----------
    doc_id
        Identifier of the document.
    verbs
        Lemmas of the verbs that have a pronoun in the role, sorted.
    present_types
        bool (n_types,): types of which the document has a mention; its queries are their combinations with the verbs.
    typed_mentions, types
        int32 (n_typed,): mentions that have a type, and the index of this type into MENTION_TYPES.
    pronouns, pronoun_verbs
        int32 (n_instances,): pronouns in the role, and the index of the verb of each.
    antecedents
        Antecedent distribution of the mentions up to the last of these; later mentions do not change the result.
    n_left_out
        Number of mentions that are excluded from the queries because they have no gold entity.
    truth
        bool (n_verbs, n_types): truth of each query by gold entities; None without gold entities.
    kinds
        uint8 (n_mentions,): kind of each mention of the distribution, for recalibration by kind; None without kinds.
    """

    doc_id: str
    verbs: tuple[str, ...]
    present_types: Bools
    typed_mentions: Ints32
    types: Ints32
    pronouns: Ints32
    pronoun_verbs: Ints32
    antecedents: AntecedentDistribution
    n_left_out: int = 0
    truth: Bools | None = None
    kinds: Bytes | None = None

    @property
    def n_queries(self) -> int:
        """Number of queries of the document."""
        return len(self.verbs) * int(self.present_types.sum())

    def hits(self, recalibration: Recalibration, *, n_samples: int, seed: int = 0, first_sample: int = 0) -> Ints:
        """Count the samples in which each query is true: int64 (n_verbs, n_types).

        The samples are those of `corefsample.coreference` for this seed and doc_id.
        """
        if not self.n_queries:
            return np.zeros((len(self.verbs), len(MENTION_TYPES)), np.int64)
        changed = recalibration.apply(self.antecedents, self.kinds)
        counts: Ints = self._sampled(changed, n_samples, seed, first_sample)[1].sum(axis=2, dtype=np.int64)
        return counts

    def slopes(self, recalibration: Recalibration, *, n_samples: int, seed: int = 0, first_sample: int = 0) -> Floats:
        """Estimate the derivatives of each query's probability in the parameters of a recalibration.

        By the score function: the covariance over samples of the query's truth and the slope of the sample's log
        probability.

        Returns
        -------
        array of shape (n_verbs, n_types, n_parameters), float64
            Parameters in the order of `Recalibration.vector`.
        """
        if self.kinds is None:
            raise ParameterError("are required for slopes, got None", parameter="kinds")
        changed = recalibration.apply(self.antecedents, self.kinds)
        labels, holds = self._sampled(changed, n_samples, seed, first_sample)
        slopes = np.zeros((len(recalibration.vector()), n_samples), np.float32)
        scaled = self.antecedents.scores / recalibration.temperature
        arrays = (changed.indptr, changed.antecedents, changed.probs, scaled, self.kinds)
        _kernels.sample_slopes(labels, *arrays, slopes)
        centred = slopes - slopes.mean(axis=1, keepdims=True, dtype=np.float64)
        # Documents are shared among threads: einsum calls no BLAS, whose own threads would compete with these.
        covariances = np.einsum("vms,ps->vmp", holds.astype(np.float64), centred)
        return np.asarray(covariances / n_samples)

    def truths(self, recalibration: Recalibration, *, n_samples: int, seed: int = 0, first_sample: int = 0) -> Bools:
        """Truth of the document's queries in each sample: bool (n_samples, n_queries), verb by verb."""
        changed = recalibration.apply(self.antecedents, self.kinds)
        holds = self._sampled(changed, n_samples, seed, first_sample)[1][:, self.present_types]
        return holds.reshape(-1, n_samples).T.astype(np.bool_)

    def _sampled(
        self, antecedents: AntecedentDistribution, n_samples: int, seed: int, first_sample: int
    ) -> tuple[Ints32, Bytes]:
        """Labels (n_mentions, n_samples), and whether each query holds (n_verbs, n_types, n_samples)."""
        samples = sample_clusterings(
            antecedents, n_samples=n_samples, seed=seed, doc_id=self.doc_id, first_sample=first_sample
        )
        labels = np.ascontiguousarray(samples.labels.T)
        return labels, self._holds(labels)

    def _holds(self, labels: Ints32) -> Bytes:
        """Whether each query holds in each clustering of labels (n_mentions, n_samples)."""
        holds = np.zeros((len(self.verbs), len(MENTION_TYPES), labels.shape[1]), np.uint8)
        _kernels.query_samples(labels, self.typed_mentions, self.types, self.pronouns, self.pronoun_verbs, holds)
        return holds

    def true_in(self, labels: npt.ArrayLike) -> Bools:
        """Truth of each query in one clustering: bool (n_verbs, n_types).

        Parameters
        ----------
        labels
            int (n_mentions,): mentions with the same label form an entity.
        """
        return self._holds(canonical_labels(labels)[:, None])[:, :, 0] > 0


def match_queries(
    document: ScoredDocument,
    *,
    role: str = "subject",
    scheme: str | None = None,
    unannotated: Unannotated = "skip",
) -> DocumentQueries:
    """Find the queries of one document.

    Parameters
    ----------
    document
        Document with tokens and gold.
    role
        Role that the pronoun has at the verb: subject, object, passive_subject or passive_agent.
    scheme
        Name of the dependency scheme; by default it is recognised from the labels.
    unannotated
        Treatment of mentions without a gold entity: "skip" excludes them, "single" makes each a separate entity.

    Raises
    ------
    ParameterError
        If an option is unknown, or the document has no tokens or no gold.
    InputError
        If the labels fit no dependency scheme, or fit several schemes that give different queries.
    """
    _checks.choice("role", role, ROLES)
    if document.tokens is None:
        raise ParameterError("tokens are required for queries", place=f"doc_id {document.doc_id!r}")
    if document.gold is None:
        raise ParameterError("gold is required for the truth of queries", place=f"doc_id {document.doc_id!r}")
    names = readable_schemes(document.tokens.dep, scheme)
    language = Language.of_document(document.metadata)
    tokens = language.adapted(document.tokens)
    readings = {name: _role_fillers(tokens, document.mentions, role, name, language) for name in names}
    instances = readings[names[0]]
    if any(fillers != instances for fillers in readings.values()):
        raise ambiguous_labels(names, "queries")
    types = mention_types(tokens, document.mentions, language)
    return _queries(document, types, instances, gold_codes(document, unannotated))


def _role_fillers(
    tokens: Tokens, mentions: Ints32, role: str, scheme: str, language: Language
) -> list[tuple[int, str]]:
    """Pairs of a pronoun and the lemma of a verb whose role it fills, in the order of the text."""
    view = ParseView(tokens, SCHEMES[scheme], language)
    paths = SCHEMES[scheme].paths_in(language)[role]
    by_head: dict[int, list[int]] = {}
    for mention, head in enumerate(mentions[:, 2].tolist()):
        if tokens.upos[head] in PRONOUNS:
            by_head.setdefault(head, []).append(mention)
    fillers = {
        (mention, tokens.lemma[verb].lower())
        for verb in (token for token, upos in enumerate(tokens.upos) if upos in VERBS)
        for path in paths
        for head in follow(path, view, verb)
        for mention in by_head.get(head, ())
    }
    return sorted(fillers)


def _queries(
    document: ScoredDocument, types: Ints32, instances: list[tuple[int, str]], entities: Ints
) -> DocumentQueries:
    has_entity = entities >= 0
    typed = np.flatnonzero((types != NO_TYPE) & has_entity).astype(np.int32)
    annotated = [(mention, verb) for mention, verb in instances if has_entity[mention]]
    verbs = tuple(sorted({verb for _, verb in annotated}))
    number = {verb: v for v, verb in enumerate(verbs)}
    pronouns = np.array([mention for mention, _ in annotated], np.int32)
    last = max(int(typed.max(initial=-1)), int(pronouns.max(initial=-1)))
    unknown_pronouns = {mention for mention, _ in instances if not has_entity[mention]}
    queries = DocumentQueries(
        doc_id=document.doc_id,
        verbs=verbs,
        present_types=np.bincount(types[typed], minlength=len(MENTION_TYPES)) > 0,
        typed_mentions=typed,
        types=types[typed],
        pronouns=pronouns,
        pronoun_verbs=np.array([number[verb] for _, verb in annotated], np.int32),
        antecedents=document.antecedents.first_mentions(last + 1),
        kinds=document_kinds(document)[: last + 1],
        n_left_out=int(np.count_nonzero((types != NO_TYPE) & ~has_entity)) + len(unknown_pronouns),
    )
    # A mention without an entity is in no query, so any unique label will do.
    labels = np.where(has_entity, entities, -1 - np.arange(len(entities)))
    return dataclasses.replace(queries, truth=queries.true_in(labels))


# --- the queries of a corpus ---------------------------------------------------------------------------------

Number = TypeVar("Number", np.float64, np.bool_)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class QueryTable(HtmlTable):
    """Table of all pairs of a document and a query that the document contains, with their truth.

    Attributes
    ----------
    documents
        Documents with gold and at least one query.
    queries
        Type of mention and verb of each query, sorted.
    pair_documents, pair_queries
        int32 (n_pairs,), read-only: index of the document and of the query of each pair.
    truth
        bool (n_pairs,), read-only: whether the query is true of the document by gold.
    """

    documents: tuple[DocumentQueries, ...]
    queries: tuple[tuple[str, str], ...]
    pair_documents: Ints32
    pair_queries: Ints32
    truth: Bools

    def __post_init__(self) -> None:
        for array in (self.pair_documents, self.pair_queries, self.truth):
            array.flags.writeable = False

    @classmethod
    def of(cls, documents: Iterable[DocumentQueries]) -> QueryTable:
        """Collect the queries of documents that were matched with gold.

        Raises
        ------
        ParameterError
            If no document has a query.
        """
        with_queries = [document for document in documents if document.n_queries]
        if not with_queries:
            rule = "must contain a query (a mention with a type, and a pronoun in the role)"
            raise ParameterError(f"{rule}, got none", parameter="documents")
        named = [[(MENTION_TYPES[m], each.verbs[v]) for v, m in _pairs(each)] for each in with_queries]
        queries = tuple(sorted({name for names in named for name in names}))
        number = {name: n for n, name in enumerate(queries)}
        return cls(
            documents=tuple(with_queries),
            queries=queries,
            pair_documents=np.repeat(np.arange(len(with_queries), dtype=np.int32), [len(names) for names in named]),
            pair_queries=np.array([number[name] for names in named for name in names], np.int32),
            truth=np.concatenate([_flat(each, np.asarray(each.truth)) for each in with_queries]),
        )

    def __repr__(self) -> str:
        n_documents, n_queries = len(self.documents), len(self.queries)
        return f"QueryTable({self.n_pairs:,} pairs of {n_documents:,} documents and {n_queries:,} queries)"

    @property
    def n_pairs(self) -> int:
        """Number of pairs of a document and one of its queries."""
        return int(self.truth.shape[0])

    @property
    def doc_ids(self) -> tuple[str, ...]:
        """The doc_id of each document."""
        return tuple(document.doc_id for document in self.documents)

    def probabilities(
        self,
        recalibrations: Recalibration | Sequence[Recalibration],
        *,
        n_samples: int = 1000,
        seed: int = 0,
        first_sample: int = 0,
    ) -> Floats:
        """Share of samples in which each query is true of the document: float64 (n_pairs,), multiples of 1/S.

        Parameters
        ----------
        recalibrations
            Recalibration of all documents, or a recalibration for each document of the table.
        n_samples
            Number of samples S of each document, at least 1.
        seed, first_sample
            Seed of the samples, in [0, 2**64), and index of the first sample: see `corefsample.sample_clusterings`.
        """
        if isinstance(recalibrations, Recalibration):
            recalibrations = [recalibrations] * len(self.documents)
        if len(recalibrations) != len(self.documents):
            rule = f"must be one per document ({len(self.documents)})"
            raise ParameterError(f"{rule}, got {len(recalibrations)}", parameter="recalibrations")

        def shares(document: DocumentQueries, recalibration: Recalibration) -> Floats:
            hits = document.hits(recalibration, n_samples=n_samples, seed=seed, first_sample=first_sample)
            return _flat(document, hits / n_samples)

        with ThreadPoolExecutor(processors()) as pool:
            return np.concatenate(list(pool.map(shares, self.documents, recalibrations)))

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row for each pair: doc_id, mention_type, verb, n_documents (with the query), truth."""
        names = [self.queries[q] for q in self.pair_queries.tolist()]
        return pd.DataFrame(
            {
                "doc_id": [self.doc_ids[d] for d in self.pair_documents.tolist()],
                "mention_type": [mention_type for mention_type, _ in names],
                "verb": [verb for _, verb in names],
                "n_documents": np.bincount(self.pair_queries)[self.pair_queries],
                "truth": self.truth,
            }
        )


def _pairs(document: DocumentQueries) -> list[tuple[int, int]]:
    """Verb and type of each query of a document, in the order of its pairs."""
    return [(v, int(m)) for v in range(len(document.verbs)) for m in np.flatnonzero(document.present_types)]


def _flat(document: DocumentQueries, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Flatten an array (n_verbs, n_types) to the values of the document's queries, in the order of its pairs."""
    return values[:, document.present_types].ravel()
