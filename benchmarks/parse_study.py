"""The study `parses` of benchmarks/studies.py: calibration of sampled parses by temperature and length of path.

Temperatures are fitted to GUM's dev part and measured on its test part; see docs/parses.md.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pandas as pd
from events.commands.calibrate_parses import CalibrateParsesOptions, run_calibrate_parses

SHARED = Path(__file__).parents[2] / "shared"
PIPELINES = ("en_gum_ud", "en_core_web_sm")
COLUMNS = [
    "pipeline",
    "temperature",
    "property",
    "n_pairs",
    "mean_q",
    "share_true",
    "error",
    "largest_gap",
    "share_found",
]


def treebank(part: str) -> Path:
    return SHARED / "data" / "gum" / f"en_gum-ud-{part}.conllu.gz"


def missing() -> list[str]:
    """Names of the files and folders that the study needs and that are not there."""
    needed = [treebank("dev"), treebank("test"), *(SHARED / "models" / name for name in PIPELINES)]
    return [path.name for path in needed if not path.exists()]


def parse_tables(*, quick: bool) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, pd.DataFrame]]:
    """Fitted temperatures, calibration on the test part at 1 and at the fitted one, and bins at the fitted one."""
    fits, rows, bins = [], [], {}
    for name in PIPELINES:
        options = CalibrateParsesOptions(pipeline=str(SHARED / "models" / name), n_words=300 if quick else None)
        fitted = run_calibrate_parses(treebank("test"), dataclasses.replace(options, fit=treebank("dev")))
        assert fitted.fit is not None
        plain = run_calibrate_parses(treebank("test"), dataclasses.replace(options, temperature=1.0))
        fit = fitted.fit
        fits.append({"pipeline": name, "temperature": fit.temperature, "lower": fit.lower, "upper": fit.upper})
        for run in (plain, fitted):
            frame = run.calibration.to_frame().assign(pipeline=name, temperature=round(run.temperatures[0], 2))
            rows.append(frame[COLUMNS])
        name_of_bins = "labelled arcs" if fitted.schemes[0] == fitted.schemes[1] else "roles"
        bins[f"{name}, {name_of_bins}"] = fitted.calibration[name_of_bins].curve.to_frame()
    return pd.DataFrame(fits), pd.concat(rows, ignore_index=True), bins
