"""What a person looks at: nothing here leaves a receipt, because nothing reaches an agent."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from hivemind.app.context import Context
from hivemind.model.memory import Kind, Memory, Status
from hivemind.model.recall import Recall
from hivemind.model.reports import RepositoryStats
from hivemind.model.scope import Scope
from hivemind.store.projections import memories, vectors
from hivemind.text.clean import validate_text

if TYPE_CHECKING:
    from hivemind.app.answers import Answers

NO_BUDGET = 1_000_000
"""Tokens; a person scrolls."""
STANDING = (Status.ACTIVE, Status.DISPUTED, Status.PROPOSED)


class Browse:
    """Searching and listing for a person's own eyes."""

    def __init__(self, context: Context, answers: "Callable[[], Answers]") -> None:
        self._context = context
        self._answers = answers

    def search(
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
        """What recall would find, without a receipt."""
        self._context.require_person("to look without a receipt")
        query = self._context.query(
            validate_text(text, "the question"), scope=scope, kinds=kinds, tags=tags, statuses=statuses, agent=agent,
            since=since, until=until, as_of=as_of, everywhere=everywhere, limit=limit, max_tokens=NO_BUDGET,
        )  # fmt: skip
        return self._answers().search(query)

    def get_all(self, ids: Iterable[str], *, everywhere: bool = False) -> tuple[Memory, ...]:
        """Memories by their whole ids, as far as they are still there and in sight."""
        return tuple(memories.get_visible(self._context.store.db, ids, self._context.sight(everywhere=everywhere)))

    def repositories(self) -> tuple[RepositoryStats, ...]:
        """Every repository something was learned in, and how much; the one last learned in first."""
        counts: dict[str, dict[str, int]] = defaultdict(dict)
        newest: dict[str, str] = defaultdict(str)
        for repo, status, number, latest in memories.count_by_repository(self._context.store.db):
            counts[repo][status] = number
            newest[repo] = max(newest[repo], latest)
        in_order = sorted(counts, key=lambda repo: newest[repo], reverse=True)
        return tuple(
            RepositoryStats(repo=repo, memories=tuple(counts[repo].items()), newest=newest[repo]) for repo in in_order
        )

    def search_caveat(self) -> str:
        """What a reader should know about how recall searched; nothing if all was searched by words and meaning."""
        member = self._context.store.membership
        if member and not member.synchronised_at:
            return "the team's memories are not here until the hub was asked again; 'hivemind sync' brings them"
        if self._context.embedder.missing_because:
            return f"searched by words alone: {self._context.embedder.missing_because}"
        waiting = vectors.count_missing(self._context.store.db)
        remedy = "compute their vectors with 'hivemind config model catch-up'"
        return f"{waiting:,} passages were searched by words alone; {remedy}" if waiting else ""

    def sharing_note(self, memory: Memory) -> str:
        """What a writer should know about where a memory goes; nothing if it just stays here."""
        is_waiting = memory.scope is Scope.TEAM and not self._context.store.membership
        return "kept on this machine, to be shared once a hub is configured" if is_waiting else ""
