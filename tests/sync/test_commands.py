"""`hivemind sync` as it is typed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hivemind.paths import has_sync
from tests.command_line import run, run_json

At = Callable[[str], None]


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> At:
    """Return a function that goes to a machine by its name."""
    return lambda name: monkeypatch.setenv("HIVEMIND_HOME", str(tmp_path / name))


def test_two_machines_share_by_two_commands(at: At, tmp_path: Path) -> None:
    folder = str(tmp_path / "folder")
    at("laptop")
    run("remember", "Deploys run from main only")
    output = run("sync", "setup", folder, "--name", "laptop", stdin="y\n").output
    assert "1 memory of scope user and project" in output
    assert "The phrase for your other machines" in output
    phrase = run_json("sync", "phrase")["phrase"]
    assert phrase in output

    at("desktop")
    result = run("sync", "setup", folder, "--name", "desktop", stdin=f"y\n{phrase}\n")

    assert result.exit_code == 0, result.output
    assert phrase not in result.output.replace(f"{phrase}\n", "", 1)
    assert "Deploys run from main only" in run("list").output
    assert "Your machines: 0 entries received" in run("sync").output
    assert "laptop" in run("sync", "devices").output
    assert "this machine desktop" in run("sync", "status").output


def test_saying_no_sends_nothing(at: At, tmp_path: Path) -> None:
    at("laptop")
    run("remember", "Deploys run from main only")

    assert run("sync", "setup", str(tmp_path / "folder"), stdin="n\n").exit_code != 0

    assert list((tmp_path / "folder").rglob("*")) == []
    assert "shares no folder" in run("sync").output


def test_a_folder_without_a_name_is_not_the_current_one(at: At) -> None:
    at("laptop")

    refused = run("sync", "setup", "", "--yes")

    assert refused.exit_code == 2
    assert "shares no folder" in run("sync").output


def test_a_setup_says_who_uses_the_folder(at: At, tmp_path: Path) -> None:
    outputs = []
    for name, answer in (("laptop", "y"), ("laptop", "y"), ("desktop", "n")):
        at(name)
        outputs.append(run("sync", "setup", str(tmp_path / "folder"), stdin=f"{answer}\n").output)

    assert ["first machine" in text for text in outputs] == [True, False, False]
    assert ["This machine shares it" in text for text in outputs] == [False, True, False]
    assert ["Another machine uses it" in text for text in outputs] == [False, False, True]


def test_hooks_exchange_once_a_folder_is_shared(at: At, tmp_path: Path) -> None:
    at("laptop")
    run("remember", "Deploys run from main only")
    assert not has_sync(str(tmp_path / "laptop"))

    run("sync", "setup", str(tmp_path / "folder"), "--yes")
    assert has_sync(str(tmp_path / "laptop"))

    run("sync", "leave", "--yes")
    assert not has_sync(str(tmp_path / "laptop"))


def test_the_state_with_the_keys_is_for_its_owner_alone(at: At, tmp_path: Path) -> None:
    at("laptop")
    run("sync", "setup", str(tmp_path / "folder"), "--yes")

    assert (tmp_path / "laptop" / "devices.json").stat().st_mode & 0o777 == 0o600


def test_erasing_tells_which_machines_have_confirmed(at: At, tmp_path: Path) -> None:
    at("laptop")
    memory = run_json("remember", "The launch codename is Zanzibar-77")["id"]
    phrase = run_json("sync", "setup", str(tmp_path / "folder"), "--name", "laptop")["phrase"]
    at("desktop")
    run("sync", "setup", str(tmp_path / "folder"), "--name", "desktop", "--phrase", phrase, "--yes")
    at("laptop")
    run("sync")

    receipt = run("erase", memory, "--yes")
    assert receipt.exit_code == 0

    at("desktop")
    run("sync")
    at("laptop")
    confirmed = run("erase", memory, "--yes")
    assert confirmed.exit_code == 0, confirmed.output
    assert "machine desktop\tpending" in receipt.output
    assert "machine desktop\tdone" in confirmed.output


def test_removing_shows_a_new_phrase(at: At, tmp_path: Path) -> None:
    at("laptop")
    phrase = run_json("sync", "setup", str(tmp_path / "folder"), "--name", "laptop")["phrase"]
    at("desktop")
    run("sync", "setup", str(tmp_path / "folder"), "--name", "desktop", "--phrase", phrase, "--yes")
    at("laptop")
    run("sync")

    assert run_json("sync", "devices", "remove", "desktop")["phrase"] != phrase

    at("desktop")
    assert "newer key" in run("sync").output


def test_pausing_is_said_and_resumed(at: At, tmp_path: Path) -> None:
    at("laptop")
    run("sync", "setup", str(tmp_path / "folder"), "--yes")
    run("sync", "pause")
    assert "paused" in run("sync").output
    assert "paused" in run("sync", "status").output

    run("sync", "resume")
    assert run("sync").exit_code == 0
