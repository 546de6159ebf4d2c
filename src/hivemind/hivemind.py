"""Hivemind: the one object behind the command line, the hooks, MCP, the viewer and Python.

``Mind`` has the verbs and features that a person's memory and a team's memory on a hub have in common; ``Hivemind``
adds what only a person's machine has. A verb takes values and calls the feature that does the work.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hivemind.agents.writers import identify_writer
from hivemind.code.checkout import Checkout
from hivemind.code.repository import identify
from hivemind.context import Clock, Context, ReceiptSpool, utc_now
from hivemind.embedding.lazy_embedder import LazyEmbedder
from hivemind.errors import InvalidInput, StoreOutdated, StoreUnwritable
from hivemind.lazy import when_called
from hivemind.model.claim import Claim
from hivemind.model.memory import Kind, Memory, Source, Trace, Writer
from hivemind.model.metadata import NO_METADATA, MetadataValue
from hivemind.model.recall import Detail, Recall
from hivemind.model.scope import Repository, Scope
from hivemind.model.timestamps import When
from hivemind.paths import ERASURE_PLANS
from hivemind.sessions import spool_reader
from hivemind.sessions.redact import build_redaction
from hivemind.settings import Settings
from hivemind.store.database import Closeable
from hivemind.store.projections import memories
from hivemind.store.store import Store
from hivemind.text.clean import Texts, check_text, expand_path, list_texts, validate_label, validate_text

if TYPE_CHECKING:
    from hivemind.agents.install import Agents
    from hivemind.code.code import Code
    from hivemind.erase.erasures import Erasures
    from hivemind.guard.guards import Guards
    from hivemind.learning.hearing import Hearing
    from hivemind.learning.learning import Learning
    from hivemind.maintenance.maintenance import Maintenance
    from hivemind.memory.lifecycle import Memories
    from hivemind.model.erasure import Erasure
    from hivemind.model.review import Explanation
    from hivemind.recall.actions import Actions
    from hivemind.recall.answer import Answers
    from hivemind.recall.brief import Briefs
    from hivemind.recall.browse import Browse
    from hivemind.review.history import History
    from hivemind.review.review import Review
    from hivemind.sessions.sessions import Sessions
    from hivemind.store.integrity import Finding
    from hivemind.sync.devices import Devices
    from hivemind.sync.team import Team
    from hivemind.transfer.files import Files

MOST_BYTES_IN_A_HURRY = 1_000_000
"""Of the spool that a hook records itself, in a tenth of a second."""
# Hardly ever needed, and a hook pays for each import.
RECEIPT_SPOOL = ReceiptSpool(
    leave_receipt=when_called("sessions.intake", "leave_receipt"),
    read_session=when_called("sessions.intake", "read_session"),
)


def make_context(
    store: Store,
    settings: Settings,
    repository: Repository,
    author: Writer,
    clock: Clock = utc_now,
    embedder: LazyEmbedder | None = None,
    *,
    directory: Path | None = None,
    is_hurried: bool = False,
) -> Context:
    """Make the context of all features, for a store seen from a repository, and a directory in it."""
    # The store knows the ids that the repository had before.
    checkout = Checkout.of(repository, store.db, settings.home, directory=directory, is_hurried=is_hurried)
    redact = build_redaction(os.environ)
    return Context(
        store, settings, checkout, author, clock, embedder, redact=redact, spool=RECEIPT_SPOOL, is_hurried=is_hurried
    )


def component(module: str, name: str) -> "cached_property[Any]":
    """A property that imports a feature and makes it from the context when it is first used."""
    # Not at the top: all features together take 70 % of the time that the application itself takes to import, and a
    # command uses one or two of them.
    make = when_called(module, name)
    return cached_property(lambda mind: make(mind._context))


NAMES_ELSEWHERE = {
    "add": "remember", "add_texts": "remember_all", "save": "remember", "store": "remember",
    "query": "recall", "search": "recall", "similarity_search": "recall",
    "get": "show", "get_all": "list", "peek": "list", "update": "edit", "upsert": "remember, or edit",
    "delete": "forget, or erase", "delete_all": "erase", "count": "list, or maintenance.stats", "reset": "erase",
    "create_collection": "hivemind.open(name)", "get_or_create_collection": "hivemind.open(name)",
}  # fmt: skip
"""What other memory and vector stores call our verbs."""


class Mind(Closeable):
    """An open memory, seen from one repository: its verbs and components."""

    def __init__(self, context: Context | None = None) -> None:
        if context is None:
            raise TypeError("use hivemind.open()")
        self._context = context

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of {self._context.store.directory}, seen from {self.repository.id or 'anywhere'}>"
        )

    if not TYPE_CHECKING:
        # Type checkers would take any name for an attribute.
        def __getattr__(self, name: str) -> Any:
            if name in NAMES_ELSEWHERE:
                raise AttributeError(f"{type(self).__name__!r} object has no {name!r}; use {NAMES_ELSEWHERE[name]}")
            # Raises again what a property raised, or that there is no such name.
            return object.__getattribute__(self, name)

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

    @property
    def home(self) -> str:
        """The folder of all stores, the settings and the spool."""
        return str(self._context.settings.home)

    @property
    def announces(self) -> bool:
        """Whether the person wants to see what an agent remembers."""
        return self._context.settings.announce

    actions: "cached_property[Actions]" = component("recall.actions", "Actions")
    """What an agent is told at its actions."""
    browse: "cached_property[Browse]" = component("recall.browse", "Browse")
    """Searches and lists without a receipt."""
    erasures: "cached_property[Erasures]" = component("erase.erasures", "Erasures")
    """Erasures by name, receipts of erasures, interrupted erasures."""
    maintenance: "cached_property[Maintenance]" = component("maintenance.maintenance", "Maintenance")
    """The health of the store, its backups, and the embedding model."""
    review: "cached_property[Review]" = component("review.review", "Review")
    """The review queue, and decisions about many memories."""
    learning: "cached_property[Learning]" = component("learning.learning", "Learning")
    """Learning from sessions, commits and agents' notes."""
    hearing: "cached_property[Hearing]" = component("learning.hearing", "Hearing")
    """Notes that ask the agent of a session to remember what was said and found out."""
    history: "cached_property[History]" = component("review.history", "History")
    """History of memories and subjects, receipts, the log."""
    _memories: "cached_property[Memories]" = component("memory.lifecycle", "Memories")
    _answers: "cached_property[Answers]" = component("recall.answer", "Answers")
    _briefs: "cached_property[Briefs]" = component("recall.brief", "Briefs")

    @cached_property
    def code(self) -> "Code":
        """Memories and the code they are about."""
        code: Code = when_called("code.code", "Code")(
            self._context,
            # Not the method itself, whose module would be imported at once.
            find_related=lambda target, limit, progress: self._answers.find_related(target, limit, progress),  # noqa: PLW0108
        )
        return code

    @cached_property
    def sessions(self) -> "Sessions":
        """Sessions of agents: list, search, show, hand over, import."""
        sessions: Sessions = when_called("sessions.sessions", "Sessions")(
            self._context,
            # Not the method itself, whose module would be imported at once.
            answer=lambda query: self._answers.search_sessions(query),  # noqa: PLW0108
            learn=lambda factory, progress: self.learning.learn_from_resting(factory, progress).proposed,
        )
        return sessions

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
        said: str = "",
        forbids: Texts = (),
        metadata: Mapping[str, MetadataValue] | None = None,
    ) -> Memory:
        """Store a memory; what it contradicts is named in ``contradicts``, and secrets it had in ``redacted``.

        Without a kind, its words tell it: "we decided …" is a decision, "never …" a convention. ``said`` are the words
        of the person that an agent writes down: if they stand in what the person typed in this session, the memory is
        as good as the person's own (``is_said``). ``forbids`` names commands and files that a rule forbids, from which
        a guard is proposed: "npm install", "dist/**", "!dist/keep.txt".
        """
        claim = Claim(
            text=text, scope=Scope.parse(scope), kind=Kind.parse(kind) if kind else None, tags=tags, subject=subject,
            replaces=_list_ids(replaces), expires=expires,
            verify_by=verify_by, valid_from=valid_from, valid_to=valid_to, links=list_texts(links, "link"),
            sources=list_texts(sources, "source"), confidence=confidence, propose=propose,
            quotation=self._find_quotation(said, text) if said else None, forbids=list_texts(forbids, "forbidden call"),
            metadata=metadata or NO_METADATA,
        )  # fmt: skip
        return self.remember_all([claim])[0]

    def _find_quotation(self, said: str, text: str) -> Source | None:
        """Find the person's words in the session; a person needs no witness."""
        words = check_text(said, "what was said")
        # Not at the top: few memories come with a quotation.
        find: Callable[[Context, str, str], Source | None] = when_called("learning.quotations", "find_quotation")
        return None if self._context.is_person else find(self._context, words, check_text(text, "the text"))

    def remember_all(self, items: Iterable[Claim | Mapping[str, Any] | str]) -> tuple[Memory, ...]:
        """Store several memories: all of them, or none if one is refused.

        Each is a text, a ``Claim``, or a dictionary with the parameters of ``remember`` but ``said`` as keys.
        """
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
        """Store an action, its reasoning and its result; by default the caller is who did it."""
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
        return self._briefs.make()

    def on_prompt(self, prompt: str) -> Recall:
        """Return memories that match a prompt and that this session did not get yet."""
        return self._briefs.make_for_prompt(check_text(prompt, "the prompt"))

    def context(self, task: str = "", *, files: Texts = ()) -> Recall:
        """Return memories about a task and its files, then the rest of the brief that the session did not get yet."""
        return self._briefs.make_for_task(check_text(task, "the task"), list_texts(files, "file"))

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
        before: str | Memory = "",
        everywhere: bool = False,
        where: Mapping[str, MetadataValue] | None = None,
    ) -> tuple[Memory, ...]:
        """List visible memories, newest first; ``before`` is the last memory of the previous page, or its id."""
        query = self._context.query(
            scope=scope, kinds=kinds, tags=tags, limit=limit, statuses=statuses, everywhere=everywhere, agent=agent,
            since=since, until=until, where=where,
        )  # fmt: skip
        # Resolved like any id, so that a page cannot reveal memories that are not visible.
        last = self._context.resolve(_get_id(before), everywhere=everywhere) if before else ""
        return tuple(memories.list_memories(self._context.store.db, query, before=last))

    def show(self, memory: str | Memory, *, everywhere: bool = False) -> Memory:
        """Return a memory by its id or a prefix; with ``everywhere``, also of another repository."""
        return self._context.find_memory(_get_id(memory), everywhere=everywhere)

    def explain(self, memory: str | Memory, *, everywhere: bool = False) -> "Explanation":
        """Return a memory with its sources, its history and its receipts."""
        return self.history.explain(_get_id(memory), everywhere=everywhere)

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
            _get_id(memory), text, kind=kind, subject=subject, expires=expires, verify_by=verify_by,
            valid_from=valid_from, valid_to=valid_to, confidence=confidence, reason=reason, metadata=metadata or {},
            everywhere=everywhere,
        )  # fmt: skip

    def tag(
        self, memory: str | Memory, add: Sequence[str] = (), remove: Sequence[str] = (), *, everywhere: bool = False
    ) -> Memory:
        """Add tags to a memory or remove them."""
        return self._memories.tag(_get_id(memory), add, remove, everywhere=everywhere)

    def forget(self, memory: str | Memory, *, reason: str = "", everywhere: bool = False) -> Memory:
        """Retract a memory; ``restore`` brings it back."""
        return self._memories.forget(_get_id(memory), reason, everywhere=everywhere)

    def restore(self, memory: str | Memory, *, reason: str = "", everywhere: bool = False) -> Memory:
        """Restore a retracted, rejected or superseded memory."""
        return self._memories.restore(_get_id(memory), reason, everywhere=everywhere)

    def approve(self, memory: str | Memory, *, reason: str = "", everywhere: bool = False) -> Memory:
        """Approve a memory; it supersedes what contradicts it, which settles their dispute."""
        return self._memories.approve(_get_id(memory), reason, everywhere=everywhere)

    def reject(self, memory: str | Memory, *, reason: str = "", everywhere: bool = False) -> Memory:
        """Reject a memory and keep its value out from now on; ``restore`` lifts that."""
        return self._memories.reject(_get_id(memory), reason, everywhere=everywhere)

    def erase(
        self,
        memory: str | Memory,
        *,
        reason: str = "",
        also: Sequence[str | Memory] | str | Memory = (),
        everywhere: bool = False,
    ) -> "Erasure":
        """Erase memories and everything derived from them; the receipt lists each location and its state.

        If the memory was erased before, return the receipt of that erasure.
        """
        return self.erasures.erase(_get_id(memory), _list_ids(also), reason, everywhere=everywhere)


