"""Two networks that explain each given label: by the true class, and by the kind of noise."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval

from rankprune.core._inputs import validate_predictions, validate_trusted
from rankprune.core._noise_kinds import (
    N_KINDS,
    Posterior,
    Reals,
    confusion_in,
    confusion_of,
    label_transition,
    posterior_of,
)
from rankprune.exceptions import AssumptionWarning
from rankprune.torch._known_labels import KnownLabels
from rankprune.torch._load import load_torch
from rankprune.torch._losses import cross_entropy, forward_corrected
from rankprune.torch._net import Given, NetworkClassifier, Task
from rankprune.torch._networks import Module
from rankprune.torch._training import Rows, Trained

# Later rounds only adjust the networks: their highest learning rate is this share of the first.
_LATER_RATE = 0.25
_NO_TRUSTED_ROWS = (
    "No rows are trusted, so the noise is read off the first network's predictions. This assumes "
    "that more rows of each true class have its label than any other. Pass some rows that you "
    "have checked as trusted."
)


@dataclass(frozen=True)
class _State:
    """Both networks and the confusions after a round, and the posterior that follows."""

    network: Any
    kind_network: Any
    confusion: Reals
    posterior: Posterior


class NoiseModelNetClassifier(NetworkClassifier):
    """Two networks, one for the true class and one for the kind of noise (Xiao et al. 2015).

    Parameters
    ----------
    module, shape
        As in `NetClassifier`; the module builds both networks, the second for three classes.
    rounds : int, default=4
        Largest number of expectation-maximisation rounds after the first fit.
    round_epochs : int, default=2
        Number of epochs of both networks in each round.
    trusted_share : float, default=0.1
        Least share of the total weight that trusted rows have in each round; a few rows weigh more
        to reach it.
    max_epochs, patience, validation_fraction, batch_size, learning_rate, device, half_precision, \
