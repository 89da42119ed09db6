"""Labels of three classes on the nodes of the fixture ``small``."""

from __future__ import annotations

import graphuq as gq

THREE = gq.Labels([0, 13, 38], ["a", "c", "b"])
"""One label of each class."""
UNSEEN = gq.Labels([7, 25], ["a", "b"], classes=["a", "b", "c"])
"""Two labels; none shows the class c."""
LABELS = {2: gq.Labels([0, 7, 13, 25, 38], [0, 0, 1, 1, 1]), 3: THREE}
"""Labels by the number of classes; those of two are the fixture's own."""
