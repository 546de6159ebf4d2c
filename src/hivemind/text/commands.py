"""Reduce shell command lines to the command that matters, so that two runs of it can be recognised as the same."""

import re
from functools import lru_cache

SHELL_SETUP = re.compile(r"\A(?:cd\s+\S+|pushd\s+\S+|export\s+\S+|source\s+\S+|\.\s+\S+|set\s+-\S+|clear)\s*\Z")
ASSIGNMENT = re.compile(r"\A(?:[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\S*)\s+)+")
OUTPUT_FILTER = re.compile(r"\A(?:head|tail|grep|rg|egrep|sed|awk|cat|tee|less|wc|sort|uniq|cut|jq|tr|column|xargs)\b")
REDIRECT = re.compile(r"\s*(?:[12&]?>{1,2}\s*(?:&\d|\S+)|<\s*/dev/null)\s*")
QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'[^']*'")
INSPECTION = re.compile(
    r"\A(?:sudo\s+)?(?:ls|cat|head|tail|grep|egrep|rg|ag|find|fd|pwd|echo|printf|which|type|wc|sed|awk|sort|diff|stat"
    r"|tree|less|file|du|df|ps|jq|env|date|sleep|test|\[|true|false|cd|mkdir|rm|cp|mv|touch|chmod|ln|kill|pkill|open"
    r"|curl|wget|history|whoami|uname|export|xargs|read|for|while|if)(?:\s|\Z)"
    r"|\A(?:git|gh|jj|hg|hivemind)\s"
)
"""Commands that only inspect or tidy up; their exit codes say nothing about the work."""


def extract_command(command: str) -> str:
    """The command without directory changes before it and output filters after it; empty if there is no single one."""
    line = command.strip()
    # A script or a here-document is not one command.
    if "\n" in line or "<<" in line:
        return ""
    return " ".join(_reduce(line).split())


@lru_cache(maxsize=4096)
def _reduce(line: str) -> str:
    parts = _split_outside_quotes(line, ("&&", ";"))
    parts = [part for part in parts if not SHELL_SETUP.match(part)]
    if len(parts) != 1:
        # A trailing "; echo done" only prints; two commands that do something are not one command.
        parts = [part for part in parts if not part.startswith(("echo ", "printf ", "sleep "))]
    if len(parts) != 1:
        return ""
    first, *filters = _split_outside_quotes(parts[0], ("||", "|"))
    if not all(OUTPUT_FILTER.match(part) or part in ("true", ":") or part.startswith("echo ") for part in filters):
        return ""
    return REDIRECT.sub(" ", ASSIGNMENT.sub("", first)).strip(" &")


def is_inspection(command: str) -> bool:
    """Whether a command only inspects or tidies up."""
    return bool(INSPECTION.match(command))


def _split_outside_quotes(line: str, separators: tuple[str, ...]) -> list[str]:
    """Split a line at separators outside quotes."""
    # The mask keeps the length, so that positions in it are positions in the line.
    masked_line = QUOTED.sub(lambda string: "\0" * len(string[0]), line)
    separator = re.compile("|".join(map(re.escape, separators)))
    pieces, start = [], 0
    for match in separator.finditer(masked_line):
        pieces.append(line[start : match.start()].strip())
        start = match.end()
    return [piece for piece in [*pieces, line[start:].strip()] if piece]
