"""Columns of texts, alone and beside others: features, and those of new rows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from graphuq.cli.files import ReadOptions, read
from graphuq.cli.files.encoding import Encoding
from graphuq.cli.files.read_new import read_new
from graphuq.cli.files.texts import N_COMPONENTS, Words
from graphuq.cli.program import main

TOPICS = {
    "bus": ["late", "bus", "stop", "driver", "ticket", "route", "seat"],
    "park": ["tree", "bench", "grass", "lake", "path", "bird", "shade"],
    "tax": ["rate", "bill", "form", "office", "pay", "letter", "due"],
}
SHARED = ["the", "city", "says", "that", "people", "want", "more", "time"]


def letters(n, seed=0):
    """Return texts about three topics, and the topics."""
    rng = np.random.default_rng(seed)
    topics = rng.choice([*TOPICS], n)
    texts = [
        " ".join(rng.permutation([*rng.choice(TOPICS[topic], 5), *rng.choice(SHARED, 4)]))
        for topic in topics
    ]
    return texts, topics


@pytest.fixture
def survey(tmp_path, monkeypatch):
    """A survey whose topic is known for 30 of 300 answers, and 60 later answers."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    texts, topics = letters(360)
    frame = pd.DataFrame(
        {
            "id": [f"r{k}" for k in range(360)],
            "comment": texts,
            "day": pd.date_range("2026-01-01", periods=360).strftime("%Y-%m-%d"),
            "age": rng.integers(18, 80, 360).astype(object),
            "district": rng.choice(["north", "south"], 360),
        }
    )
    frame.loc[[7, 200], "age"] = None
    frame.loc[[11, 300], "comment"] = None
    frame[:300].assign(label=np.where(np.arange(300) < 30, topics[:300], "")).to_csv(
        "survey.csv", index=False
    )
    frame[300:].to_csv("later.csv", index=False)
    return frame.assign(topic=topics)


MIXED = ReadOptions(text=("comment",), categorical=("district",), missing="fill")


def test_from_a_survey_to_predictions_of_later_answers(survey, capsys):
    # The first command is refused once, and names a second that is complete.
    assert main(["sample", "survey.csv", "--draws", "200"]) == 2
    said = capsys.readouterr().err
    second = said.rpartition("\n  graphuq ")[2].split()
    assert {"--text", "--categorical", "--fill-missing"} <= {*second}
    assert main(second) == 0
    assert main(["predict", "survey-graphuq", "later.csv"]) == 0
    found = pd.read_csv("later-predictions.csv").set_index("id")
    truth = survey.set_index("id")["topic"][found.index]
    assert (found["prediction"] == truth).mean() > 0.9
    told = pd.read_csv("survey-graphuq/uncertain.csv").set_index("id")
    assert told["comment"].notna().sum() == 270  # only r11 has none, and it has a label


def test_every_row_becomes_the_same_features_again(survey):
    items = read("survey.csv", MIXED)
    encoding = Encoding.from_arrays(items.encoding.to_arrays())
    again = read_new(Path("survey.csv"), encoding, fill=True)
    np.testing.assert_array_equal(again.features, items.features)
    pd.read_csv("survey.csv")[40:43].to_csv("few.csv", index=False)
    few = read_new(Path("few.csv"), encoding)
    np.testing.assert_array_equal(few.features, items.features[40:43])
    with pytest.raises(ValueError, match=r"'comment': values are missing .* item 'r300'"):
        read_new(Path("later.csv"), encoding._replace(fills=False))
    pd.read_csv("survey.csv").drop(columns="comment").to_csv("few.csv", index=False)
    with pytest.raises(ValueError, match="no column 'comment', from which features are made"):
        read_new(Path("few.csv"), encoding)


def test_words_weigh_as_much_as_the_other_columns_together(survey):
    items = read("survey.csv", MIXED)
    forms = [form.form for form in items.encoding.columns.values()]
    assert forms == ["text", "dates", "numbers", "categories"]
    variance = items.features.var(axis=0)
    others = variance[-4:].sum()  # day, age, north, south
    assert variance[:-4].sum() == pytest.approx(others)
    assert variance[-4:-2] == pytest.approx(1)
    alone = read("survey.csv", ReadOptions(text=("comment",), missing="drop",
                                           ignore=("day", "age", "district")))  # fmt: skip
    assert np.linalg.norm(alone.features, axis=1) == pytest.approx(1)


