"""One simulation: two teams work with faults, synchronise without faults, and then the promises are checked."""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

from hivemind import Scope
from hivemind.erase import sweep
from hivemind.erase.plan import Targets
from hivemind.errors import InvalidInput, NotFound, Refused, Unavailable
from hivemind.model import ids, timestamps
from hivemind.model.claim import Claim
from hivemind.model.events import ObservationMade
from hivemind.model.memory import Memory
from hivemind.model.session import ObservationKind
from hivemind.model.team import Role, TeamMember
from hivemind.store import log, sync_state
from hivemind.store.projections import memories
from hivemind.sync import team_exchange as sync
from lab.evals.simulation import promises
from lab.evals.simulation.machines import REPOSITORY, Crash, Fragile, Machine, fresh_store
from lab.evals.simulation.network import Line, Network
from lab.evals.simulation.promises import Broken

STEPS = 32
PEOPLE = (
    ("ann", "A", TeamMember(person="ann", role=Role.REVIEWER)),
    ("ben", "A", TeamMember(person="ben", role=Role.WRITER)),
    ("cody", "A", TeamMember(person="cody", role=Role.WRITER, is_agent=True)),
    ("dora", "B", TeamMember(person="dora", role=Role.WRITER)),
)
SKEWS = (0, 0, -3, 2, 40)
"""Days by which clocks may be wrong."""


