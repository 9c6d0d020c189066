import re
from dataclasses import replace

import numpy as np
import pytest

from noisy_table import NAMES, noisy_csv, noisy_rows, write_csv
from rankprune import LabelCheck, check_table, flip_labels, write_report
from rankprune.report import render_report
from rankprune.run._findings import Stability
from rankprune.run._sentences import trust_points
from rankprune.run._visible import visible

pytestmark = pytest.mark.usefixtures("two_scorings")

pytest.importorskip("duckdb")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

HOSTILE = '<script>alert("x")</script>'


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    path, _, _ = noisy_csv(tmp_path_factory.mktemp("people"), n=400)
    return check_table(path, "label", id="row id", scorer=None)


@pytest.fixture(scope="module")
def page(check):
    return render_report(check)


def text_of(page):
    page = re.sub(r"<(style|svg).*?</\1>", "", page, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_every_section_is_shown_and_the_verdict_comes_first(page, check):
    numbers = re.findall(r"<h2 id=\"s\d+\">(\d+)\.", page)
    assert numbers == [str(i) for i in range(1, 12)]
    text = text_of(page)
    assert text.index("of your labels are wrong") < text.index("Can you trust this")
    assert f"{check.n_suspects} of 400" not in text
    assert f"{check.intervals.positive_noise_rate.low:.1%}" in text


def test_it_is_one_file_that_loads_nothing_and_runs_nothing(page):
    assert_loads_and_runs_nothing(page)


def assert_loads_and_runs_nothing(page):
    """Assert that a page is one file without scripts."""
    assert "default-src 'none'" in page
    assert "<script" not in page
    loads = re.findall(r"(?:src|href)=\"([^\"]*)\"", page)
    assert all(place.startswith("#") for place in loads)
    assert not re.search(r"url\((?!#)", page)
    assert not re.search(r"@import|javascript:| on\w+=", page)


def test_plots_have_a_title_a_table_and_unique_identifiers(page):
    assert page.count("<svg ") == 4
    assert page.count('role="img"') == 4
    assert_identifiers_are_unique(page)
    assert page.count("The numbers behind this plot") == 3
    assert "#010203" not in page


def assert_identifiers_are_unique(page):
    """Assert that every identifier exists once, and every reference has its own."""
    identifiers = re.findall(r'\bid="([^"]+)"', page)
    assert len(identifiers) == len(set(identifiers))
    for reference in re.findall(r'(?:href="#|url\(#|aria-labelledby=")([^")]+)', page):
        assert reference in identifiers


def test_the_same_check_gives_the_same_bytes(check, page):
    assert render_report(check) == page


def test_it_is_drawn_again_from_the_run_directory_alone(check, page, tmp_path):
    run = check.save(tmp_path / "run")
    place = write_report(run)
    assert place.read_text() == page
    assert write_report(run, tmp_path / "other.html", top=3).read_text().count("<li><details>") == 3
    with pytest.raises(ValueError, match="path must be given"):
        write_report(LabelCheck.load(run))


def test_columns_can_be_hidden(check):
    first = check.suspects[0]
    page = render_report(check, redact=["row id", "height"])
    assert first.id not in page
    assert first.cells[1] not in page
    assert "(redacted)" in page
    assert "Suspects by “color”" in page
    assert "Suspects by “color”" not in render_report(check, redact=["color"])
    with pytest.raises(ValueError, match=r"redact must name columns of the run, got 'zzz'"):
        render_report(check, redact=["zzz"])


def test_hostile_names_and_cells_are_shown_and_do_nothing(tmp_path):
    rows, _, _ = noisy_rows(200)
    bidi = "abc\u202edcba"
    rows = [
        [f"{HOSTILE}{i}", *row[1:3], bidi, "yes'\"><b>" if row[4] == "yes" else HOSTILE]
        for i, row in enumerate(rows)
    ]
    names = [HOSTILE, "height", "weight", "<img src=x onerror=alert(1)>", "<b>label</b>"]
    path = write_csv(tmp_path / "<script>a.csv", rows, names)
    check = check_table(path, "<b>label</b>", id=HOSTILE, scorer=None)
    page = render_report(check)
    assert "<script" not in page
    assert "<img" not in page
    assert "<b>label" not in page
    assert "\u202e" not in page
    assert "abc⟨U+202E⟩dcba" in page
    assert "&lt;script&gt;" in page


def test_invisible_characters_are_shown_and_long_texts_truncated():
    assert visible("a\x00b\u200bc\ue000") == "a⟨U+0000⟩b⟨U+200B⟩c⟨U+E000⟩"
    assert visible("line\nnext\tä") == "line\nnext\tä"
    assert visible("x" * 600) == "x" * 500 + "…"


def test_the_page_stays_below_two_megabytes_whatever_the_cells(tmp_path):
    rows, _, _ = noisy_rows(1200, noise=(0.4, 0.3))
    nasty = '<&">' * 300
    extra = [f"col <&> {i}" for i in range(45)]
    rows = [[*row, *[nasty] * 45] for row in rows]
    path = write_csv(tmp_path / "t.csv", rows, [*NAMES, *extra])
    check = check_table(path, "label", scorer=None)
    page = render_report(check, top=500)
    assert check.n_suspects > 200
    assert len(page.encode()) < 2_000_000
    assert "scores.parquet has the rank of every row" in text_of(page)
    assert len(check.notes) >= 45
    assert "more notes are in" in text_of(page)


def test_characters_shown_by_code_count_towards_the_page_size(tmp_path):
    rows, _, _ = noisy_rows(1200, noise=(0.4, 0.3))
    rows = [[*row, "\x01" * 500] for row in rows]
    path = write_csv(tmp_path / "t.csv", rows, [*NAMES, "signs"])
    page = render_report(check_table(path, "label", scorer=None), top=500)
    assert len(page.encode()) < 2_000_000


def test_no_suspects_are_shown_with_top_zero(check):
    text = text_of(render_report(check, top=0))
    assert f"{check.n_candidates} rows to look at are in scores.parquet" in text
    assert "There are no rows to look at." not in text


def test_given_probabilities_are_not_called_checked(check, tmp_path):
    rows, _, _ = noisy_rows(400)
    rows = [
        [*row, repr(float(p)), str(i % 20), str(int(i % 4 == 0))]
        for i, (row, p) in enumerate(zip(rows, check.scores.probability, strict=True))
    ]
    path = write_csv(tmp_path / "t.csv", rows, [*NAMES, "p", "g", "settled"])
    given = check_table(path, "label", probabilities="p", groups="g", trusted="settled")
    assert levels(given)[0] == levels(given)[5] == "open"
    text = text_of(render_report(given))
    assert "groups stayed together" not in text
    assert "could not be compared: the probabilities were given" in text


def test_a_clean_table_is_called_clean(tmp_path):
    rows, _, _ = noisy_rows(600, noise=(0.0, 0.0))
    check = check_table(write_csv(tmp_path / "t.csv", rows), "label", scorer=None)
    assert check.verdict.level == "clean"
    text = text_of(render_report(check))
    assert "Your labels look clean" in text
    assert "None is a suspect." in text
    assert f"0.0% to {check.wrong_share_interval.high:.1%} of the labels wrong" in text
    assert "cannot be told from overlapping classes" in text


def test_before_and_after_is_shown_only_for_trusted_labels(check, page, tmp_path):
    assert "cannot be compared yet" in text_of(page)
    rows, _, _ = noisy_rows(400)
    rows = [[*row, str(int(i % 4 == 0))] for i, row in enumerate(rows)]
    path = write_csv(tmp_path / "t.csv", rows, [*NAMES, "settled"])
    trusted = check_table(path, "label", trusted="settled", scorer=None)
    text = text_of(render_report(trusted))
    assert "On 100 rows with a trusted label" in text
    assert "cannot be compared yet" not in text


def levels(check):
    return [point.level for point in trust_points(check)]


def test_reasons_against_trust_are_shown(check):
    assert levels(check)[0] == "good"
    weak = replace(check, out_of_fold=False, duplicates=None, stability=None)
    assert levels(weak)[0] == "open"
    assert levels(weak)[5:] == ["open", "open"]
    found = replace(check.duplicates, n_rows=10, n_straddling=4, n_contradicting=2)
    repeated = trust_points(replace(check, duplicates=found))[6]
    assert (repeated.level, "Look at some" in repeated.advice) == ("beware", True)
    harmless = replace(found, n_straddling=0, n_contradicting=0)
    assert levels(replace(check, duplicates=harmless))[6] == "good"
    assert trust_points(replace(check, n_groups=7))[5].answer == "No: 7 groups stayed together."


@pytest.mark.parametrize(("clean_auc", "level"), [(0.99, "good"), (0.9, "beware"), (0.7, "bad")])
def test_weak_models_are_not_trusted(check, clean_auc, level):
    verdict = replace(check.verdict, clean_auc=clean_auc)
    assert levels(replace(check, verdict=verdict))[1] == level


def test_unreliable_rates_and_slopes_are_named(check):
    rates = replace(check.estimated_rates, reliable=False)
    assert levels(replace(check, estimated_rates=rates))[3] == "bad"
    for flat, level in ((True, "good"), (False, "beware"), (None, "open")):
        side = replace(check.separability.positive, flat=flat)
        other = replace(check.separability.negative, flat=True)
        curve = replace(check.separability, positive=side, negative=other)
        assert levels(replace(check, separability=curve))[4] == level


def test_a_check_of_arrays_has_a_report_too(tmp_path):
    from rankprune import check_labels

    rng = np.random.RandomState(0)
    truth = rng.randint(0, 2, 300)
    y = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0.2, random_state=0)
    X = rng.normal(3 * truth[:, None], 1, (300, 3))
    page = render_report(check_labels(X, y, scorer=None))
    assert "rankprune.check_labels(X, y, scorer=None)" in page
    assert "not stored" in page


