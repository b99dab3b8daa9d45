from ._links import drop_unlinked as drop_unlinked
from ._links import linked_probabilities as linked_probabilities
from ._systems import from_corpipe as from_corpipe
from ._systems import from_e2e as from_e2e
from ._systems import from_fastcoref as from_fastcoref
from ._systems import from_spacy_experimental as from_spacy_experimental
from ._systems import from_stanza as from_stanza
from ._systems import recorded_stanza_scores as recorded_stanza_scores
