from ._chain import LinearChain as LinearChain
