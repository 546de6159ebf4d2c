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

from hivemind.errors import InvalidInput
from hivemind.model.home import data_directory

STORE_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*){0,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How this installation behaves."""

    home: Path
    """Where the store and everything else of ours lies (HIVEMIND_HOME)."""
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

    detectors: str = "fixes commands corrections decisions"
    """Which detectors learn from sessions; off, as too often wrong: exploration, dead_ends."""
    keep_days: int = 0
    """How long observations are kept; 0 for as long as there is room."""
    keep_megabytes: int = 1000
    """How much room observations may take before the oldest go; 0 for any. What a memory rests on always stays."""

    @classmethod
    def load(cls, environ: Mapping[str, str] | None = None) -> "Settings":
        """The settings of this user."""
        environ = os.environ if environ is None else environ
        home = Path(data_directory(environ))
        settings = cls(home=home, person=environ.get("HIVEMIND_PERSON") or _login())
        file = home / "config.toml"
        return _with_file(settings, file) if file.exists() else settings

    def store_directory(self, name: str | None) -> Path:
        """Where a named store lies; without a name, the default one."""
        if name is None:
            return self.home
        if not STORE_NAME.fullmatch(name):
            raise InvalidInput(f"{name!r} is not a store name; write it like 'your-org/coding-memory'")
        return self.home / "stores" / name


def write(home: Path, name: str, value: str | int | bool) -> None:
    """Set one setting in the user's file, and leave the others as they are."""
    file = home / "config.toml"
    lines = file.read_text().splitlines() if file.exists() else []
    kept = [line for line in lines if line.split("=")[0].strip() != name]
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.write_text("\n".join([*kept, f"{name} = {json.dumps(value)}"]) + "\n")


def _with_file(settings: Settings, file: Path) -> Settings:
    try:
        written = tomllib.loads(file.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} is not valid TOML: {error}") from None
    known = {field.name: field.type for field in fields(Settings) if field.name != "home"}
    for name, value in written.items():
        if name not in known:
            raise InvalidInput(f"{file} sets {name!r}, which is not a setting; choose from {', '.join(known)}")
        if type(value) is not type(getattr(settings, name)):
            raise InvalidInput(f"{file} sets {name} to {value!r}; write it like {getattr(settings, name)!r}")
    return replace(settings, **written)


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "me"
