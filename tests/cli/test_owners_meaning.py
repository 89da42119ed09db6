"""Tables, lists and labels of many fields are read as their owners mean them, or asked about."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from graphuq.cli.files import ReadOptions, read
from graphuq.cli.files.problems import FileProblemsError
from graphuq.cli.files.read_new import read_new


def table(cells, header="id,value,label"):
    """A table whose second column has these cells, over and over."""
    each = [f"i{k},{cells[k % len(cells)]},{'ab'[k % 2]}\n" for k in range(12)]
    return f"{header}\n" + "".join(each)


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(content, name="t.csv"):
        Path(name).write_text(content, encoding="utf-8")
        return Path(name)

    return write


@pytest.mark.parametrize(
    ("cells", "unit", "numbers"),
    [
        (["50 kg", "61 kg", "55.5 kg"], "kg", [50, 61, 55.5]),
        (["1.50m", "1.61m"], "m", [1.5, 1.61]),
        (["31 years", "8 years"], "years", [31, 8]),
        (["USD 9.66", "USD 12"], "USD", [9.66, 12]),
        (["80 km/h", "120 km/h"], "km/h", [80, 120]),
    ],
)
def test_numbers_with_a_unit_are_numbers(cells, unit, numbers, written):
    items = read(written(table(cells)), ReadOptions(scale=False))
    wanted = np.resize(numbers, 12)
    np.testing.assert_allclose(items.features[:, 0], wanted - wanted.mean() + items.features.mean())
    assert next(c.read_as for c in items.columns if c.name == "value") == f"numbers with {unit}"


@pytest.mark.parametrize("cells", [["0.8 g", "1495 mg"], ["S1", "S2"], ["level 1", "level 2"]])
def test_other_texts_are_asked_about(cells, written):
    with pytest.raises(ValueError, match=r"column 'value'"):
        read(written(table(cells)))


def test_sentences_without_spaces_are_offered_as_texts(written):
    cells = ["账户付款转账银行贷款", "比赛进球教练球队冠军", "电影导演演员票房上映"]
    content = table([f"{cell}{k}" for k, cell in enumerate(cells * 4)])
    with pytest.raises(ValueError, match=r"graphuq|--text value"):
        read(written(content))
    with pytest.raises(ValueError, match="--categorical value"):
        read(written(table(["红", "蓝"])))


@pytest.mark.parametrize(
    ("labels", "asked"),
    [
        (["cat", "dog", *["not assessed"] * 5, ""], "not assessed"),
        (["fraud", "ok", "pending review", "pending review"], "pending review"),
        (["a", "b", "c", "a", "b"], None),
        (["fraud", "ok", "ok", "ok"], None),
    ],
)
def test_a_label_of_half_of_the_items_is_asked_about(labels, asked, written):
    rows = "".join(f"i{k},{k % 7}.5,{labels[k % len(labels)]}\n" for k in range(24))
    path = written("id,value,label\n" + rows)
    if asked is None:
        assert read(path).features is not None
        return
    with pytest.raises(ValueError, match=f"are '{asked}': use --unlabeled '{asked}'"):
        read(path)
    assert None in read(path, ReadOptions(unlabeled=(asked,))).known


def test_labels_that_count_from_1_are_told(written):
    path = written("x,y\n" + "".join(f"{k % 5}.5,{k % 3}.1\n" for k in range(12)))
    labels = written("id,label\n1,a\n2,b\n11,a\n", "labels.csv")
    notes = read(path, ReadOptions(labels=labels)).notes
    assert any("If your ids count from 1, subtract 1" in note for note in notes)


def test_answers_of_a_page_are_no_random_sample(written):
    path = written("x,y\n" + "".join(f"{k % 5}.5,{k % 3}.1\n" for k in range(12)))
    names = ["id,label,confidence,who,when,apart", "0,a,1,Ann,,0", "1,b,1,Ann,,0", ""]
    page = read(path, ReadOptions(labels=written("\n".join(names), "page.csv")))
    assert page.labels().sampling == "any"
    assert page.labels("random").sampling == "random"
    assert any("(--sampling any)" in note for note in page.notes)
    plain = read(path, ReadOptions(labels=written("id,label\n0,a\n1,b\n", "plain.csv")))
    assert plain.labels().sampling == "by class"
    assert not any("--sampling" in note for note in plain.notes)


def test_a_mark_that_repeats_is_told(written):
    for mark, cells in (
        ("-999", ["14.21", "-999", "11.5", "13", "12.25", "15"]),
        ("99", ["1", "5", "99", "3", "4", "2"]),
        ("-99", ["0.3", "-2.1", "1.7", "-99", "4.4", "3.5"]),
    ):
        with pytest.warns(RuntimeWarning, match=f"'{mark}' dwarfs"):
            read(written(table(cells)))


def test_what_is_known_of_labeled_items_alone_is_no_feature(written):
    """When and by whom an item was labeled, as Label Studio exports it, tells that it was."""
    labeled = [f"{k},{k % 5},pos,7,2.{k}\n{k + 50},{k % 7},neg,8,3.{k}\n" for k in range(6)]
    others = [f"{k},{k % 5},,,{{}}\n" for k in range(100, 120)]
    content = "id,x,label,annotator,lead_time\n" + "".join(labeled + others)
    with pytest.raises(FileProblemsError) as caught:
        read(written(content.replace("{}", "")))
    assert caught.value.remedy == "--ignore annotator --ignore lead_time"
    marked = content.replace("{}", "").replace(",,,", ",todo,,")
    with pytest.raises(FileProblemsError) as caught:
        read(written(marked), ReadOptions(unlabeled=("todo",)))
    assert caught.value.remedy == "--ignore annotator --ignore lead_time"
    # a time of an unlabeled item tells nothing
    with pytest.raises(FileProblemsError) as caught:
        read(written(content.replace("{}", "9", 1).replace("{}", "")))
    assert caught.value.remedy == "--ignore annotator --fill-missing"


def test_the_index_of_a_data_frame_is_no_feature(written):
    frame = pd.read_csv(written(table(["1", "2", "4"])))
    frame.sample(frac=1, random_state=1).to_csv("t.csv")
    items = read(Path("t.csv"))
    assert sorted(items.ids) == sorted(frame["id"])
    assert items.features.shape == (12, 1)
    assert items.columns[0].read_as == "not used, it has no name"
    assert read(Path("t.csv"), ReadOptions(ignore=("id",))).ids.tolist() != items.ids.tolist()


def test_the_range_of_numbers_shows_marks_and_codes(written):
    """Nothing else says that -99 is no age, and 91E1 no number."""
    cells = {
        "-99 to 60": ["41", "-99", "60"],
        "910 to 12000": ["91E1", "12E3"],
        "20231200 to 20231227": ["20231200", "20231227"],
        "0.5 to 1.23457e+20": ["0.5", "123456789012345678901"],
        "1960-05-01 to 1971-01-02": ["1960-05-01 10:00", "1971-01-02 11:00"],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of values that dwarf others
        found = [read(written(table(each))).columns[1].range for each in cells.values()]
    assert found == [*cells]


def test_marks_of_missing_values_are_named(written):
    cells = ["41", "-99", "refused", "60", "", "38", "52"]
    path = written(table(cells))
    items = read(path, ReadOptions(marks=("-99", "refused", "none"), missing="fill"))
    assert (items.columns[1].range, items.columns[1].missing) == ("38 to 60", 6)
    assert items.notes[:3] == (
        "'-99' marks 2 missing values",
        "'refused' marks 2 missing values",
        "no feature has the value 'none' (--missing)",
    )
    # as if the cells were blank, here and for new items
    blank = read(written(table(["" if c in ("-99", "refused") else c for c in cells]), "blank.csv"),
                 ReadOptions(missing="fill"))  # fmt: skip
    np.testing.assert_array_equal(items.features, blank.features)
    new = read_new(written(table(["-99", "40", "refused"]), "new.csv"), items.encoding)
    plain = read_new(written(table(["", "40", ""]), "plain.csv"), blank.encoding)
    np.testing.assert_array_equal(new.features, plain.features)
    np.savez("x.npz", X=np.eye(4), y=[0, 1, -1, -1])
    with pytest.raises(ValueError, match="--missing cannot be used with"):
        read(Path("x.npz"), ReadOptions(marks=("-99",)))


@pytest.mark.parametrize(("tick", "shown"), [("Email", "Email"), ("1", "1"), ("yes", "yes")])
def test_options_that_are_ticked_or_blank_are_1_and_0(tick, shown, written):
    content = table([tick, "", "", tick, ""])
    if tick != "Email":  # a text is asked about as text
        with pytest.raises(FileProblemsError) as caught:
            read(written(content))
        assert caught.value.remedy == "--categorical value"
        assert caught.value.complete
    items = read(written(content), ReadOptions(categorical=("value",), scale=False))
    np.testing.assert_array_equal(items.features[:, 0], np.resize([1, 0, 0, 1, 0], 12))
    assert items.columns[1].read_as == f"categories: {shown}"
    for cells in ([tick, ""], [tick], [""]):  # also where no cell of new items is blank, or all are
        new = read_new(written(table(cells), "new.csv"), items.encoding)
        ticked = np.resize([cell == tick for cell in cells], 12)
        np.testing.assert_array_equal(new.features[:, 0] > 0, ticked)


def test_several_answers_are_no_fractions(written):
    rows = [f'i{k},"{1 + k % 2},{3 + k % 3}",{k / 4},{"ab"[k % 2]}\n' for k in range(12)]
    content = "id,picked,x,label\n" + "".join(rows)
    asked = "may be one number or several answers: --decimal comma, --categorical picked, or"
    for cells in (content, content.replace('"2,3"', '"1,2,3"')):
        with pytest.raises(ValueError, match=asked):
            read(written(cells))
        found = read(written(cells), ReadOptions(categorical=("picked",)))
        assert found.features.shape == (12, 7)
    whole = re.sub(r",[\d.]+,(.)\n", r",7,\1\n", content).replace(",7,a", ",8,a")
    assert read(written(whole), ReadOptions(decimal=",")).features.shape == (12, 2)
    falling = content.replace('"2,3"', '"3,2"')
    assert read(written(falling)).features.shape == (12, 2)  # not all of them rise
    between = content.replace(",", ";").replace('"1;', '"1,').replace('"2;', '"2,')
    read(written(between))  # where a comma separates nothing, it is a decimal one


def test_zero_needs_no_unit(written):
    items = read(written(table(["5%", "0", "15%", "10%"])))
    assert (items.columns[1].read_as, items.columns[1].missing) == ("numbers with %", 0)
    assert items.columns[1].range == "0 to 15"


def test_codes_that_begin_with_0_are_told(written):
    codes = table([f"0{1067 + 37 * k}" for k in range(12)])
    with pytest.warns(RuntimeWarning, match=r"'value' has '01067', .* --categorical value, or"):
        read(written(codes))
    frame = pd.read_csv("t.csv", dtype={"value": str})
    frame.to_json("t.jsonl", orient="records", lines=True)
    with pytest.warns(RuntimeWarning, match="'value' has '01067', which begins with 0"):
        read(Path("t.jsonl"))
    read(written(codes), ReadOptions(categorical=("value",)))  # no warning, which is an error
    read(written(table([*(f"0.{k}5" for k in range(10)), "0", "1e-02"])))


def test_weights_of_edges_have_decimal_commas(written):
    edges = "a;b;Anzahl\nx;y;3,08\ny;z;1,5\nz;x;2,25\n"
    path = written(edges)
    with pytest.raises(ValueError, match="may be weights of the edges: use --weight Anzahl"):
        read(path, ReadOptions(edges=True))
    graph = read(path, ReadOptions(edges=True, weight="Anzahl")).graph
    np.testing.assert_allclose(np.sort(graph.adjacency.data), [1.5, 1.5, 2.25, 2.25, 3.08, 3.08])
    path = written('a,b,value\nx,y,"3,080"\ny,z,"1,500"\n')
    with pytest.raises(ValueError, match=r"may be 3\.08 or 3080: --decimal comma, --decimal point"):
        read(path, ReadOptions(edges=True, weight="value"))
    graph = read(path, ReadOptions(edges=True, weight="value", decimal=".")).graph
    assert graph.adjacency.max() == 3080


@pytest.mark.parametrize("name", ["distance_km", "travel_time_min", "Cost (EUR)"])
def test_distances_by_longer_names_are_told(name, written):
    path = written(f"u,v,{name}\nx,y,3\ny,z,1\n")
    with pytest.raises(ValueError, match="of distances, write 1 / distance"):
        read(path, ReadOptions(edges=True))


def test_edges_of_a_network_file_have_weights_by_another_name(written):
    network = (
        'graph [ node [ id 0 label "a" age 3 ] node [ id 1 label "b" age 4 ] '
        "edge [ source 0 target 1 value 2.5 ] ]"
    )
    path = written(network, "t.gml")
    with pytest.warns(RuntimeWarning, match="name it with --weight if it is their weight"):
        items = read(path)
    assert "attributes of nodes can be labels, and are no features: 'age'" in items.notes
    assert read(path, ReadOptions(weight="value")).graph.adjacency.max() == 2.5
    with pytest.raises(ValueError, match=r"no edge has the attribute 'w' \(--weight\)"):
        read(path, ReadOptions(weight="w"))


def test_censored_values_are_no_header_and_a_footnote_no_item(written):
    content = "id,lead,zinc,label\na0,<0.5,<1,a\n" + "".join(
        f"a{k},{k}.5,{k}.25,{'ab'[k % 2]}\n" for k in range(1, 9)
    )
    with pytest.raises(ValueError, match=r"'<0\.5' is not a finite number") as caught:
        read(written(content))
    assert "second header" not in str(caught.value)
    content = content.replace("<0.5,<1", "1,2") + "Source: World Bank,,,\n"
    with pytest.raises(ValueError, match=r"line 11: only one column has a value, as in a footnote"):
        read(written(content), ReadOptions(missing="fill"))
    assert read(written(content), ReadOptions(missing="drop")).ids.size == 9


def test_the_encoding_of_windows_is_proposed_where_it_is_likely(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(table(["3,75 €", "2,50 €"]).encode("cp1252"))
    with pytest.raises(ValueError, match="--encoding cp1252"):
        read(path)
    path.write_bytes("id,value,label\ni0,1,fleur é\ni1,2,lis\n".encode("latin-1"))
    with pytest.raises(ValueError, match="--encoding latin-1"):
        read(path)
