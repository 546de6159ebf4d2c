"""A memory about code, from the moment it is written through everything that can happen to the code."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from hivemind import Scope
from hivemind.model.claim import Claim
from tests.conftest import Open, git
from tests.contract.test_architecture import modules_after
from tests.doors import run, run_json

Make = Callable[..., Path]

SERVICE = '''
"""Who may come in."""

import jwt


def authenticate_user(user, pw):
    """Give a token to who knows the password."""
    attempts = 0
    record = find_record(user)
    while attempts < LIMIT:
        token = jwt.sign(record.name, pw, algorithm="HS256")
        if token and record.is_active and not record.is_locked:
            log_success(record, token)
            return token
        attempts = attempts + 1
        log_failure(record, attempts)
    raise TooManyAttempts(user)


def find_record(user):
    return TABLE.lookup(user)
'''
PATH = "auth/service.py"
LINK = f"{PATH}::authenticate_user"
JWT = "Auth uses a custom JWT library for reasons of HMAC"


@pytest.fixture
def shop(make_repository: Make, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a service, a till that rounds, and one more `total`."""
    root = make_repository("shop")
    write(root, PATH, SERVICE)
    write(root, "shop/till.py", "class Till:\n    def total(self, basket):\n        return round(sum(basket))\n")
    write(root, "shop/report.py", "def total(rows):\n    return len(rows)\n")
    commit(root)
    monkeypatch.chdir(root)
    return root


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(dedent(text).lstrip("\n"))


def commit(root: Path) -> str:
    git(root, "add", "-A")
    git(root, "commit", "-m", "change")
    return git(root, "rev-parse", "HEAD")


def tied(text: str, *options: str) -> list[str]:
    memory = run_json("remember", text, *options)
    return [f"{one['path']}::{one['qualified']}".removesuffix("::") for one in memory["anchors"]]


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("text", "options", "labels"),
    [
        (JWT, ["--link", LINK], [LINK]),
        (JWT, ["--link", "authenticate_user"], [LINK]),
        ("It rounds to whole coins", ["--source", "shop/till.py:3"], ["shop/till.py::Till.total"]),
        ("It rounds to whole coins", ["--source", "the meeting in May"], []),
        ("authenticate_user() locks out after ten attempts", [], [LINK]),
        ("The numbers in shop/report.py leave out returns", [], ["shop/report.py"]),
        ("Money is rounded", ["--link", "total"], ["shop/report.py::total", "shop/till.py::Till.total"]),
        ("Money is rounded", ["--scope", "user", "--link", LINK], []),
        ("The total is rounded to whole coins", [], []),
    ],
)
def test_a_memory_is_tied_to_the_code_it_names_and_to_no_other(
    text: str, options: list[str], labels: list[str]
) -> None:
    assert sorted(tied(text, *options)) == labels


@pytest.mark.usefixtures("shop")
def test_a_link_that_leads_nowhere_keeps_the_memory_and_says_so() -> None:
    lost = run("remember", JWT, "--link", f"{PATH}::authenticate_nobody")
    found = run("remember", "Records are found by name", "--link", f"{PATH}::find_record")

    assert (lost.exit_code, found.exit_code) == (0, 0)
    assert "authenticate_nobody fits nothing here" in lost.stderr
    assert found.stderr == ""
    assert run_json("recall", "jwt library")["hits"][0]["memory"]["links"] == [f"{PATH}::authenticate_nobody"]


@pytest.mark.usefixtures("shop")
def test_a_memory_is_kept_also_where_no_index_can_be(home: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / "index").write_text("in the way")

    without = tied(JWT, "--link", LINK)
    (home / "index").unlink()
    with_index = tied("Records are found by name", "--link", f"{PATH}::find_record")

    assert (without, with_index) == ([], [f"{PATH}::find_record"])
    assert len(run_json("list")) == 2


@pytest.mark.usefixtures("shop")
def test_words_that_are_no_code_load_no_parser(home: Path) -> None:
    remember = "import hivemind; mind = hivemind.open(); mind.remember({!r}); mind.close()"

    plain = modules_after(remember.format("Deploys happen on Fridays, after lunch."))
    was_opened = (home / "index").exists()
    coded = modules_after(remember.format("authenticate_user() is slow"))

    assert not was_opened
    assert "tree_sitter" not in plain
    assert "tree_sitter" in coded


def test_saying_it_again_does_not_take_hold_of_other_code(shop: Path, open_mind: Open) -> None:
    mind = open_mind(shop)
    first = mind.remember(JWT, links=[LINK])
    write(shop, PATH, SERVICE.replace("(user, pw)", "(user, pw, otp)"))

    again = mind.remember(JWT, links=[LINK])

    assert again.id == first.id
    assert again.anchors == first.anchors
    assert len(first.anchors) == 1


def test_what_a_memory_is_tied_to_outlives_a_rebuild_and_is_in_its_history(shop: Path, open_mind: Open) -> None:
    mind = open_mind(shop)
    (memory,) = mind.remember_all([Claim(text=JWT, scope=Scope.TEAM, links=[LINK])])

    mind.rebuild()

    assert mind.show(memory.id) == memory
    assert [anchor.commit for anchor in memory.anchors] == [git(shop, "rev-parse", "HEAD")]
    assert [step.what for step in mind.history(memory.id)] == ["remembered", f"tied to {LINK}"]
