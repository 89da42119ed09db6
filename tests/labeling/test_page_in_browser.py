"""The page in Chromium: sessions by keys, two people, lost connections, and narrow screens."""

from __future__ import annotations

import csv
import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

import graphuq as gq

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("jinja2")
pytest.importorskip("PIL")
webdriver = pytest.importorskip("selenium.webdriver")

from fake_session import FakeSession  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

from graphuq.labeling.label import LabelingPage  # noqa: E402
from graphuq.labeling.page.items import Texts  # noqa: E402

pytestmark = pytest.mark.slow

VIEWS = ["label", "progress", "map", "suspects", "confusion", "history", "finish"]


class Page:
    """A window of the browser with the page."""

    def __init__(self, browser, address):
        self.browser = browser
        browser.get(address)
        self.until(lambda: self.text("item-name") != "…")

    def until(self, condition, seconds=30):
        return WebDriverWait(self.browser, seconds, 0.02).until(lambda _: condition())

    def part(self, name):
        return self.browser.find_element(By.ID, name)

    def text(self, name):
        return self.part(name).text

    def shown(self, name):
        return self.part(name).is_displayed()

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def item(self):
        return self.text("item-name").removeprefix("Item ")

    def answer(self, *keys):
        """Press keys, and wait until another item is asked."""
        before = self.item()
        self.press(*keys)
        self.until(lambda: self.item() != before)

    def view(self, name):
        self.browser.find_element(By.CSS_SELECTOR, f"[data-view={name}]").click()
        self.until(lambda: self.shown(f"view-{name}"))

    def complaints(self):
        return [entry["message"] for entry in self.browser.get_log("browser")]


@pytest.fixture
def make_browser():
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("needs chromium and chromedriver on the path")
    started = []

    def make(width=1200, height=900, *, dark=False):
        options = webdriver.ChromeOptions()
        options.binary_location = program
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-sync",
                         "--disable-dev-shm-usage", "--disable-background-networking"):  # fmt: skip
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        # no proxy reaches this machine
        environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        service = webdriver.ChromeService(driver, env=environment)
        browser = webdriver.Chrome(options=options, service=service)
        started.append(browser)
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        return browser

    yield make
    for browser in started:
        browser.quit()


@pytest.fixture(scope="module")
def digits():
    X, y = gq.datasets.digits()
    X, y = X[:400], y[:400]
    return X, y, gq.knn_graph(X, 10, connect=True)


@pytest.fixture
def serve(tmp_path):
    """Return a function that serves a session that knows nothing."""
    pages = []

    def start(session, **options):
        items = options.pop("items", None) or Texts([f"Text {k}" for k in range(session.n)])
        options = {"port": 0, **options}
        pages.append(LabelingPage(session, items, who="Ada", **options))
        return pages[-1]

    yield start
    for page in pages:
        page.stop()


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_session_by_keys_from_no_label_to_the_posterior(make_browser, digits, tmp_path):
    X, y, graph = digits
    path = tmp_path / "labels.csv"
    classes = [str(k) for k in range(10)]
    with gq.label(
        graph, X.reshape(-1, 8, 8), answers=path, classes=classes, who="Ada", port=0,
        open_browser=False,
    ) as served:  # fmt: skip
        page = Page(make_browser(), served.address)
        assert "token" not in page.browser.current_url
        assert page.shown("classes")
        assert page.part("item").find_element(By.TAG_NAME, "img").get_property("naturalWidth") == 8
        for _ in range(30):
            page.answer(str(y[int(page.item())]))
        assert "you said" in page.text("last")
        page.part("class-name").send_keys("other", Keys.ENTER)  # changes no other key
        page.until(lambda: "other" in page.text("classes"))
        digit = str(y[int(page.item())])
        page.answer(digit)
        assert rows_of(path)[-1]["label"] == digit

        first = page.item()
        page.answer("s")
        page.answer("n", str(y[int(page.item())]), "3")  # nearly sure
        unsure = rows_of(path)[-1]
        assert float(unsure["confidence"]) == 0.9
        page.press("u")
        page.until(lambda: page.item() == unsure["id"])
        page.press("m")
        page.until(lambda: page.shown("opinion"))
        page.press("?")
        page.until(lambda: page.shown("keys"))
        page.press(Keys.ESCAPE)
        page.until(lambda: not page.shown("keys"))
        page.answer(str(y[int(page.item())]))

        rows = rows_of(path)
        assert {row["who"] for row in rows} == {"Ada"}
        assert [row["id"] for row in rows if not row["label"]] == [first, unsure["id"]]
        labeled = {row["id"]: row["label"] for row in rows}
        labeled.pop(first)
        assert len(labeled) == 32
        assert all(label == str(y[int(name)]) for name, label in labeled.items())

        served.session.wait(60)
        for view in VIEWS:
            page.view(view)
        page.until(lambda: page.browser.find_elements(By.CSS_SELECTOR, "#confusion td"))
        page.part("finish").send_keys(Keys.ENTER)
        page.until(lambda: page.text("finish-state").startswith("The posterior"), 240)
        assert served.posterior.accuracy(y.astype(str)) > 0.7
        assert page.complaints() == []


