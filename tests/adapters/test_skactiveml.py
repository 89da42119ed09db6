"""The classifier and the strategy for scikit-activeml: that package's checks, and our own."""

from __future__ import annotations

import unittest

import numpy as np
import pytest

import graphuq as gq

pytest.importorskip("skactiveml")

from skactiveml.classifier import SklearnClassifier
from skactiveml.pool import BatchBALD, RandomSampling, UncertaintySampling
from skactiveml.utils import is_unlabeled

try:  # its sources have them, and its wheels do not
    from skactiveml.tests.template_estimator import TemplateSkactivemlClassifier
    from skactiveml.tests.template_query_strategy import TemplateSingleAnnotatorPoolQueryStrategy
except ImportError:
    TemplateSkactivemlClassifier = TemplateSingleAnnotatorPoolQueryStrategy = None

GraphClassifier, GraphQuery = gq.skactiveml.GraphClassifier, gq.skactiveml.GraphQuery

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def moons():
    X, y = gq.datasets.two_moons(200, seed=0)
    known = np.full(200, np.nan)
    shown = gq.reveal(y, counts=5, seed=0).nodes
    known[shown] = y[shown]
    return X, y, known


if TemplateSkactivemlClassifier is not None:

    class TestClassifier(TemplateSkactivemlClassifier, unittest.TestCase):
        def setUp(self):
            super().setUp(
                estimator_class=GraphClassifier,
                init_default_params={"missing_label": "nan"},
                fit_default_params={"X": np.zeros((3, 1)), "y": ["tokyo", "nan", "paris"]},
                predict_default_params={"X": [[1]]},
            )

        def test_init_param_n_neighbors(self):
            cases = [(1, None), (0, ValueError), (1.5, TypeError), ("state", TypeError)]
            self._test_param("init", "n_neighbors", cases)

        def test_init_param_likelihood(self):
            cases = [("auto", None), (gq.NoisyProbit(0.2, 0.1), None), ("state", TypeError)]
            self._test_param("init", "likelihood", cases)

        def test_fit(self):
            model = GraphClassifier(missing_label="nan").fit(**self.fit_default_params)
            assert model.classes_.tolist() == ["paris", "tokyo"]

        def test_predict(self):
            model = GraphClassifier(missing_label="nan").fit(**self.fit_default_params)
            assert model.predict([[0]])[0] in model.classes_

        def test_predict_proba(self):
            model = GraphClassifier(missing_label="nan").fit(**self.fit_default_params)
            np.testing.assert_allclose(model.predict_proba([[0], [1]]).sum(axis=1), 1)

    class TestStrategy(TemplateSingleAnnotatorPoolQueryStrategy, unittest.TestCase):
        def setUp(self):
            self.classes = [0, 1]
            rng = np.random.RandomState(0)
            y = np.full(20, np.nan)
            y[:4] = [0, 1, 0, 1]
            super().setUp(
                qs_class=GraphQuery,
                init_default_params={"classes": self.classes},
                query_default_params_clf={"X": rng.rand(20, 2), "y": y},
            )

        def test_init_param_method(self):
            cases = [("bald", None), ("variance", None), ("best", ValueError), (1, ValueError)]
            self._test_param("init", "method", cases)

        def test_init_param_clf(self):
            cases = [(GraphClassifier(n_neighbors=5), None), ("state", TypeError)]
            self._test_param("init", "clf", cases)

        def test_init_param_classes(self):
            self._test_param("init", "classes", [([0, 1], None), (["a", "b"], TypeError)])

        def test_query(self):
            picked = GraphQuery(random_state=0).query(**self.query_default_params_clf)
            assert picked[0] >= 4


