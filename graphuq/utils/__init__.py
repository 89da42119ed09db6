"""Tools that every other folder uses; they know nothing of graphs or labels."""
