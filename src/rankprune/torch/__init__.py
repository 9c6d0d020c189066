"""Networks as scikit-learn classifiers: a plain one, and three that expect wrong labels.

Importing this package does not import PyTorch; fitting does, and names the extra that installs it.
"""

from rankprune.torch._bootstrapped import BootstrappedNetClassifier
from rankprune.torch._corrected import CorrectedNetClassifier
from rankprune.torch._net import NetClassifier
from rankprune.torch._networks import ConvolutionalNet, DenseNet
from rankprune.torch._noise_model import NoiseModelNetClassifier

__all__ = [
    "BootstrappedNetClassifier",
    "ConvolutionalNet",
    "CorrectedNetClassifier",
    "DenseNet",
    "NetClassifier",
    "NoiseModelNetClassifier",
]
