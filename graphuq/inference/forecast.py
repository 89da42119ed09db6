"""How long a run takes: said before it starts and while it runs, if it is long."""

from __future__ import annotations

import math

from graphuq.inference.plan import Plan
from graphuq.samplers.protocol import Sampler, Target
from graphuq.utils.forecast import Pace, announce_long_work
from graphuq.utils.threads import cpu_count
from graphuq.utils.typing import Array

# Seconds that a chain takes at least, besides its draws.
CHAIN_SECONDS = 0.01

FEWER = "ask for fewer draws or chains, a shorter warm-up or less thinning"
REMEDY = f"Ctrl-C after the warm-up returns the draws so far; {FEWER} to need less time"


def announce_run(sampler: Sampler, target: Target, plan: Plan) -> None:
    """Warn of a run that takes more than ten minutes before it starts, and refuse one of weeks."""
    draws = plan.warmup + plan.draws
    each = CHAIN_SECONDS + draws * sampler.draw_seconds(target, plan.thin)
    workers = min(plan.chains, plan.threads or cpu_count())
    what = f"sampling {plan.chains:,} chains of {draws:,} draws, warm-up included,"
    announce_long_work(plan.chains * each / workers, what, FEWER, stacklevel=3)


class Forecast:
    """Tells the pace of a run how much is done and how much is left, in seconds of one thread.

    A start of a chain may take as long as many draws, so that both have a time of their own. It is
    the sampler's forecast until some are done.

    Parameters
    ----------
    sampler : Sampler
    target : Target
    thin : int
    n_draws : int
        Draws that are left in all chains, warm-up included.
    n_starts : int
        Number of chains that have not begun.
    workers : int
        Number of threads. The first chunk of each compiles, and so does not show the pace.
    """

    def __init__(
        self, sampler: Sampler, target: Target, thin: int, n_draws: int, n_starts: int, workers: int
    ) -> None:
        self._sampler, self._target, self._thin = sampler, target, thin
        self._starts = _Kind(n_starts, CHAIN_SECONDS)
        self._draws = _Kind(n_draws, sampler.draw_seconds(target, thin))
        self._n_compiling, self._pace = workers, Pace(math.nan, "sampling", REMEDY)

    def expect(self, draws: int) -> None:
        """Count the draws of another round."""
        self._draws.left += draws

    def update(self, draws: int, stats: dict[str, Array], first: bool, seconds: float) -> None:
        """Count a chunk, the first of its chain or not, and warn if the others take long."""
        self._starts.left -= first
        self._draws.left -= draws
        if self._n_compiling:
            self._n_compiling -= 1
            self._pace.begin()
            return
        if first:
            self._starts.note(1, max(0.0, seconds - draws * self._draws.each))
        else:
            self._draws.note(draws, seconds)
        left = sum(kind.left * kind.each for kind in (self._starts, self._draws))
        self._pace.step(seconds, left, self._sampler.advice(self._target, self._thin, stats))


class _Kind:
    """One kind of work: how many are left, and the seconds that each takes.

    Parameters
    ----------
    left : int
    each : float
        Seconds that each takes, until some are done.
    """

    def __init__(self, left: int, each: float) -> None:
        self.left, self.each = left, each
        self._done, self._seconds = 0, 0.0

    def note(self, number: int, seconds: float) -> None:
        """Note how long so many took."""
        self._done, self._seconds = self._done + number, self._seconds + seconds
        self.each = self._seconds / self._done
