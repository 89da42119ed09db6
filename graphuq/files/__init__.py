"""A user's own files: tables, archives and graphs, read for the command line.

Whatever is wrong with a file is a ValueError of one line that names file, row and column, and says
what to do.
"""

from graphuq.files.items import Items
from graphuq.files.read import read, read_classes

__all__ = ["Items", "read", "read_classes"]
