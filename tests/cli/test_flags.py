"""Messages of the library name arguments; the command line shows flags."""

import pytest

from rankprune.cli._flags import COMMAND, in_flags


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (
            "label must be a column of the table; people.csv has no column 'q'",
            "--label must be a column of the table; people.csv has no column 'q'",
        ),
        ("pos_label must be a value of 'y'", "--positive must be a value of 'y'"),
        ("The value of pos_label is not there.", "The value of --positive is not there."),
        ("pos_label and neg_label must differ", "--positive and --negative must differ"),
        (
            "It is taken. host and port must be free.",
            "It is taken. --host and --port must be free.",
        ),
        ("pass drop_unlabeled=True.", "pass --drop-unlabeled."),
        ("Pass neg_label='none'", "Pass --negative none"),
        ("Pass neg_label='n o'.", "Pass --negative 'n o'."),
        ('Use scorer="committee".', "Use --scorer committee."),
        ("You passed scorer=None.", "You passed --scorer model."),
        ("with truth=None nothing is measured", "with no --truth nothing is measured"),
        ("keep it with keep=['row id']", "keep it with --keep 'row id'"),
        ("drop=['a', 'b']", "--drop a --drop b"),
        ("drop=[]", "--drop"),
        ("cv=5, random_state=1.", "--folds 5, --seed 1."),
        ("estimator=my_module:my_model", "--model my_module:my_model"),
        ("Leave it out with drop.", "Leave it out with --drop."),
        ("folder must be a run directory", "RUN must be a run directory"),
    ],
)
def test_arguments_become_flags(message, shown):
    assert in_flags(message) == shown


@pytest.mark.parametrize(
    "message",
    [
        "--label must be a column; 'pos_label' is not one",
        'The column "n_jobs must be" is empty.',
        "Each “pos_label” is text.",
        "Rows keep their label and text; the model must be fitted again.",
        "the label must be filled in",
        "run cannot be written to: Read-only file system. Choose another folder.",
        "Fit it in Python: RankPruningClassifier(...).fit(X, y, trusted=settled, cv=3)",
        "Pass predict_proba(X)[:, 1], not decision scores.",
        "/data/cv/n_jobs/pos_label.csv is empty, and so is cv.csv",
        "the model's n_jobsx and my_pos_label, a cv-like word",
    ],
)
def test_values_code_files_and_english_words_stay(message):
    assert in_flags(message) == message


@pytest.mark.parametrize(
    ("command", "message", "shown"),
    [
        ("check", "table must be a file", "TABLE must be a file"),
        ("train", "table must be a file", "--table must be a file"),
        ("predict", "path must be a model", "MODEL must be a model"),
        ("predict", "allow it: trusted=['my.Type']", "allow it: --trust my.Type"),
        ("check", "trusted must be a column", "--trusted must be a column"),
    ],
)
def test_some_arguments_have_other_flags_in_some_commands(command, message, shown):
    token = COMMAND.set(command)
    try:
        assert in_flags(message) == shown
    finally:
        COMMAND.reset(token)
