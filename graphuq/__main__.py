"""``python -m graphuq``."""

from graphuq.cli import run

run()
