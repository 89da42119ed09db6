"""Checksums of the arrays in known data files, independent of the mirror they came from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 of names, dtypes, shapes and bytes, for any byte order of the machine."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)
        found.update(repr((name, array.dtype.str, array.shape)).encode())
        found.update(array.tobytes())
    return found.hexdigest()


def as_expected(name: str, arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Whether these are the arrays of the data set ``name``; unknown names pass."""
    return name not in DIGESTS or digest(arrays) == DIGESTS[name]


# Checksums of the arrays with which the package is tested.
DIGESTS = {
    "cct": "7cc5a95500e31002430dbc0e18c16a99f4cedc9405c836e890b6bed4161a2838",
    "citeseer": "23f97d8af1dc3c99295c3b7e4f593cc17991accbc4f4fdf7adc3fdda8defae0b",
    "cora": "96474e87b09596572d91710af7778af193c636d66287501290330e1077d7b25d",
    "ecoli": "492f2df656cda44fe08a3ceec8fa4be6c9e21e6a0770bd7c4b91827b8f67b238",
    "glass": "e1a48bde3e3f4457afdbf56b2853eb2ea928c09cfa7779fee7865313af2e70f6",
    "ionosphere": "9613e34cdf3a1d3b70d3078900c7c999c514db847b5f93a5261f7ff24284c032",
    "iris": "166535c73f15294f769eab2ddb84afeaacf4cfbd1555d613e25c6ea68b22a311",
    "jasper_ridge": "a166bfb7919382beb3b961f57168dc3e1ac0dc50e8872e8962618561aee19cab",
    "karate": "cd958366dcd69b4f8e758435ca9bc620686172dbc29e217e2af8671dedcb531a",
    "mnist": "4992e13961f69349832df15461e4e2772315e60e94138dfacfe19daeed37bd2f",
    "pima": "df857e74dacd23b2bf7fe60d611505590e2bc1660044ace92e1a68f35f5b250d",
    "polblogs": "1ada1cf5496541530cdb21b90ea5f26bcd610124c559941a854fc9195a412a77",
    "polbooks": "cad7854bfdb83d880942db73678bda1b8c591657a80ca03a4bd2fbc27078d845",
    "pubmed": "9fe9dbf22c2c2720b6da39e8864c0726863b8acc30393b22403d46d82c88eca6",
    "reuters_r8": "acd69445af07340a9ae488e0c496eedc1c7fba14a2794f84cc0159788ac2956a",
    "usps": "0e7c3d2563175a4eedee2162392dfea0297761748f7074ea3ae2ae446aea57b4",
    "vote": "303ceefa0542120771042d2145e1814f887998d3b1825949cdd8d34036750b10",
    "wine": "d53b8e89e2dcfe1df54593faba8c79c03a969fde8fd7bf5d1cf395a388a3a008",
}
