"""The UQ paper's figures and tables, compared with ours, one command each.

Run ``python -m benchmarks.papers.uq_paper.NAME [--quick]`` from the root of the repository. It
writes NAME.json, NAME.md and NAME.png to benchmarks/results.
"""
