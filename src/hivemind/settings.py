"""Every knob, with its meaning and default; read from one file of the user's and from the environment.

Nothing is ever read from a repository: what lies there was written by somebody else.
"""

import getpass
import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from hivemind.errors import InvalidInput, did_you_mean
from hivemind.model.home import data_directory

FILE = "config.toml"
FILE_ALONE = frozenset({"agents_may_review", "agents_may_look_everywhere", "believed"})
"""Not from the environment: an agent writes the environment of the commands it runs, and these give it rights."""
BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
STORE_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*){0,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How this installation behaves."""

    home: Path
    """Where the store and everything else of ours lies."""
    person: str
    """Whose memories these are; shown to a team as the owner."""
    recall_limit: int = 5
    """How many memories a recall returns at most."""
    recall_tokens: int = 1200
    """How many tokens a recall may spend at most."""

    model: str = ""
    """What turns text into vectors: empty for the built-in model, else a folder, an address, or none."""
    brief_tokens: int = 1200
    """How many tokens may be said at the start of a session and after compaction; 0 says nothing."""
    prompt_tokens: int = 500
    """How many tokens may be said on a prompt; 0 says nothing."""

    believed: str = ""
    """Detectors whose proposals become active by themselves, each with the confidence it takes: ``commands:0.9``."""
    agents_may_review: bool = False
    """Whether agents may approve, reject, erase and roll back."""
    agents_may_look_everywhere: bool = False
    """Whether agents may also look at what was learned in other repositories, when they ask for ``everywhere``."""

    detectors: str = "fixes commands corrections decisions"
    """Which detectors learn from sessions; off, as too often wrong: exploration, dead_ends."""
    keep_days: int = 0
    """How long observations are kept; 0 for as long as there is room."""
    keep_megabytes: int = 1000
    """How much room observations may take before the oldest go; 0 for any. What a memory rests on always stays."""

    @classmethod
    def load(cls, environ: Mapping[str, str] | None = None) -> "Settings":
        """The settings of this user: what the environment says, else the file, else the default."""
        environ = os.environ if environ is None else environ
        defaults = _make_defaults(Path(data_directory(environ)))
        return replace(defaults, **_read_file(defaults) | _read_environment(defaults, environ))

    def store_directory(self, name: str | None) -> Path:
        """Where a named store lies; without a name, the default one."""
        if name is None:
            return self.home
        if not STORE_NAME.fullmatch(name):
            raise InvalidInput(f"{name!r} is not a store name; write it like 'your-org/coding-memory'")
        return self.home / "stores" / name


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One knob as it stands: its value, where that comes from, and what it means."""

    name: str
    value: Any
    default: Any
    origin: str
    """``environment``, ``file`` or ``default``."""
    variable: str
    """What sets it in the environment; empty where only the file may."""
    meaning: str


def explained(environ: Mapping[str, str] | None = None) -> tuple[Setting, ...]:
    """Every setting, in the order of the reference."""
    environ = os.environ if environ is None else environ
    defaults, current = _make_defaults(Path(data_directory(environ))), Settings.load(environ)
    file_values, environment_values = _read_file(defaults), _read_environment(defaults, environ)
    meanings = described()
    return tuple(
        Setting(
            name=name,
            value=getattr(current, name),
            default=getattr(defaults, name),
            origin="environment" if name in environment_values else "file" if name in file_values else "default",
            variable="" if name in FILE_ALONE else _variable_name(name),
            meaning=meanings[name],
        )
        for name in _names()
    )


def described() -> dict[str, str]:
    """What each setting means: the sentence that stands under it in this file."""
    import inspect  # only who asks for the meaning pays for it

    pairs = re.findall(r'    (\w+): [^\n]*\n    """(.*?)"""', inspect.getsource(Settings), re.DOTALL)
    return {name: " ".join(text.split()) for name, text in pairs}


def known(name: str) -> str:
    """The name of a setting, or an error that says which was meant."""
    if name not in _names():
        raise InvalidInput(f"there is no setting {name!r}.{did_you_mean(name, _names()) or _list_names()}")
    return name


def parsed(name: str, text: str) -> Any:
    """What a person wrote for a setting, as its value."""
    default = getattr(_make_defaults(Path()), known(name))
    if isinstance(default, bool):
        if text.lower() not in BOOLEANS:
            raise InvalidInput(f"{name} is either true or false, not {text!r}")
        return BOOLEANS[text.lower()]
    if isinstance(default, int):
        if not text.isdecimal():
            raise InvalidInput(f"{name} is a number from 0 on, not {text!r}; write it like {default}")
        return int(text)
    return text


def write(home: Path, name: str, value: str | int | bool | None) -> None:
    """Set one setting in the user's file, or take it out with nothing as its value; the others stay as they are."""
    file = home / FILE
    lines = file.read_text().splitlines() if file.exists() else []
    other_lines = [line for line in lines if line.split("=")[0].strip() != name]
    new_lines = [] if value is None else [f"{name} = {json.dumps(value, ensure_ascii=False)}"]
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    new_file = file.with_suffix(".new")
    new_file.write_text("\n".join([*other_lines, *new_lines, ""]))
    new_file.replace(file)


def _names() -> list[str]:
    return [field.name for field in fields(Settings) if field.name != "home"]


def _list_names() -> str:
    return f" There are {', '.join(_names())}."


def _variable_name(name: str) -> str:
    return f"HIVEMIND_{name.upper()}"


def _make_defaults(home: Path) -> Settings:
    """All at their defaults."""
    return Settings(home=home, person=_login_name())


def _read_environment(defaults: Settings, environ: Mapping[str, str]) -> dict[str, Any]:
    texts = {name: environ.get(_variable_name(name), "") for name in _names() if name not in FILE_ALONE}
    values = {}
    for name, text in texts.items():
        if text:
            try:
                values[name] = parsed(name, text)
            except InvalidInput as error:
                raise InvalidInput(f"{_variable_name(name)} in the environment: {error}") from None
    return values


def _read_file(defaults: Settings) -> dict[str, Any]:
    file = defaults.home / FILE
    if not file.exists():
        return {}
    try:
        values = tomllib.loads(file.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} is not valid TOML: {error}") from None
    for name, value in values.items():
        if name not in _names():
            suggestion = did_you_mean(name, _names()) or _list_names()
            remedy = f"'hivemind config unset {name}' takes it out"
            raise InvalidInput(f"{file} sets {name!r}, which is not a setting; {remedy}.{suggestion}")
        default = getattr(defaults, name)
        if type(value) is not type(default) or (type(value) is int and value < 0):
            raise InvalidInput(f"{file} sets {name} to {value!r}; write it like {default!r}")
    return values


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "me"
