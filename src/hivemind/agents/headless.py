"""Asks a coding agent one question without a terminal: read-only, and without our hooks and tools."""

import os
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field

from hivemind.errors import InvalidInput, Unavailable, did_you_mean

TIMEOUT_SECONDS = 300
HOOKS_OFF = {"HIVEMIND_HOOKS": "off"}
"""Inherited by the hooks that the agent starts: what it does here is no session of the person's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadlessAgent:
    """How an agent is asked one question, which it reads from standard input."""

    title: str
    command: tuple[str, ...]
    """With the options that take away tools, servers and the transcript, as far as the agent has such options."""
    environ: Mapping[str, str] = field(default_factory=dict)


HEADLESS_AGENTS = {
    "claude": HeadlessAgent(
        title="Claude Code",
        # An empty list of tools, and of servers: those of --mcp-config alone, which is not given.
        command=("claude", "-p", "--tools", "", "--strict-mcp-config", "--no-session-persistence",
                 "--settings", '{"disableAllHooks": true}'),
    ),
    "codex": HeadlessAgent(
        title="Codex",
        # A sandbox is the most it offers: a shell that cannot write or reach the network remains.
        command=("codex", "exec", "--sandbox", "read-only", "--skip-git-repo-check", "--ephemeral",
                 "--disable", "hooks", "-"),
    ),
    "gemini": HeadlessAgent(
        title="Gemini CLI",
        # It appends the prompt to standard input, and needs one to run without a terminal.
        command=("gemini", "--approval-mode", "plan", "--skip-trust", "--allowed-mcp-server-names", "none",
                 "--extensions", "none", "-p", "Answer with the JSON list alone."),
    ),
    "opencode": HeadlessAgent(
        title="OpenCode",
        # Settings in the environment win over those of the person.
        command=("opencode", "run", "--pure", "--agent", "plan"),
        environ={"OPENCODE_CONFIG_CONTENT": '{"tools": {"*": false}}'},
    ),
}  # fmt: skip


def get_headless_agent(name: str) -> HeadlessAgent:
    """Return how an agent is asked; raises InvalidInput for an unknown one, Unavailable if it is not installed."""
    if name not in HEADLESS_AGENTS:
        suggestion = did_you_mean(name, HEADLESS_AGENTS) or f" Supported are: {', '.join(HEADLESS_AGENTS)}."
        raise InvalidInput(f"{name!r} cannot be asked to learn.{suggestion}")
    agent = HEADLESS_AGENTS[name]
    if shutil.which(agent.command[0]) is None:
        raise Unavailable(f"there is no command {agent.command[0]!r}; install {agent.title} or use another agent")
    return agent


def ask_agent(agent: HeadlessAgent, question: str) -> str:
    """Return the agent's answer; raises Unavailable if it fails or takes too long."""
    options = _disable_servers() if agent.command[0] == "codex" else []
    # An empty directory: nothing of the repository is read, and no settings in it apply.
    with tempfile.TemporaryDirectory(prefix="hivemind-learn-") as directory:
        try:
            process = subprocess.run(
                [*agent.command, *options], input=question, cwd=directory, capture_output=True, text=True,
                encoding="utf-8", errors="replace", env={**os.environ, **HOOKS_OFF, **agent.environ},
                timeout=TIMEOUT_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Unavailable(f"{agent.title} gave no answer within {TIMEOUT_SECONDS} seconds; try again") from None
    if process.returncode:
        reason = (process.stderr.strip() or process.stdout.strip())[-300:]
        raise Unavailable(f"{agent.title} failed with exit code {process.returncode}: {reason}")
    return process.stdout


def _disable_servers() -> list[str]:
    """List the options that switch off each server in Codex's settings; it has none that switches off all."""
    home = os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")
    try:
        with open(os.path.join(home, "config.toml"), "rb") as file:
            servers = tomllib.load(file).get("mcp_servers", {})
    except (OSError, ValueError):
        # Codex itself says what is wrong with its settings.
        return []
    names = servers if isinstance(servers, dict) else ()
    return [option for server in names for option in ("-c", f"mcp_servers.{server}.enabled=false")]
