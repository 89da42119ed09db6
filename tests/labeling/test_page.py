"""The page of a session without a browser: answers are kept once, and what goes wrong is said."""

from __future__ import annotations

import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import webbrowser

import numpy as np
import pytest
from fake_session import FakeSession
from page_client import client_of

import graphuq as gq
from graphuq.labeling.label import LabelingPage
from graphuq.labeling.page import browser
from graphuq.labeling.page.finishing import Finishing
from graphuq.labeling.page.items import Names
from graphuq.labeling.page.pictures import Pictures
from graphuq.labeling.page.server import bind


@pytest.fixture
def session():
    return FakeSession(12)


@pytest.fixture
def client(session):
    return client_of(session)


def tell(client, action, **values):
    return client.post(f"/api/{action}", json={"who": "Ada", "id": "1", **values})


def test_an_answer_leads_to_the_next_item_and_says_what_the_model_thought(client, session):
    found = tell(client, "answer", node=0, label="dog", confidence=0.7).json()
    assert [(row.node, row.label, row.confidence, row.who) for row in session.rows] == [
        (0, "dog", 0.7, "Ada")
    ]
    assert found["question"]["node"] == 1
    assert found["question"]["neighbors"][0]["label"] == "dog"
    assert found["last"]["opinion"]["probability"] == [0.5, 0.5]
    assert found["state"]["progress"]["n_answers"] == 1


def test_an_answer_that_is_sent_twice_is_kept_once(client, session):
    both = [tell(client, "answer", id="a", node=0, label="dog").json() for _ in range(2)]
    assert len(session.rows) == 1
    assert both[0] == both[1]
    tell(client, "answer", id="b", node=1, label="dog")
    undone = [tell(client, "undo", id="u").json() for _ in range(2)]
    assert undone[0]["question"]["node"] == undone[1]["question"]["node"] == 1
    assert len(session.rows) == 1


