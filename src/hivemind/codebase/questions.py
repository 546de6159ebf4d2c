"""Which part of the tree a question names; it is asked at every recall, so no parser and no index is opened."""

from collections.abc import Sequence
from pathlib import Path

from hivemind.codebase import addresses, git, written
from hivemind.codebase.addresses import CodePlace
from hivemind.model.code import FOLDER

MAX_PLACES_PER_NAME = 3
"""Places that one name may fit equally well; one that fits more names nothing."""

MAX_FILES = 2_000


def named_files(root: Path, text: str) -> tuple[str, ...]:
    """The files of the modules, folders and files that a question names, and the folders around them."""
    names = [
        *written.find_place_names(text),
        *(name for name in written.find_addresses(text) if _may_be_here(root, name)),
    ]
    paths = git.list_files(root) if names else None
    places = [place for name in dict.fromkeys(names) for place in _find_places(name, paths or (), root.name)]
    return tuple(dict.fromkeys(path for place in places for path in _expand_place(place, paths or ())))[:MAX_FILES]


def _may_be_here(root: Path, name: str) -> bool:
    """Whether a name begins with something in the tree, so that `CI/CD` and `Next.js` cost no question to git."""
    first_words = addresses.split_name(name)[:1]
    return bool(first_words) and any((folder / first_words[0]).is_dir() for folder in (root, root / "src"))


def _find_places(name: str, paths: Sequence[str], root: str) -> list[CodePlace]:
    words = addresses.split_name(addresses.simplify_name(name.partition("::")[0]))
    last_word = addresses.normalise_word(words[-1]) if words else ""
    candidates = [path for path in paths if last_word in addresses.normalise_word(path)] if last_word else []
    best = addresses.select_best(addresses.fit_paths(words, candidates, root))
    return best if len(best) <= MAX_PLACES_PER_NAME else []


def _expand_place(place: CodePlace, paths: Sequence[str]) -> list[str]:
    # What is known about a package holds for each of its files.
    around = [place.path, *sorted(addresses.folders([place.path]))]
    return [*around, *(path for path in paths if place.kind == FOLDER and path.startswith(f"{place.path}/"))]
