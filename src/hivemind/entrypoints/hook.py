"""The hook that agents run on every event, with the payload on standard input; it never disturbs the agent.

``hivemind-hook [--home DIR] AGENT EVENT`` redacts, appends one line to the spool, answers events that take an answer,
and exits 0, whatever happens. Agents run this file by its path, ``python -I -S …/hook.py``, because a console script or
``python -m`` would load more modules first.
"""

import os
import sys
import time

if not __package__:
    # Appended, so that no file in that directory can replace a module of the standard library.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from hivemind.agents.callers import CONTEXT_EVENTS, END_EVENTS, ONCE_PER_SESSION_EVENTS, identify_hook_agent
from hivemind.capture import brief_marker, spool
from hivemind.capture.redact import collect_secrets, redact_payload
from hivemind.paths import data_directory

MIB = 1024 * 1024
MAX_UNCUT_CHARACTERS = MIB
"""Longer payloads are truncated."""
MAX_PAYLOAD_BYTES = 64 * MIB
"""The rest of a longer payload is read and dropped."""
MAX_DROPPED_MIB = 1024
"""A broken pipe may be an error for the agent, so the rest is read; but an endless payload must not block for ever."""


def main() -> None:
    """Spool the event and answer it; errors go to standard error only."""
    try:
        arguments = sys.argv[1:]
        if arguments[:1] == ["--home"]:
            os.environ["HIVEMIND_HOME"], arguments = arguments[1], arguments[2:]
        agent_name, event = [*arguments, "", ""][:2]
        payload = _read_payload().decode("utf-8", "replace")
        agent = identify_hook_agent(agent_name, os.environ, payload)
        seconds = time.time()
        # Not by datetime, to spare its import.
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1e6):06d}Z"
        home = data_directory(os.environ)
        if event in ONCE_PER_SESSION_EVENTS and brief_marker.is_briefed(home, payload):
            sys.exit(0)
        redacted_payload = _redact(payload)
        spool.append(home, agent, event, at, redacted_payload)
        if event in CONTEXT_EVENTS:
            answer(agent, event, redacted_payload)
        elif event in END_EVENTS and os.path.exists(os.path.join(home, "hub.json")):
            # Imported here, because an import at the top would slow down every event.
            from hivemind.capture import background

            background.start("sync")
    except Exception as error:  # noqa: BLE001 - an error here must not reach the agent
        print(f"hivemind-hook: {error}", file=sys.stderr)
    sys.exit(0)


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
    from hivemind.capture import truncate

    return truncate.clean_payload(payload, lambda text: redact_payload(text, secrets))


def answer(agent: str, event: str, payload: str) -> None:
    """Print the reply from memory; only events that take an answer pay for loading the store."""
    import importlib

    if "site" not in sys.modules:
        # Without -S Python does this at the start; it makes the packages we depend on importable.
        importlib.import_module("site").main()
    print(importlib.import_module("hivemind.app.hook_reply").answer(agent, event, payload), end="")


if __name__ == "__main__":
    main()
