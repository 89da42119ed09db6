"""Gaussian priors on the field, and the field at all nodes given some of it."""
