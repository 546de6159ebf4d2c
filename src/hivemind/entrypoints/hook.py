"""What agents run on every event: payload on standard input, never in the agent's way.

``hivemind-hook AGENT EVENT`` redacts, leaves one line in the spool and exits 0, whatever happens.
"""

import os
import sys
import time

from hivemind.capture import spool
from hivemind.capture.redact import redact, secrets_in
from hivemind.model.home import data_directory

LONGEST_PAYLOAD = 1024 * 1024


def main() -> None:
    """Spool the event; a guest in someone's session neither fails nor talks."""
    try:
        agent, event = [*sys.argv[1:3], "", ""][:2]
        payload = sys.stdin.buffer.read(LONGEST_PAYLOAD).decode("utf-8", "replace")
        seconds = time.time()
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1e6):06d}Z"
        spool.append(data_directory(os.environ), agent, event, at, redact(payload, secrets_in(os.environ)))
    except Exception as error:  # noqa: BLE001 - whatever goes wrong here must not reach the agent
        print(f"hivemind-hook: {error}", file=sys.stderr)
    sys.exit(0)
