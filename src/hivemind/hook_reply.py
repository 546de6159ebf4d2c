"""The reply of a hook to the agent that ran it."""

import importlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from hivemind import background
from hivemind.agents.agent import HookRequest, get_agent
from hivemind.agents.callers import BRIEFED_LATE, HEAR_BEFORE_CALLS, Answer
from hivemind.embedding.lazy_embedder import LazyEmbedder
from hivemind.errors import StoreBusy, StoreOutdated
from hivemind.guard.messages import render_message, render_reason
from hivemind.hivemind import Hivemind
from hivemind.model.guard import GuardAnswer, GuardVerdict
from hivemind.model.memory import Channel, Writer
from hivemind.model.recall import Occasion
from hivemind.paths import HUB_FILE, data_directory, has_sync
from hivemind.recall.actions import ActionReply
from hivemind.sessions import brief_marker
from hivemind.sessions.action_cues import FIXED, REMEMBERED
from hivemind.settings import Settings
from hivemind.store.sqlite import KEPT
from hivemind.system import stretch
from hivemind.text.clean import plural
from hivemind.text.cues import GUARDED, find_root, forget_announced, forget_session, mark_announced, mark_answered
from hivemind.text.untrusted import parse_json

BEFORE_CALL = (Answer.BEFORE, Answer.GUARD)
"""At these a guard may refuse, also where an agent's first call brings the brief."""
LONGEST_WAIT_SECONDS = 0.3
"""How long the start of a session waits for what is new in the team and on the person's other machines."""
LONGEST_UPGRADE_SECONDS = 1.0
"""How long a hook waits for tables that are built anew; for a few hundred memories that is enough."""
ACTIONS = {Occasion.EDIT: "edit", Occasion.COMMAND: "command", Occasion.FAILURE: "failure"}
MODULES = ("guard.guards", "learning.hearing", "recall.actions", "recall.brief", "sessions.observations")
"""Features that answers need and that are else imported when first used."""
CATCH_UP = ("status", "--counts")
"""A command that opens the store with all the time it needs, and does little more."""


def answer(
    agent: str,
    event: str,
    payload: str,
    cues: Sequence[str] = (),
    say: Callable[[str], object] = len,
    *,
    environ: Mapping[str, str] = os.environ,
    place: str = "",
) -> str:
    """Return what memory tells the agent at this event, in its format; empty if there is nothing to say.

    ``cues`` are those of a tool call that some memory may concern. ``say`` gets the reply before the store is closed,
    which may take a moment. ``environ`` and ``place``, the working directory, are those of the hook, which may be
    another process.
    """
    caller = get_agent(agent)
    fields = _parse(payload)
    # Where the command line names no event that takes an answer, the payload may.
    event = event if event in caller.answers else str(fields.get("hook_event_name") or "")
    if event not in caller.answers:
        return ""
    home = data_directory(environ)
    request = caller.parse_request(event, fields)
    # A relative directory counts from the hook's.
    directory = Path(place, request.directory) if request.directory else Path(place or os.getcwd())
    request = replace(request, directory=directory)
    # At the first call of an agent that accepts the brief at no earlier event.
    is_late = agent == BRIEFED_LATE and not brief_marker.is_briefed(home, payload)
    kind = Answer.BRIEF if is_late else caller.answers[event]
    # Started before the store is opened, so that the pull goes on meanwhile.
    sync = background.start("sync", home=home) if kind is Answer.BRIEF and has_sync(home) else None
    writer = Writer(actor=agent, channel=Channel.AGENT, session_id=request.session)
    try:
        opened_mind = _open_in_a_hurry(Settings.load(environ), directory, writer)
    except StoreBusy:
        return ""
    with opened_mind as mind:
        if sync:
            # What was learned elsewhere an hour ago belongs into this brief; a slow hub must not hold the session up.
            sync.wait(stretch(LONGEST_WAIT_SECONDS))
        # Not the method itself, whose module would be imported at once.
        mind.actions.write_cues(directory, lambda: mind.guards.list_cues())  # noqa: PLW0108
        verdict = mind.guards.judge(request.steps) if caller.answers[event] in BEFORE_CALL else None
        can_ask = GuardAnswer.ASK in caller.refusals
        message = _say_what_guard_does(mind, request, verdict, can_ask) if verdict and mind.announces else ""
        reply = caller.refuse(event, verdict.answer, render_reason(verdict), message) if verdict else ""
        if not reply:
            reply = caller.reply(event, *_speak(mind, kind, request, cues, verdict, message))
        say(reply)
        if mind.has_work_left:
            background.start(*CATCH_UP, home=home)
        return reply


