"""Samplers against each other, against NumPy and against other packages."""
