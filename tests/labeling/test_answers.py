"""The file of answers: nothing lost, nothing doubled, whatever happens to the process."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import time

import pytest

import graphuq as gq
from graphuq.labeling.answers import HEADER, AnswerFile, is_answers, parse
from graphuq.labeling.book import Book
from graphuq.labeling.combine import combine
from graphuq.labeling.records import Answer

NAMES = ["a", 'b "quoted", with a comma', "c", "line\nbreak", "é", "return\ralone"]


SKIPPED = "skipped"


def answer(node, label="cat", who="Ann", confidence=1.0, apart=False):
    if label == SKIPPED:
        label, confidence = "", 0.0
    elif not label:
        confidence = None
    return Answer(node, label, confidence, who, "2026-01-01T00:00:00", apart)


def kept(path):
    file = AnswerFile(path, NAMES)
    file.close()
    return file.answers


def test_answers_come_back_as_they_were(tmp_path):
    path = tmp_path / "answers.csv"
    given = [
        answer(1, confidence=0.75),
        answer(3, 'dog, "big"', "Zoë"),
        answer(1, ""),
        answer(3, SKIPPED),
        answer(4, apart=True),
        answer(5),
    ]
    file = AnswerFile(path, NAMES)
    for one in given:
        file.append(one)
    file.close()

    assert kept(path) == given
    assert is_answers(path)


@pytest.mark.parametrize("cut", range(1, 24))
def test_a_torn_last_line_is_removed_and_no_other(tmp_path, cut):
    path = tmp_path / "answers.csv"
    file = AnswerFile(path, NAMES)
    file.append(answer(3))
    whole = path.read_bytes()
    file.append(answer(3, "dog"))  # its name has a line break between quotes
    file.close()
    last = path.read_bytes()[len(whole) :]
    path.write_bytes(whole + last[:cut])

    again = AnswerFile(path, NAMES)
    again.append(answer(0))
    again.close()

    assert kept(path) == [answer(3), answer(0)]


def test_a_line_that_only_lacks_its_end_is_kept(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_bytes(HEADER + b"a,cat,1,Ann,,0\nc,dog,0.5,Ann,,1")
    assert [(one.node, one.label) for one in kept(path)] == [(0, "cat"), (2, "dog")]
    assert path.read_bytes().endswith(b"1\n")


@pytest.mark.parametrize("start", [b"", HEADER[:7], HEADER[:-1]])
def test_a_session_killed_in_the_first_line_begins_anew(tmp_path, start):
    path = tmp_path / "answers.csv"
    path.write_bytes(start)
    assert kept(path) == []
    assert path.read_bytes() == HEADER


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,label\na,cat\n", "is not a file of answers, whose first line is"),
        ("\x00\x01\n", "is not a file of answers"),
        (HEADER.decode() + "x,cat,1,Ann,,0\n", "answers to 1 items that are not among these"),
        (HEADER.decode() + "a,cat,2,Ann,,0\n", "row 1: confidence must lie in"),
        (HEADER.decode() + "a,cat,,Ann,,0\n", "row 1: confidence must lie in"),
        (HEADER.decode() + "a,cat,0,Ann,,0\n", "row 1: confidence must lie in"),
        (HEADER.decode() + "a,cat,nan,Ann,,0\n", "row 1: confidence must lie in"),
        (HEADER.decode() + "a,cat,1,Ann,,yes\n", "row 1: expected id,label"),
    ],
)
def test_other_files_are_refused_and_left_as_they_are(tmp_path, content, message):
    path = tmp_path / "answers.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        AnswerFile(path, NAMES)
    assert path.read_text() == content


def test_a_second_session_is_refused_until_the_first_ends(tmp_path):
    path = tmp_path / "answers.csv"
    first = AnswerFile(path, NAMES)
    with pytest.raises(ValueError, match="another session is writing"):
        AnswerFile(path, NAMES)
    first.close()
    AnswerFile(path, NAMES).close()


def test_a_full_disk_keeps_nothing_of_the_answer(tmp_path, monkeypatch):
    path = tmp_path / "answers.csv"
    file = AnswerFile(path, NAMES)
    file.append(answer(0))
    before = path.read_bytes()

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="the answer was not kept: make room"):
            file.append(answer(2))
    assert path.read_bytes() == before
    file.append(answer(4))
    file.close()
    assert [one.node for one in kept(path)] == [0, 4]


def test_a_device_without_room_says_so():
    if not os.path.exists("/dev/full"):
        pytest.skip("no device that is full")
    with pytest.raises((OSError, ValueError)):
        AnswerFile("/dev/full", NAMES)


@pytest.mark.parametrize("how", [os.unlink, lambda path: os.rename(path, f"{path}.moved")])
def test_a_file_that_is_gone_takes_no_answer(tmp_path, how):
    path = tmp_path / "answers.csv"
    file = AnswerFile(path, NAMES)
    how(path)
    with pytest.raises(OSError, match="moved or removed"):
        file.append(answer(0))
    file.close()


@pytest.mark.parametrize("left", [0, -7])
def test_a_file_that_another_program_cut_takes_no_answer_until_it_is_read_again(tmp_path, left):
    path = tmp_path / "answers.csv"
    file = AnswerFile(path, NAMES)
    file.append(answer(0), answer(1))
    os.truncate(path, left if left >= 0 else path.stat().st_size + left)
    changed = path.read_bytes()
    with pytest.raises(OSError, match="another program changed"):
        file.append(answer(2))
    assert path.read_bytes() == changed
    file.close()
    assert [one.node for one in kept(path)] == ([] if left == 0 else [0])


def test_a_closed_file_takes_no_answer(tmp_path):
    file = AnswerFile(tmp_path / "answers.csv", NAMES)
    file.close()
    with pytest.raises(OSError, match="closed"):
        file.append(answer(0))


ANNOTATOR = """
import sys
from pathlib import Path
from graphuq.labeling.answers import AnswerFile
from graphuq.labeling.records import Answer

