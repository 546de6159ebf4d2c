"""One anchor walks through everything that can happen to its symbol."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hivemind.code.code_changes import judge
from hivemind.code.index import CodeIndex
from hivemind.code.moved_symbols import MAX_SEARCH_FILES
from hivemind.model.code import SymbolChange
from tests.sample_service import SERVICE as SIGNING_IN

if TYPE_CHECKING:
    from tests.code.conftest import Workspace

SERVICE = (
    SIGNING_IN
    + '''

class Session:
    """An open door."""

    timeout = 60

    def open(self, user):
        self.user = user
        self.started = now()

    def close(self):
        self.user = None
        self.ended = now()
'''
)
PATH = "auth/service.py"
BODY = SERVICE[SERVICE.index("def authenticate_user") : SERVICE.index("def find_record")]


@pytest.fixture
def service(workspace: "Workspace") -> "Workspace":
    workspace.write(PATH, SERVICE)
    workspace.write("auth/other.py", "import os\n\n\ndef unrelated(a):\n    return os.path.join(a, a)\n")
    workspace.commit()
    workspace.index.refresh()
    return workspace


def reformat(at: "Workspace") -> None:
    at.replace(
        PATH,
        'jwt.sign(record.name, pw, algorithm="HS256")',
        "jwt.sign(\n  record.name,\n pw, algorithm='HS256',\n)",
    )
    at.replace(PATH, "        attempts = attempts + 1\n", "        # once more\n        attempts = attempts + 1\n\n")


def push_down(at: "Workspace") -> None:
    at.replace(PATH, "import jwt\n", "import jwt\nimport os\n\nHOME = os.environ['HOME']\n")


def rename(at: "Workspace") -> None:
    at.replace(PATH, "authenticate_user", "authenticate")


def move(at: "Workspace") -> None:
    at.replace(PATH, BODY, "")
    at.write("auth/login.py", "import jwt\n\n\n" + BODY)


def edit_major(at: "Workspace", path: str = PATH) -> None:
    at.replace(
        path,
        "        log_failure(record, attempts)\n",
        "        sleep(attempts)\n        notify(record.owner)\n",
    )


def rename_and_edit(at: "Workspace") -> None:
    rename(at)
    edit_major(at)


def move_and_edit(at: "Workspace") -> None:
    move(at)
    edit_major(at, "auth/login.py")


CASES: dict[str, tuple[Callable[["Workspace"], None], SymbolChange, SymbolChange, bool, str]] = {
    "nothing": (lambda at: None, SymbolChange.FRESH, SymbolChange.FRESH, False, "unchanged"),
    "other lines above": (push_down, SymbolChange.FRESH, SymbolChange.FRESH, False, "unchanged"),
    "layout and comments": (
        reformat,
        SymbolChange.COSMETIC,
        SymbolChange.COSMETIC,
        False,
        "only layout, comments or local names",
    ),
    "docstring": (
        lambda at: at.replace(PATH, "Give a token", "Hand out a token"),
        SymbolChange.DOCS,
        SymbolChange.DOCS,
        False,
        "documentation changed",
    ),
    "a detail": (
        lambda at: at.replace(PATH, "raise TooManyAttempts(user)", "raise TooManyTries(user)"),
        SymbolChange.BODY_MAJOR,
        SymbolChange.BODY_MAJOR,
        True,
        "changed since",
    ),
    "local names": (
        lambda at: at.replace(PATH, "attempts", "tries"),
        SymbolChange.COSMETIC,
        SymbolChange.COSMETIC,
        False,
        "only layout, comments or local names",
    ),
    "the body": (edit_major, SymbolChange.BODY_MAJOR, SymbolChange.BODY_MAJOR, True, "changed since"),
    "the signature": (
        lambda at: at.replace(PATH, "(user, pw)", "(user, pw, otp)"),
        SymbolChange.SIGNATURE,
        SymbolChange.SIGNATURE,
        True,
        "signature changed since",
    ),
    "the name": (rename, SymbolChange.RENAMED, SymbolChange.COSMETIC, False, "renamed to authenticate since"),
    "the name and the body": (
        rename_and_edit,
        SymbolChange.RENAMED,
        SymbolChange.BODY_MAJOR,
        True,
        "renamed to authenticate, changed since",
    ),
    "the file": (move, SymbolChange.MOVED, SymbolChange.FRESH, False, "moved to auth/login.py since"),
    "the file and the body": (
        move_and_edit,
        SymbolChange.MOVED,
        SymbolChange.BODY_MAJOR,
        True,
        "moved to auth/login.py, changed since",
    ),
    "all of it": (
        lambda at: at.replace(PATH, BODY, ""),
        SymbolChange.GONE,
        SymbolChange.GONE,
        True,
        "gone since",
    ),
}


@pytest.mark.parametrize("is_committed", [False, True], ids=["uncommitted", "committed"])
@pytest.mark.parametrize("case", CASES)
def test_each_change_has_its_class_and_its_sentence(service: "Workspace", case: str, is_committed: bool) -> None:
    edit, change, inner, must_verify, text = CASES[case]
    anchor = service.anchor(f"{PATH}::authenticate_user")

    edit(service)
    if is_committed and case != "nothing":
        service.commit()
    service.index.refresh()
    judged = service.judge(anchor)

    assert (judged.change, judged.edit) == (change, inner)
    assert judged.must_verify is must_verify
    assert judged.text.startswith(text)


def test_a_revert_heals(service: "Workspace") -> None:
    anchor = service.anchor(f"{PATH}::authenticate_user")
    original = service.read(PATH)

    edit_major(service)
    doubted = service.judge(anchor)
    service.write(PATH, original)
    healed = service.judge(anchor)

    assert doubted.must_verify
    assert healed.change is SymbolChange.FRESH


def test_staleness_belongs_to_the_branch_that_asks(service: "Workspace") -> None:
    anchor = service.anchor(f"{PATH}::authenticate_user")
    service.git("checkout", "-q", "-b", "other")
    edit_major(service)
    service.commit()

    there = service.judge(anchor)
    service.git("checkout", "-q", "main")
    here = service.judge(anchor)

    assert (there.change, here.change) == (SymbolChange.BODY_MAJOR, SymbolChange.FRESH)


def test_verifying_takes_hold_of_the_symbol_as_it_is_now(service: "Workspace") -> None:
    anchor = service.anchor(f"{PATH}::authenticate_user")
    rename(service)
    edit_major(service)

    now = service.judge(anchor).now

    assert now is not None
    assert now.qualified == "authenticate"
    assert service.judge(now).change is SymbolChange.FRESH


def test_a_class_whose_method_changed_must_be_verified_and_its_label_shows_the_line(service: "Workspace") -> None:
    anchor = service.anchor(f"{PATH}::Session")
    sibling = service.anchor(f"{PATH}::Session.open")
    service.replace(PATH, "self.ended = now()", "self.ended = now(UTC)")

    judged = service.judge(anchor)

    assert judged.change is SymbolChange.MEMBERS
    assert judged.must_verify
    assert "`now()` → `now(UTC)`" in judged.text
    assert service.judge(sibling).change is SymbolChange.FRESH


def test_of_long_signatures_only_the_parameters_that_differ_are_shown(service: "Workspace") -> None:
    service.replace(PATH, "def open(self, user)", "def open(self, user: str, key: bytes) -> tuple[str, str]")
    service.commit()
    service.index.refresh()
    anchor = service.anchor(f"{PATH}::Session.open")
    service.replace(PATH, "key: bytes)", "keys: dict[str, bytes], now: float)")

    assert "`key: bytes` → `keys: dict[str, bytes], now: float`" in service.judge(anchor).text


def test_a_member_follows_its_renamed_class(service: "Workspace") -> None:
    anchor = service.anchor(f"{PATH}::Session.close")
    service.replace(PATH, "class Session", "class Visit")

    judged = service.judge(anchor)

    assert judged.change is SymbolChange.MOVED
    assert judged.now is not None
    assert judged.now.label == f"{PATH}::Visit.close"


def test_a_file_in_no_known_language_is_followed_too(service: "Workspace") -> None:
    service.write("deploy.conf", "".join(f"host{n} = 10.0.0.{n} weight {n * 7}\n" for n in range(40)))
    service.commit()
    service.index.refresh()
    anchor = service.anchor("deploy.conf")

    service.git("mv", "deploy.conf", "production.conf")
    service.index.refresh()
    moved = service.judge(anchor)
    service.replace("production.conf", "host7 = 10.0.0.7", "host7 = 10.9.9.9")
    edited = service.judge(anchor)

    assert (moved.change, moved.edit) == (SymbolChange.RENAMED, SymbolChange.FRESH)
    assert (edited.change, edited.edit) == (SymbolChange.RENAMED, SymbolChange.BODY_MINOR)


def test_what_two_candidates_fit_equally_well_is_gone_rather_than_guessed(service: "Workspace") -> None:
    anchor = service.anchor(f"{PATH}::authenticate_user")
    service.replace(PATH, BODY, "")
    service.write("auth/one.py", BODY.replace("authenticate_user", "authenticate_staff"))
    service.index.refresh()

    one = service.judge(anchor)
    service.write("auth/two.py", BODY.replace("authenticate_user", "authenticate_guest"))
    service.index.refresh()
    two = service.judge(anchor)

    assert one.change is SymbolChange.RENAMED
    assert two.change is SymbolChange.GONE


def test_a_function_with_a_new_name_is_found_in_a_new_file_that_is_not_committed(service: "Workspace") -> None:
    for number in range(MAX_SEARCH_FILES):
        service.write(f"other/m{number}.py", f"def count_{number}(rows):\n    return len(rows) + {number}\n")
    service.commit()
    service.index.refresh()
    anchor = service.anchor(f"{PATH}::authenticate_user")
    service.replace(PATH, BODY, "")
    service.write("login/entry.py", BODY.replace("authenticate_user", "check_visitor"))

    judged = service.judge(anchor)

    assert judged.change is SymbolChange.RENAMED
    assert judged.now is not None
    assert judged.now.label == "login/entry.py::check_visitor"


@pytest.mark.parametrize("is_committed", [False, True], ids=["uncommitted", "committed"])
def test_a_stray_copy_of_a_moved_file_does_not_hide_it(service: "Workspace", is_committed: bool) -> None:
    anchor = service.anchor(f"{PATH}::authenticate_user")
    source = service.read(PATH)
    service.remove(PATH)
    service.write("login/service.py", source)
    if is_committed:
        service.commit()
    service.write("login/service_backup.py", source)
    service.index.refresh()

    judged = service.judge(anchor)

    assert judged.change is SymbolChange.MOVED
    assert judged.now is not None
    assert judged.now.path == "login/service.py"


def test_anchors_are_judged_without_any_index_and_without_git(service: "Workspace") -> None:
    anchor = service.anchor(f"{PATH}::authenticate_user")
    plain = service.root.parent / "copy" / "auth"
    plain.mkdir(parents=True)
    (plain / "service.py").write_text(service.read(PATH).replace("authenticate_user", "authenticate"))

    with CodeIndex.open(plain.parent, service.root.parent / "other-cache") as index:
        (judged,) = judge(index, [anchor])

    assert judged.change is SymbolChange.RENAMED


def test_an_anchor_of_another_scheme_is_compared_by_the_code_that_git_has(service: "Workspace") -> None:
    anchor = service.anchor(f"{PATH}::authenticate_user")
    foreign = replace(anchor, fingerprint="0" + anchor.fingerprint[1:])
    unknown = replace(foreign, commit="")

    same = service.judge(unknown)
    push_down(service)
    reformat(service)

    assert same.change is SymbolChange.FRESH
    assert service.judge(foreign).change is SymbolChange.COSMETIC
    # Without the old code only the bytes can be compared.
    assert service.judge(unknown).change is SymbolChange.BODY_MAJOR


def test_a_commit_is_judged_by_what_it_did_to_each_symbol(service: "Workspace") -> None:
    anchors = [service.anchor(f"{PATH}::{name}") for name in ("authenticate_user", "find_record", "Session.open")]
    rename(service)
    service.replace(PATH, "def find_record(user):", "def find_record(user, table=TABLE):")
    service.commit()

    told = [one.change for one in judge(service.index, anchors)]

    assert told == [SymbolChange.RENAMED, SymbolChange.SIGNATURE, SymbolChange.FRESH]
