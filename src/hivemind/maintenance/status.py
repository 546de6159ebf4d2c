"""The status of this repository: memories, connected agents, pending reviews, next steps."""

from collections.abc import Iterator
from dataclasses import replace

from hivemind.agents.install import Agents
from hivemind.background import find_deadline
from hivemind.code.staleness import ASKED_SECONDS, count_links, find_stale_memories
from hivemind.context import Context
from hivemind.errors import HivemindError
from hivemind.guard.guards import Guards
from hivemind.model.guard import GuardState
from hivemind.model.memory import Status
from hivemind.model.recall import SHIPPED_MODEL
from hivemind.model.review import StaleMemory
from hivemind.model.scope import Visibility
from hivemind.model.status import NextStep, Stats, StatusReport
from hivemind.review.history import History
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
        week=History(context).week().sentences,
    )
    return replace(standing, next=tuple(_list_next_steps(context, standing, unconnected_names)))


def _find_stale(context: Context) -> tuple[StaleMemory, ...]:
    try:
        return find_stale_memories(context, deadline=find_deadline(ASKED_SECONDS))
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
    context: Context, standing: StatusReport, unconnected_names: tuple[str, ...]
) -> Iterator[NextStep]:
    is_bare = not standing.connected and not unconnected_names
    has_idle_guard = any(report.state is GuardState.DISARMED for report in Guards(context).list_all())
    has_bad_skill = any(not finding.is_well for finding in examine_skills(context))
    steps = (
        (unconnected_names, "hivemind install", f"connect {', '.join(unconnected_names)}"),
        (is_bare, "hivemind install AGENT", "connect an agent, such as claude-code"),
        (not standing.last_session, "hivemind import", "list transcripts and commits to learn from"),
        (standing.waiting, "hivemind review", "approve or reject what waits"),
        (standing.doubted, "hivemind code stale", "list memories whose code changed"),
        (standing.unlinked and _can_link(context), "hivemind code index", "link memories to the code that they name"),
        (standing.quarantined, "hivemind quarantine", "look at input that could not be read"),
        (standing.memories or standing.last_session, 'hivemind recall "…"', "search memories and past sessions"),
        (not standing.memories, 'hivemind remember "…"', "store a first memory"),
        (has_idle_guard, "hivemind guard", "look at guards that do not act any more"),
        (has_bad_skill, "hivemind doctor", "look at skills that differ from their memories"),
    )
    return (NextStep(command=command, why=why) for is_due, command, why in steps if is_due)
