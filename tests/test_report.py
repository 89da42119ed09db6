from __future__ import annotations

import base64
import dataclasses
import io
import json
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest
from conftest import quietly
from matplotlib.image import imread

import graphuq as gq
from graphuq.report.reproduction import code_of
from graphuq.report.trust import trust

SECTIONS = ["trust", "run", "accuracy", "uncertain", "suspect", "plots", "reproduce"]
COLOURS = {"green": "#00623f", "amber": "#ffc233", "red": "#a8001c"}
VOID = {"meta", "img", "br", "hr"}


class Page(HTMLParser):
    """What stands on a page: elements with their attributes and texts, and links."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.open, self.texts = [], [], {}
        self.feed(html)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append((tag, dict(attrs).get("id")))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag
        if tag in ("td", "th", "p", "li", "h2"):
            self.handle_data(" ")

    def handle_data(self, data):
        for _, name in self.open:
            self.texts[name] = self.texts.get(name, "") + data

    def all(self, tag, **wanted):
        return [
            have for name, have in self.elements if name == tag and wanted.items() <= have.items()
        ]

    def text(self, section):
        return " ".join(self.texts[section].split())

    @property
    def whole(self):
        return self.text(None)

    @property
    def light(self):
        (light,) = [have["class"] for have in self.all("div") if "light " in have["class"]]
        return light.split()[1]


def outside(page):
    """Return all that a browser would ask of others for."""
    asked = [
        have[name]
        for _, have in page.elements
        for name in ("src", "href", "srcset", "data", "poster", "action", "background")
        if name in have
    ]
    return [url for url in asked if not url.startswith(("#", "data:image/png;base64,"))]


def written(folder, result, **options):
    gq.write_report(result, folder / "report.html", **options)
    return Page((folder / "report.html").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def prior(small):
    return gq.Prior.projected(small[0], 8, alpha=2.0)


@pytest.fixture(scope="module")
def named(small):
    """The small problem, whose label of node 13 is wrong, with names and images."""
    _, labels, y = small
    classes = np.array(["cat", "dog"])
    images = np.random.default_rng(0).random((40, 12))
    return gq.Labels(labels.nodes, classes[labels.values]), classes[y], images


@pytest.fixture(scope="module")
def good(prior, named):
    model = gq.NoisyProbit(0.2, 0.1)
    return gq.sample(prior, model, named[0], nodes=[2], seed=0, progress=False)


@pytest.fixture(scope="module")
def cut(prior, named):
    """A chain that was cut short on purpose."""
    return quietly(
        prior, gq.Probit(0.2), named[0], gq.PCN(), draws=6, warmup=0, thin=1, seed=0, progress=False
    )


@pytest.fixture(scope="module")
def quick(prior, named):
    return gq.approximate(prior, gq.Probit(0.2), named[0])


@pytest.fixture(scope="module")
def folder(good, cut, quick, prior, named, tmp_path_factory):
    """Reports: of all that can be known, and of a posterior alone."""
    folder = tmp_path_factory.mktemp("reports")
    known = {
        "truth": named[1],
        "images": named[2],
        "shape": (3, 4),
        "names": [f"item {i}" for i in range(40)],
        "prior": prior,
        "graph": np.ones((40, 40)) - np.eye(40),
        "command": "graphuq sample 'a & b.csv'",
    }
    gq.write_report(good, folder / "full.html", **known)
    for name, post in (("plain", good), ("cut", cut), ("quick", quick)):
        gq.write_report(post, folder / f"{name}.html")
    return folder


@pytest.fixture(scope="module")
def pages(folder):
    return {file.stem: Page(file.read_text(encoding="utf-8")) for file in folder.iterdir()}


@pytest.fixture(scope="module")
def full(pages):
    return pages["full"]


@pytest.mark.parametrize("kind", ["full", "plain", "cut", "quick"])
def test_every_section_is_there_and_nothing_is_asked_of_others(pages, kind):
    page = pages[kind]
    assert [have["id"] for have in page.all("section")] == SECTIONS
    assert [have["href"] for have in page.all("a")] == [f"#{name}" for name in SECTIONS]
    assert all(len(page.text(name)) > 80 for name in SECTIONS)
    assert outside(page) == []
    assert not {"script", "link", "iframe", "object", "base"} & {tag for tag, _ in page.elements}
    style = page.text(None)
    assert "url(" not in style
    assert "@import" not in style
    assert all(have["alt"] for have in page.all("img"))
    (policy,) = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    assert policy["content"].startswith("default-src 'none'")


def test_requests_of_a_page_that_makes_some_are_seen():
    html = '<p><img alt="" src="https://example.org/a.png"><a href="//example.org">x</a></p>'
    assert outside(Page(html)) == ["https://example.org/a.png", "//example.org"]


def test_the_light_is_red_for_a_chain_cut_short(pages, cut, good):
    assert pages["full"].light == pages["plain"].light == "green"
    page = pages["cut"]
    assert page.light == "red"
    with pytest.warns(gq.ConvergenceWarning):
        messages = cut.diagnostics().messages
    assert messages
    assert all(message in page.text("trust") for message in messages)
    assert "Red: do not use these numbers." in page.text("trust")
    interrupted = dataclasses.replace(good, complete=False)
    assert "was interrupted" in trust(interrupted).reasons[0]
    assert trust(interrupted).light == "red"


def test_the_light_is_amber_where_published_results_ask_for_more(prior, named, quick, good):
    assert trust(good).light == "green"
    some = {"seed": 0, "progress": False}
    few = gq.sample(prior, gq.Probit(0.2), named[0], draws=80, **some)
    assert 100 < few.diagnostics().ess < 400
    assert trust(few).light == "amber"
    assert any("400 are asked for" in reason for reason in trust(few).reasons)
    alone = gq.sample(prior, gq.Probit(0.2), named[0], draws=2000, chains=1, **some)
    assert alone.diagnostics().messages == ()
    assert trust(alone).light == "amber"
    assert "single chain" in trust(alone).reasons[-1]
    assert trust(quick).light == "amber"
    poor = gq.LogEvidence(-1.0, "expectation propagation", correction=3.0)
    assert trust(dataclasses.replace(quick, log_evidence=poor)).light == "red"


def test_accuracy_and_calibration_are_those_of_the_posterior(full, pages, good, named):
    score = good.calibration(named[1])
    shown = full.text("accuracy")
    assert f"accuracy {score.accuracy:.1%}" in shown
    assert f"calibration error {score.expected_calibration_error:.3f}" in shown
    assert f"Brier score {score.brier:.3f}" in shown
    assert f"log score {score.log_score:.3f}" in shown
    hidden = np.setdiff1d(np.arange(40), good.labels.nodes)
    common = max((named[1][hidden] == c).mean() for c in ("cat", "dog"))
    assert f"right in {common:.1%}" in shown
    assert "Not known" in pages["plain"].text("accuracy")


def test_an_approximation_is_held_against_its_labels_where_there_are_enough(prior, small, tmp_path):
    y = small[2]
    many = gq.approximate(prior, gq.Probit(0.2), gq.reveal(y, counts=12, seed=0))
    shown = written(tmp_path, many).text("accuracy")
    assert f"accuracy {many.calibration().accuracy:.1%}" in shown
    assert "held against what all other labels say" in shown


def test_the_uncertain_and_the_suspect_come_first_with_their_pictures(full, good, named):
    order = good.ranking()
    order = order[~np.isin(order, good.labels.nodes)][:20]
    names = [f"item {node}" for node in order]
    shown = full.text("uncertain")
    places = [shown.index(f" {name} ") for name in names]
    assert places == sorted(places)
    assert f"{good.probability[order[0]]:.1%}" in shown
    suspects = full.text("suspect")
    order_of_suspects = good.suspect_labels()["node"].tolist()
    assert order_of_suspects[0] == 13
    places = [suspects.index(f" item {node} ") for node in order_of_suspects]
    assert places == sorted(places)
    images = named[2]
    pictures = full.all("img", **{"class": "item"})
    assert len(pictures) == 20 + len(good.labels)
    data = base64.b64decode(pictures[0]["src"].split(",")[1])
    grey = 1 - imread(io.BytesIO(data))[..., 0]
    wanted = (images[order[0]] - images.min()) / np.ptp(images)
    np.testing.assert_allclose(grey, wanted.reshape(3, 4), atol=2 / 255)


def test_what_was_run_stands_there(full, good):
    shown = full.text("run")
    for value in ("40", "5: 2 x cat, 3 x dog", "projected", "NoisyProbit", "Harmonic",
                  "4 chains of 1,000"):  # fmt: skip
        assert value in shown
    assert "edges 780 " in shown
    assert json.dumps(good.settings, indent=1) in full.texts["reproduce"]
    assert "With the same file: graphuq sample 'a & b.csv'" in full.text("reproduce")


def test_what_users_call_things_stays_text(small, prior, tmp_path):
    bad = "<script>alert(1)</script>&\"'"
    _, labels, y = small
    classes = np.array(["<b>a</b>", bad])
    post = gq.approximate(prior, gq.Probit(0.2), gq.Labels(labels.nodes, classes[labels.values]))
    page = written(
        tmp_path, post, truth=classes[y], names=[f"<img src=http://x/{i}>" for i in range(40)]
    )
    assert not page.all("script")
    assert page.all("b") == [{"aria-hidden": "true"}]
    assert outside(page) == []
    assert bad in page.text("uncertain")
    assert "<img src=http://x/" in page.text("uncertain")


PROBLEMS = {
    "harmonic": lambda p, l: gq.sample(p, gq.Probit(0.2), l, draws=40, seed=3, progress=False),
    "nodes": lambda p, l: gq.sample(
        p, gq.LevelSet(1.0), l, draws=40, nodes=[4], seed=np.random.default_rng(1), progress=False
    ),
    "pcn": lambda p, l: gq.sample(
        p, gq.Probit(0.2), l, gq.PCN(beta=0.4), draws=20, warmup=3, thin=2, seed=1, progress=False
    ),
    "tempered": lambda p, l: gq.sample(
        p, gq.GinzburgLandau(1.0, 0.5), l, gq.Tempered(gq.PCN(), replicas=3), draws=20, seed=2,
        progress=False,
    ),
    "target": lambda p, l: gq.sample(p, gq.Probit(0.2), l, target_ess=300, seed=0, progress=False),
    "jointly": lambda p, l: gq.sample_jointly(
        p, gq.Probit(0.2), l, draws=20, alpha=(1, 6), seed=0, progress=False
    ),
    "approximate": lambda p, l: gq.approximate(p, gq.Probit(0.2), l),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::graphuq.ConvergenceWarning")
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_code_does_it_again(small, prior, named, name):
    post = PROBLEMS[name](prior, named[0])
    code = code_of(post)
    line = "graph = ...  # yours, of 40 nodes\n"
    assert line in code
    again = {"graph": small[0]}
    exec(code.replace(line, "").replace("seed=", "progress=False, seed="), again)
    np.testing.assert_array_equal(again["post"].probability, post.probability)
    np.testing.assert_array_equal(again["post"].latent_variance, post.latent_variance)
    if name in ("harmonic", "pcn"):  # another seed does something else
        other = code.replace("seed=", "progress=False, seed=1")
        exec(other.replace(line, ""), again)
        assert (again["post"].probability != post.probability).any()


def test_the_code_knows_an_approximated_prior_and_the_users_own_likelihood(small, named, good):
    spectrum = small[0]
    prior = gq.Prior.approximated(spectrum, 6, lambda_bar=1.5)
    post = gq.approximate(prior, gq.Probit(0.2), named[0])
    assert "lambda_bar=1.5" in code_of(post, prior.lambda_bar)
    assert "and lambda_bar, if it was given" in code_of(post)
    own = good.settings | {"likelihood": {"name": "Logistic", "scale": 0.1}}
    code = code_of(dataclasses.replace(good, settings=own))
    assert "likelihood = Logistic(scale=0.1)  # your own" in code


def test_a_file_reads_as_the_posterior_does(good, quick, pages, tmp_path):
    for post, direct in ((good, pages["plain"]), (quick, pages["quick"])):
        post.save(tmp_path / "result.nc")
        from_file = written(tmp_path, tmp_path / "result.nc")
        assert {k: v for k, v in from_file.texts.items() if k} == {
            k: v for k, v in direct.texts.items() if k
        }
        assert from_file.light == direct.light


def test_what_does_not_fit_is_refused_and_leaves_nothing_behind(good, small, tmp_path):
    def refuses(error, match, result=good, path=None, **options):
        with pytest.raises(error, match=match):
            gq.write_report(result, tmp_path / "report.html" if path is None else path, **options)
        assert list(tmp_path.iterdir()) == []

    refuses(TypeError, "what gq.sample or gq.approximate return", result=small[0])
    refuses(FileNotFoundError, "there is no file", result=tmp_path / "none.nc")
    refuses(FileNotFoundError, "make it first", path=tmp_path / "none" / "report.html")
    refuses(IsADirectoryError, "name a file in it", path=tmp_path)
    refuses(ValueError, "truth must have shape", truth=["cat"])
    refuses(ValueError, "truth names none of the classes", truth=[3] * 40)
    refuses(ValueError, "images must have one row for each", images=np.ones((3, 4)))
    refuses(ValueError, "give shape", images=np.ones((40, 12)))
    refuses(ValueError, "names must name 40 nodes", names=["a"])
    refuses(ValueError, "the posterior's 40 nodes, got 3", graph=1 - np.eye(3))
    refuses(ValueError, r"prior must be a gq\.Prior", prior=small[0])


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs a browser, chromium or google-chrome, on the path")

    def browse(file, *arguments):
        """Return what the browser prints, and the addresses that the page asked for."""
        folder = tmp_path_factory.mktemp("browser")
        command = [
            program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
            "--no-first-run", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", f"--user-data-dir={folder / 'profile'}",
            f"--log-net-log={folder / 'net.json'}", *arguments, file.as_uri(),
        ]  # fmt: skip
        run = subprocess.run(command, capture_output=True, timeout=60, check=True)
        events = json.loads((folder / "net.json").read_text(encoding="utf-8"))["events"]
        sent = [event.get("params", {}) for event in events]
        # the browser's own errands have no origin
        asked = [p["url"] for p in sent if p.get("initiator", "not an origin") != "not an origin"]
        return run.stdout.decode("utf-8"), asked

    return browse


@pytest.mark.parametrize(("kind", "light"), [("full", "green"), ("cut", "red")])
def test_a_browser_shows_the_page_and_asks_for_nothing(browser, folder, tmp_path, kind, light):
    shot = tmp_path / "page.png"
    _, asked = browser(folder / f"{kind}.html", f"--screenshot={shot}", "--window-size=1000,9000")
    assert asked == []
    pixels = np.round(imread(shot)[..., :3] * 255).astype(int) @ [1 << 16, 1 << 8, 1]
    seen = {f"#{colour:06x}" for colour in np.unique(pixels[:400])}
    assert {name for name, colour in COLOURS.items() if colour in seen} == {light}
    assert len(np.unique(pixels[400:])) > 500  # pictures were drawn


def test_a_browser_finds_every_section(browser, folder):
    page = Page(browser(folder / "full.html", "--dump-dom")[0])
    assert [have["id"] for have in page.all("section")] == SECTIONS
    assert page.light == "green"


def test_a_browser_that_asks_for_something_is_seen(browser, tmp_path):
    file = tmp_path / "page.html"
    file.write_text('<!DOCTYPE html><img src="http://127.0.0.1:9/x.png">')
    assert browser(file, "--dump-dom")[1] == ["http://127.0.0.1:9/x.png"]
