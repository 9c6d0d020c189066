import numpy as np
import pytest
from scipy import sparse

from noisy_table import write_csv
from rankprune.exceptions import TableError
from rankprune.table import open_table
from rankprune.table._column_kinds import plan_columns
from rankprune.table._features import fit_encoder

pytest.importorskip("duckdb")

N = 60
LABEL = [str(i % 2) for i in range(N)]


def planned(tmp_path, columns, **options):
    """Return the plan, the encoder and the features of a table of these columns and a label."""
    names = [*columns, "y"]
    n_rows = len(next(iter(columns.values())))
    labels = [str(i % 2) for i in range(n_rows)]
    rows = [list(row) for row in zip(*columns.values(), labels, strict=True)]
    with open_table(write_csv(tmp_path / "t.csv", rows, names, delimiter=";")) as table:
        label = f"CAST(c{len(names) - 1} AS INTEGER)"
        plan = plan_columns(table, label, special=["y"], **options)
        encoder, X = fit_encoder(table, plan)
        assert np.array_equal(_dense(X), _dense(encoder.transform(table)))
    return plan, encoder, _dense(X)


def _dense(X):
    return X.toarray() if sparse.issparse(X) else X


def spread(values):
    return [values[i % len(values)] for i in range(N)]


def test_numbers_are_standardized_and_gaps_are_filled_and_flagged(tmp_path):
    cells = spread(["1", "2.5", "-3e2", "NA", "", "n/a", " 7 "])
    plan, encoder, X = planned(tmp_path, {"a": cells})
    assert (plan.numbers, plan.gaps) == (("a",), ("a",))
    assert encoder.sources == ["a", "a"]
    known = np.asarray([float(c) if c.strip() not in ("NA", "", "n/a") else np.nan for c in cells])
    np.testing.assert_array_equal(X[:, 1], np.isnan(known))
    filled = np.where(np.isnan(known), np.nanmedian(known), known)
    np.testing.assert_allclose(X[:, 0], (filled - np.nanmean(known)) / np.nanstd(known), atol=1e-12)


def test_huge_numbers_do_not_overflow_and_infinite_ones_are_gaps(tmp_path):
    plan, _, X = planned(tmp_path, {"a": spread(["1e300", "-1e300", "inf", "nan", "2e299"])})
    assert plan.gaps == ("a",)
    assert np.isfinite(X).all()
    assert np.abs(X[:, 0]).max() < 5


def test_decimal_commas_are_numbers(tmp_path):
    plan, _, X = planned(tmp_path, {"a": spread(["1,5", "2,25", "-3", "10,75"])})
    assert (plan.numbers, plan.decimal_comma, plan.gaps) == (("a",), ("a",), ())
    assert plan.notes == ("Column 'a' was read as numbers with decimal commas.",)
    assert len(np.unique(X[:, 0])) == 4


def test_commas_between_thousands_are_not_decimal_commas(tmp_path):
    plan, encoder, X = planned(tmp_path, {"a": spread(["193", "7,499", "1,234,567.5", "-1,000"])})
    assert (plan.thousands_comma, plan.decimal_comma) == (("a",), ())
    assert plan.notes == ("Column 'a' was read as numbers with thousands commas.",)
    number = encoder.numbers[0]
    values = X[:4, 0] * number.scale + number.shift
    np.testing.assert_allclose(values, [193, 7499, 1234567.5, -1000], atol=1e-6)


def test_a_column_of_two_values_is_not_constant(tmp_path):
    """The estimated number of distinct values is 1 for these two."""
    plan, _, _ = planned(tmp_path, {"site": spread(["v638", "v639", "v638"])})
    assert plan.categories == ("site",)


@pytest.mark.parametrize("option", ["text", "keep"])
def test_the_label_and_dropped_columns_cannot_be_features(tmp_path, option):
    with pytest.raises(TableError, match=rf"{option} must name a feature; 'y' is the label"):
        planned(tmp_path, {"a": spread(["1", "2"])}, **{option: ["y"]})
    with pytest.raises(TableError, match=r"'a' is the label, is dropped"):
        planned(tmp_path, {"a": spread(["1", "2"])}, drop=["a"], **{option: ["a"]})


def test_copies_of_the_label_are_found_although_some_labels_are_missing(tmp_path):
    rows = [["J", "1"], ["N", "0"], ["x", ""], ["J", "1"], ["N", "0"]] * 10
    with open_table(write_csv(tmp_path / "t.csv", rows, ["copy", "y"])) as table:
        plan = plan_columns(table, "try_cast(trim(c1) AS INTEGER)", special=["y"])
    assert "'copy' was left out: it determines the label exactly" in plan.notes[0]


