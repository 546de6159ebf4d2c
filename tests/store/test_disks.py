"""Disks that fail, are full or refuse to be written: nothing acknowledged is lost, and the remedy is told."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from hivemind import Hivemind
from hivemind.errors import StoreError
from hivemind.model.memory import Kind
from hivemind.store import disk_space, integrity
from hivemind.store.store import FILE, Store
from tests.command_line import residue
from tests.conftest import Tally
from tests.store.disks import Fault, failing, renames_fail
from tests.store.stores import opened

MARK = "zanzibar-7719"
EVERY = int(os.environ.get("HIVEMIND_EVERY_FAULT", "9"))
"""Only each so many-th place fails; 1 tries them all."""


def do_something(home: Path, number: int, acknowledged: set[str], erased: set[str]) -> None:
    """A little of everything that writes, noting what was promised."""
    with opened(home) as mind:
        kept = mind.remember(f"Service {number} listens on port {9000 + number}")
        acknowledged.add(kept.text)
        secret = mind.remember(f"The code word is {MARK}-{number}")
        revised = mind.edit(kept.id, f"Service {number} moved to port {7000 + number}")
        acknowledged ^= {kept.text, revised.text}
        mind.erase(secret.id)
        erased.add(secret.text)


def kept_its_word(home: Path, acknowledged: set[str], erased: set[str]) -> bool:
    """Opens, is well, holds what was promised and nothing that was erased."""
    with opened(home) as mind:
        held = {step.after.text for memory in mind.list(limit=1000) for step in mind.history.steps(memory.id)}
    store = Store.open(home)
    try:
        is_well = all(finding.is_well for finding in integrity.examine(store))
    finally:
        store.close()
    return is_well and acknowledged <= held and held.isdisjoint(erased)


@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError])
@pytest.mark.parametrize("kind", ["write", "sync", "truncate"])
def test_the_disk_may_fail_at_any_call(tmp_path: Path, tally: Tally, kind: Fault, error: type[Exception]) -> None:
    acknowledged: set[str] = set()
    erased: set[str] = set()
    do_something(tmp_path / "start", 0, acknowledged, erased)
    at, tried, survived, happened = 1, 0, 0, 0
    while True:
        home = tmp_path / f"home-{at}"
        shutil.copytree(tmp_path / "start", home)
        promised, gone = set(acknowledged), set(erased)
        with failing(kind, at, error) as disk:
            try:
                do_something(home, at, promised, gone)
            except (StoreError, apsw.IOError, apsw.FullError):
                # A disk written in Python also fails while a connection closes, where SQLite's own says nothing.
                happened += 1
        if disk.calls < at:
            break
        tried += 1
        survived += kept_its_word(home, promised, gone)
        shutil.rmtree(home)
        at += EVERY if kind == "write" else 1

    tally(f"{error.__name__} at the n-th {kind}", tried, survived)
    assert happened > 0
    assert survived == tried


def rename_at(tmp_path: Path, at: int, patch: pytest.MonkeyPatch, act: Callable[[Path], object]) -> int:
    home = tmp_path / f"home-{at}"
    shutil.copytree(tmp_path / "start", home)
    with renames_fail(at, patch) as calls, suppress(StoreError, OSError):
        act(home)
    return len(calls)


def test_any_rename_may_fail(tmp_path: Path, tally: Tally, monkeypatch: pytest.MonkeyPatch) -> None:
    def act(home: Path) -> None:
        with opened(home) as mind:
            mind.maintenance.backup()
        shutil.copy(home / FILE, home / "spool")
        opened(home).close()

    do_something(tmp_path / "start", 0, set(), set())
    at = 1
    while rename_at(tmp_path, at, monkeypatch, act) >= at:
        assert kept_its_word(tmp_path / f"home-{at}", {"Service 0 moved to port 7000"}, {f"The code word is {MARK}-0"})
        at += 1

    tally("the n-th rename fails", at - 1, at - 1)
    assert at > 2


def in_a_mount(script: str, tmp_path: Path, mount: str) -> subprocess.CompletedProcess[str]:
    """Runs Python where a directory is mounted otherwise; skipped where the system does not let us."""
    if not shutil.which("unshare") or subprocess.run(["unshare", "-rm", "true"], check=False).returncode:
        pytest.skip("no user namespaces here")
    prelude = "import os, sys\nfrom pathlib import Path\nhome = Path(os.environ['HIVEMIND_HOME'])\n"
    return subprocess.run(
        ["unshare", "-rm", "sh", "-ec", f"{mount}\nexec {sys.executable} -c \"$SCRIPT\""],
        cwd=tmp_path, env=os.environ | {"SCRIPT": prelude + script, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


FULL = f"""
os.umask(0o077)
from hivemind import Hivemind
from hivemind.errors import StoreFull
from tests.command_line import residue, run

def fill():
    with (home / "filler").open("ab", buffering=0) as filler:
        try:
            while True: filler.write(bytes(4096))
        except OSError: pass

with Hivemind.open() as mind:
    secret = mind.remember("The code word is {MARK}")
    kept = mind.remember("Deploys run from main")
fill()
with Hivemind.open() as mind:
    fill()
    try:
        for number in range(10_000): mind.remember(f"fact number {{number}} " + "x" * 2000)
        print("never full")
    except StoreFull as error: print("told:", error)
    fill()
    print("kept:", mind.show(kept.id).text)
told = run("doctor", "--quick")
print("doctor:", [line for line in told.output.splitlines() if "disk" in line])
print("repair:", "repair" in run("doctor").output)
erased = run("erase", secret.id, "--yes")
print("erase:", erased.exit_code, erased.output if erased.exit_code else "")
print("residue:", residue(home, b"{MARK}"))
(home / "filler").unlink()
with Hivemind.open() as mind:
    mind.remember("There is room again")
