"""Get review comments with ``gh`` or ``glab``, the command lines of GitHub and GitLab."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from hivemind.agents.json_input import get_text
from hivemind.context import Progress, quietly
from hivemind.errors import InvalidInput, Unavailable
from hivemind.model.scope import Repository
from hivemind.text.untrusted import Unreadable, parse_json

TIMEOUT_SECONDS = 60.0
PAGE = 100
"""Items of a page; the most that both give."""
MOST_PAGES = 10
"""Newest pages that are read if neither pull requests nor a date are given."""
MOST_PAGES_ASKED = 100
FILE_HINT = "give the file: hivemind import reviews FILE"
HINT = f"or save the JSON elsewhere and {FILE_HINT}"


def fetch_comments(
    repository: Repository, pulls: Sequence[str] = (), *, since: str = "", progress: Progress = quietly
) -> Iterator[str]:
    """Yield pages of JSON with the review comments of pull requests, or the newest of the repository."""
    tool = _choose_tool(repository)
    root = Path(repository.root)
    pages = MOST_PAGES_ASKED if pulls or since else MOST_PAGES
    if tool == "gh":
        # {owner} and {repo} are filled in by gh, which also knows a host of one's own.
        base = "repos/{owner}/{repo}/pulls"
        paths = [f"{base}/{number}/{part}" for number in pulls for part in ("comments", "reviews")]
        newest = {"sort": "created", "direction": "desc"} | ({"since": since} if since else {})
        calls: list[tuple[str, dict[str, str]]] = [(path, {}) for path in paths] or [(f"{base}/comments", newest)]
    else:
        numbers = pulls or _list_merge_requests(root, since, pages)
        calls = [(f"projects/:id/merge_requests/{number}/discussions", {}) for number in numbers]
    for place, (path, query) in enumerate(calls):
        for page, text in enumerate(_read_pages(tool, root, path, query, pages), start=1):
            progress(*((page, pages) if len(calls) == 1 else (place, len(calls))))
            yield text


def _read_pages(tool: str, root: Path, path: str, query: dict[str, str], pages: int) -> Iterator[str]:
    for page in range(1, pages + 1):
        text = _call(tool, root, path, {**query, "per_page": PAGE, "page": page})
        yield text
        if len(_parse(text)) < PAGE:
            return


def _list_merge_requests(root: Path, since: str, pages: int) -> list[str]:
    """List the numbers of the newest merged requests; GitLab has no list of all discussions."""
    query = {"state": "merged", "order_by": "updated_at"} | ({"updated_after": since} if since else {})
    texts = _read_pages("glab", root, "projects/:id/merge_requests", query, pages if since else 1)
    return [get_text(item, "iid") for text in texts for item in _parse(text) if isinstance(item, dict)]


def _choose_tool(repository: Repository) -> str:
    """Choose the tool by the host of the repository's remote; raises what a person can act on."""
    kind, _, place = repository.id.partition(":")
    host = place.partition("/")[0]
    if kind != "remote" or not host:
        raise InvalidInput(f"this repository has no remote at GitHub or GitLab; {FILE_HINT}")
    tools = [tool for tool in ("gh", "glab") if shutil.which(tool)]
    host_tool = "glab" if "gitlab" in host else "gh" if "github" in host else ""
    if host_tool and host_tool not in tools:
        raise Unavailable(f"{host_tool} is not installed, which reads comments from {host}; install it, {HINT}")
    # A company's own host may be of either kind.
    if not host_tool and len(tools) != 1:
        raise InvalidInput(f"it is not known whether {host} is GitHub or GitLab; {FILE_HINT}")
    return host_tool or tools[0]


def _call(tool: str, root: Path, path: str, query: dict[str, Any]) -> str:
    command = [tool, "api", f"{quote(path, safe='/:{}')}?{urlencode(query)}"]
    try:
        process = subprocess.run(command, cwd=root, capture_output=True, timeout=TIMEOUT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{tool} cannot be run: {error}; {HINT}") from None
    if process.returncode:
        reason = process.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Unavailable(f"{tool} api {path}: {reason[0] if reason else 'failed'}; check '{tool} auth status', {HINT}")
    return process.stdout.decode("utf-8", "replace")


def _parse(text: str) -> list[Any]:
    try:
        value = parse_json(text)
    except Unreadable:
        return []
    return value if isinstance(value, list) else []
