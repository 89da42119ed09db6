"""Options of the command line: each stands once, and its help is short."""

import dataclasses

import pytest

from graphuq.cli.files.options import KINDS, ReadOptions
from graphuq.cli.options import read_options
from graphuq.cli.program import main, parse, parser_of_commands


def commands():
    """Return the parsers of all commands by name."""
    [found] = (each for each in parser_of_commands()._actions if each.dest == "command")
    return found.choices


def test_the_help_of_sample_fits_a_screen(capsys):
    with pytest.raises(SystemExit):
        main(["sample", "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", commands())
def test_every_option_says_what_it_does(name):
    for action in commands()[name]._actions:
        assert action.help
        assert not action.help.endswith(".")


def test_every_way_to_read_a_file_is_an_option_of_sample():
    options = [each for each in dataclasses.fields(ReadOptions) if each.metadata]
    shown = {name for action in commands()["sample"]._actions for name in action.option_strings}
    for each in options:
        assert {*each.metadata["kinds"]} <= {*KINDS}
        for flag in each.metadata["flags"]:
            assert {*flag.names} <= shown
    given = read_options(parse(["sample", "x.csv"]))
    assert given == ReadOptions()


def test_what_is_given_is_read():
    line = "sample x.csv --ignore a --ignore b --ignore a --decimal comma --no-scale --categorical"
    given = read_options(parse([*line.split(), "town", "--table", "--fill-missing"]))
    assert given == ReadOptions(
        ignore=("a", "b"),
        decimal=",",
        scale=False,
        categorical=("town",),
        edges=False,
        missing="fill",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--decimal", "dot"], "expected comma or point, got 'dot'"),
        (["--edges", "--table"], "not allowed with"),
        (["--drop-missing", "--fill-missing"], "not allowed with"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message, capsys):
    with pytest.raises(SystemExit) as stop:
        parse(["sample", "x.csv", *options])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
