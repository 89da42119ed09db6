"""From a column of texts to features: the words that texts share."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graphuq.utils.typing import Array
from graphuq.utils.words import count

# Components that are kept of the words; more describe single texts.
N_COMPONENTS = 100

# A word in more than this share of the texts says little about any.
MAX_SHARE = 0.5

# Letters of scripts without spaces between words: Chinese, Japanese, Thai, Lao, Tibetan, Burmese,
# Khmer; symbols such as emoji, each of which says something; and words, as scikit-learn has them.
UNSPACED = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
SYMBOLS = "\u2600-\u27bf\U0001f300-\U0001faff"
TOKENS = re.compile(rf"(?P<run>[{UNSPACED}]+)|[{SYMBOLS}]|[^\W{UNSPACED}]{{2,}}")


class Words(NamedTuple):
    """Words, and the components of a text that follow from them.

    A word of a text has the weight of TF-IDF, (1 + log tf) log idf, and the components are those of
    a truncated singular value decomposition (latent semantic analysis; Deerwester et al. 1990).
    They have length 1, so that the squared distance of two texts is 2 (1 - cos), and nearest
    neighbors are those of the cosine. In scripts without spaces, characters and pairs of them stand
    for words, and symbols such as emoji are words.

    Attributes
    ----------
    names : ndarray of str, shape (V,)
    idf : ndarray, shape (V,)
    components : ndarray of float32, shape (k, V)
    """

    names: NDArray[Any]
    idf: Array
    components: NDArray[np.float32]

    @classmethod
    def of(cls, column: pd.Series) -> Words:
        """Return the words that some texts share, and most do not.

        Raises
        ------
        ValueError
            Fewer than two texts, or no such words.
        """
        from sklearn.decomposition import TruncatedSVD

        texts = _written(column)
        texts = texts[texts != ""].tolist()
        if len(texts) < 2:
            raise ValueError(f"at least 2 texts are needed, got {len(texts)}")
        # a word of one text connects it to no other
        most = max(2, int(MAX_SHARE * len(texts)))
        vectorizer = _vectorizer(min_df=2, max_df=most)
        try:
            weights = vectorizer.fit_transform(texts)
        except ValueError:
            raise ValueError(
                "texts share no words with some others but not with most: is this the column of "
                "texts?"
            ) from None
        n, n_words = weights.shape
        components = (
            np.eye(n_words)  # all directions
            if n_words <= N_COMPONENTS
            else TruncatedSVD(min(N_COMPONENTS, n - 1), random_state=0).fit(weights).components_
        )
        names = vectorizer.get_feature_names_out()
        return cls(names, vectorizer.idf_, components.astype(np.float32))

    def to_features(self, column: pd.Series) -> Array:
        """Return the components of each text, NaN where it is blank."""
        from sklearn.preprocessing import normalize

        texts = _written(column)
        vectorizer = _vectorizer(vocabulary=self.names)
        vectorizer.idf_ = self.idf
        X = np.asarray(vectorizer.transform(texts) @ self.components.T, dtype=np.float64)
        X = normalize(np.where(abs(X) < np.finfo(np.float32).eps, 0.0, X))
        X[(texts == "").to_numpy(dtype=np.bool_)] = np.nan
        return X

    def describe(self) -> str:
        """Return how many there are."""
        words = count(self.names.size, "word")
        k = len(self.components)
        return words if k == self.names.size else f"{count(k, 'component')} of {words}"


def _vectorizer(**given: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, analyzer=tokens_of, **given)


def tokens_of(text: str) -> list[str]:
    """Return the words of a text; characters and pairs of them in scripts without spaces.

    Examples
    --------
    >>> tokens_of("Two words, \u516c\u56ed"), tokens_of("a \U0001f600")
    (['two', 'words', '公', '园', '公园'], ['😀'])
    """
    found: list[str] = []
    for match in TOKENS.finditer(text.lower()):
        run = match["run"]
        found += [match[0]] if run is None else [*run, *map("".join, pairwise(run))]
    return found


def _written(column: pd.Series) -> pd.Series:
    return column.fillna("").astype(str).str.strip()
