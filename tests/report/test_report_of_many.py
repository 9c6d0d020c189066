"""The report of a check of more than two labels: its sections, its numbers, and hostile names."""

import re
from dataclasses import replace

import numpy as np
import pytest
from test_report import assert_identifiers_are_unique, assert_loads_and_runs_nothing, text_of

from many_classes import class_check, class_labels
from rankprune import ClassCheck, NoiseMatrix, audit, load_check, write_report
from rankprune.report import _plots, render_report
from rankprune.run._audit_record import AuditRecord
from rankprune.run._findings import BeforeAfter
from rankprune.run._judged_classes import JudgedClasses
from rankprune.run._words import percent

pytest.importorskip("duckdb")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

SECTIONS = (
    "The answer",
    "Can you trust this?",
    "How many labels are wrong",
    "Which labels should be which",
    "The most suspicious rows",
    "Affected groups",
    "Before and after",
    "How to reproduce this",
)


@pytest.fixture(scope="module")
def check():
    return class_check()


@pytest.fixture(scope="module")
def page(check):
    return render_report(check)


@pytest.fixture
def without_plots(monkeypatch):
    """Let pages hold an empty image for each plot: drawing them takes time."""
    monkeypatch.setattr(_plots, "_svg", lambda *_: "<svg/>")


def rows_of(page, caption):
    """Return the cells of a table as texts, row by row, given the start of its caption."""
    table = page.split(f"<caption>{caption}")[1].split("</table>")[0]
    return [
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)
        for row in re.findall(r"<tr>(.*?)</tr>", table, re.S)
    ]


def test_every_section_is_shown_and_those_of_two_labels_are_not(page, check):
    headings = re.findall(r'<section aria-labelledby="s(\d+)">\n<h2 id="s\1">\1\. (.*?)</h2>', page)
    assert headings == [(str(i), title) for i, title in enumerate(SECTIONS, 1)]
    text = text_of(page)
    assert text.index("most often “cat” should be “owl”") < text.index("Can you trust this")
    assert "3 labels" in text
    assert "The given label has the largest score in" in text
    for word in ("Positive", "positive", "Histogram", "Calibration", "threshold", "AUC"):
        assert word not in text


def test_the_table_by_label_has_the_numbers_of_the_check(page, check):
    head, total, *rows = rows_of(page, "By label")
    assert head == ["label", "rows", "suspects", "wrong", "from", "to", "most often should be"]
    whole = check.wrong_share_interval
    assert total[:3] == ["all labels", str(check.n_rows), str(check.n_suspects)]
    assert total[3:6] == [percent(share) for share in (whole.estimate, whole.low, whole.high)]
    assert {row[0] for row in rows} == set(check.classes)
    for name, n_rows, n_suspects, wrong, low, high, should_be in rows:
        k, found = check.classes.index(name), check.error_rates[name]
        assert int(n_rows) == check.tally.n_labels[k]
        assert int(n_suspects) == check.tally.n_suspects_by_label[k]
        assert [wrong, low, high] == [percent(x) for x in (found.estimate, found.low, found.high)]
        others = np.where(np.arange(3) == k, 0, check.noise_matrix.joint[k])
        assert should_be == check.classes[others.argmax()]


@pytest.mark.usefixtures("without_plots")
def test_labels_that_are_most_often_wrong_come_first(check):
    joint = [[0.3, 0.0, 0.0], [0.1, 0.2, 0.1], [0.01, 0.0, 0.29]]
    page = render_report(with_joint(check, joint))
    assert [row[0] for row in rows_of(page, "By label")[2:]] == ["dog", "owl", "cat"]
    assert rows_of(page, "By label")[-1][-1] == ""
    assert rows_of(page, "The most frequent first.")[1:] == [
        ["dog", "cat", "10.00%", "30"],
        ["dog", "owl", "10.00%", "30"],
        ["owl", "cat", "1.00%", "3"],
    ]


def with_joint(check, joint):
    """Return the check with another noise matrix."""
    matrix = NoiseMatrix(joint, check.classes)
    rates = [matrix.wrong_share, *matrix.error_rates.tolist()]
    total, *by_label = (
        replace(check.wrong_share_interval, estimate=rate, low=rate / 2, high=(1 + rate) / 2)
        for rate in rates
    )
    ranges = replace(check.intervals, wrong_share=total, error_rates=tuple(by_label))
    return replace(check, noise_matrix=replace(matrix, intervals=ranges))


