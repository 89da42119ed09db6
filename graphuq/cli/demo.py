"""``graphuq demo``: handwritten digits, from a file to a report."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from graphuq.cli import sample
from graphuq.cli.example import digits, write_files
from graphuq.cli.options import add_command, add_seed
from graphuq.utils.atomic_files import holds_arrays, require_replaceable

DESCRIPTION = """\
Write images of two handwritten digits to a file, a few of them labeled, and run
graphuq sample on it: predictions, uncertain images, a report, all draws."""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "demo",
        "",
        "classify handwritten digits, with uncertainty",
        DESCRIPTION,
        "examples:\n  graphuq demo\n  graphuq demo --pair 3,8\n  graphuq demo --classes all",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--pair",
        type=pair_of_digits,
        default=(4, 9),
        metavar="A,B",
        help="two digits (default: 4,9)",
    )
    which.add_argument("--classes", choices=("all",), help="all ten digits instead of a pair")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("graphuq-demo"),
        metavar="FOLDER",
        help="folder for the files (default: graphuq-demo)",
    )
    add_seed(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the images, and sample."""
    file, seed = options.out / "digits.npz", options.seed
    example = digits(None if options.classes else options.pair, seed)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"cannot create the folder {options.out} ({error}): choose another --out"
        ) from error
    require_replaceable(file, lambda path: holds_arrays(path, "X", "y", "truth"), "graphuq demo")
    write_files({file: example.files["digits.npz"]})
    line = ["sample", str(file), "--truth", "truth", "--images", "--seed", str(seed)]
    line += ["--out", str(options.out / "result")]
    print(f"Written to {file}: {example.about}\n\nRunning graphuq {' '.join(line)}\n", flush=True)
    parser = argparse.ArgumentParser()
    sample.add(parser.add_subparsers())
    return sample.run(parser.parse_args(line, argparse.Namespace(arguments=line)))


def pair_of_digits(text: str) -> tuple[int, int]:
    """Parse "4,9"."""
    try:
        a, b = (int(part) for part in text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"expected two digits such as 4,9, got {text!r}"
        ) from error
    return a, b
