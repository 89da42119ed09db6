"""Read a user's own files for the command line: tables, archives and graphs.

Problems in a file raise a ValueError whose message names each of them: file, row and column, the
problem and its remedy.
"""

from graphuq.cli.files.class_column import to_class_names
from graphuq.cli.files.items import Items
from graphuq.cli.files.label_table import read_classes
from graphuq.cli.files.options import ReadOptions
from graphuq.cli.files.read import read

__all__ = ["Items", "ReadOptions", "read", "read_classes", "to_class_names"]
