"""Entity queries that a corpus brings along, for asking whether event probabilities and counts can be trusted.

A query is a type of mention and the lemma of a verb: "some entity has a name among its mentions, and a pronoun that is
subject of *say*". A document holds the query if it has a mention of that type and such a pronoun; the two then may or
may not belong together, as with "some entity of the country attacks" in the events layer. P comes from samples of the
clustering, truth from gold entities.

Mentions without a gold entity are left out of the query itself, of P as of truth: then both are about the same
mentions, and whether a document is asked cannot depend on the answer.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.coreference import AntecedentDistribution, canonical_labels, sample_clusterings
from corefsample.documents import ScoredDocument, Tokens
from corefsample.errors import InputError, ParameterError
from corefsample.links import Unannotated, gold_codes
from corefsample.recalibration import Recalibration
from corefsample.syntax import SCHEMES, ParseView, follow
from events.matching import readable_schemes
from events.queries import _kernels as _query_kernels

__all__ = ["MENTION_TYPES", "ROLES", "DocumentQueries", "match_queries", "mention_types"]

Ints = npt.NDArray[np.int64]
Labels = npt.NDArray[np.int32]

MENTION_TYPES = ("name", "plural noun", "singular noun")
NAME, PLURAL, SINGULAR = range(3)
NO_TYPE = -1
VERBS, PRONOUNS = frozenset({"VERB"}), frozenset({"PRON"})
ROLES = ("subject", "object", "passive_subject", "passive_agent")
_PLURAL_TAGS = frozenset({"NNS", "NNPS"})


def mention_types(tokens: Tokens, mentions: Labels) -> Labels:
    """Type of each mention by its head: int32 (n_mentions,), an index in MENTION_TYPES, or -1 for none of them.

    A name's head is a PROPN, a noun's a NOUN. A noun is plural if the file's feats or xpos say so; where it has
    neither, if the word is not its own lemma.
    """
    types = np.full(len(mentions), NO_TYPE, np.int32)
    for i, head in enumerate(mentions[:, 2].tolist()):
        if tokens.upos[head] == "PROPN":
            types[i] = NAME
        elif tokens.upos[head] == "NOUN":
            types[i] = PLURAL if _is_plural(tokens, head) else SINGULAR
    return types


def _is_plural(tokens: Tokens, token: int) -> bool:
    feats, xpos = (tokens.extra.get(name) for name in ("feats", "xpos"))
    if feats is not None and "Number=" in str(feats[token]):
        return "Number=Plur" in str(feats[token])
    if xpos is not None and xpos[token]:
        return xpos[token] in _PLURAL_TAGS
    return tokens.text[token].lower() != tokens.lemma[token].lower()


@dataclass(frozen=True, slots=True, eq=False)
class DocumentQueries:
    """The queries that one document holds, and what decides them.

    Attributes
    ----------
    doc_id
        The document.
    verbs
        Lemmas of the verbs that have a pronoun in the role, sorted.
    held_types
        bool (n_types,): types of which the document has a mention; its queries are these x verbs.
    typed_mentions, types
        int32 (n_typed,): mentions of some type, and its index in MENTION_TYPES.
    pronouns, pronoun_verbs
        int32 (n_instances,): pronouns in the role, and the index of their verb.
    antecedents
        Distribution up to the last of these mentions: later ones change nothing.
    n_left_out
        Mentions that would decide, but have no gold entity.
    truth
        bool (n_verbs, n_types): by gold; None without.
    """

    doc_id: str
    verbs: tuple[str, ...]
    held_types: npt.NDArray[np.bool_]
    typed_mentions: Labels
    types: Labels
    pronouns: Labels
    pronoun_verbs: Labels
    antecedents: AntecedentDistribution
    n_left_out: int = 0
    truth: npt.NDArray[np.bool_] | None = None

    @property
    def n_queries(self) -> int:
        """Number of queries held."""
        return len(self.verbs) * int(self.held_types.sum())

    def hits(self, recalibration: Recalibration, *, n_samples: int, seed: int = 0, first_sample: int = 0) -> Ints:
        """Count the samples in which each query is true: int64 (n_verbs, n_types).

        The samples are those of `corefsample.coreference` for this seed and doc_id.
        """
        if not self.n_queries:
            return np.zeros((len(self.verbs), len(MENTION_TYPES)), np.int64)
        samples = sample_clusterings(
            recalibration.apply(self.antecedents),
            n_samples=n_samples,
            seed=seed,
            doc_id=self.doc_id,
            first_sample=first_sample,
        )
        return self._hits(samples.labels.T)

    def _hits(self, labels: Labels) -> Ints:
        counts = np.zeros((len(self.verbs), len(MENTION_TYPES)), np.int64)
        _query_kernels.query_hits(labels, self.typed_mentions, self.types, self.pronouns, self.pronoun_verbs, counts)
        return counts

    def true_in(self, labels: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Which queries are true in one clustering: bool (n_verbs, n_types).

        Parameters
        ----------
        labels
            int (n_mentions,): mentions with the same label form an entity.
        """
        return self._hits(canonical_labels(labels)[:, None]) > 0


