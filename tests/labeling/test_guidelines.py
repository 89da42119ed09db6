"""The question and the guidelines on the page: shown, with pictures, and inert."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest
from fake_session import FakeSession
from page_client import client_of

from graphuq.cli.program import main
from graphuq.labeling.page.guidelines import MAX_LENGTH, Guidelines
from graphuq.labeling.page.pictures import Pictures


@pytest.fixture
def file(tmp_path):
    """A file of guidelines beside a picture."""
    (tmp_path / "a tit.png").write_bytes(Pictures(np.eye(8)[None]).encode(0))
    path = tmp_path / "guidelines.md"
    path.write_text(
        "# [Birds](https://example.org)\n\n"
        "| class | looks |\n|:-:|--:|\n| tit | ![a tit](a%20tit.png) |\n",
        "utf-8",
    )
    return path


def test_the_page_shows_the_question_and_the_guidelines(file):
    client = client_of(
        FakeSession(4), question="Which <bird> is this?", guidelines=Guidelines(file)
    )
    page = client.get("/").text
    assert '<p id="question">Which &lt;bird&gt; is this?</p>' in page
    assert 'href="https://example.org" target="_blank" rel="noreferrer">Birds</a></h3>' in page
    assert " style=" not in page
    (address,) = re.findall(r'<img src="(/guidelines/\d+)" alt="a tit"', page)
    assert client.get(address).content[:4] == b"\x89PNG"
    for other in ("/guidelines/1", "/guidelines/-1", "/guidelines/a%20tit.png"):
        assert client.get(other).status_code == 404


def test_without_them_the_page_is_as_before():
    page = client_of(FakeSession(4)).get("/")
    assert "Guidelines" not in page.text
    assert 'id="question"' not in page.text
    assert client_of(FakeSession(4)).get("/guidelines/0").status_code == 404


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[click](javascript:alert(1))",
        "[click](data:text/html;base64,PHNjcmlwdD4=)",
        "a <b onclick='alert(1)'>b</b>",
        "[ref]: javascript:alert(1)\n\n[ref]",
        "<javascript:alert(1)>",
        '[a](x "\\" onmouseover=\\"alert(1)")',
    ],
)
def test_guidelines_are_inert(file, text):
    file.write_text(text, "utf-8")
    found = Guidelines(file).html
    tags = re.findall(r"<[^>]*>", found)
    assert {re.match(r"</?(\w+)", tag)[1] for tag in tags} <= {"p", "a", "code", "em", "strong"}
    for tag in tags:
        outside = re.sub(r'"[^"]*"', "", tag)
        assert not re.search(r"\son\w+", outside)
        assert "javascript:" not in tag.lower()
        assert "data:" not in tag.lower()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"![x](missing.png)", "'missing.png' cannot be read: .*the file is missing"),
        (b"![x](https://example.org/x.png)", "an address, and the page asks nothing"),
        (b"![x](guidelines.md)", "cannot be read"),
        (b"![x](half.png)", "cannot be read"),
        (b"![x](../outside.png)", "is not in its folder"),
        (b"![x](%2e%2e/outside.png)", "is not in its folder"),
        (b"![x](elsewhere.png)", "is not in its folder"),
        (b"![x](pipe.png)", "is not in its folder"),
        (b"\xff\xfe", "not UTF-8 text"),
        (b"a" * (MAX_LENGTH + 1), "more than 50,000 characters"),
        (b"[a]: http://x.org/" + b"y" * 20000 + b"\n\n" + b"[a] " * 5000, "characters of HTML"),
    ],
)
def test_guidelines_that_cannot_be_shown(file, text, message):
    picture = (file.parent / "a tit.png").read_bytes()
    (file.parent / "half.png").write_bytes(picture[: len(picture) // 2])
    (file.parent.parent / "outside.png").write_bytes(picture)
    (file.parent / "elsewhere.png").symlink_to(file.parent.parent / "outside.png")
    os.mkfifo(file.parent / "pipe.png")
    file.write_bytes(text)
    with pytest.raises(ValueError, match=message):
        Guidelines(file)


def test_a_byte_order_mark_is_no_text(file):
    file.write_text("\ufeff# Birds\n", "utf-8")
    assert Guidelines(file).html == "<h3>Birds</h3>\n"


def test_mistakes_are_refused_before_any_work(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.csv").write_text("id,x,label\na,1,u\nb,2,v\nc,3,\n")
    for arguments, message in (
        (["--guidelines", "none.md"], "none.md"),
        (["--question", "two\nlines"], "--question must be a text of one line"),
    ):
        assert main(["label", "items.csv", *arguments]) == 2
        assert message in capsys.readouterr().err
