"""Data sets: generators, sets that come with libraries, and sets in files."""

from graphuq.datasets.digits import digit_pair
from graphuq.datasets.files import load_file
from graphuq.datasets.gas_plume import GasPlume, gas_plume
from graphuq.datasets.moons import two_moons
from graphuq.datasets.random_graphs import (
    core_satellite,
    near_constant_degree,
    planted_partition,
    weak_link_chain,
)

__all__ = [
    "GasPlume",
    "core_satellite",
    "digit_pair",
    "gas_plume",
    "load_file",
    "near_constant_degree",
    "planted_partition",
    "two_moons",
    "weak_link_chain",
]
