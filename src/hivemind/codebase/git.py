"""What git knows about a working tree, asked without running anything the repository brings along."""

import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from hivemind.errors import InvalidInput, Unavailable

TIMEOUT_SECONDS = 20.0

_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false")
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}


def run(root: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """The output of one git command in this tree."""
    # A hook that calls us leaves GIT_DIR and the like behind, which would lead to another repository.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", *_SAFE, "-C", str(root), *arguments]
    try:
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            env=inherited | _ENVIRONMENT,
            check=False,
        )
    except FileNotFoundError:
        raise Unavailable("git is not installed") from None
    except subprocess.TimeoutExpired:
        raise Unavailable(f"git {arguments[0]} took longer than {TIMEOUT_SECONDS:.0f} seconds") from None
    if done.returncode:
        raise Unavailable(f"git {arguments[0]}: {done.stderr.decode('utf-8', 'replace').strip()}")
    return done.stdout


def head(root: Path) -> str:
    """The commit checked out; empty where there is none."""
    try:
        return run(root, "rev-parse", "--verify", "--quiet", "HEAD").decode().strip()
    except Unavailable:
        return ""


def commit(root: Path, name: str) -> str:
    """The commit that a branch, tag or shortened id means."""
    try:
        found = run(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except Unavailable:
        raise InvalidInput(f"{name!r} is no commit here; name a branch, a tag or a commit") from None
    return found.decode().strip()


def listed(root: Path) -> list[str] | None:
    """Files that are tracked or would be, relative to the root; none outside of git."""
    try:
        output = run(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    except Unavailable:
        return None
    return _paths(output)


def changed(root: Path, since: str, until: str = "HEAD") -> tuple[list[str], dict[str, str]]:
    """Paths that differ between two commits, old and new ones, and which of them are moves."""
    output = run(root, "diff-tree", "-r", "-z", "-M50%", "-l400", "--name-status", "--no-ext-diff", since, until, "--")
    fields = iter(_paths(output))
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
    wanted = [name for name in names if "\n" not in name]
    output = run(root, "cat-file", "--batch", stdin="".join(f"{name}\n" for name in wanted).encode())
    found, at = {}, 0
    for name in wanted:
        end = output.index(b"\n", at)
        header = output[at:end].split()
        at = end + 1
        if len(header) == 3 and header[2].isdigit():
            size = int(header[2])
            if header[1] == b"blob":
                found[name] = output[at : at + size]
            at += size + 1
    return found


def is_left_out(root: Path, path: str) -> bool:
    """Whether a sparse checkout leaves this tracked file out of the working tree."""
    try:
        return run(root, "ls-files", "-t", "-z", "--", f":(literal){path}").startswith(b"S ")
    except Unavailable:
        return False


def history(root: Path, limit: int, since: str = "") -> Iterator[tuple[str, list[str]]]:
    """Commits with the paths each touched, newest first, without merges."""
    span = f"{since}..HEAD" if since else "HEAD"
    output = run(
        root,
        "log",
        span,
        "--no-merges",
        "-z",
        "--name-only",
        "--no-renames",
        f"-n{limit}",
        "--format=%x01%H",
        "--",
    )
    for entry in output.split(b"\x01")[1:]:
        commit, _, rest = entry.partition(b"\0")
        yield commit.decode().strip(), [path.lstrip("\n") for path in _paths(rest)]


def _paths(output: bytes) -> list[str]:
    return [os.fsdecode(field) for field in output.split(b"\0") if field.strip()]
