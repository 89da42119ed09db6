from __future__ import annotations

import base64
import dataclasses
import io
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest
from conftest import quietly, with_draws
from matplotlib.image import imread

import graphuq as gq
from graphuq.report import sections
from graphuq.report.subject import Subject
from graphuq.report.write import _question

SECTIONS = [
    "trust",
    "model",
    "run",
    "accuracy",
    "shares",
    "uncertain",
    "suspect",
    "next",
    "plots",
    "reproduce",
]
NAMES = ["ant", "<b>ee", "cow"]
COLORS = {"green": "#00623f", "amber": "#ffc233", "red": "#a8001c"}
VOID = {"meta", "img", "br", "hr"}


class Page(HTMLParser):
    """Parse a page: its elements with their attributes and texts, and its links."""

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
        return self.lights[0]

    @property
    def lights(self):
        """Those of the sampler and of the model."""
        return [have["class"].split()[1] for have in self.all("div") if "light " in have["class"]]


def outside(page):
    """Return the addresses that a browser would request."""
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
    """A chain that is too short."""
    return quietly(
        prior, gq.Probit(0.2), named[0], gq.PCN(), draws=6, warmup=0, thin=1, seed=0, progress=False
    )


@pytest.fixture(scope="module")
def quick(prior, named):
    return gq.approximate(prior, gq.Probit(0.2), named[0])


@pytest.fixture(scope="module")
def folder(good, cut, quick, three, prior, named, tmp_path_factory):
    """Reports with all optional arguments, and of a posterior alone."""
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
    post, truth, own_prior = three
    known = {"truth": truth, "images": np.random.default_rng(0).random((45, 9))}
    gq.write_report(post, folder / "three classes, full.html", **known, prior=own_prior)
    plain = {"plain": good, "cut": cut, "quick": quick, "three classes": post}
    for name, post in plain.items():
        gq.write_report(post, folder / f"{name}.html")
    return folder


@pytest.fixture(scope="module")
def pages(folder):
    return {file.stem: Page(file.read_text(encoding="utf-8")) for file in folder.iterdir()}


@pytest.fixture(scope="module")
def full(pages):
    return pages["full"]


@pytest.mark.parametrize(
    "kind", ["full", "plain", "cut", "quick", "three classes, full", "three classes"]
)
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
    if "three" in kind:
        assert page.all("b") == [{"aria-hidden": "true"}] * 2
        assert "<b>ee, ant or cow? 45 items, 6 labels" in page.whole
        assert "graphuq computes" in page.whole


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
    interrupted = with_draws(good, complete=False)
    assert "was interrupted" in interrupted.trust().reasons[0]
    assert interrupted.trust().light == "red"


def test_the_light_is_amber_where_published_results_ask_for_more(prior, named, quick, good):
    assert good.trust().light == "green"
    some = {"seed": 0, "progress": False}
    few = gq.sample(prior, gq.Probit(0.2), named[0], draws=80, **some)
    assert 100 < few.diagnostics().ess < 400
    assert few.trust().light == "amber"
    (needed,) = re.findall(r"results need 400: raise draws to about ([\d,]+)\.", str(few.trust()))
    enough = gq.sample(prior, gq.Probit(0.2), named[0], draws=int(needed.replace(",", "")), **some)
    assert 400 < enough.diagnostics().ess < 1000
    alone = gq.sample(prior, gq.Probit(0.2), named[0], draws=2000, chains=1, **some)
    assert alone.diagnostics().messages == ()
    assert alone.trust().light == "amber"
    assert "only one chain" in alone.trust().reasons[-1]
    assert quick.trust().light == "amber"
    poor = gq.LogEvidence(-1.0, "expectation propagation", correction=3.0)
    sites = dataclasses.replace(quick.sites, log_evidence=poor)
    assert dataclasses.replace(quick, source=sites).trust().light == "red"


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


def test_a_random_sample_stands_for_the_truth(good, named):
    some = np.setdiff1d(np.arange(40), good.labels.nodes)[-20:]
    sample = gq.Labels(some, named[1][some], ["cat", "dog"])
    shown = str(sections._accuracy(Subject(good, sample=sample)))
    right = (good.prediction[some] == named[1][some]).mean()
    assert f"{right:.1%}" in shown
    assert "20 items were drawn at random, 20 of them have" in shown
    more = str(sections._accuracy(Subject(good, sample=sample, drawn=[*some, 0, 1])))
    assert "22 items were drawn at random, 20 of them have" in more
    few = gq.Labels(some[:19], named[1][some[:19]], ["cat", "dog"])
    assert Subject(good, sample=few).calibration is None