@pytest.mark.parametrize(
    ("counts", "level", "answer"),
    [
        ((209, 209, 0), "good", "No: with other folds and seeds the verdict and suspects are the"),
        ((0, 0, 0), "good", "No: with other folds and seeds the verdict is the same."),
        ((200, 190, 1), "good", "190 of 200 suspects stay, and 1 other row becomes a suspect."),
        ((200, 190, 30), "beware", "190 of 200 suspects stay, and 30 other rows become suspects."),
        ((200, 100, 0), "beware", "100 of 200 suspects stay, and 0 other rows become suspects."),
        ((1, 0, 0), "bad", "0 of 1 suspect stay, and 0 other rows become suspects."),
        ((0, 0, 3), "bad", "0 of 0 suspects stay, and 3 other rows become suspects."),
    ],
)
def test_suspects_that_depend_on_the_folds_are_reported(check, counts, level, answer):
    point = trust_points(replace(check, stability=Stability(*counts, level="noise found")))[-1]
    assert point.question == "Does the answer depend on the folds?"
    assert point.level == level
    assert answer in point.answer
    assert "with other folds and seeds" in point.answer.lower()
    assert ("from the top of the list" in point.advice) == (level != "good")


def test_a_verdict_that_depends_on_the_folds_is_reported(check):
    found = Stability(check.n_suspects, 0, 0, "cannot tell")
    text = text_of(render_report(replace(check, stability=found)))
    assert "Yes: with other folds and seeds the verdict is “cannot tell”." in text
    assert "People who judge a random sample of rows can settle the verdict." in text


