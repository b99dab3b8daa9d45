from ._chain import LinearChain as LinearChain, tag_marginals as tag_marginals
from ._crf import ConditionalRandomField as ConditionalRandomField
from ._labelled import (
    event_pairs as event_pairs,
    fit_chain_recalibration as fit_chain_recalibration,
    labelled_posteriors as labelled_posteriors,
)
from ._taggers import (
    HiddenMarkovModel as HiddenMarkovModel,
    TaggedSentence as TaggedSentence,
    load_tagger as load_tagger,
    save_tagger as save_tagger,
)
