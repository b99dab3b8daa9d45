"""Events on top of entity clusterings: rules, lexicons, posterior counts.

Names load where they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from corefsample._lazy import lazy_names

if TYPE_CHECKING:
    from events.counter import EventCounter as EventCounter
    from events.counts import EventCounts as EventCounts
    from events.lexicon import Lexicon as Lexicon
    from events.lexicon import load_lexicon as load_lexicon
    from events.rules import Rule as Rule
    from events.rules import load_rules as load_rules
    from events.simulate import simulate_documents as simulate_documents
    from events.tally import CountTally as CountTally

_MODULES = {
    "CountTally": "tally",
    "EventCounter": "counter",
    "EventCounts": "counts",
    "Lexicon": "lexicon",
    "Rule": "rules",
    "load_lexicon": "lexicon",
    "load_rules": "rules",
    "simulate_documents": "simulate",
}

__all__ = sorted(_MODULES)

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
