"""What every verb needs: the open store, who speaks, where from, and the one way into the log."""

import importlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hivemind import agents
from hivemind.capture import quarantine
from hivemind.capture.redact import redact, secrets_in
from hivemind.codebase import git
from hivemind.codebase import repository as repositories_on_disk
from hivemind.codebase.written import like_code
from hivemind.curate.learn import refuse
from hivemind.curate.pen import Pen
from hivemind.errors import HivemindError, InvalidInput, NotFound, Refused, StoreError, Unavailable
from hivemind.model import moments
from hivemind.model.claim import Claim
from hivemind.model.code import Anchor, Staleness
from hivemind.model.events import Event, RepositorySeen
from hivemind.model.ids import MemoryId, derived, short
from hivemind.model.memory import Channel, Kind, Memory, Status
from hivemind.model.metadata import Value, checked_metadata
from hivemind.model.proposal import Proposal
from hivemind.model.recall import Detail, Query
from hivemind.model.scope import Repository, Scope, Sight
from hivemind.model.session import Skipped
from hivemind.model.text import tags as tags_from
from hivemind.model.writer import Writer
from hivemind.settings import Settings
from hivemind.store import Store, log
from hivemind.store.database import Held
from hivemind.store.projections import memories, repositories, sessions

if TYPE_CHECKING:
    # Parsers take longer to load than most commands to run.
    from hivemind.codebase.index import Index
    from hivemind.recall.meaning import Meaning

NOT_IN_A_NAME, LONGEST_NAME = re.compile(r"[^\w .@/+-]"), 64
LOOK_EVERYWHERE = ", and --everywhere looks in other repositories too"
EVERYWHERE_SETTING = "a person can allow more: hivemind config set agents_may_look_everywhere true"

Clock = Callable[[], datetime]
Progress = Callable[[int, int], None]


def utc_now() -> datetime:
    """The time, from the one place that asks for it."""
    return datetime.now(UTC)


def quietly(done: int, total: int) -> None:
    """Progress that nobody watches."""


class Model:
    """What searches by meaning, loaded when a question first needs it; the requests to a hub share one."""

    def __init__(self, named: str) -> None:
        self._named = named
        self.without = ""
        """Why there is none, if there is none."""

    @cached_property
    def meaning(self) -> "Meaning | None":
        """The model in use; nothing where it is not installed."""
        # Numbers and weights take longer to load than all other commands to run; only questions pay for it.
        # Its threads spin while they wait, and take the processor from the agent whose guest we are.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        try:
            loaded: Meaning = importlib.import_module("hivemind.recall.meaning").load(self._named)
        except Unavailable as error:
            self.without = str(error)
            return None
        return loaded


