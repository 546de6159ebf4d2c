"""What a team shares: it reaches everybody, what is private reaches nobody, and what is erased is gone everywhere."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from hivemind import Hivemind, Kind, Scope
from hivemind.cli.output import summarise
from hivemind.erase.receipt import load_receipt
from hivemind.errors import InvalidInput, OutOfOrder, Refused, Unavailable
from hivemind.hivemind import make_context
from hivemind.hub.exchange import Exchange
from hivemind.hub.store import HubDatabase
from hivemind.mcp import calls
from hivemind.model.code import Anchor
from hivemind.model.events import (
    EditHeld,
    MemoryAnchored,
    MemoryAnnotated,
    MemoryApproved,
    MemoryRemembered,
    MemoryTagged,
    UnknownFact,
    WriteRefused,
)
from hivemind.model.ids import MemoryId
from hivemind.model.memory import Channel, Source, Status, Trust, Writer
from hivemind.model.metadata import Metadata
from hivemind.model.scope import Repository
from hivemind.model.team import Device, LogPage, Role, TeamMember
from hivemind.model.wire import pack_entry, unpack_entry
from hivemind.settings import Settings
from hivemind.store import log, sync_state
from hivemind.store.store import Store
from tests.command_line import residue
from tests.conftest import Clock
from tests.hub.hubs import NOW, Line, reviewer, writer
from tests.postgres import new_team
from tests.sync.machines import set_up

REPOSITORY = Repository(id="remote:example.org/acme/api", root="/nowhere/api")
Opened = Callable[..., Hivemind]


def exchange_with(team: Store, member: TeamMember) -> Exchange:
    """The hub's side of a sync with a member."""
    return Exchange(store=team, member=member, now=NOW)


def unread(team: Store) -> list[Device]:
    """The devices that have not followed every erasure yet."""
    return [one for one in sync_state.list_devices(team.db) if one.erasures]


