"""From a prior, a likelihood and labels to a result."""