class Core(Held):
    """A person's memory, held open, seen from one working tree."""

    def __init__(
        self, store: Store, settings: Settings, repository: Repository, writer: Writer, clock: Clock,
        model: Model | None = None,
    ) -> None:  # fmt: skip
        self._store = store
        self._settings = settings
        self._writer = writer
        self._clock = clock
        self._pen = Pen(writer=writer, clock=clock, redact=partial(redact, known=secrets_in(os.environ)))
        self._model = model or Model(settings.model)
        self.repository = replace(repository, known_as=_earlier_names(store, repository))

    @property
    def speaker(self) -> str:
        """The person or agent on whose behalf this is open."""
        return self._writer.actor

    @property
    def _is_person(self) -> bool:
        return self._writer.channel is Channel.PERSON

    @property
    def _home(self) -> Path | None:
        """The folder that all stores and what hooks leave lie in; a hub has none."""
        return self._settings.home if self._store.directory else None

    def _record(self, events: Iterable[Event]) -> list[Event]:
        return self._store.record([*self._introduction(), *events])

    def _introduction(self) -> list[Event]:
        """That this working tree goes by this name, if the log does not know it yet."""
        return self._introduced([self.repository])

    def _introduced(self, trees: Iterable[Repository]) -> list[Event]:
        """The names of working trees that the log does not know yet."""
        unknown = [one for one in trees if one.root and not repositories.is_known(self._store.db, one)]
        return [
            self._pen.event(RepositorySeen(repo=one.id, root=one.root, tree=one.tree), Scope.PROJECT, one.id)
            for one in unknown
        ]

    def _set_aside(self, door: quarantine.Door, unreadable: Iterable[Skipped]) -> None:
        """Put what could not be read into the quarantine."""
        quarantine.add(
            self._settings.home, door, unreadable, moments.written(self._clock()), secrets_in(os.environ)
        )  # fmt: skip

    def _place(self, scope: Scope) -> str:
        return "" if scope is Scope.USER else self.repository.id

    def _new_batch(self, name: str) -> Pen:
        """A pen for a learning run, so that all of it can be rolled back at once."""
        batch = f"{name}-{derived(name, moments.written(self._clock()), os.urandom(8).hex())[:8]}"
        return Pen(writer=self._pen.writer, clock=self._clock, redact=self._pen.redact, batch=batch)

    @contextmanager
    def together(self, name: str) -> Iterator[str]:
        """Make what is written meanwhile one batch, so that it can be rolled back as one; yields the batch's name."""
        alone, self._pen = self._pen, self._new_batch(name)
        try:
            yield self._pen.batch
        finally:
            self._pen = alone

    def _must_be_a_person(self, what: str) -> None:
        """Review is a person's; an agent may do it only if the settings say so."""
        if self._writer.channel is not Channel.PERSON and not self._settings.agents_may_review:
            refuse(self._store, self._pen, what, "only a person may do that; the setting agents_may_review changes it")

    def _query(
        self,
        text: str = "",
        *,
        scope: Scope | None = None,
        kinds: Sequence[Kind] = (),
        tags: Sequence[str] = (),
        everywhere: bool = False,
        limit: int | None = None,
        max_tokens: int | None = None,
        as_of: str = "",
        true_at: str = "",
        detail: Detail = Detail.STANDARD,
        agent: str = "",
        since: str = "",
        until: str = "",
        statuses: Sequence[Status] = (Status.ACTIVE, Status.DISPUTED),
        where: Mapping[str, Value] | None = None,
    ) -> Query:
        return Query(
            text=text,
            sight=self._sight(everywhere=everywhere),
            now=moments.written(self._clock()),
            limit=_positive(self._settings.recall_limit if limit is None else limit, "the limit"),
            max_tokens=_positive(self._settings.recall_tokens if max_tokens is None else max_tokens, "the budget"),
            as_of=moments.end_of_day(as_of) if as_of else "",
            true_at=moments.end_of_day(true_at) if true_at else "",
            detail=detail,
            scope=scope,
            kinds=tuple(kinds),
            tags=tags_from(tags),
            agent=agent,
            since=moments.parse_past(since, self._clock()) if since else "",
            until=moments.end_of_day(until) if until else "",
            statuses=tuple(statuses),
            where=checked_metadata(where or {}),
        )

    def is_elsewhere(self, repo: str) -> bool:
        """Whether a memory or session of that repository belongs to another one than the one at hand."""
        return Sight.of(self.repository).is_elsewhere(repo)

    def _sight(self, *, everywhere: bool = False) -> Sight:
        """What this caller may see; on a hub, which has no working tree, the team is the boundary."""
        if everywhere and self.repository.root and not self._may_look_everywhere:
            raise Refused(f"an agent may look only in the repository it works in; {EVERYWHERE_SETTING}")
        return Sight.of(self.repository, everywhere=everywhere)

    @property
    def _may_look_everywhere(self) -> bool:
        return self._writer.channel is Channel.PERSON or self._settings.agents_may_look_everywhere

    def _known(self, written: str, *, everywhere: bool = False) -> Memory:
        """A memory in sight by its id, which may be shortened."""
        return memories.get(self._store.db, self._id(written, everywhere=everywhere))

    def _to_change(self, written: str, *, everywhere: bool = False) -> Memory:
        """A memory that is about to be changed; agents change nothing in other repositories."""
        if everywhere and self._writer.channel is not Channel.PERSON:
            raise Refused("only a person may change what belongs to another repository")
        return self._known(written, everywhere=everywhere)

    def _id(self, written: str, *, everywhere: bool = False) -> MemoryId:
        prefix, sight = written.strip().lower(), self._sight(everywhere=everywhere)
        try:
            return memories.resolve(self._store.db, prefix, sight)
        except NotFound as error:
            erased = log.erasure_of(self._store.db, prefix, sight)
            if erased:
                raise NotFound(f"{prefix[:8]} was erased on {moments.day(erased.at)} by {erased.actor}") from None
            # The same sentence whether or not another repository has it.
            hint = "" if sight.everywhere or not self._may_look_everywhere else LOOK_EVERYWHERE
            raise NotFound(f"{error}{hint}") from None

    def _deadline(self, written: str) -> str:
        return moments.parse_deadline(written, self._clock()) if written else ""

    @cached_property
    def _index(self) -> "Index":
        """What is known about the tree, opened when it is first asked for; it may be deleted at any time."""
        return index_at(self.repository.root, self._settings.home)

    def close(self) -> None:
        """Give the files back."""
        if "_index" in self.__dict__:
            self._index.close()
        self._store.close()

    def link_problems(self, memory: Memory) -> tuple[str, ...]:
        """What is wrong with the links of a memory that lead to no one place in this working tree."""
        if not memory.links or not self._is_of_here(memory):
            return ()
        from hivemind.curate import anchor

        try:
            return tuple(
                f"{self._no_match(link)}. The memory is kept; tie it to code with"
                f" 'hivemind link {short(memory.id)} PATH::SYMBOL'"
                for link in memory.links
                if not anchor.linked(self._index, link)
            )
        except (Unavailable, StoreError) as error:
            return (f"not tied to {', '.join(memory.links)}: {error}. The memory is kept",)

    def _no_match(self, link: str) -> str:
        """Why a link was not followed, and what it may have meant."""
        from hivemind.codebase import links

        nearest = ", ".join(links.nearest(self._index, link))
        count = len({place.label for place in links.places(self._index, link)})
        if count > 1:
            return f"no unique match for {link!r}: it fits {count} places; name one, such as {nearest}"
        hint = f"nearest: {nearest}" if nearest else "write it like auth/service.py::login"
        unseen = "" if self._index.is_built else "; after 'hivemind index' every name is known"
        return f"no unique match for {link!r}: nothing here has that name; {hint}{unseen}"

    def _became(self, anchors: Sequence[Anchor], *, commit: str = "", in_passing: bool = False) -> Sequence[Staleness]:
        """What became of code since memories took hold of it; nothing where that cannot be told."""
        from hivemind.codebase.staleness import judge

        if not self.repository.root:
            return ()
        try:
            return judge(self._index, anchors, commit, in_passing=in_passing)
        except HivemindError:
            # An answer without this is worth more than none, and each entry still says how old it is.
            return ()

    def _today(self, memory: Memory) -> tuple[Anchor, ...]:
        """The code a memory is about, as it is now and where it is now; what is gone is let go."""
        is_tied = memory.anchors and self._is_of_here(memory)
        became = self._became(memory.anchors, commit=self._head()) if is_tied else ()
        if memory.anchors and not became:
            return memory.anchors
        files = [f"{one.file}:{one.lines}".rstrip(":") for one in memory.sources if one.file]
        claim = Claim(text=memory.text, scope=memory.scope, links=memory.links, sources=files)
        now = tuple(one.now for one in became if one.now)
        return now or (self._anchors([claim])[0] if self._is_of_here(memory) else ())

    def _is_of_here(self, memory: Memory) -> bool:
        """Whether it is about the tree at hand; a hub has none."""
        return bool(self.repository.root) and memory.repo in (self.repository.id, *self.repository.known_as)

    def _anchors(self, claims: Sequence[Claim]) -> list[tuple[Anchor, ...]]:
        """The code that each claim is about; none is better than no memory."""
        about_code = [self._may_be_about_code(claim) for claim in claims]
        if not any(about_code):
            return [()] * len(claims)
        from hivemind.curate import anchor

        commit = self._head()
        found: list[tuple[Anchor, ...]] = [()] * len(claims)
        with suppress(Unavailable, StoreError):
            for place, claim in enumerate(claims):
                if about_code[place]:
                    near = self._edited_in(claim.session_id or self._writer.session_id)
                    found[place] = anchor.anchors(self._index, claim.links, claim.sources, claim.text, commit, near)
        return found

    def _edited_in(self, session: str) -> list[str]:
        """The files of this tree that a session has edited so far, by which it is told what its words mean."""
        root = self._index.root
        edited = map(Path, sessions.edited(self._store.db, session) if session else ())
        return [file.relative_to(root).as_posix() for file in edited if file.is_relative_to(root)]

    def _about(
        self, proposals: Sequence[Proposal], root: str, named: Callable[[str], str] = str
    ) -> dict[str, tuple[Anchor, ...]]:
        """The code that each proposal is about: what was edited, else what it names; by the id of its memory."""
        if not proposals or not (Path(root) / ".git").exists():
            return {}
        from hivemind.curate import anchor

        commit = git.head(Path(root))
        found: dict[str, tuple[Anchor, ...]] = {}
        with suppress(Unavailable, StoreError), closing(index_at(root, self._settings.home)) as index:
            done = anchor.edits(index.root, proposals, named)
            for one in proposals:
                found[one.memory_id] = anchor.edited(index, done[one.memory_id], commit) or (
                    anchor.anchors(index, one.links, (), one.text, commit) if one.links or like_code(one.text) else ()
                )
        return found

    def _head(self) -> str:
        """The commit that is checked out, where there is a working tree."""
        return git.head(Path(self.repository.root)) if self.repository.root else ""

    def _may_be_about_code(self, claim: Claim) -> bool:
        """Whether it is worth looking."""
        if not self.repository.root or not self._place(claim.scope) or not self._is_named_here(claim):
            return False
        return bool(claim.links or claim.sources) or (is_under_git(self.repository) and like_code(claim.text))

    def _is_named_here(self, claim: Claim) -> bool:
        """Whether a claim names no repository, or the one at hand."""
        return claim.repo in ("", self.repository.id, *self.repository.known_as)


