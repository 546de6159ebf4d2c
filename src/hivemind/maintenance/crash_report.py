"""Saves the details of unexpected errors, so that the terminal shows only one line."""

import os
import sys
import traceback
from pathlib import Path

from hivemind.paths import data_directory
from hivemind.sessions.redact import collect_secrets, redact
from hivemind.system import replace_file

FILE = "last-error.txt"


def format_details(error: BaseException, version: str) -> str:
    """Format an error with its traceback, without secrets."""
    heading = f"hivemind {version}, Python {sys.version.split()[0]}, {sys.platform}\n"
    # A traceback can show a token from the environment or from an address.
    return redact(heading + "".join(traceback.format_exception(error)), known_secrets=collect_secrets(os.environ))


def save(error: BaseException, version: str) -> Path | None:
    """Save the details in place of earlier ones; return the file, or None if it cannot be written."""
    file = Path(data_directory(os.environ)) / FILE
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(file, format_details(error, version).encode("utf-8", "replace"))
    except OSError:
        return None
    return file
