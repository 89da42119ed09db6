"""Measurements, one command each: ``python benchmarks/NAME.py [--quick]``."""
