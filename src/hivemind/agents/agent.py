"""The interface of an agent's module: what each of them must provide."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from hivemind.agents.config_entries import InstallTarget, Launch, Piece
from hivemind.agents.json_input import Observations, Payload
from hivemind.model.session import SkippedInput


class Agent(Protocol):
    """One coding agent: a module of this package, returned by ``agents.get_agent``."""

    NAME: str
    TITLE: str
    HOMES: tuple[str, ...]
    """Paths below the user's home; at least one exists if the agent is installed."""
    PROGRAMS: tuple[str, ...]
    """Its programs; one on the PATH says that the agent is installed, even before it was first started."""
    SAME_IDS: bool
    """Whether hooks and transcript give a step the same id. If not, only one of them may be recorded for a session,
    or every step would be recorded twice."""
    ANSWERS: dict[str, str]
    """The events at which the agent accepts context, with its kind: ``brief``, ``recall``, ``before`` and ``after`` a
    tool call, or ``subagent``."""
    TRANSCRIPTS: tuple[str, ...]
    """Glob patterns of its transcript files below the user's home."""

    def decode(self, event: str, payload: Payload, at: str) -> Observations:
        """Read the observations of a hook payload."""

    def reply(self, event: str, context: str) -> str:
        """Return what the hook must print to give the model this context; empty if the event takes none."""

    def build_pieces(self, target: InstallTarget, launch: Launch) -> tuple[Piece, ...]:
        """Return every change to configuration files that connects the agent."""

    def read_transcript(self, path: Path) -> Observations:
        """Read the observations of a transcript, in order, one line at a time."""


CALL_ANSWERS = {"PreToolUse": "before", "PostToolUse": "after", "PostToolUseFailure": "after"}
"""What agents with all of Claude Code's hooks accept around a tool call."""


def format_claude_context(event: str, context: str) -> dict[str, Any]:
    """Return the hook output by which Claude Code, and agents that copied its hooks, give the model a context."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}


def make_reply(
    answers: Mapping[str, str], format_context: Callable[[str, str], Any] = format_claude_context
) -> Callable[[str, str], str]:
    """Return a ``reply`` function that prints non-empty context as JSON at the events in ``answers``."""
    return lambda event, context: json.dumps(format_context(event, context)) if context and event in answers else ""


def skip_transcript(path: Path) -> Observations:
    """Be the ``read_transcript`` of agents whose transcripts are encrypted or not supported."""
    yield SkippedInput(reason="transcripts of this agent are not read")
