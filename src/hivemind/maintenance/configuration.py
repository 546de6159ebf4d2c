"""Reading and changing settings; works without opening the store, because a setting may prevent that."""

import os
from contextlib import suppress
from pathlib import Path

from hivemind import settings
from hivemind.agents import callers
from hivemind.errors import Refused, StoreError
from hivemind.paths import data_directory
from hivemind.settings import Setting
from hivemind.store.integrity import DAMAGE_ERRORS
from hivemind.store.store import FILE, Store
from hivemind.text import cues


def file() -> Path:
    """The one file that settings are read from."""
    return Path(data_directory(os.environ)) / settings.CONFIG_FILE


def get(name: str) -> Setting:
    """Return a setting with its current value."""
    full_name = settings.check_name(name)
    return next(setting for setting in settings.list_settings() if setting.name == full_name)


def change(name: str, text: str) -> Setting:
    """Change a setting of this user."""
    _must_be_a_person()
    value = settings.parse_value(name, text)
    _refuse_excluded(name, text)
    settings.write_setting(file().parent, name, value)
    # They depend on the settings, and are written again.
    cues.discard_files(str(file().parent))
    return get(name)


def unset(name: str) -> None:
    """Remove a line from the settings file, even of an unknown setting, so that the default applies."""
    _must_be_a_person()
    settings.write_setting(file().parent, name, None)
    cues.discard_files(str(file().parent))


def _refuse_excluded(name: str, text: str) -> None:
    """Refuse a value that was erased: it would stand in the file, and the person's name in every entry."""
    folder = file().parent
    if not (folder / FILE).exists():
        return
    # A damaged store must not keep anybody from changing a setting.
    with suppress(StoreError, *DAMAGE_ERRORS), Store.open(folder) as store:
        if refusal := store.load_gate().find_refusal([("text", text)], "", by_person=True):
            raise Refused(f"the setting {name} was refused: {refusal.rule}")


def _must_be_a_person() -> None:
    # Settings say what agents may do, so no agent may change them.
    if callers.detect_agent(os.environ):
        raise Refused("only a person may change settings; run this outside of the agent")
