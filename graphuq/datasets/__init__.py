"""Data sets: generators, sets that come with libraries, and sets in files."""

from graphuq.datasets.digits import digit_pair
from graphuq.datasets.files import load_file
from graphuq.datasets.moons import two_moons

__all__ = ["digit_pair", "load_file", "two_moons"]
