"""Damaged files are refused, or nothing that is read from them has changed."""

import dataclasses

import numpy as np
import pytest
from conftest import quietly

import graphuq as gq
from graphuq.inference import checkpoint
from graphuq.posterior import netcdf
from graphuq.posterior.to_arviz import groups_of

RUN = {"draws": 100, "chains": 2, "seed": 0, "progress": False}
STATISTICS = ("mean", "variance", "by_class", "mcse", "latent_mean", "latent_variance",
              "latent_by_class", "probability_mcse", "aleatoric")  # fmt: skip


def damage(content, rng):
    """Return the content with one bit flipped, with a few bytes changed, or cut off."""
    content, kind = bytearray(content), rng.integers(4)
    if kind == 0:
        return bytes(content[: rng.integers(len(content))])
    if kind == 1:
        start, n = rng.integers(len(content)), rng.integers(1, 64)
        content[start : start + n] = rng.bytes(len(content[start : start + n]))
    else:
        content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    return bytes(content)


def describe(post):
    """Return all that a file of a posterior holds."""
    found = {name: getattr(post, name) for name in STATISTICS} | vars(post.source)
    found |= {"nodes": post.labels.nodes, "values": post.labels.values}
    found |= {"classes": post.labels.classes, "settings": repr(post.settings)}
    if not post.is_sampled:
        return found | vars(post.sites.log_evidence)
    stats, hyperparameters = found.pop("stats"), found.pop("hyperparameters")
    return found | stats | hyperparameters


def is_same(a, b):
    return a.keys() == b.keys() and all(
        np.array_equal(a[key], b[key], equal_nan=np.asarray(a[key]).dtype.kind == "f") for key in a
    )


@pytest.fixture(scope="module")
def posteriors(small, clump_graph, clump_labels):
    spectrum, labels, _ = small
    named = gq.Labels(labels.nodes, np.where(labels.values == 0, "cat", "dog"))
    prior = gq.Prior.approximated(spectrum, 4)
    several = gq.Prior.projected(clump_graph, 5)
    return {
        "two classes": quietly(prior, gq.Probit(0.2), named, nodes=[3, 0], **RUN),
        "three classes": quietly(several, gq.Probit(0.2), clump_labels, **RUN),
        "approximate": gq.approximate(prior, gq.Probit(0.2), named),
    }


def count_silent(read, whole, path, times, rng):
    """Return how many damaged files are read without a word, and how many are refused."""
    content, expected = path.read_bytes(), read(path)
    assert is_same(expected, whole)
    silent = refused = 0
    for _ in range(times):
        path.write_bytes(damage(content, rng))
        try:
            found = read(path)
        except ValueError as error:
            refused += str(path) in str(error)
        else:
            silent += not is_same(found, whole)
    return silent, refused


