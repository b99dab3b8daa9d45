"""Label a random sample of documents, and get counts whose intervals hold whatever the model's errors are.

The interval of `corefsample events` covers coreference, and for some scores their recalibration. It takes rule,
lexicon, parse and choice of articles as right. Labels of some hundred documents cover these too; the model then
only makes the interval narrower.

Examples
--------
  corefsample audit plan run --labels 200 --out audit
  corefsample audit estimate run audit/sheet.csv
  corefsample audit learn run audit/sheet.csv --out learned
"""

from __future__ import annotations

from events.commands._parser import Program, help_of

command = Program(
    prefix="audit_",
    help=help_of(__doc__),
    lines={
        "plan": "Draw the documents to label, and write the sheet.",
        "estimate": "Counts with intervals, from a labelled sheet.",
        "learn": "P that a reader says yes, for every document.",
    },
)
