"""How many requests a token or an address may make in a minute.

Counted in each process, because a count in the database would make every read a write; with several processes behind a
load balancer the limit is that many times higher.
"""

import threading
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

WINDOW_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Requests per minute."""

    per_token: int = 600
    wrong_per_address: int = 30
    """Requests without a valid token; they never count against the valid tokens of others at the same address."""


@dataclass(slots=True)
class RequestCounter:
    """Counts the requests of this minute."""

    _window: int = 0
    _counts: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, now: datetime, who: str) -> int:
        """Count a request and return how many there were in this minute."""
        window = int(now.timestamp()) // WINDOW_SECONDS
        with self._lock:
            # All start again together, so that the counter never holds more than one minute's callers.
            if window != self._window:
                self._window = window
                self._counts.clear()
            self._counts[who] += 1
            return self._counts[who]
