"""Searches and lists for people; they leave no receipt, because nothing reaches an agent."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hivemind.context import Context
from hivemind.lazy import LazyModule
from hivemind.memory.comparison import find_possible_conflicts
from hivemind.model.memory import CURRENT_STATUSES, Memory, Status
from hivemind.model.recall import Recall
from hivemind.model.scope import Scope
from hivemind.recall.empty_answers import explain_no_memories
from hivemind.store.projections import memories
from hivemind.text.clean import plural, validate_text

if TYPE_CHECKING:
    from hivemind.recall import answer as answer_module
else:
    # `remember` uses this component too, and searching adds 17 % to the import of the application.
    answer_module = LazyModule("recall.answer")

NO_BUDGET = 1_000_000
"""Tokens; a person scrolls."""
SESSIONS_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryStats:
    """A repository and its memories."""

    repo: str
    """Empty for memories that apply everywhere."""
    memories: tuple[tuple[str, int], ...]
    """Status, count."""
    newest: str


class Browse:
    """Searches and lists for people."""

    def __init__(self, context: Context) -> None:
        self._context = context

    # Here and not with the review: every remember asks for it, and the review loads the detectors.
    def possible_conflicts(self, memory: Memory) -> tuple[Memory, ...]:
        """Find memories that may contradict this one, but not clearly enough for a dispute."""
        return tuple(find_possible_conflicts(self._context.store.db, memory))

    def search(
        self, text: str, *, statuses: Sequence[Status] = CURRENT_STATUSES, limit: int = 20, **filters: Any
    ) -> Recall:
        """Search memories and sessions without a receipt, with the filters of ``list``."""
        # An agent always leaves a receipt; otherwise nobody could tell what it was shown.
        self._context.require_person("to look without a receipt")
        question = validate_text(text, "the question")
        query = self._context.query(question, statuses=statuses, limit=limit, max_tokens=NO_BUDGET, **filters)
        answers = answer_module.Answers(self._context)
        # The limit is that of a page, not a wish for more than is near.
        answer = answers.search(replace(query, wants_more=False))
        return answers.explain_if_empty(answers.add_sessions(answer, SESSIONS_SHOWN))

    def explain_empty_list(self, *, everywhere: bool = False, **filters: Any) -> str:
        """Explain why no memory matches these filters of ``list``, and what to try."""
        return explain_no_memories(self._context, self._context.query(everywhere=everywhere, **filters))

    def get_all(self, ids: Iterable[str], *, everywhere: bool = False) -> tuple[Memory, ...]:
        """Return memories by their full ids, without those that are gone or not visible."""
        return tuple(
            memories.get_visible(self._context.store.db, ids, self._context.limit_sight(everywhere=everywhere))
        )

    def repositories(self) -> tuple[RepositoryStats, ...]:
        """Count the memories of each repository; the most recently used comes first."""
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
        """Explain what limits the search at present; empty if nothing does."""
        member = self._context.store.membership
        if member and not member.synchronised_at:
            return "not all of the team's memories are here, because its lease ended; 'hivemind sync' brings them"
        if self._context.embedder.missing_because:
            return f"searched by words alone: {self._context.embedder.missing_because}"
        return ""

    def redaction_note(self, memory: Memory) -> str:
        """Say which secrets were left out of a memory, by kind; empty if there were none."""
        counts = Counter(kind.replace("-", " ") for kind in memory.redacted)
        return f"redacted: {', '.join(plural(count, kind) for kind, count in counts.items())}" if counts else ""

    def sharing_note(self, memory: Memory) -> str:
        """Explain where the first memory for a team goes; empty for later ones, and if it is shared or just stays."""
        store = self._context.store
        # A hub has no folder of its own: there the memory is shared already.
        if memory.scope is not Scope.TEAM or store.directory is None or store.membership:
            return ""
        every_repository = replace(self._context.limit_sight(), everywhere=True)
        of_the_team = replace(self._context.query(scope=Scope.TEAM, statuses=()), sight=every_repository)
        is_first = not memories.has_others(store.db, of_the_team, [memory.id])
        return "kept on this machine until you join a team: hivemind team login URL" if is_first else ""
