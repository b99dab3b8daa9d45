from ._links import drop_unlinked as drop_unlinked, linked_probabilities as linked_probabilities
from ._systems import (
    from_corpipe as from_corpipe,
    from_e2e as from_e2e,
    from_fastcoref as from_fastcoref,
    from_spacy_experimental as from_spacy_experimental,
    from_stanza as from_stanza,
    recorded_stanza_scores as recorded_stanza_scores,
)
