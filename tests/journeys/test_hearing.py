"""What a person says in passing is heard: a note asks the agent, its quotation is verified, the person sees it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hivemind import Hivemind
from hivemind.learning.hearing import MOST_IGNORED, MOST_NOTES
from hivemind.model.events import AgentAsked, MemoriesRecalled, ShownMemory
from hivemind.model.memory import Channel, Memory, Status, Trust, Writer
from hivemind.model.recall import Occasion
from hivemind.model.scope import Scope
from tests.command_line import run, run_json
from tests.journeys.test_first_examples import run_hook

SESSION = "session-1"
AGENT = Writer(actor="claude-code", channel=Channel.AGENT, session_id=SESSION)
RULE = "From now on use pnpm, not npm, because npm breaks the lockfile."
MEMORY = "Use pnpm instead of npm in this repository: npm breaks the lockfile."
TASK = "Please fix the login form, the button does nothing."


@pytest.fixture(autouse=True)
def project(make_repository: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_repository("project")
    monkeypatch.chdir(root)
    return root


def hook(event: str, **payload: Any) -> dict[str, Any]:
    reply = run_hook("claude-code", event, **{"session_id": SESSION, **payload})
    answer: dict[str, Any] = json.loads(reply) if reply else {}
    return answer


def prompt(text: str, **payload: Any) -> str:
    """Return what the agent gets with a prompt."""
    answer = hook("UserPromptSubmit", prompt=text, prompt_id=f"id of {text}", **payload)
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def call_shell(command: str, *, failed: bool, number: int = 0) -> dict[str, Any]:
    outcome = {"error": "Exit code 1\nconnection refused"} if failed else {"tool_response": {"stdout": "3 passed"}}
    event = "PostToolUseFailure" if failed else "PostToolUse"
    own_id = f"{command} {failed} {number}"
    return hook(event, tool_name="Bash", tool_input={"command": command}, tool_use_id=own_id, **outcome)


def remember(text: str, said: str = "", writer: Writer = AGENT) -> Memory:
    with Hivemind.open(directory=Path.cwd(), writer=writer) as mind:
        return mind.remember(text, said=said)


def test_a_note_quotes_what_may_last_and_nothing_is_said_about_a_mere_task() -> None:
    assert f'"{RULE}"' in prompt(f"{TASK} {RULE}")
    assert prompt("Now make the button blue and run it once more.") == ""


def test_what_the_agent_stores_with_the_persons_words_is_as_good_as_the_persons_own() -> None:
    prompt(f"{TASK} {RULE}")

    memory = remember(MEMORY, said=RULE)

    assert (memory.is_said, memory.trust, memory.status) == (True, Trust.HIGH, Status.ACTIVE)
    assert memory.sources[0].quote == RULE
    assert "user said" in run("recall", "which package manager?").output
    assert "you said it to claude-code" in run("show", memory.id).output


def test_words_that_the_person_did_not_type_leave_the_agents_own_claim() -> None:
    prompt(TASK)

    memory = remember(MEMORY, said=RULE)

    assert (memory.is_said, memory.trust, memory.status) == (False, Trust.MEDIUM, Status.ACTIVE)


def test_a_note_comes_once_on_a_topic_and_not_where_a_memory_or_a_rules_file_says_it(project: Path) -> None:
    (project / "AGENTS.md").write_text("# Rules\n\n- Never push to main without a review by a person.\n")

    assert prompt(RULE)
    assert prompt("Use pnpm and not npm from now on, npm breaks the lockfile!") == ""
    assert prompt("Never push to main without a review by a person.") == ""
    remember("Always write dates as ISO 8601 in log files.")
    assert "`remember`" not in prompt("Always write dates as ISO 8601 in log files.")


def test_after_three_notes_without_a_memory_the_session_gets_no_more() -> None:
    rules = (
        "Always write tests for new endpoints.",
        "Never use the any type in TypeScript here.",
        "From now on commit messages are in English.",
        "Always ask me before you delete a database table.",
    )

    notes = [bool(prompt(rule)) for rule in rules]

    assert notes == [True] * MOST_IGNORED + [False]
    remember("Commit messages are in English.", said=rules[2])
    assert prompt("Never log passwords or tokens of users anywhere.")


def test_a_session_gets_at_most_six_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVEMIND_PROMPT_TOKENS", "0")
    rules = (
        "Always write tests for new endpoints.",
        "Never use the any type in TypeScript here.",
        "From now on commit messages are in English.",
        "Always ask me before you delete a database table.",
        "Never log passwords or tokens of users.",
        "From now on dates are printed as ISO 8601.",
        "Always run the linter before a commit.",
        "Never add a dependency without my approval.",
    )
    count = 0
    for number, rule in enumerate(rules):
        count += bool(prompt(rule))
        remember(f"Finding number {number} of this session.")

    assert count == MOST_NOTES


def test_subagents_and_a_switched_off_setting_get_no_note(monkeypatch: pytest.MonkeyPatch) -> None:
    assert prompt(RULE, agent_id="a1", agent_type="explorer") == ""
    monkeypatch.setenv("HIVEMIND_HEAR", "propose")
    assert prompt(RULE) == ""
    monkeypatch.setenv("HIVEMIND_HEAR", "note")
    assert prompt(f"{RULE} Thanks.")


def test_a_note_leaves_a_receipt() -> None:
    prompt(RULE)

    with Hivemind.open(directory=Path.cwd()) as mind:
        facts = [entry.event.fact for entry in mind.history.log(limit=50) if entry.event]
    notes = [fact for fact in facts if isinstance(fact, AgentAsked)]
    assert notes[0].quotes == (RULE,)
    assert notes[0].tokens > 0


def test_the_person_sees_what_was_remembered_and_how_to_undo_it(monkeypatch: pytest.MonkeyPatch) -> None:
    prompt(RULE)
    memory = remember(MEMORY, said=RULE)
    call = {"tool_name": "mcp__hivemind__remember", "tool_use_id": "t1", "tool_input": {"text": MEMORY}}

    message = hook("PostToolUse", **call, tool_response="Stored.")["systemMessage"]

    assert MEMORY in message
    assert f"hivemind forget {memory.id[:8]}" in message
    monkeypatch.setenv("HIVEMIND_ANNOUNCE", "false")
    assert hook("PostToolUse", **call | {"tool_use_id": "t2"}, tool_response="Stored.") == {}


def test_the_next_session_says_what_the_last_one_left() -> None:
    prompt(RULE)
    remember(MEMORY, said=RULE)

    message = hook("SessionStart", session_id="session-2", source="startup")["systemMessage"]

    assert MEMORY in message
    assert "systemMessage" not in hook("SessionStart", source="resume")


def test_what_the_person_takes_back_is_withdrawn_and_can_be_restored() -> None:
    prompt(RULE)
    memory = remember(MEMORY, said=RULE)

    answer = hook("UserPromptSubmit", prompt="Scratch that, npm is fine.", prompt_id="p2")

    assert f"hivemind restore {memory.id[:8]}" in answer["systemMessage"]
    assert run_json("show", memory.id)["status"] == "retracted"
    run("restore", memory.id)
    assert run_json("show", memory.id)["status"] == "active"


def test_another_prompt_takes_nothing_back() -> None:
    prompt(RULE)
    memory = remember(MEMORY, said=RULE)
    prompt("Good. Now scratch the old login form and write it anew.")

    assert run_json("show", memory.id)["status"] == "active"


def test_a_contradiction_shows_both_sides_and_tells_the_person() -> None:
    run("remember", "Deploys go to Vercel.")
    prompt("Deploys go to Fly, not to Vercel any more.")
    memory = remember("Deploys go to Fly.", said="Deploys go to Fly, not to Vercel any more.")
    call = {"tool_name": "mcp__hivemind__remember", "tool_use_id": "t1", "tool_input": {"text": "x"}}

    assert memory.contradicts
    assert "hivemind review" in hook("PostToolUse", **call, tool_response="Stored.")["systemMessage"]
    answer = run("recall", "where do deploys go?").output
    assert answer.index("Fly") < answer.index("Vercel")


def test_a_command_that_failed_and_passes_now_asks_for_the_finding() -> None:
    prompt(TASK)
    assert call_shell("make migrate", failed=True) == {}
    assert call_shell("make build", failed=False) == {}

    answer = call_shell("make migrate", failed=False)

    assert "`remember`" in answer["hookSpecificOutput"]["additionalContext"]
    assert call_shell("make migrate", failed=False, number=1) == {}


def test_a_search_that_finds_something_the_second_time_teaches_nothing() -> None:
    prompt(TASK)
    call_shell("grep -rn login src", failed=True)

    assert call_shell("grep -rn login src", failed=False) == {}


def test_a_long_turn_with_failures_asks_for_findings_with_the_next_prompt() -> None:
    prompt(TASK)
    for number in range(8):
        call_shell(f"make step{number}", failed=number == 3)

    assert "`remember`" in prompt("Thanks, now the logout form.")
    call_shell("make other", failed=True)
    assert prompt("And the settings form.") == ""


def test_what_the_agent_has_judged_is_not_proposed_again(project: Path) -> None:
    rule = "From now on always use tabs and never spaces in Go files."
    prompt(f"{TASK} {rule}")
    hook("SessionEnd", reason="exit")

    with Hivemind.open(directory=project) as mind:
        report = mind.learning.learn(SESSION)

    assert report.proposed == 0


def test_what_nobody_judged_is_proposed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVEMIND_HEAR", "propose")
    prompt(f"{TASK} From now on always use tabs and never spaces in Go files.")
    hook("SessionEnd", reason="exit")

    with Hivemind.open(directory=project) as mind:
        report = mind.learning.learn(SESSION)

    assert report.proposed == 1


def test_erasing_a_memory_erases_the_note_that_quoted_it(home: Path) -> None:
    prompt(RULE)
    memory = remember(RULE, said=RULE)

    erased = run("erase", memory.id, "--yes")

    assert "remains" not in erased.output
    assert RULE.encode() not in (home / "memory.db").read_bytes()


def edit_file(number: int) -> str:
    """Return the line that the person sees before an edit of a file that a memory is about."""
    fields = {"file_path": str(Path.cwd() / "pay.py"), "old_string": f"a{number}", "new_string": "b"}
    answer = hook("PreToolUse", tool_name="Edit", tool_input=fields, tool_use_id=f"edit {number}")
    return str(answer.get("systemMessage", ""))


def run_npm(number: int) -> str:
    call = {"command": f"npm install package-{number}"}
    answer = hook("PreToolUse", tool_name="Bash", tool_input=call, tool_use_id=f"npm {number}")
    return str(answer.get("systemMessage", ""))


def test_the_person_sees_once_per_prompt_that_notes_were_told(project: Path) -> None:
    (project / "pay.py").write_text("a1 = a2 = a3 = 1\n")
    run("remember", "Amounts in this file are cents, never floats", "--link", "pay.py")
    run("remember", "Use pnpm, not npm")

    prompt(TASK)
    assert edit_file(1) == "hivemind: 1 note told before this edit"
    assert run_npm(1) == "", "one line is enough for a prompt"
    run("remember", "Use ruff, not flake8")
    prompt("Go on with the next one, please.")
    answer = hook("PreToolUse", tool_name="Bash", tool_input={"command": "flake8 ."}, tool_use_id="flake")
    assert answer["systemMessage"] == "hivemind: 1 note told before this command"


def test_what_was_taken_back_is_said_with_the_notes_and_the_setting_hides_both(project: Path) -> None:
    run("remember", "The login form button needs a label")
    prompt(f"Please do the other thing. {RULE}")
    remember(MEMORY, said=RULE)

    answer = hook("UserPromptSubmit", prompt="Scratch that, the login form button needs work", prompt_id="p9")

    first, second = answer["systemMessage"].splitlines()
    assert first.startswith("hivemind: you took back")
    assert second == "hivemind: 1 note told with this prompt"
    run("config", "set", "announce", "false")
    run("remember", "Use pnpm, not npm")
    assert run_npm(2) == ""


def test_the_status_line_counts_what_was_heard_and_guarded() -> None:
    prompt(f"{TASK} {RULE}")
    memory = remember(MEMORY, said=RULE)
    remember("An agent's own note about the login form")
    payload = json.dumps({"session_id": SESSION, "cwd": str(Path.cwd())})
    assert run("statusline", stdin=payload).stdout == "hivemind: 2 memories · 1 heard\n"

    with Hivemind.open(directory=Path.cwd(), writer=AGENT) as mind:
        line = ShownMemory(memory_id=memory.id, rank=1, score=1.0, tokens=9, why="a guard")
        for occasion in (Occasion.GUARD_ASK, Occasion.GUARD_DENY):
            fact = MemoriesRecalled(
                query="npm ci", shown=(line,), session_id=SESSION, is_unasked=True, occasion=occasion
            )
            mind._context.store.record([mind._context.factory.event(fact, Scope.USER, "")])

    assert run("statusline", stdin=payload).stdout == "hivemind: 2 memories · 1 told · 1 heard · 2 guarded\n"
    assert "Guards acted 2 times." in run("status").output