def agent_calls() -> bool:
    """Whether an agent runs this process."""
    return agents.calling(os.environ) is not None


def who_calls(settings: Settings) -> Writer:
    """A person, unless an agent runs this process: what its commands write is the agent's word."""
    agent = agents.calling(os.environ)
    if agent is None:
        return Writer(actor=settings.person, channel=Channel.PERSON)
    return Writer(actor=agent[0], channel=Channel.AGENT, session_id=agent[1])


def client_of(client: str, meta: Mapping[str, Any]) -> tuple[Path, Writer]:
    """Where a client of our server works and who it is: what it writes is an agent's word, whatever it calls itself."""
    # A client chooses its own name; it must not read like anything else that stands in a label.
    agent, session = agents.connected(NOT_IN_A_NAME.sub("", client)[:LONGEST_NAME], os.environ, meta)
    # Others start their servers in the project; what they put into variables of this kind is something else.
    named = os.environ.get("CLAUDE_PROJECT_DIR", "") if agent == "claude-code" else ""
    directory = Path(named) if named and Path(named).is_dir() else Path.cwd()
    return directory, Writer(actor=agent, channel=Channel.AGENT, session_id=session)


def when_called(module: str, name: str) -> Callable[..., Any]:
    """A function whose module is loaded only when something calls it."""

    def call(*values: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*values)

    return call


def _earlier_names(store: Store, repository: Repository) -> tuple[str, ...]:
    """What else the repository at hand is known as: a fork or a namesake never shares a name with it this way."""
    if not repository.root:
        return ()
    at_path = repositories.names_at(store.db, repository.root)
    names = [
        *repositories_on_disk.earlier_names(repository, at_path),
        *repositories.names_of_tree(store.db, repository.tree),
    ]
    former = repository.former_id
    if former and (former in at_path or repositories.shared_a_path(store.db, repository.id, former)):
        names.append(former)
    return tuple(dict.fromkeys(name for name in names if name != repository.id))


def _positive(value: int, what: str) -> int:
    if value < 1:
        raise InvalidInput(f"{what} must be at least 1")
    return value


def index_at(root: str, home: Path) -> "Index":
    """What is known about the working tree at a place."""
    from hivemind.codebase.index import Index

    return Index.open(Path(root), home / "index")


def is_under_git(repository: Repository) -> bool:
    """Whether there is a working tree; any other directory may be somebody's whole disk."""
    return (Path(repository.root) / ".git").exists()
