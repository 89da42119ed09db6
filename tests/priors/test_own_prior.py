"""A prior of the user's own, of which the field is all that is known."""

import dataclasses
from typing import ClassVar

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
    ranges: ClassVar = {"deviation": (0.3, 3.0)}

    @property
    def n_nodes(self):
        return len(self.C)

    @property
    def field(self):
        return Field.of_covariance(self.C * self.deviation**2)

    def rows_of_new(self, degrees, weights, X):
        """Rows of U for items with these covariances, C_.new = U diag(w) b."""
        basis, w = self.field.basis, self.field.weights
        rows = self.extend(X) @ basis / np.where(w > 1e-8, w, np.inf)
        return rows, 1 - np.einsum("ij,ij,j->i", rows, rows, w)

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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((3, 2)), np.ones(3), np.ones(3)), "a basis of shape"),
        ((np.ones((3, 2)), [-1.0, 1.0], [1.0, 1.0]), "at least 0, .* in column 0"),
        ((np.ones((3, 2)), [1.0, 1.0], [1.0, 0.5]), "as large, got 1 and 0.5 in column 1"),
        ((np.ones((3, 2)), [1.0, np.nan], [1.0, np.nan]), "finite"),
    ],
)
def test_a_field_of_other_shapes_or_weights_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Field(*arguments)


@pytest.mark.parametrize(
    ("C", "message"),
    [
        (np.ones((2, 3)), "square matrix"),
        ([[1.0, np.inf], [np.inf, 1.0]], "finite"),
        ([[1.0, 0.2], [0.1, 1.0]], "symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "negative eigenvalue, got -1"),
        (np.zeros((2, 2)), "positive variance, got at most 0"),
    ],
)
def test_what_is_no_covariance_is_refused(C, message):
    with pytest.raises(ValueError, match=message):
        Field.of_covariance(C)


def test_a_field_on_other_nodes_is_refused():
    wrong = type("Wrong", (Given,), {"n_nodes": 60})(SAME.C[:50, :50], 1.0)
    for call in (gq.approximate, gq.evidence):
        with pytest.raises(ValueError, match="50 rows, and there are 60 nodes"):
            call(wrong, MODEL, LABELS)


def test_a_field_of_nuggets_alone_gives_labels_their_own_probability():
    own = Field(np.zeros((3, 1)), [0.0], [0.0], tail=1.0)
    np.testing.assert_allclose(own.at(np.array([0, 2])).covariance(), np.eye(2))


def test_a_field_without_columns_has_a_level_and_a_nugget():
    class Alone(Given):
        field = property(lambda self: Field(np.zeros((60, 0)), [], [], level=0.5, tail=1.0))

    post = gq.approximate(Alone(SAME.C, 1.0), MODEL, LABELS)
    np.testing.assert_allclose(post.by_class[[1, 50]].sum(axis=1), 1.0)
    assert gq.evidence(Alone(SAME.C, 1.0), MODEL, LABELS) < -5 * np.log(2)


def test_a_list_of_priors_is_added_by_sum():
    graph = gq.Graph(np.ones((4, 4)) - np.eye(4))
    parts = [gq.Prior.full(graph), gq.FeaturePrior(np.arange(4.0)[:, None], 1.0), gq.Level(1.0)]
    assert repr(sum(parts)) == repr(parts[0] + parts[1] + parts[2])
