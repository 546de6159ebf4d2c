"""A person's machines exchange their memories through a folder. Names are the promises users are given."""

import re
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hivemind import Scope
from hivemind.errors import InvalidInput, NotFound, Refused, Unavailable
from hivemind.model.events import MemoryRemembered, ObservationMade
from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Kind, Status
from hivemind.model.session import ObservationKind
from hivemind.store import backup, sync_state
from hivemind.sync.devices import Choices, Farewell
from hivemind.viewer import build
from hivemind.viewer.local import make_site
from tests.command_line import residue
from tests.conftest import AGENT
from tests.sync.machines import Machines, assert_chains_verify, find_place, list_files, list_texts, set_up, sync_all

# -- setting up ------------------------------------------------------------------------------------


def test_a_second_machine_knows_everything_after_its_setup(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    laptop.remember("Deploys run from main only", tags=["deploy"])
    laptop.remember("I prefer tabs", scope=Scope.USER)
    phrase = set_up(laptop, folder, "laptop")

    set_up(desktop, folder, "desktop", phrase)

    assert list_texts(desktop) == {"Deploys run from main only", "I prefer tabs"}
    assert_chains_verify(laptop, desktop)


def test_what_each_machine_learns_and_decides_reaches_the_others(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))
    memory = laptop.remember("The API listens on port 8080")
    sync_all(laptop, desktop)

    desktop.edit(memory.id, "The API listens on port 9090")
    desktop.tag(memory.id, ["api"])
    sync_all(desktop, laptop)
    laptop.forget(memory.id)
    sync_all(laptop, desktop)

    assert laptop.show(memory.id) == desktop.show(memory.id)
    assert desktop.show(memory.id).status is Status.RETRACTED
    assert desktop.show(memory.id).text == "The API listens on port 9090"


def test_a_memory_is_unsent_until_the_next_sync_but_a_question_is_not(machine: Machines, folder: Path) -> None:
    laptop = machine("laptop")
    set_up(laptop, folder, "laptop")

    laptop.remember("Deploys run from main only")
    assert laptop.devices.status().unsent > 0

    laptop.devices.sync()
    laptop.recall("where do deploys run from?")
    assert laptop.devices.status().unsent == 0


def test_the_plan_says_what_will_travel_before_anything_does(machine: Machines, folder: Path) -> None:
    laptop = machine("laptop")
    laptop.remember("Deploys run from main only")
    laptop.remember("My salary is a secret", tags=["private"])

    plan = laptop.devices.plan(str(folder), Choices(excluded_tags=("private",)))

    assert (plan.is_new, plan.memories, plan.excluded, plan.sessions) == (True, 1, 1, 0)
    assert list_files(folder) == []


@pytest.mark.parametrize(
    ("phrase", "problem"),
    [
        ("", "give its phrase"),
        ("babab babab", "has 9 words"),
        ("babab babab babab babab babab babab babab babab babab", "mistake"),
        ("hello babab babab babab babab babab babab babab babab", "no word of a phrase"),
    ],
)
def test_a_wrong_phrase_is_refused_with_the_reason(machine: Machines, folder: Path, phrase: str, problem: str) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    set_up(laptop, folder, "laptop")
    files = list_files(folder)

    with pytest.raises(InvalidInput, match=problem):
        set_up(desktop, folder, "desktop", phrase)

    assert not desktop.devices.is_set_up
    assert list_files(folder) == files


def test_the_phrase_of_another_folder_does_not_open_this_one(machine: Machines, folder: Path, tmp_path: Path) -> None:
    laptop, desktop, other = machine("laptop"), machine("desktop"), machine("other")
    set_up(laptop, folder, "laptop")
    foreign_phrase = set_up(other, tmp_path / "elsewhere", "other")

    with pytest.raises(InvalidInput, match="does not open that folder"):
        set_up(desktop, folder, "desktop", foreign_phrase)


