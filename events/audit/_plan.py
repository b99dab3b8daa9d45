"""Which documents to label: a stratified random sample without replacement, drawn from all documents."""

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corefsample import InputError, ParameterError, _checks
from corefsample._arrays import Floats, HtmlTable, Ints, Words, fields_of, pd
from corefsample._random import document_key
from events.audit._audit_frame import AuditFrame
from events.audit._strata import Stratum, allocate, best_cuts, class_spreads, expected_spread, stratify

FLOOR = 5
SHEET_COLUMNS = (
    *("plan", "round", "doc_id", "date", "stratum", "inclusion_probability"),
    *("text", "label", "labeller", "note"),
)
# What a label may say instead of naming a target.
YES_WORDS, NO_WORDS, UNSURE_WORDS = ("yes", "y", "1", "true"), ("no", "n", "0", "false"), ("unsure", "?")
NONE, OTHER = "none", "other"
_OF_STRATA = ("name", "n_documents", "n_sampled", "inclusion_probability")


def plan_name(digest: str) -> str:
    """The first twelve digits of a checksum, which begin with "p" where spreadsheets and pandas would read a number.

    Examples
    --------
    >>> plan_name("b3a047644bd4"), plan_name("916545821e80")
    ('b3a047644bd4', 'p916545821e8')
    """
    name = digest[:12]
    return f"p{name[:-1]}" if re.fullmatch(r"\d+(e\d+)?", name) else name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AuditPlan(HtmlTable):
    """A stratified random sample of the documents of a frame.

    Attributes
    ----------
    frame
        All documents.
    strata
        The strata, numbered from 1 in files.
    stratum_of
        int64 (n_documents,): index of each document's stratum.
    rounds
        Number of labels of each stratum after each round; the last round has those of the whole sample.
    sample, round_of
        int64 (n_sampled,): documents of the sample, in random order within each round, and their rounds, from 1.
    cuts
        Bounds of the ranges of P.
    by, seed, floor
        Length of the periods that divide strata, None without; seed of the sample; smallest number of labels of a
        stratum.
    proxies
        Probabilities of other models by name, float64 (n_documents,) each, whose mean with P made the strata.
    """

    frame: AuditFrame
    strata: tuple[Stratum, ...]
    stratum_of: Ints
    rounds: tuple[tuple[int, ...], ...]
    sample: Ints
    round_of: Ints
    cuts: tuple[float, ...]
    by: str | None
    seed: int
    floor: int
    proxies: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def has_classes(self) -> bool:
        """Whether strata divide documents with P of .5 or less by class."""
        return self.frame.classes is not None and not self.proxies

    def __repr__(self) -> str:
        labels = f"{len(self.sample):,} of {len(self.frame):,} documents"
        return f"AuditPlan({labels} in {len(self.strata)} strata, {len(self.rounds)} rounds)"

    @property
    def identity(self) -> str:
        """Twelve letters and digits that name the plan, of whatever round: see `plan_name`."""
        first_round = self.frame.doc_ids[self.sample[self.round_of == 1]]
        identifying = {
            "source": self.frame.source["sha256"],
            "targets": self.frame.targets,
            "strata": [[stratum.name, stratum.n_documents] for stratum in self.strata],
            "first": self.rounds[0],
            "seed": self.seed,
            "documents": hashlib.sha256("\n".join(first_round).encode()).hexdigest(),
        }
        return plan_name(hashlib.sha256(json.dumps(identifying).encode()).hexdigest())

    def inclusion_probability(self, round_number: int) -> dict[int, float]:
        """Probability of each stratum's documents to be in the sample of the rounds up to this one, by index."""
        counts = self.rounds[round_number - 1]
        return {h: counts[h] / each.n_documents for h, each in enumerate(self.strata)}

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a stratum: stratum, name, n_documents, n_sampled, inclusion_probability."""
        rows = [{name: getattr(each, name) for name in _OF_STRATA} for each in self.strata]
        return pd.DataFrame(rows, index=pd.RangeIndex(1, len(rows) + 1, name="stratum")).reset_index()

    def sheet(self, round_number: int = 1, texts: Mapping[str, str] | None = None) -> pd.DataFrame:
        """Documents of one round to label, in random order, with empty labels.

        Parameters
        ----------
        round_number
            Number of the round, from 1.
        texts
            Text of each document by doc_id; the column `text` is empty for other documents.

        Returns
        -------
        pandas.DataFrame
            One row for each document, with the columns of sheet.csv: see docs/audit.md.
        """
        rows = self.sample[self.round_of == round_number]
        doc_ids = self.frame.doc_ids[rows].tolist()
        probability = self.inclusion_probability(round_number)
        strata = self.stratum_of[rows].tolist()
        columns = {
            "plan": self.identity,
            "round": round_number,
            "doc_id": doc_ids,
            "date": self.frame.date_texts()[rows],
            "stratum": [h + 1 for h in strata],
            "inclusion_probability": [probability[h] for h in strata],
            "text": [(texts or {}).get(doc_id, "") for doc_id in doc_ids],
            "label": "",
            "labeller": "",
            "note": "",
        }
        return pd.DataFrame(columns, columns=list(SHEET_COLUMNS))

    def to_json(self) -> dict[str, Any]:
        """Content of plan.json, without the list of documents: see docs/audit.md."""
        frame = self.frame
        return {
            "format": 2,
            "plan": self.identity,
            "source": dict(frame.source),
            "targets": list(frame.targets),
            "labels": frame.label_kind,
            "cuts": list(self.cuts),
            **fields_of(frame, "event", "period"),
            **fields_of(self, "seed", "by", "floor"),
            "proxies": list(self.proxies),
            "n_documents": len(frame),
            "n_sampled": len(self.sample),
            "strata": [
                {"stratum": h, **{name: getattr(each, name) for name in (*_OF_STRATA, "spread")}}
                for h, each in enumerate(self.strata, start=1)
            ],
            "rounds": [list(counts) for counts in self.rounds],
        }


def plan_audit(
    frame: AuditFrame,
    n_labels: int = 200,
    *,
    cuts: Sequence[float] | None = None,
    groups: Sequence[Any] | None = None,
    by: str | None = None,
    floor: int = FLOOR,
    seed: int = 0,
    proxies: Mapping[str, np.typing.ArrayLike] | None = None,
) -> AuditPlan:
    """Draw a stratified random sample of documents to label.

    Strata are ranges of the highest probability P of any target: P = 0, and the ranges between the bounds `cuts`. In a
    run they are P above .5, and the classes of the other documents: see `AuditFrame.divisions`. These are divided
    further by `groups` and by period, if requested. Labels go where they are expected to narrow the interval most, and
    every stratum gets some. P only guides the sample: estimates do not assume that it is right.

    Parameters
    ----------
    frame
        All documents, from `read_run_documents`, `read_scores` or `AuditFrame.from_arrays`.
    n_labels
        Number of documents to draw, enough for `floor` in each stratum; 200 by default.
    cuts
        Rising bounds of the ranges of P, in (0, 1]. By default, two bounds that make the estimate vary least, or one if
        the floors would take more than half of the labels; none in a run.
    groups
        One value for each document, by which strata are divided too, such as a column of a table; by default none.
    by
        Length of the periods by which strata are divided too, such as "year"; by default, periods do not divide strata.
    floor
        Smallest number of labels of a stratum, at least 1; a smaller stratum is labelled whole. 5 by default.
    seed
        Seed of the sample, in [0, 2**64). The sample depends on it and the doc_ids, not on the order of the documents.
    proxies
        Probabilities of other models by name, (n_documents,) each in [0, 1], such as the labels of a language model as
        0 and 1. Strata are then ranges of the mean of these and the highest P, and `estimate_counts` uses the proxies.
        By default, strata are ranges of P alone.

    Raises
    ------
    ParameterError
        If `frame` has another type, `n_labels` is too small for `floor` labels in each stratum or larger than the
        corpus, `cuts` are not ascending in (0, 1], groups or proxies have not one valid value for each document, or
        `by`, `floor` or `seed` is invalid.
    InputError
        If a label would be ambiguous: two names of targets differ only in case, or a name is a word of a label, has a
        blank or "?" at its end, or has ";".
    """
    _checks.instance("frame", frame, AuditFrame, hint="`AuditFrame.from_arrays` makes one")
    _require_distinct(frame)
    n_labels, floor = _checks.whole("n_labels", n_labels, 1), _checks.whole("floor", floor, 1)
    seed = _checks.seed(seed)
    if groups is not None and len(groups) != len(frame):
        rule = f"must have one value for each of {len(frame)} documents"
        raise ParameterError(f"{rule}, got {len(groups)}", parameter="groups")
    group_of = None if groups is None else np.array(list(groups), dtype=object)
    other_p = checked_proxies(proxies, frame)
    p = np.mean([frame.highest(), *other_p.values()], axis=0)
    has_classes = frame.classes is not None and not proxies
    bounds: tuple[float, ...] = ()
    if cuts is None and not has_classes:
        # Two bounds if the floors then leave half of the labels, else one, or none if it has no room.
        for n_bounds, share in ((2, 0.5), (1, 1.0), (0, np.inf)):
            bounds = best_cuts(p, n_bounds)
            names, stratum_of = stratify(frame, p, bounds, group_of, by, has_classes=False)
            if np.minimum(np.bincount(stratum_of), floor).sum() <= share * n_labels:
                break
    else:
        bounds = tuple(_checks.probability("cuts", cut, above_zero=True) for cut in cuts or ())
        if list(bounds) != sorted(set(bounds)):
            raise ParameterError(f"must rise, got {', '.join(map(str, bounds))}", parameter="cuts")
        names, stratum_of = stratify(frame, p, bounds, group_of, by, has_classes=has_classes)
    sizes, floors = np.bincount(stratum_of), np.full(len(names), floor)
    if has_classes:
        spreads, least = class_spreads(frame, stratum_of, len(names), n_labels)
        floors = np.maximum(floors, least)
    elif proxies:
        spreads = expected_spread(np.bincount(stratum_of, p) / sizes)
    else:  # several targets add their variances
        sums = np.zeros((len(frame.targets), len(names)))
        np.add.at(sums, (frame.columns, stratum_of[frame.rows]), frame.values)
        spreads = np.sqrt((expected_spread(sums / sizes) ** 2).sum(axis=0))
    counts = allocate(sizes, spreads, n_labels, floor=floors)
    rounds = (tuple(counts.tolist()),)
    rows = zip(names, sizes.tolist(), counts.tolist(), spreads.tolist(), strict=True)
    strata = tuple(Stratum(*row) for row in rows)
    drawn = draw(frame, stratum_of, rounds, seed)
    return AuditPlan(frame, strata, stratum_of, rounds, *drawn, bounds, by, seed, floor, other_p)


def _require_distinct(frame: AuditFrame) -> None:
    """Raise an InputError unless every label, which is read without regard to case, names one of the targets."""
    words = {*UNSURE_WORDS, NONE, OTHER, *(YES_WORDS + NO_WORDS if len(frame.targets) == 1 else ())}
    names: dict[str, str] = {}
    for name in frame.targets:
        rule, key = "", name.lower()
        if key != key.strip() or ";" in key or key.endswith("?"):
            rule = "must have no blank at its ends, no ';' and no '?' at its end"
        elif key in words:
            rule = f"must be none of the words of a label, {', '.join(sorted(words))}"
        elif key in names:
            rule = f"must differ from {names[key]!r} in more than capitals"
        if rule:
            source_path = str(frame.source["path"]) or None
            raise InputError(f"name of an actor or event {rule}, got {name!r}", place=source_path)
        names[key] = name


def checked_proxies(proxies: Mapping[str, np.typing.ArrayLike] | None, frame: AuditFrame) -> dict[str, Floats]:
    """Return probabilities of other models as arrays, or raise unless every document has one in [0, 1]."""
    checked: dict[str, Floats] = {}
    for name, values in (proxies or {}).items():
        p = _checks.floats("proxies", values)
        if len(p) != len(frame):
            rule = f"must have one value for each of {len(frame)} documents"
            raise ParameterError(f"{rule}, got {len(p)} of {name}", parameter="proxies")
        wrong = np.flatnonzero(~((p >= 0.0) & (p <= 1.0)))
        if wrong.size:
            rule = f"{name} must be yes, no or a number in [0, 1] for every document"
            doc_id = frame.doc_ids[wrong[0]]
            raise ParameterError(f"{rule}, got {p[wrong[0]]:g} for {doc_id!r}", parameter="proxies")
        checked[name] = p
    return checked


def extend_plan(plan: AuditPlan, n_more: int) -> AuditPlan:
    """Add a round of documents to an earlier plan: together they are one stratified random sample.

    The new labels are divided by the same expected variances as before and do not depend on the labels of earlier
    rounds, so that in each stratum the sample stays a simple random one.

    Parameters
    ----------
    plan
        Plan to which the round is added.
    n_more
        Number of documents of the new round.

    Raises
    ------
    ParameterError
        If `n_more` is below 1, or above the number of documents left.
    """
    n_more = _checks.whole("n_more", n_more, 1)
    n_left = len(plan.frame) - len(plan.sample)
    if n_more > n_left:
        rule = f"must be at most the number of documents left, {n_left:,}"
        raise ParameterError(f"{rule}, got {n_more:,}", parameter="n_more")
    sizes, spreads = zip(*((stratum.n_documents, stratum.spread) for stratum in plan.strata), strict=True)
    counts = allocate(sizes, spreads, len(plan.sample) + n_more, floor=plan.floor, earlier_labels=plan.rounds[-1])
    rounds = (*plan.rounds, tuple(counts.tolist()))
    strata = tuple(dataclasses.replace(each, n_sampled=n) for each, n in zip(plan.strata, counts.tolist(), strict=True))
    sample, round_of = draw(plan.frame, plan.stratum_of, rounds, plan.seed)
    return dataclasses.replace(plan, strata=strata, rounds=rounds, sample=sample, round_of=round_of)


def draw(frame: AuditFrame, stratum_of: Ints, rounds: Sequence[Sequence[int]], seed: int) -> tuple[Ints, Ints]:
    """Documents of the sample and their rounds: of each stratum those with the smallest keys.

    A document's key is its 64-bit digest with the seed, so that the order is random, does not depend on that of the
    documents, and the sample of the first rounds stays when another is added.
    """
    keys: Words = np.array([document_key(seed, doc_id) for doc_id in frame.doc_ids], np.uint64)
    order = np.lexsort((keys, stratum_of))
    starts = np.searchsorted(stratum_of[order], np.arange(len(rounds[0])))
    sampled, numbers = [], []
    before: Sequence[int] = [0] * len(rounds[0])
    for number, counts in enumerate(rounds, start=1):
        rows = np.concatenate([order[s + b : s + c] for s, b, c in zip(starts, before, counts, strict=True)])
        # Strata are mixed, by another random order: the smallest keys of a large stratum are smaller than others.
        with np.errstate(over="ignore"):
            mixed: Words = (keys[rows] ^ (keys[rows] >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
        sampled.append(rows[np.argsort(mixed ^ (mixed >> np.uint64(29)), kind="stable")])
        numbers.append(np.full(len(rows), number, np.int64))
        before = counts
    return np.concatenate(sampled).astype(np.int64), np.concatenate(numbers)
