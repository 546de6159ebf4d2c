"""What git knows about a working tree, asked without running anything the repository brings along."""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hivemind.errors import InvalidInput, Unavailable

TIMEOUT_SECONDS = 20.0
HISTORY_SECONDS = 600.0
"""A long history is asked for when a person waits for it."""

_SAFE_OPTIONS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false")
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_PAGER": "cat", "LC_ALL": "C",
}  # fmt: skip
_INHERITED_PREFIXES = ("GIT_CONFIG_", "GIT_CEILING_", "GIT_DISCOVERY_")
_COMMIT_FORMAT = f"--format=%x01{'%x02'.join(('%H', '%cI', '%an', '%B'))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A change somebody made and explained."""

    id: str
    at: str
    author: str
    message: str
    files: tuple[str, ...]


def run(root: Path, *arguments: str, stdin: bytes = b"", timeout: float = TIMEOUT_SECONDS) -> bytes:
    """The output of one git command in this tree."""
    # A hook that calls us leaves GIT_DIR and the like behind, which would lead to another repository.
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(_INHERITED_PREFIXES)
    }
    command = ["git", *_SAFE_OPTIONS, "-C", str(root), *arguments]
    try:
        process = subprocess.run(
            command, input=stdin, capture_output=True, timeout=timeout, env=environment | _ENVIRONMENT, check=False
        )
    except (OSError, ValueError) as error:
        raise Unavailable(f"git cannot be run: {error}") from None
    except subprocess.TimeoutExpired:
        raise Unavailable(f"git {arguments[0]} took longer than {timeout:.0f} seconds") from None
    if process.returncode:
        raise Unavailable(f"git {arguments[0]}: {process.stderr.decode('utf-8', 'replace').strip()}")
    return process.stdout


def run_or_empty(root: Path, *arguments: str) -> str:
    """What one git command says, or nothing where it cannot."""
    try:
        return os.fsdecode(run(root, *arguments)).strip("\n")
    except Unavailable:
        return ""


def head(root: Path) -> str:
    """The commit checked out; empty where there is none."""
    return run_or_empty(root, "rev-parse", "--verify", "--quiet", "HEAD")


def commit(root: Path, name: str) -> str:
    """The commit that a branch, tag or shortened id means."""
    commit_id = run_or_empty(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if not commit_id:
        raise InvalidInput(f"{name!r} is no commit here; name a branch, a tag or a commit")
    return commit_id


def list_files(root: Path) -> list[str] | None:
    """Files that are tracked or would be, relative to the root; none outside of git."""
    try:
        output = run(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    except Unavailable:
        return None
    return _split_paths(output)


def find_files_with_word(root: Path, word: str) -> list[str]:
    """Files that are tracked or would be and hold this word; none outside of git."""
    try:
        output = run(root, "grep", "-l", "-z", "-w", "-I", "--untracked", "--fixed-strings", "-e", word)
    except Unavailable:  # git reports it as an error when no file holds the word
        return []
    return _split_paths(output)


def changed(root: Path, since: str, until: str = "HEAD") -> tuple[list[str], dict[str, str]]:
    """Paths that differ between two commits, old and new ones, and which of them are moves."""
    output = run(root, "diff-tree", "-r", "-z", "-M50%", "-l400", "--name-status", "--no-ext-diff", since, until, "--")
    fields = iter(_split_paths(output))
    paths, moves = [], {}
    for status in fields:
        path = next(fields)
        paths.append(path)
        if status[0] in "RC":
            target = next(fields)
            paths.append(target)
            if status[0] == "R":
                moves[path] = target
    return paths, moves


def contents(root: Path, names: Iterable[str]) -> dict[str, bytes]:
    """The content of blobs by name, `commit:path`; those that do not exist are left out."""
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


def commits(root: Path, *, after: str = "", since: str = "", limit: int = 0) -> Iterator[Commit]:
    """What led to what is checked out, newest first and without merges: after a commit, or since a moment."""
    revisions = [f"{after}..HEAD" if after else "HEAD", *([f"--since={since}"] if since else ())]
    revisions += [f"-n{limit}"] if limit else []
    options = ("--no-merges", "-z", "--name-only", "--no-renames", _COMMIT_FORMAT)
    output = run(root, "log", *revisions, *options, "--", timeout=HISTORY_SECONDS)
    for entry in output.split(b"\x01")[1:]:
        header, _, files = entry.partition(b"\0")
        fields = header.decode("utf-8", "replace").split("\x02", 3)
        # A message that plays with our separators tells of nothing.
        if len(fields) == 4:
            identifier, at, author, message = fields
            paths = tuple(path.lstrip("\n") for path in _split_paths(files))
            yield Commit(id=identifier, at=at, author=author, message=message.strip(), files=paths)


def patches(root: Path, commits: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """What commits did to each file, as unified diffs: commit, path, diff."""
    options = ("--format=%x01%H", "--no-renames", "--no-ext-diff", "--no-textconv", "--stdin")
    output = run(root, "show", *options, stdin="\n".join(commits).encode(), timeout=HISTORY_SECONDS)
    for entry in output.decode("utf-8", "replace").split("\x01")[1:]:
        commit, *files = re.split(r"^diff --git .*\n", entry, flags=re.MULTILINE)
        for diff in files:
            if path := re.search(r"^\+\+\+ b/(.*)$", diff, re.MULTILINE):
                yield commit.strip(), path[1].rstrip("\t"), diff


def _split_paths(output: bytes) -> list[str]:
    return [os.fsdecode(field) for field in output.split(b"\0") if field.strip()]
