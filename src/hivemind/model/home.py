"""Where a user's data lies. Kept to strings, because the hook pays for every import."""

import sys
from collections.abc import Mapping
from os import path


def data_directory(environ: Mapping[str, str]) -> str:
    """The platform's place for a user's data, unless HIVEMIND_HOME names another."""
    if named := environ.get("HIVEMIND_HOME"):
        return path.abspath(path.expanduser(named))
    user = environ.get("HOME") or path.expanduser("~")
    if sys.platform == "darwin":
        return path.join(user, "Library", "Application Support", "hivemind")
    if sys.platform == "win32":
        return path.join(environ.get("LOCALAPPDATA") or path.join(user, "AppData", "Local"), "hivemind")
    return path.join(environ.get("XDG_DATA_HOME") or path.join(user, ".local", "share"), "hivemind")