def test_a_phrase_may_be_typed_in_capitals_and_with_dashes(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    laptop.remember("Deploys run from main only")
    phrase = set_up(laptop, folder, "laptop")

    set_up(desktop, folder, "desktop", phrase.upper().replace(" ", "-"))

    assert list_texts(desktop) == {"Deploys run from main only"}


def test_an_agent_cannot_send_memories_elsewhere(machine: Machines, folder: Path) -> None:
    agent = machine("laptop", writer=AGENT)

    with pytest.raises(Refused):
        agent.devices.plan(str(folder), Choices())

    assert not folder.exists()


# -- what travels ----------------------------------------------------------------------------------


def test_nothing_in_the_folder_can_be_read(machine: Machines, folder: Path, tmp_path: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    laptop.remember("Zanzibar is the codename", tags=["mangosteen"], links=["src/quokka.py"])
    set_up(desktop, folder, "the-desktop", set_up(laptop, folder, "the-laptop"))
    sync_all(laptop, desktop)

    words = ("Zanzibar", "mangosteen", "quokka", "the-laptop", "the-desktop", "memory.", str(tmp_path))
    names = " ".join(str(file.relative_to(folder)) for file in list_files(folder))

    # The same words are in the stores, so looking for them finds something.
    assert residue(tmp_path / "desktop", b"Zanzibar")
    assert [word for word in words if residue(folder, word.encode()) or word in names] == []


def test_sizes_of_files_say_little(machine: Machines, folder: Path) -> None:
    laptop = machine("laptop")
    set_up(laptop, folder, "laptop")
    laptop.remember("short")
    laptop.devices.sync()
    laptop.remember("somewhat longer, by about a hundred characters, which is what most of the memories here are like")
    laptop.devices.sync()

    sizes = {file.stat().st_size for file in list_files(folder) if file.name != "head" and file.parent.name != "epochs"}

    assert len(sizes) == 1


def test_what_is_the_teams_stays_out(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    laptop.remember("The team deploys on Fridays", scope=Scope.TEAM)
    laptop.remember("I deploy on Mondays")
    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))

    assert list_texts(desktop) == {"I deploy on Mondays"}


def test_an_excluded_repository_or_tag_stays_here(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    laptop.remember("Stays in this directory")
    laptop.remember("Stays by its tag", scope=Scope.USER, tags=["private"])
    laptop.remember("Travels", scope=Scope.USER)
    choices = Choices(excluded_repos=(laptop.checkout.repository.id,), excluded_tags=("private",))
    phrase = set_up(laptop, folder, "laptop", choices=choices)

    set_up(desktop, folder, "desktop", phrase)
    assert list_texts(desktop) == {"Travels"}
    assert_chains_verify(desktop)

    # Asked for later, it comes after all.
    set_up(laptop, folder, "laptop")
    desktop.devices.sync()
    assert len(list_texts(desktop)) == 3
    assert_chains_verify(desktop)


def test_sessions_travel_only_if_asked(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    fact = ObservationMade(agent="codex", session_id="s1", seen=ObservationKind.REPLY, text="The build is green")
    laptop._context.record([laptop._context.factory.event(fact, Scope.PROJECT, laptop.checkout.repository.id)])
    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))
    assert desktop.sessions.list(everywhere=True) == ()

    set_up(laptop, folder, "laptop", choices=Choices(with_sessions=True))
    desktop.devices.sync()

    assert [session.id for session in desktop.sessions.list(everywhere=True)] == ["s1"]


def test_what_two_machines_imported_before_they_met_is_there_once(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    for mind in (laptop, desktop):
        fact = MemoryRemembered(memory_id=MemoryId("c" * 32), kind=Kind.FACT, text="From one commit", owner="ada")
        mind._context.record([mind._context.factory.event(fact, Scope.USER, "", id=EventId("derived-from-a-commit"))])

    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))
    sync_all(laptop, desktop)
    desktop.remember("Said later")
    sync_all(desktop, laptop)

    assert list_texts(laptop) == list_texts(desktop) == {"From one commit", "Said later"}
    assert_chains_verify(laptop, desktop)
    laptop._context.store.rebuild()
    assert list_texts(laptop) == {"From one commit", "Said later"}


# -- rejected and erased ---------------------------------------------------------------------------


