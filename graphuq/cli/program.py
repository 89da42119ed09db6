"""Parse the command line, run a command, and make one line of a user's mistake."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

import graphuq as gq
from graphuq.cli import classify, compare, demo, info, report, sample

EPILOG = """\
from a table to a ranked list and a report:
  graphuq sample votes.csv --label party      sample the posterior, and write votes-graphuq/
  graphuq info votes-graphuq                  what was run, and whether it can be trusted
  graphuq report votes-graphuq --truth all.csv   a page for others, scored since

Each command has a --help of its own. Exit codes: 0, 2 on a mistake in what was asked for or in a
file, 130 on Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0, 2 on a user's mistake, 130 on Ctrl-C."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser().parse_args(arguments)
    options.arguments = arguments
    try:
        with warnings.catch_warnings():
            # what a warning would say stands in the tables and below them
            warnings.simplefilter("ignore", gq.ConvergenceWarning)
            return int(options.run(options))
    except BrokenPipeError:  # whoever reads what is printed, such as head, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, TypeError, OSError, MemoryError, RuntimeError, ImportError) as error:
        print(f"graphuq {options.command}: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"graphuq {options.command}: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphuq",
        description="Bayesian uncertainty quantification for graph-based classification.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"graphuq {gq.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (sample, classify, compare, info, report, demo):
        command.add(commands)
    return parser
