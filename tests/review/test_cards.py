"""Cards of rows: hidden columns, images below a root, invisible characters."""

import os
from contextlib import ExitStack

import numpy as np
import pytest

from noisy_table import NAMES, noisy_rows, write_csv
from rankprune import check_table
from rankprune.exceptions import TableError
from rankprune.review._cards import Rows, row_hash
from rankprune.run._checked_table import open_checked

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c02"
    "0000000b4944415478da6364600000000600023081d02f0000000049454e44ae426082"
)


@pytest.fixture
def rows_of(tmp_path):
    """Check a table with extra columns and read its rows; one table per test."""
    with ExitStack() as stack:

        def read(extra, names, *, blind=False, image_root=None, hide=(), **options):
            rows, _, _ = noisy_rows(200)
            rows = [[*row, *more] for row, more in zip(rows, extra(rows), strict=True)]
            # A table must not change while it is open.
            place = tmp_path / f"table{len(list(tmp_path.iterdir()))}.csv"
            path = write_csv(place, rows, [*NAMES, *names])
            options = {"drop": [name for name in names if name not in options.values()], **options}
            check = check_table(
                path, "label", scorer=None, noise_estimator="confident-counts", **options
            )
            opened = stack.enter_context(open_checked(check))
            return Rows(check, opened, blind=blind, hide=hide, image_root=image_root)

        yield read


def names(rows, row=0):
    return [field.name for field in rows.fields(row)]


def test_an_audit_hides_columns_that_determine_the_label(rows_of):
    def extra(rows):
        rng = np.random.default_rng(0)
        return [
            [{"yes": "J", "no": "N"}[row[4]], f"{rng.random():.3f}", str(i % 2), "x"]
            for i, row in enumerate(rows)
        ]

    rows = rows_of(extra, ["copy", "score", "settled", "same"], blind=True, trusted="settled")
    assert names(rows) == ["row id", "height", "weight", "color", "score", "same"]
    assert rows.hidden == ["label", "copy", "settled"]


def test_an_audit_hides_columns_that_almost_determine_the_label(rows_of):
    def extra(rows):
        rng = np.random.default_rng(0)
        found = []
        for i, row in enumerate(rows):
            yes = row[4] == "yes"
            copy = not yes if i == 7 else yes
            found.append(
                [
                    "ja" if copy else "nein",
                    f"{yes + 0.3 * rng.random():.3f}",
                    f"{rng.random():.3f}",
                    f"{0.4 + 0.1 * yes + rng.random():.3f}" if i else "none",
                    "0.5",
                ]
            )
        return found

    columns = ["copy", "order", "chance", "weak", "rankprune_probability"]
    rows = rows_of(extra, columns, blind=True, hide=["color"])
    assert rows.hidden == ["color", "label", "copy", "order", "rankprune_probability"]
    with pytest.raises(TableError, match=r"hide must be a column of .* has no column 'colour'"):
        rows_of(extra, columns, blind=True, hide=["colour"])


def test_a_name_that_is_a_path_is_hidden_in_an_audit(rows_of):
    def extra(rows):
        return [[f"{row[4]}/{i}.png"] for i, row in enumerate(rows)]

    blind = rows_of(extra, ["file"], blind=True, id="file")
    assert blind.name(3) is None
    assert blind.fields(3)[-1].text == "(path hidden)"
    assert rows_of(extra, ["file"], id="file").name(3).endswith("/3.png")


def test_given_probabilities_are_hidden_in_an_audit_and_shown_in_a_review(rows_of):
    def extra(rows):
        return [[f"{0.1 + 0.8 * (row[4] == 'yes'):.2f}"] for row in rows]

    blind = rows_of(extra, ["p"], blind=True, probabilities="p")
    assert "p" not in names(blind)
    assert "p" in names(rows_of(extra, ["p"], probabilities="p"))


def test_redacted_columns_are_shown_to_nobody_and_a_redacted_name_is_a_number(rows_of):
    rows = rows_of(
        lambda rows: [["secret"]] * len(rows), ["x"], redact=["x", "row id"], id="row id"
    )
    assert names(rows) == ["height", "weight", "color"]
    assert rows.name(3) is None
    assert rows.find("r0003") is None


