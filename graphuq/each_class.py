"""The same for each of K > 2 classes: independent fields, extended one like the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphuq.extension import Extension, MakeRows

Array = NDArray[np.float64]


class EachClass:
    """An extension of K fields, whose draws (draws, K m) hold one field after another."""

    def __init__(self, one: Extension, n_classes: int) -> None:
        self._one, self._n_classes = one, n_classes
        self.keeps = n_classes * one.keeps

    @property
    def basis(self) -> Array:
        """See `Extension`."""
        return self._one.basis

    @property
    def which(self) -> NDArray[np.int32]:
        """See `Extension`."""
        return self._one.which

    @property
    def rows(self) -> MakeRows:
        """What belongs to some nodes, the same for all classes."""
        return self._one.rows

    def energy(self, fields: Array) -> Array:
        """Return the sum of theirs."""
        each = self._one.energy(self._apart(fields))
        return np.asarray(each.reshape(-1, self._n_classes).sum(axis=1))

    def keep(self, fields: Array) -> Array:
        """Return what each keeps, one class after another."""
        return self._one.keep(self._apart(fields)).reshape(len(fields), -1)

    def trace(self, fields: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return modes (draws, K r) and the fields at the traced nodes (draws, K traced)."""
        modes, traced = (
            part.reshape(len(fields), self._n_classes * part.shape[1])
            for part in self._one.trace(self._apart(fields), rng)
        )
        return modes, traced

    def _apart(self, fields: Array) -> Array:
        return fields.reshape(len(fields) * self._n_classes, -1)
