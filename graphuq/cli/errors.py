"""What the command line prints on errors and warnings; never a traceback."""

from __future__ import annotations

import os
import platform
import shlex
import traceback
from collections.abc import Sequence
from typing import Any

import graphuq as gq
from graphuq.cli.files.problems import FileProblemsError
from graphuq.cli.print_columns import format_columns
from graphuq.utils.words import visible

# Errors of the options, of a file or of the machine, whose messages say what to do.
EXPECTED = (ValueError, TypeError, OSError, MemoryError, RuntimeError, ImportError)

# Set this variable to see the traceback of an error in graphuq itself.
DEBUG = "GRAPHUQ_DEBUG"


def describe_error(command: str, error: Exception, arguments: Sequence[str] = ()) -> str:
    """Return the message of an error.

    It is one line, unless a file has several problems: then it is the table of its columns, a line
    for each other problem, and the command that goes on, made of the ``arguments``.
    """
    if isinstance(error, FileProblemsError) and (error.columns or len(error.problems) > 1):
        return "\n".join(_describe_problems(command, error, arguments))
    text = visible(" ".join(str(error).split()))
    if isinstance(error, MemoryError):  # Python's own has no message
        text = text or "there is not enough memory"
    if isinstance(error, EXPECTED) and text:
        return f"graphuq {command}: {text}"
    return f"graphuq {command}: {_describe_bug(error, text)}"


def _describe_problems(
    command: str, error: FileProblemsError, arguments: Sequence[str]
) -> list[str]:
    name, others = f"graphuq {command}:", [visible(text) for text in error.others]
    question = "how should the columns marked ? be used?"
    if not others:
        lines = [f"{name} {question}"]
    elif len(others) == 1:
        lines = [f"{name} {others[0]}"]
    else:
        lines = [f"{name} {len(others)} problems:"]
        lines += [f"  {k}. {text}" for k, text in enumerate(others, 1)]
    if others and any(column.use for column in error.columns):
        lines.append(question.capitalize())
    lines += format_columns(error.columns) if error.columns else []
    line = f"{shlex.join(['graphuq', *arguments])} {error.remedy}"
    if error.remedy and line == visible(line):  # a shell does not take codes of characters
        how = "To continue without editing the file" if error.complete else "This remedies a part"
        how += ", with the name of a column for COLUMN" * (" COLUMN" in line)
        lines += [f"{how}:", f"  {line}"]
    elif any(column.use for column in error.columns):
        lines.append("Choose options, and add them to the command.")
    return lines


def describe_warning(command: str, message: Any) -> str:
    """Return the message of a warning in one line."""
    return f"graphuq {command}: warning: {visible(' '.join(str(message).split()))}"


def _describe_bug(error: Exception, text: str) -> str:
    """Return what to report about an error in graphuq itself."""
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if f"{os.sep}graphuq{os.sep}" in frame.filename]
    place = ""
    if own:
        name = own[-1].filename.rpartition(f"{os.sep}graphuq{os.sep}")[2]
        place = f" in graphuq/{name.replace(os.sep, '/')}, line {own[-1].lineno}"
    return (
        f"this is an error in graphuq, or a damaged file: {type(error).__name__}"
        + (f" ({text})" if text else "")
        + f"{place}, graphuq {gq.__version__}, Python {platform.python_version()}: please report "
        f"this line with the command; {DEBUG}=1 shows where it occurred"
    )