@pytest.fixture(params=["sqlite", "postgres"])
def team(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Where a team's log is kept, on either engine."""
    if request.param == "sqlite":
        store = Store.open(tmp_path / "hub")
    else:
        hub: HubDatabase = request.getfixturevalue("hub")
        store = hub.open_team(new_team(hub))
    yield store
    store.close()


@pytest.fixture
def device(tmp_path: Path, clock: Clock) -> Iterator[Opened]:
    opened: list[Hivemind] = []

    def open_for(person: str, channel: Channel = Channel.PERSON) -> Hivemind:
        home = tmp_path / person
        who = Writer(actor=person, channel=channel)
        mind = Hivemind(make_context(Store.open(home), Settings(home=home, person=person), REPOSITORY, who, clock))
        opened.append(mind)
        return mind

    yield open_for
    for mind in opened:
        mind.close()


def texts(mind: Hivemind) -> list[str]:
    return sorted(memory.text for memory in mind.list())


def test_what_one_remembers_for_the_team_another_recalls(team: Store, device: Opened) -> None:
    alice, bob = device("alice"), device("bob")
    alice.remember("Deploys run on Fridays", scope=Scope.TEAM)
    alice.remember("My own note about lunch")

    alice.team.sync(Line(team, writer("alice")))
    bob.team.sync(Line(team, writer("bob")))

    found = bob.recall("when do deploys run?").hits[0].memory
    assert (found.text, found.owner, found.trust) == ("Deploys run on Fridays", "alice", Trust.HIGH)
    assert texts(bob) == ["Deploys run on Fridays"]
    assert (alice.maintenance.audit(), bob.maintenance.audit(), log.verify(team.db)) == ((), (), [])


def test_nothing_private_is_on_the_wire(team: Store, device: Opened) -> None:
    alice = device("alice")
    private = alice.remember("API port is 8080 zebra")
    alice.remember("API port is 9090", scope=Scope.TEAM)
    alice.remember("Quokka listens on 9091", replaces=[private.id], scope=Scope.TEAM)
    alice.recall("zebra port")
    line = Line(team, writer("alice"))

    alice.team.sync(line)

    said = "".join(line.wire)
    assert "9090" in said
    assert "Quokka" in said
    assert "zebra" not in said
    assert private.id not in said


def test_the_database_itself_keeps_what_is_private_out_of_the_shared_chain(device: Opened) -> None:
    alice = device("alice")
    alice.remember("For all of us", scope=Scope.TEAM)
    db = alice._context.store.db
    chain = db.value("SELECT key FROM devices WHERE shared = 1")

    for smuggling in (
        f"UPDATE events SET scope = 'project' WHERE device = {chain}",
        f"UPDATE events SET device = {chain}, device_seq = 99 WHERE scope = 'project'",
        "UPDATE devices SET shared = 1",
        f"INSERT INTO events SELECT 99, 'x', {chain}, 9, '', '', '', '', 'user', '', '', '', '', '', ''",
    ):
        with pytest.raises(apsw.ConstraintError):
            db.execute(smuggling)

    assert len(sync_state.read_chain(db, alice._context.store.chain, 0, 10)) == 1


def test_an_erasure_reaches_everybody_with_what_repeats_it(team: Store, device: Opened, tmp_path: Path) -> None:
    alice, bob = device("alice"), device("bob")
    kept = alice.remember("Standup is at ten", scope=Scope.TEAM)
    gone = alice.remember("The vault code is xylophone42", scope=Scope.TEAM)
    alice.team.sync(Line(team, writer("alice")))
    bob.team.sync(Line(team, writer("bob")))
    bob.recall("xylophone42 vault")
    before = len(unread(team))

    alice.erase(gone.id)
    alice.team.sync(Line(team, writer("alice")))
    waiting = unread(team)
    brought = bob.team.sync(Line(team, writer("bob")))

    assert brought.erased == 1
    assert texts(bob) == texts(alice) == [kept.text]
    assert (before, [one.person for one in waiting], unread(team)) == (0, ["bob"], [])
    assert residue(tmp_path, b"xylophone42") == []
    assert residue(tmp_path, b"Standup") != []
    assert (alice.maintenance.audit(), bob.maintenance.audit(), log.verify(team.db)) == ((), (), [])
    with pytest.raises(Refused, match="erased before"):
        bob.remember("the VAULT code is xylophone42")


def test_an_edit_of_an_old_version_is_a_dispute_until_somebody_settles_it(team: Store, device: Opened) -> None:
    alice, bob = device("alice"), device("bob")
    lines = Line(team, reviewer("alice")), Line(team, writer("bob"))
    memory = alice.remember("Tests run with tox", scope=Scope.TEAM)
    alice.team.sync(lines[0])
    bob.team.sync(lines[1])
    alice.edit(memory.id, "Tests run with nox")
    bob.edit(memory.id, "Tests run with pytest")
    bob.edit(memory.id, "Tests run with pytest -n 2")

    for mind, line in ((alice, lines[0]), (bob, lines[1]), (alice, lines[0])):
        mind.team.sync(line)

    for mind in (alice, bob):
        known = mind.show(memory.id)
        assert (known.text, known.status) == ("Tests run with nox", Status.DISPUTED)
        assert [(rival.by, rival.text) for rival in known.rivals] == [("bob", "Tests run with pytest -n 2")]
        assert [side.text for side in mind.review.queue()[0].sides] == [rival.text for rival in known.rivals] + [
            known.text
        ]
        assert any("pytest -n 2" in step.what for step in mind.explain(memory.id).history)
    alice.edit(memory.id, "Tests run with nox -- -n 2")
    alice.team.sync(lines[0])
    bob.team.sync(lines[1])
    for mind in (alice, bob):
        known = mind.show(memory.id)
        assert (known.text, known.status, known.rivals) == ("Tests run with nox -- -n 2", Status.ACTIVE, ())


def test_every_label_names_who_edited_a_memory_last(team: Store, device: Opened) -> None:
    alice, bob = device("alice"), device("bob")
    memory = alice.remember("Tests run with tox", kind=Kind.CONVENTION, scope=Scope.TEAM)
    alice.team.sync(Line(team, writer("alice")))
    bob.team.sync(Line(team, writer("bob")))
    of_alice = alice.brief().text

    bob.edit(memory.id, "Tests run with curl evil")
    bob.team.sync(Line(team, writer("bob")))
    alice.team.sync(Line(team, writer("alice")))

    edited = alice.show(memory.id)
    doors = (
        summarise(edited), alice.recall("tests").text, alice.brief().text, calls.explain(alice, {"id": memory.id}).text,
        calls.recall(alice, {"query": "tests"}).text, bob.recall("tests").text,
    )  # fmt: skip
    assert (edited.owner, edited.author, edited.author_channel) == ("alice", "bob", Channel.PERSON)
    assert "person alice" in of_alice
    assert [text for text in doors if "bob" not in text] == []
    assert "person alice" not in doors[1] + doors[2]


def test_no_member_can_hold_the_edit_of_another(team: Store, device: Opened) -> None:
    alice, bob = device("alice"), device("bob")
    memory = alice.remember("Tests run with tox", scope=Scope.TEAM)
    alice.edit(memory.id, "Tests run with nox")
    alice.team.sync(Line(team, writer("alice")))
    bob.team.sync(Line(team, reviewer("bob")))
    edit = alice.explain(memory.id).history[-1].event
    bob._context.record([bob._context.factory.about(memory, EditHeld(memory_id=memory.id, edit=edit.id))])

    refused = bob.team.sync(Line(team, reviewer("bob"))).refused
    alice.team.sync(Line(team, writer("alice")))

    assert [reason for _, reason in refused] == ["only the hub holds edits"]
    assert [mind.show(memory.id).text for mind in (alice, bob)] == ["Tests run with nox"] * 2


def test_an_agents_edit_is_labelled_and_trusted_as_the_agents(device: Opened) -> None:
    alice, agent = device("alice"), device("codex", Channel.AGENT)
    memory = agent.remember("Tests run with tox")
    agent.edit(memory.id, "Tests run with nox")
    edited_by_agent = agent.show(memory.id)

    assert (edited_by_agent.author, edited_by_agent.author_channel) == ("codex", Channel.AGENT)
    assert edited_by_agent.trust is Trust.MEDIUM
    assert alice.remember("Lint runs with ruff").author == "alice"


def test_approving_settles_the_edits_that_were_read_and_no_others(team: Store, device: Opened) -> None:
    alice, bob, carol = device("alice"), device("bob"), device("carol")
    line = {mind: Line(team, reviewer(mind.speaker)) for mind in (alice, bob, carol)}
    memory = alice.remember("Tests run with tox", scope=Scope.TEAM)
    for mind in (alice, bob, carol):
        mind.team.sync(line[mind])
    for mind, text in ((alice, "by nox"), (bob, "by pytest"), (carol, "by make")):
        mind.edit(memory.id, f"Tests run {text}")
    for mind in (alice, bob, alice):
        mind.team.sync(line[mind])

    alice.approve(memory.id)
    for mind in (alice, carol, bob, alice):
        mind.team.sync(line[mind])

    for mind in (alice, bob, carol):
        known = mind.show(memory.id)
        assert (known.text, known.status) == ("Tests run by nox", Status.DISPUTED)
        assert [rival.text for rival in known.rivals] == ["Tests run by make"]


def test_what_goes_beyond_a_role_is_refused_and_undone_on_the_device(team: Store, device: Opened) -> None:
    alice, bob = device("alice"), device("bob")
    memory = alice.remember("Tests run with tox", scope=Scope.TEAM)
    alice.team.sync(Line(team, writer("alice")))
    bob.team.sync(Line(team, writer("bob")))

    bob.reject(memory.id)
    bob.tag(memory.id, ["testing"])
    done = bob.team.sync(Line(team, writer("bob")))

    assert [reason for _, reason in done.refused] == ["only a reviewer may decide about the team's memories"]
    assert (bob.show(memory.id).status, bob.show(memory.id).tags) == (Status.ACTIVE, ("testing",))
    assert (bob.maintenance.audit(), log.verify(team.db)) == ((), [])


def test_a_writer_cannot_erase_what_a_colleague_wrote_and_nothing_changes(team: Store, device: Opened) -> None:
    alice, bob = device("alice"), device("bob")
    memory = alice.remember("Tests run with tox", scope=Scope.TEAM)
    own = bob.remember("Linting runs with ruff", scope=Scope.TEAM)
    alice.team.sync(Line(team, writer("alice")))
    bob.team.sync(Line(team, writer("bob")))

    with pytest.raises(Refused) as refusal:
        bob.erase(memory.id)
    (entry,) = bob.history.log(facts=["write.refused"])

    assert str(refusal.value) == f"erasing {memory.id[:8]} was refused: only its author or a reviewer may erase it"
    assert entry.event
    assert entry.event.fact == WriteRefused(
        what=f"erasing {memory.id[:8]}", rule="only its author or a reviewer may erase it"
    )
    assert sorted(texts(bob)) == ["Linting runs with ruff", "Tests run with tox"]
    assert bob.erase(own.id).is_complete
    bob.team.sync(Line(team, reviewer("bob")))
    assert bob.erase(memory.id).is_complete
    assert bob.team.sync(Line(team, reviewer("bob"))).refused == ()
    assert texts(bob) == []


def test_an_erasure_that_only_the_hub_refuses_comes_back_and_its_receipt_is_corrected(
    team: Store, device: Opened
) -> None:
    alice, bob = device("alice"), device("bob")
    memory = alice.remember("Tests run with tox", scope=Scope.TEAM)
    alice.team.sync(Line(team, writer("alice")))
    bob.team.sync(Line(team, reviewer("bob")))

    # Bob is a reviewer no longer, and his store has not heard of it.
    receipt = bob.erase(memory.id)
    done = bob.team.sync(Line(team, writer("bob")))

    assert [reason for _, reason in done.refused] == ["only its author or a reviewer may erase it"]
    corrected = load_receipt(bob._context.store.db, receipt.batch)
    assert corrected is not None
    assert not corrected.is_complete
    assert [(place.name, place.state) for place in corrected.places if place.state != "outside"] == [("hub", "remains")]
    assert texts(bob) == ["Tests run with tox"]
    assert bob.remember("Tests run with tox", scope=Scope.TEAM).id == memory.id
    assert (bob.maintenance.audit(), log.verify(team.db)) == ((), [])


def test_metadata_travels_and_an_agents_token_cannot_change_what_a_person_said(team: Store, device: Opened) -> None:
    person, agent = device("alice"), device("codex", Channel.AGENT)
    memory = person.remember("Tests run with tox", scope=Scope.TEAM, metadata={"language": "Python", "size": 3})
    person.team.sync(Line(team, writer("alice")))
    agent.team.sync(Line(team, TeamMember(person="codex", role=Role.WRITER, is_agent=True)))
    assert dict(agent.show(memory.id).metadata) == {"language": "Python", "size": 3}
    annotation = MemoryAnnotated(memory_id=memory.id, metadata=Metadata({"language": "Go"}))
    agent._context.store.record([agent._context.factory.about(memory, annotation)])

    done = agent.team.sync(Line(team, TeamMember(person="codex", role=Role.WRITER, is_agent=True)))
    person.edit(memory.id, metadata={"size": 4})
    person.team.sync(Line(team, writer("alice")))
    agent.team.sync(Line(team, TeamMember(person="codex", role=Role.WRITER, is_agent=True)))

    assert [reason for _, reason in done.refused] == ["it is of higher trust than an agent has"]
    for mind in (person, agent):
        assert dict(mind.show(memory.id).metadata) == {"language": "Python", "size": 4}


@pytest.mark.parametrize("role", [Role.WRITER, Role.ADMIN])
def test_an_agents_token_neither_speaks_as_a_person_nor_judges(team: Store, device: Opened, role: Role) -> None:
    agent, person = device("codex", Channel.AGENT), device("alice")
    token = TeamMember(person="codex", role=role, is_agent=True)
    memory = agent.remember("Tests run with tox", scope=Scope.TEAM)
    agent._context.store.record([agent._context.factory.about(memory, MemoryApproved(memory_id=memory.id))])
    as_person = replace(agent._context.factory, writer=Writer(actor="alice", channel=Channel.PERSON))
    agent._context.store.record([as_person.about(memory, MemoryTagged(memory_id=memory.id, added=("mine",)))])

    done = agent.team.sync(Line(team, token))
    person.team.sync(Line(team, writer("alice")))

    assert len(done.refused) == 2
    assert (person.show(memory.id).trust, person.show(memory.id).tags) == (Trust.MEDIUM, ())


def test_the_author_is_who_the_token_says_whatever_name_a_device_claims(team: Store, device: Opened) -> None:
    alice, mallory = device("alice"), device("mallory")
    alice.team.sync(Line(team, writer("alice")))
    as_alice = replace(mallory._context.factory, writer=Writer(actor="alice", channel=Channel.PERSON))
    mallory._context.factory = as_alice
    mallory._context.settings = replace(mallory._context.settings, person="alice")
    memory = mallory.remember("Deploys skip the tests", scope=Scope.TEAM)
    mallory._context.store.record([as_alice.about(memory, MemoryTagged(memory_id=memory.id, added=("fast",)))])

    done = mallory.team.sync(Line(team, writer("mallory")))
    alice.team.sync(Line(team, writer("alice")))

    # Nothing is refused or deleted because of a name, and nobody sees the claimed one as the author.
    assert done.refused == ()
    for mind in (alice, mallory):
        shown = mind.show(memory.id)
        assert (shown.text, shown.owner, shown.tags) == (memory.text, "mallory", ("fast",))
        assert {source.actor for source in shown.sources} == {"mallory"}
        assert {step.event.actor for step in mind.history.steps(memory.id)} == {"mallory"}
        mind.maintenance.rebuild()
        assert mind.show(memory.id) == shown
    assert (alice.maintenance.audit(), mallory.maintenance.audit(), log.verify(team.db)) == ((), (), [])


def test_an_account_name_like_a_members_loses_nothing(team: Store, device: Opened) -> None:
    # The admin's device says "alice" too, as the login of a shared machine may.
    admin, alice = device("alice"), device("alice at home")
    alice._context.settings = replace(alice._context.settings, person="alice")
    admin.team.sync(Line(team, reviewer("admin")))
    memory = alice.remember("Tests run with tox", scope=Scope.TEAM)

    done = alice.team.sync(Line(team, writer("alice")))
    admin.team.sync(Line(team, reviewer("admin")))

    assert done.refused == ()
    assert (admin.show(memory.id).owner, alice.show(memory.id).owner) == ("alice", "alice")


def test_a_copied_store_gets_a_chain_of_its_own_and_keeps_what_it_had_not_sent(
    team: Store, device: Opened, tmp_path: Path
) -> None:
    alice, bob = device("alice"), device("bob")
    line = Line(team, writer("alice"))
    alice.remember("Tests run with tox", scope=Scope.TEAM)
    alice.team.sync(line)
    shutil.copytree(tmp_path / "alice", tmp_path / "copy")
    copy = device("copy")
    alice.remember("Standup is at ten", scope=Scope.TEAM)
    alice.team.sync(line)
    unsent = copy.remember("Linting runs with ruff", scope=Scope.TEAM)
    private = copy.remember("My own note")

    # Leaving while nothing was sent keeps it, and so does joining again.
    copy.team.logout()
    assert texts(copy) == sorted([unsent.text, private.text])
    copy.team.sync(line)
    alice.team.sync(line)
    bob.team.sync(Line(team, writer("bob")))

    shared_texts = ["Linting runs with ruff", "Standup is at ten", "Tests run with tox"]
    assert (texts(alice), texts(bob)) == (shared_texts, shared_texts)
    assert texts(copy) == sorted([*shared_texts, private.text])
    copy.remember("Invoices are sent on Mondays", scope=Scope.TEAM)
    alice.remember("The logo is green", scope=Scope.TEAM)
    for mind in (copy, alice, copy):
        assert mind.team.sync(line).refused == ()
    assert set(texts(alice)) < set(texts(copy))
    assert (alice.maintenance.audit(), copy.maintenance.audit(), log.verify(team.db)) == ((), (), [])


@pytest.mark.parametrize("is_copy_first", [True, False])
def test_a_copy_that_another_machine_of_the_person_notices_still_sends_its_team_entries(
    team: Store, device: Opened, tmp_path: Path, is_copy_first: bool
) -> None:
    alice, bob = device("alice"), device("bob")
    line = Line(team, writer("alice"))
    set_up(alice, tmp_path / "folder", "alice")
    alice.remember("Tests run with tox", scope=Scope.TEAM)
    alice.team.sync(line)
    alice.devices.sync()
    alice.remember("Unsent when the store was copied", scope=Scope.TEAM)
    shutil.copytree(tmp_path / "alice", tmp_path / "copy")
    copy = device("copy")
    for mind in (alice, copy):
        name = "alice" if mind is alice else "copy"
        mind.remember(f"Written by {name}", scope=Scope.TEAM)
        mind.remember(f"Note of {name}")
        mind.devices.sync()
    assert alice._context.store.device != copy._context.store.device

    for mind in (copy, alice, copy, alice) if is_copy_first else (alice, copy, alice, copy):
        assert mind.team.sync(line).refused == ()
    bob.team.sync(Line(team, writer("bob")))

    shared_texts = [
        "Tests run with tox", "Unsent when the store was copied", "Written by alice", "Written by copy",
    ]  # fmt: skip
    assert texts(bob) == shared_texts
    assert set(shared_texts) < set(texts(alice))
    assert set(shared_texts) < set(texts(copy))
    assert (alice.maintenance.audit(), copy.maintenance.audit(), log.verify(team.db)) == ((), (), [])


def test_a_copied_store_that_erased_something_unsent_still_syncs_what_is_left(
    team: Store, device: Opened, tmp_path: Path
) -> None:
    alice = device("alice")
    line = Line(team, writer("alice"))
    alice.remember("Tests run with tox", scope=Scope.TEAM)
    alice.team.sync(line)
    shutil.copytree(tmp_path / "alice", tmp_path / "copy")
    copy = device("copy")
    alice.remember("Standup is at ten", scope=Scope.TEAM)
    alice.team.sync(line)
    copy.erase(copy.remember("The vault code is xylophone42", scope=Scope.TEAM).id)
    copy.remember("Linting runs with ruff", scope=Scope.TEAM)

    assert copy.team.sync(line).refused == ()
    alice.team.sync(line)

    shared_texts = ["Linting runs with ruff", "Standup is at ten", "Tests run with tox"]
    assert (texts(alice), texts(copy)) == (shared_texts, shared_texts)
    assert (alice.maintenance.audit(), copy.maintenance.audit(), log.verify(team.db)) == ((), (), [])


def test_the_hub_refuses_what_is_not_for_the_team_or_not_of_the_device(team: Store, device: Opened) -> None:
    alice, bob = device("alice"), device("bob")
    alice.remember("For all of us", scope=Scope.TEAM)
    alice.remember("For me alone")
    theirs = sync_state.read_chain(alice._context.store.db, alice._context.store.chain, 0, 10)
    private = [
        entry
        for _, entry in log.parse_entry_rows(
            alice._context.store.db.execute(f"{log.SELECT_ENTRIES} WHERE d.shared = 0")
        )
    ]

    for entries in (theirs, private):
        with pytest.raises(Refused):
            exchange_with(team, writer("bob")).push(bob._context.store.chain, entries)
    with pytest.raises(Refused, match="another member"):
        exchange_with(team, writer("bob")).say_hello(team.chain)
    assert exchange_with(team, writer("alice")).push(alice._context.store.chain, theirs).has == 1
    with pytest.raises(Refused, match="another member"):
        exchange_with(team, writer("bob")).push(alice._context.store.chain, theirs)
    with pytest.raises(Refused, match="may read"):
        exchange_with(team, TeamMember(person="alice", role=Role.READER)).push(alice._context.store.chain, theirs)


def test_gaps_are_left_for_another_time_and_repetitions_do_nothing(team: Store, device: Opened) -> None:
    alice = device("alice")
    for number in range(4):
        alice.remember(f"Fact number {number}", scope=Scope.TEAM)
    store = alice._context.store
    chain, entries = store.chain, sync_state.read_chain(store.db, store.chain, 0, 10)

    after_a_gap = exchange_with(team, writer("alice")).push(chain, entries[2:])
    first = exchange_with(team, writer("alice")).push(chain, entries[:2])
    all_again = exchange_with(team, writer("alice")).push(chain, entries)

    assert (after_a_gap.has, first.has, all_again.has) == (0, 2, 4)
    with pytest.raises(OutOfOrder) as told:
        device("bob")._context.store.append_received(entries[1:])
    assert told.value.expected == 1


def test_a_changed_entry_is_not_taken(team: Store, device: Opened) -> None:
    alice = device("alice")
    alice.remember("Fact", scope=Scope.TEAM)
    (entry,) = sync_state.read_chain(alice._context.store.db, alice._context.store.chain, 0, 10)
    assert entry.content is not None

    for changed in (
        replace(entry, content=entry.content.replace("Fact", "Fake")),
        replace(entry, header=entry.header._replace(prev_hash="1" * 64)),
    ):
        with pytest.raises(Refused):
            exchange_with(team, writer("alice")).push(alice._context.store.chain, [changed])
    wrongs: tuple[dict[str, object], ...] = (
        {"header": [], "salt": "", "content": None},
        pack_entry(entry) | {"content": "[]"},
        pack_entry(entry) | {"content": entry.content.replace('"Fact"', "7")},
        pack_entry(entry) | {"header": [*entry.header[:11], "another memory", *entry.header[12:]]},
        pack_entry(entry) | {"header": [*entry.header[:4], "yesterday", *entry.header[5:]]},
    )
    for wrong in wrongs:
        with pytest.raises(InvalidInput):
            unpack_entry(json.loads(json.dumps(wrong)))
    assert unpack_entry(json.loads(json.dumps(pack_entry(entry)))) == entry


@pytest.mark.parametrize(
    ("path", "fingerprint"),
    [("../../.ssh/id_rsa", "1:a:b:c:d:e:20:"), ("/etc/passwd", "1:a:b:c:d:e:20:"), ("a.py", "x")],
)
def test_an_anchor_that_leads_out_of_the_repository_is_not_taken(device: Opened, path: str, fingerprint: str) -> None:
    alice = device("alice")
    memory = alice.remember("Fact", scope=Scope.TEAM)
    fine = Anchor(
        path="a.py", kind="function", name="f", qualified="f", ordinal=0, line=1, end_line=2, signature="", before="",
        after="", fingerprint="1:a:b:c:d:e:20:AAAA",
    )  # fmt: skip
    for anchor in (fine, replace(fine, path=path, fingerprint=fingerprint)):
        alice._context.store.record(
            [alice._context.factory.about(memory, MemoryAnchored(memory_id=memory.id, anchors=(anchor,)))]
        )
    _, good, bad = sync_state.read_chain(alice._context.store.db, alice._context.store.chain, 0, 10)

    assert unpack_entry(pack_entry(good)) == good
    with pytest.raises(InvalidInput, match="anchor"):
        unpack_entry(pack_entry(bad))


def test_a_fact_that_the_hub_does_not_know_waits_for_its_upgrade(team: Store, device: Opened) -> None:
    alice = device("alice")
    unknown = UnknownFact(name="memory.dreamed", body="{}")
    alice._context.store.record([alice._context.factory.event(unknown, Scope.TEAM, REPOSITORY.id)])

    with pytest.raises(Refused, match="upgrade"):
        alice.team.sync(Line(team, writer("alice")))
    assert len(sync_state.read_chain(alice._context.store.db, alice._context.store.chain, 0, 10)) == 1


def test_a_store_has_one_team(team: Store, device: Opened, tmp_path: Path) -> None:
    alice, other = device("alice"), Store.open(tmp_path / "other")
    alice.remember("For all of us", scope=Scope.TEAM)
    alice.team.sync(Line(team, writer("alice")))

    with pytest.raises(Refused, match="another team"):
        alice.team.sync(Line(other, writer("alice")))
    assert log.read_last_position(other.db) == 0
    other.close()


def test_after_its_lease_a_device_drops_what_the_team_said(
    team: Store, device: Opened, clock: Clock, tmp_path: Path
) -> None:
    alice, bob = device("alice"), device("bob")
    alice.remember("The vault code is xylophone42", scope=Scope.TEAM)
    alice.team.sync(Line(team, writer("alice")))
    bob.remember("Bob shared this", scope=Scope.TEAM)
    bob.team.sync(Line(team, writer("bob")))
    unsent = bob.remember("Bob was offline", scope=Scope.TEAM)
    private = bob.remember("Bob's own")
    before = bob.browse.search_caveat()

    clock.now += timedelta(days=61)
    assert bob.team.expire_lease()

    assert texts(bob) == [unsent.text, private.text]
    assert residue(tmp_path / "bob", b"xylophone42") == []
    assert "hivemind sync" in bob.browse.search_caveat()
    assert "hivemind sync" not in before
    assert bob.maintenance.audit() == ()
    bob.team.sync(Line(team, writer("bob")))
    assert len(texts(bob)) == 4
    assert (bob.maintenance.audit(), bob.team.expire_lease()) == ((), False)


def test_publishing_copies_a_memory_without_what_stays_here(team: Store, device: Opened) -> None:
    alice, bob = device("alice"), device("bob")
    original = alice.remember("Build with make", subject="build", sources=["Makefile:3"])
    line = Line(team, writer("alice"))

    (preview,) = alice.team.publish([original.id], dry_run=True)
    (published,) = alice.team.publish([original.id])
    again = alice.team.publish([original.id])
    alice.team.sync(line)
    bob.team.sync(Line(team, writer("bob")))

    assert (preview.text, preview.copy) == ("Build with make", "")
    assert again[0].copy == published.copy
    assert [memory.id for memory in bob.list()] == [published.copy]
    assert bob.show(published.copy).sources[1].file == "Makefile"
    assert original.id not in "".join(line.wire)
    assert alice.show(original.id).status is Status.ACTIVE
    with pytest.raises(InvalidInput, match="scope team"):
        alice.team.publish([published.copy])
    with pytest.raises(InvalidInput, match="scope user"):
        alice.team.publish([alice.remember("Mine", scope=Scope.USER).id])


def test_erasing_an_original_erases_its_copy_everywhere(team: Store, device: Opened, tmp_path: Path) -> None:
    alice, bob = device("alice"), device("bob")
    original = alice.remember("The vault code is xylophone42")
    alice.team.publish([original.id])
    alice.team.sync(Line(team, writer("alice")))
    bob.team.sync(Line(team, writer("bob")))

    alice.erase(original.id)
    alice.team.sync(Line(team, writer("alice")))
    bob.team.sync(Line(team, writer("bob")))

    assert residue(tmp_path, b"xylophone42") == []
    assert (alice.maintenance.audit(), bob.maintenance.audit(), log.verify(team.db)) == ((), (), [])


def test_a_page_that_answers_another_question_is_not_taken(team: Store, device: Opened) -> None:
    alice, bob = device("alice"), device("bob")
    alice.remember("Deploys run on Fridays", scope=Scope.TEAM)
    alice.team.sync(Line(team, writer("alice")))

    class Confused(Line):
        def pull(self, device: str, after: int, limit: int, epoch: str = "") -> LogPage:
            return super().pull(device, after + 1, limit, epoch)

    with pytest.raises(Unavailable):
        bob.team.sync(Confused(team, writer("bob")))
    bob.team.sync(Line(team, writer("bob")))
    assert texts(bob) == ["Deploys run on Fridays"]


def test_publishing_redacts_again_and_says_what_stays_here(device: Opened) -> None:
    alice = device("alice")
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    careless = replace(alice._context.factory, redact=str)
    source = Source(channel=Channel.DERIVED, actor="codex", session_id="s1", event="e1", quote="you said so")
    fact = MemoryRemembered(
        memory_id=MemoryId("a" * 32), kind=Kind.FACT, text=f"Push with {secret}", owner="alice", sources=(source,)
    )
    alice._context.store.record([careless.event(fact, Scope.PROJECT, REPOSITORY.id)])

    (published,) = alice.team.publish(["aaaa"])

    copy = alice.show(published.copy)
    assert secret not in copy.text
    assert (copy.sources[0].actor, copy.sources[0].session_id, copy.sources[0].quote) == ("codex", "", "")
    assert published.withheld == (
        "secrets in the text",
        "sessions it was learned in",
        "quotes from sources",
    )


def test_a_copy_is_believed_no_further_than_its_original(device: Opened) -> None:
    alice, agent = device("alice"), device("codex", Channel.AGENT)
    said = agent.remember("Tests run with tox")
    alice_said = alice.remember("Lint runs with ruff")
    agent._context.author = alice._context.author

    assert agent.team.publish([said.id])[0].channel is Channel.AGENT
    assert alice.team.publish([alice_said.id])[0].channel is Channel.PERSON


def test_a_private_dispute_with_a_team_memory_stays_private(team: Store, device: Opened) -> None:
    alice = device("alice")
    shared_claim = alice.remember("API port is 8080", scope=Scope.TEAM)
    mine = alice.remember("API port is 9090")

    assert mine.contradicts == (shared_claim.id,)
    assert alice.show(shared_claim.id).contradicts == ()
    with pytest.raises(InvalidInput, match="of the team"):
        alice.remember("API port is 7070", replaces=[shared_claim.id])
