import hashlib

from rankprune.storage._hashes import file_sha256


def test_the_hash_of_a_file_is_the_sha256_of_its_bytes(tmp_path):
    (tmp_path / "a").write_bytes(b"content")
    assert file_sha256(tmp_path / "a") == hashlib.sha256(b"content").hexdigest()
