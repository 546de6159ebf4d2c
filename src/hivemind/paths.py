"""The directory of a user's data.

Uses strings instead of pathlib, because the hook runs on every agent step and pays for each import.
"""

import sys
from collections.abc import Mapping
from os import path

HUB_FILE, DEVICES_FILE = "hub.json", "devices.json"
"""Beside the store: how to reach the team's hub, and the folder that the person's own machines share."""
ERASURE_PLANS = "erasing-*.json"
"""Beside the store: the plans of erasures that are not finished."""


def has_sync(directory: str) -> bool:
    """Whether the store in a directory exchanges anything with a hub or with other machines."""
    return any(path.exists(path.join(directory, name)) for name in (HUB_FILE, DEVICES_FILE))


def data_directory(environ: Mapping[str, str]) -> str:
    """HIVEMIND_HOME if it is set, else the platform's directory for user data."""
    if override := environ.get("HIVEMIND_HOME"):
        return path.abspath(path.expanduser(override))
    user = environ.get("HOME") or path.expanduser("~")
    if sys.platform == "darwin":
        return path.join(user, "Library", "Application Support", "hivemind")
    if sys.platform == "win32":
        return path.join(environ.get("LOCALAPPDATA") or path.join(user, "AppData", "Local"), "hivemind")
    return path.join(environ.get("XDG_DATA_HOME") or path.join(user, ".local", "share"), "hivemind")


def spool_lock(directory: str) -> str:
    """The file that stands for the lock of the spool in a directory; those who change the spool hold it."""
    return path.join(directory, "hooks.lock")
