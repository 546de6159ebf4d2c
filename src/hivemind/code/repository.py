"""Identify the repository that a directory belongs to, also after the directory is gone.

Clones and worktrees of one repository have the same id, two repositories with one name do not, and a
directory that moved keeps its id. So a repository is identified by its remote, else by its first commit,
else (without git or before the first commit) by its path. Where git fails, its files are read instead.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from hivemind.code import git, tree_notes
from hivemind.context import Context
from hivemind.errors import Unavailable
from hivemind.model.events import Event
from hivemind.model.scope import KnownTrees, Repository
from hivemind.store.projections import repositories, sessions

SCP_LIKE = re.compile(r"(?:[\w.+-]+@)?(?P<host>\[[^\]]+\]|[\w.-]+):(?P<path>(?!//).+)")
URL = re.compile(r"(?P<scheme>[\w+]+)://(?:[^@/]*@)?(?P<host>\[[^\]]+\]|[^/:]*)(?::(?P<port>\d*))?/(?P<path>.+)")
DEFAULT_PORTS = {"ssh": "22", "git+ssh": "22", "ssh+git": "22", "https": "443", "http": "80", "git": "9418"}
ID_KINDS = ("path", "commit", "remote")
"""What an id may be made of, the weakest first."""
PATH = "path:"
NO_TREE = Repository(id="", root="")
CASELESS_HOSTS = frozenset(
    {"github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "gitea.com", "dev.azure.com", "ssh.dev.azure.com"}
)
"""Hosts that ignore the case of owner and name; on any other host two spellings may be two repositories."""


def identify(directory: Path, cache: Path | None = None) -> Repository:
    """Identify the repository of a directory; notes in the folder `cache` save asking git what it said before."""
    try:
        directory = directory.resolve()
    except (OSError, ValueError, RuntimeError):
        # A name that no directory can have: too long, with a NUL, or a link to itself.
        return Repository(id=f"{PATH}{directory}", root=str(directory))
    if cache and (noted_repository := tree_notes.read_note(cache, directory)):
        return noted_repository
    try:
        repository = _ask_git(directory, cache)
    except Unavailable as error:
        return _identify_without_git(directory, cache, str(error))
    if cache:
        tree_notes.write_note(cache, directory, repository)
    return repository


def _ask_git(directory: Path, cache: Path | None) -> Repository:
    output = git.run(directory, "rev-parse", "--show-toplevel", "--is-shallow-repository", "--git-common-dir")
    root, is_shallow, git_directory = os.fsdecode(output).split("\n")[:3]
    tree = _make_tree_id(directory / git_directory)
    remote = _choose_remote(_list_remotes(directory))
    # The oldest commit of a shallow clone is only where the clone was cut, not the first commit.
    commit = "" if remote or is_shallow == "true" else _find_first_commit(directory, cache, tree)
    is_damaged = not (remote or commit) and is_shallow != "true" and bool(git.read_head(directory))
    problem = "git cannot read its history; 'git fsck' says why" if is_damaged else ""
    return _make_repository(Path(root), tree, remote, commit, problem)


def _identify_without_git(directory: Path, cache: Path | None, reason: str) -> Repository:
    """Identify a repository that git cannot read by its own files, or by what was noted before."""
    place = git.find_repository(directory)
    if place is None:
        return Repository(id=f"{PATH}{directory}", root=str(directory))
    root, git_directory = place
    tree = _make_tree_id(git_directory)
    _, commit = tree_notes.read_first_commit(cache, tree)
    return _make_repository(root, tree, _choose_remote(git.read_remotes(git_directory)), commit, reason)


def _make_repository(root: Path, tree: str, remote: str, commit: str, problem: str) -> Repository:
    """Make a repository with its strongest id; without a remote or first commit, it has the problem."""
    if remote:
        address = normalise_remote(remote)
        # A relative path is one from the root.
        place = os.path.normpath(root / address) if address.startswith(".") else address
        return Repository(id=f"remote:{place}", root=str(root), tree=tree)
    if commit:
        return Repository(id=f"commit:{commit}", root=str(root), tree=tree)
    return Repository(id=f"{PATH}{root}", root=str(root), tree=tree, problem=problem)


def is_directory(path: Path) -> bool:
    """Whether a directory exists; false for a name that no directory can have."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        # Too long, or with a NUL: agents report what they like.
        return False


def rank_id(name: str) -> int:
    """How strongly an id identifies a repository: a path least, a remote most."""
    return ID_KINDS.index(name.partition(":")[0])


def normalise_remote(remote: str) -> str:
    """One spelling for all ways to write a remote's address: ``github.com/acme/api``, ``git.acme.org:2222/api``."""
    url = URL.fullmatch(remote.strip()) or SCP_LIKE.fullmatch(remote.strip())
    if url is None or url.groupdict().get("scheme") == "file":
        return _normalise_local_path(remote)
    parts, path = url.groupdict(), url["path"].strip("/").removesuffix(".git").strip("/")
    host, scheme, port = url["host"].lower(), (parts.get("scheme") or "ssh").lower(), parts.get("port") or ""
    if not host:
        return f"/{path}"
    authority = f"{host}:{port}" if port and port != DEFAULT_PORTS.get(scheme) else host
    return f"{authority}/{path.lower() if authority in CASELESS_HOSTS else path}"