def test_a_value_rejected_on_one_machine_is_refused_on_the_others(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop", writer=AGENT)
    person = machine("desktop")
    set_up(person, folder, "desktop", set_up(laptop, folder, "laptop"))
    memory = laptop.remember("Deploys run on Fridays")
    laptop.reject(memory.id)
    sync_all(laptop, person)

    with pytest.raises(Refused):
        desktop.remember("Deploys run on Fridays")
    assert desktop.remember("Deploys run on Mondays").text == "Deploys run on Mondays"


def test_a_value_rejected_here_does_not_come_in_from_another_machine(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    laptop.reject(laptop.remember("Deploys run on Fridays").id)
    desktop.remember("Deploys run on Fridays")
    desktop.remember("The API listens on port 8080")
    set_up(laptop, folder, "laptop", set_up(desktop, folder, "desktop"))

    active_texts = {memory.text for memory in laptop.list(statuses=[Status.ACTIVE], everywhere=True)}

    assert active_texts == {"The API listens on port 8080"}
    assert_chains_verify(laptop)


def test_an_erasure_reaches_every_machine_file_and_backup(machine: Machines, folder: Path, tmp_path: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))
    memory = desktop.remember("The launch codename is Zanzibar-77")
    kept = desktop.remember("Deploys run from main only")
    sync_all(desktop, laptop)
    desktop.maintenance.backup()
    files = set(list_files(folder))
    assert residue(tmp_path / "desktop", b"Zanzibar-77")

    receipt = laptop.devices.carry(laptop.erase(memory.id))

    assert find_place(receipt, str(folder)) == "done"
    assert find_place(receipt, "machine desktop") == "pending"
    sync_all(desktop, laptop)
    assert find_place(laptop.erasures.receipt(memory.id), "machine desktop") == "done"
    assert list_texts(desktop) == list_texts(laptop) == {kept.text}
    assert residue(tmp_path / "desktop", b"Zanzibar-77") == []
    # The segment that contained it is another file now.
    assert not files <= set(list_files(folder))
    with pytest.raises(Refused):
        desktop.remember("The launch codename is Zanzibar-77")


def test_an_erasure_by_name_in_the_viewer_reaches_every_machine(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))
    memory = desktop.remember("The launch codename is Zanzibar-77")
    sync_all(desktop, laptop)
    site = make_site(8000, b"token", {"open"}, "ada", lambda _: nullcontext(laptop))
    browser = TestClient(build(site), base_url="http://127.0.0.1:8000", headers={"origin": "http://127.0.0.1:8000"})
    browser.post("/login", data={"code": "open"})

    form = dict(re.findall(r'name="(token|seen)" value="(\w+)"', browser.get("/erase?about=Zanzibar-77").text))
    erased = browser.post("/erase", data={**form, "about": "Zanzibar-77"})

    assert str(folder) in erased.text
    assert find_place(laptop.erasures.receipt(memory.id), "machine desktop") == "pending"
    desktop.devices.sync()
    assert list_texts(desktop) == set()
    assert_chains_verify(laptop, desktop)


def test_a_machine_that_joins_later_never_gets_what_was_erased(machine: Machines, folder: Path, tmp_path: Path) -> None:
    laptop, cloud = machine("laptop"), machine("cloud")
    phrase = set_up(laptop, folder, "laptop")
    memory = laptop.remember("The launch codename is Zanzibar-77")
    laptop.remember("Deploys run from main only")
    laptop.devices.sync()
    laptop.devices.carry(laptop.erase(memory.id))

    set_up(cloud, folder, "cloud", phrase)

    assert list_texts(cloud) == {"Deploys run from main only"}
    assert residue(tmp_path / "cloud", b"Zanzibar-77") == []
    assert_chains_verify(cloud)


def test_an_interrupted_exchange_takes_in_an_erasure_with_what_it_erased_or_neither(
    machine: Machines, folder: Path
) -> None:
    laptop, cloud = machine("laptop"), machine("cloud")
    set_up(cloud, folder, "cloud", set_up(laptop, folder, "laptop"))
    sync_all(laptop, cloud, laptop)
    before = sync_state.list_private_chains(laptop._context.store.db)
    memory = cloud.remember("The launch codename is Zanzibar-77")
    cloud.devices.sync()
    cloud.devices.carry(cloud.erase(memory.id))

    def interrupt(*_: int) -> None:
        raise Unavailable("the power is gone")

    with pytest.raises(Unavailable, match="the power is gone"):
        laptop.devices.sync(progress=interrupt)

    assert sync_state.list_private_chains(laptop._context.store.db) == before
    laptop.devices.sync()
    assert sync_state.list_private_chains(laptop._context.store.db) != before
    assert list_texts(laptop) == set()


