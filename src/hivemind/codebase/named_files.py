"""Find the files that a question names. It runs at every recall, so it opens neither parser nor index."""

from collections.abc import Sequence
from pathlib import Path

from hivemind.codebase import addresses, git, mentions
from hivemind.codebase.addresses import CodePlace
from hivemind.model.code import FOLDER

MAX_PLACES_PER_NAME = 3
"""A name that fits more places equally well is ignored."""

MAX_FILES = 2_000


def find_named_files(root: Path, text: str) -> tuple[str, ...]:
    """The files that a question names, those inside named modules and folders, and the folders around them."""
    names = [
        *mentions.find_place_names(text),
        *(name for name in mentions.find_addresses(text) if _may_be_here(root, name)),
    ]
    paths = git.list_files(root) if names else None
    places = [place for name in dict.fromkeys(names) for place in _find_places(name, paths or (), root.name)]
    return tuple(dict.fromkeys(path for place in places for path in _expand_place(place, paths or ())))[:MAX_FILES]


def _may_be_here(root: Path, name: str) -> bool:
    """Whether a name begins with a folder of the tree; `CI/CD` and `Next.js` then cost no call of git."""
    first_words = addresses.split_name(name)[:1]
    return bool(first_words) and any((folder / first_words[0]).is_dir() for folder in (root, root / "src"))


def _find_places(name: str, paths: Sequence[str], root: str) -> list[CodePlace]:
    words = addresses.split_name(addresses.simplify_name(name.partition("::")[0]))
    last_word = addresses.normalise_word(words[-1]) if words else ""
    candidates = [path for path in paths if last_word in addresses.normalise_word(path)] if last_word else []
    best = addresses.select_best(addresses.fit_paths(words, candidates, root))
    return best if len(best) <= MAX_PLACES_PER_NAME else []


def _expand_place(place: CodePlace, paths: Sequence[str]) -> list[str]:
    # A memory about a package also applies to each of its files, so the folders above are included.
    around = [place.path, *sorted(addresses.parent_folders([place.path]))]
    return [*around, *(path for path in paths if place.kind == FOLDER and path.startswith(f"{place.path}/"))]
