"""From a column of texts to features: the words that texts share."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from graphuq.utils.typing import Array

# Components that are kept of the words; more describe single texts.
N_COMPONENTS = 100

# A word in more than this share of the texts says little about any.
MAX_SHARE = 0.5

# Scripts without spaces between words, as the Unicode names of their letters begin, and how many
# texts and letters of each tell the script of a column.
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
N_PROBED, N_LETTERS = 200, 100


class Words(NamedTuple):
    """Words, and the components of a text that follow from them.

    A word of a text has the weight of TF-IDF, (1 + log tf) log idf, and the components are those of
    a truncated singular value decomposition (latent semantic analysis; Deerwester et al. 1990).
    They have length 1, so that the squared distance of two texts is 2 (1 - cos), and nearest
    neighbors are those of the cosine. In scripts without spaces, characters and pairs of them stand
    for words.

    Attributes
    ----------
    names : ndarray of str, shape (V,)
    analyzer : {"word", "char"}
    idf : ndarray, shape (V,)
    components : ndarray of float32, shape (k, V)
    """

    names: NDArray[Any]
    analyzer: str
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
        analyzer = "char" if _are_unspaced(texts) else "word"
        # a word of one text connects it to no other
        most = max(2, int(MAX_SHARE * len(texts)))
        vectorizer = _vectorizer(analyzer, min_df=2, max_df=most)
        try:
            weights = vectorizer.fit_transform(texts)
        except ValueError:
            raise ValueError(
                "texts share no words with some others but not with most: is this the column of "
                "texts?"
            ) from None
        n, n_words = weights.shape
        k = min(N_COMPONENTS, n_words - 1, n - 1)
        components = (
            np.eye(n_words) if k < 1 else TruncatedSVD(k, random_state=0).fit(weights).components_
        )
        names = vectorizer.get_feature_names_out()
        return cls(names, analyzer, vectorizer.idf_, components.astype(np.float32))

    def to_features(self, column: pd.Series) -> Array:
        """Return the components of each text, NaN where it is blank."""
        from sklearn.preprocessing import normalize

        texts = _written(column)
        vectorizer = _vectorizer(self.analyzer, vocabulary=self.names)
        vectorizer.idf_ = self.idf
        X = np.asarray(vectorizer.transform(texts) @ self.components.T, dtype=np.float64)
        X = normalize(np.where(abs(X) < np.finfo(np.float32).eps, 0.0, X))
        X[(texts == "").to_numpy(dtype=np.bool_)] = np.nan
        return X

    def describe(self) -> str:
        """Return how many there are."""
        what = "words" if self.analyzer == "word" else "characters and pairs"
        return f"{len(self.components)} components of {self.names.size} {what}"


def _vectorizer(analyzer: str, **given: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    pairs = {"ngram_range": (1, 2)} if analyzer == "char" else {}
    return TfidfVectorizer(sublinear_tf=True, analyzer=analyzer, **pairs, **given)


def _written(column: pd.Series) -> pd.Series:
    return column.fillna("").astype(str).str.strip()


def _are_unspaced(texts: Sequence[str]) -> bool:
    """Return whether most letters are those of scripts without spaces between words."""
    probed = texts[:: max(1, len(texts) // N_PROBED)]
    letters = [letter for text in probed for letter in text[:N_LETTERS] if letter.isalpha()]
    unspaced = sum(unicodedata.name(letter, "").startswith(UNSPACED) for letter in letters)
    return 2 * unspaced > len(letters)
