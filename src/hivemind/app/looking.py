"""The verbs of somebody who looks: nothing here leaves a receipt, because nothing reaches an agent."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import zip_longest
from pathlib import Path

from hivemind.app.coding import EVERY, PATIENCE_SECONDS
from hivemind.app.judging import Judging
from hivemind.errors import NotFound
from hivemind.model import moments
from hivemind.model.code import Related, Staleness
from hivemind.model.events import MemoriesRecalled, MemoryErased
from hivemind.model.ids import MemoryId
from hivemind.model.memory import Kind, Memory, Status
from hivemind.model.recall import Recall
from hivemind.model.reports import Behind, Day, Near, Stock, Tie
from hivemind.model.scope import Scope
from hivemind.model.session import Observation
from hivemind.model.text import checked
from hivemind.store import log
from hivemind.store.projections import memories, receipts, sessions

NO_BUDGET = 1_000_000
"""Tokens; a person scrolls."""
CHILDREN = 2_000
"""Of a folder that are shown."""
STANDING = (Status.ACTIVE, Status.DISPUTED, Status.PROPOSED)


class Looking(Judging):
    """What a person can look at."""

    def browse(
        self,
        text: str,
        *,
        scope: Scope | None = None,
        kinds: Sequence[Kind] = (),
        tags: Sequence[str] = (),
        statuses: Sequence[Status] = STANDING,
        agent: str = "",
        since: str = "",
        until: str = "",
        as_of: str = "",
        everywhere: bool = False,
        limit: int = 20,
    ) -> Recall:
        """What recall would find, for a person's own eyes."""
        self._must_be_a_person("to look without a receipt")
        query = self._query(
            checked(text, "the question"), scope=scope, kinds=kinds, tags=tags, statuses=statuses, agent=agent,
            since=since, until=until, as_of=as_of, everywhere=everywhere, limit=limit, max_tokens=NO_BUDGET,
        )  # fmt: skip
        return self._answer(query)

    def days(self, count: int = 30, *, everywhere: bool = False) -> tuple[Day, ...]:
        """The last days, today last: what was learned, what reached agents, what it cost."""
        today = self._clock()
        dates = [moments.day(moments.written(today - timedelta(days=back))) for back in reversed(range(count))]
        learned: dict[str, dict[str, int]] = defaultdict(dict)
        sight = self._sight(everywhere=everywhere)
        for date, status, number in memories.by_day(self._store.db, sight, dates[0]):
            learned[date][status] = number
        shown = {row[0]: row[1:] for row in receipts.by_day(self._store.db, dates[0])}
        total = learned.pop("", {})
        days = []
        for date in dates:
            total = {status: total.get(status, 0) + learned[date].get(status, 0) for status in Status}
            recalls, to_verify, briefs, tokens = shown.get(date, (0, 0, 0, 0))
            days.append(
                Day(
                    date=date,
                    learned=sum(learned[date].values()),
                    memories=tuple(total.items()),
                    recalls=recalls,
                    to_verify=to_verify,
                    briefs=briefs,
                    brief_tokens=tokens,
                )
            )
        return tuple(days)

    def places(self) -> tuple[Stock, ...]:
        """Every repository something was learned in, and how much; the one last learned in first."""
        found: dict[str, dict[str, int]] = defaultdict(dict)
        newest: dict[str, str] = defaultdict(str)
        for repo, status, number, latest in memories.by_repository(self._store.db):
            found[repo][status] = number
            newest[repo] = max(newest[repo], latest)
        in_order = sorted(found, key=lambda repo: newest[repo], reverse=True)
        return tuple(Stock(repo=one, memories=tuple(found[one].items()), newest=newest[one]) for one in in_order)

    def log_length(self) -> int:
        """How many entries the log has."""
        return log.count(self._store.db)

    def log_told(self, entries: Iterable[log.Entry], *, everywhere: bool = False) -> tuple[str, ...]:
        """For each entry of the log what the memory says that it is about, or what was asked; erased ones say so."""
        entries = tuple(entries)
        known = {one.id: one.text for one in self.those({entry.about for entry in entries}, everywhere=everywhere)}
        return tuple(known.get(MemoryId(one.about)) or _told(one) for one in entries)

    def learned_in(self, session: str, *, everywhere: bool = False) -> tuple[Memory, ...]:
        """What was learned in a session, in order."""
        learned = memories.of_session(self._store.db, session)
        visible = {one.id for one in self.those([one.id for one in learned], everywhere=everywhere)}
        return tuple(one for one in learned if one.id in visible)

    def those(self, ids: Iterable[str], *, everywhere: bool = False) -> tuple[Memory, ...]:
        """Memories by their whole ids, as far as they are still there and in sight."""
        return tuple(memories.get_visible(self._store.db, ids, self._sight(everywhere=everywhere)))

    def observation(self, event: str) -> Observation | None:
        """The observation that a source points at, if it is still there."""
        return sessions.observation(self._store.db, event)

    def behind(self, memory: Memory) -> tuple[Behind, ...]:
        """The code a memory is tied to: what became of it, as it was and as it is; nothing for code elsewhere."""
        if not memory.anchors or not self._is_of_here(memory):
            return ()
        from hivemind.codebase import past

        return tuple(
            Behind(staleness=one, then=past.then(self._index.root, one.anchor), now=past.now(self._index.root, one.now))
            for one in self._became(memory.anchors)
        )

    def file_at(self, path: str, commit: str = "") -> str:
        """A file of the repository at a commit, or at the one checked out."""
        from hivemind.codebase import past

        return past.file(Path(self.repository.root), path, commit)

    def near(self, target: str = "", *, limit: int = 12) -> Near:
        """What lies around a file or folder: its parts, the files that bear on it, and the memories tied to them."""
        from hivemind.codebase import graph

        if not self._index.is_built:
            self._index.refresh()
        self._index.refresh_if_older(PATIENCE_SECONDS)
        is_file = bool(target) and bool(self._index.symbols_of(target))
        children = () if is_file else tuple(graph.children(self._index, target)[:CHILDREN])
        if target and not is_file and not children:
            raise NotFound(f"there is nothing called {target!r} in this working tree")
        related = tuple(graph.related(self._index, (target,), limit)) if is_file else ()
        symbols = tuple(self._index.symbols_of(target)[1:]) if is_file else ()
        return Near(
            target=target, is_file=is_file, children=children, symbols=symbols, related=related,
            ties=self._ties(target, is_file=is_file, related=related),
        )  # fmt: skip

    def _ties(self, target: str, *, is_file: bool, related: Sequence[Related]) -> tuple[Tie, ...]:
        """Memories tied to code in a place or in the files around it, each with what became of that."""
        query = self._query(limit=EVERY, statuses=STANDING)
        paths = [target, *(one.path for one in related)] if is_file else []
        known = [one for one in memories.anchored(self._store.db, query, paths) if self._is_of_here(one)]
        inside = f"{target}/" if target and not is_file else ""
        held = [
            (memory, anchor)
            for memory in known
            for anchor in memory.anchors
            if (anchor.path in paths if is_file else anchor.path.startswith(inside))
        ]
        became: Sequence[Staleness | None] = self._became([anchor for _, anchor in held]) if held else ()
        return tuple(
            Tie(memory=memory, path=anchor.path, symbol=anchor.qualified, staleness=one)
            for (memory, anchor), one in zip_longest(held, became)
        )


def _told(entry: log.Entry) -> str:
    match entry.event and entry.event.fact:
        case None | MemoryErased():
            return "(erased)"
        case MemoriesRecalled(query=asked):
            return asked
    return ""