def test_an_approximation_is_compared_with_enough_labels(prior, small, tmp_path):
    y = small[2]
    many = gq.approximate(prior, gq.Probit(0.2), gq.reveal(y, counts=12, seed=0))
    shown = written(tmp_path, many).text("accuracy")
    assert f"accuracy {many.calibration().accuracy:.1%}" in shown
    assert "compared with what all other labels predict" in shown


def test_the_uncertain_and_the_suspect_come_first_with_their_pictures(full, good, named):
    order = good.ranking()
    order = order[~np.isin(order, good.labels.nodes)][:20]
    names = [f"item {node}" for node in order]
    shown = full.text("uncertain")
    places = [shown.index(f" {name} ") for name in names]
    assert places == sorted(places)
    p = good.by_class[order[0]].max()
    assert f"{good.prediction[order[0]]} {p:.1%} {good.variance[order[0]]:.3f}" in shown
    parts = good.uncertainty().drop(good.labels.nodes).sum()
    assert f"resolve {parts['epistemic'] / parts['total']:.0%} of the uncertainty" in shown
    assert f"the other {parts['aleatoric'] / parts['total']:.0%}" in shown
    suspects = full.text("suspect")
    order_of_suspects = good.suspect_labels()["node"].tolist()
    assert order_of_suspects[0] == 13
    places = [suspects.index(f" item {node} ") for node in order_of_suspects]
    assert places == sorted(places)
    images = named[2]
    pictures = full.all("img", **{"class": "item"})
    assert len(pictures) == 20 + len(good.labels)
    data = base64.b64decode(pictures[0]["src"].split(",")[1])
    gray = 1 - imread(io.BytesIO(data))[..., 0]
    wanted = (images[order[0]] - images.min()) / np.ptp(images)
    np.testing.assert_allclose(gray, wanted.reshape(3, 4), atol=2 / 255)


def test_the_page_shows_what_was_run(full, good):
    shown = full.text("run")
    for value in ("40", "5: 2 x cat, 3 x dog", "projected", "NoisyProbit", "Harmonic",
                  "4 chains of 1,000"):  # fmt: skip
        assert value in shown
    assert "edges 780 " in shown
    assert json.dumps(good.settings, indent=1) in full.texts["reproduce"]
    assert "With the same files: graphuq sample 'a & b.csv'" in full.text("reproduce")


def test_predictions_are_counted_where_there_are_some(small):
    prior, classes = gq.Prior.projected(small[0], 8), np.arange(40) % 2
    for n_labels in (39, 40):
        post = gq.approximate(prior, gq.Probit(1.0), gq.Labels(range(n_labels), classes[:n_labels]))
        text = sections.opening(Subject(post)).text
        assert f"{n_labels} of them came with a label" in text
        assert ("unsure" in text) == (n_labels < 40)


def test_names_given_by_users_stay_text(small, prior, tmp_path):
    bad = "<script>alert(1)</script>&\"'"
    _, labels, y = small
    classes = np.array(["<b>a</b>", bad])
    post = gq.approximate(prior, gq.Probit(0.2), gq.Labels(labels.nodes, classes[labels.values]))
    page = written(
        tmp_path, post, truth=classes[y], names=[f"<img src=http://x/{i}>" for i in range(40)]
    )
    assert not page.all("script")
    assert page.all("b") == [{"aria-hidden": "true"}] * 2
    assert outside(page) == []
    assert bad in page.text("uncertain")
    assert "<img src=http://x/" in page.text("uncertain")


def test_labels_are_listed_in_the_order_of_doubt(good, monkeypatch, tmp_path):
    table = good.suspect_labels(0.3).assign(probability_mistake=[0.8, 0.2, 0.1, 0.1, 0.0])
    assert table["node"][table["suspect"]].tolist() == [13]
    monkeypatch.setattr(gq.Posterior, "suspect_labels", lambda post: table)
    monkeypatch.setattr("graphuq.report.sections.MAX_ITEMS", 1)
    shown = written(tmp_path, good).text("suspect")
    assert "1 of the 5 given labels is suspect" in shown
    assert "13 dog cat 80.0% yes" in " ".join(shown.split())
    assert " 38 " not in shown


