"""Review comments are read from what gh and glab print, whatever the form, and bots are recognised."""

import json
from typing import Any

import pytest

from hivemind.errors import InvalidInput
from hivemind.transfer.review_threads import ReviewComment, read_comments

HUNK = "@@ -1,2 +1,4 @@ def charge():\n def charge():\n+    first = 1\n+    second = 2"


def rest(number: int = 1, **fields: Any) -> dict[str, Any]:
    """Return a comment as GitHub's REST interface gives it."""
    return {
        "id": number, "in_reply_to_id": None, "diff_hunk": HUNK, "path": "pay.py", "line": None, "original_line": 3,
        "original_start_line": 2, "commit_id": "b" * 40, "original_commit_id": "a" * 40,
        "body": "Use a name.\r\nPlease.",
        "user": {"login": "grace", "type": "User"}, "created_at": "2026-10-02T09:00:00Z",
        "html_url": f"https://github.com/acme/shop/pull/12#discussion_r{number}",
        "url": f"https://api.github.com/repos/acme/shop/pulls/comments/{number}",
    } | fields  # fmt: skip


THREAD = {
    "data": {"repository": {"pullRequest": {"number": 12, "author": {"login": "ada"}, "reviewThreads": {"nodes": [
        {"id": "T1", "path": "pay.py", "line": None, "originalLine": 3, "originalStartLine": 2, "isResolved": True,
         "comments": {"nodes": [
             {"databaseId": 1, "body": "Use a name.", "author": {"login": "grace", "__typename": "User"},
              "createdAt": "2026-10-02T09:00:00Z", "diffHunk": HUNK, "originalCommit": {"oid": "a" * 40}},
             {"databaseId": 2, "body": "Done", "author": {"login": "ada"}, "createdAt": "2026-10-02T10:00:00Z"}]}}]}}}},
}  # fmt: skip
VIEW = {
    "author": {"login": "ada"}, "number": 12,
    "reviews": [{"id": "R1", "author": {"login": "grace"}, "authorAssociation": "MEMBER",
                 "body": "Name all tests well.", "submittedAt": "2026-10-02T09:00:00Z", "state": "COMMENTED"}],
    "comments": [{"id": "C1", "author": {"login": "coderabbitai"}, "authorAssociation": "NONE", "body": "Summary",
                  "createdAt": "2026-10-02T09:00:00Z", "url": "https://github.com/acme/shop/pull/12#issuecomment-1"}],
}  # fmt: skip
DISCUSSIONS = [
    {"id": "d1", "individual_note": False, "notes": [
        {"id": 7, "type": "DiffNote", "body": "Use a name.", "author": {"username": "grace"}, "system": False,
         "created_at": "2026-10-02T09:00:00.000Z", "noteable_iid": 12, "resolvable": True,
         "position": {"head_sha": "a" * 40, "new_path": "pay.py", "old_path": "pay.py", "new_line": 3, "old_line": None,
                      "line_range": {"start": {"new_line": 2}, "end": {"new_line": 3}}}},
        {"id": 8, "body": "Done", "author": {"username": "ada"}, "system": False, "noteable_iid": 12}]},
    {"id": "d2", "notes": [{"id": 9, "body": "added 1 commit", "author": {"username": "ada"}, "system": True}]},
]  # fmt: skip


def read_one(value: Any) -> ReviewComment:
    (comment, *_) = read_comments(json.dumps(value))
    return comment


@pytest.mark.parametrize("value", [[rest()], THREAD, DISCUSSIONS], ids=["rest", "graphql", "gitlab"])
def test_each_form_gives_the_reviewer_the_place_and_the_words(value: Any) -> None:
    comment = read_one(value)

    assert (comment.reviewer, comment.path, comment.line, comment.line_count) == ("grace", "pay.py", 3, 2)
    assert comment.commit == "a" * 40
    assert comment.body.startswith("Use a name.")
    assert comment.pull == "12"
    assert comment.written_at.startswith("2026-10-02T09:00")
    assert not comment.is_bot


def test_the_author_of_a_pull_request_is_told_from_reviewers() -> None:
    first, second = read_comments(json.dumps(THREAD))

    assert (first.is_authors, second.is_authors) == (False, True)
    assert first.thread == second.thread


def test_what_gh_pr_view_prints_names_no_lines() -> None:
    review, comment = read_comments(json.dumps(VIEW))

    assert (review.body, review.path, review.is_bot) == ("Name all tests well.", "", False)
    assert comment.is_bot


def test_system_notes_of_gitlab_are_left_out() -> None:
    assert [comment.body for comment in read_comments(json.dumps(DISCUSSIONS))] == ["Use a name.", "Done"]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([rest(1)]) + json.dumps([rest(2)]),
        json.dumps([[rest(1)], [rest(2)]]),
        json.dumps(rest(1)) + "\n" + json.dumps(rest(2)) + "\n",
        json.dumps([rest(1), rest(2), rest(1)]),
    ],
    ids=["pages", "slurped", "lines", "twice"],
)
def test_pages_lists_and_lines_give_each_comment_once(text: str) -> None:
    assert [comment.id for comment in read_comments(text)] == ["github:1", "github:2"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_encodings_of_shells_are_read(encoding: str) -> None:
    content = json.dumps([rest(body="größer")], ensure_ascii=False).encode(encoding)

    assert read_comments(content)[0].body == "größer"


@pytest.mark.parametrize(
    ("user", "is_bot"),
    [
        ({"login": "dependabot[bot]", "type": "Bot"}, True),
        ({"login": "Copilot", "type": "Bot"}, True),
        ({"login": "k8s-ci-robot", "type": "User"}, True),
        ({"login": "project_12_bot_a1", "type": "User"}, True),
        ({"login": "abbot", "type": "User"}, False),
        ({"login": "robotnik", "type": "User"}, False),
        (None, False),
    ],
)
def test_bots_are_recognised_and_people_are_not(user: dict[str, str] | None, is_bot: bool) -> None:
    assert read_one([rest(user=user)]).is_bot is is_bot


def test_no_comments_are_no_error_but_something_else_is() -> None:
    assert read_comments("[]") == []
    assert read_comments("[[], []]") == []
    for text in ("nonsense", '{"message": "Not Found"}', "", "[1, 2]", '[{"id": 1'):
        if text:
            with pytest.raises(InvalidInput):
                read_comments(text)


@pytest.mark.parametrize("value", [None, 3, "x", [], {}])
@pytest.mark.parametrize("name", ["body", "user", "path", "line", "original_line", "diff_hunk", "id", "created_at"])
def test_a_field_of_any_type_is_survived(name: str, value: Any) -> None:
    assert len(read_comments(json.dumps([rest(**{name: value})]))) == 1
