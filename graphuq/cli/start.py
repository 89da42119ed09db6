"""Start the command line: import its commands and run one.

The imports take a second or more. What this file needs itself is light, so that Ctrl-C and a lack
of memory meanwhile end in one line, too.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import NoReturn

from graphuq.cli.exit_codes import INTERRUPTED, REFUSED


def run() -> NoReturn:
    """Run a command and end the process; after Ctrl-C, without waiting for compiled code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # None where a shell has closed it
            stream.reconfigure(errors="backslashreplace")  # where it is not UTF-8
    # An exception could get lost: compiled modules drop some that arise during their import
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: _end("interrupted", INTERRUPTED))
    try:
        from graphuq.cli.program import execute, parse
    except MemoryError:
        _end("could not start: there is not enough memory", REFUSED)
    except (ImportError, OSError, SystemError) as error:  # the last of C code without memory
        why = " ".join(str(error).split())
        _end(f"could not start, for lack of a package or of memory: {why}", REFUSED)
    options = parse(sys.argv[1:])
    signal.signal(signal.SIGINT, before)
    code = execute(options)
    if code == INTERRUPTED:
        _leave(code)
    sys.exit(code)


def _end(why: str, code: int) -> NoReturn:
    print(f"graphuq: {why}", file=sys.stderr)
    _leave(code)


def _leave(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
