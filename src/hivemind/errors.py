"""Everything that can go wrong, as callers see it.

* HivemindError
  + InvalidInput        the caller can fix it; the message says how
    - AmbiguousId       a shortened id fits several things
  + NotFound            there is no such thing where you may look
  + Refused             a rule forbids it, whoever asks
    - Unknown           the hub does not know who asks
    - TooOften          somebody asks more than their share
    - OutOfStep         an entry came before one that it follows
  + StoreError
    - StoreBusy         other writers kept the file for too long
    - StoreDamaged      the file is not what it was; the message says how to repair
    - StoreFull         there is no room left on the disk
    - StoreTooNew       a newer program wrote it
  + Unavailable         something outside (git, a model, the hub) did not answer
"""

from collections.abc import Iterable, Sequence


class HivemindError(Exception):
    """Base of every error raised on purpose."""


class InvalidInput(HivemindError):
    """The request does not make sense; the message says how to fix it."""


class AmbiguousId(InvalidInput):
    """A shortened id fits several things."""

    def __init__(self, prefix: str, candidates: Sequence[str]) -> None:
        self.summary = f"{prefix!r} fits more than one; add characters:"
        self.candidates = tuple(candidates)
        lines = "\n".join(f"  {line}" for line in candidates)
        super().__init__(f"{self.summary}\n{lines}")


class NotFound(HivemindError):
    """There is no such thing where the caller may look."""


class Refused(HivemindError):
    """A rule forbids it, whoever asks."""


class OutOfStep(Refused):
    """An entry came before one that it follows."""

    def __init__(self, message: str, expected: int) -> None:
        self.expected = expected
        super().__init__(message)


class Unknown(Refused):
    """Whoever asks has not shown who they are."""


class TooOften(Refused):
    """Whoever asks has had their share for now."""


class StoreError(HivemindError):
    """The store cannot be used as it is."""


class StoreBusy(StoreError):
    """Other writers kept the file for too long."""


class StoreDamaged(StoreError):
    """The file is not what it was."""


class StoreFull(StoreError):
    """There is no room left on the disk."""


class StoreTooNew(StoreError):
    """A newer program wrote this store."""


class Unavailable(HivemindError):
    """Something outside did not answer."""


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """A question that names what is spelled alike, to be put behind an error; nothing if nothing is."""
    import difflib  # only who mistypes pays for it

    matches = difflib.get_close_matches(name, list(choices), n=2)
    return f" Did you mean {' or '.join(matches)}?" if matches else ""
