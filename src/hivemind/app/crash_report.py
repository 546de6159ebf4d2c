"""Where the details of an error go that nobody foresaw, so that the person sees one calm line."""

import os
import sys
import traceback
from pathlib import Path

from hivemind import __version__
from hivemind.capture.redact import collect_secrets, redact
from hivemind.paths import data_directory

FILE = "last-error.txt"


def details(error: BaseException) -> str:
    """The whole story, without secrets."""
    told = f"hivemind {__version__}, Python {sys.version.split()[0]}, {sys.platform}\n"
    return redact(told + "".join(traceback.format_exception(error)), known_secrets=collect_secrets(os.environ))


def kept(error: BaseException) -> Path | None:
    """Keep the details beside the store, in place of those before; the file, or nothing where none can be written."""
    file = Path(data_directory(os.environ)) / FILE
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.unlink(missing_ok=True)
        file.touch(mode=0o600)
        file.write_text(details(error))
    except OSError:
        return None
    return file