@pytest.mark.parametrize("times", [8, pytest.param(170, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["two classes", "three classes", "approximate"])
def test_damaged_posteriors(posteriors, kind, times, tmp_path):
    path, post, rng = tmp_path / "post.nc", posteriors[kind], np.random.default_rng(times)
    post.save(path)
    silent, refused = count_silent(lambda p: describe(gq.load(p)), describe(post), path, times, rng)
    assert silent == 0
    assert refused >= times / 4


def test_a_damaged_file_does_not_reach_hdf5(posteriors, tmp_path, monkeypatch):
    """HDF5 reads some without end."""
    path = tmp_path / "post.nc"
    posteriors["approximate"].save(path)
    content = path.read_bytes()
    without = content[: -netcdf.FOOTER_SIZE]
    path.write_bytes(without)  # as other programs write it
    assert is_same(describe(gq.load(path)), describe(posteriors["approximate"]))

    monkeypatch.setattr(netcdf, "_decode", lambda content: pytest.fail("HDF5 is called"))
    for at in np.linspace(0, len(without) - 1, 50, dtype=int):
        damaged = bytearray(content)
        damaged[at] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="its checksum does not match: copy"):
            gq.load(path)


@pytest.mark.parametrize("times", [50, pytest.param(500, marks=pytest.mark.slow)])
def test_damaged_spectra(small, times, tmp_path):
    path, rng = tmp_path / "pairs.npz", np.random.default_rng(times)

    def read(path):
        spectrum = gq.Spectrum.load(path)
        return {"values": spectrum.values, "basis": np.asarray(spectrum.basis)}

    small[0].save(path)
    silent, refused = count_silent(read, read(path), path, times, rng)
    assert silent == 0
    assert refused > times / 2


@pytest.mark.parametrize("times", [50, pytest.param(500, marks=pytest.mark.slow)])
def test_damaged_checkpoints(small, times, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr(checkpoint.Checkpoint, "remove", lambda _: None)
    path, rng = tmp_path / "run.npz", np.random.default_rng(times)
    quietly(gq.Prior.projected(small[0], 4), gq.Probit(0.2), small[1], checkpoint=path, **RUN)

    def read(path):
        arrays = checkpoint.read(path)
        return {**arrays, "header": repr(checkpoint.header(path, arrays))}

    silent, refused = count_silent(read, read(path), path, times, rng)
    assert silent == 0
    assert refused > times / 2


def edited(post, group, name, value):
    """Return the groups of a posterior in which one number is changed."""
    groups = groups_of(post)
    values = groups[group][name].values.copy()
    values.flat[0] = value
    groups[group] = groups[group].assign({name: (groups[group][name].dims, values)})
    return groups


@pytest.mark.parametrize(
    ("group", "name", "value"),
    [
        ("node_summary", "probability", 1.8e308),
        ("node_summary", "probability", -0.1),
        ("node_summary", "variance", -1.0),
        ("node_summary", "mean", 1.5),
        ("node_summary", "aleatoric", 0.9),
        ("node_summary", "mcse", np.nan),
        ("node_summary", "probability_mcse", -0.1),
        ("constant_data", "running_mean_change", -1.0),
        ("observed_data", "probability_mistake", 1.5),
        ("observed_data", "probability_overlap", -0.1),
        ("node_summary", "mean", np.inf),
        ("node_summary", "latent_mean", np.nan),
        ("node_summary", "latent_variance", -1e-9),
        ("observed_data", "label_node", 40),
        ("posterior", "z", np.nan),
        ("sample_stats", "lp", np.nan),
    ],
)
def test_numbers_out_of_range_are_refused_without_a_checksum_too(posteriors, group, name, value):
    with pytest.raises(ValueError, match=r"damaged|below|labels"):
        gq.from_arviz(edited(posteriors["two classes"], group, name, value))


def test_shapes_that_do_not_fit_together_are_refused(posteriors):
    for kind in ("two classes", "three classes"):
        for group, part in (
            ("node_summary", {"node": slice(30)}),
            ("posterior", {"mode": slice(2)}),
            ("sample_stats", {"draw": slice(50)}),
        ):
            groups = groups_of(posteriors[kind])
            groups[group] = groups[group].isel(part)
            with pytest.raises(ValueError, match="is damaged: it must have"):
                gq.from_arviz(groups)


def test_what_another_program_changed_is_read(posteriors, tmp_path):
    import h5netcdf

    post, path = posteriors["two classes"], tmp_path / "post.nc"
    post.save(path)
    with h5netcdf.File(path, "r+") as file:
        file["node_summary/probability"][3] += 1e-6
    assert gq.load(path).probability[3] != post.probability[3]


@pytest.mark.parametrize("kind", ["level and q_0", "two graphs"])
def test_files_of_sums_are_sound(small, tmp_path, kind):
    prior = gq.Prior.projected(small[0], 5, tau=0.3, null_mode=kind == "level and q_0")
    prior = prior + gq.Level(0.5)
    if kind == "two graphs":
        prior = gq.SumPrior.of([prior, gq.Prior.projected(small[0], 3)], weights=[1, 1])
    post = quietly(prior, gq.Probit(0.2), small[1], **RUN)
    path = tmp_path / "post.nc"
    post.save(path)
    assert is_same(describe(gq.load(path)), describe(post))
    fewer = gq.load(path).settings["prior"] | {"level": 0.0}
    damaged = dataclasses.replace(post, settings=post.settings | {"prior": fewer})
    damaged.save(path)
    with pytest.raises(ValueError, match="modes is damaged"):
        gq.load(path)
