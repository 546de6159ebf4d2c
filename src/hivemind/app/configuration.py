"""The verbs about settings; they work while the store cannot be opened, because that may be what they mend."""

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
    """Every setting as it stands."""
    return settings.list_settings()


def get(name: str) -> Setting:
    """A setting as it stands."""
    full_name = settings.check_name(name)
    return next(setting for setting in list_all() if setting.name == full_name)


def change(name: str, text: str) -> Setting:
    """Set it, for this user, from now on."""
    _must_be_a_person()
    settings.write_setting(file().parent, name, settings.parse_value(name, text))
    return get(name)


def unset(name: str) -> None:
    """Take it out of the file, whether or not there is such a setting, so that the default holds again."""
    _must_be_a_person()
    settings.write_setting(file().parent, name, None)


def _must_be_a_person() -> None:
    if agents.detect_agent(os.environ):
        raise Refused("only a person may change settings; run this outside of the agent")
