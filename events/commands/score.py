"""Score the antecedents of mentions, in news or in annotated documents.

INPUTS are dated news, with --pipeline: CSV, TSV, JSON Lines or Parquet with the columns doc_id, date, text and
title; texts (.txt) with a date such as 2001-09-11 in their names; NITF XML, archives (.tgz) and folders of these;
or - for JSON Lines on standard input. Or they are annotated corpora (.conllu, .conll, _conll, also with .gz), whose
mentions and gold are kept; or scored mentions, to be scored again. The commands events and calibrate read the file
--out.

Examples
--------
  corefsample score news.csv --pipeline en_core_web_sm --out scored.parquet
  corefsample score corpus.conllu --model model.npz --out scored.jsonl.gz
  corefsample score texts --pipeline NAME --out scored.parquet
  corefsample score news.csv --pipeline NAME --workers 8 --out scored.parquet
  corefsample score corpus.conllu --folds 5 --out held-out.jsonl.gz
  corefsample score news.csv --pipeline NAME --parses 10 --out scored.parquet
"""

from collections.abc import Iterator, Mapping
from typing import Any

from corefsample import _checks
from corefsample.files._paths import Inputs
from events._options import Progress
from events._summary import Summary, counted, counts_above_zero, empty_corpus, mentions_by_reason, set_aside
from events.commands._parser import Command
from events.runs._run_options import ScoreOptions

__all__ = ["ScoreOptions", "run_score"]


def run_score(inputs: Inputs, options: ScoreOptions, *, on_progress: Progress | None = None) -> Summary:
    """Score documents with an antecedent model.

    The bytes of the output depend only on the documents, the model, the pipeline and the options, not on the number of
    processes or on interruptions. During the run, finished parts are stored in the folder `out`.parts (in the current
    folder if `out` is a URL). An interrupted run leaves them there, and the same call continues it.

    Parameters
    ----------
    inputs
        Paths of files and of folders of news, globs, or "-" for standard input: annotated corpora (CoNLL-U,
        CoNLL-2012), scored mentions, or dated news. News and documents without a parse require `ScoreOptions.pipeline`.
        Annotated entities, dates and metadata are kept.
    options
        Options of scoring, and the new file (.jsonl, .jsonl.gz or .parquet). The record is written to its name with
        .scoring.json added, and invalid documents to its name with .quarantine.jsonl added.
    on_progress
        Function that is called after some documents with the bytes read, the bytes of all files, and the number of
        documents.

    Raises
    ------
    ParameterError
        If the pipeline cannot parse, or an output exists and `overwrite` is false. No document is then read.
    InputError
        If the model was written by another version, a document is invalid and is not set aside, or the inputs have no
        document.
    OutputError
        If a file cannot be written.
    """
    _checks.instance("options", options, ScoreOptions)
    if options.folds is None:
        from events.runs._score_run import score_corpus

        values = score_corpus(inputs, options, on_progress=on_progress)
    else:
        from events.runs._training_corpora import score_folds

        values = score_folds(inputs, options, on_progress=on_progress)
    out, seconds, n_resumed = values["out"], values["seconds"], values["n_resumed"]
    n_scored = values["n_documents"] - n_resumed
    rate = n_scored / seconds if seconds else 0.0
    work = f"{counted(n_scored, 'document')} scored in {seconds:,.1f} s, {rate:,.1f} per second"
    earlier = f", and {n_resumed:,} by an earlier run" if n_resumed else ""
    files = {"Scored": out, "Record": values["record"]}
    reasons = [f"  {reason}" for reason in values["reasons"]]
    notices = [
        *empty_corpus(values["n_documents"]),
        *set_aside(values["n_quarantined"], f"{out}.quarantine.jsonl"),
        *reasons,
    ]
    return Summary(values=values, shown=[*_shown(values)], notices=notices, files=files, work=f"{work}{earlier}.")


def _shown(run: Mapping[str, Any]) -> Iterator[str]:
    """Yield numbers of scored documents and mentions, and faults of texts."""
    from corefsample.recalibration._uncertain import SHIPPED
    from corefsample.scorers._scoring import ScoringTally, few_known_words
    from events.news._quality import TextTally

    tally = ScoringTally(**{name: run[name] for name in ScoringTally.__dataclass_fields__})
    yield (
        f"{counted(tally.n_documents, 'document')}, {counted(tally.n_mentions, 'mention')}, "
        f"{counted(tally.n_candidates, 'candidate')}."
    )
    yield (
        f"{tally.n_dropped:,} unlikely candidates left out: {tally.mean_dropped_mass:.2g} of a mention's probability "
        "on average."
    )
    if run["recalibration"] is not None:
        name = SHIPPED.get(run["recalibration"], run["recalibration"])
        yield f"Recalibrated ({name}); --recalibration none leaves the scores as they are."
    if tally.n_without_gold:
        yield f"{tally.n_without_gold:,} mentions of annotated documents have no annotated entity."
    yield from mentions_by_reason("skipped", run["skipped"])
    if few_known := few_known_words(tally):
        yield f"Words: {few_known}."
    if tally.n_seen:
        yield (
            f"{counted(tally.n_seen, 'document')} were in the training of the model, so their scores must not be used "
            "for fits or tests: --folds 5 scores documents with gold by models that were trained without them."
        )
    yield from TextTally(**run["texts"]).notices()
    if run["duplicates"] is not None:
        yield f"Texts of earlier articles: {run['n_repeated']:,}, listed in {run['duplicates']}"
    yield from counts_above_zero((run["n_not_selected"], "document", "left out by --where"))


command = Command(ScoreOptions, run_score, "inputs+", task="scoring")
