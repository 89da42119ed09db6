"""Attacks on the page: all are refused, and nothing of them is executed."""

import http.client
import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fake_session import FakeSession
from page_client import COOKIE, HOST, TOKEN, client_of

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}"
READ = ["state", "positions", "colors", "suspects", "confusion", "history", "curve"]
TOLD = [
    "ask",
    "answer",
    "skip",
    "undo",
    "look",
    "find",
    "opinion",
    "class",
    "aim",
    "sample",
    "finish",
]
BODY = {"who": "Ada", "id": "1", "node": 0, "label": "cat", "name": "n1", "size": 2,
        "threshold": 0.9, "goal": 0.9, "risk": 0.1}  # fmt: skip


@pytest.fixture
def session():
    return FakeSession(12)


@pytest.fixture
def client(session):
    return client_of(session)


@pytest.fixture
def stranger(session):
    return client_of(session, known=False)


def everything(client):
    """The answer of each address."""
    yield client.get("/")
    yield client.get("/static/page.js")
    yield client.get("/picture/0")
    for name in READ:
        yield client.get(f"/api/{name}")
    for name in TOLD:
        yield client.post(f"/api/{name}", json=BODY)


def test_the_page_itself_may_do_all_of_it(client, session):
    found = [answer.status_code for answer in everything(client)]
    assert found == [200, 200, 404] + [200] * (len(READ) + len(TOLD))  # there are no pictures
    assert session.rows == []  # answered, and taken back


@pytest.mark.parametrize("given", [None, "", "x", TOKEN[:-1], TOKEN + "t", TOKEN.upper(), "é"])
def test_without_the_token_nothing_is_answered(stranger, session, given):
    if given is not None:
        stranger.cookies.set(COOKIE, given.encode("ascii", "ignore").decode())
    assert {answer.status_code for answer in everything(stranger)} == {403}
    assert stranger.get("/", params={"token": given or ""}).status_code == 403
    assert stranger.get("/", params={"token": [TOKEN, "x"]}).status_code == 403
    assert stranger.get("/api/state", params={"token": TOKEN}).status_code == 403
    assert (session.rows, session.sample) == ([], 0)


@pytest.mark.parametrize("other", ['prefs={"x":1}', "theme=a b", "é=1", "=", "a"])
def test_odd_cookies_of_other_programs_do_not_matter(stranger, other):
    for pair in (f"{other}; {COOKIE}={TOKEN}", f"{COOKIE}={TOKEN}; {other}"):
        answer = stranger.get("/api/state", headers={"cookie": pair.encode()})
        assert answer.status_code == 200


def test_more_fields_than_the_address_has_are_refused(stranger):
    answer = stranger.get("/?token=x" + "&a=1" * 11)
    assert answer.status_code == 403


def test_the_token_in_the_address_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(
    stranger,
):
    answer = stranger.get("/", params={"token": TOKEN})
    assert answer.status_code == 200
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}={TOKEN};")
    assert {"HttpOnly", "SameSite=Strict"} <= set(cookie.split("; "))
    assert TOKEN not in answer.text
    assert stranger.get("/api/state").status_code == 200
    assert "set-cookie" not in client_of(FakeSession(3)).get("/").headers
    assert "set-cookie" not in stranger.get("/", params={"token": "x"}).headers


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example:8765",
     "192.168.0.7:8765", "127.0.0.1:8765@evil.example", "[::1", "localhost:80:80", "", "[::1]evil",
     "localhost.", "localhost:x", "2130706433", "127.1"],
)  # fmt: skip
def test_another_name_of_this_machine_is_refused(client, session, host):
    client.headers["host"] = host
    client.headers["origin"] = f"http://{host}"
    assert {answer.status_code for answer in everything(client)} == {421}
    assert session.rows == []


@pytest.mark.parametrize(
    "host", ["localhost:8765", "127.0.0.1:9000", "[::1]:8765", "LOCALHOST:8765"]
)
def test_names_of_this_machine_are_taken(client, host):
    client.headers["host"] = host
    client.headers["origin"] = f"http://{host}"
    assert client.get("/api/state").status_code == 200


