"""Machines that exchange through a git repository: a real one, over file://."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hivemind.errors import Unavailable
from hivemind.sync.folders import open_folder
from tests.conftest import git
from tests.sync.machines import Machines, find_place, list_texts, set_up, sync_all


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    bare = tmp_path / "memory.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(bare)], check=True)
    return bare


def test_three_machines_know_the_same_through_a_repository(machine: Machines, repository: Path) -> None:
    laptop, desktop, cloud = machine("laptop"), machine("desktop"), machine("cloud")
    laptop.remember("Deploys run from main only")
    phrase = set_up(laptop, f"file://{repository}", "laptop")
    set_up(desktop, f"file://{repository}", "desktop", phrase)
    desktop.remember("The API listens on port 8080")
    desktop.devices.sync()
    set_up(cloud, f"file://{repository}", "cloud", phrase)
    cloud.remember("I prefer tabs")

    sync_all(cloud, laptop, desktop)

    expected = {"Deploys run from main only", "The API listens on port 8080", "I prefer tabs"}
    assert list_texts(laptop) == list_texts(desktop) == list_texts(cloud) == expected
    assert {one.unread for one in laptop.devices.status().machines} == {0}


def test_an_exchange_without_news_makes_no_commit(machine: Machines, repository: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    set_up(desktop, f"file://{repository}", "desktop", set_up(laptop, f"file://{repository}", "laptop"))
    sync_all(laptop, desktop)
    before = git(repository, "rev-parse", "main")

    sync_all(laptop, desktop)

    assert git(repository, "rev-parse", "main") == before


def list_objects(copy: Path) -> set[str]:
    """Return the ids of all objects in a repository, reachable or not."""
    return set(git(copy, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split())


def test_an_erasure_leaves_no_old_file_in_the_history(machine: Machines, repository: Path, tmp_path: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    address = f"file://{repository}"
    set_up(desktop, address, "desktop", set_up(laptop, address, "laptop"))
    memory = laptop.remember("The launch codename is Zanzibar-77")
    sync_all(laptop, desktop)
    segments = {line.split()[2] for line in git(repository, "ls-tree", "-r", "main").splitlines() if "head" not in line}
    clones = [tmp_path / name / "devices" for name in ("laptop", "desktop")]
    assert all(segments <= list_objects(clone) for clone in clones)

    receipt = laptop.devices.carry(laptop.erase(memory.id))
    sync_all(desktop, laptop)

    assert find_place(receipt, address) == "done"
    assert find_place(receipt, f"host of {address}") == "outside"
    assert find_place(laptop.erasures.receipt(memory.id), "machine desktop") == "done"
    current = {line.split()[2] for line in git(repository, "ls-tree", "-r", "main").splitlines()}
    old_segments = segments - current
    reachable = {line.split()[0] for line in git(repository, "rev-list", "--objects", "--all").splitlines()}
    assert old_segments
    assert not old_segments & reachable
    assert not any(old_segments & list_objects(clone) for clone in clones)
    assert list_texts(desktop) == set()


def test_two_machines_may_push_at_the_same_time(machine: Machines, repository: Path, tmp_path: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    address = f"file://{repository}"
    set_up(desktop, address, "desktop", set_up(laptop, address, "laptop"))
    desktop.remember("Said on the desktop")

    with open_folder(address, tmp_path / "third") as folder:
        folder.write("another/head", b"of a machine that was slower")
        desktop.devices.sync()

    files = git(repository, "ls-tree", "-r", "--name-only", "main").splitlines()
    assert "another/head" in files
    laptop.devices.sync()
    assert list_texts(laptop) == {"Said on the desktop"}


def test_a_repository_that_does_not_answer_is_named_and_nothing_is_lost(
    machine: Machines, repository: Path, tmp_path: Path
) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    address = f"file://{repository}"
    phrase = set_up(laptop, address, "laptop")
    repository.rename(tmp_path / "away")
    laptop.remember("Deploys run from main only")

    with pytest.raises(Unavailable, match="ls-remote"):
        laptop.devices.sync()

    (tmp_path / "away").rename(repository)
    laptop.devices.sync()
    set_up(desktop, address, "desktop", phrase)
    assert list_texts(desktop) == {"Deploys run from main only"}


def test_a_push_that_fails_is_repeated_by_the_next_exchange(machine: Machines, repository: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    address = f"file://{repository}"
    set_up(desktop, address, "desktop", set_up(laptop, address, "laptop"))
    hook = repository / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    laptop.remember("Deploys run from main only")
    with pytest.raises(Unavailable, match="push"):
        laptop.devices.sync()

    hook.unlink()
    sync_all(laptop, desktop)

    assert list_texts(desktop) == {"Deploys run from main only"}


def test_a_branch_that_was_deleted_is_written_again(machine: Machines, repository: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    address = f"file://{repository}"
    set_up(desktop, address, "desktop", set_up(laptop, address, "laptop"))
    laptop.remember("Deploys run from main only")
    sync_all(laptop, desktop)

    git(repository, "update-ref", "-d", "refs/heads/main")
    desktop.remember("Said after the branch was deleted")
    sync_all(desktop, laptop)

    assert list_texts(laptop) == {"Deploys run from main only", "Said after the branch was deleted"}
    assert git(repository, "rev-list", "--count", "main")


@pytest.mark.parametrize("has_readme", [False, True])
def test_a_repository_that_was_created_again_is_filled_again(
    machine: Machines, repository: Path, has_readme: bool, tmp_path: Path
) -> None:
    laptop, desktop, cloud = machine("laptop"), machine("desktop"), machine("cloud")
    address = f"file://{repository}"
    set_up(desktop, address, "desktop", set_up(laptop, address, "laptop"))
    laptop.remember("Deploys run from main only")
    sync_all(laptop, desktop)

    shutil.rmtree(repository)
    subprocess.run(["git", "init", "--quiet", "--bare", str(repository)], check=True)
    if has_readme:
        # As a host makes it that was asked for a first file.
        with open_folder(address, tmp_path / "host") as folder:
            (folder.root / "README.md").write_text("memory")
    desktop.remember("Said after the repository was lost")
    sync_all(desktop, laptop)
    set_up(cloud, address, "cloud", laptop.devices.phrase())

    expected = {"Deploys run from main only", "Said after the repository was lost"}
    assert list_texts(laptop) == list_texts(desktop) == list_texts(cloud) == expected
