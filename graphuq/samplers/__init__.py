"""Samplers of the posterior at the nodes that the likelihood reads."""

import lazy_loader as _lazy

# The names are in __init__.pyi. Each is imported at first use, for most runs need one of them.
__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
