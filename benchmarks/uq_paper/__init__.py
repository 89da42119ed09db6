"""The UQ paper's figures and tables, ours beside theirs, one command each.

From the root of the repository: ``python -m benchmarks.uq_paper.NAME [--quick]``. Each writes
NAME.json, NAME.md and NAME.png into benchmarks/results.
"""