def test_a_file_reads_as_the_posterior_does(good, quick, pages, tmp_path):
    for post, direct in ((good, pages["plain"]), (quick, pages["quick"])):
        gq.find_mistakes(post).save(tmp_path / "result.nc")
        from_file = written(tmp_path, tmp_path / "result.nc")
        # a file does not hold the prior
        needs_prior = {"shares", "model"} if post.is_sampled else {"shares"}
        assert needs_prior <= direct.texts.keys()
        assert "shares" not in from_file.texts
        assert ("pass prior=" in from_file.text("model")) == post.is_sampled
        assert {k: v for k, v in from_file.texts.items() if k and k not in needs_prior} == {
            k: v for k, v in direct.texts.items() if k and k not in needs_prior
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
    refuses(TypeError, "leave them out", result=Subject(good), truth=[3] * 40)


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
        run = subprocess.run(command, capture_output=True, timeout=600, check=True)
        events = json.loads((folder / "net.json").read_text(encoding="utf-8"))["events"]
        sent = [event.get("params", {}) for event in events]
        # requests of the browser itself have no origin
        asked = [p["url"] for p in sent if p.get("initiator", "not an origin") != "not an origin"]
        return run.stdout.decode("utf-8"), asked

    return browse


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["full", "cut"])
def test_a_browser_shows_the_page_and_asks_for_nothing(browser, folder, pages, tmp_path, kind):
    shot = tmp_path / "page.png"
    _, asked = browser(folder / f"{kind}.html", f"--screenshot={shot}", "--window-size=1000,9000")
    assert asked == []
    pixels = np.round(imread(shot)[..., :3] * 255).astype(int) @ [1 << 16, 1 << 8, 1]
    seen = {f"#{color:06x}" for color in np.unique(pixels[:400])}
    assert {name for name, color in COLORS.items() if color in seen} == {*pages[kind].lights}
    assert len(np.unique(pixels[400:])) > 500  # pictures were drawn


MEASURE = """<!DOCTYPE html><iframe width="390" height="800" src="{}"></iframe><p></p><script>
const frame = document.querySelector("iframe");
frame.onload = () => {{
  const page = frame.contentDocument, wide = [page.documentElement, ...page.querySelectorAll("*")]
      .filter(part => part.scrollWidth > Math.max(part.clientWidth, 1) && part.clientWidth > 0);
  document.querySelector("p").textContent = "too wide: " + wide.map(part => part.tagName);
}};
</script>"""


@pytest.mark.parametrize(
    "kind", [pytest.param("full", marks=pytest.mark.slow), "three classes, full"]
)
def test_nothing_is_cut_off_on_a_narrow_screen(browser, folder, tmp_path, kind):
    """A part that is wider than its box is cut off, or has to be scrolled."""
    outside = tmp_path / "outside.html"
    outside.write_text(MEASURE.format((folder / f"{kind}.html").as_uri()))
    shown, _ = browser(outside, "--dump-dom", "--allow-file-access-from-files")
    assert "<p>too wide: </p>" in shown


def test_tables_name_the_columns_of_their_cells(full):
    """On a narrow screen each cell is a line of its own."""
    cells = full.all("td")
    assert cells
    assert all("data-column" in cell for cell in cells)


def test_the_truncation_is_explained_where_there_is_one(small, named, tmp_path):
    line = "left of the dashed line"
    for rank, seen in ((8, True), (39, False)):
        prior = gq.Prior.projected(small[0], rank, alpha=2.0)
        quick = gq.approximate(prior, gq.Probit(0.2), named[0])
        assert (line in written(tmp_path, quick, prior=prior).whole.lower()) == seen


def test_a_browser_finds_every_section(browser, folder):
    page = Page(browser(folder / "full.html", "--dump-dom")[0])
    assert [have["id"] for have in page.all("section")] == SECTIONS
    assert page.light == "green"


def test_a_browser_that_asks_for_something_is_seen(browser, tmp_path):
    file = tmp_path / "page.html"
    file.write_text('<!DOCTYPE html><img src="http://127.0.0.1:9/x.png">')
    assert browser(file, "--dump-dom")[1] == ["http://127.0.0.1:9/x.png"]


