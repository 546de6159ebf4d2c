"""What agents run on every event: payload on standard input, never in the agent's way.

``hivemind-hook [--home DIR] AGENT EVENT`` redacts, leaves one line in the spool, answers where the event takes an
answer, and exits 0, whatever happens. Agents run this file by its path, ``python -I -S …/hook.py``: that leaves out
what a console script or ``python -m`` would load first.
"""

import os
import sys
import time

if not __package__:
    # Last, so that nothing beside us can stand in for the standard library.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from hivemind.agents.callers import CONTEXT_EVENTS, END_EVENTS, ONCE_PER_SESSION_EVENTS, identify_hook_agent
from hivemind.capture import brief_marker, spool
from hivemind.capture.redact import collect_secrets, redact_payload
from hivemind.paths import data_directory

LONG = 1024 * 1024
"""Characters of a payload above which it is shortened."""
TOO_LONG = 64 * LONG
"""Bytes of a payload that are kept in memory; the rest is read and left aside."""
LEFT_ASIDE = 1024
"""Times LONG: an agent whose pipe breaks may call that an error of its own, but nobody can wait for an endless one."""


def main() -> None:
    """Spool the event and answer it; a guest in someone's session neither fails nor talks out of turn."""
    try:
        arguments = sys.argv[1:]
        if arguments[:1] == ["--home"]:
            os.environ["HIVEMIND_HOME"], arguments = arguments[1], arguments[2:]
        named, event = [*arguments, "", ""][:2]
        payload = _read().decode("utf-8", "replace")
        agent = identify_hook_agent(named, os.environ, payload)
        seconds = time.time()
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1e6):06d}Z"
        home = data_directory(os.environ)
        if event in ONCE_PER_SESSION_EVENTS and brief_marker.is_briefed(home, payload):
            sys.exit(0)
        clean = _clean(payload)
        spool.append(home, agent, event, at, clean)
        if event in CONTEXT_EVENTS:
            answer(agent, event, clean)
        elif event in END_EVENTS and os.path.exists(os.path.join(home, "hub.json")):
            from hivemind.capture import background

            background.start("sync")
    except Exception as error:  # noqa: BLE001 - whatever goes wrong here must not reach the agent
        print(f"hivemind-hook: {error}", file=sys.stderr)
    sys.exit(0)


def _read() -> bytes:
    payload = sys.stdin.buffer.read(TOO_LONG)
    more = len(payload) == TOO_LONG
    for _ in range(LEFT_ASIDE):
        more = more and bool(sys.stdin.buffer.read(LONG))
    return payload


def _clean(payload: str) -> str:
    """Without secrets, and shortened where it is long."""
    known = collect_secrets(os.environ)
    if len(payload) <= LONG:
        return redact_payload(payload, known)
    from hivemind.capture import truncate

    return truncate.clean_payload(payload, lambda text: redact_payload(text, known))


def answer(agent: str, event: str, payload: str) -> None:
    """Print what memory has to say, loading all that takes; no other event pays for it."""
    import importlib

    if "site" not in sys.modules:
        # Without -S Python would have done this at the start: it is how what we depend on is found.
        importlib.import_module("site").main()
    print(importlib.import_module("hivemind.app.hook_reply").answer(agent, event, payload), end="")


if __name__ == "__main__":
    main()