def test_an_answer_that_is_sent_again_while_the_first_is_kept_waits_for_it(client, session):
    keep = session.answer

    def slow(*arguments, **rest):
        time.sleep(0.2)
        keep(*arguments, **rest)

    session.answer = slow
    threads = [
        threading.Thread(target=tell, args=(client, "answer"), kwargs={"node": 0, "label": "cat"})
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(session.rows) == 1


def test_an_answer_that_failed_may_be_sent_again(client, session):
    session.full = True
    refused = tell(client, "answer", node=0, label="dog")
    assert refused.status_code == 507
    assert "No space left" in refused.json()["error"]
    session.full = False
    assert tell(client, "answer", node=0, label="dog").status_code == 200
    assert len(session.rows) == 1


def test_another_class_is_refused_until_it_is_added(client, session):
    assert tell(client, "answer", node=0, label="cow").status_code == 400
    for _ in range(2):
        assert tell(client, "class", name="  cow ").json()["state"]["classes"] == [
            "cat",
            "dog",
            "cow",
        ]
    assert tell(client, "answer", node=0, label="cow").status_code == 200


def test_when_all_is_answered_there_is_no_question(client, session):
    session.skipped = set(range(12))
    assert tell(client, "ask").json()["question"] is None


def test_goals_are_set_and_samples_drawn(client, session):
    aims = {"threshold": 0.9, "goal": 0.99, "risk": 0.1}
    state = tell(client, "aim", **aims).json()["state"]
    assert (session.threshold, session.goal, session.risk) == (0.9, 0.99, 0.1)
    assert {"threshold": state["progress"]["threshold"], **state}.items() >= aims.items()
    assert tell(client, "aim", **aims | {"goal": 0.5, "risk": 2}).status_code == 400
    assert session.goal == 0.99  # all of it or nothing
    assert tell(client, "sample", size=3).status_code == 400  # ten of twelve must stay
    assert 'max="2"' in client.get("/").text
    assert tell(client, "sample", size=2).json()["question"]["apart"]
    assert session.sample == 2


def test_a_table_of_all_items_is_downloaded(client, session):
    session.names = ["=1+1", *session.names[1:]]
    tell(client, "answer", node=2, label="dog")
    found = client.get("/items.csv")
    assert found.headers["content-disposition"] == 'attachment; filename="items.csv"'
    rows = found.text.splitlines()
    assert (len(rows), rows[0], rows[1], rows[3]) == (13, "id,label", "'=1+1,", "n2,dog")


def test_the_report_is_downloaded_once_it_is_written(client, tmp_path):
    report = tmp_path / "report.html"

    def finish():
        report.write_text("<p>It is <b>done</b>.")
        return "Written."

    client.desk.finishing = Finishing(finish, report)
    report.write_text("of an earlier session")
    assert client.get("/report.html").status_code == 404
    assert not client.get("/api/state").json()["finish"]["report"]
    tell(client, "finish")
    client.desk.finishing.wait()
    assert client.get("/api/state").json()["finish"]["report"]
    found = client.get("/report.html")
    assert found.text == "<p>It is <b>done</b>."
    assert found.headers["content-disposition"].startswith("attachment")


def test_views_have_all_items(client):
    places = np.frombuffer(client.get("/api/positions").content, "<f4").reshape(12, 2)
    assert (places.min(), places.max()) == (0, 1)
    colors = client.get("/api/colors").content
    assert np.frombuffer(colors[:24], "<i2").tolist() == [0] * 12
    assert colors[24 + 11] == 255
    assert len(colors) == 48


def test_a_long_curve_is_thinned_and_keeps_its_end(client, session):
    session.rows = [None] * 5000
    curve = client.get("/api/curve").json()["curve"]
    assert len(curve) <= 301
    assert curve[-1][0] == 4999


def test_pictures_are_asked_for_by_number(session):
    client = client_of(session, Pictures(np.random.default_rng(0).random((12, 4, 4))))
    answer = client.get("/picture/11")
    assert answer.headers["content-type"] == "image/png"
    assert answer.content.startswith(b"\x89PNG")
    for path in ("12", "-1", "1.0", "x", "1/2", "99999999999999999999"):
        assert client.get(f"/picture/{path}").status_code == 404


def test_the_last_step_runs_once_and_says_what_went_wrong(client):
    release, started = threading.Event(), []

    def finish():
        started.append(1)
        release.wait(10)
        raise RuntimeError("no labels")

    client.desk.finishing = Finishing(finish)
    for k in range(3):
        assert tell(client, "finish", id=str(k)).json()["state"]["finish"]["state"] == "running"
    release.set()
    client.desk.finishing.wait()
    assert started == [1]
    state = client.get("/api/state").json()["finish"]
    assert state == {"state": "failed", "message": "RuntimeError: no labels", "report": False}


@pytest.fixture
def served(session):
    with LabelingPage(session, Names(), who="Ada", port=0) as page:
        yield page


def test_the_page_is_there_as_soon_as_its_address_is(served):
    with urllib.request.urlopen(served.address, timeout=10) as answer:
        assert answer.status == 200
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(served.address[:-1], timeout=10)


def test_answers_come_at_once(served):
    import http.client
    from urllib.parse import urlsplit

    address = urlsplit(served.address)
    connection, seconds = http.client.HTTPConnection(address.netloc), []
    for _ in range(21):
        start = time.perf_counter()
        connection.request("GET", f"/?{address.query}")
        connection.getresponse().read()
        seconds.append(time.perf_counter() - start)
    connection.close()
    assert statistics.median(seconds) < 0.03  # 0.04 would be a delayed acknowledgment


def test_two_pages_have_two_tokens(session, served):
    with LabelingPage(session, Names(), who="Ada", port=0) as other:
        assert other.address.split("=")[1] != served.address.split("=")[1]


def test_a_port_in_use_is_refused_if_it_was_asked_for():
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"port {port} is in use"):
            bind("127.0.0.1", port)


