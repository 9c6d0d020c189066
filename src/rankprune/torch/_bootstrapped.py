"""Networks that trust their own predictions a little: bootstrapping and reconstruction."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from rankprune.torch._losses import (
    Loss,
    cross_entropy,
    hard_bootstrap,
    soft_bootstrap,
)
from rankprune.torch._net import NetworkClassifier, Task
from rankprune.torch._networks import Module

# The source's values for the weight of the given label.
_BETA = {"soft": 0.95, "hard": 0.8}


class BootstrappedNetClassifier(NetworkClassifier):
    """A network whose targets are partly its own predictions (Reed et al. 2014).

    Parameters
    ----------
    module, shape
        As in `NetClassifier`.
    method : {"soft", "hard", "reconstruction"}, default="hard"
        What makes the network consistent. ``"soft"`` mixes each given label with the predicted
        probabilities, ``"hard"`` with the most probable class. ``"reconstruction"`` learns two
        maps from the predicted probabilities, one to the given label and one back to the inputs.
    beta : float, default=None
        Weight of the given label in the target, with ``"soft"`` and ``"hard"``. By default .95 and
        .8 as in the source.
    reconstruction_weight : float, default=0.05
        Weight of the mean squared error of the rebuilt, standardised inputs, with
        ``"reconstruction"``.
    max_epochs, patience, validation_fraction, batch_size, learning_rate, device, half_precision, \
n_threads, random_state, verbose
        As in `NetClassifier`.

    Attributes
    ----------
    network_, classes_, n_iter_, best_epoch_, n_features_in_, feature_names_in_
        As in `NetClassifier`; the network predicts the true label.
    label_map_ : ndarray of shape (n_classes, n_classes)
        With ``"reconstruction"``: the probability of each given label if the network is certain of
        a class. Rows are the predicted classes, columns the given labels.

    Notes
    -----
    With q the predicted probabilities and t the given label as a unit vector, ``"soft"`` minimises
    the cross-entropy of beta t + (1 - beta) q with q, gradients passing through both: the
    cross-entropy times beta plus the entropy of q times 1 - beta. ``"hard"`` puts the unit vector
    of the most probable class in place of q in the target. Both assume that the network learns the
    true classes before it learns the wrong labels, so stop early. They need no rates.

    The map of ``"reconstruction"`` to the given label starts with the predicted one as the most
    likely; the error of the rebuilt inputs holds the classes to what can be seen in the inputs.

    References
    ----------
    S. Reed, H. Lee, D. Anguelov, C. Szegedy, D. Erhan and A. Rabinovich: Training deep neural
    networks on noisy labels with bootstrapping. ICLR Workshop 2015, arXiv:1412.6596.

    Examples
    --------
    >>> from rankprune.torch import BootstrappedNetClassifier
    >>> model = BootstrappedNetClassifier(method="hard", beta=0.8, random_state=0)
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        **NetworkClassifier._parameter_constraints,
        "method": [StrOptions({"soft", "hard", "reconstruction"})],
        "beta": [Interval(Real, 0, 1, closed="right"), None],
        "reconstruction_weight": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        module: Module | None = None,
        *,
        shape: tuple[int, ...] | None = None,
        method: str = "hard",
        beta: float | None = None,
        reconstruction_weight: float = 0.05,
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
        self.method = method
        self.beta = beta
        self.reconstruction_weight = reconstruction_weight

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the network; parameters as in `NetClassifier.fit`."""
        with self._task(self._read(X, y, sample_weight)) as task:
            network = task.build(self.module)
            if self.method == "reconstruction":
                self._learn_to_rebuild(task, network)
                return self
            beta = _BETA[self.method] if self.beta is None else self.beta
            loss = soft_bootstrap(beta) if self.method == "soft" else hard_bootstrap(beta)
            self._keep(task.train(network, loss))
        return self

    def _learn_to_rebuild(self, task: Task, network: Any) -> None:
        from rankprune.torch._layers import Reconstruction

        inputs = task.rows.inputs[task.fitted].flatten(1)
        both = Reconstruction(network, inputs, task.n_classes)
        trained = task.train(both, _rebuilding(self.reconstruction_weight))
        self.label_map_ = np.asarray(trained.network.label_map())
        self._keep(trained.part("network"))


def _rebuilding(weight: float) -> Loss:
    """Return the cross-entropy of the given label plus the weighted error of rebuilt inputs."""

    def loss(outputs: Any, targets: Any, weights: Any) -> Any:
        labels = cross_entropy(outputs[:, :-1], targets.long(), weights)
        return labels + weight * (outputs[:, -1] * weights).mean()

    return loss
