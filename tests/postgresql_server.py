"""A PostgreSQL server of a test: its own, in a temporary folder, without a network port."""

import csv
import io
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

TYPES = {
    "int": "bigint",
    "float64": "double precision",
    "float32": "real",
    "bool": "boolean",
    "text": "text",
    "decimal": "numeric(4, 3)",
}
# A text of COPY with one field in each line: backslashes and what ends a field or a row.
ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def programs():
    """Return the folder of the newest PostgreSQL server, or None."""
    found = shutil.which("initdb")
    # Debian keeps servers of several versions side by side, out of the way of PATH.
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name)
    candidates = [path for path in folders if (path / "initdb").exists()]
    if candidates:
        return candidates[-1]
    return None if found is None else Path(found).resolve().parent


def is_root():
    return os.name == "posix" and os.geteuid() == 0


def why_not():
    """Return why no server can be started here, or None."""
    if programs() is None:
        return "needs PostgreSQL: tools/install_postgresql"
    if is_root():
        import pwd

        try:
            pwd.getpwnam("postgres")
        except KeyError:
            return "PostgreSQL refuses to run as root, and there is no user postgres"
    return None


class PostgreSQL:
    """A server that is started on entry and gone, with its folder, on exit."""

    dialect = "postgresql"

    def __enter__(self):
        # The path of a socket must be short.
        self.folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
        if is_root():
            shutil.chown(self.folder, "postgres", "postgres")
        try:
            self._run_server(
                ["initdb", "-D", self.folder / "data", "-U", "postgres", "-A", "trust"]
                + ["-E", "UTF8", "--locale=C", "--no-sync"]
            )
            options = f"-k {self.folder} -c listen_addresses= -c fsync=off"
            self._run_server(
                ["pg_ctl", "start", "-w", "-D", self.folder / "data", "-o", options]
                + ["-l", self.folder / "log"]
            )
        except BaseException:
            shutil.rmtree(self.folder)
            raise
        return self

    def __exit__(self, *error):
        self._run_server(["pg_ctl", "stop", "-D", self.folder / "data", "-m", "immediate"])
        shutil.rmtree(self.folder)

    def load(self, name, columns):
        parts = (name,) if isinstance(name, str) else name
        table = ".".join(map(_quoted, parts))
        described = ", ".join(
            f"{_quoted(column)} {TYPES[kind]}" for column, (kind, _) in columns.items()
        )
        self._psql(f"DROP TABLE IF EXISTS {table}; CREATE TABLE {table} ({described})")
        values = zip(*(values for _, values in columns.values()), strict=True)
        lines = "".join("\t".join(map(_field, row)) + "\n" for row in values)
        self._psql(f"COPY {table} FROM STDIN", lines)

    def rows(self, query):
        return list(csv.reader(io.StringIO(self._psql(query))))

    def _psql(self, statement, sent=""):
        command = [programs() / "psql", "-XqAt", "--csv", "-v", "ON_ERROR_STOP=1"]
        command += ["-h", self.folder, "-U", "postgres", "-c", statement]
        done = subprocess.run(command, input=sent, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _run_server(self, words):
        command = [programs() / words[0], *words[1:]]
        if is_root():
            command = [
                "setpriv",
                "--reuid=postgres",
                "--regid=postgres",
                "--clear-groups",
                *command,
            ]
        # Without a file of its own, the server would keep this pipe open.
        with tempfile.TemporaryFile() as said:
            done = subprocess.run(command, stdout=said, stderr=said, cwd="/")
            said.seek(0)
            assert done.returncode == 0, said.read().decode()


def _quoted(name):
    return '"' + name.replace('"', '""') + '"'


def _field(value):
    return "\\N" if value is None else str(value).translate(ESCAPES)