def test_classes_are_added_and_views_open_items(make_browser, tmp_path, digits):
    graph = digits[2]
    with gq.label(graph, answers=tmp_path / "labels.csv", port=0, open_browser=False) as served:
        page = Page(make_browser(), served.address)
        for name in ("round", "straight"):
            page.part("class-name").send_keys(name, Keys.ENTER)
            page.until(lambda name=name: name in page.text("classes"))
        page.answer("1")
        page.answer("2")
        page.view("map")
        box = page.until(lambda: page.text("legend") and page.part("map"))
        served.session.wait(60)
        places = served.session.embedding()
        far = int(np.argmax(places[:, 0]))
        width, height = box.size["width"], box.size["height"]
        share = (places[far] - places.min(axis=0)) / np.ptp(places, axis=0)
        at = (14 + (width - 28) * share[0], height - 14 - (height - 28) * share[1])
        move = ActionChains(page.browser)
        move.move_to_element_with_offset(box, at[0] - width / 2, at[1] - height / 2)
        move.click().perform()
        page.until(lambda: page.shown("view-label"))
        assert np.allclose(places[int(page.item())], places[far], atol=0.05 * np.ptp(places))
        page.view("map")
        page.part("name").send_keys("17", Keys.ENTER)
        page.until(lambda: page.item() == "17")
        page.view("history")
        page.until(lambda: len(page.part("history").find_elements(By.TAG_NAME, "button")) == 2)
        page.part("history").find_elements(By.TAG_NAME, "button")[0].click()
        changed = page.until(lambda: page.shown("view-label") and page.item())
        page.answer("1")
        assert served.session.history()[0][:2] == (int(changed), "round")


def test_a_picture_is_enlarged_and_goals_and_downloads_are_there(make_browser, digits, tmp_path):
    X, y, graph = digits
    with gq.label(
        graph, X.reshape(-1, 8, 8), answers=tmp_path / "labels.csv", classes=range(10), port=0,
        open_browser=False,
    ) as served:  # fmt: skip
        page = Page(make_browser(), served.address)
        page.until(lambda: page.text("connection") == "connected")

        def picture(place):
            return page.browser.find_element(By.CSS_SELECTOR, f"#{place} img")

        for enlarge in (
            lambda: page.press("z"), lambda: picture("item").click(), page.part("enlarge").click,
        ):  # fmt: skip
            enlarge()
            page.until(lambda: page.shown("zoom"))
            assert picture("zoom").size["height"] > 2 * picture("item").size["height"]
            page.press("1")  # goes back, and answers nothing
            page.until(lambda: not page.shown("zoom"))
        button = page.part("classes").find_element(By.TAG_NAME, "button")
        page.browser.execute_script("arguments[0].focus()", button)
        page.press("z")
        page.until(lambda: page.shown("zoom"))
        page.press(Keys.ENTER)  # nor where a class has the focus
        page.until(lambda: not page.shown("zoom"))
        time.sleep(0.5)
        assert not served.session.history()
        page.view("progress")
        page.until(lambda: page.part("risk").get_attribute("value") == "5")
        for name, value in (("goal", "80.55"), ("risk", "0.05")):
            page.part(name).clear()
            page.part(name).send_keys(value)
        page.part("risk").send_keys(Keys.ENTER)
        page.until(lambda: (served.session.goal, served.session.risk) == (0.8055, 0.0005))
        served.session.set_goal(0.9, 0.2)  # on another page
        page.until(lambda: page.part("goal").get_attribute("value") == "90")
        page.part("size").clear()
        page.part("size").send_keys("77", Keys.TAB)
        time.sleep(3)
        assert page.part("size").get_attribute("value") == "77"
        page.view("finish")
        assert not page.shown("report")
        script = "return fetch('/items.csv').then((found) => found.text())"
        rows = page.browser.execute_script(script).splitlines()
        assert (len(rows), rows[0]) == (1 + y.size, "id,label,confidence,who")


