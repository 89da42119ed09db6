"""What the command line prints on errors and warnings; never a traceback."""

from __future__ import annotations

import os
import platform
import traceback
from typing import Any

import graphuq as gq
from graphuq.cli.files.problems import FileProblemsError
from graphuq.cli.printing import visible

# Errors of the options, of a file or of the machine, whose messages say what to do.
EXPECTED = (ValueError, TypeError, OSError, MemoryError, RuntimeError, ImportError)

# Set this variable to see the traceback of an error in graphuq itself.
DEBUG = "GRAPHUQ_DEBUG"


def describe_error(command: str, error: Exception) -> str:
    """Return the message of an error, in one line, or one line for each problem of a file."""
    if isinstance(error, FileProblemsError) and len(error.problems) > 1:
        lines = [f"graphuq {command}: {len(error.problems)} problems:"]
        lines += [f"  {k}. {visible(text)}" for k, text in enumerate(error.problems, 1)]
        if error.remedy:
            how = "To continue without editing the file, add"
            if error.some:
                how = f"For {', '.join(map(str, error.some))}, add"
            lines.append(f"  {how}: {visible(error.remedy)}")
        return "\n".join(lines)
    text = visible(" ".join(str(error).split()))
    if isinstance(error, MemoryError):  # Python's own has no message
        text = text or "there is not enough memory"
    if isinstance(error, EXPECTED) and text:
        return f"graphuq {command}: {text}"
    return f"graphuq {command}: {_describe_bug(error, text)}"


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
