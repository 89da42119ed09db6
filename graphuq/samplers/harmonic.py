"""The harmonic sampler: Gaussian Hamiltonian flow between walls, exact for sign models.

Pakman and Paninski 2014, with the finite walls of Afshar and Domke 2015. Under N(0, G) with mass
G^(-1), Hamilton's equations turn the state about the origin, x(t) = x cos t + w sin t, with
velocity w(0) ~ N(0, G): no integrator, no accept step, nothing to tune. A sign model's potential
is flat except for a step where a labeled x_j changes sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from graphuq.likelihoods.bound import Bound
from graphuq.likelihoods.label_rule import Argmax, LabelRule, Sign
from graphuq.samplers.argmax_walls import ArgmaxWalls
from graphuq.samplers.protocol import Chunk, Kept, Sampler, Target, prior_blocks
from graphuq.samplers.sign_walls import SignWalls
from graphuq.samplers.walls import LabelWalls, require_walls_memory
from graphuq.utils import validation
from graphuq.utils.typing import Array

# Labels contradict each other where a flow hits more than this number of walls for each label.
MAX_HITS_PER_LABEL = 3.0

# The walls of each label rule.
WALLS: dict[type[LabelRule], type[SignWalls | ArgmaxWalls]] = {Sign: SignWalls, Argmax: ArgmaxWalls}

# The flow often crosses walls up to CROSSED. To start below higher ones they are raised, to
# ANNEALED in as many flows as look at all labels START_WORK times in total. Where labels
# contradict each other, ever more walls are hit: then they rise faster, so that hits look at
# labels MAX_START_WORK times at most.
CROSSED, ANNEALED, START_WORK, MAX_START_WORK = 5.0, 40.0, 600_000, 500_000_000

# Behind finite walls a chain may stay where some labels are wrong, although rare fields with right
# labels have more of the posterior. If at most FEW numbers are at the walls, flows are cheap, and
# SLOW of them at each height look for such fields.
SLOW, FEW = 50, 30

# About how long a hit takes, for each label and field: its kernel for two classes runs in vectors.
HIT_SECONDS: dict[type[LabelRule], float] = {Sign: 6e-10, Argmax: 5e-9}


class HarmonicState(NamedTuple):
    """The state of a chain."""

    field: Array
    """x, the field plus its noise, at each wall of `LabelWalls`, shape (C, walls)."""


@dataclass(frozen=True)
class Harmonic(Sampler):
    """Exact Hamiltonian flow between the walls x_j = 0; draws are nearly independent.

    It supports the sign models: level-set (walls of height V = 2 / gamma^2), probit (x = u_J +
    gamma eta, walls that cannot be crossed) and noisy probit (both). Each draw refreshes the
    velocity and flows for a quarter turn. Its cost is a few products with the factor of C_JJ, and J
    operations for each wall that is hit. For K > 2 classes the walls are x_jc = x_jk, and a hit
    costs J K operations.

    Parameters
    ----------
    thin : int
        Flows from one kept draw to the next, if `sample` gets no ``thin``.

    Raises
    ------
    ValueError
        A likelihood that is not a sign model; ``thin`` below 1.

    Examples
    --------
    >>> import graphuq as gq
    >>> gq.Harmonic()
    Harmonic(thin=1)
    """

    thin: int = 1
    steady: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validation.integer("thin", self.thin, 1)

    def warmup(self, draws: int) -> int:
        """Return 100: a few flows forget the start."""
        del draws
        return 100

    def noise(self, likelihood: Bound) -> float:
        """Return the noise before the threshold, which is sampled with the field."""
        if likelihood.sign_model is None:
            raise ValueError(
                "gq.Harmonic supports the sign models Probit, LevelSet and NoisyProbit; for other "
                "likelihoods use gq.HilbertHMC (with a gradient), gq.EllipticalSlice or gq.PCN"
            )
        return likelihood.sign_model[0]

    def check(self, target: Target) -> None:
        """Refuse labels whose covariance exceeds the memory."""
        require_walls_memory(target.law.size)

    def draw_seconds(
        self, target: Target, thin: int, stats: dict[str, Array] | None = None
    ) -> float:
        """Return about how long a kept draw takes: the walls that it hits decide."""
        hits = 0.0 if stats is None else float(stats["n_walls"].mean())
        each = HIT_SECONDS[type(target.likelihood.rule)] * math.prod(target.shape)
        return super().draw_seconds(target, thin) + each * hits

    def advice(self, target: Target, thin: int, stats: dict[str, Array]) -> str:
        """Return what to do if labels contradict each other, so that draws hit many walls."""
        return advice_on_walls(float(stats["n_walls"].mean()) / thin, target.law.size)

    def start(self, target: Target, rng: np.random.Generator) -> HarmonicState:
        """Return a draw from the prior, flown to where all labels are right, or nearly all.

        Walls rise while it flies. Walls of full height from the start would trap it where labels
        that are hard to satisfy together are wrong.
        """
        (cost, walls), law = _at(target), target.law
        x = walls.at_walls(law.draw(target.likelihood.n_fields, rng)[None])[0]
        highest = np.max(target.likelihood.label_model.cost)
        if highest > CROSSED:
            few = math.isfinite(highest) and x.size <= FEW
            _raise_walls(x, walls, cost, target, rng, SLOW if few else 1)
            x = walls.make_right(x) if math.isinf(highest) else x
        return HarmonicState(x)

    def advance(
        self,
        target: Target,
        state: HarmonicState,
        rng: np.random.Generator,
        draws: int,
        thin: int,
        tune: bool,
    ) -> tuple[HarmonicState, Chunk]:
        """Make ``draws * thin`` flows and keep every ``thin``-th state."""
        del tune  # there is nothing to tune
        cost, walls = _at(target)
        rule = target.likelihood.rule
        x = state.field.copy()
        kept = Kept(draws, thin, x.shape, last=(), summed=("n_walls",))
        for first, velocities in prior_blocks(target.law, draws * thin, rng, rule.n_fields):
            w = walls.at_walls(velocities)
            states, hits, _ = walls.fly(x, w, np.full(len(w), cost))
            kept.add(first, states, {"n_walls": hits})
        fields = walls.at_nodes(kept.fields)
        stats = {
            "potential": _potential(target.likelihood, fields),
            "acceptance_rate": np.ones(draws),
            **kept.stats,
        }
        return HarmonicState(x), Chunk(fields, stats)


def advice_on_walls(hits: float, n_labels: int) -> str:
    """Return what to do if a flow hits many walls, and "" if it does not."""
    if hits <= MAX_HITS_PER_LABEL * n_labels:
        return ""
    return (
        f"labels contradict each other, and a flow between {n_labels:,} of them hits {hits:,.0f} "
        "walls. Take gq.NoisyProbit, which expects wrong labels, or gq.Probit with the sampler "
        "gq.HilbertHMC, which has no walls"
    )


def _at(target: Target) -> tuple[float, LabelWalls]:
    """Return the height of the walls, and the walls; 1 if they have heights of their own."""
    bound = target.likelihood
    kind, cost = WALLS[type(bound.rule)], bound.label_model.cost
    if isinstance(cost, np.ndarray):
        return 1.0, kind.at(target.law, bound.observed.y, bound.n_fields, cost)
    return cost, kind.at(target.law, bound.observed.y, bound.n_fields)


def _potential(bound: Bound, fields: Array) -> Array:
    """Return the cost of the wrong labels in each draw; none is wrong where that is infinite."""
    y, cost = bound.observed.y, bound.label_model.cost
    if isinstance(cost, np.ndarray):
        finite = np.where(np.isinf(cost), 0.0, cost)
        return np.asarray(bound.rule.are_wrong(fields, y) @ finite)
    wrong = bound.rule.wrong(fields, y)
    return np.where(wrong > 0, wrong * cost, 0.0) if cost < np.inf else np.zeros(len(fields))


def _raise_walls(
    x: Array, walls: LabelWalls, cost: float, target: Target, rng: np.random.Generator, flows: int
) -> None:
    """Fly ``x``, in place, between walls that rise, until all labels are right or at the end.

    It makes ``flows`` flows at each height.
    """
    heights = np.linspace(
        0, ANNEALED, int(np.clip(START_WORK // math.prod(target.shape), 200, 4000))
    )
    costs_of_labels = target.likelihood.label_model.cost
    heights, own = heights[heights <= np.max(costs_of_labels)], np.ndim(costs_of_labels) > 0
    hits = 0.0
    for flow, velocities in prior_blocks(
        target.law, heights.size * flows, rng, target.likelihood.n_fields
    ):
        w = walls.at_walls(velocities)
        for i in range(0, len(w), flows):
            work = hits * x.size / MAX_START_WORK
            if work > 1 or walls.are_right(x):
                return
            height = max(heights[(flow + i) // flows], work * ANNEALED)
            raised = walls.lowered_to(height) if own else walls
            costs = np.full(len(w[i : i + flows]), cost if own else min(cost, height))
            hits += float(raised.fly(x, w[i : i + flows], costs).hits.sum())
