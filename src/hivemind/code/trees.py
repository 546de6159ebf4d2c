"""Which repository a directory belongs to, also after the directory is gone."""

from dataclasses import replace
from pathlib import Path

from hivemind.code.repository import identify, is_directory, rank_id
from hivemind.context import Context
from hivemind.model.events import Event
from hivemind.model.scope import KnownTrees, Repository
from hivemind.store.projections import repositories, sessions

NO_TREE = Repository(id="", root="")
PATH = "path:"


def list_trees(context: Context) -> KnownTrees:
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
    tree = identify(path)
    # A directory that exists says itself what it is.
    if not tree.id.startswith(PATH) or is_directory(path):
        return tree
    return _recall_tree(context, path) or _find_tree_around(path) or tree


def list_moved_trees(context: Context) -> list[Event]:
    """Make events for places of sessions that are gone and whose repository is found by now."""
    places = [directory for directory, repo in sessions.list_directories(context.store.db) if repo.startswith(PATH)]
    trees = [replace(locate_tree(context, place), root=place) for place in places if not is_directory(Path(place))]
    return context.new_names(tree for tree in trees if not tree.id.startswith(PATH))


def find_existing_root(context: Context, repo: str) -> str:
    """Return a working tree of a repository that still exists; empty if none is known."""
    roots = [context.repository.root] if repo in context.checkout.names else []
    roots += repositories.find_roots(context.store.db, [repo])
    return next((root for root in roots if is_directory(Path(root))), "")


def _recall_tree(context: Context, path: Path) -> Repository | None:
    """Return the repository that earlier sessions recorded at a directory or around it."""
    repos = {directory: repo for directory, repo in list_trees(context).repos.items() if not repo.startswith(PATH)}
    # Whoever keeps their home directory in git does not own every directory below it.
    places = [path, *(parent for parent in path.parents if parent != Path.home())]
    return next((Repository(id=repos[str(place)], root=str(place)) for place in places if str(place) in repos), None)


def _find_tree_around(path: Path) -> Repository | None:
    """Return the repository around a directory that is gone: many worktrees are made inside of their repository."""
    parent = next(filter(is_directory, path.parents), None)
    tree = identify(parent) if parent else NO_TREE
    is_ours = tree.id and not tree.id.startswith(PATH) and Path(tree.root) != Path.home()
    return tree if is_ours else None