def test_the_column_says_what_became_of_it(survey):
    items = read("survey.csv", MIXED)
    read_as = {column.name: column.read_as for column in items.columns}
    assert read_as["comment"] == "text, by its words"
    missing = {column.name: column.missing for column in items.columns}
    assert missing == {"id": 0, "comment": 1, "day": 0, "age": 2, "district": 0, "label": 270}
    assert any("words in 'comment' (TF-IDF)" in note for note in items.notes)


def test_two_columns_of_texts(survey):
    frame = pd.read_csv("survey.csv").drop(columns=["day", "age", "district"])
    frame["title"] = [" ".join(text.split()[:3]) for text in frame["comment"].fillna("a b c")]
    frame.to_csv("two.csv", index=False)
    one = read("two.csv", ReadOptions(text=("comment",), ignore=("title",), missing="fill"))
    two = read("two.csv", ReadOptions(text=("comment", "title"), missing="fill"))
    assert two.features.shape[1] > one.features.shape[1]
    with pytest.raises(ValueError, match="column 'title'"):
        read("two.csv", ReadOptions(text=("comment",), missing="fill", categorical=()))


@pytest.mark.parametrize(
    ("topics", "shared"),
    [
        (["公交车晚点司机车票", "公园树木草地湖水"], "城市居民希望更多时间"),
        (["กขคงจฉชซ", "ฌญฎฏฐฑฒณ"], "ดตถทธนบป"),
    ],
)
@pytest.mark.parametrize("english", [0.0, 0.6])
def test_scripts_without_spaces_are_read_by_characters(topics, shared, english, tmp_path):
    rng = np.random.default_rng(0)
    kinds = rng.integers(2, size=200)
    texts = [
        "".join([*rng.choice([*topics[kind]], 8), *rng.choice([*shared], 6)]) for kind in kinds
    ]
    words = [["bus", "late", "ticket"], ["park", "grass", "lake"]]
    for k in np.flatnonzero(rng.random(200) < english):  # beside texts with spaces
        texts[k] = " ".join([*rng.choice(words[kinds[k]], 3), *rng.choice(SHARED, 3)])
    found = Words.of(pd.Series(texts))
    X = found.to_features(pd.Series(texts))
    near = np.argsort(-(X @ X.T), axis=1)[:, 1:6]
    assert (kinds[near] == kinds[:, None]).mean() > 0.9
    assert {"bus", "late"} <= {*found.names} or not english


def test_symbols_are_words():
    texts = pd.Series(["so good 😀", "😡 no", "fine 😀😀", "😡"] * 5)
    found = Words.of(texts)
    assert {"😀", "😡"} <= {*found.names}
    assert found.to_features(texts).any(axis=1).all()


def test_few_words_keep_all_directions():
    texts = pd.Series(["sun"] * 5 + ["snow"] * 5 + ["ice"] * 5)
    X = Words.of(texts).to_features(texts)
    assert np.linalg.norm(X, axis=1) == pytest.approx(1)
    assert np.linalg.matrix_rank(X) == 3


@pytest.mark.parametrize("n_topics", [3, 40])
def test_words_agree_with_scikit_learn(n_topics):
    """Cosines are those of scikit-learn's own route, with and without fewer components."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    rng = np.random.default_rng(0)
    names = np.array([f"w{k:03d}" for k in range(5 * n_topics)])
    texts = pd.Series(
        [" ".join(rng.choice(names[5 * (k % n_topics) :][:9], 12)) for k in range(400)]
    )
    words = Words.of(texts)
    own = words.to_features(texts)
    X = TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=200).fit_transform(texts)
    if X.shape[1] > N_COMPONENTS:
        X = TruncatedSVD(N_COMPONENTS, random_state=0).fit_transform(X)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    else:
        X = X.toarray()
    assert own.shape[1] == X.shape[1]
    np.testing.assert_allclose(own @ own.T, X @ X.T, atol=1e-5)


def test_unknown_words_and_blanks_of_new_texts():
    words = Words.of(pd.Series(letters(50)[0]))
    X = words.to_features(pd.Series(["zebra", "", None, "tree"]))
    assert (X[0] == 0).all()
    assert np.isnan(X[1:3]).all()
    assert np.linalg.norm(X[3]) == pytest.approx(1)


@pytest.mark.parametrize("texts", [["a b"], ["aa", "bb", "cc"], ["same words"] * 5, [None, None]])
def test_texts_that_share_nothing_are_refused(texts):
    with pytest.raises(ValueError, match=r"at least 2 texts|share no words"):
        Words.of(pd.Series(texts, dtype=object))
