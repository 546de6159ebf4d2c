"""Read review comments from the JSON that GitHub and GitLab give: comments on lines, and what a review says as a whole.

Known are the REST comments and reviews of GitHub (``gh api``), ``gh pr view --json``, the review threads of GitHub's
GraphQL, and the discussions of GitLab. All of them may stand in lists, pages one after another, lines, or below other
fields; what is none of them is left out.
"""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hivemind.agents.json_input import get_list, get_object, get_objects, get_text, parse_timestamp, split_values
from hivemind.errors import InvalidInput
from hivemind.model.ids import Timestamp
from hivemind.text.untrusted import Unreadable

GITHUB, GITLAB = "github", "gitlab"
BOT_NAME = re.compile(r"\[bot\]\Z|(?:\A|[-_])(?:ro)?bot(?:[-_\d]|\Z)|\A(?:project|group)_\d+_bot", re.IGNORECASE)
BOT_REVIEWERS = re.compile(
    r"coderabbitai|copilot(?:-pull-request-reviewer)?|gemini-code-assist|chatgpt-codex-connector|sourcery-ai|cursor"
    r"|greptile-apps|ellipsis-dev|qodo-merge-pro|devin-ai-integration|github-(?:actions|advanced-security)|codecov"
    r"|sonarqubecloud|claude",
    re.IGNORECASE,
)
"""Programs that review pull requests; GraphQL and ``gh pr view`` give their names without saying what they are."""
PULL = re.compile(r"/(?:pull|pulls|merge_requests)/(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewComment:
    """What somebody wrote about a pull request, and the lines it is about."""

    id: str
    origin: str
    """``github`` or ``gitlab``."""
    reviewer: str
    body: str
    written_at: Timestamp = ""
    url: str = ""
    pull: str = ""
    """The number of the pull request; empty if it is not given."""
    path: str = ""
    """Empty for a comment on the pull request as a whole."""
    line: int = 0
    """The last line commented on, in the file of that commit; 0 if it is not given."""
    line_count: int = 1
    commit: str = ""
    hunk: str = ""
    """The diff up to that line, as GitHub cuts it; empty from GitLab."""
    thread: str = ""
    """The same for all comments of a thread."""
    is_bot: bool = False
    is_authors: bool = False
    """Whether the author of the pull request wrote it, where that is given."""


def read_comments(content: str | bytes) -> list[ReviewComment]:
    """Read the comments in a text of JSON, in order and each once; raises InvalidInput if there are none to read."""
    text = content if isinstance(content, str) else _decode(content)
    try:
        # One for each page, from ``gh api --paginate``.
        values = [*split_values(text)]
    except Unreadable as error:
        raise InvalidInput(f"{error}; give what 'gh api' or 'glab api' printed") from None
    comments = {comment.id: comment for value in values for comment in _find_comments(value, {})}
    if not comments and not _is_empty(values):
        raise InvalidInput(
            "there are no review comments in it; give the JSON of 'gh api repos/OWNER/NAME/pulls/N/comments' or of"
            " 'glab api projects/:id/merge_requests/N/discussions'"
        )
    return [*comments.values()]


def _decode(content: bytes) -> str:
    # PowerShell writes the output of a program as UTF-16.
    is_wide = content.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    return content.decode("utf-16" if is_wide else "utf-8", "replace")


def _is_empty(values: list[Any]) -> bool:
    """Whether a text is what a pull request without comments gives: empty lists."""
    return all(value == [] or (isinstance(value, list) and _is_empty(value)) for value in values)


def _find_comments(value: Any, pull: Mapping[str, str]) -> Iterator[ReviewComment]:
    """Find the comments in a value; ``pull`` is what the fields around it say about the pull request."""
    if isinstance(value, list):
        for item in value:
            yield from _find_comments(item, pull)
    if not isinstance(value, dict):
        return
    if any(name in value for name in ("reviewThreads", "reviews")) or ("comments" in value and "number" in value):
        pull = {"author": _get_login(value), "number": get_text(value, "number")}
    if "notes" in value:
        yield from _read_discussion(value, pull)
    elif "diff_hunk" in value or ("submitted_at" in value and "body" in value):
        yield _read_rest(value, pull)
    elif get_list(get_object(value, "comments"), "nodes") and "path" in value:
        yield from _read_thread(value, pull)
    elif "body" in value and ("submittedAt" in value or "authorAssociation" in value):
        yield _read_view(value, pull)
    else:
        for inner in value.values():
            yield from _find_comments(inner, pull)


def _get_login(fields: Mapping[str, Any]) -> str:
    person = get_object(fields, "author") or get_object(fields, "user")
    return get_text(person, "login", "username")


def _make(fields: Mapping[str, Any], pull: Mapping[str, str], origin: str, key: str) -> ReviewComment:
    """Make a comment of the fields that all formats have."""
    person = get_object(fields, "author") or get_object(fields, "user")
    login, url = _get_login(fields), get_text(fields, "html_url", "url")
    number = PULL.search(url)
    is_bot = "Bot" in (person.get("type"), person.get("__typename")) or bool(person.get("bot") or person.get("is_bot"))
    return ReviewComment(
        id=f"{origin}:{key or url or login + get_text(fields, 'body')}",
        origin=origin,
        reviewer=login,
        body=get_text(fields, "body").replace("\r\n", "\n"),
        written_at=parse_timestamp(
            get_text(fields, "created_at", "createdAt", "submitted_at", "submittedAt").replace("Z", "+00:00")
        ),
        # The address of the API is of no use to a reader.
        url=url if "://api." not in url else "",
        pull=number[1] if number else pull.get("number", ""),
        is_bot=is_bot or bool(BOT_NAME.search(login)) or bool(BOT_REVIEWERS.fullmatch(login)),
        is_authors=bool(login) and login == pull.get("author"),
    )


def _read_rest(fields: Mapping[str, Any], pull: Mapping[str, str]) -> ReviewComment:
    """Read a comment on lines, or a review, of GitHub's REST interface."""
    # Older reviews have no line, and outdated comments only the original one.
    last, first = _get_number(fields, "original_line", "line"), _get_number(fields, "original_start_line", "start_line")
    key = get_text(fields, "id")
    is_on_lines = "diff_hunk" in fields
    return replace(
        _make(fields, pull, GITHUB, key if is_on_lines else f"review-{key}"),
        path=get_text(fields, "path"),
        line=last,
        line_count=_count_lines(first, last),
        commit=get_text(fields, "original_commit_id", "commit_id"),
        hunk=get_text(fields, "diff_hunk"),
        thread=get_text(fields, "in_reply_to_id") or key,
    )


def _read_thread(thread: Mapping[str, Any], pull: Mapping[str, str]) -> Iterator[ReviewComment]:
    """Read a review thread of GitHub's GraphQL."""
    last, first = _get_number(thread, "originalLine", "line"), _get_number(thread, "originalStartLine", "startLine")
    for fields in get_objects(get_object(thread, "comments"), "nodes"):
        commit = get_object(fields, "originalCommit") or get_object(fields, "commit")
        yield replace(
            _make(fields, pull, GITHUB, get_text(fields, "databaseId", "id")),
            path=get_text(thread, "path"),
            line=last,
            line_count=_count_lines(first, last),
            commit=get_text(commit, "oid"),
            hunk=get_text(fields, "diffHunk"),
            thread=get_text(thread, "id") or f"{thread.get('path')}:{last}",
        )


def _read_view(fields: Mapping[str, Any], pull: Mapping[str, str]) -> ReviewComment:
    """Read a comment or review that ``gh pr view --json comments,reviews`` gives, which names no lines."""
    comment = _make(fields, pull, GITHUB, get_text(fields, "id"))
    return replace(comment, thread=comment.id)


def _read_discussion(discussion: Mapping[str, Any], pull: Mapping[str, str]) -> Iterator[ReviewComment]:
    """Read a discussion of a merge request of GitLab."""
    for fields in get_objects(discussion, "notes"):
        # "added 2 commits" and the like.
        if fields.get("system"):
            continue
        position = get_object(fields, "position")
        span = get_object(position, "line_range")
        last = _get_number(position, "new_line", "old_line")
        first = _get_number(get_object(span, "start"), "new_line", "old_line")
        comment = _make(fields, pull, GITLAB, get_text(fields, "id"))
        yield replace(
            comment,
            pull=comment.pull or get_text(fields, "noteable_iid"),
            path=get_text(position, "new_path", "old_path"),
            line=last,
            line_count=_count_lines(first, last),
            commit=get_text(position, "head_sha"),
            thread=get_text(discussion, "id"),
        )


def _count_lines(first: int, last: int) -> int:
    """Count the lines of a span; a comment on one line names no first."""
    return last - first + 1 if first and last >= first else 1


def _get_number(fields: Mapping[str, Any], *names: str) -> int:
    numbers = (fields.get(name) for name in names)
    return next((number for number in numbers if isinstance(number, int) and number > 0), 0)
