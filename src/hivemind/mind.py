"""The verbs and components that a person's memory and a team's memory on a hub have in common.

A verb takes values, calls the package that does the work, and records the events it returns.
"""

import importlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hivemind.code.checkout import Checkout
from hivemind.context import Context
from hivemind.model.claim import Claim
from hivemind.model.memory import Kind, Memory, Trace
from hivemind.model.metadata import NO_METADATA, MetadataValue
from hivemind.model.recall import Detail, Recall
from hivemind.model.scope import Repository, Scope
from hivemind.model.timestamps import When
from hivemind.store.database import Closeable
from hivemind.store.projections import memories
from hivemind.text.clean import Texts, check_text, list_texts, validate_label, validate_text

if TYPE_CHECKING:
    from hivemind.code.code import Code
    from hivemind.erase.erasures import Erasures
    from hivemind.maintenance.maintenance import Maintenance
    from hivemind.memory.remember import Memories
    from hivemind.model.erasure import Erasure
    from hivemind.model.reports import Explanation
    from hivemind.recall.actions import Actions
    from hivemind.recall.answers import Answers
    from hivemind.recall.browse import Browse
    from hivemind.review.history import History
    from hivemind.review.review import Review
    from hivemind.sessions.sessions import Sessions


def component(module: str, name: str) -> "cached_property[Any]":
    """A property that imports a component and makes it from the context when it is first used."""

    def make(mind: "Mind") -> Any:
        # Not at the top: all components together take 70 % of the time that the application itself takes to import,
        # and a command uses one or two of them.
        return getattr(importlib.import_module(f"hivemind.{module}"), name)(mind._context)

    return cached_property(make)


