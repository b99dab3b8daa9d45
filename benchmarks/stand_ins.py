"""Probabilities that words stand for actors, from MUC reports: python benchmarks/stand_ins.py --scored FILE.

The scored file is that of benchmarks/muc_events.py. A class noun ("the guerrillas") that fills a role is taken to stand
for a named organisation of its class as often as the report counts for the organisation, divided by how often it does
where the organisation itself fills the role. "The army" in a report that names one country is taken to be that of the
country if this is where the incident happened. No text of a report is printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from muc_events import DATA, LEXICON, true_documents
from scipy.optimize import minimize
from scipy.special import expit
from studies import markdown

from corefsample import ScoredDocument, read_documents
from corefsample._arrays import Floats
from events import load_lexicon, load_rules
from events.lexicon._lexicon import Lexicon
from events.matching._matching import match_rules

FEATURES = ("alone", "before", "definite")
STATE_NOUNS = frozenset({"army", "troop", "soldier", "military", "government"})
PENALTY = 0.1  # of squared coefficients


def fillers(document: ScoredDocument, lexicon: Lexicon) -> Iterator[dict[str, object]]:
    """One row for each mention that fills a role and is an organisation, or a class noun that may stand for it."""
    (found,) = match_rules(
        document.tokens, document.mentions, [load_rules("violence")], lexicon, document.date, "clearnlp"
    )
    codes = [found.actors[number] for number in found.described_actors]
    certain = len(codes) - len(found.inferred)
    names = pd.DataFrame({"mention": found.described_mentions[:certain], "code": codes[:certain]})
    agents = {*found.instances.ravel().tolist()}
    heads, sentences = document.mentions[:, 2], document.tokens.sent
    for row in names[names["mention"].isin(agents)].itertuples():
        yield {"code": row.code, "named": True}
    for each in found.inferred:
        if each.possessor is not None or each.mention not in agents:
            continue
        (members,) = (several for several in lexicon.members.values() if each.code in several)
        head, own = heads[each.mention], heads[names["mention"][names["code"] == each.code]]
        yield {
            "code": each.code,
            "named": False,
            "alone": members.isdisjoint({*names["code"]} - {each.code}),
            "before": bool((sentences[own] <= sentences[head]).any()),
            "definite": has_article(document, head),
        }


def has_article(document: ScoredDocument, head: int) -> bool:
    """Whether a noun has a definite article."""
    tokens = document.tokens
    return any(tokens.text[k].lower() == "the" for k in np.flatnonzero(tokens.head == head))


def fitted(features: Floats, counts: Floats, ceiling: float) -> Floats:
    """Intercept and coefficients of P(report counts) = ceiling * P(stands for the organisation)."""

    def loss(coefficients: Floats) -> float:
        p = ceiling * expit(coefficients[0] + features @ coefficients[1:])
        return float(-np.sum(np.log(np.where(counts > 0, p, 1 - p))) + PENALTY * np.sum(coefficients[1:] ** 2))

    return np.asarray(minimize(loss, np.zeros(1 + features.shape[1])).x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scored", type=Path, required=True, help="the scored reports, parsed by en_core_web_sm")
    parser.add_argument("--lexicon", default=str(LEXICON))
    options = parser.parse_args()
    lexicon, countries = load_lexicon(options.lexicon), load_lexicon("countries")
    true = true_documents(DATA / "keys.csv.gz", lexicon)
    keys = pd.read_csv(DATA / "keys.csv.gz", dtype=str, keep_default_na=False)
    names = {name.upper(): code for code, name in countries.names.items()}
    places = {
        doc_id: {names.get(place.split(":")[0].split(" - ")[0].strip()) for place in several}
        for doc_id, several in keys.groupby(keys["MESSAGE: ID"].str.split().str[0])["INCIDENT: LOCATION"]
    }
    rows: list[dict[str, object]] = []
    states: list[tuple[str, bool, bool, bool]] = []
    organisations = frozenset().union(*lexicon.members.values())
    for document in read_documents(options.scored):
        doc_id, tokens = document.doc_id, document.tokens
        for row in fillers(document, lexicon):
            rows.append({"doc_id": doc_id, "counts": doc_id in true.get(str(row["code"]), ()), **row})
        found = countries.match(tokens.text, tokens.head.tolist(), document.date, tokens.lemma).codes
        if len({*found.values()}) == 1 and places[doc_id] - {None}:
            for head in document.mentions[:, 2].tolist():
                if tokens.lemma[head].lower() in STATE_NOUNS and head not in found:
                    is_right = {*found.values()} <= places[doc_id]
                    states.append((doc_id, has_article(document, head), min(found) < head, is_right))
    units = pd.DataFrame(rows)
    units = units[units["code"].isin(organisations)]
    named = units[units["named"]].drop_duplicates(["doc_id", "code"])
    others = units[~units["named"]].merge(named[["doc_id", "code"]], how="left", indicator=True)
    others = others[others["_merge"] == "left_only"].sort_values(["before", "definite"], ascending=False)
    others = others.drop_duplicates(["doc_id", "code"])
    ceiling = named["counts"].mean()
    features = others[list(FEATURES)].to_numpy(np.float64)
    coefficients = fitted(features, others["counts"].to_numpy(np.float64), ceiling)
    print(f"{len(named)} organisations fill a role, of which {ceiling:.3f} count; class nouns alone: {len(others)}")
    markdown("Class nouns", pd.DataFrame([coefficients], columns=["intercept", *FEATURES]), digits=2)
    others = others.assign(P=expit(coefficients[0] + features @ coefficients[1:]))
    table = others.groupby(["alone", "before", "definite"]).agg(
        pairs=("counts", "size"), counts=("counts", "mean"), P=("P", "mean")
    )
    markdown("Class nouns by kind", table.reset_index(), digits=2)
    columns = ["doc_id", "definite article", "named before", "of the country"]
    table = pd.DataFrame(states, columns=columns).drop_duplicates(columns[:3]).groupby(columns[1:3])[columns[3]]
    markdown("Nouns of a state, where one country is named", table.agg(["size", "mean"]).reset_index(), digits=2)


if __name__ == "__main__":
    main()
