"""Run git in a working tree, without running any program that the repository configures."""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from hivemind.errors import InvalidInput, Unavailable
from hivemind.model.dataclass import dataclass

TIMEOUT_SECONDS = 20.0
HISTORY_SECONDS = 600.0
"""Timeout for reading a long history, which only happens while a person waits for it."""

OUTSIDE_SECONDS = 1.0
"""Timeout for searching a directory that is no repository."""

# A repository's own configuration may name programs to run: a file system monitor, hooks.
_SAFE_OPTIONS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false")
# By default git maps whole packs, which makes 290 MB of the history of kubernetes instead of 120.
_MEMORY_OPTIONS = ("-c", "core.packedGitLimit=32m", "-c", "core.packedGitWindowSize=1m")
# No locks that would block the user's own git, no password prompts, no downloads in a partial clone.
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_PAGER": "cat", "LC_ALL": "C",
}  # fmt: skip
# Configuration and limits that the user sets by the environment stay in force.
_INHERITED_PREFIXES = ("GIT_CONFIG_", "GIT_CEILING_", "GIT_DISCOVERY_")
# Only hexadecimal ids, so that no option or other revision syntax reaches git.
COMMIT_ID = re.compile(r"[0-9a-f]{7,64}")
# Control characters as separators: they hardly occur in names and messages.
_COMMIT_FORMAT = f"--format=%x01{'%x02'.join(('%H', '%cI', '%an', '%B'))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit with its message and the paths it changed."""

    id: str
    at: str
    author: str
    message: str
    files: tuple[str, ...]


def run(
    root: Path, *arguments: str, stdin: bytes = b"", timeout: float = TIMEOUT_SECONDS, may_find_nothing: bool = False
) -> bytes:
    """Run one git command in this tree and return its output; a search `may_find_nothing`, which is no error."""
    # git sets GIT_DIR and others for its hooks; inherited from there, they would point to another repository.
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(_INHERITED_PREFIXES)
    }
    command = ["git", *_SAFE_OPTIONS, *_MEMORY_OPTIONS, "-C", str(root), *arguments]
    try:
        process = subprocess.run(
            command, input=stdin, capture_output=True, timeout=timeout, env=environment | _ENVIRONMENT, check=False
        )
    except (OSError, ValueError) as error:
        raise Unavailable(f"git cannot be run: {error}") from None
    except subprocess.TimeoutExpired:
        raise Unavailable(f"git {arguments[0]} took longer than {timeout:.0f} seconds") from None
    if process.returncode and not (may_find_nothing and process.returncode == 1):
        raise Unavailable(f"git {arguments[0]}: {process.stderr.decode('utf-8', 'replace').strip()}")
    return process.stdout


def run_or_empty(root: Path, *arguments: str) -> str:
    """Run one git command and return its output as text; empty if it fails."""
    try:
        return os.fsdecode(run(root, *arguments)).strip("\n")
    except Unavailable:
        return ""


def read_head(root: Path) -> str:
    """The id of the checked-out commit; empty if there is none."""
    return run_or_empty(root, "rev-parse", "--verify", "--quiet", "HEAD")


