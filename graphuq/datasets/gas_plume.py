"""A synthetic video of a gas plume in many infrared channels, section 5.1.4."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphuq.utils import validation
from graphuq.utils.memory import require_memory
from graphuq.utils.typing import Array

# Wavelengths of the channels of the paper's camera, in micrometers.
SHORTEST, LONGEST = 7.83, 11.70

# Largest depth and noise, in units of the background's radiance: far beyond any camera's.
MAX_DEPTH_OR_NOISE = 1000.0

# The gas absorbs in these bands: center and width in micrometers, relative strength.
BANDS = ((8.55, 0.06, 0.7), (9.45, 0.09, 0.5), (10.55, 0.07, 1.0))

# Sky, mountain, desert: temperature in kelvin, and depth, center and width in micrometers of one
# smooth feature of the emissivity. Ozone makes the sky brighter at 9.6; sand is darker at 9.
MATERIALS = ((265.0, -0.25, 9.6, 0.5), (284.0, 0.06, 10.6, 1.5), (296.0, 0.12, 9.0, 0.9))

# The smallest concentration of a pixel of the plume, relative to the peak of the first frame.
MIN_CONCENTRATION = 0.1


class GasPlume(NamedTuple):
    """A video and its ground truth.

    Attributes
    ----------
    X : ndarray of float32, shape (frames * height * width, channels)
        Radiance, about 1; pixels in the order of ``concentration.ravel()``.
    y : ndarray of int, shape (frames * height * width,)
        1 in the plume, where the concentration is at least 0.1; 0 elsewhere.
    concentration : ndarray, shape (frames, height, width)
        Concentration of the gas along the line of sight of each pixel.
    material : ndarray of int, shape (height, width)
        The background: 0 the sky, 1 a mountain, 2 the desert.
    wavelengths : ndarray, shape (channels,)
        In micrometers.

    Examples
    --------
    >>> import graphuq as gq
    >>> video = gq.datasets.gas_plume(2, 8, 20, 5, seed=0)
    >>> isinstance(video, gq.datasets.GasPlume), video.y.sum() == (video.concentration >= 0.1).sum()
    (True, np.True_)
    """

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    concentration: Array
    material: NDArray[np.int64]
    wavelengths: Array


def gas_plume(
    frames: int = 7,
    height: int = 128,
    width: int = 320,
    channels: int = 129,
    *,
    depth: float = 0.7,
    noise: float = 0.02,
    seed: validation.Seed = None,
) -> GasPlume:
    """Draw a video of a gas plume that drifts and disperses before sky, mountain and desert.

    The background emits radiance, the gas absorbs part of it by the Beer-Lambert law, and the
    camera adds noise: x = l b_m (exp(-depth c a) + noise). The spectrum b_m of material m is
    Planck's law times an emissivity, the illumination l varies smoothly, c is the concentration,
    and the signature a has three narrow bands. The default size is that of the video of Bertozzi et
    al. 2018, section 5.1.4, which is not public; X then takes 148 MB.

    Near its edges the plume is thin and hidden by the noise. These pixels are hard to classify.

    Parameters
    ----------
    frames, height, width, channels : int
        Size of the video; a smaller video shows the same scene.
    depth : float
        Optical depth of the gas where it is thickest, in its strongest band.
    noise : float
        Standard deviation of the noise, relative to the background.
    seed : int, SeedSequence or Generator, optional

    Returns
    -------
    GasPlume
        ``X``, ``y``, ``concentration``, ``material`` and ``wavelengths``.

    Raises
    ------
    ValueError
        Sizes below 1, a negative depth or noise.
    MemoryError
        The pixels and channels do not fit.

    Examples
    --------
    >>> import graphuq as gq
    >>> video = gq.datasets.gas_plume(3, 16, 40, 30, seed=0)
    >>> video.X.shape, video.concentration.shape
    ((1920, 30), (3, 16, 40))
    >>> round(float(video.y.mean()), 2)
    0.16
    """
    shape = tuple(
        validation.integer(name, value, 1)
        for name, value in (("frames", frames), ("height", height), ("width", width))
    )
    validation.integer("channels", channels, 1)
    for name, value in (("depth", depth), ("noise", noise)):
        validation.between(name, value, 0, MAX_DEPTH_OR_NOISE)
    frames, height, width = shape
    channels = int(channels)
    pixels = height * width
    needed = pixels * (4.0 * (frames + 4) * channels + 48 * frames)
    what = f"a video of {frames} x {height} x {width} pixels in {channels} channels"
    require_memory(needed, what, "take a smaller video")
    rng = np.random.default_rng(validation.seed_sequence(seed))
    # the scene: signature of the gas, spectra of the background, concentration
    wavelengths = np.linspace(SHORTEST, LONGEST, channels)
    signature = depth * sum(a * _bump(wavelengths, center, w) for center, w, a in BANDS)
    down, across = np.linspace(0, 1, height)[:, None], np.linspace(0, 1, width)
    material = (down > _skyline(across)).astype(np.int64) + (down > _foothills(across))
    spectra = np.array([_spectrum(wavelengths, *what) for what in MATERIALS], dtype=np.float32)
    concentration = _concentration(rng, shape)
    # the frames: absorption and noise, times the background, times the illumination
    X = np.empty((concentration.size, channels), dtype=np.float32)
    for t, frame in enumerate(np.split(X, frames)):
        light = 1 + 0.06 * np.sin(5 * down + 1.5 * across + 0.1 * t) * np.cos(3 * across - 2 * down)
        np.exp(np.float32(np.outer(concentration[t], -signature)), out=frame)
        frame += np.float32(noise) * rng.standard_normal(frame.shape, dtype=np.float32)
        frame *= spectra[material.ravel()]
        frame *= np.float32(light.reshape(-1, 1))
    y = (concentration.ravel() >= MIN_CONCENTRATION).astype(np.int64)
    return GasPlume(X, y, concentration, material, wavelengths)


def _bump(x: Array, center: float, width: float) -> Array:
    """Return a Gaussian curve with peak value 1."""
    return np.exp(-0.5 * ((x - center) / width) ** 2)


def _spectrum(
    wavelengths: Array, kelvin: float, depth: float, center: float, width: float
) -> Array:
    """Return Planck's law times an emissivity, relative to a black body of 290 K at 10 micrometer.

    The second radiation constant h c / k_B is 14388 micrometer kelvin.
    """

    def planck(x: Any, temperature: float) -> Any:
        return x**-5.0 / np.expm1(14388 / (x * temperature))

    emissivity = 1 - depth * _bump(wavelengths, center, width)
    return emissivity * planck(wavelengths, kelvin) / planck(10.0, 290.0)


def _skyline(across: Array) -> Array:
    return 0.3 + 0.09 * np.sin(7 * across) + 0.03 * np.sin(23 * across + 1)


def _foothills(across: Array) -> Array:
    return 0.62 + 0.03 * np.sin(4 * across + 2)


def _concentration(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return a cloud that drifts, rises and disperses in turbulent air; its first peak is 1."""
    from scipy.ndimage import gaussian_filter

    t, down, across = np.meshgrid(
        np.arange(shape[0]), np.linspace(0, 1, shape[1]), np.linspace(0, 1, shape[2]), indexing="ij"
    )
    growth = 1 + 0.08 * t
    x = (across - 0.3 - 0.06 * t) / (0.13 * growth)
    axis = 0.62 - 0.025 * t - 0.05 * x + 0.03 * np.sin(3 * x + 0.8 * t)
    cloud = np.exp(-0.5 * (x**2 + ((down - axis) / (0.10 * growth)) ** 2)) / growth**2
    scales = (1.5, shape[1] / 16, shape[2] / 32)
    eddies = gaussian_filter(rng.standard_normal(shape), scales, mode="reflect")
    eddies /= eddies.std() or 1.0
    cloud *= np.exp(0.35 * eddies)
    return cloud / cloud[0].max()
