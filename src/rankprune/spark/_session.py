"""A local Spark session, for users without a cluster."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any


def local_session(master: str = "local[*]", **settings: Any) -> Any:
    """Return a Spark session on this machine, after checking that Java is installed.

    Parameters
    ----------
    master : str, default="local[*]"
        For example ``local[2]``, or ``local-cluster[2,1,1024]`` for two worker processes.
    **settings
        Other Spark settings, with ``__`` for dots: ``spark__sql__shuffle__partitions=8``.

    Examples
    --------
    >>> from rankprune.spark import local_session
    >>> spark = local_session("local[2]")
    >>> spark.range(3).count()
    3
    """
    if not _has_java():
        raise OSError(
            "Spark needs Java 17 or later, and none was found. Install it (Debian: apt-get install "
            "openjdk-17-jre-headless), or set JAVA_HOME."
        )
    from pyspark.sql import SparkSession

    # Workers run the Python that this package is installed in.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("rankprune")
    builder = builder.config("spark.ui.enabled", "false")
    for name, value in settings.items():
        builder = builder.config(name.replace("__", "."), value)
    return builder.getOrCreate()


def _has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    if home is not None and (Path(home) / "bin" / "java").exists():
        return True
    return shutil.which("java") is not None