def test_beyond_loopback_addresses_in_figures_are_taken_and_foreign_names_are_not(session):
    client = client_of(session, host="192.168.0.7")
    for host, status in [("192.168.0.7:8765", 200), ("10.0.0.1:8765", 200), ("evil.example", 421)]:
        client.headers.update({"host": host, "origin": f"http://{host}"})
        assert client.get("/api/state").status_code == status


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "", "http://127.0.0.1:9999", "http://localhost:8765",
     f"http://{HOST}.evil.example", f"ftp://{HOST}", f"http://{HOST}/"],
)  # fmt: skip
def test_a_foreign_origin_is_refused(client, session, origin):
    client.headers["origin"] = origin
    assert {answer.status_code for answer in everything(client)} == {403}
    assert session.rows == []


def test_what_changes_something_needs_an_origin(client, session):
    del client.headers["origin"]
    assert client.get("/api/state").status_code == 200
    assert {client.post(f"/api/{name}", json=BODY).status_code for name in TOLD} == {403}
    assert session.rows == []


def test_other_sites_may_lead_to_the_page_and_embed_nothing(client):
    del client.headers["origin"]
    for site in ("cross-site", "same-site"):
        client.headers["sec-fetch-site"] = site
        assert client.get("/").status_code == 200
        assert client.get("/api/state").status_code == 403
        assert client.get("/picture/0").status_code == 403


PATHS = ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd",
         "....//etc/passwd", "..\\..\\etc\\passwd", "/etc/passwd", "page.js%00",
         "../templates/page.html", "../app.py", "%252e%252e%252fapp.py", "file:///etc/passwd",
         "~/.ssh/id_rsa"]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_no_address_is_a_path(client, path):
    for place in ("/static/", "/picture/", "/api/", "/"):
        answer = client.get(f"{place}{path}")
        assert answer.status_code in (400, 404, 405, 421), (place, answer.text)
        assert "root:" not in answer.text
    for name in TOLD:
        for key in BODY:
            if key in ("id", "who"):  # texts that are kept as texts
                continue
            answer = client.post(f"/api/{name}", json={**BODY, key: path})
            assert answer.status_code in (200, 400)
            assert "root:" not in answer.text


@pytest.mark.parametrize("name", TOLD)
@pytest.mark.parametrize("key", sorted(BODY))
def test_hostile_values_are_refused_or_harmless(client, session, name, key):
    for value in (
        None,
        True,
        -1,
        1e9,
        10**30,
        0.5,
        "",
        "x" * 5000,
        [],
        {},
        [0],
        "\0",
        "a\nb",
        "../x",
    ):
        answer = client.post(f"/api/{name}", json={**BODY, key: value})
        assert answer.status_code in (200, 400), (value, answer.text)
        assert "Traceback" not in answer.text
    assert all(0 <= row.node < 12 and row.label in session.classes for row in session.rows)


@pytest.mark.parametrize(
    "body", [b"", b"x", b"[]", b"1", b'"a"', b"\xff\xfe", b"[" * 10_000, b'{"node": NaN}', b"{"]
)
def test_bodies_that_are_no_object_are_refused(client, body):
    for name in TOLD:
        assert client.post(f"/api/{name}", content=body).status_code == 400


def test_long_bodies_are_refused(client):
    long = b'{"who": "' + b"a" * 70_000 + b'"}'
    assert client.post("/api/ask", content=long).status_code == 413
    assert client.post("/api/ask", content=iter([long[:40_000], long[40_000:]])).status_code == 413
    lying = client.post("/api/ask", content=b"{}", headers={"content-length": "9" * 30})
    assert lying.status_code == 413


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
def test_other_methods_are_refused(client, method):
    assert client.request(method, "/api/state").status_code == 405


