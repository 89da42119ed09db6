"""Shares of the classes, given by ``--class-shares``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

import graphuq as gq
from graphuq.cli.options import add_option
from graphuq.posterior.assessment.class_shares import require_shares, require_strength
from graphuq.posterior.predictions import ReweightedPredictions

FORM = "NAME=SHARE,NAME=SHARE"

# A share is followed by a comma or the end; so names may have commas and equals signs.
_ITEM = re.compile(r"\s*(.+?)\s*=\s*([^,=]*?)\s*(?:,|$)")


class ClassShares(NamedTuple):
    """Shares of all classes, and the number of items that they are worth."""

    shares: dict[str, float]
    strength: float

    def of(self, result: gq.Posterior) -> ReweightedPredictions:
        """Return predictions with these shares."""
        return result.with_class_shares(self.shares, strength=self.strength)

    def settings(self) -> dict[str, Any]:
        """Return what run.json keeps."""
        return {"class_shares": self.shares, "class_shares_strength": self.strength}


def add_class_shares(group: Any, otherwise: str) -> None:
    """Add ``--class-shares`` and ``--class-shares-strength``."""
    add_option(
        group,
        "--class-shares",
        type=parse_shares,
        action="append",
        metavar="A=X,...",
        help=f"known shares of all classes (default: {otherwise})",
        more="Each is NAME=SHARE. They are shares of all items, which the labels need not show, "
        "and sum to 1. Can be repeated, once for each class.",
    )
    add_option(
        group,
        "--class-shares-strength",
        type=parse_strength,
        metavar="N",
        help="items that this knowledge is worth "
        f"(default: {'inf' if otherwise == 'none' else otherwise})",
        more="The probabilities of each item count as one; inf stands for exact shares.",
    )


def parse_shares(text: str) -> dict[str, float]:
    """Parse shares of classes.

    Examples
    --------
    >>> parse_shares("ham=0.9,spam=0.1"), parse_shares("yes, no=0.3, x=1=0.7")
    ({'ham': 0.9, 'spam': 0.1}, {'yes, no': 0.3, 'x=1': 0.7})
    """
    shares: dict[str, float] = {}
    end = 0
    while end < len(text):
        item = _ITEM.match(text, end)
        if item is None:
            raise argparse.ArgumentTypeError(f"expected {FORM}, got {text!r}")
        name, share = item.groups()
        try:
            number = float(share)
        except ValueError as error:
            raise argparse.ArgumentTypeError(
                f"the share of {name!r} must be a number, got {share!r}: give {FORM}"
            ) from error
        _add(shares, name, number)
        end = item.end()
    return shares


def parse_strength(text: str) -> float:
    """Parse the number of items that shares are worth."""
    try:
        return require_strength(float(text), "the strength")
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"expected the number of items that the shares are worth, or inf, got {text!r}"
        ) from error


def merge_options(options: argparse.Namespace) -> dict[str, float] | None:
    """Return the shares of all ``--class-shares``, or None without any."""
    if options.class_shares is None:
        return None
    merged: dict[str, float] = {}
    for part in options.class_shares:
        for name, share in part.items():
            try:
                _add(merged, name, share)
            except argparse.ArgumentTypeError as error:
                raise ValueError(f"--class-shares: {error}") from error
    return merged


def require_use(options: argparse.Namespace) -> None:
    """Refuse a strength of no shares, and a class that has two."""
    if merge_options(options) is None and options.class_shares_strength is not None:
        raise ValueError(
            f"--class-shares-strength {options.class_shares_strength:g} without --class-shares "
            "has no effect: give the shares too, or leave it out"
        )


def choose_shares(
    options: argparse.Namespace,
    labels: gq.Labels,
    groups: Any = None,
    former: ClassShares | None = None,
) -> ClassShares | None:
    """Return the shares that the options give, else those of a former result, or None.

    Raises
    ------
    ValueError
        Not the shares of all classes of the labels; shares of all items where those of ``groups``
        are wanted.
    """
    shares, strength = merge_options(options), options.class_shares_strength
    if shares is None and former is not None:
        shares = former.shares
        strength = former.strength if strength is None else strength
    if shares is None:
        require_use(options)
        return None
    if groups is not None:
        raise ValueError(
            "the shares of the classes in groups are not estimated where --class-shares gives "
            "those of all items: leave out --class-shares, or sample without --groups"
        )
    classes = labels.classes.tolist()
    names = ", ".join(map(repr, classes))
    unknown = [name for name in shares if name not in classes]
    if unknown:
        raise ValueError(
            f"--class-shares names {unknown[0]!r}, which is not a class: the classes are {names}; "
            "a class without labels is given by --class"
        )
    left_out = [name for name in classes if name not in shares]
    if left_out:
        raise ValueError(
            f"--class-shares leaves out {', '.join(map(repr, left_out))}: give the share of every "
            f"class, {names}"
        )
    checked = require_shares(shares, labels).tolist()
    given = dict(zip(classes, checked, strict=True))
    return ClassShares(given, np.inf if strength is None else strength)


def read_shares(run: Mapping[str, Any]) -> ClassShares | None:
    """Return the shares that run.json keeps, if it was asked for any."""
    shares, strength = run.get("class_shares"), run.get("class_shares_strength")
    # JSON has no infinity
    return None if shares is None else ClassShares(shares, np.inf if strength is None else strength)


def _add(shares: dict[str, float], name: str, share: float) -> None:
    if name in shares:
        raise argparse.ArgumentTypeError(f"{name!r} has two shares: leave one out")
    shares[name] = share
