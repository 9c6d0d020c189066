"""A temporary cache for the paper's experiments."""

import pytest


@pytest.fixture(autouse=True)
def temporary_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKPRUNE_DATA", str(tmp_path / "data"))
