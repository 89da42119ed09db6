"""Options that say how a file is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ReadOptions:
    """Options of `graphuq.cli.files.read`.

    Attributes
    ----------
    label : str, optional
        Column, array or node attribute with the class of each item, blank if unknown; by default
        ``label``, in archives also ``y`` or ``labels``.
    labels : path-like, optional
        A second table with ids and labels.
    id_column : str, optional
        Column or array with the names of the items. By default it is ``id``, or a first column
        without a name, and ``ids`` in archives; without these, items are numbered from 0.
    truth : str, optional
        Column, array or node attribute with the true classes, or a table with ids and classes.
    groups : str, optional
        Column, array or node attribute with the group of each item, which is no feature.
    ignore : tuple of str
        Columns or arrays to exclude.
    unlabeled : tuple of str
        Values that mark an unknown label; blanks and -1 always do.
    classes : tuple of str
        Values that are classes, although they look like marks of unknown labels, such as NA.
    missing : {"refuse", "drop", "fill"}
        What to do with missing or invalid feature values: raise an error, drop their rows, or
        replace them by the column mean.
    categorical : bool or tuple of str
        Columns of text that are categories: all, or those named; others are an error.
    decimal : {".", ","}, optional
        The decimal mark; by default that of the numbers in each column.
    scale : bool, optional
        Whether to scale columns to mean 0 and standard deviation 1; by default those of tables
        are scaled and those of archives are not.
    edges : bool, optional
        Whether a table lists edges; by default its header and its contents decide.
    weight : str, optional
        Column with the weights of the edges; by default ``weight``.
    largest : bool
        Whether to keep only the largest component of a disconnected graph.
    encoding : str
        Encoding of text files.
    text : str, optional
        A column of texts, whose words are the features; other columns are no features then.
    needs_labels : bool
        Whether a table without labels is refused.
    """

    label: str | None = None
    labels: str | Path | None = None
    id_column: str | None = None
    truth: str | None = None
    groups: str | None = None
    ignore: tuple[str, ...] = ()
    unlabeled: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    missing: str = "refuse"
    categorical: bool | tuple[str, ...] = False
    decimal: str | None = None
    scale: bool | None = None
    edges: bool | None = None
    weight: str | None = None
    largest: bool = False
    encoding: str = "utf-8"
    text: str | None = None
    needs_labels: bool = True
