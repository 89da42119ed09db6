"""The command line, ``graphuq``: one file for each command."""

from graphuq.cli.start import run

__all__ = ["run"]
