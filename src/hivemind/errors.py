"""All errors that callers may see.

* HivemindError
  + InvalidInput        the request is wrong; the message says how to fix it
    - AmbiguousId       a shortened id matches several ids
  + NotFound            not found where the caller may look
  + Refused             a rule forbids it
    - Unauthenticated   the caller is not authenticated
      . AccessRevoked   an admin ended their access
    - RateLimited       too many requests
    - OutOfOrder        a log entry arrived before its predecessor
  + StoreError
    - StoreUnwritable   nothing can be written now; reading still works
      . StoreBusy       other writers held the lock for too long, or another thread uses the same object
      . StoreFull       the disk is full
      . StoreReadOnly   the disk or the directory is read-only
    - StoreClosed       it was closed before
    - StoreDamaged      the file is damaged; the message says how to repair it
    - StoreOutdated     its tables must be built anew first, and the caller had no time for that
    - StoreTooNew       a newer version of the program wrote it
  + Unavailable         something outside (git, a model, the hub) failed or did not answer
"""

from collections.abc import Iterable, Sequence


class HivemindError(Exception):
    """Base of all errors that Hivemind raises on purpose."""


class InvalidInput(HivemindError):
    """The request is wrong; the message says how to fix it."""


class AmbiguousId(InvalidInput):
    """A shortened id matches several ids."""

    def __init__(self, prefix: str, candidates: Sequence[str]) -> None:
        self.summary = f"{prefix!r} matches more than one id; type more characters:"
        self.candidates = tuple(candidates)
        lines = "\n".join(f"  {line}" for line in candidates)
        super().__init__(f"{self.summary}\n{lines}")


class NotFound(HivemindError):
    """Not found where the caller may look."""


class Refused(HivemindError):
    """A rule forbids it, at least to this caller."""


class OutOfOrder(Refused):
    """A log entry arrived before its predecessor; `expected` is the sequence number that must come first."""

    def __init__(self, message: str, expected: int) -> None:
        self.expected = expected
        super().__init__(message)


class Unauthenticated(Refused):
    """The caller is not authenticated."""


class AccessRevoked(Unauthenticated):
    """An admin revoked the token or removed the device; a device then deletes its copy of the team's memories."""


class RateLimited(Refused):
    """The caller has sent too many requests for now."""


class StoreError(HivemindError):
    """The store cannot be used."""


class StoreUnwritable(StoreError):
    """Nothing can be written now; reading still works."""


class StoreBusy(StoreUnwritable):
    """Other writers held the lock for too long, or another thread uses the same object."""


class StoreClosed(StoreError):
    """The store was closed before."""


class StoreDamaged(StoreError):
    """The file of the store is damaged."""


class StoreFull(StoreUnwritable):
    """The disk is full."""


class StoreOutdated(StoreError):
    """The tables of the store must be built anew first, and the caller had no time for that."""


class StoreReadOnly(StoreUnwritable):
    """The disk or the directory of the store is read-only."""


class StoreTooNew(StoreError):
    """A newer version of the program wrote this store."""


class Unavailable(HivemindError):
    """Something outside failed or did not answer."""


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """A question with similarly spelled choices, to append to an error message; empty if there are none."""
    # Not at the top: every hook loads this module, and difflib with ``re`` would double the time of its imports.
    import difflib

    matches = difflib.get_close_matches(name, list(choices), n=2)
    return f" Did you mean {' or '.join(matches)}?" if matches else ""
