"""Checks of what is around a store: the installed files, who can read ours, the files of machines and hub, backups."""

import base64
import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from hivemind.embedding.weights import Weights
from hivemind.errors import StoreError, Unavailable
from hivemind.paths import HUB_FILE, has_sync
from hivemind.store import backup
from hivemind.store.integrity import Finding
from hivemind.sync.folder_files import load_state
from hivemind.sync.hub_client import load_credentials
from hivemind.text.clean import plural

PACKAGE = "hivemind-memory"
REINSTALL = f"pip install --force-reinstall {PACKAGE}"
OTHERS = stat.S_IRWXG | stat.S_IRWXO
"""What a mode says about everybody but the owner."""


def examine_home(home: Path, directory: Path, model: str, *, quick: bool) -> Iterator[Finding]:
    """Check the files around the store in a directory below a home; ``quick`` skips reading the backups."""
    yield _check_installation(model)
    yield _check_privacy(home)
    if has_sync(str(directory)):
        yield _check_connections(directory)
    files = [] if quick else [Path(copy.file) for copy in backup.list_backups(directory)]
    if files:
        yield _check_backups(files)


def find_damaged_files(distribution: metadata.Distribution) -> list[str]:
    """List the installed files that differ from what was installed."""
    recorded_files = [file for file in distribution.files or () if file.hash and file.hash.mode == "sha256"]
    return [str(file) for file in recorded_files if file.hash and _hash(Path(str(file.locate()))) != file.hash.value]


def find_open_files(home: Path) -> list[Path]:
    """List what other users of this machine can read or change in a home, without what lies below a private folder."""
    # On Windows, folders of a user are private, and modes say nothing.
    if sys.platform == "win32" or not home.stat().st_mode & OTHERS:
        return []
    open_files: list[Path] = []
    for folder, names, file_names in os.walk(home):
        paths = [Path(folder, name) for name in (*names, *file_names)]
        open_paths = {path for path in paths if not path.is_symlink() and path.lstat().st_mode & OTHERS}
        names[:] = [name for name in names if Path(folder, name) in open_paths]
        open_files += sorted(open_paths)
    return open_files


def make_private(home: Path) -> None:
    """Take away what others may do with our files; the home itself stays as it is."""
    for path in find_open_files(home) if home.is_dir() else ():
        path.chmod(path.lstat().st_mode & ~OTHERS)


def _hash(file: Path) -> str:
    try:
        with file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").digest()
    except OSError:
        return ""
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _check_installation(model: str) -> Finding:
    problems = [f"{name} is damaged" for name in find_damaged_files(metadata.distribution(PACKAGE))]
    if not model:
        try:
            # Without the mark that it was verified today.
            Weights.read()
        except Unavailable as error:
            problems.append(str(error))
    return Finding.of("package", problems, "the installed files are whole", REINSTALL)


def _check_privacy(home: Path) -> Finding:
    problems = [f"others can read {path.relative_to(home)}" for path in find_open_files(home)]
    remedy = f"hivemind repair, or chmod -R go= {home}"
    return Finding.of("privacy", problems, "only you can read these files", remedy)


def _check_connections(directory: Path) -> Finding:
    problems = []
    for load in (lambda: load_state(directory), lambda: load_credentials(directory / HUB_FILE)):
        try:
            load()
        except (StoreError, OSError) as error:
            problems.append(str(error))
    return Finding.of("connections", problems, "the files of machines and hub are readable", "remove the file")


def _check_backups(files: list[Path]) -> Finding:
    # What a repair set aside is damaged, as its name says.
    problems = [problem for file in files if "-damaged" not in file.name for problem in backup.find_problems(file)]
    detail = f"{plural(len(files), 'backup')}, all readable"
    return Finding.of("backups", problems, detail, "delete it and run 'hivemind backup'")
