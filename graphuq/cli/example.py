"""``graphuq example``: write data files to try the other commands on."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import graphuq as gq
from graphuq.cli.options import add_command
from graphuq.utils.atomic_files import write_atomically

# Size of the simulated parliament.
N_MEMBERS, N_VOTES = 435, 16


class Example(NamedTuple):
    """Files, and what to try on them.

    Attributes
    ----------
    files : dict of str to DataFrame or dict of str to ndarray
        Contents of tables and of archives, by the name of the file.
    about : str
    commands : tuple of str
    """

    files: dict[str, Any]
    about: str
    commands: tuple[str, ...]


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "example",
        "NAME",
        "write example files",
        "Write small data files to try the other commands on, and print what to try.\n\n"
        "  votes    simulated votes of the members of a parliament, and five parties\n"
        "  irises   measured flowers of three species, nine of them named\n"
        "  friends  who knows whom in a karate club: a list of edges, and two clubs\n"
        "  digits   gray images of handwritten digits 4 and 9, fourteen of them named",
        "examples:\n  graphuq example votes\n  graphuq example digits --out data",
    )
    parser.add_argument("name", choices=EXAMPLES, metavar="NAME", help=", ".join(EXAMPLES))
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="existing folder for the files (default: the current folder)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the files, and print what to try."""
    example = EXAMPLES[options.name]()
    paths = {options.out / name: contents for name, contents in example.files.items()}
    for path in paths:
        if path.exists():
            raise FileExistsError(f"{path} exists: remove it, or choose another --out")
    write_files(paths)
    print(f"Written: {', '.join(map(str, paths))}. {example.about}\n\nTry:")
    for command in example.commands:
        print(f"  {command}")
    return 0


def write_files(files: Mapping[Path, Any]) -> None:
    """Write tables and archives, each completely or not at all."""
    for path, contents in files.items():
        with write_atomically(path) as temporary:
            if isinstance(contents, pd.DataFrame):
                contents.to_csv(temporary, index=False)
            else:
                with open(temporary, "wb") as file:
                    np.savez(file, **contents)


def votes() -> Example:
    """Return votes that follow the positions of members of two parties."""
    rng = np.random.default_rng(1)
    party = np.repeat(["democrat", "republican"], [267, N_MEMBERS - 267])[
        rng.permutation(N_MEMBERS)
    ]
    # A member at position s says yes to bill k with probability logit^-1(slope_k s + offset_k).
    position = np.where(party == "democrat", -1.0, 1.0) + 0.4 * rng.standard_normal(N_MEMBERS)
    slope, offset = 1.5 * rng.standard_normal(N_VOTES), 0.7 * rng.standard_normal(N_VOTES)
    yes = rng.random((N_MEMBERS, N_VOTES)) < 1 / (1 + np.exp(-np.outer(position, slope) - offset))
    ids = [f"member{k:03d}" for k in range(1, N_MEMBERS + 1)]
    table = pd.DataFrame(
        np.where(yes, "y", "n"), columns=[f"vote{k}" for k in range(1, N_VOTES + 1)]
    )
    table.insert(0, "id", ids)
    table["party"] = _some(party, {"democrat": 3, "republican": 2})
    return Example(
        {"votes.csv": table, "parties.csv": pd.DataFrame({"id": ids, "label": party})},
        f"Simulated votes of {N_MEMBERS} members on {N_VOTES} bills; the party of five members is "
        "known in votes.csv, and of all in parties.csv.",
        (
            "graphuq sample votes.csv --label party",
            "graphuq report votes-graphuq --truth parties.csv",
        ),
    )


def irises() -> Example:
    """Return Fisher's irises."""
    from sklearn.datasets import load_iris

    iris = load_iris(as_frame=True)
    species = iris.target_names[iris.target]
    table = iris.data.assign(label=_some(species, 3), species=species)
    return Example(
        {"irises.csv": table},
        "150 flowers; label has the species of nine, and species that of all.",
        (
            "graphuq sample irises.csv --truth species",
            "graphuq compare irises.csv --truth species",
        ),
    )


def friends() -> Example:
    """Return the karate club."""
    try:
        import networkx
    except ImportError as error:
        raise ModuleNotFoundError(
            "this example needs networkx: pip install 'graphuq[networkx]'"
        ) from error
    network = networkx.karate_club_graph()
    edges = pd.DataFrame(list(network.edges), columns=["source", "target"])
    clubs = pd.DataFrame({"id": [0, 33], "label": [network.nodes[k]["club"] for k in (0, 33)]})
    return Example(
        {"friends.csv": edges, "clubs.csv": clubs},
        "34 people; friends.csv has a line for each two who know each other, and clubs.csv the "
        "clubs of two people.",
        ("graphuq sample friends.csv --labels clubs.csv",),
    )


def digits(pair: tuple[int, int] | None = (4, 9), seed: int = 0) -> Example:
    """Return images of two digits, or of all ten."""
    X, y = gq.datasets.digits() if pair is None else gq.datasets.digit_pair(*pair)
    labels = gq.reveal(y, fraction=0.04, seed=seed)
    known = np.full(y.size, -1)
    known[labels.nodes] = labels.values
    return Example(
        {"digits.npz": {"X": X.reshape(-1, 8, 8), "y": known, "truth": y}},
        f"{y.size} images; y has the digits of {len(labels)} and -1 for the others, and truth "
        "those of all.",
        ("graphuq sample digits.npz --truth truth --images",),
    )


def _some(classes: Any, counts: Any) -> pd.Series:
    """Return the classes of some items, blank for the others."""
    labels = gq.reveal(np.asarray(classes), counts=counts, seed=0)
    return pd.Series(labels.values, labels.nodes).reindex(range(len(classes)))


EXAMPLES: dict[str, Callable[[], Example]] = {
    "votes": votes,
    "irises": irises,
    "friends": friends,
    "digits": digits,
}
