"""MNIST and CIFAR-10, read from their standard files after checking them."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml

from rankprune.experiments._cache import data_directory

_log = logging.getLogger("rankprune")

# SHA-256 of the unpacked files: figures measured on other data would mean nothing.
CHECKSUMS = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
}

# CIFAR-10's classes in the order of their labels, named as in the paper's tables.
CIFAR_CLASSES = ("plane", "auto", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@dataclass(frozen=True)
class Images:
    """Pixels in [0, 1], one row per image, and the digit or class that each shows."""

    pixels: NDArray[np.float32]
    digits: NDArray[np.uint8]


def load_mnist(part: str) -> Images:
    """Return the 60,000 training images ("train") or the 10,000 test images ("t10k").

    If the files are missing, the same images are downloaded from OpenML.
    """
    folder = data_directory() / "mnist"
    images, labels = folder / f"{part}-images-idx3-ubyte", folder / f"{part}-labels-idx1-ubyte"
    if not (images.exists() and labels.exists()):
        return _mnist_from_openml(part, folder)
    pixels = np.frombuffer(_read(images), np.uint8, offset=16).reshape(-1, 784)
    return Images(_scaled(pixels), np.frombuffer(_read(labels), np.uint8, offset=8))


def load_cifar10(part: str) -> Images:
    """Return the 50,000 training images ("train") or the 10,000 test images ("test").

    A row holds the red, green and blue planes of 32 x 32 pixels, in this order.
    """
    folder = data_directory() / "cifar-10-batches-bin"
    train = [f"data_batch_{number}.bin" for number in range(1, 6)]
    paths = [folder / name for name in (train if part == "train" else ["test_batch.bin"])]
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(
                f"CIFAR-10 is needed, but {path} is missing. Unpack its binary version into "
                f"{folder.parent}, or set RANKPRUNE_DATA to the directory that holds it."
            )
    rows = np.concatenate(
        [np.frombuffer(_read(path), np.uint8).reshape(-1, 3073) for path in paths]
    )
    return Images(_scaled(rows[:, 1:]), rows[:, 0].copy())


def _scaled(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    return np.asarray(pixels, np.float32) / np.float32(255)


def _read(path: Path) -> bytes:
    """Return the bytes of a file after verifying its checksum."""
    content = path.read_bytes()
    expected = CHECKSUMS.get(path.name)
    if expected is not None and hashlib.sha256(content).hexdigest() != expected:
        raise ValueError(
            f"{path} must be the standard file, but its {len(content)} bytes have a "
            "different checksum. Unpack it again; it must not be compressed."
        )
    return content


def _mnist_from_openml(part: str, folder: Path) -> Images:
    _log.info("MNIST is not in %s; downloading it from OpenML", folder)
    try:
        pixels, digits = fetch_openml(
            "mnist_784", version=1, return_X_y=True, as_frame=False, data_home=folder.parent
        )
    except (OSError, ValueError) as error:
        raise FileNotFoundError(
            f"MNIST is needed, but {folder}/{part}-images-idx3-ubyte is missing, and OpenML did "
            f"not answer ({error}). Put its four standard files, unpacked, into {folder}, or set "
            "RANKPRUNE_DATA to the directory that holds mnist/."
        ) from error
    rows = slice(0, 60_000) if part == "train" else slice(60_000, None)
    return Images(_scaled(pixels[rows]), digits[rows].astype(np.uint8))
