"""Only regular files are replaced: devices, pipes and folders never are, also through a link."""

import os
import stat

import pytest

from rankprune.storage._atomic import refuse_existing_file, write_whole

pytestmark = pytest.mark.skipif(os.name != "posix", reason="special files of other systems differ")


@pytest.fixture(params=["pipe", "link to a pipe", "device", "link to a device", "folder"])
def special(request, tmp_path):
    target = tmp_path / "target"
    if "device" in request.param:
        try:
            os.mknod(target, stat.S_IFCHR | 0o600, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only root may make a device")
    elif request.param == "folder":
        target.mkdir()
        return target
    else:
        os.mkfifo(target)
    if request.param.startswith("link"):
        (tmp_path / "link").symlink_to(target)
        return tmp_path / "link"
    return target


def test_it_is_refused_and_left_alone(special):
    before = special.lstat()
    with pytest.raises(FileExistsError, match=r"never replaced. Choose a regular file"):
        write_whole(special, b"content")
    with pytest.raises(FileExistsError, match="never replaced"):
        refuse_existing_file(special, force=True)
    after = special.lstat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert not [name for name in os.listdir(special.parent) if name.endswith(".part")]


def test_a_link_to_a_file_is_replaced_and_its_target_stays(tmp_path):
    (tmp_path / "target").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_whole(tmp_path / "link", b"new")
    assert not (tmp_path / "link").is_symlink()
    assert ((tmp_path / "link").read_text(), (tmp_path / "target").read_text()) == ("new", "kept")
