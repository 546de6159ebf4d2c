"""A simulation of one person's machines that share a folder: they work with faults, then all must know the same."""

import random
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from hivemind import Scope
from hivemind.erase import plan
from hivemind.errors import InvalidInput, NotFound, Refused, Unavailable
from hivemind.model import ids
from hivemind.model.events import ObservationMade
from hivemind.model.memory import Memory
from hivemind.model.scope import Scope as MemoryScope
from hivemind.model.session import ObservationKind
from hivemind.model.team import Role, TeamMember
from hivemind.model.wire import WireEntry
from hivemind.paths import DEVICES_FILE
from hivemind.store import log
from hivemind.store import store as store_module
from hivemind.store.projections import memories
from hivemind.store.sqlite import _delete_for_real
from hivemind.sync import folder_keys, folder_segments, folders
from hivemind.sync.folder_files import HEAD, Choices, DeviceState, load_state, unpack_head
from hivemind.sync.folder_keys import Epoch
from hivemind.sync.folder_segments import load_segment
from hivemind.sync.folders import EPOCHS
from lab.evals.simulation import promises
from lab.evals.simulation.attacker import Attacker
from lab.evals.simulation.carrier import Carrier, View
from lab.evals.simulation.machines import REPOSITORY, Crash, Fragile, Machine, make_empty_store, read_bytes
from lab.evals.simulation.promises import Broken
from lab.evals.simulation.world import patch

STEPS = 40
NAMES = ("laptop", "desktop", "cloud")
SKEWS = (0, 0, -3, 2, 40)
"""Days by which clocks may be wrong."""
ADA = TeamMember(person="ada", role=Role.WRITER)
MUST_HAPPEN = (
    "memory.erased", "memory.revised", "rival edits", "said again", "crashes", "files late", "files torn", "files old",
    "files doubled", "files lost", "files cut", "files foreign", "epochs damaged", "foreign files", "folders emptied",
    "snapshots restored", "machines removed", "attacks", "attacks by removal", "confirmed erasures",
)  # fmt: skip
"""A run proves something only if each of these happened in it."""