def test_two_people_label_into_one_session(make_browser, digits, tmp_path):
    X, y, graph = digits
    path = tmp_path / "labels.csv"
    with gq.label(
        graph, X.reshape(-1, 8, 8), answers=path, classes=range(10), port=0, open_browser=False
    ) as served:
        pages = {}
        for name in ("Ada", "Ben"):
            pages[name] = page = Page(make_browser(), served.address)
            page.view("progress")
            page.part("who").clear()
            page.part("who").send_keys(name, Keys.ENTER)
            page.until(lambda page=page: page.shown("view-label"))
        for _ in range(6):
            assert pages["Ada"].item() != pages["Ben"].item()
            for page in pages.values():
                page.answer(str(y[int(page.item())]))
    rows = rows_of(path)
    assert {name: sum(row["who"] == name for row in rows) for name in pages} == dict.fromkeys(
        pages, 6
    )
    assert len({row["id"] for row in rows}) == 12


def test_a_connection_that_was_lost_keeps_the_answer_and_sends_it_once(make_browser, serve):
    session = FakeSession(20)
    served = serve(session)
    page = Page(make_browser(), served.address)
    page.answer("1")
    page.until(lambda: page.text("connection") == "connected")
    offline = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.browser.execute_cdp_cmd("Network.enable", {})
    page.browser.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    page.press("2")
    page.until(lambda: "waits" in page.text("connection"))
    page.press("1", "2", "s")  # nothing is taken that cannot be kept
    time.sleep(1)
    assert page.item() == "n1"
    assert len(session.rows) == 1
    page.browser.execute_cdp_cmd("Network.emulateNetworkConditions", {**offline, "offline": False})
    page.until(lambda: page.item() == "n2")
    page.until(lambda: page.text("connection") == "connected")
    assert [(row.node, row.label) for row in session.rows] == [(0, "cat"), (1, "dog")]


def test_an_answer_whose_reply_was_lost_is_not_doubled(make_browser, serve, monkeypatch):
    session = FakeSession(20)
    keep, seen = session.answer, []

    def answer(node, label, **rest):
        seen.append(node)
        keep(node, label, **rest)
        if len(seen) == 1:
            time.sleep(12)  # longer than the page waits: it sends the answer again

    monkeypatch.setattr(session, "answer", answer)
    page = Page(make_browser(), serve(session).address)
    page.press("1")
    page.until(lambda: page.item() == "n1", 60)
    assert seen == [0]
    assert [row.node for row in session.rows] == [0]


def test_an_answer_waits_while_the_server_is_started_again(make_browser, serve):
    session, other = FakeSession(20), FakeSession(20)
    other.path = Path("other.csv")
    served = serve(session)
    port = served._server.port
    page = Page(make_browser(), served.address)
    page.answer("1")
    served.stop()
    page.press("2")
    page.until(lambda: "waits" in page.text("connection"))
    served = serve(other, port=port)  # another file of answers
    page.until(lambda: "that of another session" in page.text("connection"))
    page = Page(page.browser, served.address)
    page.answer("1")
    served.stop()
    page.press("u")  # is not sent to another server, which might have done it
    page.until(lambda: "waits" in page.text("connection"))
    served = serve(other, port=port)
    page.until(lambda: "new address" in page.text("problem"))
    served.stop()
    assert [(row.node, row.label) for row in other.rows] == [(0, "cat")]
    page = Page(page.browser, serve(session, port=port).address)
    page.until(lambda: page.item() == "n2")
    assert "you said dog" in page.text("last")
    assert [(row.node, row.label) for row in session.rows] == [(0, "cat"), (1, "dog")]
    page.browser.refresh()
    page.until(lambda: page.item() == "n2")
    assert len(session.rows) == 2


