"""Atomic writes, links and hashes of files; SQL quoting; dataclasses as JSON."""
