"""The check of a run as it was before any row was judged, kept beside the audited result."""

from __future__ import annotations

import json

from rankprune.exceptions import TableError
from rankprune.run._directory import (
    SCORES,
    UNJUDGED_RESULT,
    UNJUDGED_SCORES,
    Content,
    RunFiles,
    foreign_file,
    result_bytes,
)
from rankprune.run._scores import SavedScores


def unjudged_run(run: RunFiles) -> RunFiles:
    """Return the result and scores of a run as they were before rows were judged for an audit."""
    if UNJUDGED_RESULT not in run.hashes:
        return run
    content = run.read(UNJUDGED_RESULT)
    if content is None or UNJUDGED_SCORES not in run.hashes:
        raise TableError(foreign_file(run.paths[UNJUDGED_RESULT]))
    place, sha256 = run.paths[UNJUDGED_SCORES], run.hashes[UNJUDGED_SCORES]
    return RunFiles(json.loads(content), {SCORES: place}, {SCORES: sha256})


def unjudged_files(run: RunFiles) -> dict[str, Content]:
    """Return the files to keep beside an audited result, where they are not there already."""
    if UNJUDGED_RESULT in run.hashes:
        return {}
    scores = SavedScores(run.paths[SCORES], with_ids=False, sha256=run.hashes[SCORES])
    return {UNJUDGED_RESULT: result_bytes(run.result), UNJUDGED_SCORES: scores.copy_to}
