"""Assign each owner of a repository to a split, before anything of theirs is read."""

import hashlib

TRAIN, TUNE = 0.60, 0.75


def choose_split(repository: str) -> str:
    """Return ``train``, ``tune`` or ``held-out`` for ``owner/name``; all repositories of an owner share one."""
    owner = repository.partition("/")[0].lower()
    share = int(hashlib.sha256(f"lasting:{owner}".encode()).hexdigest()[:8], 16) / 2**32
    return "train" if share < TRAIN else "tune" if share < TUNE else "held-out"
