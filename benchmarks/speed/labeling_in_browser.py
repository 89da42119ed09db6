"""The labeling page on MNIST in Chromium: from the key of an answer to the next item on the screen.

GRAPHUQ_DATA=... python -m benchmarks.speed.labeling_in_browser [--quick]

It needs Selenium, Chromium and its driver. The annotator presses a key every 0.3 seconds, while the
learner works in the background. The page itself takes the times: from the event of the key to the
first frame after the name of the item has changed. The classes are even and odd, or all ten digits.
"""

from __future__ import annotations

import os
import shutil
import time
from typing import Any

import numpy as np

import graphuq as gq
from benchmarks.common import report
from benchmarks.speed.labeling import ANSWERS, PAUSE, settings

# A delay below this is felt as none (Nielsen 1993, Usability engineering, chapter 5).
LATENCY = 0.1

SIDE = 28

TAKE_TIMES = """
    const name = document.getElementById("item-name");
    let begun = null;
    window.times = [];
    window.addEventListener("keydown", () => { begun = performance.now(); }, true);
    new MutationObserver(() => requestAnimationFrame(() => {
        if (begun !== null) window.times.push(performance.now() - begun);
        begun = null;
    })).observe(name, {childList: true, characterData: true, subtree: true});
"""


def open_browser() -> Any:
    """Return Chromium without a window."""
    from selenium import webdriver

    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        raise SystemExit("labeling_in_browser needs chromium and chromedriver on the path")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    # no proxy reaches this machine
    direct = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    service = webdriver.ChromeService(driver, env=direct)
    return webdriver.Chrome(options=options, service=service)


def take_times(browser: Any, address: str, key_of: dict[str, str]) -> list[float]:
    """Answer by keys, and return milliseconds from each key to the next item.

    ``key_of`` has the key of each item's class.
    """
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(address)
    name = browser.find_element("id", "item-name")
    WebDriverWait(browser, 60).until(lambda _: name.text != "…")
    browser.execute_script(TAKE_TIMES)
    for count in range(ANSWERS):
        item = name.text.removeprefix("Item ")
        ActionChains(browser).send_keys(key_of[item]).perform()
        WebDriverWait(browser, 60, 0.01).until(
            lambda _, many=count + 1: browser.execute_script("return window.times.length") == many
        )
        time.sleep(PAUSE)
    return list(browser.execute_script("return window.times"))


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    rows, claims = [], {}
    browser = open_browser()
    for setting in settings(options.quick):
        with gq.label(
            setting.graph,
            setting.pixels.reshape(-1, SIDE, SIDE),
            answers=setting.path,
            classes=setting.classes,
            spectrum=setting.spectrum,
            port=0,
            open_browser=False,
        ) as page:
            key_of = {str(node): label for node, label in enumerate(setting.y)}
            times = take_times(browser, page.address, key_of)
        median, tail = np.quantile(times, [0.5, 0.95]).tolist()
        rows.append({
            "items": setting.y.size,
            "classes": len(setting.classes),
            "answers": len(times),
            "median ms": median,
            "95% ms": tail,
            "largest ms": max(times),
        })  # fmt: skip
        what = f"{setting}: median of next items within {LATENCY} s"
        claims[what] = median / 1e3, median / 1e3 <= LATENCY
    browser.quit()
    report.write("labeling_in_browser", options.out, rows, claims)


if __name__ == "__main__":
    main()
