"""Steps of a session as observations, under ids that hooks and transcripts agree on.

An agent's own id comes first. Where it gives a turn but no id for what was said in it, the words themselves
are part of the id: at worst a step is then recorded twice, never one lost because another came before it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, Self

from hivemind.agents.base import Payload, clean, digest, moment, written
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

    def then(self, stamp: Any, **more: str) -> Self:
        """The same at another moment, where one is told."""
        return replace(self, at=moment(stamp, self.at), **more)


@dataclass(slots=True, kw_only=True)
class Reading:
    """What has been read of a transcript so far."""

    step: Step
    """Whose it is and where; what tells no time has that of this step."""
    turn: str = ""
    asked: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Calls that did not come back yet, by their ids."""
    told: Counter[str] = field(default_factory=Counter)
    """What was told in one way and will be told in another."""

    @classmethod
    def of(cls, agent: str, path: Path, session: str = "") -> Self:
        """Before the first line; the file's name is the session's, unless that is said."""
        return cls(step=Step(agent=agent, session=session or path.stem, at=written(path)))

    def results(self, content: Iterable[Payload]) -> Iterator[tuple[str, Payload, Payload]]:
        """The calls that came back among blocks of content: the id, what was asked and what came."""
        for block in content:
            if block.get("type") == "tool_use":
                self.asked[str(block.get("id"))] = dict(block)
            elif block.get("type") == "tool_result":
                own_id = str(block.get("tool_use_id"))
                yield own_id, self.asked.pop(own_id, {}), block


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
