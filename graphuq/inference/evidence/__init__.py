"""The evidence: how probable a prior and a likelihood make the labels."""