n_threads, random_state, verbose
        As in `NetClassifier`, for the first fit.

    Attributes
    ----------
    network_, classes_, n_iter_, best_epoch_, n_features_in_, feature_names_in_
        As in `NetClassifier`; the network predicts the true label, and the epochs are those of the
        first fit.
    kind_network_ : torch.nn.Module
        Predicts the kind of noise: none, random, confused.
    confusion_ : ndarray of shape (n_classes, n_classes)
        P(given label | true class) of confused labels; rows are true classes.
    class_posteriors_ : ndarray of shape (n_used, n_classes)
        Probability of each true class given the row and its label, for the rows with a weight above
        0; certain for trusted rows.
    kind_posteriors_ : ndarray of shape (n_used, 3)
        Probability of each kind of noise.
    log_likelihoods_ : list of float
        Mean log-likelihood of the given labels, and of the classes of trusted rows, before the
        first round and after each that was kept; it never falls.

    Notes
    -----
    The given label is the true one (no noise), one of the others at random (random noise), or one
    of the others by the chances of ``confusion_`` (confused noise); which, is predicted from the
    row. Each round computes the posterior of class and kind of every row, then trains both networks
    to it. A round after which the labels are less likely is undone, and is the last.

    With two classes random and confused noise are the same, and only their sum has a meaning.
    Without trusted rows the confusions come from the first network, which must have learned the
    true classes rather than the wrong labels: it assumes that more rows of each class have its
    label than any other, and an `AssumptionWarning` says so.

    References
    ----------
    T. Xiao, T. Xia, Y. Yang, C. Huang and X. Wang: Learning from massive noisy labeled data for
    image classification. CVPR 2015.

    Examples
    --------
    >>> from rankprune.torch import NoiseModelNetClassifier
    >>> model = NoiseModelNetClassifier(rounds=3, random_state=0)
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        **NetworkClassifier._parameter_constraints,
        "rounds": [Interval(Integral, 1, None, closed="left")],
        "round_epochs": [Interval(Integral, 1, None, closed="left")],
        "trusted_share": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        module: Module | None = None,
        *,
        shape: tuple[int, ...] | None = None,
        rounds: int = 4,
        round_epochs: int = 2,
        trusted_share: float = 0.1,
        max_epochs: int = 30,
        patience: int = 10,
        validation_fraction: float = 0.1,
        batch_size: int | str = "auto",
        learning_rate: float = 0.004,
        device: str = "auto",
        half_precision: bool = False,
        n_threads: int | None = 1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            module,
            shape=shape,
            max_epochs=max_epochs,
            patience=patience,
            validation_fraction=validation_fraction,
            batch_size=batch_size,
            learning_rate=learning_rate,
            device=device,
            half_precision=half_precision,
            n_threads=n_threads,
            random_state=random_state,
            verbose=verbose,
        )
        self.rounds = rounds
        self.round_epochs = round_epochs
        self.trusted_share = trusted_share

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        trusted: ArrayLike | None = None,
        given_labels: ArrayLike | None = None,
    ) -> Self:
        """Train a first network on the given labels, then both networks in rounds.

        What trusted rows show is the noise at first, and their true class in the rounds.

        Parameters
        ----------
        X, y, sample_weight
            As in `NetClassifier.fit`.
        trusted : array-like of bool of shape (n_rows,), default=None
            Rows whose label in y was checked and is right; every class must be among them.
        given_labels : array-like of shape (n_rows,), default=None
            The labels before trusted rows were checked; only those of trusted rows matter. They
            show which classes are confused. Without them, the first network predicts them.

        Returns
        -------
        self : NoiseModelNetClassifier
        """
        given = self._read(X, y, sample_weight)
        known = self._known_labels(given, trusted, given_labels)
        if not known.is_trusted.any():
            warnings.warn(_NO_TRUSTED_ROWS, AssumptionWarning, stacklevel=2)
        with self._task(given) as task:
            first, transition = self._first_fit(task, known)
            state = self._first_state(task, first.network, transition, known)
            state = self._learn_in_rounds(task, state, known)
            self._keep(replace(first, network=state.network))
        return self

    def _known_labels(
        self, given: Given, trusted: ArrayLike | None, given_labels: ArrayLike | None
    ) -> KnownLabels:
        before = None
        if given_labels is not None:
            advice = "Pass the labels before trusted rows were checked."
            labels = validate_predictions(given_labels, len(given.X), "given_labels", advice)
            before = labels[given.used]
        return KnownLabels.of(
            given.codes,
            validate_trusted(trusted, len(given.X))[given.used],
            before,
            given.relative_weights().astype(np.float64),
            self.classes_,
        )

    def _first_fit(self, task: Task, known: KnownLabels) -> tuple[Trained, Reals]:
        """Return a network fitted under the noise that a plain one shows, and that noise."""
        rows = task.rows
        targets = np.maximum(known.given, 0).astype(rows.targets.numpy().dtype)
        explained = load_torch().from_numpy(known.explained().astype(np.float32))
        rows = replace(rows, targets=load_torch().from_numpy(targets), weights=explained)
        task = replace(task, rows=rows)
        plain = task.train(task.build(self.module), cross_entropy)
        predicted = self._probabilities(plain.network, rows.inputs)
        transition = label_transition(*known.pairs(predicted))
        matrix = load_torch().from_numpy(transition)
        return task.train(task.build(self.module), forward_corrected(matrix)), transition

    def _first_state(
        self, task: Task, network: Any, transition: Reals, known: KnownLabels
    ) -> _State:
        """Return the state before the first round, in which noise depends on the class alone."""
        classes = self._probabilities(network, task.rows.inputs)
        confusion = confusion_in(transition)
        # Some noise is left possible.
        right = np.minimum(classes @ transition.diagonal(), 0.99)
        kinds = np.column_stack([right, (1 - right) / 2, (1 - right) / 2])
        posterior = posterior_of(known.given, known.true, classes, kinds, confusion)
        kind_task = replace(task, n_classes=N_KINDS)
        kind_network = _trained(
            kind_task, kind_task.build(self.module), posterior.kinds, known.explained()
        )
        return self._expected(task, network, kind_network, confusion, known)

    def _learn_in_rounds(self, task: Task, state: _State, known: KnownLabels) -> _State:
        """Alternate maximisation and expectation while the given labels become more likely."""
        self.log_likelihoods_ = [known.mean(state.posterior.log_likelihood)]
        for _ in range(self.rounds):
            following = self._next_state(task, state, known)
            likelihood = known.mean(following.posterior.log_likelihood)
            if likelihood < self.log_likelihoods_[-1]:
                break
            state = following
            self.log_likelihoods_.append(likelihood)
        self.kind_network_ = state.kind_network.cpu()
        self.confusion_ = state.confusion
        self.class_posteriors_ = state.posterior.classes
        self.kind_posteriors_ = state.posterior.kinds
        return state

    def _next_state(self, task: Task, state: _State, known: KnownLabels) -> _State:
        """Return the state after one maximisation and the expectation that follows."""
        schedule = replace(
            task.schedule,
            max_epochs=self.round_epochs,
            learning_rate=_LATER_RATE * self.learning_rate,
        )
        later, before = replace(task, schedule=schedule), state.posterior
        weights = known.raised(self.trusted_share)
        network = _trained(later, copy.deepcopy(state.network), before.classes, weights)
        kind_network = _trained(
            later, copy.deepcopy(state.kind_network), before.kinds, known.explained()
        )
        confusion = state.confusion
        if not known.shows_confusions:
            confusion = confusion_of(known.given, before.joint, known.weights)
        return self._expected(task, network, kind_network, confusion, known)

    def _expected(
        self, task: Task, network: Any, kind_network: Any, confusion: Reals, known: KnownLabels
    ) -> _State:
        """Return the state with the posterior that follows from the networks."""
        classes = self._probabilities(network, task.rows.inputs)
        kinds = self._probabilities(kind_network, task.rows.inputs)
        posterior = posterior_of(known.given, known.true, classes, kinds, confusion)
        return _State(network, kind_network, confusion, posterior)


def _trained(task: Task, network: Any, targets: Reals, weights: Reals) -> Any:
    """Return the network, trained to these probabilities."""
    from_numpy = load_torch().from_numpy
    if targets.shape[1] == 2:
        targets = targets[:, 1]
    rows = Rows(
        task.rows.inputs,
        from_numpy(targets.astype(np.float32)),
        from_numpy(weights.astype(np.float32)),
    )
    return replace(task, rows=rows).train(network, cross_entropy).network
