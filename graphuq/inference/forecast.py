"""How long a run takes: said before it starts and while it runs, if it is long."""

from __future__ import annotations

import time
import warnings

from graphuq.inference.plan import Plan
from graphuq.samplers.protocol import Sampler, Target
from graphuq.utils.forecast import MAX_SILENT_SECONDS, announce_long_work, describe_duration
from graphuq.utils.threads import cpu_count
from graphuq.utils.typing import Array

# Seconds until the pace of a run is known, and the time left above which advice is given.
LOOK_SECONDS, ADVICE_SECONDS = 5.0, 30.0

# Seconds that a chain takes at least, besides its draws.
CHAIN_SECONDS = 0.01

FEWER = "ask for fewer draws or chains, a shorter warm-up or less thinning"
REMEDY = f"Ctrl-C returns the draws so far; {FEWER} to need less time"


def announce_run(sampler: Sampler, target: Target, plan: Plan) -> None:
    """Warn of a run that takes more than ten minutes before it starts, and refuse one of weeks."""
    draws = plan.warmup + plan.draws
    each = CHAIN_SECONDS + draws * sampler.draw_seconds(target, plan.thin)
    workers = min(plan.chains, plan.threads or cpu_count())
    what = f"sampling {plan.chains:,} chains of {draws:,} draws, warm-up included,"
    announce_long_work(plan.chains * each / workers, what, FEWER, stacklevel=3)


class Forecast:
    """Says once how long a run takes, by its pace.

    Parameters
    ----------
    sampler : Sampler
    target : Target
    thin : int
    n_draws : int
        Draws that are left in all chains, warm-up included.
    """

    def __init__(self, sampler: Sampler, target: Target, thin: int, n_draws: int) -> None:
        self._sampler, self._target, self._thin = sampler, target, thin
        self._total = self._left = n_draws
        self._said, self._begun = False, time.perf_counter()

    def expect(self, draws: int) -> None:
        """Count the draws of another round."""
        self._total, self._left = self._total + draws, self._left + draws

    def update(self, draws: int, stats: dict[str, Array], first: bool) -> None:
        """Count the draws of a chunk, and warn if the others take long.

        The first chunk of a chain tells nothing of the pace: it starts and compiles.
        """
        self._left -= draws
        if first:
            self._total, self._begun = self._left, time.perf_counter()
        seconds = time.perf_counter() - self._begun
        if self._said or seconds < LOOK_SECONDS or self._left == self._total:
            return
        left = seconds * self._left / (self._total - self._left)
        advice = self._sampler.advice(self._target, self._thin, stats)
        if left > MAX_SILENT_SECONDS or (advice and left > ADVICE_SECONDS):
            self._said = True
            warnings.warn(
                f"sampling takes about {describe_duration(left)} more"
                + (f", as {advice}" if advice else "")
                + f". {REMEDY}",
                RuntimeWarning,
                stacklevel=5,
            )
