"""``python -m graphuq.cli``."""

from graphuq.cli.program import run

run()
