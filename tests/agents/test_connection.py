"""Connecting every agent, twice, and taking it back: on real files, with what users keep in them."""

import hashlib
import json
import tomllib
from pathlib import Path

import pytest

from hivemind import agents
from hivemind.agents import codex, connection, file_changes, jsonc
from hivemind.agents.config_entries import InstallTarget, Launch
from hivemind.errors import Refused

LAUNCH = Launch(
    hook=("/opt/py thon/bin/python3", "-I", "-S", "/opt/hivemind/hook.py"),
    server=("/opt/py thon/bin/python3", "-m", "hivemind", "mcp"),
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


def contents(place: InstallTarget) -> dict[str, str]:
    top = place.home.parent
    return {str(path.relative_to(top)): path.read_text() for path in sorted(top.rglob("*")) if path.is_file()}


MINIFIED = json.dumps(jsonc.load(COMMENTED), separators=(",", ":"))
LAYOUTS = {"commented": COMMENTED, "minified": MINIFIED, "empty": "{}", "spread": "{\n}\n", "tabs": '{\n\t"a": {}\n}'}


def give_the_user_settings(name: str, place: InstallTarget, layout: str = COMMENTED) -> None:
    for piece in agents.get_agent(name).build_pieces(place, LAUNCH):
        is_shared = piece.path.suffix != ".sh" and "hivemind" not in piece.path.name and piece.path.name != "SKILL.md"
        if is_shared:
            piece.path.parent.mkdir(parents=True, exist_ok=True)
            piece.path.write_text({**USERS, ".json": layout, ".jsonc": layout}[piece.path.suffix])


@pytest.mark.parametrize("name", agents.NAMES)
def test_a_fresh_home_is_as_before_after_leaving(name: str, place: InstallTarget) -> None:
    file_changes.apply(connection.plan_install(name, place, LAUNCH).changes)
    connected = contents(place)

    file_changes.apply(connection.plan_uninstall(name, place).changes)

    assert connected
    assert contents(place) == {}
    assert [path.name for path in place.root.iterdir()] == []


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", agents.NAMES)
def test_settings_of_the_user_are_as_before_after_leaving(name: str, layout: str, place: InstallTarget) -> None:
    give_the_user_settings(name, place, LAYOUTS[layout])
    before = contents(place)

    file_changes.apply(connection.plan_install(name, place, LAUNCH).changes)
    connected = contents(place)
    file_changes.apply(connection.plan_uninstall(name, place).changes)

    assert connected != before
    assert contents(place) == before


@pytest.mark.parametrize("name", agents.NAMES)
def test_connecting_twice_changes_nothing_the_second_time(name: str, place: InstallTarget) -> None:
    give_the_user_settings(name, place)
    file_changes.apply(connection.plan_install(name, place, LAUNCH).changes)

    again = connection.plan_install(name, place, LAUNCH)

    assert again.changes == ()


@pytest.mark.parametrize("name", agents.NAMES)
def test_a_new_interpreter_replaces_the_old_one(name: str, place: InstallTarget) -> None:
    give_the_user_settings(name, place)
    before = contents(place)
    file_changes.apply(connection.plan_install(name, place, LAUNCH).changes)
    moved = Launch(hook=("/new/python", "/new/hivemind/hook.py"), server=("/new/python", "-m", "hivemind", "mcp"))

    file_changes.apply(connection.plan_install(name, place, moved).changes)
    now = "".join(contents(place).values())
    file_changes.apply(connection.plan_uninstall(name, place).changes)

    assert "/opt/py" not in now
    assert "/new/python" in now or name == "windsurf"
    assert contents(place) == before


def test_what_the_user_had_is_kept_beside_ours(tmp_path: Path) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(COMMENTED)

    file_changes.apply(connection.plan_install("claude-code", InstallTarget(home=tmp_path), LAUNCH).changes)

    text = settings.read_text()
    stop = jsonc.get(text, ["hooks", "Stop"])
    assert stop[0]["hooks"][0]["command"] == "say done"
    assert stop[1]["hooks"][0]["command"].endswith("hook.py claude-code Stop")
    assert stop[1]["hooks"][0]["command"].startswith("'/opt/py thon/bin/python3' -I -S")
    assert "// my servers" in text
    server = jsonc.get((tmp_path / ".claude.json").read_text(), ["mcpServers", "hivemind"])
    assert server["alwaysLoad"] is True
    assert server["args"] == ["-m", "hivemind", "mcp"]


def test_what_the_user_changed_since_stays_when_we_leave(tmp_path: Path) -> None:
    place = InstallTarget(home=tmp_path)
    file_changes.apply(connection.plan_install("qwen", place, LAUNCH).changes)
    settings = tmp_path / ".qwen" / "settings.json"
    settings.write_text(
        jsonc.append(jsonc.put(settings.read_text(), ["theme"], "dark"), ["hooks", "Stop"], {"mine": 1})
    )

    file_changes.apply(connection.plan_uninstall("qwen", place).changes)

    assert json.loads(settings.read_text()) == {"theme": "dark", "hooks": {"Stop": [{"mine": 1}]}}


def test_a_table_added_behind_ours_is_not_taken_along(tmp_path: Path) -> None:
    place = InstallTarget(home=tmp_path)
    config = tmp_path / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(TOML)
    file_changes.apply(connection.plan_install("codex", place, LAUNCH).changes)
    config.write_text(config.read_text() + '[projects."/x"]\ntrust_level = "trusted"\n')

    file_changes.apply(connection.plan_uninstall("codex", place).changes)

    held = tomllib.loads(config.read_text())
    assert held["projects"] == {"/x": {"trust_level": "trusted"}}
    assert held["mcp_servers"] == {"mine": {"command": "mine"}}


def test_settings_that_are_broken_are_reported_and_left_alone(tmp_path: Path) -> None:
    settings = tmp_path / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"broken": ')

    plan = connection.plan_install("gemini", InstallTarget(home=tmp_path), LAUNCH)

    assert plan.changes == ()
    assert any("not valid JSON" in note for note in plan.notes)


def test_a_hook_program_of_the_user_is_left_to_them(tmp_path: Path) -> None:
    own = tmp_path / ".cline" / "hooks" / "PostToolUse.sh"
    own.parent.mkdir(parents=True)
    own.write_text("#!/bin/sh\necho mine\n")
    place = InstallTarget(home=tmp_path)

    plan = connection.plan_install("cline", place, LAUNCH)
    file_changes.apply(plan.changes)
    file_changes.apply(connection.plan_uninstall("cline", place).changes)

    assert any("PostToolUse.sh" in note for note in plan.notes)
    assert contents(InstallTarget(home=tmp_path / "home")) == {".cline/hooks/PostToolUse.sh": "#!/bin/sh\necho mine\n"}


def test_hook_programs_can_be_run(tmp_path: Path) -> None:
    file_changes.apply(connection.plan_install("cline", InstallTarget(home=tmp_path), LAUNCH).changes)

    program = tmp_path / ".cline" / "hooks" / "PostToolUse.sh"

    assert program.stat().st_mode & 0o111
    assert "cline PostToolUse" in program.read_text()


def test_codex_hooks_are_not_trusted_unless_the_user_asks(tmp_path: Path) -> None:
    place = InstallTarget(home=tmp_path)

    plan = connection.plan_install("codex", place, LAUNCH)
    file_changes.apply(plan.changes)
    health = connection.check_health("codex", place)

    assert health.hooks
    assert health.trusted is False
    assert any("trust" in note for note in plan.notes)
    assert "trusted_hash" not in (tmp_path / ".codex" / "config.toml").read_text()


def test_codex_hooks_are_trusted_when_the_user_asks_and_not_after_a_change(tmp_path: Path) -> None:
    place = InstallTarget(home=tmp_path)
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text(TOML)

    file_changes.apply(connection.plan_install("codex", place, LAUNCH, trust=True).changes)
    trusted = connection.check_health("codex", place).trusted
    moved = Launch(hook=("/new/python", "/new/hivemind/hook.py"), server=LAUNCH.server)
    file_changes.apply(connection.plan_install("codex", place, moved).changes)
    after_a_change = connection.check_health("codex", place).trusted
    file_changes.apply(connection.plan_uninstall("codex", place).changes)

    assert trusted is True
    assert after_a_change is False
    assert (tmp_path / ".codex" / "config.toml").read_text() == TOML


@pytest.mark.parametrize("text", ['{"broken": ', '{"hooks": {"Stop": 1}}', '{"hooks": {"Stop": [1, {"hooks": 2}]}}'])
def test_hooks_of_codex_in_a_shape_of_their_own_are_left_alone_and_keep_nothing_from_leaving(
    text: str, tmp_path: Path
) -> None:
    place, hooks = InstallTarget(home=tmp_path), tmp_path / ".codex" / "hooks.json"
    hooks.parent.mkdir()
    hooks.write_text(text)

    file_changes.apply(connection.plan_install("codex", place, LAUNCH, trust=True).changes)
    connected = connection.check_health("codex", place)
    file_changes.apply(connection.plan_uninstall("codex", place).changes)

    assert connected.server
    assert contents(InstallTarget(home=tmp_path / "home")) == {".codex/hooks.json": text}


def test_a_fingerprint_is_the_hash_codex_would_make() -> None:
    hook = {"type": "command", "command": "x", "timeout": 30}

    fingerprint = codex.fingerprint("SessionEnd", {}, hook)

    told = '{"event_name":"session_end","hooks":[{"async":false,"command":"x","timeout":3,"type":"command"}]}'
    assert fingerprint == f"sha256:{hashlib.sha256(told.encode()).hexdigest()}"


@pytest.mark.parametrize("name", agents.NAMES)
def test_health_tells_connected_from_not(name: str, tmp_path: Path) -> None:
    place = InstallTarget(home=tmp_path)
    before = connection.check_health(name, place)

    file_changes.apply(connection.plan_install(name, place, LAUNCH).changes)
    after = connection.check_health(name, place)

    assert not before.server
    assert after.server
    assert not before.hooks
    assert after.hooks is (name != "zed")
    assert after.missing == ()


def test_a_hook_taken_away_is_named(tmp_path: Path) -> None:
    place = InstallTarget(home=tmp_path)
    file_changes.apply(connection.plan_install("claude-code", place, LAUNCH).changes)
    settings = tmp_path / ".claude" / "settings.json"
    settings.write_text(jsonc.remove(settings.read_text(), ["hooks", "Stop"]))

    health = connection.check_health("claude-code", place)

    assert health.missing == ("Stop",)
    assert not health.hooks


def test_agents_are_found_by_what_they_keep(tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".claude.json").write_text("{}")

    assert connection.detect(tmp_path) == ("claude-code", "codex")


def test_a_file_changed_since_it_was_planned_for_is_left(tmp_path: Path) -> None:
    plan = connection.plan_install("cursor", InstallTarget(home=tmp_path), LAUNCH)
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

    file_changes.apply(connection.plan_install("cursor", InstallTarget(home=tmp_path), LAUNCH).changes)

    assert link.is_symlink()
    assert "hivemind" in target.read_text()


def test_a_change_is_shown_as_a_diff(tmp_path: Path) -> None:
    plan = connection.plan_install("cursor", InstallTarget(home=tmp_path), LAUNCH)

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

    file_changes.apply(connection.plan_install("continue", place, LAUNCH).changes)
    connected = config.read_text()
    file_changes.apply(connection.plan_uninstall("continue", place).changes)

    assert "- name: hivemind\n" in connected
    assert (config.read_text() if config.exists() else "") == text


def test_a_list_on_one_line_of_yaml_is_left_to_the_user(tmp_path: Path) -> None:
    config = tmp_path / ".continue" / "config.yaml"
    config.parent.mkdir()
    config.write_text("mcpServers: [{name: mine}]\n")

    plan = connection.plan_install("continue", InstallTarget(home=tmp_path), LAUNCH)

    assert config not in [change.path for change in plan.changes]
    assert any("by hand" in note for note in plan.notes)
