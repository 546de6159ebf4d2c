"""Where the details of an error go that nobody foresaw, so that the person sees one calm line."""

import os
import sys
import traceback
from pathlib import Path

from hivemind import __version__
from hivemind.capture.redact import redact, secrets_in
from hivemind.model.home import data_directory
from hivemind.model.reports import Place

FILE = "last-error.txt"


def details(error: BaseException) -> str:
    """The whole story, without secrets."""
    told = f"hivemind {__version__}, Python {sys.version.split()[0]}, {sys.platform}\n"
    return redact(told + "".join(traceback.format_exception(error)), known=secrets_in(os.environ))


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


def let_go(home: Path) -> tuple[Place, ...]:
    """Remove the details after an erasure: an error may have quoted anything, and they are not worth a search."""
    if not (home / FILE).exists():
        return ()
    (home / FILE).unlink()
    return (Place(name=FILE, state="done", detail="removed, as an error may quote what it met"),)