def list_known_trees(context: Context) -> KnownTrees:
    """List the directories whose repository is known: working trees that were seen, and places of sessions."""
    db, own = context.store.db, (context.repository.root, context.repository.id)
    pairs = [*sessions.list_directories(db), *repositories.list_trees(db), own]
    # The strongest id of a directory wins: before its first commit, a repository has only its path.
    in_order = sorted((pair for pair in pairs if all(pair)), key=lambda pair: rank_id(pair[1]))
    return KnownTrees(repos=dict(in_order))


def locate_tree(context: Context, directory: str) -> Repository:
    """Identify the repository of an agent's directory, which may be gone; empty if the agent did not report one."""
    if not directory:
        return NO_TREE
    path = Path(directory)
    tree = identify(path, context.home / "index" if context.home else None)
    # A directory that exists says itself what it is.
    if not tree.id.startswith(PATH) or is_directory(path):
        return tree
    return _recall_tree(context, path) or _find_tree_around(path) or tree


def make_moved_tree_events(context: Context) -> list[Event]:
    """Make events for places of sessions that are gone and whose repository is found by now."""
    places = [directory for directory, repo in sessions.list_directories(context.store.db) if repo.startswith(PATH)]
    trees = [replace(locate_tree(context, place), root=place) for place in places if not is_directory(Path(place))]
    return context.new_names(tree for tree in trees if not tree.id.startswith(PATH))


def find_existing_root(context: Context, repo: str) -> str:
    """Return a working tree of a repository that still exists; empty if none is known."""
    roots = [context.repository.root] if repo in context.checkout.names else []
    roots += repositories.find_roots(context.store.db, [repo])
    return next((root for root in roots if is_directory(Path(root))), "")


def _normalise_local_path(remote: str) -> str:
    path = re.sub(r"^file://(localhost(?=/))?", "", remote.strip())
    return str(Path(os.path.expanduser(path))).removesuffix("/").removesuffix(".git").rstrip("/")


def _list_remotes(directory: Path) -> dict[str, str]:
    """The configured addresses of the remotes, by their names."""
    urls: dict[str, str] = {}
    for line in git.run_or_empty(directory, "config", "--get-regexp", r"^remote\..*\.url$").splitlines():
        key, _, url = line.partition(" ")
        urls.setdefault(key.removeprefix("remote.").removesuffix(".url"), url)
    return urls


def _choose_remote(urls: Mapping[str, str]) -> str:
    """The address of ``origin``, else of ``upstream``, else of the first remote by name; empty if there is none."""
    # A fork has both; what was learned in the fork is kept apart from the original.
    name = next((name for name in ("origin", "upstream") if name in urls), min(urls, default=""))
    return urls.get(name, "")


def _make_tree_id(git_directory: Path) -> str:
    """An id of this working tree that differs from a later one at the same path; empty if git left no trace.

    git writes the file ``description`` when it creates or clones a repository; hardly anybody changes it afterwards.
    """
    try:
        file_status = (git_directory / "description").stat()
    except OSError:
        return ""
    return hashlib.sha256(f"{file_status.st_ino} {file_status.st_mtime_ns}".encode()).hexdigest()[:32]


def _find_first_commit(directory: Path, cache: Path | None, tree: str) -> str:
    """The root commit; of several, the smallest id, which is the same in every clone. Empty if there is none."""
    noted_head, noted_root = tree_notes.read_first_commit(cache, tree)
    head = git.read_head(directory) if cache and tree else ""
    # A history that adds no root to one with a single root begins where that one begins.
    is_same = head and noted_root and (head == noted_head or _list_roots(directory, head, f"^{noted_head}") == [])
    roots = [noted_root] if is_same else _list_roots(directory, "HEAD") or []
    # Every command would look through the history again.
    if cache and head and head != noted_head and len(roots) == 1:
        tree_notes.write_first_commit(cache, tree, head, roots[0])
    # Merging unrelated histories adds roots. Where git cannot read the history, it still begins where it began.
    return min(roots, default=noted_root)


def _list_roots(directory: Path, *revisions: str) -> list[str] | None:
    """The commits without parents; None if git does not know a revision."""
    try:
        return git.run(directory, "rev-list", "--max-parents=0", *revisions, "--").decode().split()
    except Unavailable:
        return None


def _recall_tree(context: Context, path: Path) -> Repository | None:
    """Return the repository that earlier sessions recorded at a directory or around it."""
    trees = list_known_trees(context).repos.items()
    repos = {directory: repo for directory, repo in trees if not repo.startswith(PATH)}
    # Whoever keeps their home directory in git does not own every directory below it.
    places = [path, *(parent for parent in path.parents if parent != Path.home())]
    return next((Repository(id=repos[str(place)], root=str(place)) for place in places if str(place) in repos), None)


def _find_tree_around(path: Path) -> Repository | None:
    """Return the repository around a directory that is gone: many worktrees are made inside of their repository."""
    parent = next(filter(is_directory, path.parents), None)
    tree = identify(parent) if parent else NO_TREE
    is_ours = tree.id and not tree.id.startswith(PATH) and Path(tree.root) != Path.home()
    return tree if is_ours else None