def test_another_port_is_taken_if_none_was_asked_for(monkeypatch):
    with bind("127.0.0.1", 0) as taken:
        monkeypatch.setattr("graphuq.labeling.page.server.PORT", taken.getsockname()[1])
        with bind("127.0.0.1", None) as free:
            assert free.getsockname()[1] != taken.getsockname()[1]


def test_a_host_of_another_machine_is_refused():
    with pytest.raises(OSError, match=r"cannot listen on 203\.0\.113\.1"):
        bind("203.0.113.1", 0)


def test_a_host_beyond_this_machine_warns(session):
    with pytest.warns(RuntimeWarning, match="others on the network can reach it"):
        page = LabelingPage(session, Names(), who="Ada", host="0.0.0.0", port=0)
    with page:
        assert page.address.startswith("http://127.0.0.1:")
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(page.address.split("?")[0], timeout=10)


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_the_loopback_address_of_ipv6_is_served(session):
    try:
        page = LabelingPage(session, Names(), who="Ada", host="::1", port=0)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with page, urllib.request.urlopen(page.address, timeout=10) as answer:
        assert answer.status == 200


def test_the_token_is_not_shown_to_other_users(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    opened = []

    class Browser:
        def open(self, address):
            opened.append(address)
            return True

    monkeypatch.setattr(webbrowser, "get", Browser)
    assert browser.open_browser("http://127.0.0.1:1/?token=secret")
    (address,) = opened
    assert "secret" not in address
    (file,) = (tmp_path / "graphuq").iterdir()
    assert file.as_uri() == address
    assert file.stat().st_mode & 0o077 == 0
    assert "token=secret" in file.read_text()
    assert browser.open_browser("http://127.0.0.1:1/?token=other")
    assert "secret" not in "".join(f.read_text() for f in (tmp_path / "graphuq").iterdir())


def test_without_a_browser_the_page_is_served(monkeypatch, served):
    def none():
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr(webbrowser, "get", none)
    assert served.open() is False


@pytest.mark.parametrize("missing", ["starlette", "uvicorn", "jinja2", "PIL"])
def test_the_missing_packages_are_named(missing):
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import graphuq as gq\n"
        "try:\n    gq.label([[0, 1], [1, 0]])\n"
        "except ModuleNotFoundError as error:\n    print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f'{missing}: pip install "graphuq[label]"' in run.stdout


def test_a_notebook_gets_an_address_and_the_posterior(tmp_path, clump_graph, clumps):
    y = clumps[1]
    path = tmp_path / "labels.csv"
    with gq.label(
        clump_graph, answers=path, classes=["ant", "bee", "cow"], port=0, open_browser=False
    ) as page:
        for _ in range(9):
            node = page.session.question("Ada").node
            page.session.answer(node, y[node], who="Ada")
        page._finishing.start()
        page._finishing.wait()
        assert page._finishing.describe()["state"] == "done"
        assert page.posterior.accuracy(y) > 0.9
    assert len(path.read_text().splitlines()) == 10


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"items": ["a"]}, ValueError),
        ({"names": ["a"]}, ValueError),
        ({"classes": ["a", ""]}, ValueError),
        ({"threshold": 2.0}, ValueError),
        ({"open_browser": "yes"}, TypeError),
        ({"port": -1}, ValueError),
        ({"port": "x"}, TypeError),
        ({"host": 7}, TypeError),
        ({"host": "no such host"}, OSError),
        ({"who": ""}, ValueError),
        ({"answers": "nowhere/labels.csv"}, OSError),
    ],
)
def test_bad_options_are_refused_and_leave_nothing_open(tmp_path, clump_graph, options, error):
    path = tmp_path / "labels.csv"
    given = {"answers": path, "classes": ["a", "b"], "port": 0, "open_browser": False}
    with pytest.raises(error):
        gq.label(clump_graph, **{**given, **options})
    with gq.label(clump_graph, **given):  # the file is not locked
        pass