def test_an_erasure_waits_for_a_folder_that_is_not_there(machine: Machines, folder: Path, tmp_path: Path) -> None:
    laptop = machine("laptop")
    memory = laptop.remember("The launch codename is Zanzibar-77")
    set_up(laptop, folder, "laptop")
    shutil.move(folder, tmp_path / "away")

    receipt = laptop.devices.carry(laptop.erase(memory.id))
    assert find_place(receipt, str(folder)) == "pending"

    shutil.move(tmp_path / "away", folder)
    laptop.devices.sync()
    assert find_place(laptop.erasures.receipt(memory.id), str(folder)) == "done"


# -- what carriers do ------------------------------------------------------------------------------


def test_a_torn_file_is_waited_for_and_written_again(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    phrase = set_up(laptop, folder, "laptop")
    laptop.remember("Deploys run from main only")
    laptop.devices.sync()
    for file in list_files(folder):
        if file.name != "head" and file.parent.name != "epochs":
            file.write_bytes(file.read_bytes()[:500])

    set_up(desktop, folder, "desktop", phrase)
    assert list_texts(desktop) == set()
    (other,) = [one for one in desktop.devices.status().machines if not one.is_this]
    assert other.waiting_for > 0

    laptop.devices.sync()
    desktop.devices.sync()
    assert list_texts(desktop) == {"Deploys run from main only"}


def test_a_missing_file_is_waited_for_and_written_again(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    phrase = set_up(laptop, folder, "laptop")
    laptop.remember("Deploys run from main only")
    laptop.devices.sync()
    for file in list_files(folder):
        if file.name != "head" and file.parent.name != "epochs":
            file.unlink()

    set_up(desktop, folder, "desktop", phrase)
    assert list_texts(desktop) == set()

    laptop.devices.sync()
    desktop.devices.sync()
    assert list_texts(desktop) == {"Deploys run from main only"}


def test_an_old_list_of_files_is_recognised_and_replaced(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))
    head = folder / laptop.devices.status().machines[0].directory / "head"
    old_head = head.read_bytes()
    laptop.remember("Deploys run from main only")
    sync_all(laptop, desktop)

    head.write_bytes(old_head)
    assert "old copy" in desktop.devices.sync().problems[0]
    laptop.remember("Said later")
    laptop.devices.sync()

    assert desktop.devices.sync().problems == ()
    assert list_texts(desktop) == {"Deploys run from main only", "Said later"}


def test_files_that_carriers_add_are_ignored(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    phrase = set_up(laptop, folder, "laptop")
    laptop.remember("Deploys run from main only")
    laptop.devices.sync()
    for file in list_files(folder):
        shutil.copy(file, file.with_name(f"{file.name} (conflicted copy)"))
    (folder / "desktop.ini").write_text("[settings]")
    (folder / ".stfolder").mkdir()

    set_up(desktop, folder, "desktop", phrase)

    assert list_texts(desktop) == {"Deploys run from main only"}
    assert desktop.devices.sync().problems == ()


def test_a_folder_that_is_not_there_is_named_and_nothing_is_lost(
    machine: Machines, folder: Path, tmp_path: Path
) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    phrase = set_up(laptop, folder, "laptop")
    shutil.move(folder, tmp_path / "away")
    laptop.remember("Deploys run from main only")

    with pytest.raises(Unavailable, match="is not there; connect the drive"):
        laptop.devices.sync()

    assert "is not there" in laptop.devices.status().problems[0]
    shutil.move(tmp_path / "away", folder)
    laptop.devices.sync()
    set_up(desktop, folder, "desktop", phrase)
    assert list_texts(desktop) == {"Deploys run from main only"}


def test_a_folder_that_cannot_be_written_is_named_and_nothing_is_lost(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    phrase = set_up(laptop, folder, "laptop")
    own = folder / laptop.devices.status().machines[0].directory
    laptop.remember("Deploys run from main only")
    shutil.rmtree(own)
    own.write_text("a file where the directory was")

    with pytest.raises(Unavailable, match="nothing is lost"):
        laptop.devices.sync()

    own.unlink()
    laptop.devices.sync()
    set_up(desktop, folder, "desktop", phrase)
    assert list_texts(desktop) == {"Deploys run from main only"}


# -- copies and backups ----------------------------------------------------------------------------


def test_a_machine_restored_from_a_backup_goes_on_under_a_new_name(
    machine: Machines, folder: Path, tmp_path: Path
) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))
    laptop.remember("Before the backup")
    sync_all(laptop, desktop)
    saved = laptop.maintenance.backup()
    laptop.remember("After the backup")
    sync_all(laptop, desktop)
    laptop.close()

    backup.restore(tmp_path / "laptop", Path(saved.file), stamp="20260301T120000Z")
    laptop = machine("laptop")
    assert list_texts(laptop) == {"Before the backup"}
    laptop.remember("After the restore")
    sync_all(laptop, desktop)

    assert list_texts(laptop) == list_texts(desktop) == {"Before the backup", "After the backup", "After the restore"}
    assert len(desktop.devices.status().machines) == 2
    assert_chains_verify(laptop, desktop)


def test_a_copied_store_becomes_a_machine_of_its_own(machine: Machines, folder: Path, tmp_path: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))
    laptop.remember("Before the copy")
    sync_all(laptop, desktop)
    laptop.close()
    shutil.copytree(tmp_path / "laptop", tmp_path / "copy")
    laptop, copy = machine("laptop"), machine("copy")

    laptop.remember("On the laptop")
    copy.remember("On the copy")
    sync_all(laptop, copy, desktop)

    expected = {"Before the copy", "On the laptop", "On the copy"}
    assert list_texts(laptop) == list_texts(copy) == list_texts(desktop) == expected
    assert_chains_verify(laptop, copy, desktop)


