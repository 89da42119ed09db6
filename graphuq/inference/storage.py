"""Where draws and the statistics of nodes are stored, and whether there is room for them."""

from __future__ import annotations

import math
import os
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphuq.inference.chain_record import ChainRecord
from graphuq.inference.plan import Plan
from graphuq.likelihoods.bound import Bound
from graphuq.priors.given import Conditional
from graphuq.utils import validation
from graphuq.utils.atomic_files import new_mapped_array
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array

# Numbers that a posterior has for each node and field: two probabilities and seven other
# statistics for two classes, fewer for K > 2.
N_STATISTICS = 9


@dataclass(frozen=True, eq=False)
class Storage:
    """Memory for the draws, and memory or files for the statistics of nodes.

    Attributes
    ----------
    conditional : Conditional
    bound : Bound
    plan : Plan
    folder : Path or None
        The folder of the files; None for memory.
    """

    conditional: Conditional
    bound: Bound
    plan: Plan
    folder: Path | None = None

    @property
    def n_bytes(self) -> float:
        """Bytes of all draws."""
        numbers = self.bound.n_fields * self.conditional.numbers_per_draw
        return 8.0 * self.plan.chains * self.plan.draws * numbers

    def require_room(self, extra: float = 0.0) -> None:
        """Refuse work that memory or the disk has no room for.

        Parameters
        ----------
        extra : float
            Bytes that the sampler needs besides.

        Raises
        ------
        MemoryError, OSError
        """
        plan, C = self.plan, self.bound.n_fields
        require_memory(
            self.n_bytes + extra,
            f"storing {plan.chains} x {plan.draws} draws of "
            f"{C * self.conditional.numbers_per_draw} numbers",
            "ask for fewer draws, and thin more",
        )
        n_nodes = self.conditional.which.size
        needed = N_STATISTICS * 8.0 * n_nodes * C
        if self.folder is None:
            require_memory(
                needed,
                f"{N_STATISTICS} x {C} statistics of {n_nodes} nodes",
                "name node_files, or keep the labels of fewer classes, labels.of_classes(...)",
            )
            return
        if self.bound.nodes is None:
            raise ValueError(
                "node_files supports sign models, and this likelihood reads all nodes: omit "
                "node_files"
            )
        free = shutil.disk_usage(self.folder).free
        if needed > free:
            raise OSError(
                f"statistics of {n_nodes} nodes need {needed / 2**30:.2g} GiB in {self.folder}, "
                f"where {free / 2**30:.2g} GiB are free: name another folder"
            )

    def records(self) -> list[ChainRecord]:
        """Return an empty record for each chain."""
        return [
            ChainRecord(self.conditional, self.bound, self.plan, np.random.default_rng(seed))
            for _, seed in self.plan.chain_seeds()
        ]

    def new_array(self, name: str, shape: tuple[int, ...]) -> Array:
        """Return an array for a statistic of nodes, mapped to a new file if there is a folder.

        Warns
        -----
        RuntimeWarning
            The file cannot be written: the statistic stays in memory.
        """
        if self.folder is None:
            return np.empty(shape)
        try:
            return new_mapped_array(self.folder / f"{name}.npy.part", shape)
        except OSError as error:
            warnings.warn(
                f"{name}.npy could not be written to {self.folder} ({error}): {name} stays in "
                "memory; make room, and call post.save",
                RuntimeWarning,
                stacklevel=2,
            )
        require_memory(8.0 * math.prod(shape), f"{name} of all nodes", "make room on the disk")
        return np.empty(shape)

    def name_files(self, arrays: dict[str, Array]) -> dict[str, Array]:
        """Give the files their names, now that they are complete, and map the arrays to them."""
        for name in [name for name, array in arrays.items() if isinstance(array, np.memmap)]:
            assert self.folder is not None
            path = self.folder / f"{name}.npy"
            arrays.pop(name).flush()  # type: ignore[attr-defined]  # a memory map
            os.replace(f"{path}.part", path)
            arrays[name] = np.load(path, mmap_mode="r+")
        return arrays


def require_folder(path: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder of ``node_files``, which must exist."""
    if path is None:
        return None
    folder = validation.file_path("node_files", path)
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is not a folder: make it first")
    return folder