def test_codes_with_leading_zeros_are_categories(tmp_path):
    plan, encoder, X = planned(tmp_path, {"zip": spread(["01067", "50667", "10115"])})
    assert plan.categories == ("zip",)
    assert encoder.categories[0].levels == ("01067", "10115", "50667")
    assert encoder.sources == ["zip"] * 3
    np.testing.assert_array_equal(X.sum(axis=1), 1)


def test_missing_cells_are_a_category_and_na_is_another(tmp_path):
    _, encoder, _ = planned(tmp_path, {"c": spread(["NA", "", "red"])})
    assert encoder.categories[0].levels == ("", "NA", "red")


def test_a_category_of_two_values_is_one_feature(tmp_path):
    _, encoder, X = planned(tmp_path, {"c": spread(["m", "f", "m"])})
    assert encoder.categories[0].levels[0] == "m"
    assert encoder.sources == ["c"]
    assert X[:, 0].tolist() == [float(c == "m") for c in spread(["m", "f", "m"])]


def test_dates_become_days_month_weekday_and_hours_if_given(tmp_path):
    days = spread(["2024-01-31", "2024-02-01", "", "1999-12-31"])
    hours = spread(["2024-01-31 13:00", "2024-02-01T05:30:00", "2020-05-05 00:00:00"])
    plan, encoder, X = planned(tmp_path, {"day": days, "when": hours})
    assert plan.dates == ("day", "when")
    assert plan.with_hours == ("when",)
    assert encoder.sources == ["day"] * 4 + ["when"] * 4
    assert [number.part for number in encoder.numbers] == [
        *("days", "month", "weekday"),
        *("days", "month", "weekday", "hour"),
    ]
    one_day = (X[1, 0] - X[0, 0]) * encoder.numbers[0].scale
    assert one_day == pytest.approx(1)


def test_columns_that_are_not_features_are_left_out_with_a_note(tmp_path):
    columns = {
        "id": [str(i + 100) for i in range(N)],
        "code": [f"K-{i:03d}" for i in range(N)],
        "empty": [""] * N,
        "same": ["x"] * N,
        "copy": ["J" if y == "1" else "N" for y in LABEL],
        "address": [f"{i} Long Winding Road, {i:05d} Upper Slaughter, England" for i in range(N)],
        "good": spread(["1", "2", "3"]),
    }
    plan, encoder, _ = planned(tmp_path, columns)
    assert encoder.columns == ["good"]
    said = "\n".join(plan.notes)
    assert "'id' was left out: no value occurs twice, as in an identifier" in said
    assert "'code' was left out: no value occurs twice" in said
    assert "'empty' was left out: every cell is empty" in said
    assert "'same' was left out: every row has the same value" in said
    assert "'copy' was left out: it determines the label exactly" in said
    assert "To use it anyway, pass keep='copy'." in said
    assert (
        "'address' was left out: its values are long and rarely repeat. To use their words, pass "
        "text='address'." in said
    )


def test_keep_uses_columns_that_would_be_left_out(tmp_path):
    columns = {
        "id": [str(i + 100) for i in range(N)],
        "copy": ["J" if y == "1" else "N" for y in LABEL],
    }
    plan, _, _ = planned(tmp_path, columns, keep=["id", "copy"])
    assert (plan.numbers, plan.categories, plan.notes) == (("id",), ("copy",), ())


def test_unique_numbers_are_not_an_identifier(tmp_path):
    plan, _, _ = planned(tmp_path, {"amount": [str(7 * i * i + 3) for i in range(N)]})
    assert plan.numbers == ("amount",)


def test_only_the_most_frequent_values_of_a_category_are_used(tmp_path):
    cells = [f"v{i // 2}" if i < 30 else f"w{i % 3}" for i in range(N)]
    plan, encoder, _ = planned(tmp_path, {"c": cells})
    assert encoder.categories[0].levels[:3] == ("w0", "w1", "w2")
    assert plan.notes == ()
    wide = {"c": [f"v{i % 55}" for i in range(N)]}
    plan, encoder, _ = planned(tmp_path, wide)
    assert "different values; the 50 most frequent are used" in plan.notes[0]
    assert all(len(category.levels) <= 50 for category in encoder.categories)


def test_words_of_texts_are_features(tmp_path):
    cells = [f"{'good' if y == '1' else 'poor'} thing number {i}" for i, y in enumerate(LABEL)]
    plan, encoder, X = planned(tmp_path, {"t": cells, "a": spread(["1", "2", "3"])}, text=["t"])
    assert plan.texts == ("t",)
    column = encoder.words["t"].vocabulary_["good"] + 1
    np.testing.assert_array_equal(X[:, column] > 0, np.asarray(LABEL) == "1")
    with pytest.raises(
        TableError, match=r"text must name a column with words; 't' has no word\. Leave"
    ):
        planned(tmp_path, {"t": ["."] * N}, text=["t"])


