"""A small MNIST and a small problem, for evaluations that take hours on real data."""

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_digits

from rankprune.cli._group import cli
from rankprune.experiments import _images


@pytest.fixture
def toy():
    """A problem that any model solves."""
    return toy_rows


def toy_rows():
    generator = np.random.default_rng(0)
    y = np.arange(240) % 3 == 0
    return generator.normal(3.0 * y[:, None], 1, (240, 3)), y


def write_images(folder, part, pixels, digits):
    images = np.kron(pixels.reshape(-1, 8, 8), np.ones((1, 3, 3)))
    padded = np.pad(images, ((0, 0), (2, 2), (2, 2))).astype(np.uint8) * 15
    (folder / f"{part}-images-idx3-ubyte").write_bytes(b"\0" * 16 + padded.tobytes())
    (folder / f"{part}-labels-idx1-ubyte").write_bytes(
        b"\0" * 8 + digits.astype(np.uint8).tobytes()
    )


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A data directory with a small MNIST in it."""
    monkeypatch.setenv("RANKPRUNE_DATA", str(tmp_path))
    monkeypatch.setattr(_images, "CHECKSUMS", {})  # digits of another data set
    (tmp_path / "mnist").mkdir()
    pixels, digits = load_digits(return_X_y=True)
    write_images(tmp_path / "mnist", "train", pixels[:600], digits[:600])
    write_images(tmp_path / "mnist", "t10k", pixels[600:900], digits[600:900])
    return tmp_path


@pytest.fixture
def no_openml(monkeypatch):
    """A computer without a network."""

    def fetch_openml(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr(_images, "fetch_openml", fetch_openml)


class Evaluation:
    """``rankprune evaluate`` of one subject, and the measurements it caches."""

    def __init__(self, subject, folder):
        self.subject, self.cache = subject, folder / "experiments"

    def run(self, *options):
        result = CliRunner().invoke(cli, ["evaluate", self.subject, *options])
        assert result.exit_code == 0, result.output
        return result.output

    def cached(self):
        return {path.name: path.stat().st_mtime_ns for path in self.cache.iterdir()}

    def check_that_it_resumes_and_forgets(self, first, module):
        """A second run measures nothing; ``--again`` keeps only the scores of the models."""
        kept = self.cached()
        second = self.run("-q")
        assert second == first
        assert self.cached() == kept
        module.forget_measurements()
        assert {name.split("-")[0] for name in self.cached()} == {"bank", "mnist"}


@pytest.fixture
def evaluation():
    """Return the evaluation of a subject with a cache in a folder."""
    return Evaluation


@pytest.fixture
def titles():
    """Return the titles of the tables in a printed evaluation."""
    return lambda output: [line for line in output.splitlines() if line.startswith("###")]
