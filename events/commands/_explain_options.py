"""Options of `corefsample explain`."""

from __future__ import annotations

from events import _shared_options as shared
from events._options import declared, option


@declared
class ExplainOptions(shared.Lexicon, shared.Scheme, shared.Seed):
    """Which triggers to explain.

    Attributes
    ----------
    rule
        A shipped rule, or a YAML file of your own.
    preset
        Preset of the rule.
    doc_id
        Only this document. [default: all]
    trigger
        Only this trigger. [default: all]
    sample
        Sentences to show, drawn at random. [default: 20; with --doc-id all]
    seed
        Same seed, same sentences.
    """

    rule: str = option(default="attack", metavar="RULE")
    preset: str = option(default="paper", metavar="NAME")
    doc_id: str | None = option(default=None, metavar="ID")
    trigger: str | None = option(default=None, metavar="LEMMA")
    sample: int | None = option(default=None, at_least=1)