def reviews(n_rows=N):
    """Return distinct texts, each with a word that depends on the label."""
    subjects = ["the film", "this book", "our stay at the hotel", "the second season", "it"]
    ends = ["and we laughed", "for the price", "from start to finish", "as far as I know"]
    return [
        f"{subjects[i % 5]} was {'poor' if i % 2 else 'good'} "
        f"{ends[i % 4]}, {'very ' * (i // 20)}{'much' if i % 3 else 'so'}"
        for i in range(n_rows)
    ]


def test_free_text_is_recognised_and_its_words_are_features(tmp_path):
    plan, encoder, X = planned(tmp_path, {"review": reviews(), "a": spread(["1", "2", "3"])})
    assert (plan.texts, plan.numbers) == (("review",), ("a",))
    assert plan.notes == ("Column 'review' holds free text: its words are used as features.",)
    column = encoder.words["review"].vocabulary_["poor"] + 1
    np.testing.assert_array_equal(X[:, column] > 0, np.arange(N) % 2 == 1)


@pytest.mark.parametrize(
    ("option", "texts", "categories"),
    [("drop", (), ()), ("keep", (), ("review",)), ("text", ("review",), ())],
)
def test_drop_keep_and_text_override_the_recognition_of_free_text(
    tmp_path, option, texts, categories
):
    columns = {"review": reviews(), "a": spread(["1", "2", "3"])}
    plan, _, _ = planned(tmp_path, columns, **{option: "review"})
    assert (plan.texts, plan.categories, plan.notes) == (texts, categories, ())


@pytest.mark.parametrize(
    "cells",
    [
        [f"{i} main street apartment {i % 7}, springfield, il {62000 + i}" for i in range(N)],
        [f"Dr. Ada Byron King Countess Of Lovelace {'I' * i}" for i in range(N)],
        [f"https://example.org/a/long/path/to/the/page/number/{i}" for i in range(N)],
        [f"{i}.5 {i}.25 0.{i} -{i}.0 {i}.125 17.{i}" for i in range(N)],
        # No two cells share a word.
        [
            " ".join(f"{letter}{chr(97 + i // 26)}{chr(97 + i % 26)}" for letter in "abcdefgh")
            for i in range(N)
        ],
    ],
    ids=["addresses", "names", "links", "numbers", "no shared words"],
)
def test_long_values_that_are_not_sentences_are_left_out(tmp_path, cells):
    plan, _, _ = planned(tmp_path, {"c": cells, "a": spread(["1", "2", "3"])})
    assert plan.columns == ("a",)
    assert "'c' was left out: its values are long and rarely repeat" in plan.notes[0]


def test_sentences_that_repeat_are_categories(tmp_path):
    cells = spread(["the customer never came back", "the customer came back in the same year"])
    plan, _, _ = planned(tmp_path, {"c": [*cells[1:], "the customer came back years later"]})
    assert (plan.texts, plan.categories) == ((), ("c",))


def test_a_new_table_gets_the_same_features(tmp_path):
    _, encoder, _ = planned(tmp_path, {"a": spread(["1", "2", "3"]), "c": spread(["x", "y", "z"])})
    new = write_csv(tmp_path / "new.csv", [["y", "2", "other"], ["?", "bad", ""]], ["c", "a", "b"])
    with open_table(new) as table:
        X = encoder.transform(table)
    np.testing.assert_allclose(X, [[0, 0, 1, 0], [0, 0, 0, 0]], atol=1e-12)
    with (
        open_table(write_csv(tmp_path / "bad.csv", [["1"]], ["aa"])) as table,
        pytest.raises(TableError, match=r"bad\.csv has no column 'a'"),
    ):
        encoder.transform(table)


def test_columns_of_parquet_are_used_by_their_types(tmp_path):
    pl = pytest.importorskip("polars")
    import datetime

    frame = pl.DataFrame(
        {
            "f": [float(i) if i % 5 else float("nan") for i in range(N)],
            "b": [i % 3 == 0 for i in range(N)],
            "d": [datetime.date(2024, 1 + i % 12, 1) for i in range(N)],
            "l": [[i] for i in range(N)],
            "y": LABEL,
        }
    )
    frame.write_parquet(tmp_path / "t.parquet")
    with open_table(tmp_path / "t.parquet") as table:
        plan = plan_columns(table, "CAST(c4 AS INTEGER)", special=["y"])
        _, X = fit_encoder(table, plan)
    assert (plan.numbers, plan.categories, plan.dates) == (("f",), ("b",), ("d",))
    assert plan.gaps == ("f",)
    assert "'l' was left out: it holds BIGINT[], not numbers or text" in plan.notes[0]
    assert np.isfinite(X).all()


