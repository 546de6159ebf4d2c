"""Steps of a session as observations, under ids that hooks and transcripts agree on.

An agent's own id comes first. Where it gives a turn but no id for what was said in it, the words themselves
are part of the id: at worst a step is then recorded twice, never one lost because another came before it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from hivemind.agents.base import clean, digest
from hivemind.agents.calls import described
from hivemind.model.ids import SessionId, derived
from hivemind.model.session import Observation, Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Whose step it was, when and where, before it is said what."""

    agent: str
    session: str
    at: str
    directory: str = ""
    model: str = ""
    subagent: str = ""


def observed(step: Step, seen: Seen, own_id: str, **what: Any) -> Observation:
    """The step as an observation, under the id that follows from the agent's own ids."""
    return Observation(
        agent=step.agent,
        session_id=SessionId(step.session),
        seen=seen,
        source_id=derived(step.agent, step.session, seen, own_id),
        at=step.at,
        directory=step.directory,
        model=step.model,
        subagent=step.subagent,
        **what,
    )


def started(step: Step, source: str) -> Observation:
    """A session began; it begins once, but may be taken up again any number of times."""
    begins = source in ("", "startup", "new")
    return observed(step, Seen.STARTED, "start" if begins else f"{source} {step.at}", text="" if begins else source)


def prompted(step: Step, turn: str, prompt: str) -> Iterator[Observation]:
    """Somebody asked for something; nothing, where an agent only continues by itself."""
    if said := clean(prompt):
        yield observed(step, Seen.PROMPT, f"{turn} {digest(said)}", turn=turn, text=said)


def replied(step: Step, turn: str, reply: str) -> Iterator[Observation]:
    """The agent said something; a turn has several replies."""
    if said := clean(reply):
        yield observed(step, Seen.REPLY, f"{turn} {digest(said)}", turn=turn, text=said)


def without_secrets(one: Observation, redact: Callable[[str], str]) -> Observation:
    """What was said, under the id its hook gave it, which never saw the secrets."""
    said = redact(one.text) if one.seen in (Seen.PROMPT, Seen.REPLY) else one.text
    if said == one.text:
        return one
    own_id = derived(one.agent, one.session_id, one.seen, f"{one.turn} {digest(said)}")
    return replace(one, text=said, source_id=own_id)


def called(
    step: Step, call: str, tool: str, given: Any, came_back: Any, *, failed: bool = False
) -> Iterator[Observation]:
    """A tool was called and came back."""
    for index, what in enumerate(described(tool, given, came_back, failed=failed)):
        if what.get("file"):
            what["file"] = str(PurePath(step.directory, what["file"]))
        yield observed(step, Seen.TOOL, f"{call} {what['file']}" if index else call, **what)
