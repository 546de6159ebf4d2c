"""All settings with their meanings and defaults; read from one file of the user and from the environment.

Nothing is read from a repository, because other people write there.
"""

import getpass
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from hivemind.errors import InvalidInput, did_you_mean
from hivemind.model.dataclass import dataclass
from hivemind.paths import data_directory
from hivemind.system import replace_file

CONFIG_FILE = "config.toml"
FILE_ONLY = frozenset({"agents_may_review", "agents_may_look_everywhere", "believed"})
"""Settings that give agents rights. An agent sets the environment of its commands, so they come from the file only."""
BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
LONGEST_NUMBER = 9
"""Digits; more than any setting needs, and fewer than a database can store."""
STORE_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*){0,3}")


# In the metadata of the field, so that `config` and the reference show the same sentence.
def _define(default: Any, meaning: str, choices: Iterable[str] = ()) -> Any:
    return field(default=default, metadata={"meaning": meaning, "choices": tuple(choices)})


class Unasked(StrEnum):
    """What an agent is told without asking."""

    ALL = "all"
    REVIEWED = "reviewed"
    NOTHING = "nothing"


class Hear(StrEnum):
    """How what a person says becomes a memory."""

    NOTE = "note"
    PROPOSE = "propose"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one user."""

    home: Path = field(metadata={"meaning": "Folder of the store, the settings and everything else Hivemind keeps."})
    person: str = field(metadata={"meaning": "Name of the person who owns the memories, as the team sees it."})
    recall_limit: int = _define(5, "Maximum number of memories that a recall returns.")
    recall_tokens: int = _define(1200, "Maximum number of tokens that a recall returns.")

    model: str = _define("", "Embedding model: empty for the built-in one, else a URL, or none.")
    brief_tokens: int = _define(
        1200, "Maximum number of tokens in the brief at the start of a session and after compaction; 0 for no brief."
    )
    prompt_tokens: int = _define(400, "Maximum number of tokens added to a prompt; 0 adds nothing.")
    unasked: str = _define(
        "all",
        "What Hivemind tells agents that did not ask: `all` for memories and what earlier sessions and commits say, "
        "`reviewed` for memories alone, or `nothing`.",
        choices=Unasked,
    )

    action_tokens: int = _define(
        300, "Maximum number of tokens added at an action of an agent; 0 adds nothing at any action."
    )
    actions: str = _define(
        "edits commands failures subagents compactions",
        "Actions at which Hivemind tells agents what concerns them; leave one out to switch it off.",
    )

    believed: str = _define(
        "",
        "Detectors whose proposals become active without review, each with its minimum confidence: `commands:0.9`.",
    )
    agents_may_review: bool = _define(False, "Whether agents may approve, reject, erase and roll back.")
    agents_may_look_everywhere: bool = _define(
        False, "Whether agents may also read memories of other repositories, when they ask for `everywhere`."
    )

    hear: str = _define(
        "note",
        "What happens when you say something that may be meant to last: `note` asks the agent to judge and keep it, "
        "`propose` leaves it to the detectors, `off` ignores it.",
        choices=Hear,
    )
    announce: bool = _define(
        True,
        "Whether you see a line when an agent remembers something, and one when a prompt brought it memories, if the "
        "client can show it.",
    )
    detectors: str = _define(
        "fixes commands corrections decisions",
        "Detectors that learn from sessions; leave one out to switch it off.",
    )
    statement_certainty: int = _define(
        65,
        "Minimum certainty in percent at which Hivemind proposes what a person said; a lower one brings more "
        "proposals, and more that are not worth keeping.",
    )
    learn_with_daily: int = _define(10, "Maximum number of sessions a day that `learn --with` sends to an agent.")
    keep_days: int = _define(0, "Days to keep observations; 0 keeps them as long as there is room.")
    keep_megabytes: int = _define(
        1000,
        "Maximum megabytes of observations; the oldest are deleted first, 0 for no limit. Sources of memories are "
        "kept.",
    )

    @classmethod
    def load(cls, environ: Mapping[str, str] | None = None) -> "Settings":
        """Load the settings of this user: from the environment, else the file, else the default."""
        environ = os.environ if environ is None else environ
        defaults = _make_defaults(Path(data_directory(environ)))
        return replace(defaults, **_read_file(defaults) | _read_environment(environ))

    def find_store_directory(self, name: str | None) -> Path:
        """The folder of a named store; without a name, of the default store."""
        if name is None:
            return self.home
        if not isinstance(name, str) or not STORE_NAME.fullmatch(name):
            raise InvalidInput(f"{name!r} is not a store name; write it like 'your-org/coding-memory'")
        return self.home / "stores" / name


NAMES = tuple(setting.name for setting in fields(Settings) if setting.name != "home")


class Origin(StrEnum):
    """Where the value of a setting comes from."""

    ENVIRONMENT = "environment"
    FILE = "file"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting with its current value, where that comes from, and what it means."""

    name: str
    value: Any
    default: Any
    origin: Origin
    variable: str
    """The environment variable that sets it; empty if only the file may."""
    meaning: str


