"""Build the repository that the tasks work on: a small shop with a git history."""

import os
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

IDENTITY = {
    **{f"GIT_{role}_NAME": "Ada" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "ada@example.org" for role in ("AUTHOR", "COMMITTER")},
    # The user's own configuration could sign commits or run git hooks.
    **dict.fromkeys(("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"), os.devnull),
}

SHOP: dict[str, dict[str, str]] = tomllib.loads((Path(__file__).parent / "shop.toml").read_text("utf-8"))
"""Files by path, for each of the three commits: start, fixed and moved."""


def build(root: Path, other: Path) -> None:
    """Build the shop as of the time of the notes, and another project of the same person."""
    for directory in (root, other):
        directory.mkdir(parents=True)
        git(directory, "init", "--quiet", "--initial-branch=main")
    commit(other, {"README.md": "# Garden\n"}, "Plant the garden", "2025-06-01T09:00:00Z")
    commit(root, SHOP["start"], "Start the shop", "2026-01-05T09:00:00Z")
    # The scripted agent searches the history for this message, and copies the change if it has no note.
    message = "Fix KeyError in invoices: rows of the exporter may lack columns"
    commit(root, SHOP["fixed"], message, "2026-02-02T09:00:00Z")


def change_code(root: Path) -> None:
    """Commit the change that makes one of the notes stale."""
    commit(root, SHOP["moved"], "Keep today's rates in a table of their own", "2026-03-02T09:00:00Z")


def commit(root: Path, files: Mapping[str, str], message: str, timestamp: str) -> None:
    """Write files and commit them with a fixed timestamp, so that commit ids are the same in every run."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", message, timestamp=timestamp)


def git(root: Path, *arguments: str, timestamp: str = "") -> str:
    """Run git without this machine's configuration, and return its output."""
    dates = {"GIT_AUTHOR_DATE": timestamp, "GIT_COMMITTER_DATE": timestamp} if timestamp else {}
    environ = os.environ | IDENTITY | dates
    process = subprocess.run(
        ["git", *arguments], cwd=root, env=environ, check=True, capture_output=True, encoding="utf-8"
    )
    return process.stdout