def test_suspicious_rows_have_both_labels_with_their_probabilities(page, check):
    first = check.candidates[0]
    shown = page.split('<ol class="suspects">')[1].split("</details>")[0]
    assert text_of(shown).startswith(
        f" 1. row {first.number} {first.id} — labeled {first.label} "
        f"({percent(first.probability)}), likelier {first.suggested} "
        f"({percent(first.suggested_probability)})"
    )
    assert f"<dt>height</dt><dd>{first.cells[1]}</dd>" in shown
    assert "Percentages are the probabilities of both labels by models that did not" in page
    given = render_report(replace(check, out_of_fold=False))
    assert "Percentages are the probabilities of both labels, as given." in given


def test_it_is_one_file_that_loads_nothing_and_runs_nothing(page):
    assert_loads_and_runs_nothing(page)


def test_plots_have_a_title_numbers_and_unique_identifiers(page):
    assert page.count("<svg ") == page.count('role="img"') == 2
    assert_identifiers_are_unique(page)
    assert page.count("The numbers behind this plot") == 1
    assert "#010203" not in page


def test_the_same_check_gives_the_same_bytes_also_from_the_run_directory(check, page, tmp_path):
    run = check.save(tmp_path / "run")
    assert write_report(run).read_text() == render_report(check) == page
    assert isinstance(load_check(run), ClassCheck)
    assert write_report(run, tmp_path / "other.html", top=3).read_text().count("<li><details>") == 3
    with pytest.raises(ValueError, match="path must be given"):
        write_report(check)


@pytest.mark.usefixtures("without_plots")
def test_the_command_writes_the_report_again(check, tmp_path, command):
    run = check.save(tmp_path / "run")
    code, out, _ = command("report", run, "--fail-over", "1%", "-q")
    assert (code, out.strip()) == (1, str(run / "report.html"))
    assert "Which labels should be which" in (run / "report.html").read_text()


@pytest.mark.usefixtures("without_plots")
def test_columns_can_be_hidden(check):
    page = render_report(check, redact=["row id", "height"])
    assert check.candidates[0].id not in page
    assert "(redacted)" in page
    assert "Suspects by “color”" in page
    assert "Suspects by “color”" not in render_report(check, redact=["color"])


def test_clean_labels_have_no_heat_map():
    page = render_report(class_check(noise=0.0, apart=12.0))
    assert page.count("<svg ") == 1
    text = text_of(page)
    assert "Your labels look clean" in text
    assert "No label is counted as wrong." in text
    assert "None is a suspect." in text


NASTY = ('<script>alert("x")</script>', 'id="a" $2$', "url(#b)", "狗\u202e\u200b", " ")


def test_hostile_names_are_shown_and_do_nothing():
    page = render_report(class_check(400, NASTY))
    assert "<script" not in page
    assert "\u202e" not in page
    assert "狗⟨U+202E⟩⟨U+200B⟩" in page
    # As they are in plots, too.
    svg = page.split('aria-labelledby="matrix-title"')[1].split("</svg>")[0]
    for shown in ('id="a" $2$', "url(#b)", "狗⟨U+202…+200B⟩"):
        assert svg.count(f">{shown}</text>") == 2
    assert svg.count(">(empty)</text>") == 2


def test_of_many_labels_the_plots_show_the_most_confused_and_the_rest_is_folded():
    check = class_check(2400, [f"label {i}" for i in range(60)], apart=3.0)
    page = render_report(check)
    text = text_of(page)
    assert "20 of 60 labels" in page
    assert "and of the 20 labels that are most often wrong" in text
    assert "for the 20 labels that are most often confused" in text
    assert "40 more labels" in text
    first, rest = (rows_of(page, caption) for caption in ("By label", "More labels"))
    assert (len(first), len(rest)) == (22, 41)
    shown = {row[0] for row in [*first[2:], *rest[1:]]}
    assert shown == set(check.classes)
    confusions = rows_of(page, "The 100 most frequent of")
    assert len(confusions) == 101
    given, true = check.confusions()[0].given, check.confusions()[0].true
    assert confusions[1][:2] == [given, true]
    svg = page.split('aria-labelledby="matrix-title"')[1].split("</svg>")[0]
    assert f">{given}</text>" in svg
    assert f">{true}</text>" in svg


