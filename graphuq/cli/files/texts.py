"""From a column of texts to features: the words that texts share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from graphuq.cli.files.features import Features
from graphuq.cli.files.problems import Problems
from graphuq.cli.files.table import Table
from graphuq.utils.words import choose_form, count

# Components that are kept of the words; more describe single texts.
N_COMPONENTS = 100

# A word in more than this share of the texts says little about any.
MAX_SHARE = 0.5


def build_text_features(
    table: Table, column: pd.Series, missing: str, problems: Problems
) -> Features:
    """Return the leading components of the words of each text, with length 1.

    Words have the weights of TF-IDF, (1 + log tf) log idf, and the components are those of a
    truncated singular value decomposition (latent semantic analysis; Deerwester et al. 1990). At
    length 1 the squared distance of two texts is 2 (1 - cos), so that nearest neighbors are those
    of the cosine.

    Parameters
    ----------
    table : Table
        The table of the column, to name places in it.
    column : Series of str
    missing : {"refuse", "drop", "fill"}
        What to do with blanks; they cannot be filled.
    problems : Problems
        Collects blanks, with their places; the features are empty then.
    """
    name = str(column.name)
    written = column.fillna("").astype(str).str.strip()
    kept = (written != "").to_numpy(dtype=np.bool_)
    notes = []
    if not kept.all():
        n_blank, row = int((~kept).sum()), int(np.flatnonzero(~kept)[0])
        if missing != "drop":
            more = f" (in {n_blank} rows)" if n_blank > 1 else ""
            problems.add(
                f"{table.where(row, name)}: the text is missing{more}: write it, or drop such rows "
                "with --drop-missing",
                "--drop-missing" if missing == "refuse" else "",
            )
            return Features(np.empty((len(column), 0)), np.ones(len(column), dtype=np.bool_), ())
        notes.append(f"dropped {count(n_blank, 'row')} without a text")
    X, n_words = _components(written[kept].tolist(), f"{table.path}, column {name!r}")
    alone = int((~X.any(axis=1)).sum())
    if alone:
        notes.append(
            f"{count(alone, 'text')} {choose_form(alone, 'shares', 'share')} no word with others"
        )
    found = (
        f"features: {count(X.shape[1], 'component')} of {count(n_words, 'word')} in {name!r} "
        "(TF-IDF)"
    )
    return Features(X, kept, (found, *notes))


def _components(texts: list[str], place: str) -> tuple[Any, int]:
    """Return the components, shape (n, k), and the number of words."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    if len(texts) < 2:
        raise ValueError(f"{place}: at least 2 texts are needed, got {len(texts)}")
    most = max(2, int(MAX_SHARE * len(texts)))
    try:
        # a word of one text connects it to no other
        words = TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=most).fit_transform(texts)
    except ValueError:
        raise ValueError(
            f"{place}: texts share no words with some others but not with most: is this the column "
            "of texts?"
        ) from None
    k = min(N_COMPONENTS, words.shape[1] - 1, words.shape[0] - 1)
    X = words.toarray() if k < 1 else TruncatedSVD(k, random_state=0).fit_transform(words)
    return normalize(np.where(abs(X) < np.finfo(np.float32).eps, 0.0, X)), words.shape[1]