# -- removing, pausing, leaving --------------------------------------------------------------------


def test_a_removed_machine_reads_nothing_new_and_the_others_keep_its_memories(machine: Machines, folder: Path) -> None:
    laptop, desktop, stolen = machine("laptop"), machine("desktop"), machine("stolen")
    phrase = set_up(laptop, folder, "laptop")
    set_up(desktop, folder, "desktop", phrase)
    stolen.remember("Learned on the machine that was stolen")
    set_up(stolen, folder, "stolen", phrase)
    sync_all(laptop, desktop, stolen)

    laptop.devices.remove("stolen")
    laptop.remember("After the removal")
    sync_all(laptop, desktop)
    with pytest.raises(Refused, match="newer key"):
        stolen.devices.sync()

    assert list_texts(stolen) == {"Learned on the machine that was stolen"}
    assert list_texts(desktop) == {"Learned on the machine that was stolen", "After the removal"}
    assert [one.name for one in desktop.devices.status().machines] == ["desktop", "laptop"]
    # One that joins with the new phrase gets everything, and the old phrase opens nothing.
    cloud = machine("cloud")
    with pytest.raises(Refused):
        set_up(cloud, folder, "cloud", phrase)
    set_up(machine("fresh"), folder, "fresh", desktop.devices.phrase())
    assert list_texts(machine("fresh")) == list_texts(desktop)


def test_what_only_one_machine_has_read_of_a_removed_one_reaches_all(machine: Machines, folder: Path) -> None:
    laptop, desktop, lost = machine("laptop"), machine("desktop"), machine("lost")
    phrase = set_up(laptop, folder, "laptop")
    set_up(desktop, folder, "desktop", phrase)
    set_up(lost, folder, "lost", phrase)
    sync_all(laptop, desktop, lost)
    lost.remember("Only the laptop has read this")
    lost.devices.sync()
    laptop.devices.sync()
    # The desktop removes the machine while its newest files have not arrived there.
    (directory,) = [one.directory for one in laptop.devices.status().machines if one.name == "lost"]
    shutil.rmtree(folder / directory)

    desktop.devices.remove("lost")
    sync_all(desktop, laptop)

    assert list_texts(desktop) == list_texts(laptop) == {"Only the laptop has read this"}


def test_a_removed_machine_can_join_again_with_the_new_phrase(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))
    sync_all(laptop, desktop)
    laptop.devices.remove("desktop")
    laptop.remember("After the removal")
    laptop.devices.sync()

    set_up(desktop, folder, "desktop", laptop.devices.phrase())
    desktop.remember("Back again")
    sync_all(desktop, laptop)

    assert list_texts(desktop) == list_texts(laptop) == {"After the removal", "Back again"}


