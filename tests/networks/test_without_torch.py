"""What people see who have not installed PyTorch.

This folder is not called torch: without PyTorch, it would be imported in its place.
"""

import subprocess
import sys

import pytest

from rankprune import torch as room

CLASSIFIERS = [name for name in room.__all__ if name.endswith("Classifier")]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_names_the_extra(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'rankprune\[torch\]'"):
        getattr(room, name)().fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("module", [room.ConvolutionalNet(), room.DenseNet()])
def test_every_built_in_network_names_the_extra(module, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'rankprune\[torch\]'"):
        module(None, 2)


def test_importing_the_classifiers_does_not_import_pytorch():
    code = "import sys, rankprune; rankprune.torch.NetClassifier; print('torch' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "False\n"