def test_reading_changes_nothing_and_telling_is_not_reading(client):
    assert client.get("/api/answer").status_code == 405
    assert client.post("/api/state", json={}).status_code == 405


def test_headers_keep_out_scripts_frames_and_copies(client, stranger):
    for answer in (*everything(client), *everything(stranger), client.get("/nothing")):
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers


def test_a_page_of_another_session_is_refused_and_told_so(client, stranger, session):
    own = {"graphuq-session": client.desk.key}
    assert client.post("/api/answer", json=BODY, headers=own).status_code == 200
    other = client_of(FakeSession(12, names=[f"m{k}" for k in range(12)])).desk.key
    for page in (client, stranger):  # its token may be that of the former server
        refused = page.post("/api/answer", json=BODY, headers={"graphuq-session": other})
        assert refused.status_code == 409
        assert "another session" in refused.json()["error"]
    assert stranger.post("/api/answer", json=BODY, headers=own).status_code == 403
    assert len(session.rows) == 1


def test_scripts_in_names_are_escaped():
    session = FakeSession(12, classes=(EVIL, "dog"), names=[EVIL] * 12)
    client = client_of(session, title=EVIL)
    page = client.get("/")
    assert EVIL not in page.text
    assert "&lt;script&gt;" in page.text
    assert "{{7*7}}" in page.text  # not computed
    told = client.post("/api/answer", json={**BODY, "label": EVIL})
    assert told.headers["content-type"] == "application/json"
    assert told.json()["last"]["label"] == EVIL  # a text, which the page sets as a text
    assert (
        client.post("/api/class", json={"name": EVIL}).headers["content-type"] == "application/json"
    )


def test_the_page_has_nothing_inline(client):
    page = client.get("/").text
    assert "<style" not in page
    assert "style=" not in page
    assert " on" + "click=" not in page
    assert page.count("<script") == 1
    scripts = [client.get(f"/static/{name}.js").text
               for name in ("page", "talk", "parts", "views", "map", "charts", "keys")]  # fmt: skip
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "document.write"):
        assert not any(forbidden in script for script in scripts)


def test_an_error_of_graphuq_tells_no_secrets(client, session, monkeypatch):
    def fail():
        raise KeyError("/home/ada/secret")

    monkeypatch.setattr(session, "confusion", fail)
    answer = client.get("/api/confusion")
    assert answer.status_code == 500
    assert "secret" not in answer.text


SERVER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from fake_session import FakeSession
from graphuq.labeling.label import LabelingPage
from graphuq.labeling.page.items import Names
with LabelingPage(FakeSession(12), Names(), who="Ada", port=0) as page:
    print(page.address, flush=True)
    page.wait()
"""


def resident(pid):
    """The memory of a process in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_ten_thousand_requests_leave_memory_flat():
    command = [sys.executable, "-c", SERVER, str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = urlsplit(server.stdout.readline().strip())
            connection = http.client.HTTPConnection(address.netloc)

            def ask(method, path, body=None, **headers):
                connection.request(method, path, body, headers)
                answer = connection.getresponse()
                answer.read()
                return answer

            opened = ask("GET", f"/?{address.query}")
            cookie = opened.headers["set-cookie"].split(";")[0]
            own = {"Cookie": cookie, "Origin": f"http://{address.netloc}"}

            def attack(start, end):
                for k in range(start, end):
                    body = json.dumps({**BODY, "id": str(k), "node": 10**9 + k})
                    found = [
                        ask("GET", f"/?token=guess{k}"),
                        ask("POST", "/api/answer", body, **{**own, "Origin": f"http://evil{k}"}),
                        ask("POST", f"/api/answer?{k}", body, **own),
                        ask("GET", f"/static/..%2f{k}", **own),
                    ]
                    assert [answer.status for answer in found] == [403, 403, 400, 404]

            attack(0, 500)
            before = resident(server.pid)
            attack(500, 3000)
            # one kilobyte of each request would be 10 MB
            assert resident(server.pid) - before < 4_000_000
            connection.close()
        finally:
            server.kill()
