"""Figure 1 and section 2.4: negative log likelihoods of a label, and the relaxed sign.

Figure 1 draws the negative log likelihood of the label +1 at a node against the field there, for
probit and level-set with gamma = 1 / sqrt(2). Section 2.4 relaxes the sign S(u) to S_epsilon(u),
the place at time 1 of a gradient flow in the double well W(v) = (v^2 - 1)^2 / (4 epsilon), which
starts at u. Here the package's own potentials and gradients are evaluated, and the flow is
integrated numerically. Its solution is v / sqrt(v^2 + (1 - v^2) exp(-2 / epsilon)) with v = u.

python -m benchmarks.papers.uq_paper.potentials [--quick]
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp
from scipy.stats import norm

import graphuq as gq
from benchmarks.common import report
from graphuq.likelihoods.bound import bind, differentiate, evaluate

GAMMA = 1 / np.sqrt(2)
EPSILONS = (1.0, 0.3, 0.1)
ONE = gq.Labels([0], [1], classes=[-1, 1])


def cost(model: gq.Likelihood, values: np.ndarray) -> np.ndarray:
    """Return the potential of the label +1 at the only labeled node."""
    bound = bind(model, ONE, 1)
    return np.array([evaluate(bound, np.array([[value]])) for value in values])


def relaxed_sign(epsilon: float, values: np.ndarray) -> np.ndarray:
    """Return S_epsilon of some values, by the gradient of the double well."""
    well = bind(gq.GinzburgLandau(epsilon, gamma=1.0), ONE, 1).without_labels()

    def downhill(_: float, v: np.ndarray) -> np.ndarray:
        return np.array([-differentiate(well, np.array([[value]]))[0, 0] for value in v])

    return solve_ivp(downhill, (0, 1), values, rtol=1e-9, atol=1e-10, method="LSODA").y[:, -1]


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    u = np.linspace(-2, 2, 101)
    curves = {
        "probit": cost(gq.Probit(GAMMA), u), "level-set": cost(gq.LevelSet(GAMMA), u)
    }  # fmt: skip
    exact = {
        "probit": -norm.logcdf(u / GAMMA),
        "level-set": np.where(u < 0, 2 / GAMMA**2, 0.0),
    }
    start = np.linspace(-1.5, 1.5, 13 if options.quick else 121)
    signs = {epsilon: relaxed_sign(epsilon, start) for epsilon in EPSILONS}
    rows = [
        {
            "curve": name, "largest difference from the formula":
                float(abs(curve - exact[name]).max()),
            "at u = -2": float(curve[0]), "at u = 2": float(curve[-1]),
        }
        for name, curve in curves.items()
    ]  # fmt: skip
    clear = abs(start) > 0.2
    off = {}
    for epsilon, found in signs.items():
        formula = start / np.sqrt(start**2 + (1 - start**2) * np.exp(-2 / epsilon))
        off[epsilon] = float(abs(found - np.sign(start))[clear].max())
        rows.append({
            "curve": f"S_epsilon, epsilon {epsilon:g}",
            "largest difference from the formula": float(abs(found - formula).max()),
            "at u = -2": "", "at u = 2": "",
        })  # fmt: skip
    draw(u, curves, start, signs, options.out)
    worst = max(row["largest difference from the formula"] for row in rows)
    drawn = bool((np.diff(curves["probit"]) < 0).all()) and np.unique(curves["level-set"]).size == 2
    falls = bool((np.diff(list(off.values())) < 0).all())
    report.write("potentials", options.out, rows, {
        "largest difference of potentials and relaxed signs from their formulas: below 1e-6":
            (worst, worst < 1e-6),
        "potential of probit falls over all fields, and that of level-set is one step":
            (drawn, drawn),
        f"largest difference of S_epsilon from S where |u| > 0.2, epsilon {EPSILONS}: falls, to "
        "below 0.01 at the last": (
            ", ".join(f"{value:.3g}" for value in off.values()),
            falls and min(off.values()) < 0.01,
        ),
    })  # fmt: skip


def draw(u, curves, start, signs, out) -> None:
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, curve in curves.items():
        left.plot(
            u, curve, label=name, drawstyle="steps-post" if name == "level-set" else "default"
        )
    left.set(xlabel="field u at the node", ylabel="negative log likelihood of +1")
    left.set_title("Figure 1: negative log likelihoods", fontsize=10)
    for epsilon, values in signs.items():
        right.plot(start, values, label=f"epsilon = {epsilon:g}")
    right.plot([-1.5, 0, 0, 1.5], [-1, -1, 1, 1], "k:", label="S(u)")
    right.set(xlabel="u", ylabel="S_epsilon(u)")
    right.set_title("Section 2.4: the sign relaxed by gradient flow", fontsize=10)
    for panel in (left, right):
        panel.grid(alpha=0.3)
        panel.legend(fontsize=8)
    report.picture("potentials", out, figure)


if __name__ == "__main__":
    main()