def test_a_report_without_stability_is_silent_about_it(check, page):
    assert "Does the answer depend on the folds?" in text_of(page)
    text = text_of(render_report(replace(check, stability=None)))
    assert "depend on the folds" not in text
    assert "other folds and seeds" not in text


LEVELS = ["clean", "noise found", "cannot tell"]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("flat", [True, False])
def test_no_report_both_denies_and_claims_overlap(check, level, flat):
    sides = (check.separability.positive, check.separability.negative)
    positive, negative = (replace(side, flat=flat) for side in sides)
    curve = replace(check.separability, positive=positive, negative=negative)
    reasons = check.verdict.reasons if level == "noise found" else ("Because.",)
    verdict = replace(check.verdict, level=level, reasons=reasons)
    text = text_of(render_report(replace(check, verdict=verdict, separability=curve)))
    assert "overlap does not explain it" not in text
    assert not (level == "noise found" and re.search(r"(is|be) overlap\b", text))
    assert ("overlapping classes look alike here" in text) == (level == "cannot tell")


@pytest.mark.parametrize("level", LEVELS)
def test_the_share_of_wrong_labels_is_one_number_wherever_it_is_shown(check, level):
    other = check.estimated_rates.with_known(positive=0.37, negative=0.41)
    shown = replace(
        check, verdict=replace(check.verdict, level=level, reasons=()), estimated_rates=other
    )
    page, terminal = text_of(render_report(shown)), str(shown)
    wrong = f"{check.wrong_share:.1%}"
    assert (wrong in terminal.splitlines()[0]) == (level != "clean")
    assert (f"of the labels wrong, most likely {wrong}" in page) == (level != "clean")
    total = check.wrong_share_interval
    assert f"{total.low:.1%} to {total.high:.1%} of the labels wrong" in page
    assert f"{total.high:.1%}" in terminal.splitlines()[0]
    assert f"{other.wrong_share:.1%}" not in page + terminal
    for name in ("positive_label_error_rate", "negative_label_error_rate"):
        assert f"{shown.to_dict()[name]:.1%}" in page
        assert f"{shown.to_dict()[name]:.1%}" in terminal


def test_the_report_explains_row_numbers_and_names(check, page):
    assert (
        "rows of the table, counted from 1 without the header; names are from the column “row id”."
        in text_of(page)
    )
    first = check.suspects[0]
    assert f"row {first.row + 1} <span" in page.replace(",", "")
    unnamed = replace(check, settings=replace(check.settings, id=None))
    assert "Row numbers are rows of the table, counted from 1 without the header. Open" in text_of(
        render_report(unnamed)
    )
