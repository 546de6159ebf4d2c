"""The two kinds of shared folder: a directory that something else carries, and a git repository."""

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hivemind.code import git
from hivemind.errors import InvalidInput, Unavailable
from hivemind.text.clean import validate_text
from hivemind.text.untrusted import Unreadable, read_limited

LARGEST_FILE_BYTES = 256 << 20
"""Far more than a machine writes into one file."""
EPOCHS = "epochs"
NAME = re.compile(r"[0-9a-f]{16}([0-9a-f]{16})?")
"""A name of ours; those of epochs are longer since version 0.3."""
TEMPORARY = ".writing-"
"""Files being written; carriers may show them to other devices, which skip them."""
NETWORK_SECONDS = 120.0
PUSH_TRIES = 6
BRANCH = "main"
REMOTE_REF = f"refs/remotes/origin/{BRANCH}"
GIT_ADDRESS = ("git@", "ssh://", "https://", "http://", "file://", "git://")


def new_name() -> str:
    """Make a name for a file or directory that says nothing."""
    return secrets.token_hex(8)


class Folder:
    """A directory of Dropbox, iCloud, Syncthing, a network drive or a USB stick, which carries files to the others."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.problems: dict[str, str] = {}
        """What is wrong with files, by their names."""

    def list_names(self) -> list[str]:
        """Return the names of the files in directories of devices and epochs, relative to the folder."""
        try:
            return sorted(
                f"{folder.name}/{file.name}"
                for folder in self.root.iterdir()
                # Others may be of a NAS, a disk or a program, and closed to this person.
                if (folder.name == EPOCHS or NAME.fullmatch(folder.name))
                and folder.is_dir()
                and not folder.is_symlink()
                for file in folder.iterdir()
                if not file.name.startswith(".") and (file.is_symlink() or not file.is_dir())
            )
        except OSError as error:
            raise _describe(error, "read", self.root) from error

    def read(self, name: str) -> bytes | None:
        """Return a file's content, or None if it is not there (yet) or was refused."""
        try:
            return read_limited(self.root / name, LARGEST_FILE_BYTES, within=self.root)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Unreadable as error:
            self.problems[name] = f"{error}; no machine wrote it, so delete it"
            return None
        except OSError as error:
            raise _describe(error, "read", self.root) from error

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole or not at all."""
        file = self.root / name
        new_file = file.with_name(f"{TEMPORARY}{secrets.token_hex(4)}")
        if file.parent.is_symlink():
            raise Unavailable(f"{file.parent} is a link, which no machine makes; remove it, then run 'hivemind sync'")
        try:
            file.parent.mkdir(exist_ok=True)
            new_file.write_bytes(content)
            new_file.replace(file)
        except OSError as error:
            # It may be read-only by now; temporary files are skipped by everybody.
            with suppress(OSError):
                new_file.unlink(missing_ok=True)
            raise _describe(error, "write to", self.root) from error

    def delete(self, name: str) -> None:
        """Delete a file, if it is there, and its directory with the last file."""
        file = self.root / name
        try:
            file.unlink(missing_ok=True)
            if not any(file.parent.iterdir()):
                file.parent.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            raise _describe(error, "delete files in", self.root) from error


class GitFolder(Folder):
    """A working copy of a git repository, under the store's own directory; ``publish`` pushes what was changed."""

    def __init__(self, address: str, root: Path) -> None:
        super().__init__(root)
        self._address = address
        self._changes: dict[str, bytes | None] = {}
        """What was written, or None for what was deleted, to repeat it on top of another device's commit."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file into the working copy."""
        self._changes[name] = content
        super().write(name, content)

    def delete(self, name: str) -> None:
        """Delete a file from the working copy, and from the history with the next push."""
        self._changes[name] = None
        super().delete(name)

    def fetch(self) -> None:
        """Bring the working copy to what the repository has."""
        if not (self.root / ".git").is_dir():
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._run("init", "--quiet", "--initial-branch", BRANCH)
        names = set(self.list_names())
        if self._run("ls-remote", "--heads", self._address, f"refs/heads/{BRANCH}").strip():
            self._run("fetch", "--quiet", "--depth", "1", self._address, f"+refs/heads/{BRANCH}:{REMOTE_REF}")
            self._run("reset", "--quiet", "--hard", REMOTE_REF)
        else:
            # Deleted, or created again: every device writes its own files again, as into an empty folder.
            self._run("update-ref", "-d", REMOTE_REF)
            self._run("read-tree", "--empty")
        self._run("clean", "-qfdx")
        if names - set(self.list_names()):
            self._forget_old_objects()

    def publish(self) -> None:
        """Commit and push the changes; where another device was quicker, repeat them on top of its commit."""
        for _ in range(PUSH_TRIES):
            self._run("add", "--all")
            if not self._run("status", "--porcelain").strip() or self._push():
                return
            self.fetch()
            for name, content in self._changes.items():
                if content is None:
                    super().delete(name)
                else:
                    super().write(name, content)
        raise Unavailable("other machines kept writing to the repository; 'hivemind sync' tries again")

    def _push(self) -> bool:
        """Commit and push; false if the repository has moved on meanwhile."""
        base = git.run_or_empty(self.root, "rev-parse", "--verify", "--quiet", REMOTE_REF)
        # A commit without parents where something was deleted: the history may contain what was erased.
        keeps_history = base and None not in self._changes.values()
        tree = self._run("write-tree").decode().strip()
        identity = ("-c", "user.name=hivemind", "-c", "user.email=hivemind@localhost", "-c", "commit.gpgSign=false")
        parents = ("-p", base) if keeps_history else ()
        commit = self._run(*identity, "commit-tree", tree, *parents, "-m", "Update").decode().strip()
        # The lease names the commit that we started from, so that a force never overwrites another device's files.
        lease = f"--force-with-lease=refs/heads/{BRANCH}:{base}"
        try:
            self._run("push", "--quiet", lease, self._address, f"{commit}:refs/heads/{BRANCH}")
        except Unavailable:
            if self._has_moved_on(base):
                return False
            raise
        self._run("update-ref", REMOTE_REF, commit)
        self._run("reset", "--quiet", commit)
        if not keeps_history:
            self._forget_old_objects()
        return True

    def _has_moved_on(self, base: str) -> bool:
        """Whether the repository has another commit than the one that we started from."""
        answer = self._run("ls-remote", "--heads", self._address, f"refs/heads/{BRANCH}").decode()
        return answer.partition("\t")[0] != base

    def _forget_old_objects(self) -> None:
        """Delete from the working copy what no commit refers to any more, because it may be what was erased."""
        self._run("reflog", "expire", "--expire=now", "--all")
        self._run("gc", "--quiet", "--prune=now")

    def _run(self, *arguments: str) -> bytes:
        return git.run(self.root, *arguments, timeout=NETWORK_SECONDS)