def resolve_commit(root: Path, name: str) -> str:
    """The full id of the commit that a branch, tag or shortened id names."""
    commit_id = run_or_empty(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if not commit_id:
        raise InvalidInput(f"{name!r} is not a commit of this repository; give a branch, a tag or a commit id")
    return commit_id


def find_commit_before(root: Path, moment: str) -> str:
    """The id of the last commit of the checked-out history that was made before a time; empty if there is none."""
    return run_or_empty(root, "rev-list", "-1", "--first-parent", f"--before={moment}", "HEAD")


def list_files(root: Path) -> list[str] | None:
    """Tracked and untracked files that are not ignored, relative to the root; None outside of git."""
    try:
        output = run(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    except Unavailable:
        return None
    return _split_paths(output)


def list_tracked(root: Path, paths: Iterable[str]) -> set[str]:
    """Those of the paths that git tracks."""
    names = [f":(literal){path}" for path in paths]
    return set(run_or_empty(root, "ls-files", "-z", "--", *names).split("\0")) - {""}


def find_files_with_word(root: Path, word: str, timeout: float = TIMEOUT_SECONDS, commit: str = "") -> list[str] | None:
    """Files that contain this word and are not ignored, now or at a commit; None if the search takes longer."""
    is_repository = (root / ".git").exists()
    place = commit or ("--untracked" if is_repository else "--no-index")
    # Any other directory may be a whole disk.
    timeout = timeout if is_repository else min(timeout, OUTSIDE_SECONDS)
    options = ("-l", "-z", "-w", "-I", "--fixed-strings", "-e", word, place)
    try:
        output = run(root, "grep", *options, timeout=timeout, may_find_nothing=True)
    except Unavailable:
        return None
    return [path.removeprefix(f"{commit}:") if commit else path for path in _split_paths(output)]


def list_changes(root: Path, since: str, until: str = "HEAD") -> tuple[list[str], dict[str, str]]:
    """Paths that differ between two commits, old and new ones, and the renames among them."""
    # -l400 limits rename detection, whose time grows with the square of the number of files.
    output = run(root, "diff-tree", "-r", "-z", "-M50%", "-l400", "--name-status", "--no-ext-diff", since, until, "--")
    fields = iter(_split_paths(output))
    paths, moves = [], {}
    for status in fields:
        path = next(fields)
        paths.append(path)
        if status[0] in "RC":  # renames and copies are followed by a second path
            target = next(fields)
            paths.append(target)
            if status[0] == "R":
                moves[path] = target
    return paths, moves


def list_changed_paths(root: Path, since: str, until: str = "HEAD") -> list[str]:
    """Paths that differ between two commits, old and new ones."""
    return _split_paths(run(root, "diff-tree", "-r", "-z", "--no-renames", "--name-only", since, until, "--"))


def read_blobs(root: Path, names: Iterable[str]) -> dict[str, bytes]:
    """Read blobs by their names, `commit:path`; missing ones are left out."""
    # The protocol is one name per line, so a path with a newline cannot be asked for.
    queries = [name for name in names if "\n" not in name]
    output = run(root, "cat-file", "--batch", stdin="".join(f"{name}\n" for name in queries).encode())
    blobs, offset = {}, 0
    for name in queries:
        end = output.index(b"\n", offset)
        header = output[offset:end].split()
        offset = end + 1
        if len(header) == 3 and header[2].isdigit():
            size = int(header[2])
            if header[1] == b"blob":
                blobs[name] = output[offset : offset + size]
            offset += size + 1
    return blobs


def is_outside_sparse_checkout(root: Path, path: str) -> bool:
    """Whether a sparse checkout leaves this tracked file out of the working tree."""
    return run_or_empty(root, "ls-files", "-t", "-z", "--", f":(literal){path}").startswith("S ")


def read_commits(root: Path, *, after: str = "", since: str = "", limit: int = 0) -> Iterator[Commit]:
    """Yield the commits before HEAD, newest first and without merges: after a commit, or since a date."""
    revisions = [f"{after}..HEAD" if after else "HEAD", *([f"--since={since}"] if since else ())]
    revisions += [f"-n{limit}"] if limit else []
    options = ("--no-merges", "-z", "--name-only", "--no-renames", _COMMIT_FORMAT)
    output = run(root, "log", *revisions, *options, "--", timeout=HISTORY_SECONDS)
    for entry in output.split(b"\x01")[1:]:
        header, _, files = entry.partition(b"\0")
        fields = header.decode("utf-8", "replace").split("\x02", 3)
        # A message that contains our separators is skipped rather than misread.
        if len(fields) == 4:
            identifier, at, author, message = fields
            paths = tuple(path.lstrip("\n") for path in _split_paths(files))
            yield Commit(id=identifier, at=at, author=author, message=message.strip(), files=paths)


def read_patches(root: Path, commits: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the changes of commits to each file: commit, path, unified diff."""
    # External diff and text conversion programs come from the repository's configuration.
    options = ("--format=%x01%H", "--no-renames", "--no-ext-diff", "--no-textconv", "--stdin")
    output = run(root, "show", *options, stdin="\n".join(commits).encode(), timeout=HISTORY_SECONDS)
    for entry in output.decode("utf-8", "replace").split("\x01")[1:]:
        commit, *files = re.split(r"^diff --git .*\n", entry, flags=re.MULTILINE)
        for diff in files:
            if path := re.search(r"^\+\+\+ b/(.*)$", diff, re.MULTILINE):
                yield commit.strip(), path[1].rstrip("\t"), diff


def _split_paths(output: bytes) -> list[str]:
    return [os.fsdecode(field) for field in output.split(b"\0") if field.strip()]