class OwnMachines:
    """Three machines of one person, and the carrier between them."""

    def __init__(self, seed: int, room: Path) -> None:
        self.chance = random.Random(seed)
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.room = room
        self.counts: Counter[str] = Counter()
        self.crash_odds = 0.0
        self.carrier = Carrier(self.chance, self.counts)
        self.views: dict[str, View] = {}
        self.machines = [self._add_machine(name) for name in NAMES]
        self.attacker: Attacker | None = None
        """Who has the keys of the machine that was removed."""
        self.new_words: dict[str, str] = {}
        """Words that were written after the removal, each with the machine that wrote it."""
        self.words: dict[str, dict[str, str]] = {}
        """For each memory, the words that only it contains, each with the text around it."""
        self.local_words: set[str] = set()
        """Words of sessions and of the team, which must not travel."""
        self.snapshots: dict[str, tuple[bytes, bytes]] = {}
        self.tokens = 0

    def run(self) -> None:
        """Set all machines up, work with faults, exchange without faults, and check the promises."""
        self._remember(self.machines[0])
        phrase = self._set_up(self.machines[0])
        for machine in self.machines[1:]:
            self._remember(machine)
            self._receive_all()
            self._set_up(machine, phrase)
        self._exchange_all()
        self.carrier.trouble = self.chance.choice((0.05, 0.2, 0.4))
        for _ in range(STEPS):
            self._step(self.chance.choice(self.machines))
        self._exchange_all()
        if self.attacker:
            self._resist(self.attacker)
        self._remove_former_places()
        self._check()

    def _add_machine(self, name: str) -> Machine:
        skew = timedelta(days=self.chance.choice(SKEWS))
        machine = Machine(name, "", ADA, skew, lambda: self.now, self.chance, self.room)
        assert isinstance(machine.store.db, Fragile)
        machine.store.db.crashes = self._crashes
        view = self.carrier.add_view(self._crashes)
        self.views[name] = view
        # The real component on a folder in memory.
        machine.mind.devices._open = lambda location: nullcontext(view)  # type: ignore[method-assign]
        return machine

    def _set_up(self, machine: Machine, phrase: str = "") -> str:
        plan = machine.mind.devices.plan(str(self.room / "folder"), Choices())
        machine.mind.devices.set_up(plan, phrase=phrase, name=machine.name)
        return machine.mind.devices.phrase()

    def _word(self, machine: Machine) -> str:
        self.tokens += 1
        word = f"word{self.tokens:04d}{self.chance.randrange(1 << 24):06x}"
        if self.attacker:
            self.new_words[word] = machine.name
        return word

    def _crashes(self) -> bool:
        crashes = self.crash_odds > 0 and self.chance.random() < self.crash_odds
        self.counts["crashes"] += crashes
        return crashes

    def _step(self, machine: Machine) -> None:
        self.now += timedelta(minutes=self.chance.randrange(1, 400))
        actions = {
            self._sync: 40, self._remember: 8, self._revise: 16, self._tag: 3, self._judge: 8, self._erase: 8,
            self._say_again: 8, self._observe: 4, self._keep_to_the_team: 2, self._damage: 3, self._rebuild: 1,
            self._take_snapshot: 4, self._restore_snapshot: 4, self._remove: 3,
            self._attack: 12 if self.attacker else 0,
        }  # fmt: skip
        action = self.chance.choices(list(actions), list(actions.values()))[0]
        with suppress(NotFound, InvalidInput, Refused):
            action(machine)

    # -- what the person does ----------------------------------------------------------------------

    def _remember(self, machine: Machine) -> None:
        word = self._word(machine)
        scope = self.chance.choice((Scope.USER, Scope.PROJECT))
        memory = machine.mind.remember(f"{word} holds for me", scope=scope, subject=self.chance.choice(("", "deploy")))
        self.words.setdefault(memory.id, {})[word] = memory.text

    def _revise(self, machine: Machine) -> None:
        memory, word = self._pick_memory(machine), self._word(machine)
        self.words.setdefault(memory.id, {})[word] = machine.mind.edit(memory.id, f"{word} holds instead").text

    def _tag(self, machine: Machine) -> None:
        machine.mind.tag(self._pick_memory(machine).id, [self.chance.choice("abc")], remove=[self.chance.choice("xyz")])

    def _judge(self, machine: Machine) -> None:
        memory, mind = self._pick_memory(machine), machine.mind
        verdicts = (mind.approve, mind.reject, mind.forget, mind.restore)
        self.chance.choice(verdicts)(memory.id)

    def _erase(self, machine: Machine) -> None:
        receipt = machine.mind.erase(self._pick_memory(machine).id)
        self._while_crashing(lambda: machine.mind.devices.carry(receipt))

    def _say_again(self, machine: Machine) -> None:
        """Try to store an erased value again, which must be refused where the erasure is known."""
        erased_ids = [memory for memory in sorted(self.words) if promises.was_held(machine, memory)]
        if erased_ids:
            self.counts["said again"] += 1
            text = next(iter(self.words[self.chance.choice(erased_ids)].values()))
            try:
                machine.mind.remember(text)
            except Refused:
                return
            raise Broken("an erased value was taken in again")

    def _observe(self, machine: Machine) -> None:
        word = self._word(machine)
        self.local_words.add(word)
        fact = ObservationMade(agent="codex", session_id=f"{word}session", seen=ObservationKind.REPLY, text=word)
        machine.store.record([machine.mind._context.factory.event(fact, Scope.PROJECT, REPOSITORY.id)])

    def _keep_to_the_team(self, machine: Machine) -> None:
        word = self._word(machine)
        self.local_words.add(word)
        machine.mind.remember(f"{word} holds for the team", scope=Scope.TEAM)

    def _remove(self, machine: Machine) -> None:
        """Remove the last machine, once."""
        target = self.machines[-1]
        if len(self.machines) == len(NAMES) and machine is not target:
            view = self.carrier.add_view(lambda: False)
            view.files = dict(self.views[target.name].files)
            attacker = Attacker(self._load_state(target), view, self.chance)
            machine.mind.devices.remove(target.name)
            self.counts["machines removed"] += 1
            self.machines.remove(target)
            self.attacker = attacker

    def _attack(self, machine: Machine) -> None:
        """Let somebody with the keys of the removed machine write to the folder."""
        attacker = self.attacker
        assert attacker is not None
        view = attacker.folder
        assert isinstance(view, View)
        view.receive()
        self.counts["attacks"] += 1
        moves: list[Callable[[], None]] = [
            attacker.forge_unsigned_epoch, attacker.forge_epoch, partial(attacker.forge_epoch, count=3),
            attacker.forge_epoch_of_stranger, partial(attacker.forge_epoch_of_stranger, count=3),
            attacker.overwrite_epochs, attacker.break_epochs, attacker.invent_machine, attacker.forge_heads,
            attacker.put_back_files,
        ]  # fmt: skip
        # A machine that has not heard of the removal may believe a removal by the removed machine.
        if all(self._has_heard(other, attacker) for other in self.machines) and not self.snapshots:
            others = tuple(self._load_state(other).directory for other in self.machines)
            self.counts["attacks by removal"] += 1
            moves += [partial(attacker.forge_epoch, removed=others), partial(attacker.invent_machine, gone=others)] * 3
        self.chance.choice(moves)()

    # -- what happens to the machines --------------------------------------------------------------

    def _sync(self, machine: Machine) -> None:
        self.views[machine.name].receive()
        waiting = self._list_unconfirmed(machine)
        self._while_crashing(machine.mind.devices.sync)
        for batch in waiting - self._list_unconfirmed(machine):
            self._check_confirmed(machine, batch)

    def _while_crashing(self, action: object) -> None:
        self.crash_odds = self.chance.choice((0, 0, 0.02, 0.1))
        try:
            action()  # type: ignore[operator]
        except (Unavailable, Refused, Crash) as error:
            # The next exchange continues.
            self.counts[f"broken off: {type(error).__name__}"] += 1
        finally:
            self.crash_odds = 0.0

    def _damage(self, machine: Machine) -> None:
        damage = (self.carrier.damage, self.carrier.add_foreign_files, self.carrier.empty)
        self.chance.choices(damage, (12, 3, 1))[0]()

    def _rebuild(self, machine: Machine) -> None:
        machine.store.rebuild()

    def _take_snapshot(self, machine: Machine) -> None:
        assert machine.store.directory
        state = (machine.store.directory / DEVICES_FILE).read_bytes()
        self.snapshots[machine.name] = (read_bytes(machine.store), state)

    def _restore_snapshot(self, machine: Machine) -> None:
        """Put a machine back to an earlier state, as a virtual machine or a copy of the disk does."""
        if machine.name in self.snapshots and isinstance(machine.store.db, Fragile) and machine.store.directory:
            self.counts["snapshots restored"] += 1
            if self.attacker and not self._has_heard(machine, self.attacker):
                # What it wrote with the old key may stay in a place that it now forgets.
                self.new_words = {word: name for word, name in self.new_words.items() if name != machine.name}
            content, state = self.snapshots[machine.name]
            machine.store.db.connection.deserialize("main", content)
            _delete_for_real(machine.store.db.connection)
            # A machine that was put back starts its programs again.
            _, machine.store.device, machine.store.secret = store_module.read_identity(machine.store.db)
            (machine.store.directory / DEVICES_FILE).write_bytes(state)
            # What the person did meanwhile and no file had yet is gone with the disk.

    def _pick_memory(self, machine: Machine) -> Memory:
        rows = machine.store.db.execute("SELECT id FROM memories WHERE scope <> 'team' ORDER BY id")
        if not rows:
            raise NotFound("nothing is known here")
        return memories.get(machine.store.db, self.chance.choice(rows[:4])[0])

    def _list_unconfirmed(self, machine: Machine) -> set[str]:
        return set(self._load_state(machine).erasures)

    def _load_state(self, machine: Machine) -> DeviceState:
        state = load_state(machine.store.directory or self.room)
        assert state is not None
        return state

    def _has_heard(self, machine: Machine, attacker: Attacker) -> bool:
        """Whether a machine knows that the attacker's was removed; until then it uses the old key."""
        return attacker.identities[0].directory in self._load_state(machine).removed

    def _receive_all(self) -> None:
        self.carrier.trouble = 0
        for view in self.views.values():
            view.receive()

    def _exchange_all(self) -> None:
        """Bring every file everywhere and let all machines exchange without faults."""
        self._exchange()
        attackers = self.attacker.list_names() if self.attacker and self.counts["snapshots restored"] else set()
        for machine in self.machines:
            for name in sorted(attackers & set(self._load_state(machine).names)):
                # A machine that was put back has forgotten the removal, and no other has the key that says so. Until
                # the person removes it again, the other one belongs, and may bring in further machines.
                self.counts["removed again"] += 1
                machine.mind.devices.remove(name)
                self.new_words.clear()
                self._exchange()

    def _exchange(self) -> None:
        for attempt in range(6):
            for machine in self.machines:
                self._receive_all()
                try:
                    self._sync_or_join(machine)
                except (Unavailable, InvalidInput):
                    # It may wait for a file that another machine writes again.
                    if attempt > 3:
                        raise
                    if attempt == 2:
                        self._remove_lost_places()
                    if attempt == 3:
                        self._join_others(machine)

    def _remove_lost_places(self) -> None:
        """Remove places where no machine is any more, and whose keys are lost with it."""
        places = {self._load_state(machine).directory for machine in self.machines}
        for machine in self.machines:
            for place in sorted(set(self._load_state(machine).names) - places):
                with suppress(Unavailable, Refused):
                    machine.mind.devices.remove(place)

    def _join_others(self, machine: Machine) -> None:
        """Let machines join again that followed the removed one before they heard of the removal."""
        epochs = {epoch.name for epoch in self._load_state(machine).epochs}
        for other in self.machines:
            if self._load_state(other).epoch.name not in epochs:
                self.counts["rescued"] += 1
                self._set_up(other, machine.mind.devices.phrase())

    def _sync_or_join(self, machine: Machine) -> None:
        try:
            machine.mind.devices.sync()
        except Refused:
            # Put back to a time before a key that was made for its later place: it joins again.
            self.counts["joined again"] += 1
            others = [other for other in self.machines if other is not machine]
            newest = max(others, key=lambda other: self._load_state(other).epoch.number)
            try:
                self._set_up(machine, newest.mind.devices.phrase())
            except Refused as error:
                # Nobody has that key any more, because the machine that made it was put back: the person deletes it.
                self.carrier.delete(str(error).partition(":")[0])

    def _resist(self, attacker: Attacker) -> None:
        """Go on while somebody with the keys of the removed machine attacks, without anybody's help."""
        for _ in range(3):
            self._attack(self.machines[0])
            for machine in self.machines:
                self._remember(machine)
                self._receive_all()
                machine.mind.devices.sync()
        for machine in self.machines:
            names = set(self._load_state(machine).names)
            promises._require(not names & attacker.list_names(), "a machine that does not exist belongs to the others")

    def _remove_former_places(self) -> None:
        """Remove what `sync devices` lists of machines that were put back and go on elsewhere in the folder."""
        places = {self._load_state(machine).directory for machine in self.machines}
        for machine in self.machines:
            former_places = set(self._load_state(machine).names) - places
            for place in sorted(former_places):
                machine.mind.devices.remove(place)
            if former_places:
                self._exchange_all()

    # -- what must hold ----------------------------------------------------------------------------

    def _check(self) -> None:
        newcomer = self._add_machine("newcomer")
        self._receive_all()
        self._set_up(newcomer, self.machines[0].mind.devices.phrase())
        self.machines.append(newcomer)
        # What was torn since the others have read it is written again when the newcomer misses it.
        self._exchange_all()
        stores = [machine.store for machine in self.machines]
        promises._chains_verify(stores)
        expected = _private_memories(self.machines[0])
        for machine in self.machines[1:]:
            promises._require(_private_memories(machine) == expected, f"{machine.name} does not know the same")
        for machine in self.machines:
            promises._require(not self._list_unconfirmed(machine), "an erasure was not confirmed")
        promises._no_edit_is_lost(stores[0])
        self._check_files(self.machines)
        promises._rebuilding_changes_nothing(self.chance.choice(stores))

    def _check_files(self, machines: list[Machine]) -> None:
        state = self._load_state(machines[0])
        # What a removed machine writes in a place of which no other has heard stays until the person deletes it, as
        # each exchange asks them to; the places that they know are emptied.
        unknown_names = self.attacker.list_names() - set(state.removed) if self.attacker else set()
        files = {name: raw for name, raw in self.carrier.current().items() if name.split("/")[0] not in unknown_names}
        published = read_published(files, state.epochs)
        promises._require(not any(word in published for word in self.local_words), "something local travelled")
        raw = b"".join(self.carrier.current().values())
        for memory, words in self.words.items():
            promises._require(not any(word.encode() in raw for word in words), "a word is readable in the folder")
            if any(log.find_erasure(machine.store.db, memory, promises.EVERYTHING) for machine in machines):
                promises._require(not any(word in published for word in words), "an erased word is in a file")
                for machine in machines:
                    leftover_words = promises._find_words(machine.store, memory, words)
                    promises._require(not leftover_words, "the content of an erased memory is still on a machine")
        keys = self.attacker.list_keys() if self.attacker else ()
        readable = read_published(self.carrier.current(), keys)
        promises._require(not any(word in readable for word in self.new_words), "a removed machine can read on")

    def _check_confirmed(self, machine: Machine, batch: str) -> None:
        """Check that an erasure that the receipt calls done on all machines is done there."""
        self.counts["confirmed erasures"] += 1
        events = [event for _, event in log.read_events(machine.store.db, 0, 10_000) if event.batch == batch]
        for memory in {event.about for event in events if event.about}:
            for other in self.machines:
                # A machine that was put back since has it again until its next exchange.
                if other.name not in self.snapshots:
                    leftover_words = promises._find_words(other.store, memory, self.words.get(memory, {}))
                    promises._require(not leftover_words, "an erasure was confirmed, but not carried out")


