"""Who attacks in reports of the MUC evaluations, against templates of experts: python benchmarks/muc_events.py.

A report counts for an organisation if a template that is not optional, of an incident that was accomplished, names it
as the perpetrating organisation. A rule says yes where its event by the organisation has a probability above one half.
The reports are in capitals. They are scored into a folder: truecased, as `score` does it, as they came, or lower-cased.
No text of a report is printed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
from police_events import average_precision
from studies import markdown

from corefsample import read_documents
from corefsample.errors import InputError
from events import EventCounter, load_lexicon, load_rules
from events.lexicon._lexicon import Lexicon

DATA = Path(__file__).parents[1] / ".." / "shared" / "data" / "muc"
LEXICON = Path(__file__).parent / "muc_organisations.yaml"
ACCOMPLISHED = "ACCOMPLISHED"


def scored_reports(
    news: Path, folder: Path, pipeline: str, case: str, parses: int | None, n_reports: int | None
) -> Path:
    """The scored file of the (first) reports in a folder; made if it is not there."""
    names = news.name.partition(".")[0], Path(pipeline).name, case, str(parses or "usual"), str(n_reports or "all")
    scored = folder / f"{'-'.join(names)}.parquet"
    if not scored.exists():
        reports = pd.read_csv(news, dtype=str, keep_default_na=False).head(n_reports)
        reports["date"] = reports["date"].where(reports["date"] != "", "1990-01-01")  # dates decide nothing here
        if case == "lower":
            reports["text"] = reports["text"].str.lower()
        folder.mkdir(parents=True, exist_ok=True)
        source = scored.with_suffix(".csv")
        reports[["doc_id", "date", "text"]].to_csv(source, index=False)
        command = ["corefsample", "score", str(source), "--out", str(scored), "--pipeline", pipeline, "--workers", "1"]
        command += [] if case == "truecased" else ["--as-written"]
        subprocess.run([*command, *([] if parses is None else ["--parses", str(parses)])], check=True)
    return scored


def true_documents(keys: Path, lexicon: Lexicon) -> dict[str, set[str]]:
    """By code of an organisation, the reports that count for it."""
    table = pd.read_csv(keys, dtype=str, keep_default_na=False)
    found: dict[str, set[str]] = {}
    for _, row in table.iterrows():
        if row["INCIDENT: STAGE OF EXECUTION"].strip() != ACCOMPLISHED or "OPTIONAL" in row["MESSAGE: TEMPLATE"]:
            continue
        for name in re.findall(r'"([^"]+)"', row["PERP: ORGANIZATION ID"]):
            matches = lexicon.match(name.split(), [-1] * len(name.split()), None)
            for code in matches.codes.values():
                found.setdefault(code, set()).add(row["MESSAGE: ID"].split()[0])
    return found


def table(scored: Path, keys: Path, rule: str, preset: str | None, lexicon: Lexicon, n_samples: int) -> pd.DataFrame:
    """One row an organisation with reports, most first."""
    counter = EventCounter(
        [load_rules(rule, preset)], lexicon, n_samples=n_samples, recalibration=None, scheme="clearnlp"
    )
    counter.update(read_documents(scored))
    evidence = counter.evidence()
    doc_ids = [document.doc_id for document in read_documents(scored)]
    rows = []
    for code, documents in true_documents(keys, lexicon).items():
        own = evidence[evidence["actor"] == code].set_index("doc_id")["probability"]
        probabilities = own.reindex(doc_ids, fill_value=0.0).to_numpy(np.float64)
        true = np.array([doc_id in documents for doc_id in doc_ids], np.float64)
        if not true.any():
            continue
        hits = probabilities > 0.5
        rows.append(
            {
                "organisation": code,
                "reports": int(true.sum()),
                "found": int(hits.sum()),
                "precision": true[hits].mean() if hits.any() else np.nan,
                "recall": hits[true > 0].mean(),
                "average precision": average_precision(probabilities, true),
            }
        )
    return pd.DataFrame(rows).sort_values(["reports", "organisation"], ascending=[False, True])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="keeps the scored files")
    parser.add_argument("--scored", type=Path, help="a scored file of the reports, instead of scoring them")
    parser.add_argument("--pipeline", default="en_core_web_sm")
    cases = ["truecased", "as-came", "lower"]
    parser.add_argument("--case", choices=cases, default="truecased", help="what is parsed")
    parser.add_argument("--reports", type=int, help="the first reports alone")
    parser.add_argument("--parses", type=int, help="drawn of each report; by default its usual parse")
    parser.add_argument("--rule", default="violence", help="a shipped rule or a file")
    parser.add_argument("--preset")
    parser.add_argument("--lexicon", default=str(LEXICON))
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--most", type=int, default=9, help="the mean is over organisations with so many reports")
    options = parser.parse_args()
    news, keys = DATA / "news.csv.gz", DATA / "keys.csv.gz"
    if not news.exists():
        raise InputError(f"needs {news}")
    parsed = options.pipeline, options.case, options.parses, options.reports
    scored = options.scored or scored_reports(news, options.folder, *parsed)
    rows = table(scored, keys, options.rule, options.preset, load_lexicon(options.lexicon), options.samples)
    markdown("Organisations in MUC reports", rows, digits=2)
    frequent = rows[rows["reports"] >= options.most]
    print(f"mean average precision of {len(frequent)}: {frequent['average precision'].mean():.2f}")


if __name__ == "__main__":
    main()
