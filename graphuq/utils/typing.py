"""Types that many signatures share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Nodes = NDArray[np.int64]