@pytest.fixture(scope="module")
def three():
    """A posterior of three classes, the truth and the prior."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((45, 2)) + 2.5 * np.eye(3)[np.repeat([0, 1, 2], 15), :2]
    prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=6, connect=True), 8, alpha=2.0)
    truth, nodes = np.repeat(NAMES, 15), np.array([0, 7, 16, 20, 33, 40])
    labels = gq.Labels(nodes, truth[nodes])
    post = gq.sample(prior, gq.NoisyProbit(0.2, 0.05), labels, seed=0, progress=False)
    return post, truth, prior


def test_it_says_how_many_are_of_each_class_and_how_many_unsure(pages, three):
    post, _, _ = three
    hidden = np.setdiff1d(np.arange(45), post.labels.nodes)
    for name in NAMES:
        assert (
            f"{(post.prediction[hidden] == name).sum()} are {name}" in pages["three classes"].whole
        )
    doubtful = (post.probability[hidden].max(axis=1) < 0.85).sum()
    assert 0 < doubtful < 39
    assert f"The class of {doubtful} of them is unsure" in pages["three classes"].whole


def test_uncertain_items_come_with_their_two_likeliest_classes(pages, three):
    post, _, _ = three
    order = post.ranking()
    order = order[~np.isin(order, post.labels.nodes)][:20]
    for kind in ("three classes, full", "three classes"):
        shown = pages[kind].text("uncertain")
        place = 0
        for node in order:
            best = np.argsort(-post.probability[node])[:2]
            (a, b), (p, q) = post.labels.classes[best], post.probability[node, best]
            row = f" {node} {a} {p:.1%} {b} {q:.1%} {post.entropy[node]:.2f}"
            place = shown.index(" ".join(row.split()), place) + 1
        assert "1.10 means all 3 are equally likely" in shown


def test_scores_are_compared_with_those_of_guessing(pages, three):
    post, truth, _ = three
    score = post.calibration(truth)
    shown = pages["three classes, full"].text("accuracy")
    assert f"accuracy {score.accuracy:.1%}" in shown
    assert "all classes are equally likely gives 0.67" in shown
    assert "all classes are equally likely gives 1.10" in shown


def test_the_pictures_of_many_classes_are_there(pages):
    said = {kind: [have["alt"] for have in page.all("img")] for kind, page in pages.items()}
    for kind, title in (
        ("three classes, full", "Confusion matrices, expected and observed."),
        ("three classes", "Expected confusion matrix."),
    ):
        assert title in said[kind]
        assert "The items in the triangle of their probabilities." in said[kind]
    assert "Hard and easy images." in said["three classes, full"]
    assert "The items in a plane, colored by their probable class." in said["three classes, full"]


def test_many_classes_are_counted_in_the_title(three, tmp_path):
    post, _, _ = three
    classes = [*NAMES, "d", "e", "f"]
    p = np.column_stack([post.probability, np.zeros((45, 3))])
    labels = gq.Labels(post.labels.nodes, post.labels.values, classes=classes)
    wide = {
        name: np.concatenate([getattr(post, name)] * 2, axis=-1)
        for name in ("mean", "mcse", "latent_mean", "latent_variance")
    }
    traces = {
        name: np.concatenate([getattr(post.draws, name)] * 2, axis=-1)
        for name in ("modes", "field", "read")
    }
    many = dataclasses.replace(with_draws(post, **traces), labels=labels, by_class=p, **wide)
    gq.write_report(many, tmp_path / "many.html")
    page = Page((tmp_path / "many.html").read_text(encoding="utf-8"))
    assert "Which of 6 classes? 45 items" in page.whole
    assert "triangle" not in page.whole


def test_classes_that_are_numbers_are_called_classes():
    assert _question(["-1", "1"]) == _question([-1, 1]) == "Class -1 or 1?"
    assert _question(["3a", "8"]) == "3a or 8?"


def test_a_file_of_another_kind_is_not_replaced(tmp_path):
    X, y = gq.datasets.two_moons(40, seed=0)
    graph = gq.knn_graph(X, 6, connect=True)
    post = gq.approximate(graph, gq.Probit(0.1), gq.reveal(y, counts=3, seed=0))
    path = tmp_path / "post.nc"
    post.save(path)
    before = path.read_bytes()
    for source in (path, post):
        with pytest.raises(FileExistsError, match=r"is not a file that gq.write_report wrote"):
            gq.write_report(source, path)
    with pytest.raises(FileExistsError, match=r"is not a file that gq.Spectrum.save wrote"):
        gq.Spectrum.of(graph, 5).save(path)
    assert path.read_bytes() == before
    for _ in range(2):  # its own may be replaced
        gq.write_report(post, tmp_path / "page.html")
        gq.Spectrum.of(graph, 5).save(tmp_path / "modes.npz")
