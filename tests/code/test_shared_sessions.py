"""How files are related that agents touched in the same sessions."""

from hivemind.code.shared_sessions import describe_touches, find_touched_together, weigh_files
from hivemind.model.code import SharedSession
from hivemind.model.ids import SessionId


def session(edited: str = "", read: str = "") -> SharedSession:
    return SharedSession(
        id=SessionId("s"), agent="codex", at="", task="", edited=tuple(edited.split()), read=tuple(read.split())
    )


def test_an_edit_counts_more_than_a_look() -> None:
    counted = weigh_files([session(edited="a b", read="c")], {"a"})

    assert counted["b"] == 2 * counted["c"] > 0


def test_what_shares_no_session_with_a_seed_is_not_related() -> None:
    counted = weigh_files([session(edited="a b"), session(edited="c d")], {"a"})

    assert {*counted} == {"a", "b"}


def test_each_session_counts_and_the_newer_one_more() -> None:
    older = [session(), session(edited="a b")]
    newer = [session(edited="a b"), session()]
    twice = [session(edited="a b"), session(edited="a b")]

    counted = [weigh_files(sessions, {"a"})["b"] for sessions in (older, newer, twice)]

    assert counted == sorted(counted)
    assert len({*counted}) == 3


def test_a_session_through_the_whole_tree_says_less_than_one_of_two_files() -> None:
    wide = weigh_files([session(edited="a b " + " ".join(f"f{number}" for number in range(50)))], {"a"})
    narrow = weigh_files([session(edited="a b")], {"a"})

    assert wide["b"] < narrow["b"] / 10


def test_files_of_one_folder_are_related_to_each_other() -> None:
    sessions = [session(edited="auth/models.py", read="auth/service.py docs.md")]

    found = find_touched_together(sessions, {"auth/models.py", "auth/service.py"}, limit=2)

    assert {file.path for file in found} == {"auth/models.py", "auth/service.py"}
    assert describe_touches(sessions, "auth/models.py") == "touched together in a session: edited"
    assert describe_touches([*sessions, *sessions], "docs.md") == "touched together in 2 sessions: read"
