"""Check that a wheel holds every file of the package, templates, scripts and styles included.

python tools/check_wheel.py dist/rankprune-*.whl
"""

import sys
import zipfile
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"


def main() -> None:
    """Print the missing files, and exit with 1 if there are any."""
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        packed = set(wheel.namelist())
    files = (path.relative_to(SOURCE) for path in SOURCE.rglob("*") if path.is_file())
    # Python and numba keep compiled code there.
    expected = {path.as_posix() for path in files if "__pycache__" not in path.parts}
    missing = sorted(expected - packed)
    for name in missing:
        print(f"{sys.argv[1]}: {name} is missing")
    print(f"the wheel holds {len(expected) - len(missing)} of the package's {len(expected)} files")
    sys.exit(bool(missing))


if __name__ == "__main__":
    main()
