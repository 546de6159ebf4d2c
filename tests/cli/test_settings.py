"""One file of the user's, and the environment; nothing from a repository, nothing from an agent."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from hivemind.errors import InvalidInput
from hivemind.settings import FILE_ONLY, Settings, read_meanings
from tests.command_line import run, run_json

HOSTILE = "recall_limit = 77\nagents_may_review = true\n"


def listed() -> dict[str, tuple[object, str]]:
    return {one["name"]: (one["value"], one["origin"]) for one in run_json("config", "list")}


def test_a_setting_is_set_shown_with_its_origin_and_unset_again(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    assert listed()["recall_limit"] == (5, "default")

    assert run("config", "set", "recall_limit", "8").exit_code == 0
    assert listed()["recall_limit"] == (8, "file")
    assert run("config", "path").stdout.strip() == str(home / "config.toml")

    monkeypatch.setenv("HIVEMIND_RECALL_LIMIT", "9")
    assert listed()["recall_limit"] == (9, "environment")
    assert "The environment overrides it" in run("config", "set", "recall_limit", "7").stderr
    monkeypatch.delenv("HIVEMIND_RECALL_LIMIT")

    assert run("config", "get", "recall_limit").stdout == "7\n"
    assert run("config", "unset", "recall_limit").exit_code == 0
    assert run("config", "get", "recall_limit").stdout == "5\n"


def test_to_set_one_leaves_the_others_and_what_people_wrote_beside_them(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text('# mine\nperson = "Ada"\nrecall_limit = 3\n')

    run("config", "set", "recall_limit", "4")

    assert (home / "config.toml").read_text() == '# mine\nperson = "Ada"\nrecall_limit = 4\n'


def test_every_setting_has_a_meaning_and_counts_from_the_environment_unless_it_gives_rights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    samples: dict[type, tuple[str, object]] = {bool: ("yes", True), int: ("3", 3), str: ("other", "other")}
    names = [field.name for field in fields(Settings) if field.name != "home"]
    usual = Settings.load({})
    wanted = {name: samples[type(getattr(usual, name))] for name in names} | {
        "unasked": ("nothing", "nothing"),
        "hear": ("off", "off"),
    }

    loaded = Settings.load({f"HIVEMIND_{name.upper()}": written for name, (written, _) in wanted.items()})

    assert set(read_meanings()) == {*names, "home"}
    for name in names:
        expected = getattr(usual, name) if name in FILE_ONLY else wanted[name][1]
        assert getattr(loaded, name) == expected


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["get", "recal_limit"], "Did you mean recall_limit"),
        (["set", "keep_dayz", "3"], "Did you mean keep_days"),
        (["set", "recall_limit", "many"], "number"),
        (["set", "agents_may_review", "perhaps"], "either true or false"),
    ],
)
def test_what_cannot_be_set_is_refused_with_a_way_to_mend_it(typed: list[str], told: str, home: Path) -> None:
    done = run("config", *typed)

    assert done.exit_code == 2
    assert told in done.stderr
    assert not (home / "config.toml").exists()


def test_a_file_with_a_mistake_says_how_to_mend_it_and_can_be_mended(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("recal_limit = 3\n")

    broken = run("list")
    run("config", "unset", "recal_limit")

    assert broken.exit_code == 2
    assert "hivemind config unset recal_limit" in broken.stderr
    assert "Did you mean recall_limit" in broken.stderr
    assert run("list").exit_code == 0
    with pytest.raises(InvalidInput, match="HIVEMIND_KEEP_DAYS"):
        Settings.load({"HIVEMIND_KEEP_DAYS": "-1"})


def test_nothing_is_read_from_a_repository(
    make_repository: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    root = make_repository("hostile")
    for name in ("config.toml", "hivemind.toml", ".hivemind.toml", ".hivemind/config.toml", "hivemind/config.toml"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(HOSTILE)
    (root / "pyproject.toml").write_text("[tool.hivemind]\n" + HOSTILE)
    (root / ".env").write_text("HIVEMIND_RECALL_LIMIT=77\nHIVEMIND_AGENTS_MAY_REVIEW=true\n")
    monkeypatch.chdir(root)

    there = listed()
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(HOSTILE)
    at_home = listed()

    assert there["recall_limit"] == (5, "default")
    assert there["agents_may_review"] == (False, "default")
    assert at_home["recall_limit"] == (77, "file")
    assert at_home["agents_may_review"] == (True, "file")


def test_an_agent_can_neither_change_settings_nor_grant_itself_rights(monkeypatch: pytest.MonkeyPatch) -> None:
    run("remember", "API port is 8080", "--propose")
    known = run_json("list", "--status", "proposed")[0]["id"]
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("HIVEMIND_AGENTS_MAY_REVIEW", "true")

    changed = run("config", "set", "agents_may_review", "true")
    approved = run("approve", known)
    monkeypatch.delenv("CLAUDECODE")
    by_a_person = run("config", "set", "agents_may_review", "true")

    assert (changed.exit_code, approved.exit_code) == (4, 4)
    assert by_a_person.exit_code == 0
    assert listed()["agents_may_review"] == (True, "file")
