from pathlib import Path

from rankprune.storage._links import link_or_copy


def test_a_file_is_read_under_its_second_name(tmp_path):
    (tmp_path / "a").write_text("x")
    link_or_copy(tmp_path / "a", tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "x"
    assert (tmp_path / "a.csv").is_symlink()


def test_a_file_is_copied_if_links_are_impossible(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("links are not supported")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    (tmp_path / "a").write_text("x")
    link_or_copy(tmp_path / "a", tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "x"
    assert not (tmp_path / "a.csv").is_symlink()
