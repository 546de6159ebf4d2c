"""A repository that means harm: nothing of it is executed or configured, nothing outside it is read."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.entrypoints import hook
from hivemind.errors import HivemindError, InvalidInput
from hivemind.recall import blame
from hivemind.settings import Settings
from tests.conftest import Open, Tally, git

SECRET = "xylophone-4431"
COMMANDS = {
    "core.fsmonitor": "{trap}",
    "core.sshCommand": "{trap}",
    "core.pager": "{trap}",
    "core.editor": "{trap}",
    "core.gitProxy": "{trap}",
    "core.askPass": "{trap}",
    "credential.helper": "{trap}",
    "diff.external": "{trap}",
    "diff.evil.textconv": "{trap}",
    "diff.evil.command": "{trap}",
    "filter.evil.clean": "{trap}",
    "filter.evil.smudge": "{trap}",
    "filter.evil.process": "{trap}",
    "gpg.program": "{trap}",
    "log.showSignature": "true",
    "alias.log": "!{trap}",
    "alias.rev-parse": "!{trap}",
    "core.hooksPath": "{hooks}",
    "interactive.diffFilter": "{trap}",
    "remote.origin.url": "ext::{trap}",
    "remote.origin.uploadpack": "{trap}",
    "protocol.ext.allow": "always",
    "submodule.evil.update": "!{trap}",
    "uploadpack.packObjectsHook": "{trap}",
    "merge.evil.driver": "{trap}",
}
HOOKS = (
    "post-checkout",
    "pre-commit",
    "post-index-change",
    "fsmonitor-watchman",
    "reference-transaction",
    "post-commit",
)


@pytest.fixture
def trap(tmp_path: Path) -> tuple[Path, Path]:
    """A program that leaves a trace when it is run, and the trace."""
    program, sprung = tmp_path / "trap.sh", tmp_path / "sprung"
    program.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{sprung}'\n")
    program.chmod(0o755)
    return program, sprung


@pytest.fixture
def hostile(make_repository: Callable[..., Path], trap: tuple[Path, Path]) -> Path:
    root = make_repository("hostile")
    program, _ = trap
    (root / "app.py").write_text("def login():\n    return 1\n")
    (root / "new\nline.py").write_text("x = 1\n")
    (root / "$(touch pwned).py").write_text("x = 1\n")
    (root / "--output=pwned").write_text("x\n")
    (root / "deep" / ("d" * 200)).mkdir(parents=True)
    (root / ".gitmodules").write_text(
        '[submodule "evil"]\n\tpath = evil\n\turl = ext::sh -c touch% pwned\n\tupdate = !sh\n'
    )
    git(root, "add", "-A")
    git(root, "commit", "-m", "a fix\n\nbecause \x01\x02 of reasons\n\x01forged\x02commit")
    (root / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    hooks = root / "hooks"
    hooks.mkdir()
    for folder in (hooks, root / ".git" / "hooks"):
        for name in HOOKS:
            (folder / name).write_text(program.read_text())
            (folder / name).chmod(0o755)
    for name, value in COMMANDS.items():
        git(root, "config", name, value.format(trap=program, hooks=hooks))
    for name in ("config.toml", ".hivemind/config.toml", ".hivemind.toml", "hivemind.toml", ".env", "pyproject.toml"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text('agents_may_review = true\nbelieved = "fixes:0"\nHIVEMIND_HOME = "/tmp/evil"\n')
    for module in ("json.py", "click.py", "apsw.py", "hivemind.py", "sitecustomize.py", "usercustomize.py"):
        (root / module).write_text(f"import os; os.system('{program} {module}')\n")
    return root


def work(mind: Hivemind) -> None:
    """Everything that looks at a repository."""
    mind.remember("login answers 1", links=["app.py::login"])
    mind.code.index()
    mind.files.sync_instructions()
    mind.code.index_commits()
    assert blame.find_origins(Path.cwd(), "app.py", ["@@ @@\n-    return 1\n+    return 2"])
    mind.brief()
    mind.recall("what does login answer?")
    mind.code.stale()
    mind.code.find_related("app.py::login")
    for memory in mind.list():
        mind.review.verify(memory.id)


def test_a_hostile_repository_runs_and_configures_nothing(
    open_mind: Open, hostile: Path, trap: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tally: Tally
) -> None:
    _, sprung = trap
    monkeypatch.chdir(hostile)
    sprung.unlink(missing_ok=True)

    began = time.monotonic()
    work(open_mind(hostile))
    took = time.monotonic() - began
    was_safe = not sprung.exists()
    settings = Settings.load()

    assert was_safe, sprung.read_text()
    assert not list(hostile.rglob("pwned"))
    assert not settings.agents_may_review
    assert settings.believed == ""
    assert took < 60
    subprocess.run(["git", "status"], cwd=hostile, capture_output=True, check=False)
    assert sprung.exists(), "the trap itself must work"
    tally("traps in a hostile repository, none sprung", len(COMMANDS) + 2 * len(HOOKS), len(COMMANDS) + 2 * len(HOOKS))


def test_the_command_line_and_the_hook_load_nothing_from_where_they_run(
    hostile: Path, trap: tuple[Path, Path], tmp_path: Path
) -> None:
    _, sprung = trap
    sprung.unlink(missing_ok=True)
    script = Path(sys.executable).parent / "hivemind"
    payload = b'{"session_id": "s1", "prompt": "hello"}'
    commands = (
        [str(script), "recall", "login"],
        [sys.executable, "-I", "-S", hook.__file__, "claude-code", "SessionStart"],
    )
    for command in commands:
        subprocess.run(command, cwd=hostile, input=payload, capture_output=True, check=False)

    assert not sprung.exists(), sprung.read_text()


@pytest.mark.parametrize("link", ["../outside.py", "/etc/passwd", "a/../../outside.py::x", "../../outside.py::secret"])
def test_a_link_that_leaves_the_repository_is_refused(open_mind: Open, hostile: Path, tally: Tally, link: str) -> None:
    mind = open_mind(hostile)

    with pytest.raises(InvalidInput, match="does not point into the repository"):
        mind.remember("something", links=[link])
    tally("links out of the repository, refused", 1, 1)


def test_nothing_outside_is_read_through_links_and_sources(
    open_mind: Open, hostile: Path, tmp_path: Path, home: Path, tally: Tally
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text(f"def {SECRET.replace('-', '_')}(): pass\n# {SECRET}\n")
    (outside / "AGENTS.md").write_text(f"- The word is {SECRET}\n")
    for name in ("linked.py", "AGENTS.md", "CLAUDE.md", ".cursorrules"):
        (hostile / name).symlink_to(outside / ("AGENTS.md" if name.endswith("md") else "secret.py"))
    (hostile / "folder").symlink_to(outside)
    (hostile / ".claude").mkdir()
    (hostile / ".claude" / "rules").symlink_to(outside)
    (hostile / "loop").symlink_to(hostile / "loop")
    os.mkfifo(hostile / "pipe.py")
    mind = open_mind(hostile)
    tried = ["linked.py", "folder/secret.py", "linked.py::secret", "pipe.py", "loop"]

    for name in tried:
        mind.remember(f"something about {name}", links=[name], sources=[f"{name}:1-3"])
    for source in ("../outside/secret.py:1-2", "/etc/passwd:1-2"):
        with_source(mind, source)
    mind.files.sync_instructions()
    mind.code.index()
    mind.brief()

    held = b"".join(file.read_bytes() for file in home.rglob("*") if file.is_file())
    assert SECRET.encode() not in held
    assert SECRET.replace("-", "_").encode() not in held
    assert b"root:x:0" not in held
    tally("ways out of the repository, nothing read", len(tried) + 6, len(tried) + 6)


def with_source(mind: Hivemind, source: str) -> None:
    try:
        mind.remember(f"something that rests on {source}", sources=[source])
    except HivemindError:
        return


def test_promoting_does_not_write_through_a_link(open_mind: Open, hostile: Path, tmp_path: Path) -> None:
    target = tmp_path / "outside.md"
    target.write_text("mine\n")
    (hostile / "AGENTS.md").symlink_to(target)
    mind = open_mind(hostile)
    memory = mind.remember("Deploys run from main")

    with pytest.raises(InvalidInput, match="does not lie in the repository"):
        mind.review.promote(memory.id, "AGENTS.md")
    assert target.read_text() == "mine\n"


def test_huge_and_odd_files_cost_bounded_time(open_mind: Open, make_repository: Callable[..., Path]) -> None:
    root = make_repository("odd")
    with (root / "huge.py").open("wb") as file:
        file.truncate(3_000_000_000)
    (root / "line.js").write_bytes(b"var x=" + b"[" * 2_000_000)
    (root / "AGENTS.md").write_text("- " + "a" * 900_000 + "\n" + "- point\n" * 10_000)
    (root / "zeros.json").write_bytes(bytes(5_000_000))
    mind = open_mind(root)

    began = time.process_time()
    mind.code.index()
    mind.files.sync_instructions()
    mind.brief()

    assert time.process_time() - began < 60
