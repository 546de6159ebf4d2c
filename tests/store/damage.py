"""Homes with every kind of file, single bits flipped in one of them, and what commands then do."""

import json
import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hivemind.embedding.lazy_embedder import MODEL_MARK
from hivemind.embedding.weights import Weights
from hivemind.erase.plan import ErasurePlan, save_plan
from hivemind.maintenance import crash_report
from hivemind.model.memory import Channel
from hivemind.model.session import SkippedInput
from hivemind.model.team import ProviderOptions
from hivemind.sessions import brief_marker, quarantine, spool
from hivemind.store import disk_space
from hivemind.store.store import FILE
from hivemind.sync.devices import Choices
from hivemind.sync.hub_client import Credentials, ProviderLogin, save_credentials
from hivemind.viewer.local import load_key
from tests.command_line import run
from tests.conftest import git
from tests.store.stores import OBSERVED_AT, lived_in, opened

UNEXPECTED_ERROR = 70
COMMANDS = (
    ("recall", "how are deploys made"),
    ("list",),
    ("status",),
    ("remember", "Deploys wait for a green build"),
    ("code", "related", "deploy.py"),
    ("sync", "status"),
    ("quarantine",),
    ("backup", "list"),
)
"""What a person does in a day, without asking whether something is damaged."""
LARGE_BYTES = 1200
"""Files up to this size are changed at every byte."""
LOG_FILE = f"{FILE}-wal"


@dataclass(slots=True)
class Outcome:
    """What was tried, and what came of it."""

    tried: int = 0
    found: int = 0
    """How many the doctor found."""
    traces: list[str] = field(default_factory=list)
    """Commands that ended as no command should."""
    unmended: list[str] = field(default_factory=list)
    """What the doctor still finds after a repair."""


def furnish(root: Path) -> Path:
    """Make a home with a file of every kind in it, and return it; ``root / "code"`` is its repository."""
    home, code = root / "home", root / "code"
    lived_in(home, 30)
    code.mkdir()
    git(code, "init")
    (code / "deploy.py").write_text("def deploy(target: str) -> None:\n    print(target)\n")
    git(code, "add", ".")
    git(code, "commit", "-m", "start")
    (home / "config.toml").write_text('recall_limit = 7\nperson = "ada"\nkeep_days = 90\n')
    provider = ProviderOptions(
        issuer="https://id.example", client_id="hivemind", client_secret="", scopes="openid", parameters={},
        redirect_port=0, authorization_endpoint="https://id.example/auth", token_endpoint="https://id.example/token",
        device_authorization_endpoint="",
    )  # fmt: skip
    login = ProviderLogin(
        provider=provider, refresh_token="r", nonce_secret="n", teams={"acme": "writer"}, team="acme",
        renew_at="2026-01-01T10:00:00Z", expires_at="2026-01-02T10:00:00Z",
    )  # fmt: skip
    save_credentials(home / "hub.json", Credentials(url="https://hub.example", token="t", login=login))
    unreadable = [SkippedInput(reason="not JSON", where="hook", raw="{broken")]
    quarantine.add(home, quarantine.ItemOrigin.HOOK, unreadable, "2026-01-01T10:00:00Z", frozenset())
    brief_marker.mark_briefed(str(home), "s1")
    load_key(home)
    # A model that this process loaded before would not be verified again.
    Weights.read(mark=home / MODEL_MARK)
    with opened(home, directory=code) as mind:
        mind.remember("deploy in deploy.py prints its target", links=["deploy.py#deploy"])
        mind.code.index()
        mind.recall("deploy")
        mind.maintenance.backup()
        mind.devices.set_up(mind.devices.plan(str(root / "shared"), Choices()), name="laptop")
    with opened(home, directory=code) as mind:
        for number in range(12):
            mind.remember(f"Queue {number} drains at {number} o'clock")
        mind.actions.write_cues(code)
        # As a process leaves them that is killed now; closing would empty the write-ahead log.
        files = {name: (home / name).read_bytes() for name in (FILE, LOG_FILE)}
        cues = {file: file.read_bytes() for file in (home / "cues").iterdir()}
    for file, content in ({home / name: content for name, content in files.items()} | cues).items():
        file.write_bytes(content)
    for name in ("config.toml", LOG_FILE):
        (home / name).chmod(0o600)
    payload = json.dumps({"session_id": "s9", "cwd": str(code), "prompt": "Deploys run from main only"})
    spool.append(str(home), "claude-code", "UserPromptSubmit", OBSERVED_AT.format(1), payload)
    _leave_plan(home)
    return home


def flip_bits(file: Path, most: int, seed: int) -> Iterator[tuple[int, bytes]]:
    """Yield places and the file's content with a bit flipped there: each byte of a small file, else random ones."""
    raw = file.read_bytes()
    chance = random.Random(f"{file.name} {seed}")
    places = range(len(raw)) if len(raw) <= LARGE_BYTES else [chance.randrange(len(raw)) for _ in range(most)]
    for place in places if len(places) <= most else chance.sample(places, most):
        flipped = bytearray(raw)
        flipped[place] ^= 1 << chance.randrange(8)
        yield place, bytes(flipped)


def try_damage(home: Path, name: str, content: bytes, outcome: Outcome, label: str) -> None:
    """Put a damaged file into a copy of a home, and run the doctor, the commands and the repair."""
    copy = home.with_name("copy")
    for is_examined_first in (True, False):
        _copy_home(home, copy)
        (copy / name).write_bytes(content)
        if name == FILE:
            # Its pages would stand in the place of damaged ones.
            (copy / LOG_FILE).unlink()
        os.environ["HIVEMIND_HOME"] = str(copy)
        if is_examined_first:
            outcome.found += bool(_examine(outcome, label))
            _run(outcome, label, "repair")
            if problems := _examine(outcome, f"{label}, repaired"):
                outcome.unmended.append(f"{label}: {problems}")
        else:
            for command in COMMANDS:
                _run(outcome, label, *command)
    outcome.tried += 1


def _examine(outcome: Outcome, label: str) -> list[str]:
    answer = _run(outcome, label, "doctor", "--json")
    try:
        findings = json.loads(answer)
    except ValueError:
        return [answer]
    # There is something in the quarantine of this home, damaged or not.
    problems = [found for found in findings if not found["is_well"] and found["what"] != "quarantine"]
    return [f"{found['what']}: {found['detail']}" for found in problems]


def _run(outcome: Outcome, label: str, *command: str) -> str:
    done = run(*command)
    if done.exit_code == UNEXPECTED_ERROR or not isinstance(done.exception, SystemExit | None):
        report = Path(os.environ["HIVEMIND_HOME"]) / crash_report.FILE
        why = report.read_text("utf-8") if report.exists() else repr(done.exception)
        outcome.traces.append(f"{label}: {' '.join(command)}: {why}")
    return done.stdout or done.output


def _leave_plan(home: Path) -> None:
    """Leave the plan of an erasure as a process does that is killed."""
    plan = ErasurePlan(
        batch="b1", at="2026-01-01T10:00:00Z", actor="ada", channel=Channel.PERSON, session="", reason="",
        memories=(), entries=(), texts=("a text that is nowhere",), places=(),
    )  # fmt: skip
    with save_plan(home, plan):
        pass


def _copy_home(home: Path, copy: Path) -> None:
    shutil.rmtree(copy, ignore_errors=True)
    # The ballast is large and never read.
    shutil.copytree(home, copy, ignore=shutil.ignore_patterns(disk_space.FILE))
    os.link(home / disk_space.FILE, copy / disk_space.FILE)
