from dataclasses import replace

import pytest

from rankprune.run._settings import CheckSettings
from rankprune.table._table import column_names

SETTINGS = CheckSettings(
    table="data/people.csv",
    label="label",
    pos_label="yes",
    neg_label="no",
    id="row id",
    estimator="logistic",
    noise_estimator="curve",
)


def test_settings_print_themselves_as_the_command_that_repeats_the_check():
    words = str(SETTINGS)
    assert words == (
        "rankprune check data/people.csv --label label --positive yes --id 'row id' "
        "--model logistic --scorer committee --noise-estimator curve --rounds 1 --folds 3 --seed 0"
    )


def test_every_option_that_was_used_is_in_the_command():
    words = str(
        replace(
            SETTINGS,
            table="-",
            neg_label="none",
            groups="g",
            drop=("a b",),
            text=("t",),
            delimiter=";",
            scorer=None,
            estimator="my_module:Model",
            drop_unlabeled=True,
        )
    )
    for part in (
        "check -",
        "--negative none",
        "--group g",
        "--drop 'a b'",
        "--text t",
        "--delimiter ';'",
        "--scorer model",
        "--model my_module:Model",
    ):
        assert part in words
    assert words.endswith("--drop-unlabeled")


def test_every_named_scorer_is_named_in_the_command():
    assert "--scorer with-trees" in str(replace(SETTINGS, scorer="with-trees"))
    assert "scorer='with-trees'" in str(replace(SETTINGS, scorer="with-trees", cv=None))


@pytest.mark.parametrize(
    "changed",
    [
        {"table": None},
        {"estimator": "RandomForestClassifier(n_estimators=20)"},
        {"scorer": "LogisticRegression()"},
        {"embeddings": "(an array)"},
        {"noise_estimator": "<function f>"},
        {"cv": None},
    ],
)
def test_a_call_is_printed_if_no_command_can_repeat_the_check(changed):
    words = str(replace(SETTINGS, **changed))
    assert words.startswith("rankprune.check_table(table, label='label', pos_label='yes'")


def test_a_check_of_arrays_prints_its_call():
    settings = CheckSettings(
        pos_label="1", estimator="SVC()", noise_estimator="tight", rounds=2, drop=("a",)
    )
    assert str(settings) == (
        "rankprune.check_labels(X, y, pos_label=1, drop=['a'], estimator=SVC(), "
        "noise_estimator='tight', rounds=2)"
    )


def test_a_single_string_is_one_column():
    assert column_names("review") == ("review",)
    assert column_names(["a", 3]) == ("a", "3")
