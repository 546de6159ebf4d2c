"""Run git in a working tree, without running any program that the repository configures.

git reads no repository of another user ("dubious ownership", as in containers), and none with a damaged HEAD. There, or
where no git is installed, a repository and its remotes are found in git's own files.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from hivemind.errors import InvalidInput, Unavailable
from hivemind.model.dataclass import dataclass
from hivemind.system import stretch
from hivemind.text.untrusted import Unreadable, read_limited

TIMEOUT_SECONDS = 20.0
HISTORY_SECONDS = 600.0
"""Timeout for reading a long history, which only happens while a person waits for it."""

OUTSIDE_SECONDS = 1.0
"""Timeout for searching a directory that is no repository, or what git ignores."""

DEPENDENCY_FOLDERS = (".*", "node_modules", "venv", "env", "site-packages", "vendor", "target", "dist", "build")
"""Folders with other people's code, or with copies of one's own."""

MAX_BRANCHES, MAX_STASHES = 10, 3
"""The newest branches and stashes in which code is searched for that is not here."""

MAX_CONFIGURATION_BYTES = 1 << 20
"""Larger files of git are not read."""

# A repository's own configuration may name programs to run: a file system monitor, hooks.
_SAFE_OPTIONS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false")
# By default git maps whole packs, which makes 290 MB of the history of kubernetes instead of 120.
_MEMORY_OPTIONS = ("-c", "core.packedGitLimit=32m", "-c", "core.packedGitWindowSize=1m")
# No locks that would block the user's own git, no password prompts, no downloads in a partial clone.
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_PAGER": "cat", "LC_ALL": "C",
}  # fmt: skip
# Configuration and limits that the user sets by the environment stay in force.
INHERITED_PREFIXES = ("GIT_CONFIG_", "GIT_CEILING_", "GIT_DISCOVERY_")
# Only hexadecimal ids, so that no option or other revision syntax reaches git.
COMMIT_ID = re.compile(r"[0-9a-f]{7,64}")
# Control characters as separators: they hardly occur in names and messages.
_COMMIT_FORMAT = f"--format=%x01{'%x02'.join(('%H', '%cI', '%an', '%B'))}"

_SECTION = re.compile(r'\s*\[\s*remote\s+"(?P<name>(?:[^"\\]|\\.)*)"\s*\]', re.IGNORECASE)
_URL = re.compile(r'\s*url\s*=\s*"?(?P<url>[^"#;\n]*?)"?\s*(?:[#;].*)?', re.IGNORECASE)
_TRACES = ("HEAD", "config", "objects", "commondir")


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
        if not name.startswith("GIT_") or name.startswith(INHERITED_PREFIXES)
    }
    command = ["git", *_SAFE_OPTIONS, *_MEMORY_OPTIONS, "-C", str(root), *arguments]
    timeout = stretch(timeout)
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


def find_files_with_word(
    root: Path, word: str, timeout: float = TIMEOUT_SECONDS, commit: str = "", *, everywhere: bool = False
) -> list[str] | None:
    """Files that contain this word, now or at a commit; None if the search takes longer.

    Those that are ignored and those of submodules are searched only `everywhere`, and never those of dependencies.
    """
    is_repository = (root / ".git").exists() and not everywhere
    place = commit or ("--untracked" if is_repository else "--no-index")
    # Any other directory may be a whole disk.
    timeout = timeout if is_repository else min(timeout, OUTSIDE_SECONDS)
    options = ("-l", "-z", "-w", "-I", "--fixed-strings", "-e", word, place)
    left_out = () if is_repository else ("--", *(f":(exclude,glob)**/{folder}/**" for folder in DEPENDENCY_FOLDERS))
    try:
        output = run(root, "grep", *options, *left_out, timeout=timeout, may_find_nothing=True)
    except Unavailable:
        return None
    return [path.removeprefix(f"{commit}:") if commit else path for path in _split_paths(output)]


def count_lines(root: Path, word: str, timeout: float) -> dict[str, int]:
    """The number of lines with this text in each file that is not ignored; none if the search takes longer."""
    place = "--untracked" if (root / ".git").exists() else "--no-index"
    options = ("-c", "-z", "-i", "-I", "--fixed-strings", "-e", word, place)
    try:
        output = run(root, "grep", *options, timeout=timeout, may_find_nothing=True)
    except Unavailable:
        return {}
    rows = (row.partition(b"\0") for row in output.splitlines())
    return {os.fsdecode(path): int(count) for path, _, count in rows if count.isdigit()}


def is_ancestor(root: Path, commit: str, other: str) -> bool:
    """Whether a commit is part of the history of another one."""
    if not COMMIT_ID.fullmatch(commit) or not other:
        return False
    try:
        run(root, "merge-base", "--is-ancestor", commit, other)
    except Unavailable:
        return False
    return True


def find_branch_with(root: Path, path: str, word: str) -> str:
    """The newest branch whose version of a file has this word, or "the stash"; empty if there is none."""
    options = ("--sort=-committerdate", f"--count={MAX_BRANCHES}", "--format=%(refname)", "refs/heads", "refs/remotes")
    branches = run_or_empty(root, "for-each-ref", *options).split()
    stashes = run_or_empty(root, "rev-list", "-g", f"-n{MAX_STASHES}", "refs/stash", "--").split()
    # Untracked files of a stash are in its third parent.
    places = [*branches, *(f"{stash}{part}" for stash in stashes for part in ("", "^3"))]
    sources = read_blobs(root, [f"{place}:{path}" for place in places])
    name = next(
        (name for name, source in sources.items() if re.search(rb"(?<!\w)%b(?!\w)" % re.escape(word).encode(), source)),
        "",
    )
    place = name.removesuffix(f":{path}")
    return re.sub(r"^refs/(?:heads|remotes)/", "", place) if name.startswith("refs/") else "the stash" if name else ""


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
    """Yield the commits before HEAD, newest first and without merges: after a commit, or since a date.

    A new branch, or a directory that git forgot, has none.
    """
    revisions = [f"{after}..HEAD" if after else "HEAD", *([f"--since={since}"] if since else ())]
    revisions += [f"-n{limit}"] if limit else []
    options = ("--no-merges", "-z", "--name-only", "--no-renames", _COMMIT_FORMAT)
    try:
        output = run(root, "log", *revisions, *options, "--", timeout=HISTORY_SECONDS)
    except Unavailable:
        if read_head(root):
            raise
        return
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
    # The few paths that are not UTF-8 become those of no file: they can neither be stored nor shown.
    return [os.fsdecode(field).encode("utf-8", "replace").decode() for field in output.split(b"\0") if field.strip()]


def find_repository(directory: Path) -> tuple[Path, Path] | None:
    """Return the working tree around a directory and the directory of its repository; None outside of git."""
    ceilings = os.environ.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep)
    try:
        device = directory.stat().st_dev
        for place in (directory, *directory.parents):
            # git stops there, too.
            if place.stat().st_dev != device or (place != directory and str(place) in ceilings):
                return None
            if git_directory := _find_git_directory(place / ".git"):
                return place, git_directory
    except (OSError, ValueError):
        return None
    return None


def read_remotes(git_directory: Path) -> dict[str, str]:
    """Return the addresses of the remotes in a repository's configuration, by their names."""
    urls: dict[str, str] = {}
    name = ""
    for line in _read_file(git_directory / "config").splitlines():
        if line.lstrip().startswith("["):
            section = _SECTION.match(line)
            name = section["name"] if section else ""
        elif name and (url := _URL.fullmatch(line)):
            urls.setdefault(name, url["url"])
    return urls


