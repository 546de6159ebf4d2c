"""What is known about one coding agent, in a common shape; each agent's module has its own."""

import importlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hivemind.agents.callers import ANSWERS, BEFORE_CALL_EVENTS, DIRECTORY_FIELDS, NAMES, SESSION_FIELDS, Answer
from hivemind.agents.config_entries import InstallTarget, Launch, Piece
from hivemind.agents.decoder import decode_hook
from hivemind.agents.json_input import Observations, Payload, get_text
from hivemind.errors import InvalidInput, did_you_mean
from hivemind.model.guard import GuardAnswer
from hivemind.model.session import Observation, ObservationKind, SkippedInput


def format_claude_context(event: str, context: str) -> str:
    """Return the hook output by which Claude Code, and agents that copied its hooks, give the model a context."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}})


def format_claude_refusal(event: str, answer: GuardAnswer, reason: str) -> str:
    """Return the hook output by which Claude Code, and agents that copied its hooks, refuse a call or ask about it."""
    decision = {"permissionDecision": answer.value, "permissionDecisionReason": reason}
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, **decision}})


def skip_transcript(path: Path) -> Observations:
    """Be the ``read_transcript`` of agents whose transcripts are encrypted or not supported."""
    yield SkippedInput(reason="transcripts of this agent are not read")


REFUSES = frozenset({GuardAnswer.DENY})
ASKS_AND_REFUSES = frozenset({GuardAnswer.ASK, GuardAnswer.DENY})
ASK_THE_PERSON = "Do not make this call in another way. Ask the person whether it may be made, and wait for the answer."
"""Added to the reason of a refusal that stands for a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRequest:
    """The part of a hook payload that its answer depends on."""

    session: str
    directory: Path | None
    prompt: str
    """What a person asked, or the task of a subagent."""
    is_subagents: bool = False
    """Whether a subagent was asked, which is written by an agent."""
    steps: tuple[Observation, ...] = ()
    """The tool call that is about to be made or was made, with one more step for each further file it changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One coding agent; the defaults are those of an agent with Claude Code's hooks."""

    name: str
    title: str
    homes: tuple[str, ...]
    """Paths below the user's home; at least one exists if the agent is installed."""
    programs: tuple[str, ...]
    """Its programs; one on the PATH says that the agent is installed, even before it was first started."""
    build_pieces: Callable[[InstallTarget, Launch], tuple[Piece, ...]]
    """Returns every change to configuration files that connects the agent."""
    event_fields: Iterable[str] = ("hook_event_name",)
    """Fields of a payload that may name its event, which else is the one the hook was installed for."""
    events: Mapping[str, str] = field(default_factory=dict)
    """Its names of Claude Code's events, where they differ."""
    unused: frozenset[str] = frozenset()
    """Events whose content comes more completely with another event."""
    rename_fields: Callable[[str, Payload, str], Payload] = lambda event, payload, at: {}
    """Returns what a payload of this event and time has under other names than Claude Code's, under those names."""
    format_context: Callable[[str, str], str] = format_claude_context
    """Returns what a hook must print to give the model a context at an event."""
    refusals: frozenset[GuardAnswer] = frozenset()
    """What its hook before a call can do about it: ask the person, refuse it."""
    format_refusal: Callable[[str, GuardAnswer, str], str] = format_claude_refusal
    """Returns what a hook must print to refuse a call, or to have the person asked about it, for a reason."""
    shows_messages: bool = False
    """Whether a hook's ``systemMessage`` is shown to the person."""
    same_ids: bool = False
    """Whether hooks and transcript give a step the same id. If not, only one of them may be recorded for a session,
    or every step would be recorded twice."""
    transcripts: tuple[str, ...] = ()
    """Glob patterns of its transcript files below the user's home."""
    read_transcript: Callable[[Path], Observations] = skip_transcript
    """Reads the observations of a transcript, in order, one line at a time."""

    @property
    def answers(self) -> Mapping[str, Answer]:
        """The events at which the agent is answered, with the kind of the answer."""
        return ANSWERS.get(self.name, {})

    def decode(self, event: str, payload: Payload, at: str) -> Observations:
        """Read the observations of a hook payload."""
        name = get_text(payload, *self.event_fields) or event
        if name in self.unused:
            return iter(())
        common_name = {"hook_event_name": self.events.get(name, name)}
        return decode_hook(self.name, {**payload, **common_name, **self.rename_fields(name, payload, at)}, at)

    def parse_request(self, event: str, payload: Payload) -> HookRequest:
        """Return session, directory, prompt and call of a hook payload."""
        # A call that is about to be made is read like one that was made and gave no result.
        later_event = BEFORE_CALL_EVENTS.get(event)
        fields = {**payload, **dict.fromkeys(self.event_fields, later_event)} if later_event else payload
        return _make_request(self.decode(later_event or event, fields, ""), payload)

    def reply(self, event: str, context: str, message: str = "") -> str:
        """Return what the hook must print to give the model a context and the person a message; empty for neither."""
        hears = self.answers.get(event, Answer.GUARD) is not Answer.GUARD
        return self._add_message(self.format_context(event, context) if context and hears else "", message)

    def refuse(self, event: str, answer: GuardAnswer, reason: str, message: str = "") -> str:
        """Return what the hook must print to have a call refused or the person asked; empty if the agent cannot.

        An agent that cannot ask the person refuses the call and is told to ask. Nothing here ever allows a call.
        """
        is_before_call = self.answers.get(event) in (Answer.BEFORE, Answer.GUARD)
        if answer is GuardAnswer.REMIND or not is_before_call or not self.refusals:
            return ""
        if answer not in self.refusals:
            answer, reason = GuardAnswer.DENY, f"{reason}\n{ASK_THE_PERSON}"
        return self._add_message(self.format_refusal(event, answer, reason), message)

    def _add_message(self, reply: str, message: str) -> str:
        if not message or not self.shows_messages:
            return reply
        return json.dumps({"systemMessage": message, **(json.loads(reply) if reply else {})})


def _make_request(decode_results: Observations, payload: Payload) -> HookRequest:
    """Return session, directory, prompt and call of any agent's payload, also of an event that is not recorded."""
    observations = [observation for observation in decode_results if isinstance(observation, Observation)]
    if observations:
        session, directory = observations[0].session_id, observations[0].directory
    else:
        session, directory = get_text(payload, *SESSION_FIELDS), ""
    # That of the session first: a call may name any other one to work in.
    places = next(filter(None, map(payload.get, DIRECTORY_FIELDS)), directory)
    directory = str(places[0] if isinstance(places, list) else places)
    prompts = [observation for observation in observations if observation.seen is ObservationKind.PROMPT]
    # A payload can name any directory; only one that exists can be opened.
    return HookRequest(
        session=session,
        directory=Path(directory) if directory and os.path.isdir(directory) else None,
        prompt=(prompts[0].text if prompts else "") or get_text(payload, "task", "prompt"),
        is_subagents=any(prompt.subagent for prompt in prompts),
        steps=tuple(observation for observation in observations if observation.seen is ObservationKind.TOOL),
    )


def get_agent(name: str) -> Agent:
    """Return the agent of this name."""
    if name not in NAMES:
        suggestion = did_you_mean(name, NAMES) or f" Supported are: {', '.join(NAMES)}."
        raise InvalidInput(f"unknown agent {name!r}.{suggestion}")
    # ``continue`` is a keyword of Python and cannot name a module.
    module = "continue_" if name == "continue" else name.replace("-", "_")
    agent: Agent = importlib.import_module(f"hivemind.agents.{module}").AGENT
    return agent
