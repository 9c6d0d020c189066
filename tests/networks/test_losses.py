"""Losses against hand calculations on a few rows."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from rankprune.torch._losses import (  # noqa: E402
    backward_corrected,
    cross_entropy,
    forward_corrected,
    hard_bootstrap,
    log_probabilities,
    soft_bootstrap,
)

# Three rows whose probabilities are round numbers; given labels 0, 1, 1.
Q = np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [0.2, 0.6, 0.2]])
GIVEN = np.array([0, 1, 1])
WEIGHTS = np.array([1.0, 2.0, 0.5])
# The same for two classes: P(class 1).
LIKELY = np.array([0.3, 0.8, 0.6])


def of_three(loss):
    outputs = torch.log(torch.tensor(Q))
    return float(loss(outputs, torch.tensor(GIVEN), torch.tensor(WEIGHTS)))


def of_two(loss):
    logits = torch.logit(torch.tensor(LIKELY))
    return float(loss(logits, torch.tensor(GIVEN, dtype=torch.double), torch.tensor(WEIGHTS)))


def two_columns():
    return np.column_stack([1 - LIKELY, LIKELY])


def mean(losses):
    return pytest.approx(float((np.asarray(losses) * WEIGHTS).mean()))


def test_cross_entropy_by_hand():
    assert of_three(cross_entropy) == mean(-np.log([0.5, 0.2, 0.6]))
    assert of_two(cross_entropy) == mean(-np.log([0.7, 0.8, 0.6]))


def test_cross_entropy_takes_probabilities_as_targets():
    outputs = torch.log(torch.tensor(Q))
    found = cross_entropy(outputs, torch.tensor(Q), torch.tensor(WEIGHTS))
    assert float(found) == mean(-(Q * np.log(Q)).sum(axis=1))


def test_log_probabilities_of_single_outputs_are_those_of_two():
    logits = torch.logit(torch.tensor(LIKELY))
    assert log_probabilities(logits).numpy() == pytest.approx(np.log(two_columns()))
    both = log_probabilities(torch.log(torch.tensor(two_columns())))
    assert both.numpy() == pytest.approx(np.log(two_columns()))


@pytest.mark.parametrize("beta", [0.95, 0.5, 1.0])
def test_soft_bootstrapped_targets_by_hand(beta):
    # Cross-entropy of the target beta t + (1 - beta) q with q.
    def rows(q):
        targets = beta * np.eye(q.shape[1])[GIVEN] + (1 - beta) * q
        return -(targets * np.log(q)).sum(axis=1)

    assert of_three(soft_bootstrap(beta)) == mean(rows(Q))
    assert of_two(soft_bootstrap(beta)) == mean(rows(two_columns()))


@pytest.mark.parametrize("beta", [0.8, 0.5, 1.0])
def test_hard_bootstrapped_targets_by_hand(beta):
    # The most probable classes are 0, 2, 1, and 0, 1, 1 of two.
    three = beta * np.log([0.5, 0.2, 0.6]) + (1 - beta) * np.log([0.5, 0.7, 0.6])
    assert of_three(hard_bootstrap(beta)) == mean(-three)
    assert of_two(hard_bootstrap(beta)) == mean(-np.log([0.7, 0.8, 0.6]))


def test_the_soft_gradient_passes_through_the_targets():
    outputs = torch.log(torch.tensor(Q)).requires_grad_()
    soft_bootstrap(0.7)(outputs, torch.tensor(GIVEN), torch.ones(3)).backward()
    again = torch.log(torch.tensor(Q)).requires_grad_()
    log = torch.log_softmax(again, 1)
    entropy = -(log.exp() * log).sum(1).mean()
    likelihood = -log[torch.arange(3), torch.tensor(GIVEN)].mean()
    (0.7 * likelihood + 0.3 * entropy).backward()
    assert outputs.grad.numpy() == pytest.approx(again.grad.numpy(), abs=1e-12)


TRANSITION = np.array([[0.7, 0.2, 0.1], [0.0, 0.9, 0.1], [0.3, 0.3, 0.4]])


def test_forward_correction_by_hand():
    # P(given) = q T.
    given = (Q @ TRANSITION)[np.arange(3), GIVEN]
    assert of_three(forward_corrected(torch.tensor(TRANSITION))) == mean(-np.log(given))
    two = np.array([[0.9, 0.1], [0.3, 0.7]])
    given = (two_columns() @ two)[np.arange(3), GIVEN]
    assert of_two(forward_corrected(torch.tensor(two))) == mean(-np.log(given))


def test_the_backward_corrected_loss_has_the_clean_loss_as_its_mean_over_the_noise():
    loss = backward_corrected(torch.tensor(TRANSITION))
    outputs = torch.log(torch.tensor(Q))
    one = torch.ones(1)
    for row in range(3):
        for true in range(3):
            expected = sum(
                chance * float(loss(outputs[[row]], torch.tensor([label]), one))
                for label, chance in enumerate(TRANSITION[true])
            )
            assert expected == pytest.approx(-np.log(Q[row, true]))


def test_the_backward_corrected_loss_of_two_classes_is_natarajans():
    rho1, rho0 = 0.3, 0.1
    loss = backward_corrected(torch.tensor([[1 - rho0, rho0], [rho1, 1 - rho1]]).double())
    losses = -np.log(two_columns())
    own, other = losses[np.arange(3), GIVEN], losses[np.arange(3), 1 - GIVEN]
    # Weights (1 - rho of the other) and -(rho of the own label), over 1 - rho1 - rho0.
    of_other = np.where(GIVEN == 1, rho0, rho1)
    of_own = np.where(GIVEN == 1, rho1, rho0)
    expected = ((1 - of_other) * own - of_own * other) / (1 - rho1 - rho0)
    assert of_two(loss) == mean(expected)


def test_forward_correction_has_the_minimum_of_the_clean_loss_but_not_its_expectation():
    # One row, seen often: true classes by P; labels by P T. The minimum over q of the forward loss
    # is at q = P.
    shares = torch.tensor([0.2, 0.5, 0.3]).double()
    given = shares @ torch.tensor(TRANSITION)
    loss = forward_corrected(torch.tensor(TRANSITION))
    logits = torch.zeros(1, 3).double().requires_grad_()
    optimizer = torch.optim.LBFGS([logits], max_iter=200, tolerance_grad=1e-12)

    def expected(outputs):
        one = torch.ones(1)
        return sum(given[k] * loss(outputs, torch.tensor([k]), one) for k in range(3))

    def step():
        optimizer.zero_grad()
        value = expected(logits)
        value.backward()
        return value

    optimizer.step(step)
    assert logits.detach().softmax(1)[0].numpy() == pytest.approx(shares.numpy(), abs=1e-4)
    clean = -(shares * shares.log()).sum()
    assert abs(float(expected(shares.log()[None])) - float(clean)) > 0.05
