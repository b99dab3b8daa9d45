from ._chain import BestSequences as BestSequences
from ._chain import LinearChain as LinearChain