def match_queries(
    document: ScoredDocument,
    *,
    role: str = "subject",
    scheme: str | None = None,
    with_gold: bool = True,
    unannotated: Unannotated = "skip",
) -> DocumentQueries:
    """Find the queries of one document.

    Parameters
    ----------
    document
        With tokens, and with gold unless `with_gold` is False.
    role
        The pronoun's role at the verb, as `corefsample.syntax` names them: subject, object, passive_subject or
        passive_agent.
    scheme
        Name of the dependency scheme, or None to tell it from the labels.
    with_gold
        Whether to leave out mentions without a gold entity, and to say what is true.
    unannotated
        "skip", or "single" where a mention without a gold entity is one of its own: see `corefsample.links.gold_codes`.

    Raises
    ------
    ParameterError
        If an option is unknown, or the document has no tokens or no gold.
    InputError
        If the labels fit no scheme, or several that see different queries.
    """
    _checks.choice("role", role, ROLES)
    if document.tokens is None:
        raise ParameterError(f"doc_id {document.doc_id!r}: tokens must be there for queries, got none")
    if with_gold and document.gold is None:
        raise ParameterError(f"doc_id {document.doc_id!r}: gold must be there for the truth of queries, got none")
    names = readable_schemes(document.tokens.dep, scheme)
    readings = {name: _role_fillers(document.tokens, document.mentions, role, name) for name in names}
    instances = readings[names[0]]
    if any(other != instances for other in readings.values()):
        raise InputError(
            f"tokens.dep must tell the dependency scheme, got labels that fit {' and '.join(names)}, which see "
            "different queries (choose with --scheme)"
        )
    entities = gold_codes(document, unannotated) if with_gold else None
    return _queries(document, mention_types(document.tokens, document.mentions), instances, entities)


def _role_fillers(tokens: Tokens, mentions: Labels, role: str, scheme: str) -> list[tuple[int, str]]:
    """Pairs of a pronoun and the lemma of a verb whose role it fills, in the order of the text."""
    view = ParseView(tokens, SCHEMES[scheme])
    by_head: dict[int, list[int]] = {}
    for mention, head in enumerate(mentions[:, 2].tolist()):
        if tokens.upos[head] in PRONOUNS:
            by_head.setdefault(head, []).append(mention)
    found = {
        (mention, tokens.lemma[verb].lower())
        for verb in (token for token, upos in enumerate(tokens.upos) if upos in VERBS)
        for path in SCHEMES[scheme].paths[role]
        for head in follow(path, view, verb)
        for mention in by_head.get(head, ())
    }
    return sorted(found)


def _queries(
    document: ScoredDocument, types: Labels, instances: list[tuple[int, str]], entities: Ints | None
) -> DocumentQueries:
    known = np.ones(document.n_mentions, np.bool_) if entities is None else entities >= 0
    typed = np.flatnonzero((types != NO_TYPE) & known).astype(np.int32)
    asked = [(mention, verb) for mention, verb in instances if known[mention]]
    verbs = tuple(sorted({verb for _, verb in asked}))
    number = {verb: v for v, verb in enumerate(verbs)}
    pronouns = np.array([mention for mention, _ in asked], np.int32)
    last = max(int(typed.max(initial=-1)), int(pronouns.max(initial=-1)))
    unknown_pronouns = {mention for mention, _ in instances if not known[mention]}
    queries = DocumentQueries(
        doc_id=document.doc_id,
        verbs=verbs,
        held_types=np.bincount(types[typed], minlength=len(MENTION_TYPES)) > 0,
        typed_mentions=typed,
        types=types[typed],
        pronouns=pronouns,
        pronoun_verbs=np.array([number[verb] for _, verb in asked], np.int32),
        antecedents=document.antecedents.first_mentions(last + 1),
        n_left_out=int(np.count_nonzero((types != NO_TYPE) & ~known)) + len(unknown_pronouns),
    )
    if entities is None:
        return queries
    # A mention without an entity is not asked about: any label of its own will do.
    return dataclasses.replace(queries, truth=queries.true_in(np.where(known, entities, -1 - np.arange(len(known)))))
