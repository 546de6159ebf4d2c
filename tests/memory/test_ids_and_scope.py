"""By id, prefix or suggestion a caller sees and changes only what it could recall."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hivemind import Hivemind, Scope
from hivemind.errors import AmbiguousId, HivemindError, InvalidInput, NotFound, Refused
from hivemind.mcp import ToolServer
from hivemind.mcp.protocol import Caller
from hivemind.model.memory import Memory, Status, Writer
from hivemind.sessions import spool
from hivemind.settings import Settings
from hivemind.viewer import build
from hivemind.viewer.local import MindPool, make_site
from tests.command_line import run
from tests.conftest import AGENT, PERSON, Clock, Open, Tally

SECRET = "The staging password rotates on Sundays"
UNKNOWN = "0" * 32
BY_ID: dict[str, Callable[..., Any]] = {
    "show": Hivemind.show,
    "explain": Hivemind.explain,
    "history": lambda mind, one, **more: mind.history.steps(one, **more),
    "log": lambda mind, one, **more: mind.history.log(one, **more),
    "revise": lambda mind, one, **more: mind.edit(one, "Changed from elsewhere", **more),
    "tag": lambda mind, one, **more: mind.tag(one, ["changed"], **more),
    "approve": Hivemind.approve,
    "reject": Hivemind.reject,
    "retract": Hivemind.forget,
    "restore": Hivemind.restore,
    "verify": lambda mind, one, **more: mind.review.verify(one, **more),
    "dispute": lambda mind, one, **more: mind.review.dispute(one, one, **more),
    "erase": Hivemind.erase,
}
"""Verbs that take an id and may be asked to look everywhere."""
READS = ("show", "explain", "history", "log")
HERE_ALONE: dict[str, Callable[..., Any]] = {
    "promote": lambda mind, one: mind.review.promote(one, "AGENTS.md"),
    "publish": lambda mind, one: mind.team.publish([one]),
    "link": lambda mind, one: mind.code.link(one, ["README.md"]),
    "replaces": lambda mind, one: mind.remember("Something new altogether", replaces=[one]),
    "list before": lambda mind, one: mind.list(before=one),
    "session": lambda mind, one: mind.sessions.show("session-of-a"),
    "session by prefix": lambda mind, one: mind.sessions.show("s"),
    "handover": lambda mind, one: mind.sessions.handover("session-of-a"),
    "session state": lambda mind, one: mind.sessions.state("session-of-a"),
    "distil": lambda mind, one: mind.learning.learn("session-of-a"),
}


@dataclass(frozen=True)
class Two:
    """Two repositories of one person, with a secret in the first."""

    a: Path
    b: Path
    memory: Memory

    @property
    def prefixes(self) -> list[str]:
        return [self.memory.id, *(self.memory.id[:length] for length in range(1, 9))]


@pytest.fixture
def two(open_mind: Open, make_repository: Callable[..., Path], home: Path, monkeypatch: pytest.MonkeyPatch) -> Two:
    a, b = (make_repository(name, remote=f"https://git.acme.org/acme/{name}") for name in ("a", "b"))
    monkeypatch.chdir(b)
    mind = open_mind(a)
    known = mind.remember(SECRET, subject="rotation")
    payload = {"session_id": "session-of-a", "cwd": str(a), "prompt": SECRET}
    spool.append(str(home), "claude-code", "UserPromptSubmit", "2026-01-01T10:00:00.000000Z", json.dumps(payload))
    asked = open_mind(a, replace(AGENT, session_id="session-of-a"))
    assert asked.recall("password rotation Sundays").hits
    return Two(a, b, known)


def said(ask: Callable[[], Any]) -> str:
    """What comes back, errors included."""
    try:
        return repr(ask())
    except HivemindError as error:
        return f"{type(error).__name__}: {error}"


def without(text: str, identifier: str) -> str:
    return text.replace(repr(identifier), "ID")


@pytest.mark.parametrize("writer", [PERSON, AGENT], ids=["person", "agent"])
@pytest.mark.parametrize("verb", [*BY_ID, *HERE_ALONE])
def test_the_id_of_another_repository_answers_as_an_unknown_one(
    two: Two, open_mind: Open, verb: str, writer: Writer, tally: Tally
) -> None:
    here, there = open_mind(two.b, writer), open_mind(two.a)
    ask = {**BY_ID, **HERE_ALONE}[verb]
    before = there.show(two.memory.id)

    for prefix in two.prefixes:
        unknown = UNKNOWN[: len(prefix)]
        heard = said(partial(ask, here, prefix))
        assert SECRET not in heard
        assert without(heard, prefix) == without(said(partial(ask, here, unknown)), unknown)

    assert there.show(two.memory.id) == before
    tally("verbs × ids of another repository, answered as unknown", len(two.prefixes), len(two.prefixes))


@pytest.mark.parametrize("verb", BY_ID)
def test_the_same_verb_reaches_what_is_here(two: Two, open_mind: Open, verb: str) -> None:
    here = open_mind(two.a)
    if verb == "restore":
        here.forget(two.memory.id)
    if verb == "dispute":
        assert here.review.dispute(two.memory.id, here.remember("Passwords never rotate").id).status is Status.DISPUTED
        return

    assert BY_ID[verb](here, two.memory.id[:12]) is not None


@pytest.mark.parametrize("empty", ["", " \n"])
@pytest.mark.parametrize("verb", [verb for verb in BY_ID if verb != "log"])
def test_an_empty_id_never_means_the_only_memory(two: Two, open_mind: Open, verb: str, empty: str) -> None:
    here = open_mind(two.a)

    with pytest.raises(InvalidInput, match="empty"):
        BY_ID[verb](here, empty)

    assert here.show(two.memory.id) == two.memory


@pytest.mark.parametrize("verb", [verb for verb in BY_ID if verb != "log"])
def test_a_place_in_a_list_is_no_id(two: Two, open_mind: Open, verb: str) -> None:
    here = open_mind(two.a)

    with pytest.raises(InvalidInput, match="too short"):
        BY_ID[verb](here, two.memory.id[:3])

    assert here.show(two.memory.id[:4]) == two.memory


@pytest.mark.parametrize("verb", BY_ID)
def test_a_person_crosses_when_they_say_so(two: Two, open_mind: Open, verb: str, tally: Tally) -> None:
    here, there = open_mind(two.b), open_mind(two.a)
    if verb == "restore":
        there.forget(two.memory.id)
    ask = BY_ID[verb]
    if verb == "dispute":
        other = there.remember("Passwords never rotate").id
        here.review.dispute(two.memory.id, other, everywhere=True)
    else:
        assert ask(here, two.memory.id[:12], everywhere=True) is not None
    assert here.checkout.is_elsewhere(two.memory.repo)
    tally("verbs by which a person crosses with everywhere", 1, 1)


@pytest.mark.parametrize("may_look", [False, True])
@pytest.mark.parametrize("verb", BY_ID)
def test_an_agent_looks_elsewhere_only_if_it_may_and_changes_nothing_there(
    two: Two, open_mind: Open, home: Path, clock: Clock, verb: str, may_look: bool, tally: Tally
) -> None:
    settings = Settings(home=home, person="ada", agents_may_look_everywhere=may_look, agents_may_review=True)
    before = open_mind(two.a).show(two.memory.id)

    with Hivemind.open(directory=two.b, settings=settings, writer=AGENT, clock=clock) as agent:
        if may_look and verb in READS:
            assert BY_ID[verb](agent, two.memory.id, everywhere=True)
            assert agent.recall("password rotation", everywhere=True).hits[0].memory.id == two.memory.id
        else:
            with pytest.raises(Refused):
                BY_ID[verb](agent, two.memory.id, everywhere=True)

    assert open_mind(two.a).show(two.memory.id) == before
    tally("verbs by which an agent tried to cross, as the setting says", 1, 1)


def test_agents_may_not_look_everywhere_unless_the_users_file_says_so(
    two: Two, open_mind: Open, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    agent = open_mind(two.b, AGENT)
    asked: dict[str, Callable[[], Any]] = {
        "recall": lambda: agent.recall("password", everywhere=True),
        "list": lambda: agent.list(everywhere=True),
        "sessions": lambda: agent.sessions.list(everywhere=True),
        "session": lambda: agent.sessions.show("session-of-a", everywhere=True),
        "handover": lambda: agent.sessions.handover("session-of-a", everywhere=True),
        "distil": lambda: agent.learning.learn("session-of-a", everywhere=True),
        "receipts": lambda: agent.history.receipts(everywhere=True),
        "log": lambda: agent.history.log(everywhere=True),
        "export": lambda: list(agent.files.export_lines(everywhere=True)),
        "traces": lambda: agent.search_traces("password", everywhere=True),
    }
    for name, ask in asked.items():
        assert said(ask).startswith("Refused"), name

    monkeypatch.setenv("HIVEMIND_AGENTS_MAY_LOOK_EVERYWHERE", "true")
    assert Settings.load().agents_may_look_everywhere is False
    (home / "config.toml").write_text("agents_may_look_everywhere = true\n")
    assert Settings.load().agents_may_look_everywhere is True


def test_lists_and_receipts_and_the_log_speak_of_here_alone(two: Two, open_mind: Open) -> None:
    here, there = open_mind(two.b, AGENT), open_mind(two.a)
    history = here.history
    told = [here.list(limit=100), history.log(limit=100), history.receipts(), history.receipts("session-of-a"),
            here.sessions.list(), here.review.queue(), list(here.files.export_lines()),
            history.log_texts(history.log(limit=100))]  # fmt: skip

    assert SECRET not in repr(told)
    assert two.memory.id not in repr(told)
    assert "password rotation Sundays" not in repr(told)
    assert SECRET in repr([there.list(), there.history.log()])
    assert there.history.receipts("session-of-a")
    assert SECRET in repr(open_mind(two.b).history.log(everywhere=True, limit=100))


def test_an_ambiguous_prefix_lists_only_what_is_here(two: Two, open_mind: Open) -> None:
    here, there = open_mind(two.b), open_mind(two.a)
    for number in range(40):
        there.remember(f"Elsewhere {number} says nothing", subject=f"there-{number}")
        here.remember(f"Here {number} says nothing", subject=f"here-{number}")
    listed = []
    for digit in "0123456789abcdef":
        try:
            listed.append(here.show(digit).text)
        except AmbiguousId as error:
            listed += error.candidates
        except NotFound:
            continue
        except InvalidInput as error:
            listed.append(str(error))

    assert "Here" in repr(listed)
    assert "Elsewhere" not in repr(listed)
    assert SECRET not in repr(listed)


def test_what_was_erased_elsewhere_is_unknown_here(two: Two, open_mind: Open) -> None:
    here, there = open_mind(two.b), open_mind(two.a)
    there.erase(two.memory.id, reason="gone")

    with pytest.raises(NotFound, match="there is no memory"):
        here.show(two.memory.id)
    with pytest.raises(NotFound, match="was erased"):
        there.show(two.memory.id)


def test_what_contradicts_a_memory_of_mine_elsewhere_is_not_told_here(two: Two, open_mind: Open) -> None:
    here, there = open_mind(two.b), open_mind(two.a)
    mine = there.remember("The default shell is zsh", scope=Scope.USER, subject="shell")
    local = there.remember("The default shell is fish in this repository", subject="shell")

    waiting = {one.memory.id: one for one in here.review.queue()}

    assert waiting[mine.id].against == ()
    (dispute,) = there.review.queue()
    assert [side.memory.id for side in dispute.sides] == [local.id, mine.id]
    here.approve(mine.id)
    assert (here.show(mine.id).status, there.show(local.id).status) == (Status.ACTIVE, Status.DISPUTED)


def call(tool: str, **arguments: Any) -> str:
    server = ToolServer(None)
    try:
        given = {"name": tool, "arguments": arguments}
        return str(server.call(given, Caller(client="claude-code"))["content"][0]["text"])
    finally:
        server.close()


def test_no_tool_of_the_server_reaches_another_repository(two: Two, open_mind: Open, tally: Tally) -> None:
    before = open_mind(two.a).show(two.memory.id)
    tried = 0
    for prefix in two.prefixes:
        for tool, arguments in (
            ("explain", {"id": prefix}),
            ("forget", {"id": prefix}),
            ("review", {"decide": "approve", "id": prefix}),
            ("review", {"decide": "reject", "id": prefix}),
            ("remember", {"text": "Passwords are kept for ever", "replaces": [prefix]}),
        ):
            heard = call(tool, **arguments)
            assert "there is no memory" in heard or "was refused" in heard, heard
            assert SECRET not in heard
            tried += 1
    for tool, given in (
        ("recall", {"query": "password rotation Sundays"}),
        ("recall", {"query": "password rotation Sundays", "everywhere": True}),
        ("context", {"task": "password rotation Sundays"}),
        ("remember", {"text": "The staging password rotates on Mondays", "subject": "rotation"}),
        ("remember", {"text": "The staging password rotates on Mondays", "scope": "user"}),
        ("review", {}),
        ("session", {"id": "session-of-a"}),
        ("session", {"id": "s"}),
        ("session", {}),
    ):
        assert SECRET not in call(tool, **given), tool
        tried += 1

    assert open_mind(two.a).show(two.memory.id) == before
    tally("tools of the server × ids and suggestions of another repository", tried, tried)


def test_a_tool_of_the_server_reaches_what_is_here(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(two.a)

    assert SECRET in call("explain", id=two.memory.id[:12])
    assert SECRET in call("session", id="session-of-a")


COMMANDS = (
    "show", "explain", "log", "log ID --audit", "log ID --receipts", "log ID --diff", "verify", "forget", "approve",
    "reject", "restore", "edit ID --tags x", "edit ID other", "review dispute ID ID", "erase ID --yes",
    "review promote ID --yes", "team publish", "code link ID README.md", "list --before", "remember other --replaces",
)  # fmt: skip


@pytest.mark.parametrize("written", COMMANDS)
def test_a_command_says_the_same_of_an_id_elsewhere_and_of_none(
    two: Two, open_mind: Open, written: str, tally: Tally
) -> None:
    before = open_mind(two.a).show(two.memory.id)

    def typed(identifier: str) -> str:
        command = written if "ID" in written else f"{written} ID"
        done = run(*command.replace("ID", identifier).split())
        assert done.exit_code == 3, done.output
        return done.output.replace(identifier, "ID")

    assert typed(two.memory.id) == typed(UNKNOWN)
    assert "--everywhere looks in other repositories too" in typed(two.memory.id)
    assert open_mind(two.a).show(two.memory.id) == before
    tally("commands × ids of another repository, answered as unknown", 1, 1)


@pytest.mark.parametrize(
    "written", ["show", "explain", "log", "log ID --audit", "verify", "edit ID --tags x", "forget"]
)
def test_a_person_crosses_on_the_command_line_and_is_told_so(two: Two, written: str) -> None:
    command = written if "ID" in written else f"{written} ID"

    done = run(*command.replace("ID", two.memory.id[:12]).split(), "--everywhere")

    assert done.exit_code == 0, done.output
    assert "from another repository: a" in done.output


@pytest.mark.parametrize("written", ["session show", "session resume", "session replay", "session list"])
def test_a_session_elsewhere_is_labelled(two: Two, written: str) -> None:
    named = [] if written == "session list" else ["session-of-a"]

    here = run(*written.split(), *named)
    across = run(*written.split(), *named, "--everywhere")

    assert SECRET not in here.output
    assert SECRET in across.output
    assert "from another repository: a" in across.output


def test_an_agent_on_the_command_line_does_not_cross(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")

    shown = run("show", two.memory.id, "--everywhere")

    assert shown.exit_code == 4
    assert "agents_may_look_everywhere" in shown.output
    assert SECRET not in shown.output
    monkeypatch.chdir(two.a)
    assert SECRET in run("show", two.memory.id).output


def test_pages_of_the_viewer_show_another_repository_only_when_asked(two: Two, home: Path) -> None:
    settings = Settings(home=home, person="ada")
    pool = MindPool(lambda: Hivemind.open(directory=two.b, settings=settings, writer=PERSON))
    browser = TestClient(build(make_site(8000, b"token", {"open"}, "ada", pool)), base_url="http://127.0.0.1:8000")
    browser.post("/login", data={"code": "open"}, headers={"origin": "http://127.0.0.1:8000"})

    elsewhere, unknown = browser.get(f"/memory/{two.memory.id}"), browser.get(f"/memory/{UNKNOWN}")
    across = browser.get(f"/memory/{two.memory.id}?everywhere=1")
    session = browser.get("/session/session-of-a")
    session_across = browser.get("/session/session-of-a?everywhere=1")
    listed, listed_across = browser.get("/log"), browser.get("/log?everywhere=1")
    pool.close()

    assert (elsewhere.status_code, unknown.status_code) == (404, 404)
    assert elsewhere.text.replace(two.memory.id, "ID") == unknown.text.replace(UNKNOWN, "ID")
    assert SECRET in across.text
    assert "from another repository: a" in across.text
    assert session.status_code == 404
    assert "from another repository: a" in session_across.text
    assert SECRET not in listed.text
    assert SECRET in listed_across.text
