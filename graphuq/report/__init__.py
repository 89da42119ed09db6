"""A page that says what was found and how far to trust it, for those who did not run it."""

from graphuq.report.write import write_report

__all__ = ["write_report"]
