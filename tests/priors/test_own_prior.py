"""A prior of the user's own, of which the field is all that is known."""

import dataclasses

import numpy as np
import pytest

import graphuq as gq
from graphuq.posterior.new_items import new_probability
from graphuq.priors.field import Field
from graphuq.priors.sum_prior import Summable

X, y = gq.datasets.two_moons(60, seed=0)
LABELS = gq.reveal(y, counts=4, seed=0)
MODEL = gq.Probit(0.3)


@dataclasses.dataclass(frozen=True, eq=False)
class Given(Summable):
    """A covariance that is given as a matrix, times a variance."""

    C: np.ndarray
    deviation: float | str = "auto"
    extend: object = None

    @property
    def n_nodes(self):
        return len(self.C)

    @property
    def open(self):
        return ("deviation",) if self.deviation == "auto" else ()

    @property
    def ranges(self):
        return {"deviation": (0.3, 3.0)}

    @property
    def parameters(self):
        return {"deviation": self.deviation}

    def with_parameters(self, **values):
        return dataclasses.replace(self, **values)

    @property
    def field(self):
        values, vectors = np.linalg.eigh(self.C)
        weights = values.clip(0) * self.deviation**2
        return Field(vectors, weights, weights)

    def rows_of_new(self, degrees, weights, X):
        """Rows of U for items with these covariances, C_.new = U diag(w) b."""
        values, vectors = np.linalg.eigh(self.C)
        kept = values > 1e-8
        rows = np.zeros((len(X), len(self.C)))
        rows[:, kept] = self.extend(X) @ vectors[:, kept] / values[kept]
        return rows, 1 - np.einsum("ij,ij,j->i", rows, rows, values.clip(0))

    def fingerprint(self):
        return {"kind": "given", "nodes": self.n_nodes, "rank": 0, "deviation": self.deviation}


FEATURES = gq.FeaturePrior(X, 1.0)
SAME = Given(FEATURES.covariance(range(60), range(60)), 1.0, lambda new: FEATURES._kernel(new, X))


@pytest.mark.parametrize("level", [0.0, 0.7])
def test_it_is_what_the_same_covariance_is(level):
    own, known = SAME + gq.Level(level), FEATURES + gq.Level(level)
    nodes = np.array([3, 8, 40])
    np.testing.assert_allclose(
        own.covariance(nodes, nodes), known.covariance(nodes, nodes), atol=1e-12
    )
    assert gq.evidence(own, MODEL, LABELS) == pytest.approx(
        gq.evidence(known, MODEL, LABELS), abs=1e-4
    )
    mine, theirs = (gq.approximate(prior, MODEL, LABELS) for prior in (own, known))
    np.testing.assert_allclose(mine.by_class, theirs.by_class, atol=1e-4)
    post = gq.sample(own, MODEL, LABELS, seed=0, draws=2000, progress=False)
    other = gq.sample(known, MODEL, LABELS, seed=1, draws=2000, progress=False)
    assert (abs(post.mean - other.mean) < 5 * np.hypot(post.mcse, other.mcse) + 1e-6).all()
    new = X[:5] + 0.1
    a, b = (
        new_probability(found, prior, np.ones(60), np.zeros((5, 60)), new)
        for found, prior in ((mine, own), (theirs, known))
    )
    np.testing.assert_allclose(a, b, atol=1e-3)


def test_its_parameters_are_tuned_alone_and_in_a_sum():
    alone = gq.tune(dataclasses.replace(SAME, deviation="auto"), LABELS, MODEL)
    grid = np.geomspace(0.3, 3.0, 25)
    on_grid = [gq.evidence(SAME.with_parameters(deviation=d), MODEL, LABELS) for d in grid]
    assert alone.log_evidence > max(on_grid) - 0.02
    graph = gq.Prior.projected(gq.knn_graph(X, 8, connect=True), 20)
    both = gq.tune(graph + dataclasses.replace(SAME, deviation="auto") + gq.Level(), LABELS)
    assert {"weight", "deviation", "level", "gamma"} <= set(both.chosen)
