"""Read code as it was and as it is, to show what changed since a memory was written."""

from pathlib import Path

from hivemind.codebase import git, tree
from hivemind.codebase.symbols import outline
from hivemind.errors import InvalidInput, NotFound
from hivemind.model.code import Anchor


def read_file(root: Path, path: str, commit: str = "") -> str:
    """Read a file at a commit, by default the checked-out one; uncommitted content is never shown."""
    if commit and not git.COMMIT_ID.fullmatch(commit):
        raise InvalidInput(f"{commit!r} is not a commit; give its hexadecimal id")
    commit = commit or git.head(root)
    content = _read_at_commit(root, path, commit) if commit else None
    if content is None:
        raise NotFound(f"there is no file {path!r} at {commit[:8] or 'any commit'} here")
    return content.decode("utf-8", "replace")


def read_old_code(root: Path, anchor: Anchor) -> str:
    """The anchor's code at the commit of the anchor; empty if git does not have it."""
    source = _read_at_commit(root, anchor.path, anchor.commit) if git.COMMIT_ID.fullmatch(anchor.commit) else None
    if source is None:
        return ""
    matches = [symbol for symbol in outline(anchor.path, source).symbols if symbol.qualified == anchor.qualified]
    return _select_lines(source, matches[0].line, matches[0].end_line) if matches else ""


def read_current_code(root: Path, anchor: Anchor | None) -> str:
    """The anchor's code in the working tree; empty if it is gone."""
    content = tree.read(root, anchor.path) if anchor else None
    return _select_lines(content[1], anchor.line, anchor.end_line) if anchor and content else ""


def _read_at_commit(root: Path, path: str, commit: str) -> bytes | None:
    if path.startswith(("/", "./", "../")):  # git would resolve these from the current folder
        return None
    name = f"{commit}:{path}"
    return git.read_blobs(root, [name]).get(name)


def _select_lines(source: bytes, first: int, last: int) -> str:
    return "\n".join(source.decode("utf-8", "replace").splitlines()[first - 1 : last])
