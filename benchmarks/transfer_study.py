"""Do intervals hold in text of another kind? python benchmarks/transfer_study.py FOLDER [--only PART].

Leaves out each of GUM's 15 genres: the antecedent model, the recalibration and the domain effect are fitted to other
genres, and the intervals of entity queries are tested on the genre. Recalibrations leave out three genres at a time.
The counts are over the documents of all genres, each document recalibrated without its genre. The row marked * is what
`corefsample score` and `corefsample events` give by default, a shift for each genre that the documents name. The row
after it has one shift for all documents, as events does where documents name no genre: such a corpus should be of one
kind. The same for the English model of the package, whose recalibration is fitted to its own genres and tested on the
genres that it never saw. FOLDER keeps scored documents and fits, so that a second run does not train again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import held_out_scores as held_out
import numpy as np
import pandas as pd
from english_texts import ENGLISH_GENRES
from query_study import MENTION_TYPES, QueryTable, count_coverage, count_intervals, match_queries

from corefsample import ScoredDocument
from corefsample.recalibration import RecalibrationFitter
from corefsample.recalibration._fitter import Form
from corefsample.recalibration._losses import OBJECTIVES, Objective
from corefsample.recalibration._model import Recalibration
from corefsample.recalibration._uncertain import UncertainRecalibration, Uncertainty
from corefsample.scorers import load_scorer, score_documents
from corefsample.scorers.protocol import MENTION_SOURCES, MentionSource

ROLES = ("subject", "object", "passive_subject")
N_SAMPLES, N_DRAWS, N_REFITS = 1000, 100, 100
FORMS: tuple[Form, ...] = ("global", "kinds")
ONE_SHIFT = "by kind, domain, one shift"
SHIPPED = "by kind, domain"  # the default: scores by kind, and counts with the domain effect
# Name of a variant, its form, and the uncertainty of its intervals.
VARIANTS: tuple[tuple[str, Form | None, Uncertainty], ...] = (
    ("as scored", None, "none"),
    ("temperature and bias", "global", "none"),
    ("by kind", "kinds", "none"),
    ("by kind, fit", "kinds", "fit"),
    ("by kind, domain", "kinds", "domain"),
    (ONE_SHIFT, "kinds", "domain"),
)
RecalibrationOf = Callable[[str], UncertainRecalibration]  # by genre


def fitted(
    documents: Sequence[ScoredDocument], form: Form, objective: Objective = "likelihood"
) -> UncertainRecalibration:
    """Fit a recalibration to documents of several genres, with its uncertainty."""
    genres = {document.doc_id: held_out.genre_of(document.doc_id) for document in documents}
    chosen: Objective = "likelihood" if form == "global" else objective
    # A phrase of the parse that is no mention of GUM's is of no entity but its own.
    fitter = RecalibrationFitter(documents, objective=chosen, form=form, domains=genres, unannotated="single")
    effect = fitter.domain_effect() if form == "kinds" else None
    return UncertainRecalibration(fitter.fit().recalibration, fitter.bootstrap(N_REFITS), effect)


def kept_fit(path: Path, make: Callable[[], UncertainRecalibration]) -> UncertainRecalibration:
    """A fit from a file, or a new one, which is written there."""
    if not path.exists():
        path.write_text(json.dumps(make().to_json()), encoding="utf-8")
    return UncertainRecalibration.from_json(json.loads(path.read_text(encoding="utf-8")))


def fits_without_genre(
    scores: held_out.ScoreCache, form: Form, objective: Objective
) -> dict[str, UncertainRecalibration]:
    """For each genre, the fit to the genres of other blocks, by models that saw neither block."""

    def fit(block: tuple[str, ...]) -> UncertainRecalibration:
        by_genre = held_out.fit_documents(scores, block)
        return fitted([document for documents in by_genre.values() for document in documents], form, objective)

    found = {}
    for block in held_out.blocks():
        path = scores.folder / f"fit-{scores.orders}-{form}-{objective}-without-{'+'.join(block)}.json"
        for genre in block:
            found[genre] = kept_fit(path, partial(fit, block))
        print(f"{form}, {objective}: fitted without {', '.join(block)}", flush=True)
    return found


def probabilities(
    table: QueryTable, fit_of: RecalibrationOf, uncertainty: Uncertainty, *, n_draws: int, one_shift: bool = False
) -> np.typing.NDArray[np.float64]:
    """P of all pairs, (n_pairs,) or (n_draws, n_pairs): each document under the recalibration of its genre."""
    genres = [held_out.genre_of(doc_id) for doc_id in table.doc_ids]
    shifts = {genre: "" if one_shift else genre for genre in genres}
    sampled = {genre: fit_of(genre).sampled(uncertainty, n_draws, domain=name) for genre, name in shifts.items()}
    if uncertainty == "none":
        return table.probabilities([sampled[genre][0] for genre in genres], n_samples=N_SAMPLES)
    draws = [[sampled[genre][draw] for genre in genres] for draw in range(n_draws)]
    return table.draws(draws, n_samples=N_SAMPLES)


def by_type(name: str, table: QueryTable, probs: np.typing.NDArray[np.float64]) -> dict[str, object]:
    """Mean P and share of true queries by type of mention."""
    types = np.array([table.queries[query][0] for query in table.pair_queries.tolist()])
    mean = np.atleast_2d(probs).mean(axis=0)
    row: dict[str, object] = {"variant": name, "brier": float(np.mean((mean - table.truth) ** 2))}
    for mention_type in MENTION_TYPES:
        row[f"{mention_type}: P"] = float(mean[types == mention_type].mean())
        row["true"] = row.get("true", "")
        row[f"{mention_type}: true"] = float(table.truth[types == mention_type].mean())
    del row["true"]
    return row


def report(
    title: str,
    documents: Sequence[ScoredDocument],
    fits: dict[Form, RecalibrationOf],
    *,
    roles: Sequence[str],
    n_draws: int,
) -> pd.DataFrame:
    """Print coverage and widths of 95% quantile intervals by role and variant; return those of all intervals."""
    parts = []
    for role in roles:
        table = QueryTable(match_queries(document, role=role) for document in documents)
        types = []
        for name, form, uncertainty in VARIANTS:
            nothing = UncertainRecalibration(Recalibration())
            fit_of = fits[form] if form is not None else (lambda _, nothing=nothing: nothing)
            probs = probabilities(table, fit_of, uncertainty, n_draws=n_draws, one_shift=name == ONE_SHIFT)
            types.append(by_type(name, table, probs))
            coverage = count_coverage(count_intervals(table, probs))
            coverage.insert(0, "variant", name)
            coverage.insert(1, "default", name == SHIPPED)
            coverage.insert(0, "role", role)
            parts.append(coverage)
            shown = coverage[(coverage["interval"] == "quantile") & (coverage["level"] == 0.95)]
            cells = ", ".join(
                f"{row.documents}: {row.coverage:.1%} of {row.n_queries}, width {row.mean_width:.2f}"
                for row in shown.itertuples()
            )
            print(f"{title}, {role}, {name}{' *' if name == SHIPPED else ''}: {cells}", flush=True)
        print(f"\n{title}, {role}: P and truth by type\n{pd.DataFrame(types).round(4).to_string(index=False)}\n")
    found = pd.concat(parts, ignore_index=True)
    found.insert(0, "part", title)
    return found


def english_fit(
    scores: held_out.ScoreCache, mentions: MentionSource, form: Form = "kinds", objective: Objective = "links-log"
) -> UncertainRecalibration:
    """A recalibration of the English model: fitted to its documents, each scored without its genre."""
    by_genre = held_out.english_scores(scores, mentions)
    return fitted([document for documents in by_genre.values() for document in documents], form, objective)


def main() -> None:
    """Run the parts asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where scored documents and fits are kept")
    parser.add_argument("--processes", type=int, default=2, help="that train models")
    parser.add_argument("--orders", type=int, default=1, help="of the documents, in training (the shipped model: 3)")
    parser.add_argument("--draws", type=int, default=N_DRAWS, help="of an uncertain recalibration")
    parser.add_argument("--objective", default="links-log", choices=OBJECTIVES)
    parser.add_argument("--roles", nargs="+", default=list(ROLES))
    parser.add_argument("--only", choices=["genres", "english"], help="one part alone")
    parser.add_argument("--save", type=Path, help="CSV file for all coverages and widths")
    arguments = parser.parse_args()
    scores = held_out.ScoreCache(arguments.folder, n_processes=arguments.processes, orders=arguments.orders)
    options = {"roles": arguments.roles, "n_draws": arguments.draws}
    tables = []
    if arguments.only in (None, "genres"):
        held_out.leave_out_scores(scores)
        found = {form: fits_without_genre(scores, form, arguments.objective) for form in FORMS}
        documents = [each for genre in held_out.genres() for each in held_out.test_documents(scores, genre)]
        tables.append(report("each genre left out", documents, {f: found[f].__getitem__ for f in FORMS}, **options))
    unseen = [each for each in held_out.gum() if held_out.genre_of(each.doc_id) not in ENGLISH_GENRES]
    for mentions in MENTION_SOURCES if arguments.only in (None, "english") else ():
        fits = {}
        for form in FORMS:
            path = scores.folder / f"fit-english-{mentions}-{form}-{arguments.objective}.json"
            fits[form] = kept_fit(path, partial(english_fit, scores, mentions, form, arguments.objective))
        documents = list(score_documents(load_scorer(), unseen, mentions=mentions))
        of_any: dict[Form, RecalibrationOf] = {form: (lambda _, fit=fit: fit) for form, fit in fits.items()}
        tables.append(report(f"the English model, unseen genres, mentions: {mentions}", documents, of_any, **options))
    if arguments.save is not None:
        pd.concat(tables, ignore_index=True).to_csv(arguments.save, index=False)


if __name__ == "__main__":
    main()
