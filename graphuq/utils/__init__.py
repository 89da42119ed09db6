"""Tools that every other room uses; they know nothing of graphs or labels."""
