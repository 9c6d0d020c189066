"""A place of their own for what the paper's experiments keep."""

import pytest


@pytest.fixture(autouse=True)
def kept_in_a_temporary_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKPRUNE_DATA", str(tmp_path / "data"))
