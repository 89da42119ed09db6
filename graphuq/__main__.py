"""``python -m graphuq``."""

from graphuq.cli.program import run

run()
