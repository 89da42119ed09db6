"""Judgments of a result: diagnostics, calibration, suspect labels, what to label next."""
