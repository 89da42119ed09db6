"""Public data sets that come inside packages, read from the files without importing the packages.

These are all sets with one class for each of 100 items or more in scikit-learn, Orange, river and
aeon, but for those of `data_sets`: none is left out for its result. `pip install --no-deps aeon
orange3 river` is enough. Time series are rows of their values.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pandas as pd
from sklearn import datasets

Set = tuple[np.ndarray, np.ndarray]
MISSING = ("?", "")


def folder(package: str, inside: str) -> Path:
    """Return a folder of an installed package."""
    try:
        return Path(metadata.distribution(package).locate_file(inside))
    except metadata.PackageNotFoundError as error:
        raise ImportError(f"{package} is absent: pip install --no-deps {package}") from error


def columns(frame: pd.DataFrame, target: str) -> Set:
    """Return the features and the classes of a table: a column for each word, means for blanks."""
    features = pd.get_dummies(frame.drop(columns=target), dtype=float)
    return features.fillna(features.mean()).to_numpy(), frame[target].astype(str).to_numpy()


def of_orange(name: str) -> Set:
    """Return a file of Orange, whose second line has the kinds of columns and the third the roles.

    Columns whose kind is not a number are words, also where the words are digits.
    """
    path = folder("orange3", "Orange/datasets") / f"{name}.tab"
    kinds, roles = (line.split("\t") for line in path.read_text().splitlines()[1:3])
    frame = pd.read_csv(path, sep="\t", skiprows=[1, 2], dtype=str, na_values=MISSING)
    is_class = [role.strip() == "class" for role in roles]
    for column, kind in zip(frame.columns, kinds, strict=True):
        if kind.strip() in ("c", "continuous"):
            frame[column] = frame[column].astype(float)
    is_feature = [role.strip() == "" for role in roles]
    kept = frame.loc[:, np.array(is_feature) | np.array(is_class)]
    return columns(kept, frame.columns[is_class.index(True)])


def of_river(name: str, target: str) -> Set:
    return columns(pd.read_csv(folder("river", "river/datasets") / name), target)


def banana() -> Set:
    """Return a file of the form ``class 1:value 2:value``."""
    with ZipFile(folder("river", "river/datasets") / "banana.zip") as archive:
        X, y = datasets.load_svmlight_file(archive.open("banana.all.txt"))
    return X.toarray(), y


def of_aeon(name: str) -> Set:
    """Return both parts of a set of time series: values, a colon after each channel, the class."""
    folder_ = folder("aeon", "aeon/datasets/data") / name.removesuffix("_eq")
    rows = [
        line.strip().rsplit(":", 1)
        for part in ("TRAIN", "TEST")
        for line in (folder_ / f"{name}_{part}.ts").read_text().splitlines()
        if line.strip() and line[0] not in "@#%"
    ]
    X = [[float(value) for value in series.replace(":", ",").split(",")] for series, _ in rows]
    return np.array(X), np.array([kind for _, kind in rows])


PUBLIC: dict[str, Callable[[], Set]] = {
    "breast_cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "digits": lambda: datasets.load_digits(return_X_y=True),
    **{name: lambda name=name: of_orange(name)
       for name in ("brown-selected", "heart_disease", "titanic", "zoo")},
    "banana": banana,
    "phishing": lambda: of_river("phishing.csv.gz", "is_phishing"),
    "segment": lambda: of_river("segment.csv.zip", "category"),
    "shuttle": lambda: of_river("shuttle.csv.gz", "anomaly"),
    **{name: lambda name=name: of_aeon(name)
       for name in ("ACSF1", "ArrowHead", "GunPoint", "ItalyPowerDemand", "OSULeaf",
                    "JapaneseVowels_eq", "PickupGestureWiimoteZ_eq")},
}  # fmt: skip
