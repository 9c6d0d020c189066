"""Three clouds of points whose labels become one other label, for networks to learn from."""

import numpy as np

from rankprune.torch import DenseNet

# The last columns say nothing about the class, but tell rows apart.
CENTRES = np.array([[0, 0], [5, 0], [0, 5]])
N_COLUMNS = 20
OTHER = np.array([1, 2, 0])
RATE = 0.35
TRANSITION = (1 - RATE) * np.eye(3) + RATE * np.eye(3)[OTHER]
# Large enough to memorise wrong labels, if it is let.
MEMORY = {
    "module": DenseNet((32,)),
    "max_epochs": 20,
    "validation_fraction": 0.0,
    "learning_rate": 0.01,
    "random_state": 0,
}


def draw(n_rows, seed):
    """Return points, true classes and given labels."""
    generator = np.random.RandomState(seed)
    truth = generator.randint(3, size=n_rows)
    points = generator.normal(size=(n_rows, N_COLUMNS)).astype(np.float32)
    points[:, :2] += CENTRES[truth]
    given = np.where(generator.rand(n_rows) < RATE, OTHER[truth], truth)
    return points, truth, given


X, TRUTH, GIVEN = draw(600, 0)
X_TEST, TEST_TRUTH, _ = draw(2000, 1)
