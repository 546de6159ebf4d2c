"""Command lines as people mean them: what was run, apart from where, how much was shown, and what was printed."""

import re
from functools import lru_cache

SETTING = re.compile(r"\A(?:cd\s+\S+|pushd\s+\S+|export\s+\S+|source\s+\S+|\.\s+\S+|set\s+-\S+|clear)\s*\Z")
ASSIGNMENT = re.compile(r"\A(?:[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\S*)\s+)+")
SHOWING = re.compile(r"\A(?:head|tail|grep|rg|egrep|sed|awk|cat|tee|less|wc|sort|uniq|cut|jq|tr|column|xargs)\b")
REDIRECT = re.compile(r"\s*(?:[12&]?>{1,2}\s*(?:&\d|\S+)|<\s*/dev/null)\s*")
QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'[^']*'")
LOOKING = re.compile(
    r"\A(?:sudo\s+)?(?:ls|cat|head|tail|grep|egrep|rg|ag|find|fd|pwd|echo|printf|which|type|wc|sed|awk|sort|diff|stat"
    r"|tree|less|file|du|df|ps|jq|env|date|sleep|test|\[|true|false|cd|mkdir|rm|cp|mv|touch|chmod|ln|kill|pkill|open"
    r"|curl|wget|history|whoami|uname|export|xargs|read|for|while|if)(?:\s|\Z)"
    r"|\A(?:git|gh|jj|hg|hivemind)\s"
)
"""Commands that look or tidy up: how they end says nothing about the work."""


def essence(command: str) -> str:
    """What was run, without the directory changes before it and the filters behind it; empty if that is unclear."""
    line = command.strip()
    if "\n" in line or "<<" in line:
        return ""
    return " ".join(_essence(line).split())


@lru_cache(maxsize=4096)
def _essence(line: str) -> str:
    parts = _split(line, ("&&", ";"))
    parts = [part for part in parts if not SETTING.match(part)]
    if len(parts) != 1:
        # A trailing "; echo done" is talk; two commands that do something are not one command.
        parts = [part for part in parts if not part.startswith(("echo ", "printf ", "sleep "))]
    if len(parts) != 1:
        return ""
    first, *filters = _split(parts[0], ("||", "|"))
    if not all(SHOWING.match(one) or one in ("true", ":") or one.startswith("echo ") for one in filters):
        return ""
    return REDIRECT.sub(" ", ASSIGNMENT.sub("", first)).strip(" &")


def is_looking(command: str) -> bool:
    """Whether it only looks around or tidies up."""
    return bool(LOOKING.match(command))


def _split(line: str, marks: tuple[str, ...]) -> list[str]:
    """The line cut at the marks that stand outside quotes."""
    hidden = QUOTED.sub(lambda quoted: "\0" * len(quoted[0]), line)
    cut = re.compile("|".join(map(re.escape, marks)))
    pieces, start = [], 0
    for mark in cut.finditer(hidden):
        pieces.append(line[start : mark.start()].strip())
        start = mark.end()
    return [piece for piece in [*pieces, line[start:].strip()] if piece]
