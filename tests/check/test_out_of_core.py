"""Tables with probabilities, read in batches: the same answer as in memory."""

import json

import numpy as np
import polars as pl
import pytest

from rankprune import LabelCheck, check_table, write_report
from rankprune.check import _table as check
from rankprune.exceptions import TableError, UninformativeProbabilitiesWarning
from rankprune.run._scores import SavedScores, Scores


def table(n_rows=3000, seed=0, digits=None):
    rng = np.random.default_rng(seed)
    truth = rng.random(n_rows) < 0.4
    labels = np.where(rng.random(n_rows) < 0.15, ~truth, truth)
    scores = np.clip(np.where(truth, 0.8, 0.2) + 0.15 * rng.standard_normal(n_rows), 0, 1)
    return pl.DataFrame(
        {
            "name": [f"r{i}" for i in range(n_rows)],
            "group": [f"g{i % 7}" for i in range(n_rows)],
            "text": ["some <b>words</b>"] * n_rows,
            "label": np.where(labels, "yes", "no"),
            "p": scores if digits is None else np.round(scores, digits),
        }
    )


@pytest.fixture
def both(tmp_path, monkeypatch):
    """Check a table both in memory and in batches."""

    def checked(data, suffix="parquet", **asked):
        path = tmp_path / f"table.{suffix}"
        data.write_parquet(path) if suffix == "parquet" else data.write_csv(path)
        asked = {"probabilities": "p", **asked}
        held = check_table(path, "label", **asked)
        with monkeypatch.context() as patch:
            patch.setattr(check, "_MANY_ROWS", 0)
            streamed = check_table(path, "label", **asked)
        assert isinstance(held.scores, Scores)
        assert isinstance(streamed.scores, SavedScores)
        return held, streamed

    return checked


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize("digits", [None, 1])
def test_the_papers_rates_and_all_suspects_are_the_same(both, suffix, digits):
    held, streamed = both(
        table(digits=digits), suffix, noise_estimator="confident-counts", id="name", groups="group"
    )
    for name in ("noise_rates", "estimated_rates", "positive_cutoff", "negative_cutoff", "tally"):
        assert getattr(streamed, name) == getattr(held, name), name
    for name in ("confident", "suspects", "columns", "notes", "n_groups", "source", "settings"):
        assert getattr(streamed, name) == getattr(held, name), name
    for name in ("rows", "is_positive", "probability", "suspect", "rank", "weight", "ids"):
        np.testing.assert_array_equal(getattr(streamed.scores, name), getattr(held.scores, name))
    assert list(streamed.ranked()) == list(held.ranked())
    np.testing.assert_array_equal(streamed.suspect_rows(), held.suspect_rows())
    # Scores of one digit lie on the edges of the bins.
    np.testing.assert_array_equal(streamed.histogram.positive, held.histogram.positive)
    np.testing.assert_array_equal(streamed.histogram.negative, held.histogram.negative)
    assert streamed.n_rows == 3000
    assert streamed.n_suspects == held.n_suspects > 100


def test_other_estimators_agree_to_within_the_width_of_bins(both):
    held, streamed = both(table(20_000))
    assert streamed.verdict.level == held.verdict.level == "noise found"
    for name in ("positive_noise_rate", "negative_noise_rate"):
        expected = getattr(held.noise_rates, name)
        assert getattr(streamed.noise_rates, name) == pytest.approx(expected, abs=2e-3)
        assert getattr(streamed.intervals, name).high == pytest.approx(
            getattr(held.intervals, name).high, abs=0.02
        )


