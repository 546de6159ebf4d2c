"""Which part of the tree a question names; it is asked at every recall, so no parser and no index is opened."""

from collections.abc import Sequence
from pathlib import Path

from hivemind.codebase import addresses, git, written
from hivemind.codebase.addresses import Place
from hivemind.model.code import FOLDER

MAX_PLACES = 3
"""Places that one name may fit equally well; one that fits more names nothing."""

MAX_FILES = 2_000


def named_files(root: Path, text: str) -> tuple[str, ...]:
    """The files of the modules, folders and files that a question names, and the folders around them."""
    names = [*written.called_places(text), *(name for name in written.addresses(text) if _may_be_here(root, name))]
    listed = git.listed(root) if names else None
    places = [place for name in dict.fromkeys(names) for place in _fitting(name, listed or (), root.name)]
    return tuple(dict.fromkeys(path for place in places for path in _inside(place, listed or ())))[:MAX_FILES]


def _may_be_here(root: Path, name: str) -> bool:
    """Whether a name begins with something in the tree, so that `CI/CD` and `Next.js` cost no question to git."""
    first = addresses.words(name)[:1]
    return bool(first) and any((folder / first[0]).is_dir() for folder in (root, root / "src"))


def _fitting(name: str, paths: Sequence[str], root: str) -> list[Place]:
    asked = addresses.words(addresses.plain(name.partition("::")[0]))
    last = addresses.fold(asked[-1]) if asked else ""
    near = [path for path in paths if last in addresses.fold(path)] if last else []
    best = addresses.best(addresses.fit_paths(asked, near, root))
    return best if len(best) <= MAX_PLACES else []


def _inside(place: Place, paths: Sequence[str]) -> list[str]:
    # What is known about a package holds for each of its files.
    around = [place.path, *sorted(addresses.folders([place.path]))]
    return [*around, *(path for path in paths if place.kind == FOLDER and path.startswith(f"{place.path}/"))]
