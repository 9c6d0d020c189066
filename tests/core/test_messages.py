"""The full wording of every error and warning of the core: what people read when stuck."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from rankprune import NoiseRates, estimate_noise_rates, flip_labels, prune_labels
from rankprune.core import (
    ConfidentState,
    add_uniform_rows,
    expected_noise_rates,
    expected_thresholds,
    judge_labels,
    make_gaussians,
    robustness_conditions,
    unlabeled_weights,
)
from rankprune.core._inputs import (
    validate_batch,
    validate_batch_labels,
    validate_labels,
    validate_probabilities,
    validate_sample_weight,
    validate_trusted,
    validate_weighted_labels,
)
from rankprune.core._parameters import validate_rate, validate_share
from rankprune.core._random import as_generator

RATES = NoiseRates.from_noise_rates(0.1, 0.1, 0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: validate_labels(None),
            "labels must hold one label per row: Rank Pruning requires y to be passed, but the "
            "target y is None. Pass the given labels, right or wrong.",
        ),
        (
            lambda: validate_batch([[0, 1]], [0.1, 0.2]),
            "labels must be one-dimensional in every batch, got shape (1, 2). Pass a single "
            "column.",
        ),
        (
            lambda: validate_batch([0, 1], [[0.1, 0.2]]),
            "probabilities must be one-dimensional in every batch, got shape (1, 2). Pass a single "
            "column.",
        ),
        (
            lambda: validate_batch([0, 1], ["a", "b"]),
            "probabilities must be real numbers, got dtype <U1. Pass predict_proba(X)[:, 1].",
        ),
        (
            lambda: validate_batch([0, 1], np.ma.array([0.1, 0.2], mask=[False, True])),
            "probabilities must not be missing; row 1 is masked. Leave masked rows out, or fill "
            "them.",
        ),
        (
            lambda: validate_batch(np.array([0, 2], dtype=np.uint8), [0.1, 0.2]),
            "labels must be 0 or 1 in every batch; row 1 of a batch holds 2. For other labels, "
            "name the positive one with pos_label.",
        ),
        (
            lambda: validate_batch(np.array([0, -1], dtype=np.int8), [0.1, 0.2]),
            "labels must be 0 or 1 in every batch; row 1 of a batch holds -1. For other labels, "
            "name the positive one with pos_label.",
        ),
        (
            lambda: validate_batch_labels(np.ma.array([0, 1], mask=[False, True])),
            "labels must not be missing; row 1 is masked. Leave masked rows out, or fill them.",
        ),
        (
            lambda: ConfidentState().after_pass(),
            "batches must hold at least one row, got none. Check the selection.",
        ),
        (
            lambda: ConfidentState().update([1, 1], [0.1, 0.2]).after_pass(),
            "labels must hold two classes, but none of 2 rows is negative. Pass rows of both "
            "classes, or name the positive label with pos_label.",
        ),
        (
            lambda: ConfidentState().update([0, 0], [0.1, 0.2]).after_pass(),
            "labels must hold two classes, but none of 2 rows is positive. Pass rows of both "
            "classes, or name the positive label with pos_label.",
        ),
        (
            lambda: judge_labels([0, 1, 1], [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]]),
            "probabilities must hold P(positive) of each model, one column per model; two columns "
            "that add up to 1 are those of the two classes. Pass predict_proba(X)[:, 1].",
        ),
        (
            lambda: as_generator("seed"),
            "random_state must be an int of at least 0, a Generator, a RandomState or None, got "
            "'seed'. Pass an int for reproducible results.",
        ),
        (
            lambda: unlabeled_weights([0.1], 0),
            "label_frequency must lie in (0, 1], got 0. It is the share of the positives that are "
            "labeled, 1 - positive_noise_rate.",
        ),
        (
            lambda: NoiseRates.from_true_labels(["a", "b", "b"], ["a", "b"]),
            "true_labels must have the values and the length of labels, got 3 of ['a', 'b'] for 2 "
            "of ['a', 'b']. Pass both for the same rows, with the same values.",
        ),
        (
            lambda: prune_labels([0, 1], [0.1, 0.2], 0.1),
            "noise_rates must be NoiseRates, got float. Pass what estimate_noise_rates returns, or "
            "NoiseRates.from_noise_rates(...).",
        ),
        (
            lambda: add_uniform_rows(np.zeros((2, 2)), [0, 1], share=-1.0),
            "share must be a finite number of at least 0, got -1.0. Pass 0.5 to add half as many "
            "rows as there are.",
        ),
        (
            lambda: validate_labels([]),
            "labels must hold at least one row, got none. Check the selection.",
        ),
        (
            lambda: validate_labels([[0, 1]]),
            "labels must be one-dimensional, one label per row, got shape (1, 2). Pass a single "
            "column, e.g. with ravel().",
        ),
        (
            lambda: validate_labels([1.0, np.nan]),
            "labels must not be missing; row 1 holds nan (1 missing in all). Leave these rows "
            "out, or label them.",
        ),
        (
            lambda: validate_labels([1, 1]),
            "labels must hold two classes, got one class only: [1]. Pass rows of both classes.",
        ),
        (
            lambda: validate_labels([0, 1, 2]),
            "labels must hold two classes, got 3: 0, 1, 2. Only binary classification is "
            "supported. The type of the target is multiclass. "
            "RankPruningClassifier takes any number of classes, and so does estimate_noise_rates "
            "with a column of probabilities per class; for other classifiers, use "
            "sklearn.multiclass.OneVsRestClassifier, or pass labels == value.",
        ),
        (
            lambda: validate_labels([0, 1, 2, 3, 4]),
            "labels must hold two classes, got 5: 0, 1, 2, 3, 4. Only binary classification is "
            "supported. The type of the target is multiclass. "
            "RankPruningClassifier takes any number of classes, and so does estimate_noise_rates "
            "with a column of probabilities per class; for other classifiers, use "
            "sklearn.multiclass.OneVsRestClassifier, or pass labels == value.",
        ),
        (
            lambda: validate_labels([0, 1, 2, 3, 4, 5]),
            "labels must hold two classes, got 6: 0, 1, 2, 3, 4, .... Only binary classification "
            "is supported. The type of the target is multiclass. "
            "RankPruningClassifier takes any number of classes, and so does estimate_noise_rates "
            "with a column of probabilities per class; for other classifiers, use "
            "sklearn.multiclass.OneVsRestClassifier, or pass labels == value.",
        ),
        (
            lambda: validate_labels([0.1, 0.2, 0.3]),
            "labels must hold classes, got continuous values such as 0.1. Unknown label type:"
            " continuous. Cut the values at a threshold, or use a regressor.",
        ),
        (
            lambda: validate_labels([1j, 2j]),
            "labels must be numbers, booleans or strings, got dtype complex128. Complex data not "
            "supported. Convert them, e.g. with astype(str).",
        ),
        (
            lambda: validate_labels(np.array(["2020-01-01"], dtype="M8[D]")),
            "labels must be numbers, booleans or strings, got dtype datetime64[D]. Convert them, "
            "e.g. with astype(str).",
        ),
        (
            lambda: validate_labels(np.array([1, "a"], dtype=object)),
            "labels must be of one type that can be sorted, got int, str. Convert them, e.g. with"
            " astype(str).",
        ),
        (
            lambda: validate_labels([0, 1], pos_label=7),
            "pos_label must be one of the two label values [0, 1], got 7. Pass the class you want"
            " to detect, with the same type as in the labels.",
        ),
        (
            lambda: validate_probabilities([[0.1, 0.9]], 1),
            "probabilities must be one-dimensional, one P(positive) per row, got shape (1, 2). "
            "Pass one column: predict_proba(X)[:, 1] if the positive class is classes_[1].",
        ),
        (
            lambda: validate_probabilities([[[0.1]]], 1),
            "probabilities must be one-dimensional, one P(positive) per row, got shape (1, 1, 1)."
            " Pass a single column, e.g. with ravel().",
        ),
        (
            lambda: validate_probabilities([0.0, 1.0, 1.3], 3),
            "probabilities must lie in [0, 1]; row 2 holds 1.3. Pass predict_proba(X)[:, 1], not "
            "decision scores.",
        ),
        (
            lambda: validate_probabilities([np.nan], 1),
            "probabilities must lie in [0, 1]; row 0 holds nan. Find out why the model gives no "
            "score there, or leave the row out.",
        ),
        (
            lambda: validate_probabilities(["a"], 1),
            "probabilities must be real numbers, got dtype <U1. Pass predict_proba(X)[:, 1].",
        ),
        (
            lambda: validate_probabilities([0.5], 2),
            "probabilities must have one value per label, got 1 for 2 labels. Check that both "
            "come from the same rows.",
        ),
        (
            lambda: validate_sample_weight([-1], 1),
            "sample_weight must be finite and not negative; row 0 holds -1.0. A weight of 0 "
            "leaves a row out.",
        ),
        (
            lambda: validate_sample_weight([0], 1),
            "sample_weight must be above 0 for some row; all weights are zero. Pass None to weight"
            " all rows equally.",
        ),
        (
            lambda: validate_weighted_labels(["no", "yes"], [1e10, 1e-10]),
            "sample_weight must give each class at least 1e-12 of the total weight; rows labeled "
            "'yes' have 1e-20 of it. Reduce the largest weights.",
        ),
        (
            lambda: validate_weighted_labels(["no", "yes"], [1e-10, 1e10]),
            "sample_weight must give each class at least 1e-12 of the total weight; rows labeled "
            "'no' have 1e-20 of it. Reduce the largest weights.",
        ),
        (
            lambda: validate_sample_weight(["a"], 1),
            "sample_weight must be real numbers, got dtype <U1. Pass one number per row, or None.",
        ),
        (
            lambda: validate_trusted([1], 1),
            "trusted must be a boolean array, got dtype int64. Mark settled rows with True, the "
            "others with False.",
        ),
        (
            lambda: validate_rate("a", "rate"),
            "rate must be a number in [0, 1), got 'a'. Pass a share such as 0.1, or leave it out "
            "to have it estimated.",
        ),
        (
            lambda: validate_rate(2, "rate"),
            "rate must lie in [0, 1), got 2. It is a share of rows, not a count or a percentage.",
        ),
        (
            lambda: validate_share(0, "share"),
            "share must lie strictly between 0 and 1, got 0. Both classes must be present.",
        ),
        (
            lambda: NoiseRates.from_noise_rates(0.62, 0.45, 0.5),
            "positive_noise_rate + negative_noise_rate must be below 1, got 0.62 + 0.45 = 1.07. "
            "Check which class is positive, or use a stronger classifier.",
        ),
        (
            lambda: NoiseRates.from_noise_rates(0.1, 0.3, 0.2),
            "negative_noise_rate must not exceed the share of positive labels, got 0.3 with 0.2 "
            "of the labels positive. More positive labels would be wrong than there are: "
            "check the rate, or which class is positive.",
        ),
        (
            lambda: NoiseRates.from_noise_rates(0.3, 0.1, 0.8),
            "positive_noise_rate must not exceed the share of negative labels, got 0.3 with 0.2 "
            "of the labels negative. More negative labels would be wrong than there are: "
            "check the rate, or which class is positive.",
        ),
        (
            lambda: NoiseRates.from_positive_rates(0.9, 0.1, 0.5),
            "positive_noise_rate and positive_label_error_rate must fit the observed prevalence, "
            "but they imply more wrong labels than there are rows. Check the rates, and which "
            "class is positive.",
        ),
        (
            lambda: NoiseRates.from_label_error_rates(0.75, 0.25, 0.5),
            "positive_label_error_rate + negative_label_error_rate must be below 1, got 0.75 + "
            "0.25 = 1. Check which class is positive.",
        ),
        (
            lambda: estimate_noise_rates([0, 1], [0.1, 0.2], method="magic"),
            "method must be one of ['confident-counts', 'curve', 'elkan-noto', 'elkan-noto-e2', "
            "'elkan-noto-e3', 'learned', 'min-probability', 'scott', 'scott-2015', 'tight'] or a "
            "callable, "
            "got 'magic'. A callable takes (labels, probabilities, *, sample_weight=None).",
        ),
        (
            lambda: estimate_noise_rates(
                [0] * 9 + [1] * 9, [0.75] * 9 + [0.25] * 9, method="confident-counts"
            ),
            "The probabilities do not tell the labels apart: positive labels score no higher on "
            "average than negative ones (0.25 against 0.75). Rates estimated from them are not "
            "reliable and prune nothing; known rates would prune almost at random. Use a stronger"
            " classifier or more rows, or check which class is positive.",
        ),
        (
            lambda: estimate_noise_rates([0, 1], [0.1, 0.2]),
            "The probabilities do not tell the labels apart: the lower 95% bound of their AUC is"
            " not above 1/2. Rates estimated from them are not reliable and prune nothing; known "
            "rates would prune almost at random. Use a stronger classifier or more rows, or check"
            " which class is positive.",
        ),
        (
            lambda: prune_labels([0, 1], [0.1, 0.2], replace(RATES, positive_label_error_rate=1.0)),
            "The rates would prune every row with a positive label; the most confident row "
            "was kept. Check the rates, or use a stronger classifier.",
        ),
        (
            lambda: flip_labels([0, 1], positive_noise_rate=0),
            "flip_labels takes one of negative_noise_rate and positive_label_error_rate, got None"
            " and None. Pass 0.0 for no noise.",
        ),
        (
            lambda: flip_labels([0, 1], positive_noise_rate=0.5, negative_noise_rate=0.5),
            "positive_noise_rate + negative_noise_rate must be below 1, got 0.5 + 0.5 from a "
            "negative_noise_rate of 0.5. Lower one of them.",
        ),
        (
            lambda: flip_labels([0, 1], positive_noise_rate=0.5, positive_label_error_rate=0.75),
            "positive_noise_rate + negative_noise_rate must be below 1, got 0.5 + 1.5 from a "
            "positive_label_error_rate of 0.75. Lower one of them.",
        ),
        (
            lambda: flip_labels([1, 1], positive_noise_rate=0.5, negative_noise_rate=0.1),
            "true_labels must hold two classes, got one class only: [1]. Pass rows of both "
            "classes.",
        ),
        (
            lambda: make_gaussians(prevalence=0),
            "prevalence must lie strictly between 0 and 1, got 0. Both classes must be present.",
        ),
        (
            lambda: expected_noise_rates([1, 1], [0.1, 0.2], RATES, (0.5, 0.5)),
            "true_labels must hold two classes, got one class only: [1]. Pass rows of both "
            "classes.",
        ),
        (
            lambda: robustness_conditions([1, 1], [0.1, 0.2], RATES, (0.5, 0.5)),
            "true_labels must hold two classes, got one class only: [1]. Pass rows of both "
            "classes.",
        ),
        (
            lambda: expected_thresholds([0, 1], [0.1, 0.2], [0, 2], RATES),
            "posterior must lie in [0, 1]; row 1 holds 2. Pass predict_proba(X)[:, 1], not "
            "decision scores.",
        ),
    ],
)
def test_the_message_reads(call, message):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, TypeError, UserWarning)) as error:
            call()
    assert str(error.value) == message
