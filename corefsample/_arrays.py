"""Names of array types, shared by all modules."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Ints8 = npt.NDArray[np.int8]
Ints32 = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]
Words32 = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
