"""Label in the browser, from a notebook or a script."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from graphuq.graphs import Graph
from graphuq.graphs.spectrum import Spectrum
from graphuq.labeling.arguments import one_line
from graphuq.labeling.page.finishing import Finishing
from graphuq.labeling.page.guidelines import Guidelines
from graphuq.labeling.page.items import Items, Names, Texts
from graphuq.labeling.page.pictures import PictureFiles, Pictures
from graphuq.labeling.page.rows import Rows, columns_of
from graphuq.labeling.session import LabelingSession
from graphuq.labels.labels import Labels
from graphuq.likelihoods.contract import Likelihood
from graphuq.utils import validation

if TYPE_CHECKING:
    from graphuq.posterior.posterior import Posterior


def label(
    graph: Any,
    items: Any = None,
    *,
    answers: str | os.PathLike[str] = "labels.csv",
    classes: Sequence[Any] = (),
    names: Any = None,
    features: Any = None,
    linked: bool = False,
    labels: Labels | None = None,
    likelihood: Likelihood | None = None,
    rank: int | None = None,
    spectrum: Spectrum | None = None,
    threshold: float | None = None,
    goal: float | None = None,
    risk: float | None = None,
    seed: int = 0,
    who: str | None = None,
    question: str = "",
    guidelines: str | os.PathLike[str] | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    open_browser: bool = True,
) -> LabelingPage:
    """Serve a page on this machine that asks for labels, and open it in the browser.

    The call returns at once. The page asks about the most informative items and learns from the
    answers. Each answer is on the disk, in the file ``answers``, before the next question. A second
    call with the same file goes on.

    Parameters
    ----------
    graph : Graph or adjacency
    items : optional
        What the page shows of the nodes: a DataFrame with one row per item, texts, pictures as an
        array of shape (N, height, width) or (N, height, width, 3), or paths of pictures. By default
        it shows their names.
    answers : path-like
        The file of answers, a CSV. It is made if it does not exist; otherwise the session goes on.
    classes : sequence, optional
        Names of the classes, which are texts here. Classes of ``labels`` and of the file are added,
        and the page can add more.
    names : sequence, optional
        Names of the items, all different; by default their positions.
    features : ndarray, shape (N, d), optional
        Part of the prior, as in ``graphuq sample``.
    linked : bool
        Whether the links of the graph were not made of the features, as in `graphuq.default_prior`.
    labels : Labels, optional
        Labels known before; an answer replaces them.
    likelihood : likelihood, optional
        A sign model, by default `Probit` with its parameter chosen by the labels.
    rank : int, optional
        Number of modes.
    spectrum : Spectrum, optional
        The modes of the graph, if they are known.
    threshold : float, optional
        The probability from which an item is decided; by default that of the last session with
        this file, or 0.95.
    goal, risk : float, optional
        The accuracy to reach on the items without a label, and the accepted probability that it is
        not; by default those of the last session, or 0.95 and 0.05. The page says whether the goal
        is reached, as does ``page.session.progress().stop``.
    seed : int
    who : str, optional
        Who labels, by default the user of this machine.
    question : str
        What the page asks of each item, in the words of those who label.
    guidelines : path-like, optional
        A Markdown file that the page shows, such as a picture of each class. Pictures are files,
        relative to its folder.
    host : str
        The address to listen on. Any other than that of this machine raises a warning.
    port : int, optional
        By default 8765, or a free one if it is in use.
    open_browser : bool

    Returns
    -------
    LabelingPage

    Raises
    ------
    ModuleNotFoundError
        ``pip install "graphuq[label]"``.
    ValueError, TypeError
        The number of items is not that of the nodes, pictures that cannot be read, a name of
        several lines, names that repeat, a port out of range, a likelihood without a sign model, a
        threshold, goal or risk outside (0, 1), a file that is not one of answers to these items,
        guidelines that are not text, or that have pictures that cannot be read.
    OSError
        The port is in use, or the file of answers cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(200, seed=0)
    >>> graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    >>> answers = tempfile.mkdtemp() + "/labels.csv"
    >>> page = gq.label(graph, answers=answers, classes=["upper", "lower"], open_browser=False)
    >>> page.address.split("token")[0].startswith("http://127.0.0.1:")
    True
    >>> page.session.classes
    ('upper', 'lower')
    >>> page.stop()
    """
    require_packages()
    from graphuq.labeling.page.server import require_port

    require_port(host, port)
    graph = Graph.of(graph)
    shown = items_of(items, graph)
    advice = None if guidelines is None else Guidelines(guidelines)
    question = one_line("question", question) if question else ""
    open_browser = validation.boolean("open_browser", open_browser)
    session = LabelingSession(
        graph,
        answers,
        classes=classes,
        names=names,
        features=features,
        linked=linked,
        labels=labels,
        likelihood=likelihood,
        rank=rank,
        spectrum=spectrum,
        threshold=threshold,
        goal=goal,
        risk=risk,
        seed=seed,
    )
    page = LabelingPage(
        session, shown, who=who, question=question, guidelines=advice, host=host, port=port
    )
    if open_browser:
        page.open()
    return page


class LabelingPage:
    """A page of a labeling session that is being served.

    Parameters
    ----------
    session : LabelingSession
        It is closed with the page, and if the page cannot be served.
    items : Items
    title : str
        What is labeled.
    who : str, optional
        The name next to answers until a person gives another on the page; by default the user of
        this machine.
    question : str
    guidelines : Guidelines, optional
    host : str
    port : int, optional
    finish : callable, optional
        Samples and writes at the end, and returns a sentence that says what it wrote. By default
        the posterior is sampled, and kept as ``posterior``.
    report : Path, optional
        The report that ``finish`` writes.

    Attributes
    ----------
    session : LabelingSession
    address : str
        The address of the page, with its token.
    posterior : Posterior or None
        After *finish* on the page.

    Examples
    --------
    See `graphuq.label`.
    """

    def __init__(
        self,
        session: LabelingSession,
        items: Items,
        *,
        title: str = "Items",
        who: str | None = None,
        question: str = "",
        guidelines: Guidelines | None = None,
        host: str = "127.0.0.1",
        port: int | None = None,
        finish: Callable[[], str] | None = None,
        report: Path | None = None,
    ) -> None:
        require_packages()
        from graphuq.labeling.page.app import build_app
        from graphuq.labeling.page.desk import Desk
        from graphuq.labeling.page.server import PageServer

        self.session = session
        self.posterior: Posterior | None = None
        self._finishing = Finishing(finish or self._sample, report)
        desk = Desk(session, items, self._finishing)
        try:
            name = own_name() if who is None else one_line("who", who)
            self._server = PageServer(
                lambda token, host, cookie: build_app(
                    desk,
                    title=title,
                    who=name,
                    token=token,
                    host=host,
                    cookie=cookie,
                    question=question,
                    guidelines=guidelines,
                ),
                host,
                port,
            )
        except BaseException:
            session.close()
            raise
        self.address = self._server.address
        self._server.start()

    @property
    def finishing(self) -> bool:
        """Whether the last step has begun and not ended."""
        return self._finishing.runs

    def open(self) -> bool:
        """Open the page in the browser, and return whether there is one."""
        from graphuq.labeling.page.browser import open_browser

        return open_browser(self.address)

    def wait(self) -> None:
        """Wait until the page is stopped; Ctrl-C stops it."""
        try:
            while self._server.wait(0.5):
                pass
        finally:
            self.stop()

    def stop(self) -> None:
        """Stop serving the page and close the session. All answers are on the disk already."""
        self._server.stop()
        self.session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"LabelingPage({self.address})"

    def _sample(self) -> str:
        self.posterior = self.session.finish()
        return "The posterior is sampled: it is the attribute posterior of the page."


def items_of(items: Any, graph: Graph) -> Items:
    """Return what the page shows, from what the user gave."""
    import pandas as pd

    n = graph.n_nodes
    if items is None:
        return Names()
    try:
        size = -1 if isinstance(items, str | bytes | dict | set) else len(items)
    except TypeError:
        size = -1
    if size < 0:
        raise TypeError(
            "items must be a DataFrame, texts, an array of pictures, or paths of pictures, got "
            f"{type(items).__name__}"
        )
    if size != n:
        raise ValueError(f"items must be {n}, one for each node, got {size}")
    if isinstance(items, pd.DataFrame):
        return Rows(columns_of(items), graph)
    if isinstance(items, np.ndarray) and items.ndim > 1:
        if items.dtype.kind not in "buif":
            raise TypeError(f"pictures must be numbers, got an array of {items.dtype}")
        return Pictures(items)
    listed = list(items)
    if listed and all(isinstance(item, os.PathLike) for item in listed):
        return PictureFiles([os.fspath(item) for item in listed], Path())
    if not all(isinstance(item, str) for item in listed):
        raise TypeError("items must all be texts, or all be paths (pathlib.Path) of pictures")
    return Texts([str(item) for item in listed])


def require_packages() -> None:
    """Refuse to go on without the packages that serve the page."""
    try:
        import jinja2  # noqa: F401
        import markdown_it  # noqa: F401
        import PIL  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ModuleNotFoundError(
            f'the page in the browser needs {error.name}: pip install "graphuq[label]"'
        ) from error


def own_name() -> str:
    """Return the name of the user of this machine."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no such user, as in a container
        return "me"
