"""How often shipped rules are right where readers have answered: python benchmarks/rule_reference.py --folder FOLDER.

Writes events/data/rule_reference.csv, figures only: one row per corpus, event, actor and quarter. The corpora are the
police news (628 articles with four questions), the development part of MUC-3/4 (1,300 reports with templates of
experts) and SATP (1,085 reports with four labels and no dates). Each is scored once into the folder, which also keeps
P and the answer of each document for `rule_error_study.py`. No text of a document is printed or kept in the table.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from muc_events import ACCOMPLISHED, LEXICON
from police_events import LABELS as POLICE_LABELS

from corefsample import read_documents
from corefsample.errors import InputError
from events import EventCounter, load_lexicon, load_rules
from events.evidence._rule_set import RuleSet
from events.lexicon._lexicon import Lexicon
from events.matching._trigger_model import WORDS
from events.rule_error._model import CLASSES, COLUMNS, NUMBERS, kind_of

DATA = Path(__file__).parents[1] / ".." / "shared" / "data"
TABLE = Path(__file__).parents[1] / "events" / "data" / "rule_reference.csv"
# By rule, or rules of which one is enough: templates of type ATTACK are mostly murders, which the rule `attack` leaves
# to `kill`.
MUC_RULES = {"attack|kill": "ATTACK", "bomb": "BOMBING", "kidnap": "KIDNAPPING", "arson": "ARSON", "violence": ""}
SATP_LABELS = {"kill": "shooting", "bomb": "bombing", "kidnap": "kidnapping", "arson": "property"}
MUC_ACTORS = 10  # those with the most reports of any violence
# Templates name organisations; people without one ("guerrillas") are in another field.
NOT_ORGANISATIONS = ("REBEL",)
Answers = dict[tuple[str, str], set[str]]  # by event and actor ("*": anybody, "-": nobody named), documents with a yes


@dataclass(frozen=True)
class Corpus:
    """Documents with answers of readers.

    Attributes
    ----------
    news
        File of the documents.
    lexicon
        With which the events are counted.
    answers
        Reads the answers, given the lexicon.
    """

    news: Path
    lexicon: str
    answers: Callable[[Lexicon], Answers]


def police_answers(lexicon: Lexicon) -> Answers:
    """Answers about the police."""
    labels = pd.read_csv(DATA / "police-events" / "labels.csv", dtype={"doc_id": str})
    return {(rule, "POLICE"): set(labels["doc_id"][labels[label] == 1]) for rule, label in POLICE_LABELS.items()}


def satp_answers(lexicon: Lexicon) -> Answers:
    """Answers about anybody."""
    labels = pd.read_csv(DATA / "satp" / "reports.csv.gz")
    return {(rule, "*"): set(labels["doc_id"][labels[label] == 1]) for rule, label in SATP_LABELS.items()}


def muc_answers(lexicon: Lexicon) -> Answers:
    """Answers about anybody, nobody named, and the organisations with the most reports."""
    keys = pd.read_csv(DATA / "muc" / "keys.csv.gz", dtype=str, keep_default_na=False)
    stage = keys["INCIDENT: STAGE OF EXECUTION"].str.strip() == ACCOMPLISHED
    keys = keys[stage & ~keys["MESSAGE: TEMPLATE"].str.contains("OPTIONAL")]
    answers: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for message, incident, organisations in zip(
        keys["MESSAGE: ID"], keys["INCIDENT: TYPE"], keys["PERP: ORGANIZATION ID"], strict=True
    ):
        codes = _codes(organisations, lexicon)
        for rule, type_of_incident in MUC_RULES.items():
            if type_of_incident in ("", incident.strip()):
                for actor in ("*", *(codes or "-")):
                    answers[rule, actor].add(message.split()[0])
    reports = Counter({actor: len(ids) for (rule, actor), ids in answers.items() if rule == "violence"})
    for actor in ("*", "-", *NOT_ORGANISATIONS):
        reports.pop(actor, None)
    actors = ["*", "-", *(actor for actor, _ in reports.most_common(MUC_ACTORS))]
    return {(rule, actor): answers[rule, actor] for rule in MUC_RULES for actor in actors}


def _codes(organisations: str, lexicon: Lexicon) -> set[str]:
    """Actors of the lexicon that a template names; "Salvadoran army" is an army alone, as rules count it."""
    codes: set[str] = set()
    for name in re.findall(r'"([^"]+)"', organisations):
        words = name.split()
        matches = set(lexicon.match(words, [-1] * len(words), None).codes.values())
        inner = {code for code in matches if lexicon.kinds[code] in lexicon.inner}
        codes |= inner or matches
    return codes


CORPORA: Mapping[str, Corpus] = {
    "muc": Corpus(DATA / "muc" / "news.csv.gz", str(LEXICON), muc_answers),
    "police": Corpus(DATA / "police-events" / "news.csv.gz", "police", police_answers),
    "satp": Corpus(DATA / "satp" / "reports.csv.gz", "police", satp_answers),
}


def scored_file(name: str, folder: Path, pipeline: str) -> Path:
    """Scored documents of a corpus; made if it is not in the folder."""
    scored = folder / f"{name}.parquet"
    if not scored.exists():
        news = pd.read_csv(CORPORA[name].news, dtype=str, keep_default_na=False)
        dates = news["date"] if "date" in news else pd.Series("", news.index)
        folder.mkdir(parents=True, exist_ok=True)
        source = folder / f"{name}.csv"
        news[["doc_id", "text"]].assign(date=dates.mask(dates == "", "1990-01-01")).to_csv(source, index=False)
        command = ["corefsample", "score", str(source), "--out", str(scored), "--pipeline", pipeline, "--workers", "1"]
        subprocess.run(command, check=True)
    return scored


def labelled_documents(
    name: str, folder: Path, pipeline: str, n_samples: int, encoder: str | None = None
) -> pd.DataFrame:
    """P and answer of each document: corpus, event, actor, kind, doc_id, date (NaT: unknown), p, yes, cooccurrence."""
    corpus = CORPORA[name]
    scored = scored_file(name, folder, pipeline)
    lexicon = load_lexicon(corpus.lexicon)
    answers = corpus.answers(lexicon)
    events = list(dict.fromkeys(event for event, _ in answers))
    rules = [load_rules(rule) for rule in dict.fromkeys(rule for event in events for rule in event.split("|"))]
    outcomes = [f"o{events.index(event)}={event}:{actor}" for event, actor in answers]
    definitions = RuleSet.of(rules, lexicon, outcomes, triggers=WORDS, encoder=encoder)
    counter = EventCounter(definitions, n_samples=n_samples, recalibration=None)
    counter.update(read_documents(scored))
    evidence = counter._table(counter.rows).to_pandas()  # with P of 0, too
    news = pd.read_csv(corpus.news, dtype=str, keep_default_na=False)
    dates = pd.to_datetime(news["date"] if "date" in news else pd.Series("", news.index), errors="coerce")
    tables = []
    for (event, actor), yes in answers.items():
        rows = evidence[
            (evidence["event"] == f"o{events.index(event)}") & evidence["actor"].isin([actor, actor.strip("-")])
        ]
        rows = rows.set_index("doc_id").reindex(news["doc_id"])
        p, of_class = rows["probability"].fillna(0.0).to_numpy(), rows["cooccurrence"].fillna("").to_numpy()
        if p.any() or yes:
            columns = {"corpus": name, "event": event, "actor": actor, "kind": kind_of(actor, lexicon.kinds)}
            documents = {"doc_id": news["doc_id"], "date": dates, "p": p, "yes": news["doc_id"].isin(yes)}
            tables.append(pd.DataFrame({**columns, **documents, "cooccurrence": of_class}))
    return pd.concat(tables, ignore_index=True)


def reference_table(documents: pd.DataFrame, pipeline: str) -> pd.DataFrame:
    """One row per corpus, event, actor and quarter (empty: documents without a date)."""
    period = documents["date"].dt.to_period("Q").astype(str).where(documents["date"].notna(), "")
    above = documents["p"] > 0.5
    rows = documents.assign(preset="asserted", pipeline=pipeline, period=period)
    rows = rows.assign(n_documents=1, sum_p=rows["p"], n_yes=rows["yes"], n_above=above)
    rows = rows.assign(yes_above=rows["yes"] & above, yes_below=rows["yes"] & ~above)
    for name in CLASSES:
        is_class = ~above & (documents["cooccurrence"] == ("" if name == CLASSES[-1] else name))
        rows = rows.assign(**{f"n_{name}": is_class, f"yes_{name}": is_class & rows["yes"]})
    summed = rows.groupby([name for name in COLUMNS if name not in NUMBERS], as_index=False)[list(NUMBERS)].sum()
    return summed.assign(sum_p=summed["sum_p"].round(3))[list(COLUMNS)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="keeps scored files, and P and answers")
    parser.add_argument("--pipeline", default="en_core_web_sm", help="of the scored files: a name or a folder")
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--out", type=Path, default=TABLE)
    options = parser.parse_args()
    for corpus in CORPORA.values():
        if not corpus.news.exists():
            raise InputError(f"needs {corpus.news}")
    tables = [labelled_documents(name, options.folder, options.pipeline, options.samples) for name in CORPORA]
    documents = pd.concat(tables, ignore_index=True)
    documents.to_parquet(options.folder / "labelled.parquet")
    table = reference_table(documents, Path(options.pipeline).name)
    table.to_csv(options.out, index=False, lineterminator="\n")
    totals = table.groupby(["corpus", "event", "actor", "kind"])[list(NUMBERS)].sum()
    print(
        totals.assign(precision=totals["yes_above"] / totals["n_above"], recall=totals["yes_above"] / totals["n_yes"])
    )


if __name__ == "__main__":
    main()
