"""Random connected graphs, for tests of invariants."""

import numpy as np
from hypothesis import strategies as st


def random_weights(n, seed):
    """Connected: a random path under random edges, some self-loops."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.uniform(0.1, 1, (n, n)) * (rng.random((n, n)) < rng.uniform(0.05, 0.9)))
    A = A + np.triu(A, 1).T
    path = rng.permutation(n)
    A[path[1:], path[:-1]] = A[path[:-1], path[1:]] = rng.uniform(0.1, 1, n - 1)
    return A


random_graphs = st.builds(random_weights, st.integers(2, 25), st.integers(0, 2**32 - 1))