def test_rows_are_found_by_name(rows_of):
    rows = rows_of(lambda rows: [["x"]] * len(rows), ["x"], id="row id")
    assert rows.find("r0003") == 3
    assert rows.name(3) == "r0003"
    for text in ("", "0", "201", "-1", "'; DROP TABLE x"):
        assert rows.find(text) is None


def test_invisible_characters_are_shown_and_long_cells_truncated(rows_of):
    rows = rows_of(lambda rows: [["a\u202eb\x07" + "x" * 30_000]] * len(rows), ["evil\u202ename"])
    field = rows.fields(0)[-1]
    assert field.name == "evil⟨U+202E⟩name"
    assert field.text.startswith("a⟨U+202E⟩b⟨U+0007⟩")
    assert field.text.endswith("…")
    assert len(field.text) < 20_100


def test_only_the_first_of_very_many_columns_are_shown(rows_of):
    many = [f"c{i}" for i in range(300)]
    rows = rows_of(lambda rows: [["1"] * 300] * len(rows), many)
    assert len(rows.fields(0)) == 200
    assert rows.n_more == 104


class TestImages:
    @pytest.fixture
    def root(self, tmp_path):
        root = tmp_path / "images"
        (root / "deep").mkdir(parents=True)
        (root / "a.png").write_bytes(PIXEL)
        (root / "deep" / "b.JPG").write_bytes(PIXEL)
        (root / "page.html").write_text("<script>")
        (root / "vector.svg").write_text("<svg/>")
        (tmp_path / "outside.png").write_bytes(PIXEL)
        (tmp_path / "secret.txt").write_text("secret")
        os.symlink(tmp_path / "outside.png", root / "link.png")
        os.symlink(tmp_path / "secret.txt", root / "text.png")
        os.symlink(root / "page.html", root / "html.png")
        os.symlink(root / "a.png", root / "inside.png")
        return root

    CELLS = (
        ("a.png", True),
        ("deep/b.JPG", True),
        ("deep/../a.png", True),
        ("inside.png", True),
        ("link.png", False),
        ("text.png", False),
        ("html.png", False),
        ("../outside.png", False),
        ("deep/../../outside.png", False),
        ("{outside}", False),
        ("vector.svg", False),
        ("page.html", False),
        ("none.png", False),
        ("deep", False),
        ("", False),
        ("a\0.png", False),
        ("x" * 400 + ".png", False),
        ("x/" * 600 + ".png", False),
        ("a.png/b.png", False),
        ("..\\outside.png", False),
        ("%2e%2e/outside.png", False),
    )

    def test_only_images_below_the_root_are_shown(self, rows_of, root, tmp_path):
        rows = rows_of(lambda rows: [["other"]] * len(rows), ["picture"], image_root=root)
        rows.read([0])
        for cell, found in self.CELLS:
            rows._kept[0][5] = cell.replace("{outside}", str(tmp_path / "outside.png"))
            assert (rows.image(0, 5) is not None) == found, cell
            assert rows.fields(0)[-1].is_image == found, cell

    def test_without_a_root_and_for_hidden_columns_there_is_no_image(self, rows_of, root):
        rows = rows_of(lambda rows: [["a.png"]] * len(rows), ["picture"])
        assert rows.image(0, 5) is None
        rows = rows_of(
            lambda rows: [["a.png"]] * len(rows), ["picture"], image_root=root, redact=["picture"]
        )
        assert rows.image(0, 5) is None

    def test_the_path_of_an_image_is_hidden_in_an_audit(self, rows_of, root):
        rows = rows_of(
            lambda rows: [["a.png"]] * len(rows), ["picture"], image_root=root, blind=True
        )
        field = rows.fields(0)[-1]
        assert (field.is_image, field.text) == (True, "(path hidden)")

    def test_a_root_that_is_not_a_folder_is_refused(self, open_queue, tmp_path):
        with pytest.raises(TableError, match="image_root must be a folder"):
            open_queue(image_root=tmp_path / "none")


def test_the_hash_of_a_row_leaves_the_label_out():
    assert row_hash(["a", "b", None], 1) == row_hash(["a", "other", None], 1)
    assert row_hash(["a", "b", None], 1) != row_hash(["a", "b", ""], 1)
    assert row_hash(["a,b", "c"], 1) != row_hash(["a", "b,c"], 1)