def test_the_page_stays_below_two_megabytes_whatever_the_names_and_cells():
    names = ['<&">\u202e\u200b' * 40 + str(i) for i in range(1000)]
    check = class_check(2000, names)
    cells = ("\x01" * 500,) * 3
    rows = tuple(replace(row, id="\x01" * 500, cells=cells) for row in check.candidates * 30)
    page = render_report(replace(check, candidates=rows), top=500)
    assert len(rows) > 500
    assert 1_000_000 < len(page.encode()) < 2_000_000
    assert re.search(r"\d+ more labels of 980; result.json has all", text_of(page))


def judged(check, **changes):
    """Return the check after people judged three rows of a batch."""
    rows = JudgedClasses((1, 2, 3), (0, 1, None), "model", False, 1)
    return replace(check, judged=replace(rows, **changes))


RECORD = AuditRecord(
    None, 0, 0, ("ann",), BeforeAfter(3, 0.2, 0.1, -0.3, 0.1), (), "", "model", n_judged=3, n_sure=2
)


def test_judged_rows_are_shown_with_the_ranges_before_and_after(check):
    page = render_report(judged(check), RECORD)
    assert page.count("<svg ") == 3
    text = text_of(page)
    assert "before and after people judged 2 rows" in text
    assert "the plain model is wrong about 20.0%" in text
    head, total, *rows = rows_of(page, "What the model said before people judged rows")
    assert head == ["share", "before", "after"]
    before = check.estimated_intervals
    assert total[1] == f"{percent(before.wrong_share.low)} to {percent(before.wrong_share.high)}"
    assert total[2] == str(check.wrong_share_interval)
    assert sorted(row[0] for row in rows) == [
        f"labels “{name}” that are wrong" for name in check.classes
    ]


@pytest.mark.usefixtures("without_plots")
def test_an_audit_of_very_many_labels_shows_those_that_are_most_often_wrong():
    classes = [f"label {i}" for i in range(60)]
    check, (_, truth, _) = class_check(2400, classes), class_labels(2400, classes)
    sample = check.draw_audit(25, random_state=0)
    settled = check.settle(sample, truth[sample.rows])
    page = render_report(settled, RECORD)
    rows = rows_of(page, "What the model said before people judged rows")
    by_label = [row[0] for row in rows_of(page, "By label")[2:]]
    told = [f"labels “{name}” that are wrong" for name in by_label]
    assert [row[0] for row in rows[2:]] == told[: len(rows) - 2]
    assert 1 < len(rows) < 30


@pytest.mark.usefixtures("without_plots")
def test_an_audit_without_a_result_yet_is_named(check):
    drawn = replace(RECORD, n_unjudged=25, method="design", before_after=None)
    page = render_report(check, drawn)
    assert "The blind audit is not finished: 25 of its 28 rows" in text_of(page)
    assert "Blind audit</h3>" not in page


@pytest.mark.usefixtures("without_plots")
@pytest.mark.parametrize("has_suspects", [True, False])
def test_an_audit_that_ignores_the_model_stands_beside_it(check, has_suspects):
    labels, truth, _ = class_labels()
    suspects = check.scores.suspect & has_suspects
    sample = audit.draw(labels, suspects, 100, random_state=0)
    found = audit.estimate(sample, truth[sample.rows])
    page = render_report(check, replace(RECORD, estimate=found, method="design", n_judged=100))
    text = text_of(page)
    assert f"A blind audit of 100 rows finds {percent(found.wrong_share.estimate)} of your" in text
    rows = {row[0]: row[2] for row in rows_of(page, "What the model said before people")[1:]}
    assert rows["labels “dog” that are wrong"] == str(found.error_rates[1])
    assert ("suspects that are wrong" in rows) == has_suspects
    assert "None" not in rows.values()
    assert rows["wrong labels missed"] == f"at most {found.missed_at_most}"
