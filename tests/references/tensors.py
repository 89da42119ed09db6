"""Stand-ins for tensors of torch, which the tests do without."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np


class Tensor:
    """Values that NumPy can read, unless they are on a device or have gradients, as in torch."""

    def __init__(self, values, device="cpu", requires_grad=False):
        self._values = np.asarray(values)
        self.shape = self._values.shape
        self.device = SimpleNamespace(type=device)
        self.requires_grad = requires_grad

    def __array__(self, dtype=None, copy=None):
        if self.device.type != "cpu" or self.requires_grad:
            raise RuntimeError("this cannot be read by NumPy")
        return self._values
