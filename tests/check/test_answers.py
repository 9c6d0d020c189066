"""One answer: shown, stored and applied results all come from the same object."""

import re

import numpy as np
import pytest
from sklearn.datasets import make_classification

from noisy_table import NAMES, noisy_rows, write_csv
from rankprune import LabelCheck, check_labels, check_table, flip_labels
from rankprune.check import _table
from rankprune.exceptions import ClassAlmostEmptiedWarning, TableError
from rankprune.export import export_table
from rankprune.model import train_model, train_reviewed
from rankprune.run._sentences import training_sentence

pytest.importorskip("duckdb")
pytest.importorskip("skops")


@pytest.fixture(scope="module")
def hard(tmp_path_factory):
    """A hard problem whose overlap looks like noise, so that the verdict is "cannot tell"."""
    rng = np.random.RandomState(0)
    truth = rng.rand(600) < 0.5
    x = truth + rng.randn(600)
    rows = [
        [f"{value:.6f}", "yes" if label else "no"] for value, label in zip(x, truth, strict=True)
    ]
    path = write_csv(tmp_path_factory.mktemp("hard") / "hard.csv", rows, ["x", "label"])
    check = check_table(path, "label", scorer=None)
    assert check.verdict.level == "cannot tell"
    assert check.estimated_rates.reliable
    return path, check


def test_without_noise_found_there_are_no_suspects(hard):
    _, check = hard
    assert (check.n_suspects, check.suspects, len(check.suspect_rows())) == (0, (), 0)
    assert (check.positive_cutoff, check.negative_cutoff) == (None, None)
    assert set(check.scores.weight) == {1.0}
    assert check.wrong_share_interval.low == 0 < 0.1 < check.wrong_share_interval.high
    assert check.n_candidates == np.ceil(600 * check.wrong_share_interval.high)
    assert len(check.candidate_rows()) == check.n_candidates
    assert not any(row.is_suspect for row in check.candidates)


def test_training_drops_nothing_unless_asked_to(hard):
    _, check = hard
    assert (train_model(check).n_pruned, train_model(check).n_rows) == (0, 600)
    rates = check.estimated_rates
    expected = round(rates.positive_label_error_rate * rates.n_positive) + round(
        rates.negative_label_error_rate * rates.n_negative
    )
    assert train_model(check, prune=True).n_pruned == expected > 0


def test_training_reports_how_many_rows_it_used(hard):
    _, check = hard
    assert training_sentence(check, 0) == (
        "Trained on all 600 rows. The check could not tell whether labels are wrong, so none were "
        "dropped; pass prune=True to drop the least believable ones anyway."
    )
    assert training_sentence(check, 40) == "Trained on 560 of 600 rows."


def test_training_with_settled_labels_drops_nothing_either(hard):
    _, check = hard
    rows, labels = np.asarray([0, 1]), np.asarray([True, False])
    assert train_reviewed(check, rows, labels).n_pruned == 0
    assert train_reviewed(check, rows, labels, prune=True).n_pruned > 0


def test_exporting_drops_nothing_unless_asked_to(hard, tmp_path):
    _, check = hard
    assert export_table(check, tmp_path / "a.csv", drop_suspects=True) == (600, 0)
    kept, removed = export_table(check, tmp_path / "b.csv", drop_suspects=True, prune=True)
    assert (kept + removed, removed) == (600, train_model(check, prune=True).n_pruned)


def test_trusted_rows_are_kept_even_with_prune(tmp_path):
    rng = np.random.RandomState(0)
    truth = rng.rand(600) < 0.5
    x = truth + rng.randn(600)
    rows = [
        [f"{value:.6f}", str(int(i % 2)), "yes" if label else "no"]
        for i, (value, label) in enumerate(zip(x, truth, strict=True))
    ]
    path = write_csv(tmp_path / "t.csv", rows, ["x", "settled", "label"])
    check = check_table(path, "label", trusted="settled", scorer=None)
    assert check.verdict.level == "cannot tell"
    export_table(check, tmp_path / "out.csv", drop_suspects=True, prune=True)
    left = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert sum(line.split(",")[1] == "1" for line in left) == 300
    assert len(left) < 600


def test_uninformative_scores_are_never_used_for_pruning(tmp_path):
    rng = np.random.RandomState(0)
    rows = [[f"{rng.rand():.3f}", "yes" if i % 2 else "no"] for i in range(300)]
    path = write_csv(tmp_path / "t.csv", rows, ["x", "label"])
    with pytest.warns(match="tell"):
        check = check_table(path, "label", scorer=None)
    assert train_model(check).n_pruned == 0
    with pytest.raises(TableError, match=r"prune must be False here"):
        train_model(check, prune=True)


@pytest.mark.parametrize("scorer", [None, "with-trees", "committee"])
def test_the_reasons_show_the_numbers_of_the_answer(scorer):
    X, truth = make_classification(1500, class_sep=2, flip_y=0, random_state=0)
    y = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0.2, random_state=0)
    check = check_labels(X, y, scorer=scorer, noise_estimator="confident-counts")
    assert check.verdict.level == "noise found"
    assert check.verdict.noise_rates == check.noise_rates == check.estimated_rates
    reasons = " ".join(check.verdict.reasons)
    assert f"{check.noise_rates.positive_label_error_rate:.1%}" in reasons
    assert f"{check.noise_rates.negative_label_error_rate:.1%}" in reasons


