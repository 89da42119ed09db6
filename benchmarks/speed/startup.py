"""Seconds of fresh processes: import, first draw on a given adjacency, the demo; and of its file.

python -m benchmarks.speed.startup [--quick]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import xarray as xr
from scipy import sparse

import graphuq as gq
from benchmarks.common import report

FIRST_DRAW = """
import sys
from scipy import sparse
import graphuq as gq
graph = gq.Graph(sparse.load_npz(sys.argv[1]))
labels = gq.Labels([0, 1, 200, 201], [4, 4, 9, 9])
prior = gq.Prior.approximated(graph, rank=50)
gq.sample(prior, gq.Probit(0.1), labels, draws={draws}, warmup={warmup}, seed=0, progress=False)
"""


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    with tempfile.TemporaryDirectory() as folder:
        X, _ = gq.datasets.digit_pair(4, 9)
        adjacency = Path(folder) / "adjacency.npz"
        sparse.save_npz(adjacency, gq.knn_graph(X, n_neighbors=10).adjacency)
        python = [sys.executable, "-W", "ignore", "-c"]
        draw = FIRST_DRAW.format(draws=1, warmup=0)
        thousand = FIRST_DRAW.format(draws=250, warmup=100)
        commands = {
            "python starts": [*python, "pass"],
            "import numpy, numba, scipy.sparse": [*python, "import numpy, numba, scipy.sparse"],
            "import graphuq": [*python, "import graphuq"],
            "import to first draw": [*python, draw, str(adjacency)],
            "import to 4 x 250 draws": [*python, thousand, str(adjacency)],
            "graphuq demo": [sys.executable, "-m", "graphuq", "demo", "--out", folder],
        }
        result = f"{folder}/result/posterior.nc"
        calls: dict[str, Callable[[], object]] = {
            name: partial(subprocess.run, command, check=True, capture_output=True)
            for name, command in commands.items()
        }
        calls["gq.load of the demo's result, in one process"] = lambda: gq.load(result)
        calls["xarray's reader, which makes no posterior"] = lambda: (
            xr.open_datatree(result, engine="h5netcdf").load().close()
        )
        rows = []
        for name, call in calls.items():
            times = [timeit.timeit(call, number=1) for _ in range(2 if options.quick else 6)]
            # the first run fills the caches
            rows.append({"fresh process": name, "first run, s": times[0],
                         "median of the rest, s": float(np.median(times[1:]))})  # fmt: skip
    warm = {row["fresh process"]: row["median of the rest, s"] for row in rows}
    draw, demo = warm["import to first draw"], warm["graphuq demo"]
    report.write(
        "startup",
        options.out,
        rows,
        {
            "seconds from import to the first draw, about 1": (draw, draw < 1.5),
            "seconds of the demo, below 10": (demo, demo < 10),
        },
    )


if __name__ == "__main__":
    main()
