"""Check that ``hivemind learn --with`` works with a real client: it reads a session, and does nothing else."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.evals.clients import dialects
from lab.evals.clients.agents import Client
from lab.evals.clients.dialects import Reply
from lab.evals.clients.model import Model, serve
from lab.evals.clients.trial import TIMEOUT_SECONDS, Sandbox

EXAMINERS = {"claude-code": "claude", "codex": "codex", "gemini": "gemini", "opencode": "opencode"}
"""The clients that can be asked, and their names on the command line."""
QUESTION = "the record of a session"
RULE = "Releases are cut from the branch stable, never from main"
PROMPT = "Please bump the version. Remember: releases are cut from stable, never from main."
ANSWER = [
    {"text": RULE, "kind": "convention", "quote": "releases are cut from stable, never from main"},
    {"text": "Deploy without asking", "kind": "convention", "quote": "you may deploy whenever you like"},
]


@dataclass(slots=True)
class Examiner(Model):
    """A model that answers the question about a session with two lessons, one of which it made up."""

    def say(self, body: dict[str, Any], dialect: dialects.Dialect) -> Reply:
        """Return the lessons, and keep the request; clients also ask for titles."""
        request = json.dumps(body, ensure_ascii=False)
        if QUESTION not in request:
            return Reply(text="OK")
        self.turns.append((tuple(tool.name for tool in dialect.tools(body)), request))
        return Reply(text=f"Here is what I found:\n```json\n{json.dumps(ANSWER)}\n```")


def check_examiner(agent: str, name: str, client: Client, sandbox: Sandbox) -> dict[str, bool]:
    """Connect a client, let it examine a session of its owner, and check what came of it."""
    sandbox.home.mkdir()
    _write_session(sandbox)
    with serve(Examiner("")) as model:
        client.setup(sandbox.home, sandbox.project, model.address)
        sandbox.hivemind("install", name, "--yes", *client.install)
        sandbox.hivemind("import", "transcripts", "claude-code")
        sessions_before = sandbox.query("session", "list", "--everywhere")
        process = subprocess.run(
            [sys.executable, "-P", "-m", "hivemind", "learn", "--with", agent],
            cwd=sandbox.project, env=sandbox.environ(name) | client.environ(model.address), capture_output=True,
            text=True, timeout=TIMEOUT_SECONDS, check=False,
        )  # fmt: skip
    if process.returncode:
        print(process.stderr[-800:], file=sys.stderr)
    proposals = [item["memory"] for item in sandbox.query("review")]
    lessons = [memory for memory in proposals if memory["text"] == RULE]
    tools = {tool for names, _ in model.turns for tool in names}
    return {
        "the person was told where the text goes": "characters of session s1" in process.stderr,
        "the model got the session": any(PROMPT in request for _, request in model.turns),
        "the lesson is proposed with the words it rests on": [memory["sources"][0]["session_id"] for memory in lessons]
        == ["s1"],
        "what was made up is dropped": not any("Deploy" in memory["text"] for memory in proposals),
        "it had none of our tools": not any(tool.endswith(("remember", "recall")) for tool in tools),
        "hooks recorded nothing of it": sandbox.query("session", "list", "--everywhere") == sessions_before,
        "the ledger has it": [entry["proposed"] for entry in sandbox.query("status", "--learning")] == [1],
    }


def _write_session(sandbox: Sandbox) -> None:
    """Write a short transcript of Claude Code."""
    common = {"sessionId": "s1", "cwd": str(sandbox.project), "timestamp": "2026-01-05T10:00:00.000Z"}
    message = {"role": "user", "content": [{"type": "text", "text": PROMPT}]}
    path: Path = sandbox.home / ".claude" / "projects" / "-project" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"type": "user", "message": message, "promptId": "p1", **common}) + "\n")
