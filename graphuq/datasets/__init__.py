"""Data sets: generated, bundled with libraries, or in files."""

from graphuq.datasets.digits import digit_pair, digits, mnist, usps
from graphuq.datasets.files import load_file
from graphuq.datasets.gas_plume import GasPlume, gas_plume
from graphuq.datasets.jasper_ridge import JasperRidge, jasper_ridge
from graphuq.datasets.moons import two_moons
from graphuq.datasets.networks import (
    FeaturedNetwork,
    cct,
    karate,
    planetoid,
    polblogs,
    polbooks,
)
from graphuq.datasets.random_graphs import (
    core_satellite,
    near_constant_degree,
    planted_partition,
    weak_link_chain,
)
from graphuq.datasets.tables import uci, vote

__all__ = [
    "FeaturedNetwork",
    "GasPlume",
    "JasperRidge",
    "cct",
    "core_satellite",
    "digit_pair",
    "digits",
    "gas_plume",
    "jasper_ridge",
    "karate",
    "load_file",
    "mnist",
    "near_constant_degree",
    "planetoid",
    "planted_partition",
    "polblogs",
    "polbooks",
    "two_moons",
    "uci",
    "usps",
    "vote",
    "weak_link_chain",
]
