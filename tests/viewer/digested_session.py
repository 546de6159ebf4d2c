"""A session whose digest has every part, told step by step as hooks tell it."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hivemind import Hivemind
from hivemind.sessions import spool

SESSION_ID = "7d3e5b10-44aa-4a57-9c1e-2f90c1d2aa01"
SESSION_THAT_GOES_ON = "9a51c2d4-07b1-4d0a-8f4e-5f6b7c8d9e0f"
AGENT = "claude-code"
Step = tuple[str, dict[str, Any]]
"""The event of a hook and its fields."""
MARKUP = '{{ 7 * 7 }} <script>document.title = "owned"</script><img src=x onerror="alert(1)"> \u202egnp.exe'
"""Text that wants to be more than text."""
TASK = "Recipients get the same mail twice when a worker restarts. Make `send` safe to repeat."
QUESTION = "Should a mail that bounced be sent again, or dropped?"
RULING = "Never send a bounced mail again, because the carrier blocks us after three."
SUMMARY = "Final rule: a bounced mail is dropped, never sent again, and its address goes to the stop list."
FINDING = "The root cause was that `take` in harbour/parcels/queue.py deletes a job before `send` returns."
RULING_THAT_GOES_ON = "Never paint the lamps in winter, because the colour peels."
LATER_REQUEST = "Find out why the job was taken twice and write it down."


def play_session(root: Path, home: Path) -> None:
    """Spool the session as of some days ago; who opens the store next takes it in."""
    _spool(root, home, SESSION_ID, datetime.now(UTC) - timedelta(days=4), _list_steps(root))


def play_session_that_goes_on(root: Path, home: Path) -> None:
    """Spool a session whose last step was taken just now."""
    steps = [
        ("UserPromptSubmit", {"prompt": "Order paint for the lamps on the quay."}),
        ("Stop", {"last_assistant_message": "Should the lamps be painted in winter or in spring?"}),
        ("UserPromptSubmit", {"prompt": RULING_THAT_GOES_ON}),
    ]
    _spool(root, home, SESSION_THAT_GOES_ON, datetime.now(UTC) - timedelta(seconds=120), steps)


def _spool(root: Path, home: Path, session_id: str, start: datetime, steps: Iterable[Step]) -> None:
    for number, (event, fields) in enumerate(steps):
        at = (start + timedelta(seconds=40 * number)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        step_id = f"{session_id}-{number}"
        ids = {"session_id": session_id, "prompt_id": step_id, "tool_use_id": step_id}
        payload = {"hook_event_name": event, "cwd": str(root), **ids, **fields}
        spool.append(str(home), AGENT, event, at, json.dumps(payload))


def find_event(mind: Hivemind, text: str) -> str:
    """Return the log entry that the line of the digest with this text quotes."""
    return next(line.event for line in mind.sessions.digest(SESSION_ID).lines if text in line.text)


def _list_steps(root: Path) -> Iterator[Step]:
    yield "SessionStart", {"source": "startup"}
    yield "UserPromptSubmit", {"prompt": TASK}
    yield _fail("make mail-test", "E   KeyError: 'message_id'\nmake: *** [Makefile:9: mail-test] Error 1")
    yield _edit(
        root / "harbour/notify/mail.py",
        "def send(to: str, subject: str, body: str) -> bool:\n",
        "def send(to: str, subject: str, body: str, message_id: str) -> bool:\n",
    )
    yield _run("pip install harbour-mail", "Successfully installed harbour-mail")
    yield _run("make mail-test", "2 passed in 0.11s")
    for _ in range(2):
        yield _fail("docker compose exec smtp swaks", "Error: service smtp is not running")
    yield "Stop", {"last_assistant_message": f"`send` now takes a message id. {QUESTION}"}
    yield "UserPromptSubmit", {"prompt": RULING}
    yield _edit(root / "harbour/notify/stop_list.py", "", "def add(address: str) -> None:\n    STOPPED.add(address)\n")
    yield _run("git commit -am wip", f"[main 1a2b3c4] Send each mail once {MARKUP}\n 2 files changed")
    yield "Stop", {"last_assistant_message": SUMMARY}
    yield "UserPromptSubmit", {"prompt": "Exactly, that's the rule."}
    answers = '"Which header carries the id?"="X-Harbour-Id, please <b onclick=go(2)>at once</b>"'
    yield _call("AskUserQuestion", {"questions": []}, f"User has answered your questions: {answers}.")
    yield "UserPromptSubmit", {"prompt": LATER_REQUEST}
    todos = [
        {"content": "Write the rule down", "status": "completed"},
        {"content": f"Tell the carrier {MARKUP}", "status": "pending"},
    ]
    yield _call("TodoWrite", {"todos": todos}, "ok")
    yield "Stop", {"last_assistant_message": FINDING}
    yield "SessionEnd", {}


def _call(tool: str, arguments: dict[str, Any], response: str) -> Step:
    return "PostToolUse", {"tool_name": tool, "tool_input": arguments, "tool_response": response}


def _run(command: str, output: str) -> Step:
    return _call("Bash", {"command": command}, output)


def _fail(command: str, error: str) -> Step:
    return "PostToolUseFailure", {"tool_name": "Bash", "tool_input": {"command": command}, "error": error}


def _edit(file: Path, old: str, new: str) -> Step:
    return _call("Edit", {"file_path": str(file), "old_string": old, "new_string": new}, "ok")