def _private_memories(machine: Machine) -> list[Memory]:
    every_memory = memories.iterate_visible(machine.store.db, promises.EVERYTHING)
    return [memory for memory in every_memory if memory.scope is not MemoryScope.TEAM]


def read_published(files: dict[str, bytes], epochs: tuple[Epoch, ...]) -> str:
    """Return the content of every entry in the folder that these keys open."""
    folder: Any = SimpleNamespace(read=files.get)
    entries: list[WireEntry] = []
    for name, content in files.items():
        directory, _, file = name.partition("/")
        if file == HEAD and directory != EPOCHS:
            with suppress(folder_keys.SealBroken):
                head, _ = unpack_head(content, epochs, directory, {})
                for segment in head.segments:
                    entries += load_segment(folder, directory, segment, epochs) or []
    return " ".join(entry.content or "" for entry in entries)


def simulate(seed: int) -> tuple[str, Counter[str]]:
    """Run the simulation of a seed; return the broken promise, if any, and counts of what happened."""
    # Before the dice: made inside, the first seed of a process would use up some of them and run differently.
    make_empty_store()
    chance = random.Random(-seed - 1)
    dice = SimpleNamespace(
        urandom=chance.randbytes, token_bytes=chance.randbytes, token_hex=lambda count: chance.randbytes(count).hex()
    )
    # The same ids for the same seed; small segments, so that merging and gaps happen.
    changes: list[tuple[object, str, object]] = [
        (ids, "os", dice), (log, "secrets", dice), (store_module, "os", dice), (folders, "secrets", dice),
        (folder_keys, "secrets", dice), (plan, "secrets", dice),
        (folder_keys, "new_private_key", lambda: chance.randbytes(32)), (folder_segments, "SEGMENT_ENTRIES", 6),
        (folder_segments, "MOST_SMALL_SEGMENTS", 3),
    ]  # fmt: skip
    with patch(changes), TemporaryDirectory() as room:
        world = OwnMachines(seed, Path(room))
        try:
            world.run()
        except Broken as broken:
            return str(broken), world.counts
        except Exception as error:  # noqa: BLE001 whatever a seeded bug makes the program raise was noticed
            return f"{type(error).__name__}: {error}", world.counts
        store = world.machines[0].store
        rows = store.db.execute("SELECT fact FROM events JOIN bodies USING (position)")
        facts = Counter(row[0] for row in rows)
        every_memory = memories.iterate_visible(store.db, promises.EVERYTHING)
        facts["rival edits"] = sum(len(memory.rivals) for memory in every_memory)
        return "", facts + world.counts
