"""The tables that ``graphuq sample`` writes: nodes.csv and suspects.csv."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphuq.cli.files import Items
from graphuq.posterior.assessment.class_shares import reweight_error
from graphuq.posterior.predictions import most_probable

if TYPE_CHECKING:
    import pandas as pd

    from graphuq.posterior.posterior import Posterior


def tabulate_nodes(items: Items, post: Posterior, predictions: Any) -> pd.DataFrame:
    """Return one row per item: label, prediction, probabilities, uncertainty and rank.

    ``predictions`` are those of the posterior, with the given shares of the classes.
    """
    import pandas as pd

    p, classes = predictions.by_class, post.labels.classes
    each, best = np.arange(post.n_nodes), most_probable(p)
    columns = {
        "id": items.ids,
        "label": items.known,
        "prediction": classes[best],
        "confidence": p.max(axis=1),
    }
    if classes.size == 2:
        columns |= {"probability": p[:, 1]}
        error = post.probability_mcse
    else:
        second = np.argsort(-p, axis=1, kind="stable")[:, 1]
        columns |= {
            "runner_up": classes[second],
            "entropy": predictions.entropy,
            "margin": predictions.margin,
        }
        columns |= {f"probability_{name}": p[:, k] for k, name in enumerate(classes)}
        error = post.probability_mcse[each, best]
    if predictions is not post:
        error = reweight_error(error, post.by_class[each, best], p[each, best])
    rank = np.empty(post.n_nodes, dtype=np.int64)
    rank[predictions.ranking()] = each
    columns |= {"variance": post.variance, "mcse": error, "rank": rank}
    columns |= {name: part.to_numpy() for name, part in post.uncertainty().items()}
    nodes = pd.DataFrame(columns)
    return nodes if items.truth is None else nodes.assign(truth=items.truth)


def tabulate_suspects(items: Items, post: Posterior) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Return one row per label, the most suspect first, with the id of its item; and the nodes."""
    suspects = post.suspect_labels()
    nodes = suspects.pop("node").to_numpy()
    suspects.insert(0, "id", items.ids[nodes])
    return suspects, nodes
