"""Draw until an effective sample size is reached."""

from __future__ import annotations

import numpy as np

from graphuq.inference.chain_record import ChainRecord, join_draws
from graphuq.inference.plan import Plan
from graphuq.posterior.assessment import diagnostics
from graphuq.utils.words import count


class TargetEss:
    """Double the number of draws until the target is reached."""

    def __init__(self, plan: Plan, records: list[ChainRecord]) -> None:
        self._plan, self._records = plan, records
        self._ess = np.inf

    def more(self) -> int:
        """Return the number of further draws per chain, 0 to stop."""
        target = self._plan.target_ess
        if target is None:
            return 0
        self._ess = diagnostics.effective_size(join_draws(self._records))
        done = self._records[0].draws
        return 0 if self._ess >= target else min(done, self._plan.draws - done)

    def messages(self) -> tuple[str, ...]:
        """Return a message if all draws were made and the target was not reached."""
        plan = self._plan
        if plan.target_ess is None or self._ess >= plan.target_ess:
            return ()
        return (
            f"target_ess = {plan.target_ess:g} was not reached: {count(plan.draws, 'draw')} per "
            f"chain ({count(plan.chains, 'chain')}) are worth {self._ess:.0f}. Raise draws, or "
            "thin more.",
        )
