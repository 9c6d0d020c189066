"""The image loaders: standard files are checked, and missing ones reported."""

import hashlib

import numpy as np
import pytest

from rankprune.experiments import _images
from rankprune.experiments._images import CIFAR_CLASSES, load_cifar10, load_mnist
from rankprune.experiments._published import published


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKPRUNE_DATA", str(tmp_path))
    return tmp_path


def write_cifar(folder, name, labels, value=255):
    rows = np.full((len(labels), 3073), value, np.uint8)
    rows[:, 0] = labels
    (folder / "cifar-10-batches-bin").mkdir(exist_ok=True)
    (folder / "cifar-10-batches-bin" / name).write_bytes(rows.tobytes())
    return hashlib.sha256(rows.tobytes()).hexdigest()


def test_cifar_batches_are_read_in_order(folder, monkeypatch):
    sums = {
        f"data_batch_{k}.bin": write_cifar(folder, f"data_batch_{k}.bin", [k, 9])
        for k in range(1, 6)
    }
    sums["test_batch.bin"] = write_cifar(folder, "test_batch.bin", [0, 3, 7], value=51)
    monkeypatch.setattr(_images, "CHECKSUMS", sums)
    train, test = load_cifar10("train"), load_cifar10("test")
    assert train.digits.tolist() == [1, 9, 2, 9, 3, 9, 4, 9, 5, 9]
    assert train.pixels.shape == (10, 3072)
    assert train.pixels.dtype == np.float32
    assert train.pixels.max() == 1
    assert test.digits.tolist() == [0, 3, 7]
    assert test.pixels == pytest.approx(0.2)


def test_a_file_with_another_checksum_is_refused(folder):
    write_cifar(folder, "test_batch.bin", [1, 2])
    with pytest.raises(ValueError, match=r"test_batch.bin must be the standard file, but its 6146"):
        load_cifar10("test")


def test_missing_files_are_named(folder, no_openml):
    with pytest.raises(FileNotFoundError, match=r"CIFAR-10 is needed, but .*data_batch_1.bin is"):
        load_cifar10("train")
    with pytest.raises(FileNotFoundError, match=r"MNIST is needed.*OpenML did not answer"):
        load_mnist("train")


def test_openml_replaces_missing_files(folder, monkeypatch):
    pixels = np.repeat(np.arange(70_000) % 256, 2).reshape(70_000, 2)
    digits = (np.arange(70_000) % 10).astype(str)
    monkeypatch.setattr(_images, "fetch_openml", lambda *_, **__: (pixels, digits))
    train, test = load_mnist("train"), load_mnist("t10k")
    assert (len(train.digits), len(test.digits)) == (60_000, 10_000)
    assert test.digits[:3].tolist() == [0, 1, 2]
    assert train.pixels[255].tolist() == [1, 1]


def test_classes_are_named_as_in_the_papers_tables():
    named = {key[3] for key in published() if key[0] == "cifar"} - {"avg"}
    assert named == set(CIFAR_CLASSES)
