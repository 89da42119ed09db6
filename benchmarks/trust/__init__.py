"""Whether probabilities, evidence, suspect labels and predictions can be trusted."""
