"""Connecting every agent, twice, and taking it back: on real files, with what users keep in them."""

import codecs
import hashlib
import json
import os
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from hivemind.agents import callers, codex, file_changes, install, jsonc
from hivemind.agents.agent import get_agent
from hivemind.agents.config_entries import InstallPlan, InstallTarget, Launch
from hivemind.errors import InvalidInput, Refused, Unavailable

LAUNCH = Launch(
    hook=("/opt/py thon/bin/python3", "-I", "-S", "/opt/hivemind/hook.py"),
    server=("/opt/py thon/bin/python3", "-m", "hivemind", "mcp"),
    passes_when_gone=True,
)
COMMENTED = """{
  // my servers
  "mcpServers": {
    "mine": {"command": "mine"}, // keep
  },
  "context_servers": {"mine": {"command": "mine"}},
  "mcp": {"mine": {"type": "local", "command": ["mine"]}},
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]}
    ],
    "stop": [ {"command": "say done"} ]
  },
  "theme": "dark"
}
"""
TOML = 'model = "o9"  # mine\n\n[mcp_servers.mine]\ncommand = "mine"\n'
YAML = "name: my assistant\n# servers\nmcpServers:\n- name: mine\n  command: mine\nmodels: []\n"
USERS = {".json": COMMENTED, ".jsonc": COMMENTED, ".toml": TOML, ".yaml": YAML, ".md": "Be brief."}


