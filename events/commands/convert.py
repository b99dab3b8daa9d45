"""Check documents and copy them to another file or format.

INPUTS and OUTPUT are scored mentions (.jsonl, .jsonl.gz, .parquet), CoNLL-U with entities (CorefUD: .conllu) or
CoNLL-2012 (.conll, _conll), the latter two also with .gz. Annotated documents have no scores; `corefsample score` adds
them. With --on-error quarantine, bad documents go to OUTPUT with .quarantine.jsonl added to its name.

Examples
--------
  corefsample convert scored.jsonl.gz scored.parquet
  corefsample convert corpus.conllu corpus_gold_conll
  corefsample convert scored.parquet answer.conllu --clustering map
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Literal

from corefsample.errors import ParameterError
from corefsample.files._paths import Inputs, PathLike
from events import _options as shared
from events._summary import Summary, counted, mentions_by_reason, set_aside
from events.commands._parser import Command


@shared.declared
class ConvertOptions(shared.Seed, shared.Overwrite, shared.OnError):
    """Options of a conversion.

    Attributes
    ----------
    clustering
        Entities of scored documents. gold: the annotated ones; map: those of the likeliest antecedents; sample: one
        sampled clustering; conll: those with the largest expected score of all documents together, which is 2.0 points
        of CoNLL above map on GUM without singletons and takes up to a second a document; other names: those with the
        smallest expected loss of that name. [default: gold]
    seed
        Seed of the samples.
    singletons
        Write entities of one mention, and count them in a loss that is a score.
    """

    clustering: Literal["gold", shared.Clustering] | None = None
    singletons: bool = True


def run_convert(
    inputs: Inputs,
    output: PathLike,
    options: ConvertOptions | None = None,
    *,
    on_progress: shared.Progress | None = None,
) -> Summary:
    """Check documents and copy them to another file or format.

    Parameters
    ----------
    inputs
        Paths or globs of files of scored mentions, CoNLL-U (CorefUD) or CoNLL-2012, or "-" for standard input.
    output
        Path of the new file, whose ending determines the format. Scored mentions can be written to any format,
        annotated documents to annotated formats.
    options
        Options of the conversion; by default, those of the command line.
    on_progress
        Function that is called as documents are written with the bytes read, the bytes of all files, and the number of
        documents.

    Raises
    ------
    ParameterError
        If the ending of the output's name is that of no format, the output exists and `overwrite` is false, or the
        inputs lack the scores that the output requires.
    InputError
        If a document is invalid and is not set aside, or the inputs have no document.
    OutputError
        If the file cannot be written.
    """
    from corefsample.files._atomic import require_free
    from corefsample.files._paths import path_list
    from corefsample.formats.scored._writing import convert, quarantine_file
    from events.corpora._document_inputs import output_kind
    from events.corpora._one_clustering import write_annotated

    options = options or ConvertOptions()
    path, names = os.fspath(output), path_list(inputs)
    if is_scored := output_kind(path) == "scored":
        _require_scores(names, path, options)
    with quarantine_file(path, **options.subset("on_error", "overwrite")) as on_rejected:
        if is_scored:
            n_documents = convert(
                names, path, overwrite=options.overwrite, on_rejected=on_rejected, on_progress=on_progress
            )
            skipped, left_out = Counter[str](), Counter[str]()
        else:
            require_free(path, overwrite=options.overwrite)
            settings = options.subset("clustering", "seed", "singletons")
            n_documents, skipped, left_out = write_annotated(
                names, path, **settings, on_rejected=on_rejected, on_progress=on_progress
            )
        n_quarantined = 0 if on_rejected is None else on_rejected.count
    return Summary(
        values={
            "out": path,
            "n_documents": n_documents,
            "n_quarantined": n_quarantined,
            "skipped": skipped,
            "left_out": left_out,
        },
        shown=[f"{counted(n_documents, 'document')} written to {path}"],
        notices=[
            *mentions_by_reason("skipped", skipped),
            *mentions_by_reason("left out", left_out),
            *set_aside(n_quarantined, f"{path}.quarantine.jsonl"),
        ],
    )


def _require_scores(names: list[str], path: str, options: ConvertOptions) -> None:
    from events.corpora._document_inputs import annotated_kind

    for name in names:
        if annotated_kind(name) is not None:
            rule = f"annotated documents have no scores to write to {path}"
            raise ParameterError(rule, place=name, hint="`corefsample score` adds scores")
    if options.clustering is not None:
        rule = f"must be left out if scored mentions are written ({path})"
        raise ParameterError(f"{rule}, got {options.clustering!r}", parameter="clustering")


command = Command(ConvertOptions, run_convert, "inputs+", "output", task="converting")