def test_many_categories_are_kept_sparse(tmp_path):
    columns = {f"c{i}": [f"{(row * (i + 3)) % 29}x" for row in range(N)] for i in range(40)}
    names = [*columns, "y"]
    rows = [list(row) for row in zip(*columns.values(), LABEL, strict=True)]
    with open_table(write_csv(tmp_path / "t.csv", rows, names)) as table:
        _, X = fit_encoder(table, plan_columns(table, "CAST(c40 AS INTEGER)", special=["y"]))
    assert sparse.issparse(X)
    assert X.shape[1] > 1000


def test_equal_rows_have_equal_hashes(tmp_path):
    rows = [["1", "x"], ["2", "x"], ["1", "x"], ["1", ""]]
    with open_table(write_csv(tmp_path / "t.csv", rows, ["a", "b"])) as table:
        first, second, third, fourth = table.row_hashes(["a", "b"])
    assert first == third
    assert len({int(first), int(second), int(fourth)}) == 3


def test_drop_keep_and_text_must_name_columns_that_exist(tmp_path):
    with open_table(write_csv(tmp_path / "t.csv", [["1", "x"]], ["a", "b"])) as table:
        for option in ("drop", "keep", "text"):
            with pytest.raises(TableError, match=rf"{option} must be a column"):
                plan_columns(table, "1", **{option: ["zzz"]})


@pytest.mark.parametrize(
    ("form", "cells"),
    [
        ("%d.%m.%Y", ["31.01.2024", "01.02.2024", "02.02.2024"]),
        ("%m/%d/%Y", ["01/31/2024", "02/01/2024", "02/02/2024"]),
        ("%d/%m/%Y", ["31/01/2024", "01/02/2024", "02/02/2024"]),
        ("%d-%m-%Y", ["31-01-2024", "01-02-2024", "02-02-2024"]),
        ("%d %b %Y", ["31 Jan 2024", "1 Feb 2024", "2 Feb 2024"]),
        ("%b %d, %Y", ["Jan 31, 2024", "Feb 1, 2024", "Feb 2, 2024"]),
    ],
)
@pytest.mark.parametrize("time", ["", " 13:30"])
def test_dates_are_read_in_many_formats(tmp_path, form, cells, time):
    plan, encoder, X = planned(tmp_path, {"day": [f"{cell}{time}" for cell in spread(cells)]})
    assert (plan.dates, plan.date_forms) == (("day",), {"day": form})
    assert plan.with_hours == (("day",) if time else ())
    assert plan.notes == (f"Column 'day' was read as dates written {form}.",)
    days = X[:3, 0] * encoder.numbers[0].scale
    np.testing.assert_allclose(np.diff(days), 1, atol=1e-6)
    # The same by the saved encoder, on another table.
    new = write_csv(tmp_path / "new.csv", [[f"{cells[0]}{time}"], ["2024-01-31"]], ["day"])
    with open_table(new) as table:
        np.testing.assert_allclose(encoder.transform(table)[0], X[0])


def test_numbers_stay_numbers_with_a_few_odd_cells(tmp_path):
    numbers = [str(7 * i) for i in range(1, N)]
    plan, _, X = planned(tmp_path, {"a": [*numbers, "about 7"]})
    assert (plan.numbers, plan.gaps) == (("a",), ("a",))
    assert plan.notes == (
        "Column 'a' was read as numbers; 1 cell that is not a number, such as 'about 7', counts as "
        "missing.",
    )
    np.testing.assert_array_equal(X[:, 1], np.arange(N) == N - 1)
    plan, _, _ = planned(tmp_path, {"a": [*numbers[: N * 9 // 10], *["odd"] * (N - N * 9 // 10)]})
    assert plan.categories == ("a",)


def test_numbers_stay_numbers_with_a_stray_leading_zero(tmp_path):
    numbers = [str(7 * (i % 100)) for i in range(200)]
    plan, _, _ = planned(tmp_path, {"a": [*numbers, "007"]})
    assert plan.numbers == ("a",)
    plan, _, _ = planned(tmp_path, {"a": [*numbers, "007", "008", "009"]})
    assert plan.categories == ("a",)


def test_unique_names_with_spaces_are_identifiers(tmp_path):
    names = [f"Ada {i} Lovelace" for i in range(N)]
    plan, _, _ = planned(tmp_path, {"name": names, "a": spread(["1", "2", "3"])})
    assert plan.columns == ("a",)
    assert "'name' was left out: no value occurs twice" in plan.notes[0]
