"""The status of this repository: memories, connected agents, pending reviews, next steps."""

from collections.abc import Iterator
from dataclasses import replace

from hivemind.agents.install import Agents
from hivemind.background import measure_cpu_seconds
from hivemind.code.staleness import ASKED_SECONDS, count_links, find_stale_memories
from hivemind.context import Context
from hivemind.errors import HivemindError
from hivemind.model.memory import Status
from hivemind.model.recall import SHIPPED_MODEL
from hivemind.model.review import StaleMemory
from hivemind.model.scope import Visibility
from hivemind.model.status import NextStep, Stats, StatusReport
from hivemind.review.review import Review
from hivemind.sessions import quarantine
from hivemind.store.projections import memories, sessions, vectors
from hivemind.text import switch
from hivemind.transfer.skills import examine_skills

MANY = 1000
"""More than anybody reviews in a day."""


def build_status(context: Context, stats: Stats) -> StatusReport:
    """Summarise memories, connected agents, pending reviews and next steps."""
    db, here = context.store.db, Visibility.of(context.repository)
    counts = {Status(name): int(count) for name, count in memories.count_by_status(db, here)}
    connected_names, unconnected_names = Agents(context).list_connected()
    stale = _find_stale(context)
    waiting = len(Review(context).queue(limit=MANY, doubts=stale))
    # Not from the model itself: loading it takes longer than everything else here.
    model = context.settings.model or SHIPPED_MODEL
    embedded, unembedded = vectors.count(db, model) if model != "none" else (0, 0)
    linked, unlinked = count_links(context) if context.checkout.exists else (0, 0)
    standing = StatusReport(
        store=str(context.store.directory),
        bytes=stats.bytes,
        repository=context.repository.id,
        is_off=switch.is_off(context.repository.root),
        # Sorting is stable, so the others stay ordered by their number.
        memories=tuple(
            (name.value, counts[name]) for name in sorted(counts, key=lambda name: name is not Status.ACTIVE)
        ),
        # Row 3 is the count, over all repositories.
        elsewhere=sum(row[3] for row in stats.memories) - sum(counts.values()),
        last_session=next(iter(sessions.list_sessions(db, here, limit=1)), None),
        connected=connected_names,
        waiting=waiting,
        doubted=len(stale),
        is_code_behind=context.checkout.is_code_behind,
        linked=linked,
        unlinked=unlinked,
        embedded=embedded,
        unembedded=unembedded,
        quarantined=quarantine.count_items(context.settings.home),
        next=(),
    )
    steps = [
        *_list_next_steps(standing, unconnected_names, can_link=_can_link(context) if standing.unlinked else False)
    ]
    if any(not finding.is_well for finding in examine_skills(context)):
        steps.append(NextStep(command="hivemind doctor", why="look at skills that differ from their memories"))
    return replace(standing, next=tuple(steps))


def _find_stale(context: Context) -> tuple[StaleMemory, ...]:
    try:
        return find_stale_memories(context, deadline=measure_cpu_seconds() + ASKED_SECONDS)
    except HivemindError:
        # A tree that cannot be looked at is the doctor's business; the rest is still worth knowing.
        return ()


def _can_link(context: Context) -> bool:
    """Whether indexing the tree may find names that are not known yet."""
    try:
        return context.checkout.index.may_lack_names
    except HivemindError:
        return False


def _list_next_steps(
    standing: StatusReport, unconnected_names: tuple[str, ...], *, can_link: bool
) -> Iterator[NextStep]:
    if unconnected_names:
        yield NextStep(command="hivemind install", why=f"connect {', '.join(unconnected_names)}")
    elif not standing.connected:
        yield NextStep(command="hivemind install AGENT", why="connect an agent, such as claude-code")
    if not standing.last_session:
        yield NextStep(command="hivemind import", why="list transcripts and commits to learn from")
    if standing.waiting:
        yield NextStep(command="hivemind review", why="approve or reject what waits")
    if standing.doubted:
        yield NextStep(command="hivemind code stale", why="list memories whose code changed")
    if can_link:
        yield NextStep(command="hivemind code index", why="link memories to the code that they name")
    if standing.quarantined:
        yield NextStep(command="hivemind quarantine", why="look at input that could not be read")
    if standing.memories:
        yield NextStep(command='hivemind recall "…"', why="search memories")
    else:
        yield NextStep(command='hivemind remember "…"', why="store a first memory")
