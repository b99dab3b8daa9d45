"""Write a rule from example sentences, test rule files, and compare rules by labels.

A rule says by which words and paths of a parse a text reports an event: see docs/rules.md.

Examples
--------
  corefsample rule new raid --example "Iraq raided Iran." --pipeline en_gum_ud
  corefsample rule test raid.yaml
  corefsample rule compare run run2 audit/sheet.csv
"""

from __future__ import annotations

from events.commands._parser import Program, help_of

command = Program(
    prefix="rule_",
    help=help_of(__doc__),
    lines={
        "new": "Write a rule file from example sentences.",
        "test": "Check rule files, and show what they find in their examples.",
        "compare": "Say which of two runs has the better rule, by labels.",
    },
)