class Mind(Closeable):
    """An open memory, seen from one repository: its verbs and components."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def repository(self) -> Repository:
        """The current repository."""
        return self._context.repository

    @property
    def checkout(self) -> Checkout:
        """The current working tree."""
        return self._context.checkout

    @property
    def speaker(self) -> str:
        """The person or agent who uses it."""
        return self._context.author.actor

    actions: "cached_property[Actions]" = component("recall.actions", "Actions")
    """What an agent is told at its actions."""
    browse: "cached_property[Browse]" = component("recall.browse", "Browse")
    """Searches and lists without a receipt."""
    code: "cached_property[Code]" = component("code.code", "Code")
    """Memories and the code they are about."""
    erasures: "cached_property[Erasures]" = component("erase.erasures", "Erasures")
    """Erasures by name, receipts of erasures, interrupted erasures."""
    maintenance: "cached_property[Maintenance]" = component("maintenance.maintenance", "Maintenance")
    """The health of the store, its backups, and the embedding model."""
    review: "cached_property[Review]" = component("review.review", "Review")
    """The review queue, and decisions about many memories."""
    sessions: "cached_property[Sessions]" = component("sessions.sessions", "Sessions")
    """Sessions of agents, and what is learned from them."""
    _answers: "cached_property[Answers]" = component("recall.answers", "Answers")

    # These two are written out, because a hub overrides them. Their imports here save 5 % and 11 % of that time.
    @cached_property
    def history(self) -> "History":
        """History of memories and subjects, receipts, the log."""
        from hivemind.review.history import History

        return History(self._context)

    @cached_property
    def _memories(self) -> "Memories":
        from hivemind.memory.remember import Memories

        return Memories(self._context)

    def close(self) -> None:
        """Close the files."""
        self._context.close()

    def remember(
        self,
        text: str,
        *,
        scope: Scope | str = Scope.PROJECT,
        kind: Kind | str | None = None,
        tags: Sequence[str] = (),
        subject: str = "",
        replaces: Sequence[str | Memory] | str | Memory = (),
        expires: When = "",
        verify_by: When = "",
        valid_from: When = "",
        valid_to: When = "",
        links: Texts = (),
        sources: Texts = (),
        confidence: float = 1.0,
        propose: bool = False,
        metadata: Mapping[str, MetadataValue] | None = None,
    ) -> Memory:
        """Store a memory; what it contradicts is named in ``contradicts``, and secrets it had in ``redacted``.

        Without a kind, its words tell it: "we decided …" is a decision, "never …" a convention.
        """
        claim = Claim(
            text=text, scope=Scope.parse(scope), kind=Kind.parse(kind) if kind else None, tags=tags, subject=subject,
            replaces=_list_ids(replaces), expires=expires,
            verify_by=verify_by, valid_from=valid_from, valid_to=valid_to, links=list_texts(links, "link"),
            sources=list_texts(sources, "source"), confidence=confidence, propose=propose,
            metadata=metadata or NO_METADATA,
        )  # fmt: skip
        return self.remember_all([claim])[0]

    def remember_all(self, items: Iterable[Claim | Mapping[str, Any] | str]) -> tuple[Memory, ...]:
        """Store several memories, given as texts, dictionaries or claims: all of them, or none if one is refused."""
        return self._memories.remember_all(items)

    def store_trace(
        self,
        *,
        action: str,
        agent: str = "",
        reasoning: str = "",
        result: str = "",
        tags: Sequence[str] = (),
        scope: Scope | str = Scope.PROJECT,
        links: Texts = (),
    ) -> Memory:
        """Store an action, its reasoning and its result; without an agent, whoever stores it has done it."""
        trace = Trace(
            agent=validate_label(agent or self.speaker, "the agent"),
            action=validate_label(action, "the action"),
            reasoning=validate_text(reasoning, "the reasoning") if reasoning else "",
            result=validate_label(result, "the result") if result else "",
        )
        # A trace is a memory too, so it is searched, shared and erased like any other.
        claim = Claim(
            text=trace.text,
            kind=Kind.TRACE,
            scope=Scope.parse(scope),
            tags=tags,
            links=list_texts(links, "link"),
            trace=trace,
        )
        return self.remember_all([claim])[0]

    def recall(
        self,
        text: str,
        *,
        scope: Scope | str | None = None,
        kinds: Sequence[str] = (),
        tags: Sequence[str] = (),
        limit: int | None = None,
        max_tokens: int | None = None,
        as_of: When = "",
        true_at: When = "",
        everywhere: bool = False,
        detail: Detail | str = Detail.STANDARD,
        where: Mapping[str, MetadataValue] | None = None,
    ) -> Recall:
        """Search memories, with a receipt for each one shown.

        ``as_of`` searches the memories as they were stored then, ``true_at`` what was valid then by today's knowledge,
        and ``where`` memories whose metadata has these values.
        """
        query = self._context.query(
            validate_text(text, "the question"), scope=scope, kinds=kinds, tags=tags, limit=limit,
            max_tokens=max_tokens, as_of=as_of, true_at=true_at, everywhere=everywhere, detail=detail, where=where,
        )  # fmt: skip
        return self._answers.recall(query)

    def search_traces(self, text: str, *, limit: int | None = None, everywhere: bool = False) -> Recall:
        """Search traces: what was done in a similar case, and its result."""
        return self.recall(text, kinds=(Kind.TRACE,), limit=limit, everywhere=everywhere)

    def brief(self) -> Recall:
        """Return the brief for the start of a session; empty if the session got it already."""
        return self._answers.brief()

    def on_prompt(self, prompt: str) -> Recall:
        """Return memories that match a prompt and that this session did not get yet."""
        return self._answers.on_prompt(check_text(prompt, "the prompt"))

    def context(self, task: str = "", *, files: Texts = ()) -> Recall:
        """Return memories about a task and its files, then the rest of the brief that the session did not get yet."""
        return self._answers.for_task(check_text(task, "the task"), list_texts(files, "file"))

    def list(
        self,
        *,
        scope: Scope | str | None = None,
        kinds: Sequence[str] = (),
        tags: Sequence[str] = (),
        statuses: Sequence[str] = (),
        agent: str = "",
        since: When = "",
        until: When = "",
        limit: int = 20,
        before: str = "",
        everywhere: bool = False,
        where: Mapping[str, MetadataValue] | None = None,
    ) -> tuple[Memory, ...]:
        """List visible memories, newest first; ``before`` is the last id of the previous page."""
        query = self._context.query(
            scope=scope, kinds=kinds, tags=tags, limit=limit, statuses=statuses, everywhere=everywhere, agent=agent,
            since=since, until=until, where=where,
        )  # fmt: skip
        # Resolved like any id, so that a page cannot reveal memories that are not visible.
        last = self._context.resolve(before, everywhere=everywhere) if before else ""
        return tuple(memories.list_memories(self._context.store.db, query, before=last))

    def show(self, memory: str | Memory, *, everywhere: bool = False) -> Memory:
        """Return a memory by its id or a prefix; with ``everywhere``, also of another repository."""
        return self._context.memory(_id_of(memory), everywhere=everywhere)

    def explain(self, memory: str | Memory, *, everywhere: bool = False) -> "Explanation":
        """Return a memory with its sources, its history and its receipts."""
        return self.history.explain(_id_of(memory), everywhere=everywhere)

    def edit(
        self,
        memory: str | Memory,
        text: str = "",
        *,
        kind: Kind | str | None = None,
        subject: str = "",
        expires: When = "",
        verify_by: When = "",
        valid_from: When = "",
        valid_to: When = "",
        confidence: float | None = None,
        reason: str = "",
        metadata: Mapping[str, MetadataValue | None] | None = None,
        everywhere: bool = False,
    ) -> Memory:
        """Edit a memory; earlier versions stay in its history.

        ``metadata`` sets the values it names and removes those that are None.
        """
        return self._memories.edit(
            _id_of(memory), text, kind=kind, subject=subject, expires=expires, verify_by=verify_by,
            valid_from=valid_from, valid_to=valid_to, confidence=confidence, reason=reason, metadata=metadata or {},
            everywhere=everywhere,
        )  # fmt: skip

    def tag(
        self, memory: str | Memory, add: Sequence[str] = (), remove: Sequence[str] = (), *, everywhere: bool = False
    ) -> Memory:
        """Add tags to a memory or remove them."""
        return self._memories.tag(_id_of(memory), add, remove, everywhere=everywhere)

    def forget(self, memory: str | Memory, *, reason: str = "", everywhere: bool = False) -> Memory:
        """Retract a memory; ``restore`` brings it back."""
        return self._memories.forget(_id_of(memory), reason, everywhere=everywhere)

    def restore(self, memory: str | Memory, *, reason: str = "", everywhere: bool = False) -> Memory:
        """Restore a retracted, rejected or superseded memory."""
        return self._memories.restore(_id_of(memory), reason, everywhere=everywhere)

    def approve(self, memory: str | Memory, *, reason: str = "", everywhere: bool = False) -> Memory:
        """Approve a memory; it supersedes what contradicts it, which settles their dispute."""
        return self._memories.approve(_id_of(memory), reason, everywhere=everywhere)

    def reject(self, memory: str | Memory, *, reason: str = "", everywhere: bool = False) -> Memory:
        """Reject a memory and keep its value out from now on; ``restore`` lifts that."""
        return self._memories.reject(_id_of(memory), reason, everywhere=everywhere)

    def erase(
        self, memory: str | Memory, *, reason: str = "", also: Sequence[str] = (), everywhere: bool = False
    ) -> "Erasure":
        """Erase memories and everything derived from them; the receipt lists each location and its state.

        If the memory was erased before, return the receipt of that erasure.
        """
        return self.erasures.erase(_id_of(memory), also, reason, everywhere=everywhere)


def _id_of(memory: str | Memory) -> str:
    """The id of a memory, which programs often have as an object."""
    return memory.id if isinstance(memory, Memory) else memory


def _list_ids(memories: Iterable[str | Memory] | str | Memory | None) -> tuple[str, ...]:
    """The ids of one memory or several."""
    several = [memories] if isinstance(memories, str | Memory) else memories
    return list_texts(map(_id_of, several) if isinstance(several, Iterable) else several, "id")
