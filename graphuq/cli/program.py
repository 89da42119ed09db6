"""Parse the command line, run a command, and report errors without a traceback."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import graphuq as gq
from graphuq.cli import (
    compare,
    demo,
    example,
    label,
    predict,
    report,
    sample,
    suggest,
    update,
)
from graphuq.cli.errors import EXPECTED, describe_error, describe_warning
from graphuq.cli.exit_codes import BUG, INTERRUPTED, REFUSED
from graphuq.cli.files.options import ALL
from graphuq.cli.files.table import SUFFIXES
from graphuq.cli.heartbeat import heartbeat
from graphuq.utils.outliers import OutlierWarning

EPILOG = """\
example:
  graphuq example votes                          write votes.csv and parties.csv
  graphuq sample votes.csv --label party         sample the posterior, write votes-graphuq/
  graphuq label mail.csv --text body --classes ham spam
                                                 label in the browser, most informative items first
  graphuq report votes-graphuq --truth parties.csv
                                                 write a report, scored against true classes
  graphuq suggest votes-graphuq --out ask.csv    list the items to label next
  graphuq update votes-graphuq --labels ask.csv  add their labels
  graphuq predict votes-graphuq new.csv          predict the classes of new items

Run graphuq COMMAND --help for the options of a command. Exit codes: 0 on success, 2 on an error in
the options or in a file, 3 on an error in graphuq itself, 130 on Ctrl-C."""


def main(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    return execute(parse(arguments))


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command that the arguments name."""
    options = parser_of_commands().parse_args(_end_categorical(arguments))
    options.arguments = list(arguments)
    return options


def execute(options: argparse.Namespace) -> int:
    """Run the command of the options and return its exit code.

    It is 0 on success, 2 on an error of the user, 3 on an error in graphuq, 130 on Ctrl-C.
    """
    try:
        with warnings.catch_warnings():
            # The commands print the messages of these warnings themselves.
            warnings.simplefilter("ignore", gq.ConvergenceWarning)
            # The reader of the file has named the cell; here it is scaled.
            warnings.simplefilter("ignore", OutlierWarning)
            # The summary names the items.
            warnings.filterwarnings("ignore", r"\d+ of \d+ components ha(s|ve) no label")
            warnings.showwarning = _show_once(options.command)
            with heartbeat(options.command):
                return int(options.run(options))
    except BrokenPipeError:  # the reader of a pipe, such as head, has stopped reading
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as error:
        print(f"graphuq {options.command}: {str(error) or 'interrupted'}", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        print(describe_error(options.command, error, options.arguments), file=sys.stderr)
        return REFUSED if isinstance(error, EXPECTED) else BUG


def _show_once(command: str) -> Callable[..., None]:
    """Return a function that prints warnings, each once."""
    shown: set[str] = set()

    def show(message: Any, *_: Any, **__: Any) -> None:
        text = describe_warning(command, message)
        if text not in shown:
            print(text, file=sys.stderr)
        shown.add(text)

    return show


def _end_categorical(arguments: Sequence[str]) -> list[str]:
    """Return the arguments, with ``--categorical`` ended where FILE follows instead of COLUMN.

    So is ``--images`` of the command ``label``.
    """
    ended = {"--categorical", *(["--images"] if arguments[:1] == ["label"] else [])}
    return [
        f"{argument}={ALL}"
        if argument in ended and following.lower().endswith((*SUFFIXES, ".gz"))
        else argument
        for argument, following in zip_longest(arguments, arguments[1:], fillvalue="")
    ]


def parser_of_commands() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="graphuq",
        description="Bayesian uncertainty quantification for graph-based classification.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"graphuq {gq.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (
        sample, label, suggest, update, predict, compare, report, demo, example,
    ):  # fmt: skip
        command.add(commands)
    return parser
