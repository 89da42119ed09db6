"""The problem of a result, in ``problem.npz``: what is needed to continue with it.

The file holds the graph, the eigenpairs, and the features and images of the items. The parameters
of prior and likelihood are in the settings of the posterior, and labels in the posterior itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

import graphuq as gq
from graphuq.cli.files.encoding import Encoding, from_bytes, to_bytes
from graphuq.cli.files.shown_columns import from_cells, told_in_words
from graphuq.cli.result_folder import PROBLEM
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.utils.atomic_files import read_npz, write_atomically
from graphuq.utils.typing import Array


class SavedProblem(NamedTuple):
    """What a posterior was computed on.

    Attributes
    ----------
    graph : Graph
    prior : Prior or SumPrior
        Without open parameters.
    features : ndarray, shape (n, d), or None
        None if the graph was given without features.
    images : ndarray, shape (n, height, width), or None
        The images that reports show.
    encoding : Encoding or None
        How the columns of the file became features.
    shown : DataFrame, n rows, or None
        Columns that lists of items show.
    """

    graph: gq.Graph
    prior: GaussianPrior
    features: Array | None
    images: NDArray[Any] | None
    encoding: Encoding | None
    shown: pd.DataFrame | None = None

    def for_report(self) -> dict[str, Any]:
        """Return the arguments of `graphuq.write_report` that a report can show."""
        known: dict[str, Any] = {"table": told_in_words(self.shown)}
        known |= {"prior": self.prior, "graph": self.graph}
        if self.images is None:
            return known
        n, *shape = self.images.shape
        return {**known, "images": self.images.reshape(n, -1), "shape": tuple(shape)}

    @property
    def spectrum(self) -> gq.Spectrum | None:
        """The modes of the graph; None if the prior has levels of its components alone."""
        part = self.prior.graph_part
        return part.spectrum if isinstance(part, gq.Prior) else None

    def save(self, path: Path) -> None:
        """Write the file, completely or not at all."""
        A = sparse.csr_array(self.graph.adjacency)
        arrays = {"data": A.data, "indices": A.indices, "indptr": A.indptr}
        if self.spectrum is not None:
            arrays["values"] = self.spectrum.values
            arrays["basis"] = np.asarray(self.spectrum.basis)
        for name in ("features", "images"):
            if getattr(self, name) is not None:
                arrays[name] = getattr(self, name)
        if self.encoding is not None:
            arrays |= self.encoding.to_arrays()
        if self.shown is not None:
            arrays["shown"] = to_bytes({name: self.shown[name].tolist() for name in self.shown})
        with write_atomically(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, **arrays)


def load_problem(folder: Path, posterior: Any) -> SavedProblem:
    """Return the problem of the posterior in a result folder.

    Raises
    ------
    ValueError
        The folder has no such file; the file is damaged or belongs to another posterior.
    """
    path = folder / PROBLEM
    if not path.is_file():
        raise ValueError(
            f"{folder} has no {PROBLEM}, which holds the graph: run graphuq sample again"
        )
    settings = posterior.settings["prior"]
    try:
        arrays = read_npz(path)
        n = arrays["indptr"].size - 1
        parts = arrays["data"], arrays["indices"], arrays["indptr"]
        graph = gq.Graph(sparse.csr_array(parts, shape=(n, n)))
        prior = _prior_of(settings, graph, arrays)
        prior = prior.with_labeled(posterior.labels.nodes)
        if not prior.matches(settings):
            raise ValueError("it belongs to another posterior")
        encoding = Encoding.from_arrays(arrays)
        shown = from_cells(from_bytes(arrays["shown"])) if "shown" in arrays else None
        if shown is not None and len(shown) != n:
            raise ValueError("the shown columns do not fit the graph")
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise ValueError(f"{path} is damaged ({error}): run graphuq sample again") from error
    images = arrays.get("images")
    return SavedProblem(graph, prior, arrays.get("features"), images, encoding, shown)


def _prior_of(settings: dict[str, Any], graph: gq.Graph, arrays: dict[str, Any]) -> GaussianPrior:
    """Return the prior that the settings of a posterior describe."""
    first, *others = (
        _part_of(part, graph, arrays) for part in (settings, *settings.get("parts", ()))
    )
    if "weights" not in settings:
        return first
    return gq.SumPrior.of([first, *others, gq.Level(settings["level"])], settings["weights"])


def _part_of(part: dict[str, Any], graph: gq.Graph, arrays: dict[str, Any]) -> Any:
    """Return a part of the prior."""
    if part["kind"] in ("features", "linear"):
        X = arrays["features"]
        if "hops" in part:
            X = gq.PropagatedFeatures(X, graph, part["hops"])
        linear = part["kind"] == "linear"
        return gq.LinearPrior(X) if linear else gq.FeaturePrior(X, part["length_scale"])
    if part["kind"] == "components":
        return gq.ComponentLevel(graph, part.get("labeled"))
    basis = arrays["basis"]
    component = graph.component if graph.n_components > 1 else None
    spectrum = gq.Spectrum(
        arrays["values"],
        basis[:, 1:],
        basis[:, 0],
        laplacian=part.get("laplacian", "normalized"),
        component=component,
    )
    return gq.Prior(
        spectrum, **{name: part[name] for name in ("kind", "alpha", "tau", "null_mode")}
    )