def test_an_answer_that_waits_and_is_refused_is_shown(make_browser, serve):
    session = FakeSession(20, ["cat", "dog", "cow"])
    served = serve(session)
    page = Page(make_browser(), served.address)
    page.answer("1")
    served.stop()
    page.press("3")
    page.until(lambda: "waits" in page.text("connection"))
    page = Page(page.browser, serve(FakeSession(20), port=served._server.port).address)
    page.until(lambda: "Item n1, cow: label: 'cow' is none" in page.text("problem"))
    time.sleep(2.5)  # the page has asked for the state meanwhile
    assert page.shown("problem")
    page.answer("1")
    assert not page.shown("problem")


def test_a_full_disk_takes_no_answer(make_browser, serve):
    session = FakeSession(20)
    page = Page(make_browser(), serve(session).address)
    session.full = True
    page.press("1")
    page.until(lambda: "not kept" in page.text("problem"))
    assert page.item() == "n0"
    session.full = False
    page.answer("1")
    assert not page.shown("problem")
    assert len(session.rows) == 1


def test_the_page_counts_the_labels_before_the_session(make_browser, serve):
    session = FakeSession(20)
    session.before = 6
    page = Page(make_browser(), serve(session).address)
    page.answer("1")
    page.until(lambda: "1 answer. Labeled: 7 of 20. Decided: 7 of 20." in page.text("brief"))


def test_the_page_says_what_the_model_lacks_once_it_has_learned(make_browser, serve):
    session = FakeSession(10)
    session.expected, session.busy = (None, None), True
    page = Page(make_browser(), serve(session).address)
    page.until(lambda: "Expected accuracy: not known yet." in page.text("brief"))
    session.busy = False
    page.until(lambda: "not known yet (the model needs labels of two" in page.text("brief"))
    session.confusion = lambda: None
    page.view("confusion")
    page.until(lambda: "is not known yet (the model needs" in page.text("confusion"))


def test_no_two_of_forty_classes_look_alike(make_browser, serve):
    names = [f"class {k}" for k in range(40)]
    page = Page(make_browser(), serve(FakeSession(20, classes=names)).address)
    looks = page.browser.execute_script(
        "return [...document.querySelectorAll('#classes button')].map((button) => "
        "getComputedStyle(button).borderLeftColor + getComputedStyle(button, '::before').content)"
    )
    assert len(set(looks)) == 40
    page.answer("1")
    page.view("map")
    page.until(lambda: "class 39" in page.text("legend"))
    assert page.complaints() == []


def test_scripts_in_names_and_texts_are_not_executed(make_browser, serve):
    evil = "<img src=x onerror=\"document.title='bad'\"><script>document.title='bad'</script>"
    session = FakeSession(20, classes=(evil, "dog"))
    page = Page(make_browser(), serve(session, items=Texts([evil] * 20), title=evil).address)
    page.answer("1")
    page.press("m")
    page.until(lambda: page.shown("opinion"))
    for view in VIEWS:
        page.view(view)
    assert "<script>" in page.browser.find_element(By.TAG_NAME, "h1").text
    assert page.browser.execute_script("return document.querySelectorAll('script').length") == 1
    assert page.browser.title != "bad"
    assert page.complaints() == []


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, False), (390, True)])
def test_no_view_is_wider_than_the_screen(make_browser, tmp_path, digits, width, dark):
    import pandas as pd

    X, y, graph = digits
    frame = pd.DataFrame(X, columns=[f"a_long_name_of_a_column_{k}" for k in range(64)])
    classes = [f"a rather long name of class {k}" for k in range(10)]
    with gq.label(
        graph, frame, answers=tmp_path / "labels.csv", classes=classes, port=0, open_browser=False
    ) as served:
        page = Page(make_browser(width, 844, dark=dark), served.address)
        for _ in range(6):
            page.answer("1234567890"[y[int(page.item())]])
        served.session.wait(60)
        for view in VIEWS:
            page.view(view)
            time.sleep(0.5)
            wide = page.browser.execute_script(
                "return [document.documentElement.scrollWidth, innerWidth]"
            )
            assert wide[0] <= wide[1] <= width, view
        page.view("label")
        low = page.part("skip").rect
        assert low["y"] + low["height"] <= 844  # the answers are in sight
        page.press("m")
        page.until(lambda: page.shown("opinion"))
        bottom = "return document.{}.getBoundingClientRect()"
        opinion, answers = (
            page.browser.execute_script(bottom.format(f"querySelector('{name}')"))
            for name in ("#opinion", ".answers")
        )
        assert opinion["bottom"] <= answers["top"] + 1 or opinion["top"] < answers["top"] - 60
        background = page.browser.execute_script(
            "return getComputedStyle(document.body).backgroundColor"
        )
        assert background == ("rgb(22, 24, 28)" if dark else "rgb(255, 255, 255)")


