"""The state of a call that is sent twice: first without, then with the person's answer to a form.

Versions without a handshake ask a person this way. The client brings the state back, so it is signed. Loaded only for
clients that can show forms: importing the checksum would delay the list of tools.
"""

import hashlib
import hmac
import json
import secrets
from typing import Any, NamedTuple

KEY = secrets.token_bytes(32)
SIGNATURE_LENGTH = 64


class CallState(NamedTuple):
    """What a call brings back from its first time."""

    form: str = ""
    """The checksum of the form that was shown."""
    note: str = ""
    """What the tool noted."""

    def sign(self, call: object) -> str:
        """Return the state as text for the client, valid for this call alone."""
        body = json.dumps(self)
        return _sign(call, body) + body


def read_state(text: Any, call: object) -> CallState | None:
    """Return the state that a client brought back, empty at first; None if we did not make it for this call."""
    if text == "":
        return CallState()
    signature, body = (text[:SIGNATURE_LENGTH], text[SIGNATURE_LENGTH:]) if isinstance(text, str) else ("", "")
    is_ours = hmac.compare_digest(signature.encode(), _sign(call, body).encode())
    return CallState(*json.loads(body)) if is_ours else None


def compute_checksum(form: object) -> str:
    """Return a text that is the same for equal forms only."""
    return hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()


def _sign(call: object, body: str) -> str:
    return hmac.new(KEY, json.dumps([call, body], sort_keys=True).encode(), hashlib.sha256).hexdigest()
