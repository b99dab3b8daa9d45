"""Fit a trigger model to texts with your answers, for `corefsample events --triggers FILE`.

TEXTS are files with a text a line, in which the words that report an event are marked [words|types|actors], as in
"Gunmen [killed|kill|Gunmen] nine." Types are names of rules, separated by commas; "!" before a type says that the words
do not report it. The file of the model keeps the texts, which `explain` shows as reasons. The command that fitted the
models of the package is in docs/trigger-models.md.

Examples
--------
  corefsample train-triggers texts/*.txt --pipeline en_core_web_sm --out triggers.npz
  corefsample train-triggers texts.txt --rule looting.yaml --pipeline en_core_web_sm --out looting.npz
"""

from __future__ import annotations

import os
import time
from dataclasses import replace

from corefsample.errors import InputError, ParameterError
from corefsample.files._paths import Inputs
from events import _options as shared
from events._options import declared, option
from events._summary import Summary, Table, counted
from events.commands._parser import Command


@declared
class TrainTriggersOptions(shared.Overwrite):
    """Options of fitting a trigger model.

    Attributes
    ----------
    out
        File for the model, usually .npz.
    pipeline
        Name or folder of a spaCy pipeline that parses the texts. If repeated, the model serves each of them.
    rule
        Rule file of an event type that is no rule of the package; the type is the name of the rule. Its words and
        conditions are features of the model. [default: none]
    encoder
        Folder of a sentence encoder, with an ONNX file and a tokenizer.json, whose vectors are features too. Needs the
        extra encoder. [default: none]
    """

    out: str = option(metavar="FILE")
    pipeline: tuple[str, ...] = option(metavar="SPACY")
    rule: tuple[str, ...] = option(default=(), metavar="FILE")
    encoder: str | None = option(default=None, metavar="FOLDER")


def run_train_triggers(texts: Inputs, options: TrainTriggersOptions) -> Summary:
    """Fit a trigger model to texts with answers, and write it to a file.

    The same texts, pipelines and encoder give the same bytes.

    Parameters
    ----------
    texts
        Paths or globs of text files, in the notation of `read_answered_texts`.
    options
        Pipelines, rules, encoder, and the file for the model.

    Raises
    ------
    ParameterError, InputError, OutputError
        If an option or a text is invalid, no text reports an event, or the file cannot be written.
    """
    from corefsample.files._atomic import require_free
    from corefsample.files._paths import input_paths
    from corefsample.spacy_bridge.pipelines import load_pipeline
    from events.matching._encoder import load_encoder
    from events.rules._rules import load_rules, shipped_rules
    from events.triggers._fit import fit_trigger_model, predicates_of
    from events.triggers._nearest_texts import compressed_texts
    from events.triggers._texts import read_answered_texts, reported_types

    started = time.time()
    require_free(options.out, overwrite=options.overwrite)
    paths = input_paths(texts)
    of_files = {rule.name: rule for rule in map(load_rules, options.rule)}
    answered = list(read_answered_texts(paths, [*shipped_rules(), *of_files]))
    types = reported_types(paths)
    for name in of_files.keys() - types:
        raise ParameterError(f"must be of a type that a text reports, got {name}", parameter="rule")
    if not types:
        hint = "mark the words that report an event, as in: Gunmen [killed|kill|Gunmen] nine."
        raise InputError("must have a text that reports an event", place=", ".join(paths), hint=hint)
    rules = [of_files.get(name) or load_rules(name) for name in types]
    encoder = None if options.encoder is None else load_encoder(options.encoder)
    parts = [predicates_of(answered, rules, load_pipeline(name), encoder) for name in options.pipeline]
    model, part = fit_trigger_model(parts, rules, encoder), parts[0]
    stored = [answered[i].text for i in part.text], part.lemmas, part.reports, model.lemmas
    model = replace(model, texts=compressed_texts(*stored))
    model.save(options.out)
    n_reporting = {name: sum(name in {*mark.types} for text in answered for mark in text.marks) for name in types}
    values = {
        "out": options.out,
        "n_texts": len(answered),
        "n_predicates": sum(len(part.lemmas) for part in parts),
        "n_features": len(model.rows),
        "types": n_reporting,
        "encoder": None if encoder is None else encoder.checksum,
        "seconds": round(time.time() - started, 3),
    }
    rows = [(rule.name, f"{n_reporting[rule.name]:,}", rule.source) for rule in rules]
    return Summary(
        values=values,
        shown=[f"Fitted to {counted(len(answered), 'text')}.", Table(("type", "reported", "rule"), rows)],
        files={"Model": f"{options.out} ({os.path.getsize(options.out) / 1000:,.0f} kB)"},
        result=model,
    )


command = Command(TrainTriggersOptions, run_train_triggers, "texts+")
