"""Folders as `corefsample audit learn` writes them, made by hand."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from corefsample.files._reading import sealed, sha256


def made_learned(run: Path, audit: Path, out: Path, chosen: str = "") -> Path:
    """Learned P of a run: half of P, and .25 more; labels of an audit, and of a `chosen` document.

    Targets come in another order than in the audit, which sorts them by their totals.
    """
    table = pd.read_parquet(run / "all_documents.parquet")
    audited = pd.read_csv(audit / "audited.csv", keep_default_na=False)
    labels = pd.read_csv(audit / "labels.csv", keep_default_na=False)
    given = dict(zip(labels["doc_id"], labels["label"], strict=True)) | ({chosen: "yes"} if chosen else {})
    keys = list(dict.fromkeys(zip(audited["event"], audited["actor"], strict=True)))[::-1]
    documents = []
    for event, actor in keys:
        label = [given.get(doc_id, "") for doc_id in table["doc_id"]]
        if len(keys) > 1:
            label = [each and ("yes" if actor in each.split(";") else "no") for each in label]
        columns = {"doc_id": table["doc_id"], "date": table["date"].astype(str), "event": event, "actor": actor}
        p = table["probability"]
        documents.append(pd.DataFrame({**columns, "probability": p, "learned": 0.25 + p / 2, "label": label}))
    learned = pd.concat(documents, ignore_index=True)
    learned["sampled"] = np.where(learned["label"] == "", "", "P = 0")
    learned.loc[learned["doc_id"] == chosen, "sampled"] = "chosen"
    counts = pd.concat([audited[(audited["event"] == event) & (audited["actor"] == actor)] for event, actor in keys])
    counts = counts[["event", "actor", "period", "period_start", "n_docs", "level"]].assign(
        n_labels=counts["n_labelled"],
        mean=counts["estimate"] + 0.5,
        sd=1.0,
        lower=np.floor(counts["estimate"]).astype(int),
        upper=np.ceil(counts["estimate"]).astype(int) + 2,
        run_mean=counts["model_mean"],
        run_lower=counts["model_lower"],
        run_upper=counts["model_upper"],
    )
    out.mkdir(parents=True, exist_ok=True)
    learned.to_csv(out / "learned.csv", index=False)
    counts.to_csv(out / "learned_counts.csv", index=False)
    (out / "learned.json").write_text(json.dumps({"format": 1, "plan": str(labels["plan"].iloc[0])}), encoding="utf-8")
    return seal(out, "learned.json")


def seal(folder: Path, name: str, **changes: object) -> Path:
    """Write a record of a folder again with the checksums of the tables beside it, as if a command had written all."""
    record = json.loads((folder / name).read_text(encoding="utf-8")) | changes
    record["files"] = {path.name: sha256(path) for path in folder.glob("*.csv")}
    (folder / name).write_text(json.dumps(sealed(record)), encoding="utf-8")
    return folder
