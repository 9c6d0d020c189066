"""From argument names to flags: messages of the library, in the words of the command line."""

from __future__ import annotations

import ast
import re
from contextvars import ContextVar
from shlex import quote

# The command that is running; some arguments have another flag in some commands.
COMMAND: ContextVar[str | None] = ContextVar("command", default=None)

# Arguments in Python, and what they are called on the command line.
FLAGS = {
    "about": "--about",
    "annotator": "--annotator",
    "cv": "--folds",
    "delimiter": "--delimiter",
    "drop": "--drop",
    "drop_suspects": "--drop-suspects",
    "drop_unlabeled": "--drop-unlabeled",
    "duplicates": "--duplicates",
    "embeddings": "--embeddings",
    "encoding": "--encoding",
    "estimator": "--model",
    "features": "--features",
    "folder": "RUN",
    "force": "--force",
    "groups": "--group",
    "guideline": "--guideline",
    "hide": "--hide",
    "host": "--host",
    "id": "--id",
    "image_root": "--image-root",
    "keep": "--keep",
    "label": "--label",
    "labeled": "--labeled",
    "method": "--method",
    "methods": "--method",
    "model": "--model",
    "n": "--n",
    "n_jobs": "--jobs",
    "neg_label": "--negative",
    "noise_estimator": "--noise-estimator",
    "output": "-o",
    "overlap": "--overlap",
    "path": "-o",
    "port": "--port",
    "pos_label": "--positive",
    "probabilities": "--probabilities",
    "prune": "--prune",
    "random_state": "--seed",
    "rare": "--rare",
    "redact": "--redact",
    "reviewers": "--reviewer",
    "rounds": "--rounds",
    "row": "--row",
    "run": "RUN",
    "scorer": "--scorer",
    "seconds": "--seconds",
    "spreadsheet_safe": "--spreadsheet-safe",
    "table": "--table",
    "text": "--text",
    "top": "--top",
    "trusted": "--trusted",
    "truth": "--truth",
}
# Where a command calls them something else.
_FLAGS_OF = {
    "check": {"table": "TABLE"},
    "compare": {"table": "TABLE"},
    "predict": {"table": "TABLE", "path": "MODEL", "trusted": "--trust"},
}
# Values that a flag spells differently.
_VALUES: dict[tuple[str, bool | None], str] = {("scorer", None): "model"}
# These are no English words, so they are arguments wherever they stand.
_PLAIN_NAMES = [name for name in FLAGS if "_" in name or name == "cv"]
# After "with" these can only be meant as arguments.
_AFTER_WITH = ("drop", "estimator", "keep", "redact")


def _any_of(names: list[str] | tuple[str, ...]) -> str:
    return "(?:" + "|".join(sorted(names, key=len, reverse=True)) + ")"


_NAME = _any_of(list(FLAGS))
_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)"""
_INNER = r"[^()]*(?:\([^()]*\)[^()]*)*"
_PATTERN = re.compile(
    "|".join(
        (
            # An argument with its value: pos_label='yes', drop=['a', 'b'], force=True
            rf"(?<![\w.-])(?P<given>{_NAME})=(?P<value>{_QUOTED}|\[[^\[\]]*\]|[\w.:-]*[\w:-])",
            # What stays as it is: quoted texts, Python calls, paths and file names.
            rf"(?<!\w){_QUOTED}",
            r"“[^”]*”",
            rf"[\w.]+\({_INNER}\)",
            r"""[^\s'"]*[/\\][^\s'"]*""",
            r"[\w-]+(?:\.[\w-]+)+",
            # The subject of a sentence: label must be ..., host and port must be ...; but a file
            # that cannot be written may have any name.
            rf"(?:^|(?<=[.;:!?] ))(?P<subject>{_NAME}(?:(?:,|,? and|,? or) {_NAME})*)"
            r"(?= (?:must|cannot(?! be (?:opened|read|written)))\b)",
            rf"(?<=\bwith )(?P<tool>{_any_of(_AFTER_WITH)})(?=[.,;:)]|$)",
            rf"(?<![\w-])(?P<plain>{_any_of(_PLAIN_NAMES)})(?![\w-])",
        )
    )
)


def in_flags(message: str) -> str:
    """Return a message of the library with flags in place of the names of arguments.

    Names inside quoted values, file names and Python code are left alone, and so are English words
    that happen to be names, such as "text".
    """
    flags = {**FLAGS, **_FLAGS_OF.get(COMMAND.get() or "", {})}

    def replace(match: re.Match[str]) -> str:
        found = match.groupdict()
        if found["given"]:
            return _with_value(found["given"], flags[found["given"]], found["value"])
        names = found["subject"] or found["tool"] or found["plain"]
        if not names:
            return match[0]
        return re.sub(rf"\b{_NAME}\b", lambda name: flags[name[0]], names)

    return _PATTERN.sub(replace, message)


def _with_value(name: str, flag: str, text: str) -> str:
    """Return an argument with its value as it is written on the command line."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = text
    if value is True:
        return flag
    if isinstance(value, list):
        return " ".join(f"{flag} {quote(str(one))}" for one in value) or flag
    if value is None or value is False:
        spelled = _VALUES.get((name, value))
        return f"no {flag}" if spelled is None else f"{flag} {spelled}"
    return f"{flag} {quote(str(value))}"
