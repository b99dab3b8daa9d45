"""Scores of coreference systems that people already run, as scored documents.

Nothing here imports such a system: the adapters take its objects, or plain arrays of its layout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from corefsample._lazy import lazy_names

if TYPE_CHECKING:
    from corefsample.adapters.berkeley import from_berkeley as from_berkeley
    from corefsample.adapters.corpipe import from_corpipe as from_corpipe
    from corefsample.adapters.e2e import from_e2e as from_e2e
    from corefsample.adapters.fastcoref import from_fastcoref as from_fastcoref
    from corefsample.adapters.refused import REFUSED as REFUSED
    from corefsample.adapters.refused import refuse as refuse
    from corefsample.adapters.spacy_experimental import from_spacy_experimental as from_spacy_experimental
    from corefsample.adapters.stanza import StanzaScores as StanzaScores
    from corefsample.adapters.stanza import from_stanza as from_stanza
    from corefsample.adapters.stanza import recorded_stanza_scores as recorded_stanza_scores
    from corefsample.adapters.unlinked import drop_unlinked as drop_unlinked
    from corefsample.adapters.unlinked import linked_probabilities as linked_probabilities

_MODULES = {
    "REFUSED": "refused",
    "StanzaScores": "stanza",
    "drop_unlinked": "unlinked",
    "from_berkeley": "berkeley",
    "from_corpipe": "corpipe",
    "from_e2e": "e2e",
    "from_fastcoref": "fastcoref",
    "from_spacy_experimental": "spacy_experimental",
    "from_stanza": "stanza",
    "linked_probabilities": "unlinked",
    "recorded_stanza_scores": "stanza",
    "refuse": "refused",
}

__all__ = sorted(_MODULES)

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
