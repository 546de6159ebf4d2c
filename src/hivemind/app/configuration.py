"""Reading and changing settings; works without opening the store, because a setting may prevent that."""

import os
from pathlib import Path

from hivemind import agents, settings
from hivemind.errors import Refused
from hivemind.paths import data_directory
from hivemind.settings import Setting


def file() -> Path:
    """The one file that settings are read from."""
    return Path(data_directory(os.environ)) / settings.CONFIG_FILE


def list_all() -> tuple[Setting, ...]:
    """List all settings with their current values."""
    return settings.list_settings()


def get(name: str) -> Setting:
    """Return a setting with its current value."""
    full_name = settings.check_name(name)
    return next(setting for setting in list_all() if setting.name == full_name)


def change(name: str, text: str) -> Setting:
    """Change a setting of this user."""
    _must_be_a_person()
    settings.write_setting(file().parent, name, settings.parse_value(name, text))
    return get(name)


def unset(name: str) -> None:
    """Remove a line from the settings file, even of an unknown setting, so that the default applies."""
    _must_be_a_person()
    settings.write_setting(file().parent, name, None)


def _must_be_a_person() -> None:
    # Settings say what agents may do, so no agent may change them.
    if agents.detect_agent(os.environ):
        raise Refused("only a person may change settings; run this outside of the agent")
