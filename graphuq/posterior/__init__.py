"""Results: the statistics of every node, and what users ask of them."""
