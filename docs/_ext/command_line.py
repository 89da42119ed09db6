"""Write the reference of the command line, from the parsers of its commands."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from graphuq.cli.program import parser_of_commands


def write(page: Path) -> None:
    """Write the page if it has changed."""
    parser = parser_of_commands()
    [commands] = (
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    )
    text = "# Command line\n\n" + "\n".join(
        _describe(name, command) for name, command in commands.choices.items()
    )
    if not page.is_file() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def _describe(name: str, command: argparse.ArgumentParser) -> str:
    lines = [f"## graphuq {name}", "", str(command.description), ""]
    for group in command._action_groups:
        actions = [action for action in group._group_actions if action.dest != "help"]
        if actions:
            lines += [f"| {group.title} | |", "|---|---|"]
            lines += [f"| {_names(action)} | {_meaning(action)} |" for action in actions]
            lines.append("")
    return "\n".join([*lines, "```text", str(command.epilog), "```", ""])


def _names(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    value = f" [{value.strip()}]" if action.nargs == "?" else value
    return ", ".join(f"`{name}{value}`" for name in action.option_strings) or f"`{value.strip()}`"


def _meaning(action: argparse.Action) -> str:
    text = str(action.help).strip()
    more = getattr(action, "more", "")
    choices = [str(choice) for choice in action.choices or ()]
    named = all(choice in text for choice in choices)
    one_of = "" if named else f" One of {', '.join(choices)}."
    sentence = f"{text[0].upper()}{text[1:]}." + one_of + (f" {more}" if more else "")
    sentence = re.sub(r"(?<!\w)--[a-z-]+", r"`\g<0>`", sentence)
    return sentence.replace("|", "\\|").replace("<", "&lt;")
