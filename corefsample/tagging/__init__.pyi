from ._best import BestSequences as BestSequences
from ._chain import LinearChain as LinearChain
from ._marginals import tag_marginals as tag_marginals
from ._marginals import tag_pair_marginals as tag_pair_marginals
from ._recalibration import ChainRecalibration as ChainRecalibration
from ._recalibration import ChainRecalibrationFit as ChainRecalibrationFit
from ._recalibration import fit_chain_recalibration as fit_chain_recalibration
