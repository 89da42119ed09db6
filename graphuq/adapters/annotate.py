"""The classes of cells of an AnnData object, with their uncertainty."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from graphuq.adapters.cells import (
    UNKNOWN,
    describe_cells,
    order_of_classes,
    read_cells,
    read_labels,
    require_anndata,
    require_unknown,
    tabulate_cells,
    write_cells,
)
from graphuq.inference.approximate import approximate
from graphuq.inference.find_mistakes import with_mistakes
from graphuq.inference.problem import choose_parameters
from graphuq.inference.sample import sample
from graphuq.likelihoods import Probit
from graphuq.likelihoods.contract import adopt
from graphuq.posterior.posterior import Posterior
from graphuq.priors.default_sum import check_terms, default_graph_prior, default_sum
from graphuq.priors.prior import default_rank
from graphuq.utils import validation

METHODS = ("sample", "approximate")


def annotate(
    adata: Any,
    label: str,
    *,
    neighbors_key: str = "neighbors",
    use_rep: str | None = None,
    unknown: Collection[str] = (UNKNOWN,),
    reject: float = 0.2,
    ask: int = 5,
    key_added: str | None = None,
    likelihood: Any = validation.AUTO,
    graph_weight: float | str = validation.AUTO,
    method: str = "sample",
    draws: int | None = None,
    chains: int = 4,
    seed: validation.Seed = 0,
) -> Posterior:
    """Infer the classes of all cells of an AnnData object from those that are labeled.

    The prior is that of `BayesianGraphClassifier`: a sum of the graph of ``scanpy.pp.neighbors``,
    the representation that the graph was made of, and a level. If the graph is disconnected, the
    shortest edges between its components are added.

    Parameters
    ----------
    adata : AnnData
        Results are written into it.
    label : str
        Column of ``obs`` with the class of each labeled cell; it is missing, -1 or one of
        ``unknown`` for the others.
    neighbors_key : str
        Name of the neighbors in ``uns``, which names the weights in ``obsp``.
    use_rep : str, optional
        Name of the representation in ``obsm``, or "X". By default the one of the neighbors, or
        else "X_pca".
    unknown : list of str
        Values of ``label`` that mark cells without a label.
    reject : float from 0 to 1
        Cells whose uncertainty is larger are "Unknown" in ``{key}_filtered``.
    ask : int
        Number of cells to label next, of those without a label.
    key_added : str, optional
        Beginning of the names of all results; by default ``label``.
    likelihood : likelihood or "auto"
        "auto" is ``Probit()``. ``NoisyProbit()`` expects wrong labels.
    graph_weight : float from 0 to 1, or "auto"
        Share of the graph in the prior; the rest is that of the representation. With 1 the
        representation only bridges gaps of the graph.
    method : {"sample", "approximate"}
        Draws from the posterior, with diagnostics, or expectation propagation. The latter is
        quicker with few labels, and slower with many: its time grows with their number cubed.
    draws, chains : int
        Draws kept from each chain, and independent chains, as in `sample`. Not used for
        "approximate".
    seed : int, SeedSequence or Generator, optional
        Seed of draws, also of those that choose the cells to label next.

    Returns
    -------
    Posterior
        Its nodes are the cells, by name.

    Raises
    ------
    TypeError, ValueError
        Before any work: a name that is not in ``adata`` (the message lists those that are); labels
        of fewer than two classes; a value that may mark cells without a label; a value of
        ``unknown`` that does not occur; parameters out of range.

    Notes
    -----
    In ``obs``:

    - ``{key}_pred``: the most probable class, with the order and the colors of ``label``;
    - ``{key}_conf``: its probability, and ``{key}_uncertainty``: 1 minus that;
    - ``{key}_entropy``: the entropy of the class in nats, and ``{key}_epistemic``: the part of it
      that more labels resolve;
    - ``{key}_filtered``: the most probable class, or "Unknown";
    - ``{key}_wrong``: the probability that the given label is a mistake, missing for other cells;
    - ``{key}_suspect``: whether the label is suspect, see `Posterior.suspect_labels`;
    - ``{key}_ask``: whether the cell is one of those to label next.

    ``obsm["{key}_probability"]`` has a column for each class. ``uns["{key}_graphuq"]`` has the
    classes in this order, settings, parameters, how far the computation can be trusted, and in
    ``ask`` the cells to label next, best first. Names follow scArches and cellmapper where they
    have the same result.

    Examples
    --------
    Any object with the parts of AnnData will do:

    >>> import numpy as np
    >>> import pandas as pd
    >>> from types import SimpleNamespace
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> cell_type = np.where(np.arange(100) % 5 == 0, np.array(["B", "T"])[y], "Unknown")
    >>> adata = SimpleNamespace(
    ...     obs=pd.DataFrame({"cell_type": cell_type}), obsm={"X_pca": X}, uns={"neighbors": {}},
    ...     obsp={"connectivities": gq.knn_graph(X, n_neighbors=8).adjacency}, obs_names=range(100))
    >>> post = gq.annotate(adata, "cell_type", method="approximate")
    >>> post.accuracy(np.array(["B", "T"])[y]) > 0.9
    True
    >>> adata.obs.columns[:4].tolist()
    ['cell_type', 'cell_type_pred', 'cell_type_conf', 'cell_type_uncertainty']
    >>> adata.obsm["cell_type_probability"].shape, int(adata.obs["cell_type_ask"].sum())
    ((100, 2), 5)
    """
    require_anndata(adata)
    validation.one_of("method", method, METHODS)
    reject = validation.between("reject", reject, 0, 1)
    check_terms(graph_weight, validation.AUTO)
    likelihood = Probit() if validation.is_auto(likelihood) else likelihood
    adopt(likelihood)
    marks = require_unknown(adata, label, unknown, (UNKNOWN,))
    if key_added is not None and not isinstance(key_added, str):
        raise TypeError(f"key_added must be a text, got {key_added!r}")
    if draws is not None:
        validation.integer("draws", draws, 1)
    validation.integer("chains", chains, 1)
    labels = read_labels(adata, label, marks)
    n_unlabeled = len(adata.obs) - len(labels)
    n_ask = min(validation.integer("ask", ask, 0), n_unlabeled)
    seeds = validation.seed_sequence(seed).spawn(2)
    cells = read_cells(adata, neighbors_key, use_rep)

    modes = default_graph_prior(cells.graph, default_rank(cells.graph))
    prior = default_sum(modes, cells.X, graph_weight)
    prior, likelihood = choose_parameters(prior, likelihood, labels)
    post: Any
    if method == "sample":
        post = sample(
            prior, likelihood, labels, draws=draws, chains=chains, seed=seeds[0], progress=False
        )
    else:
        post = approximate(prior, likelihood, labels)
    post = with_mistakes(post, survives_interrupt=True).with_names(adata.obs_names)

    picked = post.suggest(n_ask, seed=seeds[1]) if n_ask else np.empty(0, dtype=np.int64)
    column, key = adata.obs[label], label if key_added is None else key_added
    settings = {
        "label": label,
        "neighbors_key": neighbors_key,
        "use_rep": cells.use_rep,
        "unknown": list(marks),
        "reject": reject,
        "method": method,
    }
    order = order_of_classes(labels, column)
    found = describe_cells(post, settings, picked, order)
    write_cells(adata, label, key, post, tabulate_cells(post, column, reject, picked))
    adata.uns[f"{key}_graphuq"] = found
    return post