def test_every_output_shows_the_same_number():
    truth = np.repeat([0, 1], 500)
    labels = flip_labels(truth, positive_noise_rate=0.01, negative_noise_rate=0, random_state=0)
    check = check_labels(None, labels, probabilities=0.1 + 0.8 * truth)
    assert check.verdict.level == "clean"
    stored = check.to_dict()
    for name in ("positive_noise_rate", "negative_noise_rate", "positive_label_error_rate"):
        interval = getattr(check.intervals, name)
        assert stored[name] == getattr(check.noise_rates, name) == interval.estimate
        assert stored["intervals"][name]["estimate"] == interval.estimate
        assert interval.low <= interval.estimate <= interval.high
    assert stored["wrong_share"] == check.wrong_share == 0
    points = [float(found) for found in re.findall(r"([\d.]+)% \(", str(check))]
    assert points == [0.0] * 5


@pytest.mark.parametrize("many", [10, 10_000])
def test_a_class_that_was_almost_emptied_is_warned_of_whatever_the_number_of_rows(
    tmp_path, monkeypatch, many
):
    rows = [["0.9", "yes"]] * 40 + [["0.9", "no"]] * 40 + [["0.2", "no"]] * 400
    path = write_csv(tmp_path / "t.csv", rows, ["p", "label"])
    monkeypatch.setattr(_table, "_MANY_ROWS", many)

    def all_wrong(labels, probabilities, *, sample_weight=None):
        from rankprune import NoiseRates

        return NoiseRates.from_label_error_rates(0.995, 0.0, observed_prevalence=40 / 480)

    with pytest.warns(ClassAlmostEmptiedWarning):
        check = check_table(path, "label", probabilities="p", noise_estimator=all_wrong)
    assert any("every row" in warning for warning in check.warnings)


def test_rows_are_positions_in_python_and_numbers_in_files(tmp_path):
    pd = pytest.importorskip("pandas")
    rows, _, _ = noisy_rows(400)
    frame = pd.DataFrame(rows, columns=NAMES, index=[f"r{i}" for i in range(400)])
    check = check_table(frame, "label", id="row id", scorer=None)
    first = check.suspects[0]
    assert first.row == check.suspect_rows()[0]
    assert (first.number, first.index) == (first.row + 1, f"r{first.row}")
    assert first.id == rows[first.row][NAMES.index("row id")]
    assert frame.loc[first.index, "row id"] == first.id
    again = LabelCheck.load(check.save(tmp_path / "run"))
    assert again.scores.index.tolist() == frame.index.tolist()
    assert next(again.ranked()) == next(check.ranked())


def test_the_index_of_arrays_is_kept_too():
    pd = pytest.importorskip("pandas")
    rng = np.random.RandomState(0)
    truth = np.repeat([0, 1], 200)
    y = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0.1, random_state=0)
    X = pd.DataFrame({"x": truth + 0.1 * rng.randn(400)}, index=np.arange(1000, 1400))
    check = check_labels(X, y, scorer=None)
    assert check.suspects[0].index == str(check.suspects[0].row + 1000)
    assert check_labels(X.to_numpy().tolist(), y, scorer=None).scores.index is None


def test_scores_that_are_too_good_are_noted():
    labels = np.repeat([0, 1], 200)
    check = check_labels(None, labels, probabilities=0.1 + 0.8 * labels)
    assert check.verdict.level == "clean"
    assert check.notes == (
        "These scores fit the labels almost perfectly. If the model was trained on these rows, "
        "this proves nothing; pass out-of-fold scores.",
    )


def test_scores_of_the_other_label_are_noted():
    rng = np.random.RandomState(0)
    labels = np.repeat([0, 1], 200)
    scores = np.clip(0.5 + 0.2 * labels + 0.2 * rng.randn(400), 0, 1)
    with pytest.warns(match="tell"):
        check = check_labels(None, labels, probabilities=1 - scores)
    assert check.notes == ("These look like scores of the other label.",)
    assert check_labels(None, labels, probabilities=scores).notes == ()


def test_few_rows_are_not_called_clean():
    labels = np.repeat([0, 1], 15)
    check = check_labels(None, labels, probabilities=0.1 + 0.8 * labels)
    assert check.verdict.level == "cannot tell"
    for _, interval in check.intervals.items():
        assert interval.low < interval.high


def test_a_single_column_may_be_named_by_a_string(tmp_path):
    rows, _, _ = noisy_rows(200)
    path = write_csv(tmp_path / "t.csv", rows)
    check = check_table(path, "label", drop="color", redact="height", scorer=None)
    assert (check.settings.drop, check.settings.redact) == (("color",), ("height",))


def test_the_default_model_of_arrays_accepts_unscaled_numbers_gaps_and_texts():
    pd = pytest.importorskip("pandas")
    rng = np.random.RandomState(0)
    truth = np.repeat([0, 1], 200)
    X = pd.DataFrame(
        {
            "large": 1e7 * (truth + 0.3 * rng.randn(400)),
            "tiny": 1e-7 * rng.randn(400),
            "color": np.where(rng.rand(400) < 0.5, "red", None),
        }
    )
    X.loc[5, "large"] = np.nan
    y = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0.1, random_state=0)
    check = check_labels(X, y)
    assert check.warnings == ()
    assert (y != truth)[check.suspect_rows()].mean() > 0.7
