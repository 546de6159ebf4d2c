"""Disks that fail: at the n-th write or sync, or when they are full."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import apsw

Fault = Literal["write", "sync", "truncate"]


class FailingDisk(apsw.VFS):
    """The ordinary file system, until its n-th call of a kind; from then on it fails for good, as broken disks do."""

    def __init__(self, fails: Fault, at: int, error: type[Exception]) -> None:
        self.fails, self.at, self.error = fails, at, error
        self.calls = 0
        self.is_mended = False
        self.unix = apsw.vfs_names()[0]
        super().__init__("failing", self.unix, makedefault=True)

    def xOpen(self, name: Any, flags: Any) -> "FailingFile":  # noqa: N802 - SQLite's name
        return FailingFile(self, name, flags)

    def call(self, kind: Fault) -> None:
        """Count a call, and fail if its turn has come."""
        if kind != self.fails or self.is_mended:
            return
        self.calls += 1
        if self.calls >= self.at:
            raise self.error("a fault made on purpose")


class FailingFile(apsw.VFSFile):
    """A file on such a disk."""

    def __init__(self, disk: FailingDisk, name: Any, flags: Any) -> None:
        self.disk = disk
        super().__init__(disk.unix, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self.disk.call("write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.disk.call("sync")
        super().xSync(flags)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self.disk.call("truncate")
        super().xTruncate(size)


@contextmanager
def failing(fails: Fault, at: int, error: type[Exception]) -> Iterator[FailingDisk]:
    """Everything SQLite opens meanwhile lies on a failing disk."""
    disk = FailingDisk(fails, at, error)
    try:
        yield disk
    finally:
        disk.is_mended = True
        disk.unregister()


@contextmanager
def renames_fail(at: int, patch: Any) -> Iterator[list[int]]:
    """The n-th renaming of a file fails, and all after it."""
    calls: list[int] = []
    replace = os.replace

    def fail_at(*arguments: Any, **named: Any) -> None:
        calls.append(1)
        if len(calls) >= at:
            raise OSError(5, "a fault made on purpose")
        replace(*arguments, **named)

    with patch.context() as patched:
        patched.setattr(os, "replace", fail_at)
        yield calls
