"""The hook that agents run on every event, with the payload on standard input; it never disturbs the agent.

``hivemind-hook [--home DIR] AGENT EVENT`` redacts, appends one line to the spool, answers events that take an answer,
and exits 0, whatever happens and within two seconds. Agents run it as ``python -I -S …/entrypoints/hook.py``.
"""

import _thread
import os
import sys
import time

from hivemind.agents.callers import (
    AFTER_CALL_EVENTS,
    BEFORE_CALL_EVENTS,
    BRIEFED_LATE,
    CONTEXT_EVENTS,
    END_EVENTS,
    TRANSCRIBED,
    identify_hook_agent,
)
from hivemind.errors import HivemindError
from hivemind.paths import data_directory, has_sync
from hivemind.sessions import brief_marker, spool
from hivemind.sessions.redact import collect_secrets, redact_payload
from hivemind.system import read_hook_seconds, use_utf8_streams
from hivemind.text import switch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

MIB = 1024 * 1024
MAX_UNCUT_CHARACTERS = MIB
"""Longer payloads are truncated."""
MAX_PAYLOAD_BYTES = 64 * MIB
"""The rest of a longer payload is read and dropped."""
MAX_DROPPED_MIB = 1024
"""A broken pipe may be an error for the agent, so the rest is read; but an endless payload must not block for ever."""

_speaking = _thread.allocate_lock()
"""Held by the thread that prints the answer, or that ends the process without one."""


def main() -> None:
    """Spool the event and answer it; errors go to standard error only."""
    home = ""
    try:
        if sys.platform == "win32":
            use_utf8_streams()
        arguments = sys.argv[1:]
        if arguments[:1] == ["--home"]:
            os.environ["HIVEMIND_HOME"], arguments = arguments[1], arguments[2:]
        agent_name, event = [*arguments, "", ""][:2]
        payload = _read_payload().decode("utf-8", "replace")
        _thread.start_new_thread(_end_in_time, ())
        # The agent was started by ``hivemind learn --with``: this is not a session of the person's.
        if (mode := os.environ.get("HIVEMIND_HOOKS")) == "off":
            sys.exit(0)
        agent = identify_hook_agent(agent_name, os.environ, payload)
        seconds = time.time()
        # Not by datetime, to spare its import.
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1e6):06d}Z"
        home = data_directory(os.environ)
        if mode == "check":
            # ``hivemind install`` and ``doctor`` try what an event needs, and leave no event behind.
            spool.check(home)
            _import_reply()
            print("ok")
            _exit_at_once()
        if switch.is_payload_off(payload):
            _exit_at_once()
        steps = [(event, payload)]
        if agent == TRANSCRIBED:
            # Imported here, because no other agent needs it.
            from hivemind.agents.antigravity_steps import find_steps

            steps = find_steps(home, event, payload)
        if event in BEFORE_CALL_EVENTS:
            payload = steps[0][1]
            # Not spooled: the event after the call has all of it, and the result.
            if agent == BRIEFED_LATE and not brief_marker.is_briefed(home, payload):
                answer(agent, event, _redact(payload))
            elif (cues := _find_cues(home, agent, event, payload)) is not None:
                answer(agent, event, _redact(payload), cues)
            sys.exit(0)
        redacted_steps = [(name, _redact(text)) for name, text in steps]
        try:
            for name, text in redacted_steps:
                spool.append(home, agent, name, at, text)
        except OSError as error:
            # On a full or read-only disk the agent still gets its answer.
            _complain(error, home)
        _answer_steps(home, agent, redacted_steps)
        if event in END_EVENTS and has_sync(home):
            # Imported here, because an import at the top would slow down every event.
            from hivemind import background

            background.start("sync")
    except Exception as error:  # noqa: BLE001 - an error here must not reach the agent
        _complain(error, home)
    _exit_at_once()


def _end_in_time() -> None:
    """End the process when its time is over, unless it is printing its answer."""
    # In a thread, because a signal does not reach Python while a library calls the system. Counted from when the
    # payload was read; nothing on the way to the answer waits so long, but a file system or git may.
    time.sleep(read_hook_seconds())
    _speaking.acquire()
    os._exit(0)


def _complain(error: Exception, home: str) -> None:
    """Say in one sentence what went wrong."""
    if isinstance(error, HivemindError):
        problem = str(error).partition("\n")[0]
    elif isinstance(error, OSError):
        problem = f"cannot write to {home}: {error.strerror or error}"
    else:
        problem = f"unexpected error ({type(error).__name__}); 'hivemind doctor' checks the installation"
    print(f"hivemind-hook: {problem}", file=sys.stderr)


def _exit_at_once() -> None:
    """End with 0 without destroying every object first, which takes 20 ms of CPU after an answer."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


def _read_payload() -> bytes:
    payload = sys.stdin.buffer.read(MAX_PAYLOAD_BYTES)
    has_more = len(payload) == MAX_PAYLOAD_BYTES
    for _ in range(MAX_DROPPED_MIB):
        has_more = has_more and bool(sys.stdin.buffer.read(MIB))
    return payload


def _redact(payload: str) -> str:
    """Return the payload without secrets, truncated if it is long."""
    secrets = collect_secrets(os.environ)
    if len(payload) <= MAX_UNCUT_CHARACTERS:
        return redact_payload(payload, secrets)
    # Imported here, because few payloads are this long.
    from hivemind.sessions import truncate

    return truncate.clean_payload(payload, lambda text: redact_payload(text, secrets))


def _find_cues(home: str, agent: str, event: str, payload: str) -> list[str] | None:
    """Return the cues of a tool call that some memory may concern; None if there is nothing to say."""
    # Before the store is there, nothing can be remembered.
    if not os.path.exists(os.path.join(home, "memory.db")):
        return None
    # Here, because it is needed at tool calls only.
    from hivemind.sessions import action_cues

    return action_cues.find_cues(home, agent, event, payload)


def _answer_steps(home: str, agent: str, steps: list[tuple[str, str]]) -> None:
    """Answer the last prompt or, if there is none, the last call that some memory may concern: one answer is read."""
    context_steps = [step for step in steps if step[0] in CONTEXT_EVENTS]
    if context_steps:
        answer(agent, *context_steps[-1])
        return
    calls = [step for step in steps if step[0] in AFTER_CALL_EVENTS]
    calls_and_cues = [(step, _find_cues(home, agent, *step)) for step in calls]
    hits = [(step, cues) for step, cues in calls_and_cues if cues is not None]
    if hits:
        (event, payload), cues = hits[-1]
        answer(agent, event, payload, cues)


def answer(agent: str, event: str, payload: str, cues: list[str] | None = None) -> None:
    """Print the reply of a running server; without one, load the store and the model, and answer here."""
    # Here, because most events take no answer.
    from hivemind import local_socket

    fields = local_socket.list_fields(agent, event, payload, cues or [])
    reply = local_socket.ask(data_directory(os.environ), fields, read_hook_seconds())
    if reply is None:
        _import_reply().answer(agent, event, payload, cues or [], _say)
    else:
        _say(reply)


def _say(reply: str) -> None:
    # Meanwhile the process is not ended, so that the agent gets the whole reply or nothing.
    with _speaking:
        print(reply, end="", flush=True)


def _import_reply() -> "ModuleType":
    import gc
    import importlib

    # Modules and the model's vocabulary are needed until the end; searching them for garbage takes 15 ms of CPU.
    gc.disable()
    if "site" not in sys.modules:
        # Without -S Python does this at the start; it makes the packages we depend on importable.
        importlib.import_module("site").main()
    return importlib.import_module("hivemind.hook_reply")
