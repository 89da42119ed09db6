"""The command line, ``graphuq``: one file for each command."""

from graphuq.cli.program import main, run

__all__ = ["main", "run"]