class Hivemind(Mind):
    """A person's open memory, seen from one working tree."""

    has_work_left: bool = False
    """Whether opening it in a hurry left something to do for another process."""
    agents: "cached_property[Agents]" = component("agents.install", "Agents")
    """The agents on this machine, and what connects them."""
    devices: "cached_property[Devices]" = component("sync.devices", "Devices")
    """The person's other machines, and what is exchanged with them."""
    files: "cached_property[Files]" = component("transfer.files", "Files")
    """Exports, imports and instruction files."""
    guards: "cached_property[Guards]" = component("guard.guards", "Guards")
    """Memories that ask or refuse before an agent acts."""
    team: "cached_property[Team]" = component("sync.team", "Team")
    """The team's hub, and what is exchanged with it."""

    @classmethod
    def open(
        cls,
        name: str | None = None,
        *,
        directory: str | PathLike[str] | None = None,
        settings: Settings | None = None,
        writer: Writer | None = None,
        clock: Clock = utc_now,
        is_hurried: bool = False,
    ) -> "Hivemind":
        """Open a store, creating it on first use, as seen from a directory; without one, from the current directory.

        Only one thread at a time may use the object; each thread can open its own.
        """
        # In a hurry, it hardly waits for other processes, and leaves to others what may take long.
        settings = settings or Settings.load()
        tree = Path.cwd() if directory is None else expand_path(directory, "the directory")
        # The store keeps where sessions and memories belong.
        if "\0" in str(tree) or str(tree) != str(tree).encode("utf-8", "replace").decode():
            raise InvalidInput(f"the name of the directory {str(tree)!a} is not UTF-8; work in another one")
        repository = identify(tree, settings.home / "index")
        store = Store.open(settings.find_store_directory(name), is_hurried=is_hurried)
        author = writer or identify_writer(settings)
        context = make_context(store, settings, repository, author, clock, directory=tree, is_hurried=is_hurried)
        mind = cls(context)
        try:
            mind._catch_up()
        except BaseException:
            mind.close()
            raise
        return mind

    def _catch_up(self) -> None:
        """Finish erasures, import the spool and check the lease; each part is loaded only if needed."""
        context = self._context
        if context.store.directory and any(context.store.directory.glob(ERASURE_PLANS)):
            if context.is_hurried:
                self._leave_work()
            else:
                self.erasures.finish()
        if waiting_bytes := _count_spool_bytes(context.settings.home):
            self._take_in_spool(waiting_bytes)
        if not context.is_hurried and context.checkout.has_unlinked:
            self.code.retry_links()
        # A device that has not synced for too long must not show what the team may have erased meanwhile.
        if context.store.membership:
            if context.is_hurried and self.team.is_lease_over():
                raise StoreOutdated("the last sync with the team is too long ago; 'hivemind sync' brings its memories")
            self.team.expire_lease()

    def _leave_work(self) -> None:
        # While somebody writes for long, one more process that waits would not help; the next hook tries again.
        with suppress(StoreUnwritable), self._context.store.db.transaction():
            self.has_work_left = True

    def _take_in_spool(self, waiting_bytes: int) -> None:
        context = self._context
        if context.is_hurried and waiting_bytes > MOST_BYTES_IN_A_HURRY:
            context.has_waiting_lines = True
            self._leave_work()
            return
        # Not ``self.sessions``, which takes three times as long to import: a hook may be waiting for its answer.
        when_called("sessions.observations", "Observations")(context).take_in_spool()


