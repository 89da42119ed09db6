"""Expectation propagation: Gaussian sites in place of likelihoods, for one field or K."""
