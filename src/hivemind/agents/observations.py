"""Build observations from the steps of a session, with ids that are the same for hooks and transcripts.

The id is derived from the agent's own ids. Where an agent identifies only the turn, a hash of the text is part of the
id: at worst a step is then recorded twice, but two different steps never share an id.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, Self

from hivemind.agents.base import Payload, digest, get_modified_time, parse_timestamp, strip_injected
from hivemind.agents.tool_calls import describe_call
from hivemind.model.ids import SessionId, derive_id
from hivemind.model.session import Observation, ObservationKind


@dataclass(frozen=True, slots=True, kw_only=True)
class StepContext:
    """The session, time and directory of a step."""

    agent: str
    session: str
    at: str
    directory: str = ""
    model: str = ""
    subagent: str = ""

    def with_time(self, stamp: Any, **changes: str) -> Self:
        """Return a copy with the time of this timestamp, if it is valid, and with these changes."""
        return replace(self, at=parse_timestamp(stamp, self.at), **changes)


@dataclass(slots=True, kw_only=True)
class TranscriptState:
    """What the reader of a transcript remembers from one line to the next."""

    step: StepContext
    """The context of the session; a line without a time has the time of this one."""
    turn: str = ""
    open_calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Tool calls without a result yet, by id."""
    recorded_counts: Counter[str] = field(default_factory=Counter)
    """Prompts and calls that were already recorded from one kind of line and will come again in another."""

    @classmethod
    def start(cls, agent: str, path: Path, session: str = "") -> Self:
        """Return the state before the first line; the file's name is the session's id unless one is given."""
        return cls(step=StepContext(agent=agent, session=session or path.stem, at=get_modified_time(path)))

    def match_results(self, content: Iterable[Payload]) -> Iterator[tuple[str, Payload, Payload]]:
        """Return the id, call and result of each tool call that these blocks complete."""
        for block in content:
            if block.get("type") == "tool_use":
                self.open_calls[str(block.get("id"))] = dict(block)
            elif block.get("type") == "tool_result":
                own_id = str(block.get("tool_use_id"))
                yield own_id, self.open_calls.pop(own_id, {}), block


def observe(step: StepContext, kind: ObservationKind, own_id: str, **fields: Any) -> Observation:
    """Return a step as an observation, with an id derived from the agent's own ids."""
    return Observation(
        agent=step.agent,
        session_id=SessionId(step.session),
        seen=kind,
        source_id=derive_id(step.agent, step.session, kind, own_id),
        at=step.at,
        directory=step.directory,
        model=step.model,
        subagent=step.subagent,
        **fields,
    )


def observe_start(step: StepContext, source: str) -> Observation:
    """Return the start of a session; a resumed one is told apart by source and time."""
    is_new = source in ("", "startup", "new")
    return observe(
        step, ObservationKind.STARTED, "start" if is_new else f"{source} {step.at}", text="" if is_new else source
    )


def observe_prompt(step: StepContext, turn: str, prompt: str) -> Iterator[Observation]:
    """Yield a prompt; nothing if it is empty, as when an agent continues by itself."""
    if text := strip_injected(prompt):
        yield observe(step, ObservationKind.PROMPT, f"{turn} {digest(text)}", turn=turn, text=text)


def observe_reply(step: StepContext, turn: str, reply: str) -> Iterator[Observation]:
    """Yield a reply of the agent; a turn can have several."""
    if text := strip_injected(reply):
        yield observe(step, ObservationKind.REPLY, f"{turn} {digest(text)}", turn=turn, text=text)


def redact_observation(observation: Observation, redact: Callable[[str], str]) -> Observation:
    """Return the observation with redacted text and the id that its hook gave it.

    A hook redacts before it hashes the text, so the id of an unredacted transcript line would differ.
    """
    text = (
        redact(observation.text)
        if observation.seen in (ObservationKind.PROMPT, ObservationKind.REPLY)
        else observation.text
    )
    if text == observation.text:
        return observation
    own_id = derive_id(
        observation.agent, observation.session_id, observation.seen, f"{observation.turn} {digest(text)}"
    )
    return replace(observation, text=text, source_id=own_id)


def observe_call(
    step: StepContext, call_id: str, tool: str, arguments: Any, result: Any, *, is_error: bool = False
) -> Iterator[Observation]:
    """Yield a completed tool call, and one more observation for each further file it changed."""
    for index, fields in enumerate(describe_call(tool, arguments, result, is_error=is_error)):
        if fields.get("file"):
            fields["file"] = str(PurePath(step.directory, fields["file"]))
        # The first file has the id of the call; further files of a patch need ids of their own.
        yield observe(step, ObservationKind.TOOL, f"{call_id} {fields['file']}" if index else call_id, **fields)