names = [f"item {i}" for i in range(100_000)]
file = AnswerFile(Path(sys.argv[1]), names)
first = max((one.node for one in file.answers), default=-1) + 1
for node in range(first, len(names)):
    file.append(Answer(node, f"class {node % 3}", 1.0, "Ann", "now", False))
    print(node, flush=True)  # acknowledged
"""


@pytest.mark.slow
def test_a_killed_process_loses_no_answer_and_doubles_none(tmp_path):
    path, names = tmp_path / "answers.csv", [f"item {i}" for i in range(100_000)]
    rng, acknowledged = random.Random(0), -1
    for _ in range(20):
        process = subprocess.Popen(
            [sys.executable, "-c", ANNOTATOR, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        acknowledged = int(process.stdout.readline())
        time.sleep(rng.uniform(0.0, 0.05))
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate()
        complete = rest[: rest.rfind("\n") + 1].split()
        acknowledged = max([acknowledged, *map(int, complete)])

        found = [one.node for one in parse(_whole(path), names, path)]

        # one answer may be on the disk whose process died before it could say so
        assert found == list(range(len(found)))
        assert len(found) in (acknowledged + 1, acknowledged + 2)
    assert acknowledged > 20


def _whole(path):
    content = path.read_bytes()
    return content[: content.rfind(b"\n") + 1]


def test_people_take_back_their_own_answers_in_turn():
    book = Book()
    for one in (answer(1), answer(1, "dog", "Ben"), answer(2), answer(1, "dog")):
        book.add(one)
    assert book.labeled() == {1: "dog", 2: "cat"}

    back = []
    while (row := book.take_back("Ann")) is not None:
        book.add(row)
        back.append((row.node, row.label))

    assert back == [(1, "cat"), (2, ""), (1, "")]
    assert book.labeled() == {1: "dog"}
    assert not book.was_seen(2, "Ann")


def test_a_book_read_again_takes_back_the_same(tmp_path):
    rng, book, path = random.Random(1), Book(), tmp_path / "answers.csv"
    file = AnswerFile(path, NAMES)
    for _ in range(300):
        who = rng.choice(["Ann", "Ben"])
        row = book.take_back(who) if rng.random() < 0.3 else None
        row = row or answer(rng.randrange(5), rng.choice(["cat", "dog", "", SKIPPED]), who)
        book.add(row)
        file.append(row)
    file.close()
    again = Book()
    for row in kept(path):
        again.add(row)

    assert again.labeled() == book.labeled()
    for who in ("Ann", "Ben"):
        for _ in range(20):
            row = book.take_back(who)
            assert again.take_back(who) == row
            if row is not None:
                book.add(row)
                again.add(row)


def test_answers_of_several_people_are_those_of_from_annotators():
    rng = random.Random(0)
    for n_classes in (2, 3, 5):
        classes = [f"c{k}" for k in range(n_classes)]
        for _ in range(50):
            p = [rng.uniform(1.05 / n_classes, 0.98) for _ in range(3)]
            said = [rng.choice(classes) for _ in range(3)]
            found = combine(list(zip(said, p, strict=True)), n_classes)
            rates = [1 - one for one in p]
            exact = gq.Labels.from_annotators([said], rates=rates, classes=classes)
            assert found is not None
            assert found[0] == exact.values[0]
            assert found[1] == pytest.approx(exact.confidence[0])


def test_people_who_contradict_each_other():
    book = Book()
    book.add(answer(1, "cat", "Ann", 1.0))
    assert book.confidence() == {1: 1.0}
    book.add(answer(1, "dog", "Ben", 1.0))
    assert book.label(1) is None
    book.add(answer(1, "cat", "Eve", 0.6))
    assert book.label(1) == "cat"
    assert book.confidence()[1] == pytest.approx(0.6)
    # less sure than chance: another class is likelier, and nobody said which
    book.set_classes(3)
    book.add(answer(2, "cat", "Ann", 0.3))
    assert book.label(2) is None
    book.set_classes(5)
    assert book.label(2) == "cat"