def is_git_address(location: str) -> bool:
    """Whether a location is the address of a git repository rather than a directory."""
    return location.startswith(GIT_ADDRESS) or location.endswith(".git")


@contextmanager
def open_folder(location: str, cache: Path) -> Iterator[Folder]:
    """Open a shared folder; what was written in it is on its way when the block ends."""
    if not is_git_address(location):
        yield open_last_copy(location, cache)
        return
    repository = GitFolder(location, cache)
    repository.fetch()
    yield repository
    repository.publish()


def open_last_copy(location: str, cache: Path) -> Folder:
    """Open a shared folder as it is on this machine, without asking a git repository for what is new."""
    root = cache if is_git_address(location) else Path(location)
    if not root.is_dir():
        raise Unavailable(f"{root} is not there; connect the drive or create the folder, then run 'hivemind sync'")
    return Folder(root)


def parse_location(location: str) -> str:
    """Return a location in its lasting form: an absolute path, or an address."""
    if is_git_address(location):
        return location
    path = Path(validate_text(location, "the folder")).expanduser().absolute()
    if path.exists() and not path.is_dir():
        raise InvalidInput(f"{path} is a file; name a folder or the address of a git repository")
    return str(path)


def _describe(error: OSError, verb: str, root: Path) -> Unavailable:
    reason = os.strerror(error.errno or 0)
    return Unavailable(f"cannot {verb} {root}: {reason}; nothing is lost, 'hivemind sync' tries again")
