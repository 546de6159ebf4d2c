"""Decode hook payloads and the steps of transcripts into observations.

Most agents copied the hooks of Claude Code: ``decode_hook`` reads that format, and ``Agent.rename_fields`` of an agent
with another format gives its fields those names first. Transcripts differ, so each agent's module reads its own, with a
``StepContext`` to make observations and a ``TranscriptState`` to remember earlier lines.

The id of an observation is derived from the agent's own ids, so that it is the same from hook and transcript. Where an
agent identifies only the turn, a hash of the text is part of the id: at worst a step is then recorded twice, but two
different steps never share an id.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, Self

from hivemind.agents.callers import DIRECTORY_FIELDS, SESSION_FIELDS
from hivemind.agents.json_input import (
    Observations,
    Payload,
    digest,
    get_modified_time,
    get_object,
    get_text,
    parse_timestamp,
    split_names,
    strip_injected,
)
from hivemind.agents.tool_calls import describe_call
from hivemind.model.ids import SessionId, derive_id
from hivemind.model.session import Observation, ObservationKind, SkippedInput

UNUSED = split_names(
    "PreToolUse PostToolBatch Notification MessageDisplay PreCompact SubagentStart PermissionRequest "
    "PermissionDenied UserPromptExpansion StopFailure PreModelSwitch PostModelSwitch Setup TeammateIdle "
    "TaskCreated TaskCompleted Elicitation ElicitationResult ConfigChange WorktreeCreate WorktreeRemove "
    "InstructionsLoaded CwdChanged FileChanged DirectoryAdded SessionDelete TodoCreated TodoCompleted"
)
"""Events whose content comes more completely with another event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepContext:
    """The session, time and directory of a step; its methods make the step's observations."""

    agent: str
    session: str
    at: str
    directory: str = ""
    model: str = ""
    subagent: str = ""

    def with_time(self, stamp: Any, **changes: str) -> Self:
        """Return a copy with the time of this timestamp, if it is valid, and with these changes."""
        return replace(self, at=parse_timestamp(stamp, self.at), **changes)

    def observe(self, kind: ObservationKind, own_id: str, **fields: Any) -> Observation:
        """Return an observation of this step, with an id derived from the agent's own ids."""
        return Observation(
            agent=self.agent,
            session_id=SessionId(self.session),
            seen=kind,
            source_id=derive_id(self.agent, self.session, kind, own_id),
            at=self.at,
            directory=self.directory,
            model=self.model,
            subagent=self.subagent,
            **fields,
        )

    def observe_start(self, source: str = "") -> Observation:
        """Return the start of a session; a resumed one differs by source and time."""
        is_new = source in ("", "startup", "new")
        own_id = "start" if is_new else f"{source} {self.at}"
        return self.observe(ObservationKind.STARTED, own_id, text="" if is_new else source)

    def observe_prompt(self, turn: str, prompt: str) -> Iterator[Observation]:
        """Yield a prompt; nothing if it is empty, as when an agent continues by itself."""
        return self._observe_text(ObservationKind.PROMPT, turn, prompt)

    def observe_reply(self, turn: str, reply: str) -> Iterator[Observation]:
        """Yield a reply of the agent; a turn can have several."""
        return self._observe_text(ObservationKind.REPLY, turn, reply)

    def _observe_text(self, kind: ObservationKind, turn: str, message: str) -> Iterator[Observation]:
        if text := strip_injected(message):
            yield self.observe(kind, f"{turn} {digest(text)}", turn=turn, text=text)

    def observe_call(
        self, call_id: str, tool: str, arguments: Any, result: Any, *, is_error: bool = False
    ) -> Iterator[Observation]:
        """Yield a completed tool call, and one more observation for each further file it changed."""
        for index, fields in enumerate(describe_call(tool, arguments, result, is_error=is_error)):
            if fields.get("file"):
                fields["file"] = str(PurePath(self.directory, fields["file"]))
            workdir = fields.pop("directory", "")
            step = replace(self, directory=str(PurePath(self.directory, workdir))) if workdir else self
            # The first file has the id of the call; further files of a patch need ids of their own.
            yield step.observe(ObservationKind.TOOL, f"{call_id} {fields['file']}" if index else call_id, **fields)


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

    def build_step(self, line: Payload, model: str) -> StepContext:
        """Return the context of a transcript line in the format of Claude Code."""
        return self.step.with_time(
            line.get("timestamp"),
            session=get_text(line, "sessionId") or self.step.session,
            directory=get_text(line, "cwd"),
            model=model,
            subagent=get_text(line, "agentId") if line.get("isSidechain") else "",
        )

    def match_results(self, content: Iterable[Payload]) -> Iterator[tuple[str, Payload, Payload]]:
        """Return the id, call and result of each tool call that these blocks complete."""
        for block in content:
            if block.get("type") == "tool_use":
                self.open_calls[str(block.get("id"))] = dict(block)
            elif block.get("type") == "tool_result":
                own_id = str(block.get("tool_use_id"))
                yield own_id, self.open_calls.pop(own_id, {}), block


