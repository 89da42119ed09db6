"""The tables that ``graphuq sample`` writes: nodes.csv and suspects.csv."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from graphuq.cli.files import Items

if TYPE_CHECKING:
    import pandas as pd

    from graphuq.posterior.sampled import Posterior


def tabulate_nodes(items: Items, post: Posterior) -> pd.DataFrame:
    """Return one row per item: label, prediction, probabilities, uncertainty and rank."""
    import pandas as pd

    p, classes = post.by_class, post.labels.classes
    columns = {
        "id": items.ids,
        "label": items.known,
        "prediction": post.prediction,
        "confidence": p.max(axis=1),
    }
    if classes.size == 2:
        columns |= {"probability": post.probability}
        error = post.probability_mcse
    else:
        best, second = np.argsort(-p, axis=1, kind="stable")[:, :2].T
        columns |= {"runner_up": classes[second], "entropy": post.entropy, "margin": post.margin}
        columns |= {f"probability_{name}": p[:, k] for k, name in enumerate(classes)}
        error = post.probability_mcse[np.arange(post.n_nodes), best]
    columns |= {"variance": post.variance, "mcse": error, "rank": post.rank}
    columns |= {name: part.to_numpy() for name, part in post.uncertainty().items()}
    nodes = pd.DataFrame(columns)
    return nodes if items.truth is None else nodes.assign(truth=items.truth)


def tabulate_suspects(items: Items, post: Posterior) -> pd.DataFrame:
    """Return one row per label, the most suspect first, with the id of its item."""
    suspects = post.suspect_labels()
    suspects.insert(0, "id", items.ids[suspects.pop("node")])
    return suspects