def test_two_machines_may_remove_others_at_the_same_time(machine: Machines, folder: Path, tmp_path: Path) -> None:
    names = ("laptop", "desktop", "old", "lost")
    laptop, desktop, old, lost = (machine(name) for name in names)
    phrase = set_up(laptop, folder, "laptop")
    for mind, name in zip((desktop, old, lost), names[1:], strict=True):
        set_up(mind, folder, name, phrase)
    sync_all(laptop, desktop, old, lost)
    before = tmp_path / "before"
    shutil.copytree(folder, before)
    laptop.devices.remove("old")
    # The desktop has not seen that yet: a carrier brings both changes together afterwards.
    after_laptop = tmp_path / "after"
    shutil.move(folder, after_laptop)
    shutil.move(before, folder)
    desktop.devices.remove("lost")
    shutil.copytree(after_laptop, folder, dirs_exist_ok=True)
    sync_all(laptop, desktop)
    laptop.remember("After both removals")
    sync_all(laptop, desktop)

    assert list_texts(desktop) == {"After both removals"}
    for removed in (old, lost):
        with pytest.raises(Refused):
            removed.devices.sync()
        assert list_texts(removed) == set()


def test_an_unknown_machine_cannot_be_removed(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))
    laptop.devices.sync()

    with pytest.raises(NotFound, match="desktop"):
        laptop.devices.remove("desk")


def test_while_paused_nothing_travels(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))
    laptop.devices.pause(is_paused=True)
    laptop.remember("Said while paused")

    with pytest.raises(Unavailable, match="paused"):
        laptop.devices.sync()
    desktop.devices.sync()
    assert list_texts(desktop) == set()

    laptop.devices.pause(is_paused=False)
    sync_all(laptop, desktop)
    assert list_texts(desktop) == {"Said while paused"}


def test_who_leaves_keeps_everything_and_the_others_take_over_its_files(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    phrase = set_up(laptop, folder, "laptop")
    set_up(desktop, folder, "desktop", phrase)
    laptop.remember("Deploys run from main only")

    laptop.devices.leave()
    desktop.devices.sync()
    set_up(machine("cloud"), folder, "cloud", phrase)

    expected = {"Deploys run from main only"}
    assert list_texts(laptop) == list_texts(desktop) == list_texts(machine("cloud")) == expected
    assert [one.name for one in desktop.devices.status().machines] == ["desktop", "cloud"]
    assert not laptop.devices.is_set_up
    with pytest.raises(InvalidInput, match="sync setup"):
        laptop.devices.sync()


def test_a_machine_that_left_can_join_again(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    phrase = set_up(laptop, folder, "laptop")
    set_up(desktop, folder, "desktop", phrase)
    laptop.devices.leave()
    laptop.remember("Said in between")

    set_up(laptop, folder, "laptop", phrase)
    sync_all(laptop, desktop)

    assert list_texts(desktop) == {"Said in between"}
    assert len(desktop.devices.status().machines) == 2


def test_the_last_machine_that_leaves_empties_the_folder(machine: Machines, folder: Path) -> None:
    laptop = machine("laptop")
    set_up(laptop, folder, "laptop")

    assert laptop.devices.leave() is Farewell.EMPTIED
    assert list_files(folder) == []


def test_a_removed_machine_and_one_without_its_folder_can_leave(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))
    laptop.devices.remove("desktop")

    assert desktop.devices.leave() is Farewell.UNANNOUNCED
    shutil.rmtree(folder)
    assert laptop.devices.leave() is Farewell.UNANNOUNCED
    assert not laptop.devices.is_set_up


def test_an_erasure_waits_also_for_a_machine_whose_files_cannot_be_read_now(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))
    memory = laptop.remember("The launch codename is Zanzibar-77")
    sync_all(laptop, desktop)
    (folder / desktop.devices.status().machines[0].directory / "head").write_bytes(b"torn")

    receipt = laptop.devices.carry(laptop.erase(memory.id))
    assert find_place(receipt, "machine desktop") == "pending"

    sync_all(desktop, laptop)
    assert find_place(laptop.erasures.receipt(memory.id), "machine desktop") == "done"