@pytest.mark.parametrize("classes", [("cat", "dog"), [f"{k:02}a" for k in range(40)]])
def test_a_short_class_is_on_the_line_of_its_key(make_browser, serve, classes):
    page = Page(make_browser(390, 844), serve(FakeSession(20, classes=classes)).address)
    heights = page.browser.execute_script(
        "return [...document.querySelectorAll('#classes button')].map((one) => one.offsetHeight)"
    )
    assert len(heights) == len(classes)
    assert set(heights) == {44}  # the least, 2.75rem


# Controls of which a screen reader could not say what they are
NAMELESS = """
const named = (part) => part.getAttribute("aria-label") || part.getAttribute("aria-labelledby")
  || part.alt || part.textContent.trim() || part.labels?.length;
return [...document.querySelectorAll(
  "button, input, canvas, img, meter, section, aside, nav, dialog"
)].filter((part) => !named(part)).map((part) => part.outerHTML);
"""

# Texts that differ too little from what is behind them (WCAG 2.1: 4.5 to 1)
CONTRAST = """
const parts = (color) => { const [r, g, b, a = 1] = color.match(/[\\d.]+/g).map(Number);
  return [[r, g, b], a]; };
const light = (rgb) => { const [r, g, b] = rgb.map((v) => v / 255).map(
  (v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const behind = (part) => { if (!part) return [255, 255, 255];
  const [color, a] = parts(getComputedStyle(part).backgroundColor);
  return a === 1 ? color
    : behind(part.parentElement).map((under, k) => a * color[k] + (1 - a) * under); };
return [...document.querySelectorAll(
  "h1, h2, h3, p, button, td, th, dt, dd, label, span, figcaption"
)].filter((part) => part.offsetParent && part.textContent.trim() && !part.disabled).map((part) => {
  const [a, b] = [light(parts(getComputedStyle(part).color)[0]), light(behind(part))]
    .sort((x, y) => y - x);
  return [(a + 0.05) / (b + 0.05), part.textContent.slice(0, 40)];
}).filter(([ratio]) => ratio < 4.5);
"""


@pytest.mark.parametrize("dark", [False, True])
def test_controls_have_names_and_texts_have_contrast(make_browser, serve, dark):
    page = Page(make_browser(dark=dark), serve(FakeSession(20)).address)
    page.answer("1")
    page.press("m")
    for view in VIEWS:
        page.view(view)
        time.sleep(0.4)
        assert page.browser.execute_script(NAMELESS) == []
        assert page.browser.execute_script(CONTRAST) == []


def test_the_page_speaks_to_screen_readers_and_moves_the_focus(make_browser, serve):
    page = Page(make_browser(), serve(FakeSession(20)).address)
    page.answer("1")
    said = page.part("said")
    assert said.get_attribute("aria-live") == "polite"
    assert "you said cat" in said.get_attribute("textContent")
    assert "Next: item n1" in said.get_attribute("textContent")
    assert page.browser.switch_to.active_element == page.part("item-name")
    page.press(Keys.TAB)
    for _ in range(12):  # every answer is reached by the tab key, too
        if page.browser.switch_to.active_element.text.endswith("dog"):
            break
        page.press(Keys.TAB)
    page.answer(Keys.ENTER)
    page.view("map")
    assert page.browser.switch_to.active_element == page.part("map-title")