@pytest.fixture(params=["user", "project"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> InstallTarget:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    return InstallTarget(home=home, project=project if request.param == "project" else None)


@pytest.fixture
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that lists the directories we made."""
    return tmp_path_factory.mktemp("data") / "directories.json"


def directories(place: InstallTarget) -> set[str]:
    return {str(path.relative_to(place.root)) for path in place.root.rglob("*") if path.is_dir()}


def contents(place: InstallTarget) -> dict[str, str]:
    top = place.home.parent
    return {str(path.relative_to(top)): path.read_text() for path in sorted(top.rglob("*")) if path.is_file()}


MINIFIED = json.dumps(jsonc.load(COMMENTED), separators=(",", ":"))
LAYOUTS = {"commented": COMMENTED, "minified": MINIFIED, "empty": "{}", "spread": "{\n}\n", "tabs": '{\n\t"a": {}\n}'}


def give_the_user_settings(name: str, place: InstallTarget, layout: str = COMMENTED) -> None:
    for piece in get_agent(name).build_pieces(place, LAUNCH):
        is_shared = piece.path.suffix != ".sh" and "hivemind" not in piece.path.name and piece.path.name != "SKILL.md"
        if is_shared:
            piece.path.parent.mkdir(parents=True, exist_ok=True)
            piece.path.write_text({**USERS, ".json": layout, ".jsonc": layout}[piece.path.suffix])


@pytest.mark.parametrize("name", callers.NAMES)
def test_a_fresh_home_is_as_before_after_leaving(name: str, place: InstallTarget, record: Path) -> None:
    file_changes.apply(install.plan_connection(name, place, LAUNCH).changes, record)
    connected = contents(place)

    file_changes.apply(install.plan_disconnection(name, place).changes, record)

    assert connected
    assert contents(place) == {}
    assert [path.name for path in place.root.iterdir()] == []


@pytest.mark.parametrize("name", callers.NAMES)
def test_an_empty_directory_that_was_there_before_stays_after_leaving(
    name: str, place: InstallTarget, record: Path
) -> None:
    changes = install.plan_connection(name, place, LAUNCH).changes
    for change in changes:
        change.path.parent.mkdir(parents=True, exist_ok=True)
    before = directories(place)

    file_changes.apply(changes, record)
    file_changes.apply(install.plan_disconnection(name, place).changes, record)

    assert (contents(place), directories(place)) == ({}, before)


def test_a_directory_that_we_made_and_somebody_made_again_stays(tmp_path: Path, record: Path) -> None:
    place = InstallTarget(home=tmp_path)
    file_changes.apply(install.plan_connection("claude-code", place, LAUNCH).changes, record)
    file_changes.apply(install.plan_disconnection("claude-code", place).changes, record)
    is_removed = not (tmp_path / ".claude").exists()
    (tmp_path / ".claude").mkdir()

    file_changes.apply(install.plan_connection("claude-code", place, LAUNCH).changes, record)
    file_changes.apply(install.plan_disconnection("claude-code", place).changes, record)

    assert is_removed
    assert directories(place) == {".claude"}


@pytest.mark.parametrize("text", ["", "{", "7", "[7]"])
def test_a_damaged_record_of_directories_loses_no_directory(text: str, tmp_path: Path, record: Path) -> None:
    place = InstallTarget(home=tmp_path / "home")
    (place.home / ".claude").mkdir(parents=True)
    record.write_text(text)

    file_changes.apply(install.plan_connection("claude-code", place, LAUNCH).changes, record)
    file_changes.apply(install.plan_disconnection("claude-code", place).changes, record)

    assert [path.name for path in place.home.iterdir()] == [".claude"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", callers.NAMES)
def test_settings_of_the_user_are_as_before_after_leaving(name: str, layout: str, place: InstallTarget) -> None:
    give_the_user_settings(name, place, LAYOUTS[layout])
    before = contents(place)

    file_changes.apply(install.plan_connection(name, place, LAUNCH).changes)
    connected = contents(place)
    file_changes.apply(install.plan_disconnection(name, place).changes)

    assert connected != before
    assert contents(place) == before


@pytest.mark.parametrize("name", callers.NAMES)
def test_connecting_twice_changes_nothing_the_second_time(name: str, place: InstallTarget) -> None:
    give_the_user_settings(name, place)
    file_changes.apply(install.plan_connection(name, place, LAUNCH).changes)

    again = install.plan_connection(name, place, LAUNCH)

    assert again.changes == ()


@pytest.mark.parametrize("name", callers.NAMES)
def test_a_new_interpreter_replaces_the_old_one(name: str, place: InstallTarget) -> None:
    give_the_user_settings(name, place)
    before = contents(place)
    file_changes.apply(install.plan_connection(name, place, LAUNCH).changes)
    moved = Launch(hook=("/new/python", "/new/hivemind/hook.py"), server=("/new/python", "-m", "hivemind", "mcp"))

    file_changes.apply(install.plan_connection(name, place, moved).changes)
    now = "".join(contents(place).values())
    file_changes.apply(install.plan_disconnection(name, place).changes)

    assert "/opt/py" not in now
    assert "/new/python" in now or name == "windsurf"
    assert contents(place) == before


@pytest.mark.parametrize("name", callers.NAMES)
def test_hooks_that_blocked_when_they_were_gone_are_replaced(name: str, place: InstallTarget) -> None:
    give_the_user_settings(name, place)
    before = contents(place)
    file_changes.apply(install.plan_connection(name, place, replace(LAUNCH, passes_when_gone=False)).changes)

    file_changes.apply(install.plan_connection(name, place, LAUNCH).changes)
    after_update = contents(place)
    file_changes.apply(install.plan_disconnection(name, place).changes)
    assert contents(place) == before

    file_changes.apply(install.plan_connection(name, place, LAUNCH).changes)
    assert after_update == contents(place)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    "program", [(sys.executable, "-I", "-S", "/gone/hivemind/hook.py"), ("/gone/python", "hook.py")]
)
def test_a_hook_that_is_gone_stops_no_agent(program: tuple[str, ...]) -> None:
    launches = [Launch(hook=program, passes_when_gone=passes) for passes in (True, False)]
    commands = [launch.build_hook_command("claude-code", "PreToolUse") for launch in launches]

    processes = [subprocess.run(command, shell=True, capture_output=True, check=False) for command in commands]

    assert [(process.returncode != 0, process.stdout) for process in processes] == [(False, b""), (True, b"")]


def test_what_the_user_had_is_kept_beside_ours(tmp_path: Path) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(COMMENTED)

    file_changes.apply(install.plan_connection("claude-code", InstallTarget(home=tmp_path), LAUNCH).changes)

    text = settings.read_text()
    stop = jsonc.get(text, ["hooks", "Stop"])
    assert stop[0]["hooks"][0]["command"] == "say done"
    assert stop[1]["hooks"][0]["command"].endswith("hook.py claude-code Stop || true")
    assert stop[1]["hooks"][0]["command"].startswith("'/opt/py thon/bin/python3' -I -S")
    assert "// my servers" in text
    server = jsonc.get((tmp_path / ".claude.json").read_text(), ["mcpServers", "hivemind"])
    assert server["alwaysLoad"] is True
    assert server["args"] == ["-m", "hivemind", "mcp"]


def test_what_the_user_changed_since_stays_when_we_leave(tmp_path: Path) -> None:
    place = InstallTarget(home=tmp_path)
    file_changes.apply(install.plan_connection("qwen", place, LAUNCH).changes)
    settings = tmp_path / ".qwen" / "settings.json"
    settings.write_text(
        jsonc.append(jsonc.put(settings.read_text(), ["theme"], "dark"), ["hooks", "Stop"], {"mine": 1})
    )

    file_changes.apply(install.plan_disconnection("qwen", place).changes)

    assert json.loads(settings.read_text()) == {"theme": "dark", "hooks": {"Stop": [{"mine": 1}]}}


def test_a_table_added_behind_ours_is_not_taken_along(tmp_path: Path) -> None:
    place = InstallTarget(home=tmp_path)
    config = tmp_path / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(TOML)
    file_changes.apply(install.plan_connection("codex", place, LAUNCH).changes)
    config.write_text(config.read_text() + '[projects."/x"]\ntrust_level = "trusted"\n')

    file_changes.apply(install.plan_disconnection("codex", place).changes)

    held = tomllib.loads(config.read_text())
    assert held["projects"] == {"/x": {"trust_level": "trusted"}}
    assert held["mcp_servers"] == {"mine": {"command": "mine"}}


def test_settings_that_are_broken_are_reported_and_left_alone(tmp_path: Path) -> None:
    settings = tmp_path / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"broken": ')

    plan = install.plan_connection("gemini", InstallTarget(home=tmp_path), LAUNCH)

    assert settings not in [change.path for change in plan.changes]
    assert any("not valid JSON" in problem for problem in plan.problems)


def test_a_hook_program_of_the_user_is_left_to_them(tmp_path: Path) -> None:
    own = tmp_path / ".cline" / "hooks" / "PostToolUse.sh"
    own.parent.mkdir(parents=True)
    own.write_text("#!/bin/sh\necho mine\n")
    place = InstallTarget(home=tmp_path)

    plan = install.plan_connection("cline", place, LAUNCH)
    file_changes.apply(plan.changes)
    file_changes.apply(install.plan_disconnection("cline", place).changes)

    assert any("PostToolUse.sh" in note for note in plan.notes)
    assert contents(InstallTarget(home=tmp_path / "home")) == {".cline/hooks/PostToolUse.sh": "#!/bin/sh\necho mine\n"}


def test_hook_programs_can_be_run(tmp_path: Path) -> None:
    file_changes.apply(install.plan_connection("cline", InstallTarget(home=tmp_path), LAUNCH).changes)

    program = tmp_path / ".cline" / "hooks" / "PostToolUse.sh"

    assert program.stat().st_mode & 0o111
    assert "cline PostToolUse" in program.read_text()


def test_codex_hooks_are_not_trusted_unless_the_user_asks(tmp_path: Path) -> None:
    place = InstallTarget(home=tmp_path)

    plan = install.plan_connection("codex", place, LAUNCH)
    file_changes.apply(plan.changes)
    health = install.check_health("codex", place)

    assert health.hooks
    assert health.trusted is False
    assert any("trust" in note for note in plan.notes)
    assert "trusted_hash" not in (tmp_path / ".codex" / "config.toml").read_text()


def test_codex_hooks_are_trusted_when_the_user_asks_and_not_after_a_change(tmp_path: Path) -> None:
    place = InstallTarget(home=tmp_path)
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text(TOML)

    file_changes.apply(install.plan_connection("codex", place, LAUNCH, trust=True).changes)
    trusted = install.check_health("codex", place).trusted
    moved = Launch(hook=("/new/python", "/new/hivemind/hook.py"), server=LAUNCH.server)
    file_changes.apply(install.plan_connection("codex", place, moved).changes)
    after_a_change = install.check_health("codex", place).trusted
    file_changes.apply(install.plan_disconnection("codex", place).changes)

    assert trusted is True
    assert after_a_change is False
    assert (tmp_path / ".codex" / "config.toml").read_text() == TOML


@pytest.mark.parametrize("text", ['{"broken": ', '{"hooks": {"Stop": 1}}'])
def test_hooks_of_codex_in_a_shape_of_their_own_are_left_alone_and_nothing_is_half_connected(
    text: str, tmp_path: Path
) -> None:
    place, hooks = InstallTarget(home=tmp_path), tmp_path / ".codex" / "hooks.json"
    hooks.parent.mkdir()
    hooks.write_text(text)

    plan = install.plan_connection("codex", place, LAUNCH, trust=True)

    assert plan.changes == ()
    assert [problem.split(": ")[0] for problem in plan.problems] == [str(hooks)]


@pytest.mark.parametrize("text", ['{"broken": ', '{"hooks": {"Stop": [1, {"hooks": 2}]}}'])
def test_a_settings_file_that_broke_later_does_not_keep_the_rest_from_leaving(text: str, tmp_path: Path) -> None:
    place, hooks = InstallTarget(home=tmp_path), tmp_path / ".codex" / "hooks.json"
    file_changes.apply(install.plan_connection("codex", place, LAUNCH).changes)
    hooks.write_text(text)

    health = install.check_health("codex", place)
    file_changes.apply(install.plan_disconnection("codex", place).changes)

    assert health.server
    assert not health.hooks
    assert contents(InstallTarget(home=tmp_path / "home")) == {".codex/hooks.json": text}


def test_a_fingerprint_is_the_hash_codex_would_make() -> None:
    hook = {"type": "command", "command": "x", "timeout": 30}

    fingerprint = codex.fingerprint("SessionEnd", {}, hook)

    told = '{"event_name":"session_end","hooks":[{"async":false,"command":"x","timeout":3,"type":"command"}]}'
    assert fingerprint == f"sha256:{hashlib.sha256(told.encode()).hexdigest()}"


@pytest.mark.parametrize("name", callers.NAMES)
def test_health_tells_connected_from_not(name: str, tmp_path: Path) -> None:
    place = InstallTarget(home=tmp_path)
    before = install.check_health(name, place)

    file_changes.apply(install.plan_connection(name, place, LAUNCH).changes)
    after = install.check_health(name, place)

    assert not before.server
    assert after.server
    assert not before.hooks
    assert after.hooks is (name != "zed")
    assert after.missing == ()


def test_a_hook_taken_away_is_named(tmp_path: Path) -> None:
    place = InstallTarget(home=tmp_path)
    file_changes.apply(install.plan_connection("claude-code", place, LAUNCH).changes)
    settings = tmp_path / ".claude" / "settings.json"
    settings.write_text(jsonc.remove(settings.read_text(), ["hooks", "Stop"]))

    health = install.check_health("claude-code", place)

    assert health.missing == ("Stop",)
    assert not health.hooks


def test_agents_are_found_by_what_they_keep_or_by_their_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / ("gemini.exe" if os.name == "nt" else "gemini")
    program.write_text("")
    program.chmod(0o755)
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".claude.json").write_text("{}")

    assert install.detect_agents(tmp_path) == ("claude-code", "codex", "gemini")


def test_a_file_changed_since_it_was_planned_for_is_left(tmp_path: Path) -> None:
    plan = install.plan_connection("cursor", InstallTarget(home=tmp_path), LAUNCH)
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text("{}")

    with pytest.raises(Refused):
        file_changes.apply(plan.changes)

    assert contents(InstallTarget(home=tmp_path / "home")) == {".cursor/mcp.json": "{}"}


def test_a_link_into_dotfiles_stays_a_link(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.json"
    target.write_text(COMMENTED)
    link = tmp_path / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(target)

    file_changes.apply(install.plan_connection("cursor", InstallTarget(home=tmp_path), LAUNCH).changes)

    assert link.is_symlink()
    assert "hivemind" in target.read_text()


@pytest.mark.parametrize(("text", "linked"), [(None, True), (b"", True), (b"\n", False), (b"\xef\xbb\xbf \r\n", False)])
@pytest.mark.parametrize("name", callers.NAMES)
def test_files_without_text_are_as_before_after_leaving(
    name: str, text: bytes | None, linked: bool, tmp_path: Path, record: Path
) -> None:
    place = InstallTarget(home=tmp_path / "home")
    (tmp_path / "dotfiles").mkdir()
    for number, change in enumerate(install.plan_connection(name, place, LAUNCH).changes):
        change.path.parent.mkdir(parents=True, exist_ok=True)
        file = tmp_path / "dotfiles" / str(number) if linked else change.path
        if linked:
            change.path.symlink_to(file)
        if text is not None:
            file.write_bytes(text)
    before = _list_files(tmp_path)

    file_changes.apply(install.plan_connection(name, place, LAUNCH).changes, record)
    connected = _list_files(tmp_path)
    file_changes.apply(install.plan_disconnection(name, place).changes, record)

    assert connected != before
    assert _list_files(tmp_path) == before


def _list_files(folder: Path) -> dict[Path, bytes | str]:
    paths = [path for path in folder.rglob("*") if path.is_symlink() or path.is_file()]
    return {path: str(path.readlink()) if path.is_symlink() else path.read_bytes() for path in paths}


def test_a_change_is_shown_as_a_diff(tmp_path: Path) -> None:
    plan = install.plan_connection("cursor", InstallTarget(home=tmp_path), LAUNCH)

    shown = file_changes.render_diff(plan.changes[0])

    assert "+++ " in shown
    assert '+    "hivemind": {' in shown


@pytest.mark.parametrize(
    "text",
    [
        "name: mine\n",
        "name: mine",
        "",
        "mcpServers:\n  - name: mine\n    command: mine\n",
        "mcpServers: # all of them\n\n  # one\n  - name: mine\n    command: mine",
        "mcpServers:\n- name: mine\n  command: mine\nmodels:\n- name: m\n",
    ],
)
def test_an_item_in_yaml_comes_out_as_it_went_in(text: str, tmp_path: Path) -> None:
    config = tmp_path / ".continue" / "config.yaml"
    config.parent.mkdir()
    config.write_text(text)
    place = InstallTarget(home=tmp_path)

    file_changes.apply(install.plan_connection("continue", place, LAUNCH).changes)
    connected = config.read_text()
    file_changes.apply(install.plan_disconnection("continue", place).changes)

    assert "- name: hivemind\n" in connected
    assert (config.read_text() if config.exists() else "") == text


def test_a_list_on_one_line_of_yaml_is_left_to_the_user(tmp_path: Path) -> None:
    config = tmp_path / ".continue" / "config.yaml"
    config.parent.mkdir()
    config.write_text("mcpServers: [{name: mine}]\n")

    plan = install.plan_connection("continue", InstallTarget(home=tmp_path), LAUNCH)

    assert config not in [change.path for change in plan.changes]
    assert any("by hand" in problem for problem in plan.problems)


COMMANDS = {"remember", "recall", "review-memories", "forget"}


@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize(
    "name", ["claude-code", "codex", "gemini", "qwen", "opencode", "cursor", "copilot", "continue", "windsurf"]
)
def test_the_commands_are_written_in_a_form_that_parses(name: str, project: bool, tmp_path: Path) -> None:
    place = InstallTarget(home=tmp_path, project=tmp_path / "project" if project else None)
    changes = install.plan_connection(name, place, LAUNCH).changes
    files = {change.path: change.after or "" for change in changes if change.purposes == ("commands",)}

    assert {path.parent.name if path.name == "SKILL.md" else path.stem for path in files} == COMMANDS
    for path, text in files.items():
        assert "hivemind" in text
        if path.suffix == ".toml":
            assert set(tomllib.loads(text)) == {"description", "prompt"}
        elif text.startswith("---\n"):
            fields = text.split("---\n")[1].splitlines()[1:]
            assert all(json.loads(field.partition(": ")[2]) for field in fields)


def test_a_command_passes_the_words_of_the_user_on_in_the_form_of_its_agent(tmp_path: Path) -> None:
    for name, placeholder in (("claude-code", "$ARGUMENTS"), ("gemini", "{{args}}"), ("cursor", "")):
        changes = install.plan_connection(name, InstallTarget(home=tmp_path), LAUNCH).changes
        command = next(change.after or "" for change in changes if change.path.stem == "recall")
        used = [mark for mark in ("$ARGUMENTS", "{{args}}") if mark in command]
        assert used == ([placeholder] if placeholder else [])


def connect_claude(home: Path) -> InstallPlan:
    plan = install.plan_connection("claude-code", InstallTarget(home=home), LAUNCH)
    file_changes.apply(plan.changes)
    return plan


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """Settings of Claude Code as a user left them."""
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(COMMENTED)
    return settings


def test_a_byte_order_mark_stays_and_does_not_keep_us_out(settings: Path, tmp_path: Path) -> None:
    before = codecs.BOM_UTF8 + COMMENTED.encode()
    settings.write_bytes(before)

    plan = connect_claude(tmp_path)
    connected = settings.read_bytes()
    file_changes.apply(install.plan_disconnection("claude-code", InstallTarget(home=tmp_path)).changes)

    assert plan.problems == ()
    assert connected.startswith(codecs.BOM_UTF8)
    assert connected.count(codecs.BOM_UTF8) == 1
    assert b"SessionStart" in connected
    assert settings.read_bytes() == before


def test_an_error_in_json_is_named_by_line_and_column_of_the_file(settings: Path, tmp_path: Path) -> None:
    settings.write_text('{\n  // a comment\n  "theme": "dark"\n  "model": "o9"\n}\n')

    assert "line 4 column 3" in connect_claude(tmp_path).problems[0]


@pytest.mark.parametrize("is_linked", [False, True])
def test_a_read_only_file_is_not_replaced_and_nothing_is_half_connected(
    settings: Path, tmp_path: Path, *, is_linked: bool
) -> None:
    if is_linked:
        settings = settings.rename(tmp_path / "store.json")
        (tmp_path / ".claude" / "settings.json").symlink_to(settings)
    settings.chmod(0o444)

    plan = connect_claude(tmp_path)
    settings.chmod(0o644)
    later = connect_claude(tmp_path)

    assert plan.changes == ()
    assert plan.problems[0].startswith(f"{settings} is read-only; make it writable")
    assert later.problems == ()
    assert "SessionStart" in settings.read_text()


def test_a_read_only_directory_is_a_problem_before_anything_is_written(settings: Path, tmp_path: Path) -> None:
    settings.parent.chmod(0o555)
    plan = connect_claude(tmp_path)
    settings.parent.chmod(0o755)

    assert plan.problems[0].startswith(f"{settings.parent} is read-only")
    assert not (tmp_path / ".claude.json").exists()


def test_a_file_in_the_place_of_a_directory_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / ".claude").write_text("")

    assert connect_claude(tmp_path).problems[0].startswith(f"{tmp_path / '.claude'} is not a directory")


def test_a_directory_in_the_place_of_a_file_is_a_problem(settings: Path, tmp_path: Path) -> None:
    settings.unlink()
    settings.mkdir()

    assert "cannot be read" in connect_claude(tmp_path).problems[0]
    assert install.check_health("claude-code", InstallTarget(home=tmp_path)).problems


def test_text_in_another_encoding_is_a_problem_of_that_agent_alone(settings: Path, tmp_path: Path) -> None:
    settings.write_bytes('{"name": "José"}'.encode("latin-1"))

    assert "is not UTF-8 text" in connect_claude(tmp_path).problems[0]
    assert install.plan_connection("codex", InstallTarget(home=tmp_path), LAUNCH).changes


def test_what_was_written_is_taken_back_when_a_later_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("mine")
    changes = [
        file_changes.FileChange(path=tmp_path / "a.json", before="mine", after="ours"),
        file_changes.FileChange(path=tmp_path / "new.json", before=None, after="ours"),
        # A name that no file system takes.
        file_changes.FileChange(path=tmp_path / ("x" * 300), before=None, after="ours"),
    ]

    with pytest.raises((Unavailable, InvalidInput)):
        file_changes.apply(changes)

    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.json": "mine"}


def test_cursor_gets_a_rule_in_a_project_alone_and_no_memory_stands_in_it(tmp_path: Path) -> None:
    def list_rules(target: InstallTarget) -> list[str]:
        changes = install.plan_connection("cursor", target, LAUNCH).changes
        return [change.after or "" for change in changes if change.path.suffix == ".mdc"]

    (rule,) = list_rules(InstallTarget(home=tmp_path, project=tmp_path / "project"))

    assert rule.startswith("---\n")
    assert "\nalwaysApply: true\n" in rule
    assert "`context`" in rule
    assert list_rules(InstallTarget(home=tmp_path)) == []