def _get_id(memory: str | Memory) -> str:
    """The id of a memory, which programs often have as an object."""
    return memory.id if isinstance(memory, Memory) else memory


def _list_ids(memories: Iterable[str | Memory] | str | Memory | None) -> tuple[str, ...]:
    """The ids of one memory or several."""
    several = [memories] if isinstance(memories, str | Memory) else memories
    return list_texts(map(_get_id, several) if isinstance(several, Iterable) else several, "id")


def _count_spool_bytes(home: Path) -> int:
    """Count what hooks have written to the spool; zero if it cannot be read, which the doctor reports."""
    try:
        return spool_reader.count_waiting_bytes(str(home))
    except OSError:
        return 0


def doctor(name: str | None = None, *, quick: bool = False) -> "tuple[Finding, ...]":
    """Check the installation, whether or not the store opens."""

    def examine(settings: Settings, examine_around: "Callable[[], Iterable[Finding]]") -> "tuple[Finding, ...]":
        with Hivemind.open(name, settings=settings) as mind:
            around = examine_around()
            store, inputs = mind.maintenance.doctor(quick=quick), mind.maintenance.examine_inputs()
            return *store, *around, mind.code.health(), *mind.agents.examine(), *inputs

    findings: tuple[Finding, ...] = when_called("maintenance.recovery", "examine_installation")(
        examine, name, quick=quick
    )
    return findings
