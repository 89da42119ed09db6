"""An HTML page about a result and how far to trust it, for readers who did not run it."""

from graphuq.report.write import write_report

__all__ = ["write_report"]