def test_scores_are_read_only_when_needed(both, tmp_path, monkeypatch):
    from rankprune.run import _scores as _run_scores

    held, streamed = both(table(), noise_estimator="confident-counts", id="name")
    reads = []
    read = _run_scores._read_scores
    monkeypatch.setattr(
        _run_scores, "_read_scores", lambda *args: reads.append(args) or read(*args)
    )
    page = write_report(streamed.save(tmp_path / "run"))
    assert not reads
    assert "some &lt;b&gt;words" in page.read_text(encoding="utf-8")
    held.save(tmp_path / "other")
    files = [pl.read_parquet(tmp_path / name / "scores.parquet") for name in ("run", "other")]
    assert files[0].equals(files[1])
    again = LabelCheck.load(tmp_path / "run")
    assert not reads
    np.testing.assert_array_equal(again.scores.rank, held.scores.rank)
    assert len(reads) == 1
    assert again.scores.ids is not None
    assert len(reads) == 1
    result = json.loads((tmp_path / "run" / "result.json").read_text(encoding="utf-8"))
    assert result["n_suspects"] == held.n_suspects
    with pytest.raises(AttributeError):
        again.scores.nothing  # noqa: B018


def test_rows_without_a_label_have_no_score(both, tmp_path):
    data = table().with_columns(
        label=pl.when(pl.int_range(3000) % 10 == 3).then(None).otherwise(pl.col("label"))
    )
    held, streamed = both(data, noise_estimator="confident-counts", drop_unlabeled=True)
    assert streamed.notes == held.notes
    assert streamed.n_rows == 2700
    held.save(tmp_path / "held")
    streamed.save(tmp_path / "streamed")
    files = [pl.read_parquet(tmp_path / name / "scores.parquet") for name in ("held", "streamed")]
    assert files[0].equals(files[1])
    assert files[0].height == 3000


def test_clean_labels_have_no_suspects(both):
    data = table().with_columns(
        label=pl.when(pl.col("p") > 0.5).then(pl.lit("yes")).otherwise(pl.lit("no"))
    )
    held, streamed = both(data)
    assert streamed.verdict.level == held.verdict.level == "clean"
    assert streamed.n_suspects == 0
    assert set(streamed.scores.weight.tolist()) == {1.0}


def test_uninformative_scores_are_reported_and_give_no_suspects(both):
    data = table().with_columns(p=pl.Series(np.random.default_rng(1).random(3000)))
    with pytest.warns(UninformativeProbabilitiesWarning) as caught:
        _, streamed = both(data, noise_estimator="confident-counts")
    assert len({str(warning.message) for warning in caught}) <= 2
    assert streamed.verdict.level == "cannot tell"
    assert streamed.warnings
    assert streamed.n_suspects == 0


@pytest.mark.parametrize(
    ("change", "asked", "message"),
    [
        ({"p": 1.5}, {}, r"probabilities must lie in \[0, 1\] in every row; row 8"),
        ({"p": None}, {}, r"row 8 of 'p' holds None"),
        ({"p": float("nan")}, {}, r"row 8 of 'p' holds 'nan'"),
        ({"name": None}, {"id": "name"}, "id must be filled in for every row; row 8"),
        ({"group": None}, {"groups": "group"}, "groups must be filled in for every row; row 8"),
        ({"label": "maybe"}, {}, "probabilities must name one column per label"),
        ({}, {"rounds": 2}, "rounds must be 1"),
        ({}, {"redact": ["nothing"]}, "redact must be a column"),
    ],
)
def test_errors_are_the_same_as_in_memory(both, monkeypatch, tmp_path, change, asked, message):
    data = table()
    for name, value in change.items():
        there = pl.int_range(3000) == 7
        data = data.with_columns(
            pl.when(there)
            .then(pl.lit(value, data.schema[name]))
            .otherwise(pl.col(name))
            .alias(name)
        )
    data.write_parquet(tmp_path / "table.parquet")
    texts = []
    for many in (0, 10**9):
        monkeypatch.setattr(check, "_MANY_ROWS", many)
        with pytest.raises(TableError, match=message) as caught:
            check_table(tmp_path / "table.parquet", "label", probabilities="p", **asked)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def test_cells_can_be_hidden_and_options_without_effect_are_noted(both):
    _, streamed = both(table(), id="name", redact=["name", "text"], drop=["group"])
    assert streamed.columns == ("group", "p")
    assert streamed.suspects[0].id is None
    assert any("drop had no effect" in note for note in streamed.notes)
