from ._chain import BestSequences as BestSequences
from ._chain import LinearChain as LinearChain
from ._recalibration import ChainRecalibration as ChainRecalibration
from ._recalibration import ChainRecalibrationFit as ChainRecalibrationFit
from ._recalibration import fit_chain_recalibration as fit_chain_recalibration
