"""Measurements, one command each: ``python -m benchmarks.GROUP.NAME [--quick]`` from the root.

Each prints a table and its claims, writes both to ``benchmarks/results``, and exits with 1 where a
claim fails. ``--quick`` makes a short run for a look. Set GRAPHUQ_DATA to the folder that holds the
data sets; see ``docs/how-to/data.md``.

- ``papers``: figures and tables of the five papers, compared with ours;
- ``samplers``: samplers against each other and against other packages;
- ``trust``: whether probabilities, evidence and suspect labels can be trusted;
- ``speed``: time and memory;
- ``common``: what all of them share.
"""