def _parse(payload: str) -> Any:
    """Parse a payload; half a character, as in an emoji that was cut, becomes a question mark."""
    fields = parse_json(payload)
    if "\\ud" in payload or "\\uD" in payload:
        # Neither the store nor a pipe takes it.
        return parse_json(json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace"))
    return fields


def load_modules_and_model() -> None:
    """Load what most answers need, and keep it and the store open; for a process that gives many."""
    KEPT.is_on = True
    for name in MODULES:
        importlib.import_module(f"hivemind.{name}")
    settings = Settings.load()
    embedder = LazyEmbedder(settings.model, settings.home)
    # A model is loaded once per process.
    for load in (lambda: embedder.meaning, lambda: embedder.encode_wording):
        load()


def close_stores() -> None:
    """Close the stores that were kept open."""
    KEPT.close()


def _open_in_a_hurry(settings: Settings, directory: Path, writer: Writer) -> Hivemind:
    """Open the store; where that takes long, as after an upgrade, another process goes on with it."""
    try:
        return Hivemind.open(directory=directory, settings=settings, writer=writer, is_hurried=True)
    except StoreOutdated:
        if not background.start(*CATCH_UP, home=str(settings.home)).wait(stretch(LONGEST_UPGRADE_SECONDS)):
            raise
        return Hivemind.open(directory=directory, settings=settings, writer=writer, is_hurried=True)


def _speak(
    mind: Hivemind,
    kind: Answer,
    request: HookRequest,
    cues: Sequence[str],
    verdict: GuardVerdict | None,
    message: str,
) -> tuple[str, str]:
    """Return what the agent is told at an event that no guard refuses, and what the person is told."""
    match kind:
        case Answer.RECALL:
            forget_announced(mind.home, request.session)
            return _answer_prompt(mind, request)
        case Answer.SUBAGENT:
            return mind.actions.for_subagent(request.prompt).text, ""
        case Answer.GUARD:
            return "", message
        case Answer.BEFORE:
            call_notes = mind.actions.before_call(request.steps)
            # What the memory says may name the call in other words than its trigger.
            if verdict and not call_notes.text:
                is_edit = any(step.diff for step in request.steps)
                occasion = Occasion.EDIT if is_edit else Occasion.COMMAND
                call_notes = mind.actions.remind(verdict.memory, verdict.call, occasion)
            text = _tell(mind, request, cues, call_notes)
            return text, _announce_notes(mind, request, call_notes, "before", message)
        case Answer.AFTER:
            hears_before = mind.speaker in HEAR_BEFORE_CALLS
            call_notes = mind.actions.after_call(request.steps, hears_before=hears_before)
            text = _tell(mind, request, cues, call_notes)
            if FIXED in cues and not text:
                text = mind.hearing.note_after_fix()
            memory = mind.hearing.announce_memory() if REMEMBERED in cues and mind.announces else ""
            return text, _announce_notes(mind, request, call_notes, "after", memory)
        case Answer.BRIEF:
            return _brief(mind, request), mind.hearing.announce_last_session() if mind.announces else ""


def _answer_prompt(mind: Hivemind, request: HookRequest) -> tuple[str, str]:
    """Return what the agent is told with a prompt, and what the person is told."""
    answer = mind.on_prompt(request.prompt)
    # What a subagent is asked was written by an agent.
    if request.is_subagents:
        return answer.text, ""
    withdrawn = mind.hearing.withdraw_taken_back(request.prompt)
    note = "" if withdrawn else mind.hearing.note_at_prompt(request.prompt)
    message = _announce(mind, request, answer.notes, "with this prompt", mind.hearing.announce_withdrawal(withdrawn))
    return "\n\n".join(filter(None, (answer.text, note))), message


def _say_what_guard_does(mind: Hivemind, request: HookRequest, verdict: GuardVerdict, can_ask: bool) -> str:
    """Return a line for the person about a guard; that it does not act is said once in a session."""
    is_refused = verdict.answer is GuardAnswer.DENY or (verdict.answer is GuardAnswer.ASK and not can_ask)
    message = render_message(verdict, is_refused=is_refused)
    is_said_once = verdict.answer is GuardAnswer.REMIND and bool(message) and bool(request.session)
    return message if not is_said_once or mark_announced(mind.home, f"{request.session} {verdict.memory.id}") else ""


def _announce_notes(mind: Hivemind, request: HookRequest, reply: ActionReply, when: str, message: str = "") -> str:
    action = ACTIONS[reply.occasion] if reply.occasion else ""
    return _announce(mind, request, reply.notes, f"{when} this {action}", message)


def _announce(mind: Hivemind, request: HookRequest, notes: int, moment: str, message: str) -> str:
    """Return a line for the person that notes were told, after a message that is due; at most one for each prompt."""
    if not mind.announces or not (message or notes):
        return ""
    # The message is due in any case.
    is_first = mark_announced(mind.home, request.session)
    line = f"hivemind: {plural(notes, 'note')} told {moment}" if notes and is_first else ""
    return "\n".join(filter(None, (message, line)))


def _brief(mind: Hivemind, request: HookRequest) -> str:
    home = mind.home
    if mind.speaker == BRIEFED_LATE:
        # On a full or read-only disk the next call brings the brief again.
        with suppress(OSError):
            brief_marker.mark_briefed(home, request.session)
    # A session that starts, or goes on after a compaction, has not heard what it was told before.
    forget_session(home, request.session)
    if mind.learning.waits_to_learn():
        background.start("learn")
    return "\n\n".join(filter(None, (mind.brief().text, _take_login_notice(Path(home)))))


def _take_login_notice(home: Path) -> str | None:
    """Return that the person must sign in to the hub again, once; a hook never opens a browser."""
    file = home / HUB_FILE
    if not file.exists():
        return None
    # Not at the top: most people have no hub.
    from hivemind.sync.hub_client import take_notice

    # On a read-only disk it could not be told once.
    with suppress(OSError):
        return take_notice(file)
    return None


def _tell(mind: Hivemind, request: HookRequest, cues: Sequence[str], reply: ActionReply) -> str:
    if reply.is_complete:
        root = find_root(str(request.directory))
        # Only saves the next hook the search; receipts say what was told.
        with suppress(OSError):
            told_cues = [cue for cue in cues if cue not in (FIXED, REMEMBERED) and not cue.startswith(GUARDED)]
            mark_answered(mind.home, root, request.session, told_cues)
    return reply.text