def decode_hook(agent: str, payload: Payload, at: str) -> Observations:
    """Read the observations of a hook payload in the format of Claude Code."""
    name, session = get_text(payload, "hook_event_name"), get_text(payload, "session_id")
    step = StepContext(
        agent=agent,
        session=session,
        at=parse_timestamp(payload.get("timestamp"), at),
        directory=get_text(payload, "cwd"),
        model=get_text(payload, "model"),
        subagent=get_text(payload, "agent_id"),
    )
    # Claude Code identifies a turn by its prompt, Codex by the turn.
    turn, last_message = get_text(payload, "prompt_id", "turn_id"), get_text(payload, "last_assistant_message")
    match name:
        case _ if name in UNUSED:
            return
        case _ if not session:
            yield SkippedInput(reason=f"{name} has no session id")
        case "SessionStart":
            yield step.observe_start(get_text(payload, "source"))
        case "UserPromptSubmit":
            yield from step.observe_prompt(turn, get_text(payload, "prompt"))
        case "PostToolUse" | "PostToolUseFailure":
            is_error = name == "PostToolUseFailure"
            tool, call_id = get_text(payload, "tool_name"), get_text(payload, "tool_call_id", "tool_use_id") or step.at
            result = payload.get("error" if is_error else "tool_response")
            yield from step.observe_call(call_id, tool, payload.get("tool_input"), result, is_error=is_error)
        case "Stop":
            yield from step.observe_reply(turn, last_message)
        case "SubagentStop":
            # Forks that Claude Code starts by itself, as for /compact, have no type and are not recorded.
            if kind := payload.get("agent_type"):
                own_id = f"{step.subagent} {turn or step.at}"
                yield step.observe(ObservationKind.SUBAGENT, own_id, text=strip_injected(last_message), tool=str(kind))
        case "PostCompact":
            yield step.observe(ObservationKind.COMPACTED, turn or step.at, text=get_text(payload, "compact_summary"))
        case "SessionEnd":
            yield step.observe(ObservationKind.ENDED, step.at, text=get_text(payload, "reason"))
        case _:
            yield SkippedInput(reason=f"unknown event {name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRequest:
    """The part of a hook payload that its answer depends on."""

    session: str
    directory: Path | None
    prompt: str
    """What a person asked, or the task of a subagent."""
    steps: tuple[Observation, ...] = ()
    """The tool call that is about to be made or was made, with one more step for each further file it changes."""


def make_request(decode_results: Observations, payload: Payload) -> HookRequest:
    """Return session, directory, prompt and call of any agent's payload, also of an event that is not recorded."""
    observations = [observation for observation in decode_results if isinstance(observation, Observation)]
    if observations:
        session, directory = observations[0].session_id, observations[0].directory
    else:
        session = get_text(get_object(payload, "sessionContext"), "rootSessionId") or get_text(payload, *SESSION_FIELDS)
        places = next(filter(None, map(payload.get, DIRECTORY_FIELDS)), "")
        directory = str(places[0] if isinstance(places, list) else places)
    prompts = (observation.text for observation in observations if observation.seen is ObservationKind.PROMPT)
    # A payload can name any directory; only one that exists can be opened.
    return HookRequest(
        session=session,
        directory=Path(directory) if directory and os.path.isdir(directory) else None,
        prompt=next(prompts, "") or get_text(payload, "task", "prompt"),
        steps=tuple(observation for observation in observations if observation.seen is ObservationKind.TOOL),
    )


def redact_observation(observation: Observation, redact: Callable[[str], str]) -> Observation:
    """Return the observation with redacted text and the id that its hook gave it.

    A hook redacts before it hashes the text, so the id of an unredacted transcript line would differ.
    """
    has_text_in_id = observation.seen in (ObservationKind.PROMPT, ObservationKind.REPLY)
    text = redact(observation.text) if has_text_in_id else observation.text
    if text == observation.text:
        return observation
    own_id = f"{observation.turn} {digest(text)}"
    source_id = derive_id(observation.agent, observation.session_id, observation.seen, own_id)
    return replace(observation, text=text, source_id=source_id)