print("ballast:", (home / "ballast").exists())
print("well:", run("doctor").output.count("WRONG"))
"""


def test_on_a_full_disk_erasing_still_works(tmp_path: Path, home: Path, tally: Tally) -> None:
    home.mkdir()

    done = in_a_mount(FULL, tmp_path, f"mount -t tmpfs -o size=24m tmpfs '{home}'")

    told = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    assert "erasing still works" in told["told"], done.stdout + done.stderr
    assert told["kept"] == "Deploys run from main"
    assert "free some space" in told["doctor"]
    assert told["repair"] == "False"
    assert told["erase"].strip() == "0", done.stdout
    assert told["residue"] == "[]"
    assert told["ballast"] == "True"
    assert told["well"] == "0"
    tally("full disk", 1, 1)


READ_ONLY = """
from tests.command_line import run
for command in (["remember", "one more"], ["doctor"], ["repair"], ["backup"]):
    done = run(*command)
    print(command[0] + ":", done.exit_code, done.output.replace(chr(10), " "), type(done.exception).__name__)
"""
READING = """
import json, subprocess
from hivemind.entrypoints import hook as hook_file
from tests.command_line import run

def hook(event, **fields):
    payload = {"session_id": "s1", "cwd": os.getcwd(), "hook_event_name": event, **fields}
    command = [sys.executable, "-I", "-S", hook_file.__file__, "claude-code", event]
    done = subprocess.run(command, input=json.dumps(payload), capture_output=True, text=True)
    print(event + ":", done.returncode, "run from main" in done.stdout, done.stderr)

hook("SessionStart", source="startup")
hook("SubagentStart", prompt="deploy")
hook("PostToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_response={"stdout": "ok"}, tool_use_id="t")
memory = json.loads(run("list", "--json").stdout)[0]["id"]
for command in (["recall", "when do deploys run"], ["list"], ["export"], ["show", memory], ["status"]):
    done = run(*command)
    print(command[0] + ":", done.exit_code, "run from main" in done.output, done.output.replace(chr(10), " "))
"""
MAKE_READ_ONLY = "mount --bind '{0}' '{0}'; mount -o remount,bind,ro '{0}'"


def test_a_read_only_directory_is_named_with_its_remedy(tmp_path: Path, home: Path, tally: Tally) -> None:
    with opened(home) as mind:
        mind.remember("Deploys run from main")

    done = in_a_mount(READ_ONLY, tmp_path, MAKE_READ_ONLY.format(home))

    told = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    assert set(told) == {"remember", "doctor", "repair", "backup"}, done.stderr
    assert all("writable" in told[command] for command in ("remember", "doctor", "repair")), done.stdout
    assert "another place" in told["backup"]
    assert {said.split()[0] for said in told.values()} <= {"1", "5"}
    assert "repair" not in told["doctor"]
    assert kept_its_word(home, {"Deploys run from main"}, set())
    tally("read-only directory, commands that write", 4, 4)


def read_on(disk: str, tmp_path: Path, script: str = "") -> dict[str, list[str]]:
    """What hooks and commands that read say on a disk: the exit code, whether they told the memory, and the rest."""
    done = in_a_mount(script + READING, tmp_path, disk)
    told = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    assert {"SessionStart", "PostToolUse", "recall", "status"} <= set(told), done.stdout + done.stderr
    return {name: said.split(maxsplit=2) for name, said in told.items()}


def test_reading_works_in_a_read_only_directory(tmp_path: Path, home: Path, tally: Tally) -> None:
    with opened(home, directory=tmp_path) as mind:
        mind.remember("Deploys run from main", kind=Kind.DECISION)

    told = read_on(MAKE_READ_ONLY.format(home), tmp_path)

    assert {name: said[0] for name, said in told.items() if said[0] != "0"} == {}
    assert {name for name, said in told.items() if said[1] != "True"} == {"PostToolUse", "status"}
    tally("read-only directory, hooks and commands that read", len(told), len(told))


FILL = """
from hivemind import Hivemind
from hivemind.model.memory import Kind
with Hivemind.open() as mind:
    mind.remember("Deploys run from main", kind=Kind.DECISION)
with (home / "filler").open("ab", buffering=0) as filler:
    for size in (1 << 20, 4096, 1):
        try:
            while True: filler.write(bytes(size))
        except OSError: pass
"""


@pytest.mark.parametrize("has_ballast", [True, False])
def test_reading_works_on_a_full_disk(tmp_path: Path, home: Path, tally: Tally, *, has_ballast: bool) -> None:
    home.mkdir()
    fill = FILL if has_ballast else FILL.replace("with (home", "(home / 'ballast').unlink()\nwith (home")

    told = read_on(f"mount -t tmpfs -o size=24m tmpfs '{home}'", tmp_path, fill)

    assert {name: said[0] for name, said in told.items() if said[0] != "0"} == {}
    assert {name for name, said in told.items() if said[1] != "True"} == {"PostToolUse", "status"}
    # One sentence about the disk, and no more.
    assert all(said[2].startswith("hivemind-hook: cannot write to") for said in told.values() if "hook:" in said[-1])
    tally("full disk, hooks and commands that read", len(told), len(told))


def test_the_ballast_is_laid_and_given_back(mind: Hivemind, home: Path) -> None:
    laid = (home / disk_space.FILE).stat().st_size

    assert laid == disk_space.BYTES
    assert disk_space.release(home)
    assert not disk_space.release(home)
    assert residue(home, MARK.encode()) == []
