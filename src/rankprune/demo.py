"""The main job on data that ships with scikit-learn: known noise in, what was found out."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from rankprune.classifier import RankPruningClassifier
from rankprune.core import NoiseRates, flip_labels


@dataclass(frozen=True)
class Demo:
    """What one run of the demonstration found.

    Attributes
    ----------
    n_rows : int
        Rows trained on.
    n_flipped, n_pruned, n_found : int
        Labels flipped, rows pruned, and flipped labels among the pruned rows.
    true_rates, estimated_rates : NoiseRates
    f1_noisy, f1_pruned, f1_clean : float
        F1 on clean test labels of the plain fit to noisy labels, of Rank Pruning, and of the
        plain fit to clean labels.
    """

    n_rows: int
    n_flipped: int
    n_pruned: int
    n_found: int
    true_rates: NoiseRates
    estimated_rates: NoiseRates
    f1_noisy: float
    f1_pruned: float
    f1_clean: float


def run_demo(
    positive_noise_rate: float = 0.4, negative_noise_rate: float = 0.1, random_state: int = 0
) -> Demo:
    """Flip labels of the digits (odd is positive), run Rank Pruning, and compare with the truth.

    Examples
    --------
    >>> from rankprune.demo import run_demo
    >>> demo = run_demo()
    >>> demo.f1_noisy < demo.f1_pruned <= demo.f1_clean
    True
    """
    X, digits = load_digits(return_X_y=True)
    X_train, X_test, truth, test_truth = train_test_split(
        X, digits % 2, test_size=0.3, stratify=digits, random_state=random_state
    )
    labels = flip_labels(
        truth,
        positive_noise_rate=positive_noise_rate,
        negative_noise_rate=negative_noise_rate,
        random_state=random_state,
    )
    base = make_pipeline(MinMaxScaler(), LogisticRegression())
    model = RankPruningClassifier(base, random_state=random_state).fit(X_train, labels)
    is_wrong = labels != truth
    return Demo(
        n_rows=len(truth),
        n_flipped=int(is_wrong.sum()),
        n_pruned=int(model.prune_mask_.sum()),
        n_found=int((model.prune_mask_ & is_wrong).sum()),
        true_rates=NoiseRates.from_true_labels(truth, labels),
        estimated_rates=model.noise_rates_,
        f1_noisy=f1_score(test_truth, base.fit(X_train, labels).predict(X_test)),
        f1_pruned=f1_score(test_truth, model.predict(X_test)),
        f1_clean=f1_score(test_truth, base.fit(X_train, truth).predict(X_test)),
    )
