"""Files that are written whole, linked or hashed; quoting for SQL; dataclasses as JSON."""
