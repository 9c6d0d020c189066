"""Change the files of a run directory as if rankprune had written them so."""

import json

from rankprune.run._directory import RESULT, _sealed, result_bytes
from rankprune.storage._hashes import file_sha256


def reseal(run, **changes):
    """Let the result of a run list its files as they are now, with some of its values changed."""
    result = {**json.loads((run / RESULT).read_bytes()), **changes}
    files = {name: file_sha256(run / name) for name in result["files"] if (run / name).exists()}
    (run / RESULT).write_bytes(result_bytes(_sealed({**result, "files": files})))
