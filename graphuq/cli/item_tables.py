"""The tables that ``graphuq sample`` writes: nodes.csv and suspects.csv."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from graphuq.cli.files import Items

if TYPE_CHECKING:
    import pandas as pd

    from graphuq.posterior.posterior import Posterior
    from graphuq.report.subject import Subject


def tabulate_nodes(items: Items, subject: Subject) -> pd.DataFrame:
    """Return one row per item: label, prediction, probabilities, uncertainty and rank."""
    import pandas as pd

    post, predictions = subject.posterior, subject.predictions
    p, classes = predictions.by_class, post.labels.classes
    columns = {
        "id": items.ids,
        "label": items.known,
        "prediction": predictions.prediction,
        "confidence": p.max(axis=1),
    }
    if classes.size == 2:
        columns |= {"probability": p[:, 1]}
    else:
        second = np.argsort(-p, axis=1, kind="stable")[:, 1]
        columns |= {
            "runner_up": classes[second],
            "entropy": predictions.entropy,
            "margin": predictions.margin,
        }
        columns |= {f"probability_{name}": p[:, k] for k, name in enumerate(classes)}
    rank = np.empty(post.n_nodes, dtype=np.int64)
    rank[predictions.ranking()] = np.arange(post.n_nodes)
    columns |= {"variance": post.variance, "mcse": subject.confidence_mcse, "rank": rank}
    columns |= {name: part.to_numpy() for name, part in post.uncertainty().items()}
    nodes = pd.DataFrame(columns)
    return nodes if items.truth is None else nodes.assign(truth=items.truth)


def tabulate_suspects(items: Items, post: Posterior) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Return one row per label, the most suspect first, with the id of its item; and the nodes."""
    suspects = post.suspect_labels()
    nodes = suspects.pop("node").to_numpy()
    suspects.insert(0, "id", items.ids[nodes])
    return suspects, nodes
