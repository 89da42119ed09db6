"""All problems of a file, collected so that one message lists them all."""

from __future__ import annotations

from collections.abc import Sequence

# A message lists this many problems.
MAX_LISTED = 12

# Messages and notes list this many columns by name.
MAX_NAMED = 5


class FileProblemsError(ValueError):
    """What is wrong with a file.

    Attributes
    ----------
    problems : tuple of str
        One line for each problem: its place, the problem and the remedy.
    remedy : str
        Options that remedy them, or "".
    some : tuple of int
        Numbers of these problems, from 1, if there are others.
    """

    def __init__(
        self, problems: Sequence[str], remedy: str = "", some: tuple[int, ...] = ()
    ) -> None:
        self.problems, self.remedy, self.some = tuple(problems), remedy, some
        if len(problems) == 1:
            text = problems[0]
        else:
            listed = (f"({k}) {problem}" for k, problem in enumerate(problems, 1))
            text = f"{len(problems)} problems: {'; '.join(listed)}"
            text += f"; these options remedy them: {remedy}" if remedy and not some else ""
        super().__init__(text)


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

    def add(self, message: str, option: str = "") -> None:
        """Add a problem, and the option that remedies it, if there is one."""
        self._found.setdefault(message, option)

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
        messages, options = list(self._found), list(self._found.values())
        if len(messages) > MAX_LISTED:
            rest = len(messages) - MAX_LISTED
            messages = [*messages[:MAX_LISTED], f"and {rest} more: correct these first"]
        if not all(options):
            options = options[:MAX_LISTED]
        remedy = " ".join(option for option in dict.fromkeys(options) if option)
        some = tuple(k for k, option in enumerate(options, 1) if option)
        raise FileProblemsError(messages, remedy, () if all(options) else some)
