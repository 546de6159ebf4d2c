"""The two kinds of shared folder: a directory that something else carries, and a git repository."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hivemind.codebase import git
from hivemind.errors import InvalidInput, Unavailable
from hivemind.sync.files import Folder

TEMPORARY = ".writing-"
"""Files being written; carriers may show them to other devices, which skip them."""
NETWORK_SECONDS = 120.0
PUSH_TRIES = 6
BRANCH = "main"
GIT_ADDRESS = ("git@", "ssh://", "https://", "http://", "file://", "git://")


class DirectoryFolder:
    """A directory of Dropbox, iCloud, Syncthing, a network drive or a USB stick."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def list_names(self) -> list[str]:
        """Return the names of all files, relative to the folder."""
        try:
            return sorted(
                file.relative_to(self.root).as_posix()
                for folder in self.root.iterdir()
                if folder.is_dir() and not folder.name.startswith(".")
                for file in folder.iterdir()
                if file.is_file() and not file.name.startswith(TEMPORARY)
            )
        except OSError as error:
            raise _describe(error, "read", self.root) from error

    def read(self, name: str) -> bytes | None:
        """Return a file's content, or None if it is not there (yet)."""
        try:
            return (self.root / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _describe(error, "read", self.root) from error

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole or not at all."""
        file = self.root / name
        new_file = file.with_name(f"{TEMPORARY}{secrets.token_hex(4)}")
        try:
            file.parent.mkdir(exist_ok=True)
            new_file.write_bytes(content)
            new_file.replace(file)
        except OSError as error:
            new_file.unlink(missing_ok=True)
            raise _describe(error, "write to", self.root) from error

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""
        try:
            (self.root / name).unlink(missing_ok=True)
        except OSError as error:
            raise _describe(error, "delete files in", self.root) from error


def is_git_address(location: str) -> bool:
    """Whether a location is the address of a git repository rather than a directory."""
    return location.startswith(GIT_ADDRESS) or location.endswith(".git")


@contextmanager
def open_folder(location: str, cache: Path, own_directory: str, *, drops_history: bool = False) -> Iterator[Folder]:
    """Open a shared folder; what was written in it is on its way when the block ends.

    With ``drops_history``, a git repository gets one commit without parents, so that it no longer contains what was
    deleted.
    """
    if not is_git_address(location):
        root = Path(location).expanduser()
        if not root.is_dir():
            raise Unavailable(f"{root} is not there; connect the drive or create the folder, then try again")
        yield DirectoryFolder(root)
        return
    clone = _Clone(location, cache, own_directory)
    clone.fetch()
    yield DirectoryFolder(cache)
    clone.publish(drops_history=drops_history)


class _Clone:
    """A working copy of the repository, under the store's own directory."""

    def __init__(self, address: str, root: Path, own_directory: str) -> None:
        self._address, self._root, self._own = address, root, own_directory

    def fetch(self) -> None:
        """Bring the working copy to what the repository has."""
        if not (self._root / ".git").is_dir():
            self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._run("init", "--quiet", "--initial-branch", BRANCH)
        if self._has_branch():
            self._run("fetch", "--quiet", "--depth", "1", self._address, f"+{BRANCH}:refs/remotes/origin/{BRANCH}")
            self._run("reset", "--quiet", "--hard", f"origin/{BRANCH}")
            self._run("clean", "-qfd")

    def publish(self, *, drops_history: bool) -> None:
        """Commit our files and push them; where another device was quicker, put ours on top of its commit."""
        for _ in range(PUSH_TRIES):
            self._run("add", "--all")
            is_unchanged = not self._run("status", "--porcelain").strip()
            if is_unchanged and not drops_history:
                return
            if self._push(drops_history=drops_history):
                self._forget_old_objects()
                return
            self._replay()
        raise Unavailable("other machines kept writing to the repository; 'hivemind sync' tries again")

    def _push(self, *, drops_history: bool) -> bool:
        """Commit and push; false if the repository has moved on meanwhile."""
        tree = self._run("write-tree").decode().strip()
        base = self._find_base()
        parents = ["-p", base] if base and not drops_history else []
        identity = ("-c", "user.name=hivemind", "-c", "user.email=hivemind@localhost")
        commit = self._run(*identity, "commit-tree", tree, *parents, "-m", "Update").decode().strip()
        self._run("update-ref", f"refs/heads/{BRANCH}", commit)
        # The lease names the commit that we started from, so a force never overwrites another device's files.
        lease = f"--force-with-lease={BRANCH}:{base}"
        try:
            self._run("push", "--quiet", lease, self._address, f"{commit}:refs/heads/{BRANCH}")
        except Unavailable as error:
            if "stale info" in str(error) or "rejected" in str(error) or "failed to push" in str(error):
                return False
            raise
        self._run("update-ref", f"refs/remotes/origin/{BRANCH}", commit)
        return True

    def _replay(self) -> None:
        """Start again from what the repository has now, with our own files as they are."""
        own, kept = self._root / self._own, self._root / ".git" / "own-files"
        shutil.rmtree(kept, ignore_errors=True)
        if own.exists():
            shutil.copytree(own, kept)
        self.fetch()
        shutil.rmtree(own, ignore_errors=True)
        if kept.exists():
            shutil.move(kept, own)

    def _has_branch(self) -> bool:
        return bool(self._run("ls-remote", "--heads", self._address, BRANCH).strip())

    def _find_base(self) -> str:
        return git.run_or_empty(self._root, "rev-parse", "--verify", "--quiet", f"refs/remotes/origin/{BRANCH}")

    def _forget_old_objects(self) -> None:
        """Delete what no commit refers to any more, because it may be what was erased."""
        self._run("reflog", "expire", "--expire=now", "--all")
        self._run("gc", "--quiet", "--prune=now")

    def _run(self, *arguments: str) -> bytes:
        return git.run(self._root, *arguments, timeout=NETWORK_SECONDS)


def _describe(error: OSError, verb: str, root: Path) -> Unavailable:
    return Unavailable(f"cannot {verb} {root}: {os.strerror(error.errno or 0)}; nothing is lost, 'hivemind sync' tries again")


def check_location(location: str) -> str:
    """Return a location in its lasting form: an absolute path, or an address."""
    if is_git_address(location):
        return location
    path = Path(location).expanduser()
    if path.exists() and not path.is_dir():
        raise InvalidInput(f"{path} is a file; name a folder or the address of a git repository")
    return str(path.absolute())
