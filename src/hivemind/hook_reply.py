"""The reply of a hook to the agent that ran it."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from hivemind import background
from hivemind.agents.agent import HookRequest, get_agent
from hivemind.agents.callers import BRIEFED_LATE, HEAR_BEFORE_CALLS, Answer
from hivemind.errors import StoreBusy, StoreOutdated
from hivemind.hivemind import Hivemind
from hivemind.model.memory import Channel, Writer
from hivemind.paths import HUB_FILE, data_directory, has_sync
from hivemind.recall.actions import ActionReply
from hivemind.sessions import brief_marker
from hivemind.sessions.action_cues import FIXED, REMEMBERED
from hivemind.text.cues import find_root, forget_session, mark_answered
from hivemind.text.untrusted import parse_json

LONGEST_WAIT_SECONDS = 0.3
"""How long the start of a session waits for what is new in the team and on the person's other machines."""
LONGEST_UPGRADE_SECONDS = 1.0
"""How long a hook waits for tables that are built anew; for a few hundred memories that is enough."""
CATCH_UP = ("status", "--counts")
"""A command that opens the store with all the time it needs, and does little more."""


def answer(agent: str, event: str, payload: str, cues: Sequence[str] = (), say: Callable[[str], object] = len) -> str:
    """Return what memory tells the agent at this event, in its format; empty if there is nothing to say.

    ``cues`` are those of a tool call that some memory may concern. ``say`` gets the reply before the store is closed,
    which may take a moment.
    """
    caller = get_agent(agent)
    fields = parse_json(payload)
    # Where the command line names no event that takes an answer, the payload may.
    event = event if event in caller.answers else str(fields.get("hook_event_name") or "")
    if event not in caller.answers:
        return ""
    request = caller.parse_request(event, fields)
    # At the first call of an agent that accepts the brief at no earlier event.
    is_late = agent == BRIEFED_LATE and not brief_marker.is_briefed(data_directory(os.environ), payload)
    kind = Answer.BRIEF if is_late else caller.answers[event]
    # Started before the store is opened, so that the pull goes on meanwhile.
    sync = background.start("sync") if kind is Answer.BRIEF and has_sync(data_directory(os.environ)) else None
    writer = Writer(actor=agent, channel=Channel.AGENT, session_id=request.session)
    try:
        opened_mind = _open_in_a_hurry(request.directory, writer)
    except StoreBusy:
        return ""
    with opened_mind as mind:
        if sync:
            # What was learned elsewhere an hour ago belongs into this brief; a slow hub must not hold the session up.
            sync.wait(LONGEST_WAIT_SECONDS)
        mind.actions.write_cues(request.directory or Path.cwd())
        message = ""
        match kind:
            case Answer.RECALL:
                text, message = _answer_prompt(mind, request)
            case Answer.SUBAGENT:
                text = mind.actions.for_subagent(request.prompt).text
            case Answer.BEFORE:
                text = _tell(request, cues, mind.actions.before_call(request.steps))
            case Answer.AFTER:
                hears_before = agent in HEAR_BEFORE_CALLS
                text = _tell(request, cues, mind.actions.after_call(request.steps, hears_before=hears_before))
                if FIXED in cues and not text:
                    text = mind.hearing.note_after_fix()
                if REMEMBERED in cues and mind.announces:
                    message = mind.hearing.announce_memory()
            case Answer.BRIEF:
                text = _brief(mind, request)
                message = mind.hearing.announce_last_session() if mind.announces else ""
        reply = caller.reply(event, text, message)
        say(reply)
        if mind.has_work_left:
            background.start(*CATCH_UP)
        return reply


def _open_in_a_hurry(directory: Path | None, writer: Writer) -> Hivemind:
    """Open the store; where that takes long, as after an upgrade, another process goes on with it."""
    try:
        return Hivemind.open(directory=directory, writer=writer, is_hurried=True)
    except StoreOutdated:
        if not background.start(*CATCH_UP).wait(LONGEST_UPGRADE_SECONDS):
            raise
        return Hivemind.open(directory=directory, writer=writer, is_hurried=True)


def _answer_prompt(mind: Hivemind, request: HookRequest) -> tuple[str, str]:
    """Return what the agent is told with a prompt, and what the person is told."""
    text = mind.on_prompt(request.prompt).text
    # What a subagent is asked was written by an agent.
    if request.is_subagents:
        return text, ""
    withdrawn = mind.hearing.withdraw_taken_back(request.prompt)
    note = "" if withdrawn else mind.hearing.note_at_prompt(request.prompt)
    message = mind.hearing.announce_withdrawal(withdrawn)
    return "\n\n".join(filter(None, (text, note))), message if mind.announces else ""


def _brief(mind: Hivemind, request: HookRequest) -> str:
    home = data_directory(os.environ)
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


def _tell(request: HookRequest, cues: Sequence[str], reply: ActionReply) -> str:
    if reply.is_complete:
        root = find_root(str(request.directory or Path.cwd()))
        # Only saves the next hook the search; receipts say what was told.
        with suppress(OSError):
            told_cues = [cue for cue in cues if cue not in (FIXED, REMEMBERED)]
            mark_answered(data_directory(os.environ), root, request.session, told_cues)
    return reply.text