def test_it_uses_items_without_a_label():
    """Scikit-activeml's own wrapper drops them: its graph has the labeled nodes alone."""
    X, y = gq.datasets.digit_pair(4, 9)
    known = np.full(y.size, np.nan)
    shown = gq.reveal(y, counts=10, seed=0).nodes
    known[shown] = y[shown]
    own = GraphClassifier(classes=[4, 9]).fit(X, known)
    model = gq.BayesianGraphClassifier(method="approximate")
    wrapped = SklearnClassifier(model, classes=[4, 9]).fit(X, known)
    rest = is_unlabeled(known)
    ours, theirs = ((m.predict(X) == y)[rest].mean() for m in (own, wrapped))
    assert ours > 0.97
    assert ours > theirs
    np.testing.assert_allclose(own.predict_proba(X), own.model_.posterior_.by_class)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sampled_probabilities_average_to_the_predictive(moons, n_classes):
    X, _, known = moons
    known = known.copy()
    if n_classes == 3:
        known[np.flatnonzero(~np.isnan(known))[:3]] = 2
    model = GraphClassifier(classes=list(range(n_classes))).fit(X[:180], known[:180])
    drawn = model.sample_proba(X, n_samples=2000, random_state=0)
    assert drawn.shape == (2000, 200, n_classes)
    np.testing.assert_allclose(drawn.sum(axis=2), 1)
    # where expectation propagation is nearly Gaussian: away from the labeled rows
    rest = np.flatnonzero(np.isnan(known))
    gap = abs(drawn.mean(axis=0) - model.predict_proba(X))[rest]
    assert gap.max() < 0.06
    assert gap.mean() < 0.01
    again = model.sample_proba(X, n_samples=2000, random_state=0)
    np.testing.assert_array_equal(drawn, again)
    # draws are joint: neighbors agree more than other pairs do
    near = gq.knn_graph(X[:180], n_neighbors=3).adjacency.toarray() > 0
    together = np.corrcoef(drawn[:, :180, 0], rowvar=False)
    pairs = ~np.eye(180, dtype=bool)
    typical = np.nanmedian(together[near & pairs])
    assert typical > 0.4
    assert typical > 3 * np.nanmedian(abs(together[~near & pairs]))


def test_a_batch_is_that_of_suggest(moons):
    X, _, known = moons
    picked = GraphQuery(random_state=0).query(X, known, batch_size=4)
    model = GraphClassifier().fit(X, known).model_
    expected = model.posterior_.suggest(4, "bald", candidates=200, seed=0)
    np.testing.assert_array_equal(picked, expected)


def test_candidates_are_respected(moons):
    X, _, known = moons
    few = np.flatnonzero(np.isnan(known))[::17]
    strategy = GraphQuery(random_state=0)
    picked, utilities = strategy.query(X, known, few, batch_size=3, return_utilities=True)
    assert np.isin(picked, few).all()
    assert np.unique(picked).size == 3
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(utilities[0])), few)
    assert np.isnan(utilities[2, picked[:2]]).all()


def test_without_labels_the_choice_is_random(moons):
    X, _, _ = moons
    nothing = np.full(200, np.nan)
    picks = {int(GraphQuery(random_state=s).query(X, nothing)[0]) for s in range(10)}
    assert len(picks) > 5
    p = GraphClassifier(classes=[0, 1, 2]).fit(X, nothing).predict_proba(X[:2])
    np.testing.assert_allclose(p, 1 / 3)


def test_its_own_strategies_take_the_classifier(moons):
    X, _, known = moons
    model = GraphClassifier(classes=[0, 1])
    for strategy, options in (
        (RandomSampling(random_state=0), {}),
        (UncertaintySampling(random_state=0), {"clf": model}),
        (BatchBALD(sample_predictions_method_name="sample_proba",
                   sample_predictions_dict={"n_samples": 50, "random_state": 0}, random_state=0),
         {"ensemble": model}),
    ):  # fmt: skip
        picked = strategy.query(X, known, batch_size=2, **options)
        assert np.isnan(known[picked]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [({"method": "best"}, "method must be"), ({"clf": "model"}, "clf")],
)
def test_bad_settings_are_refused(moons, options, message):
    X, _, known = moons
    with pytest.raises((ValueError, TypeError), match=message):
        GraphQuery(**options).query(X, known)
