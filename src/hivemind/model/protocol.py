"""Versions of the exchange between a device and its hub.

Both sides name the oldest and the newest version that they speak, in a header of every request and answer. Version 1 is
that of Hivemind 0.2, which names none.
"""

from typing import NamedTuple

HEADER = "Hivemind-Protocol"


class ExchangeVersions(NamedTuple):
    """The versions of the exchange that a program speaks."""

    oldest: int
    newest: int

    def __str__(self) -> str:
        return f"{self.oldest}-{self.newest}"


OURS = ExchangeVersions(1, 2)
BEFORE = ExchangeVersions(1, 1)
"""What a program speaks that names no version."""


def parse_versions(text: str | None) -> ExchangeVersions:
    """Return the versions that a header names."""
    try:
        oldest, newest = map(int, (text or str(BEFORE)).split("-"))
    except ValueError:
        return BEFORE
    return ExchangeVersions(oldest, newest)


def describe_mismatch(device: ExchangeVersions, hub: ExchangeVersions) -> str | None:
    """Return which side must be upgraded; None if both speak a common version."""
    if device.newest < hub.oldest:
        remedy = "upgrade hivemind on the device: pip install -U hivemind-memory"
    elif hub.newest < device.oldest:
        remedy = "ask whoever runs the hub to upgrade it"
    else:
        return None
    return f"the device speaks version {device} of the exchange and the hub {hub}; {remedy}"
