"""The climb to a maximum in the unit cube."""

from __future__ import annotations

import numpy as np
import pytest

from graphuq.inference.search import Height, climb_from_all


def quadratic(top, H, bend=0.0):
    """Return a function with its maximum, but for the cube, at ``top``, and a rest of ``bend``."""

    def height_at(x):
        known = -0.5 * (x - top) @ H @ (x - top) - bend * x.sum()
        return Height(known, bend * x.sum(), -H @ (x - top) - bend)

    return height_at


@pytest.mark.parametrize("top", [(0.4, 0.7, 0.5), (1.3, 0.2, -0.4)], ids=["inside", "outside"])
@pytest.mark.parametrize("bend", [0.0, 0.5])
def test_the_summit_of_a_quadratic_is_found(top, bend):
    top = np.array(top)
    H = np.array([[40.0, 5.0, 0.0], [5.0, 10.0, 2.0], [0.0, 2.0, 30.0]])
    height_at = quadratic(top, H, bend)
    seen = [(x, height_at(x)) for x in (np.full(3, 0.5), np.full(3, 0.2))]
    climb_from_all(height_at, seen, 40)
    found = max(height.value for _, height in seen)
    side = np.linspace(0, 1, 41)
    grid = np.stack(np.meshgrid(side, side, side), axis=-1).reshape(-1, 3)
    best = (-0.5 * np.einsum("ij,jk,ik->i", grid - top, H, grid - top)).max()
    assert found > best - 0.01
    assert len(seen) < 30
    assert all((x >= 0).all() and (x <= 1).all() for x, _ in seen)


def test_of_two_summits_the_higher_is_found():
    tops, heights = np.array([[0.15, 0.2], [0.8, 0.85]]), np.array([3.0, 4.0])

    def height_at(x):
        parts = heights - 40 * ((x - tops) ** 2).sum(axis=1)
        share = np.exp(parts - parts.max())
        share /= share.sum()
        slope = share @ (-80 * (x - tops))
        return Height(float(parts.max() + np.log(np.exp(parts - parts.max()).sum())), 0.0, slope)

    points = [np.array([0.7, 0.7]), np.array([0.2, 0.3]), np.array([0.1, 0.1])]
    seen = [(x, height_at(x)) for x in points[1:] + points[:1]]
    climb_from_all(height_at, seen, 40)
    assert max(height.value for _, height in seen) > 3.99
    # a climb from the lower summit's side alone stays there
    lonely = [(points[2], height_at(points[2]))]
    climb_from_all(height_at, lonely, 40)
    assert 2.98 < max(height.value for _, height in lonely) < 3.5


def test_points_are_rounded():
    """So that the last digits of a gradient, which rounding makes, do not move them."""
    seen = []

    def height(x, noise=0.0):
        seen.append(x)
        slope = -2 * (x - 0.123456789) + noise
        return Height(float(-((x - 0.123456789) ** 2).sum()), 0.0, slope)

    start = np.array([0.7, 0.6])
    climb_from_all(height, [(start, height(start))], 20)
    exact = list(seen)
    seen.clear()
    climb_from_all(lambda x: height(x, 1e-8), [(start, height(start, 1e-8))], 20)
    np.testing.assert_array_equal(exact, seen)
    assert len(exact) > 2


def test_points_without_a_height_shorten_the_steps():
    height_at = quadratic(np.array([0.9]), np.array([[20.0]]))
    seen = [(np.array([0.1]), height_at(np.array([0.1])))]
    climb_from_all(lambda x: height_at(x) if x[0] < 0.6 else None, seen, 60)
    assert max(x[0] for x, _ in seen) > 0.55
