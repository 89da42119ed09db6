"""arviz, whichever version is installed; the only file that imports it."""

from __future__ import annotations

import warnings
from types import ModuleType

import numpy as np
from numpy.typing import NDArray


def arviz_module() -> ModuleType:
    """Return arviz, whichever version is installed: importing it takes seconds."""
    with warnings.catch_warnings():
        # arviz 0.23 warns of its reorganization, which this module supports
        warnings.simplefilter("ignore", FutureWarning)
        import arviz
    return arviz


def rhat_and_ess(traces: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return arviz's R-hat and bulk ESS of traces (chains, draws, quantities)."""
    import xarray as xr

    arviz = arviz_module()
    data = xr.Dataset({"x": (("chain", "draw", "quantity"), traces)})
    moving = np.ptp(traces, axis=(0, 1)) > 0
    r_hat, ess = np.ones(moving.size), np.full(moving.size, np.nan)
    with np.errstate(all="ignore"):  # chains that never move, each elsewhere, divide by zero
        if traces.shape[0] > 1:
            r_hat[moving] = arviz.rhat(data.isel(quantity=moving))["x"].values
        ess[moving] = arviz.ess(data.isel(quantity=moving))["x"].values
    # a quantity that never moves is no evidence either way
    return np.where(np.isnan(r_hat), np.inf, r_hat), np.where(np.isnan(ess), np.inf, ess)