class World:
    """Two hubs, their devices, the network between them, and the words written so far."""

    def __init__(self, seed: int, room: Path) -> None:
        self.chance = random.Random(seed)
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.network = Network(self.chance, lambda: timestamps.format_timestamp(self.now))
        self.hubs = {name: fresh_store(self.chance, room) for name in "AB"}
        self.machines = [
            Machine(name, team, member, timedelta(days=self.chance.choice(SKEWS)), lambda: self.now, self.chance, room)
            for name, team, member in PEOPLE
        ]
        self.crash_odds = 0.0
        for store in (*self.hubs.values(), *(machine.store for machine in self.machines)):
            assert isinstance(store.db, Fragile)
            store.db.crashes = self._crashes
        self.words: dict[str, dict[str, str]] = {}
        """For each memory, the words that only it contains, each with the text around it."""
        self.entries: dict[str, str] = {}
        """For each word of an edit, the id of its log entry."""
        self.private: set[str] = set()
        """Words and ids that must never be sent."""
        self.counts: Counter[str] = Counter()
        self.tokens = 0

    def run(self) -> None:
        """Share some memories, work with faults, synchronise without faults, and check the promises."""
        for machine in self.machines:
            self._remember(machine)
        self._synchronise_all(rounds=2)
        self.network.trouble = self.chance.choice((0.01, 0.05, 0.15))
        for _ in range(STEPS):
            self._step(self.chance.choice(self.machines))
        self._synchronise_all()
        promises.check(self)

    def word(self) -> str:
        """Return a new unique word."""
        self.tokens += 1
        return f"word{self.tokens:04d}{self.chance.randrange(1 << 24):06x}"

    def _crashes(self) -> bool:
        crashes = self.crash_odds > 0 and self.chance.random() < self.crash_odds
        self.counts["crashes"] += crashes
        return crashes

    def _step(self, machine: Machine) -> None:
        self.now += timedelta(minutes=self.chance.randrange(1, 400))
        actions = {self._sync: 30, self._remember: 9, self._remember_privately: 5, self._revise: 24, self._tag: 3,
                  self._judge: 8, self._erase: 8, self._publish: 4, self._recall: 3, self._observe: 6,
                  self._say_again: 8, self._toggle_partition: 4, self._pass_days: 2, self._rebuild: 1}  # fmt: skip
        action = self.chance.choices(list(actions), list(actions.values()))[0]
        self._open(machine)
        with suppress(NotFound, InvalidInput, Refused):
            action(machine)

    # -- what people and agents do ---------------------------------------------------------------

    def _remember(self, machine: Machine) -> None:
        word = self.word()
        subject = self.chance.choice(("", "", "deploy"))
        memory = machine.mind.remember(f"{word} holds for the team", scope=Scope.TEAM, subject=subject)
        self.words.setdefault(memory.id, {})[word] = memory.text

    def _remember_privately(self, machine: Machine) -> None:
        word, session = self.word(), self.word()
        subject = self.chance.choice(("", "", "deploy"))
        claim = Claim(text=f"{word} holds for me", subject=subject, session_id=session)
        (memory,) = machine.mind.remember_all([claim])
        self.private |= {word, session, memory.id}

    def _revise(self, machine: Machine) -> None:
        memory = self._pick_memory(machine)
        word = self.word()
        edited_memory = machine.mind.edit(memory.id, f"{word} holds instead")
        if memory.scope is Scope.TEAM:
            self.words.setdefault(memory.id, {})[word] = edited_memory.text
            entries = sync_state.read_chain(machine.store.db, machine.store.chain, 0, 10_000)
            self.entries[word] = next((entry.header.id for entry in entries if word in (entry.content or "")), "")
        else:
            self.private.add(word)

    def _tag(self, machine: Machine) -> None:
        machine.mind.tag(self._pick_memory(machine).id, [self.chance.choice("abc")], remove=[self.chance.choice("xyz")])

    def _judge(self, machine: Machine) -> None:
        memory, mind = self._pick_memory(machine), machine.mind
        match self.chance.choice(("approve", "over", "reject", "retract", "restore", "dispute")):
            case "approve":
                mind.approve(memory.id)
            case "over":
                mind.approve(memory.id)
            case "reject":
                mind.reject(memory.id)
            case "retract":
                mind.forget(memory.id)
            case "restore":
                mind.restore(memory.id)
            case _:
                mind.review.dispute(memory.id, self._pick_memory(machine).id)

    def _erase(self, machine: Machine) -> None:
        memory = self._pick_memory(machine)
        if memory.scope is Scope.TEAM and self.chance.random() < 0.5:
            # Bypass the device's own check, as with an outdated role: the hub has to refuse.
            sweep.erase(machine.store, machine.mind._context.factory, Targets(memories=(memory,)))
        else:
            machine.mind.erase(memory.id)

    def _publish(self, machine: Machine) -> None:
        own = machine.store.db.execute("SELECT id FROM memories WHERE scope = 'project' ORDER BY id")
        if own and not machine.member.is_agent:
            memory = memories.get(machine.store.db, self.chance.choice(own)[0])
            (publication,) = machine.mind.team.publish([memory.id])
            word = memory.text.split()[0]
            self.private.discard(word)
            machine.published_tokens.add(word)
            self.words.setdefault(publication.copy, {})[word] = publication.text

    def _recall(self, machine: Machine) -> None:
        machine.mind.recall(self._pick_memory(machine).text)

    def _observe(self, machine: Machine) -> None:
        """Let an agent print a memory's text in a session that stays on this device."""
        word = self.word()
        self.private.add(word)
        fact = ObservationMade(
            agent="codex",
            session_id=f"{word}session",
            seen=ObservationKind.REPLY,
            text=f"{word}: {self._pick_memory(machine).text}",
        )
        machine.store.record([machine.mind._context.factory.event(fact, Scope.PROJECT, REPOSITORY.id)])

    def _say_again(self, machine: Machine) -> None:
        """Try to store an erased value again, which must be refused where the erasure is known."""
        erasures = [
            (memory, log.find_erasure(machine.store.db, memory, promises.EVERYTHING)) for memory in sorted(self.words)
        ]
        erased_memories = [(memory, event.actor) for memory, event in erasures if event]
        if erased_memories:
            by_others = [pair for pair in erased_memories if pair[1] != machine.member.person]
            memory, _ = self.chance.choice(by_others or erased_memories)
            word, text = next(iter(self.words[memory].items()))
            if promises.was_held(machine, memory) and word not in machine.published_tokens:
                self.counts["said again"] += 1
                self._must_be_refused(machine, text)

    def _must_be_refused(self, machine: Machine, text: str) -> None:
        try:
            machine.mind.remember(text)
        except Refused:
            return
        raise Broken("an erased value was taken in again")

    # -- what happens to them --------------------------------------------------------------------

    def _sync(self, machine: Machine) -> None:
        hub = self.hubs[machine.team]
        if self.network.odds(0.4):
            # A wrong address: another team's hub, with a token that is valid there.
            hub = self.hubs["B" if machine.team == "A" else "A"]
            if sync_state.read_membership(machine.store.db) is None:
                return
        self.crash_odds = self.chance.choice((0, 0, 0.02, 0.1))
        try:
            machine.mind.team.sync(Line(self.network, machine, hub))
        except (Unavailable, Refused, InvalidInput, Crash) as error:
            # The next synchronisation continues.
            self.counts[f"broken off: {type(error).__name__}"] += 1
        finally:
            self.crash_odds = 0.0

    def _toggle_partition(self, machine: Machine) -> None:
        machine.is_partitioned = not machine.is_partitioned
        self.network.deliver_late()

    def _pass_days(self, machine: Machine) -> None:
        self.now += timedelta(days=self.chance.choice((1, 5, 30, 70)))

    def _rebuild(self, machine: Machine) -> None:
        machine.store.rebuild()

    def _open(self, machine: Machine) -> None:
        """Do what the program does at each start."""
        if machine.mind.team.expire_lease():
            self.counts["leases over"] += 1
            machine.has_lapsed = True
        member = sync_state.read_membership(machine.store.db)
        if (
            member
            and member.synchronised_at
            and sync.compute_lease_end(member) < timestamps.format_timestamp(machine.clock())
        ):
            raise Broken("a device serves the team's memories after its lease")

    def _pick_memory(self, machine: Machine) -> Memory:
        """Return a random memory of this device; to cause conflicts, often a shared or disputed one."""
        rows = machine.store.db.execute("SELECT id, scope = 'team', rivals <> '[]' FROM memories ORDER BY id")
        if not rows:
            raise NotFound("nothing is known here")
        team_rows = [row for row in rows if row[1]][:4]
        disputed_rows = [row for row in rows if row[2]]
        pool = self.chance.choice([rows, team_rows or rows, disputed_rows or team_rows or rows])
        return memories.get(machine.store.db, self.chance.choice(pool)[0])

    def _synchronise_all(self, rounds: int = 3) -> None:
        """Deliver everything and let all devices synchronise without faults."""
        self.network.trouble = 0
        while self.network.delayed:
            self.network.deliver_late()
        for _ in range(rounds):
            for machine in self.machines:
                machine.is_partitioned = False
                self._open(machine)
                machine.mind.team.sync(Line(self.network, machine, self.hubs[machine.team]))


def simulate(seed: int) -> tuple[str, Counter[str]]:
    """Run the simulation of a seed; return the broken promise, if any, and counts of what happened."""
    chance = random.Random(-seed - 1)
    dice = SimpleNamespace(urandom=chance.randbytes, token_bytes=chance.randbytes)
    # The same ids for the same seed; small pages, so that a pull takes several.
    changes: list[tuple[object, str, object]] = [
        (ids, "os", dice),
        (log, "secrets", dice),
        (sync, "PAGE_ENTRIES", 4),
    ]
    with patch(changes), TemporaryDirectory() as room:
        world = World(seed, Path(room))
        try:
            world.run()
        except Broken as broken:
            return str(broken), world.counts
        except Exception as error:  # noqa: BLE001 whatever a seeded bug makes the program raise was noticed
            return f"{type(error).__name__}: {error}", world.counts
        return "", promises.count_events(world)


@contextmanager
def patch(changes: list[tuple[object, str, object]]) -> Iterator[None]:
    """Replace parts of the program for a while."""
    before = [(where, name, getattr(where, name)) for where, name, _ in changes]
    for where, name, part in changes:
        setattr(where, name, part)
    try:
        yield
    finally:
        for where, name, part in before:
            setattr(where, name, part)
