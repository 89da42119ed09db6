"""All problems of a file, collected so that one message lists them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from shlex import quote
from typing import Any

from graphuq.cli.files.columns import Column, Question

# A message lists this many problems.
MAX_LISTED = 12

# Messages and notes list this many columns by name.
MAX_NAMED = 5


def flag(option: str, column: str) -> str:
    """Return an option with a column, as a shell takes it.

    Examples
    --------
    >>> flag("--ignore", "my name"), flag("--ignore", "-x")
    ("--ignore 'my name'", '--ignore=-x')
    """
    return f"{option}{'=' if column.startswith('-') else ' '}{quote(column)}"


class FileProblemsError(ValueError):
    """What is wrong with a file.

    Attributes
    ----------
    problems : tuple of str
        One line for each problem: its place, the problem and the remedy.
    others : tuple of str
        Those that ``columns`` does not show.
    remedy : str
        Options that remedy them, or "".
    complete : bool
        Whether the options remedy all problems.
    columns : tuple of Column
        All columns of the table, if it can be read.
    """

    def __init__(
        self,
        problems: Sequence[str],
        remedy: str = "",
        complete: bool = True,
        columns: Sequence[Column] = (),
        shown: Sequence[str] = (),
    ) -> None:
        self.problems, self.remedy, self.complete = tuple(problems), remedy, complete
        self.columns = tuple(columns)
        shown = shown if columns else ()
        self.others = _first(problem for problem in problems if problem not in shown)
        if len(problems) == 1:
            text = problems[0]
        else:
            listed = (f"({k}) {problem}" for k, problem in enumerate(_first(problems), 1))
            text = f"{len(problems)} problems: {'; '.join(listed)}"
            text += f"; these options remedy them: {remedy}" if remedy and complete else ""
        super().__init__(text)


def _first(problems: Iterable[str]) -> tuple[str, ...]:
    """Return the problems that a message lists."""
    problems = tuple(problems)
    rest = len(problems) - MAX_LISTED
    return (
        problems if rest <= 0 else (*problems[:MAX_LISTED], f"and {rest} more: correct these first")
    )


class Problems:
    """Collect problems, then raise them together.

    Examples
    --------
    >>> problems = Problems()
    >>> problems.add("the column 'name' is text", "--ignore name")
    >>> problems.add("line 3: the value is missing", "--fill-missing")
    >>> problems.require_none()
    Traceback (most recent call last):
    ...
    graphuq.cli.files.problems.FileProblemsError: 2 problems: (1) the column 'name' is text; (2) \
line 3: the value is missing; these options remedy them: --ignore name --fill-missing
    """

    def __init__(self) -> None:
        self._found: dict[str, str] = {}
        self._shown: list[str] = []
        self.questions: dict[str, Question] = {}
        """Columns that cannot be used as they are."""
        self.columns: Sequence[Column] = ()
        """The columns of the table, once they are known."""

    def add(self, message: str, option: str = "") -> None:
        """Add a problem, and the option that remedies it, if there is one."""
        self._found.setdefault(message, option)

    def ask(
        self, name: str, message: str, use: str, option: str = "", *, odd: str = "", also: Any = ()
    ) -> None:
        """Add a problem of the column, and of some others, which their table shows.

        Parameters
        ----------
        name, message : str
        use : str
            What to do to use the column.
        option : str
            The option that remedies the problem, if there is one.
        odd : str
            What is odd about the column, where the table does not say so.
        also : iterable of str
            Other columns with the same problem.
        """
        text = f"{message}: {use}"
        self.add(text, option)
        self._shown.append(text)
        self.questions.setdefault(name, Question(use, odd))
        for other in also:
            self.questions.setdefault(other, Question(use, ""))

    def replace_option(self, old: str, new: str) -> None:
        """Replace an option that remedies a problem by one that says more."""
        self._found = {
            text: new if option == old else option for text, option in self._found.items()
        }

    def add_error(self, error: ValueError) -> None:
        """Add what an error says."""
        if isinstance(error, FileProblemsError):
            for problem in error.problems:
                self.add(problem)
        else:
            self.add(str(error))

    @property
    def found(self) -> bool:
        """Whether there are problems."""
        return bool(self._found)

    def require_none(self) -> None:
        """Raise the problems that were added."""
        if not self._found:
            return
        options = list(self._found.values())
        named = [option for option in options if option.startswith("--categorical ")]
        if len(named) > MAX_NAMED:  # all columns of text that no other option names
            options = ["--categorical" if option in named else option for option in options]
        remedy = " ".join(option for option in dict.fromkeys(options) if option)
        raise FileProblemsError([*self._found], remedy, all(options), self.columns, self._shown)
