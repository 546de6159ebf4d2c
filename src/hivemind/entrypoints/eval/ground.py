"""The repository that the tasks are set in: a small shop, built with real history."""

import os
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

IDENTITY = {
    **{f"GIT_{who}_NAME": "Ada" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "ada@example.org" for who in ("AUTHOR", "COMMITTER")},
    **dict.fromkeys(("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"), os.devnull),
}

SHOP: dict[str, dict[str, str]] = tomllib.loads((Path(__file__).parent / "shop.toml").read_text())
"""Its files by path: as it started, what mended a bug, and what moved since."""


def build(root: Path, other: Path) -> None:
    """The shop as it was when the notes were taken, and another project of the same person."""
    for place in (root, other):
        place.mkdir(parents=True)
        git(place, "init", "--quiet", "--initial-branch=main")
    commit(other, {"README.md": "# Garden\n"}, "Plant the garden", "2025-06-01T09:00:00Z")
    commit(root, SHOP["start"], "Start the shop", "2026-01-05T09:00:00Z")
    told = "Fix KeyError in invoices: rows of the exporter may lack columns"
    commit(root, SHOP["fixed"], told, "2026-02-02T09:00:00Z")


def move_on(root: Path) -> None:
    """What happened to the code since."""
    commit(root, SHOP["moved"], "Keep today's rates in a table of their own", "2026-03-02T09:00:00Z")


def commit(root: Path, files: Mapping[str, str], message: str, at: str) -> None:
    """Write files and commit them at a moment, so that every build is the same."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", message, at=at)


def git(root: Path, *arguments: str, at: str = "") -> str:
    """Real git, with nothing of this machine's configuration."""
    moment = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at} if at else {}
    environ = os.environ | IDENTITY | moment
    done = subprocess.run(["git", *arguments], cwd=root, env=environ, check=True, capture_output=True, text=True)
    return done.stdout