def list_identifying_files(root: Path, git_directory: Path) -> list[Path] | None:
    """List the files that say which repository a working tree belongs to and what is checked out.

    None if other files may say it too. ``git_directory`` is the one that all worktrees share.
    """
    own = _resolve_link(root / ".git")
    head = _read_file(own / "HEAD").strip() if own else ""
    # Other files are included by the configuration, or references are kept in another format.
    if (
        own is None
        or "[include" in _read_file(git_directory / "config").lower()
        or (git_directory / "reftable").exists()
    ):
        return None
    name = head.removeprefix("ref: ")
    shared_files = ("config", "config.worktree", "shallow", "description", "packed-refs", *([name] * (name != head)))
    return [root / ".git", own / "commondir", own / "HEAD", *(git_directory / file for file in shared_files)]


def _find_git_directory(link: Path) -> Path | None:
    """Return the directory that all worktrees of a repository share."""
    git_directory = _resolve_link(link)
    if git_directory is None:
        return None
    shared = _read_file(git_directory / "commondir").strip()
    git_directory = git_directory / shared if shared else git_directory
    return git_directory if any((git_directory / name).exists() for name in _TRACES) else None


def _resolve_link(link: Path) -> Path | None:
    """Return the directory of a working tree's own files; a worktree and a submodule have a file that names it."""
    if not link.is_file():
        return link
    target = _read_file(link).partition("gitdir:")[2].strip()
    return link.parent / target if target else None


def _read_file(file: Path) -> str:
    try:
        return os.fsdecode(read_limited(file, MAX_CONFIGURATION_BYTES))
    except (OSError, Unreadable):
        return ""
