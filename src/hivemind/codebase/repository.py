"""Which repository a directory belongs to.

Clones and worktrees of one repository are the same one, two repositories of one name are not, and a
directory that moved is still the same. So a repository is known by its remote, else by its first commit,
else (without git or before the first commit) by where it lies.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from hivemind.codebase import git
from hivemind.model.scope import Repository

SCP_LIKE = re.compile(r"(?:[\w.+-]+@)?(?P<host>[\w.-]+):(?P<path>(?!//).+)")
URL = re.compile(r"(?P<scheme>[\w+]+)://(?:[^@/]*@)?(?P<host>[^/:]*)(?::\d+)?/(?P<path>.+)")


def identify(directory: Path) -> Repository:
    """The repository a directory belongs to."""
    try:
        directory = directory.resolve()
    except (OSError, ValueError, RuntimeError):
        # A name that no directory can have: too long, with a NUL, or a link to itself.
        return Repository(id=f"path:{directory}", root=str(directory))
    answer = git.answer(directory, "rev-parse", "--show-toplevel", "--is-shallow-repository")
    if not answer:
        return Repository(id=f"path:{directory}", root=str(directory))
    root, is_shallow = answer.split("\n")[:2]
    remote = _remote(directory)
    if remote:
        return Repository(id=f"remote:{remote}", root=root)
    # The oldest commit of a shallow clone is only where the clone was cut.
    commit = None if is_shallow == "true" else _first_commit(directory)
    return Repository(id=f"commit:{commit}" if commit else f"path:{root}", root=root)


def earlier_names(repository: Repository, names: Iterable[str]) -> tuple[str, ...]:
    """Which of the names a working tree once had are weaker names of the same repository.

    A remote tells more than a first commit, and that more than a path; a name of the same strength
    belongs to another repository that lay here before.
    """
    strength = ["path", "commit", "remote"]
    rank = strength.index(repository.id.partition(":")[0])
    return tuple(name for name in names if strength.index(name.partition(":")[0]) < rank)


def normalised(remote: str) -> str:
    """A remote's address as every way of writing it: ``github.com/acme/api``."""
    address = remote.strip()
    url = URL.fullmatch(address) or SCP_LIKE.fullmatch(address)
    if url is None or url.groupdict().get("scheme") == "file":
        return str(Path(os.path.expanduser(address.removeprefix("file://")))).removesuffix("/").removesuffix(".git")
    path = url["path"].strip("/").removesuffix(".git").strip("/")
    host = url["host"].lower()
    # Hosting services ignore case in owner and name.
    return f"{host}/{path.lower()}" if host else f"/{path}"


def _remote(directory: Path) -> str | None:
    """The address of ``origin``, else of ``upstream``, else of the only remote or the first by name."""
    listed = git.answer(directory, "config", "--get-regexp", r"^remote\..*\.url$")
    if not listed:
        return None
    urls: dict[str, str] = {}
    for line in listed.splitlines():
        key, _, url = line.partition(" ")
        urls.setdefault(key.removeprefix("remote.").removesuffix(".url"), url)
    name = next((name for name in ("origin", "upstream") if name in urls), min(urls))
    return _absolute(normalised(urls[name]), directory)


def _absolute(address: str, directory: Path) -> str:
    """A relative path as remote means a place beside the repository."""
    return os.path.normpath(directory / address) if address.startswith(".") else address


def _first_commit(directory: Path) -> str | None:
    """The root commit; where histories were joined, the first by name, the same in every clone."""
    roots = git.answer(directory, "rev-list", "--max-parents=0", "HEAD")
    return min(roots.split()) if roots else None