def list_settings() -> tuple[Setting, ...]:
    """All settings with their current values, in the order of the reference."""
    defaults, current = _make_defaults(Path(data_directory(os.environ))), Settings.load()
    origins = dict.fromkeys(_read_file(defaults), Origin.FILE)
    origins |= dict.fromkeys(_read_environment(os.environ), Origin.ENVIRONMENT)
    meanings = read_meanings()
    return tuple(
        Setting(
            name=name,
            value=getattr(current, name),
            default=getattr(defaults, name),
            origin=origins.get(name, Origin.DEFAULT),
            variable="" if name in FILE_ONLY else _name_variable(name),
            meaning=meanings[name],
        )
        for name in NAMES
    )


def read_meanings() -> dict[str, str]:
    """The meaning of each setting."""
    return {setting.name: setting.metadata["meaning"] for setting in fields(Settings)}


def check_name(name: str) -> str:
    """Return the name if there is such a setting; else raise InvalidInput with a suggestion."""
    if name not in NAMES:
        raise InvalidInput(f"there is no setting {name!r}.{_suggest_name(name)}")
    return name


def parse_value(name: str, text: str) -> Any:
    """Parse the text that a person wrote for a setting."""
    default = getattr(_make_defaults(Path()), check_name(name))
    if isinstance(default, bool):
        if text.lower() not in BOOLEANS:
            raise InvalidInput(f"{name} is either true or false, not {text!r}")
        return BOOLEANS[text.lower()]
    if isinstance(default, int):
        if not text.isdecimal() or len(text) > LONGEST_NUMBER:
            limit = f"0 or more, of at most {LONGEST_NUMBER} digits"
            raise InvalidInput(f"{name} is a whole number, {limit}, not {text[:40]!r}; for example {default}")
        return int(text)
    choices = next(setting.metadata.get("choices", ()) for setting in fields(Settings) if setting.name == name)
    if choices and text not in choices:
        raise InvalidInput(f"{name} is one of {', '.join(choices)}, not {text[:40]!r}")
    return text


def write_setting(home: Path, name: str, value: str | int | bool | None) -> None:
    """Set one setting in the user's file, or remove it if the value is None; other lines stay as they are."""
    file = home / CONFIG_FILE
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    # Line by line and not through a TOML writer, so that comments and order stay.
    other_lines = [line for line in lines if line.split("=")[0].strip() != name]
    new_lines = [] if value is None else [f"{name} = {json.dumps(value, ensure_ascii=False)}"]
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_file(file, "\n".join([*other_lines, *new_lines, ""]).encode(), is_durable=True)


def _suggest_name(name: str) -> str:
    return did_you_mean(name, NAMES) or f" Settings: {', '.join(NAMES)}."


def _name_variable(name: str) -> str:
    return f"HIVEMIND_{name.upper()}"


def _make_defaults(home: Path) -> Settings:
    """Settings with all defaults."""
    return Settings(home=home, person=_find_login_name())


def _read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values = {}
    for name in NAMES:
        if name not in FILE_ONLY and (text := environ.get(_name_variable(name))):
            try:
                values[name] = parse_value(name, text)
            except InvalidInput as error:
                raise InvalidInput(f"{_name_variable(name)} in the environment: {error}") from None
    return values


def _read_file(defaults: Settings) -> dict[str, Any]:
    file = defaults.home / CONFIG_FILE
    if not file.exists():
        return {}
    if not file.is_file():
        raise InvalidInput(f"{file} is not a file; move it away")
    # Most people have no such file; this takes 4 % of the import time of the application.
    import tomllib

    try:
        values = tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} is not valid TOML: {error}") from None
    for name, value in values.items():
        if name not in NAMES:
            remedy = f"remove it with 'hivemind config unset {name}'"
            raise InvalidInput(f"{file} sets {name!r}, which is not a setting; {remedy}.{_suggest_name(name)}")
        default = getattr(defaults, name)
        # By exact type, because a bool is an int to isinstance.
        if type(value) is not type(default) or (type(value) is int and not 0 <= value < 10**LONGEST_NUMBER):
            raise InvalidInput(f"{file} sets {name} to {value!r}; give a value like {default!r}")
    return values


def _find_login_name() -> str:
    # In a container the user id may have no name; a service on Windows may have no variable with one.
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "me"
