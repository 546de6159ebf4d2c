"""Hivemind, through its Python API and its hook."""

import json
import shutil
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hivemind import __version__
from hivemind.entrypoints import hook
from hivemind.hivemind import Hivemind
from hivemind.learning.suspects import MOST_QUOTES, find_suspects
from hivemind.model.events import ObservationMade
from hivemind.model.memory import Channel, Writer
from hivemind.model.scope import Scope
from hivemind.model.session import ObservationKind
from hivemind.settings import Settings
from lab.yardstick.adapter import Adapter, Answer, Change, Description, Hit, HookCommand, Note, NotOffered, Turn
from lab.yardstick.processes import McpServer, Processes
from lab.yardstick.transcripts import Message, write_transcript

CHANNELS = {"person": Channel.PERSON, "agent": Channel.AGENT, "tool": Channel.TOOL}


class HivemindAdapter(Adapter):
    """Each repository, user and channel is a ``Hivemind`` of its own on the same store, as different processes are."""

    name = "hivemind"

    def describe(self) -> Description:
        """Return the version of the package that is imported."""
        return Description(
            version=__version__, doors="Python API, hook, MCP (tools)",
            choices="as installed; `delete` is `erase`; sessions come as `import` takes them",
            home="https://github.com/hivemind-memory/hivemind",
        )  # fmt: skip

    def open(self, folder: Path) -> None:
        """Open the store on first use."""
        self._folder = folder
        self._minds: dict[tuple[Path, str, Channel], Hivemind] = {}

    def close(self) -> None:
        """Close all."""
        for mind in self._minds.values():
            mind.close()
        self._minds = {}

    def _get_settings(self, user: str) -> Settings:
        return Settings(home=self._folder / "store", person=user)

    def _get_mind(self, repo: Path, user: str = "ada", channel: Channel = Channel.PERSON) -> Hivemind:
        key = repo, user, channel
        if key not in self._minds:
            actor = user if channel is Channel.PERSON else "claude-code"
            writer = Writer(actor=actor, channel=channel)
            self._minds[key] = Hivemind.open(directory=repo, settings=self._get_settings(user), writer=writer)
        return self._minds[key]

    def remember(self, note: Note) -> str:
        """Remember a note."""
        mind = self._get_mind(note.repo, note.user, CHANNELS[note.source])
        return mind.remember(note.text, links=[note.link] if note.link else ()).id

    def remember_all(self, notes: Iterable[Note]) -> list[str]:
        """Remember notes of one repository at once, and compute their vectors."""
        batch = list(notes)
        if any(note.link or note.source != "person" or note.repo != batch[0].repo for note in batch):
            return [self.remember(note) for note in batch]
        mind = self._get_mind(batch[0].repo, batch[0].user)
        ids: list[str] = [memory.id for memory in mind.remember_all({"text": note.text} for note in batch)]
        mind.maintenance.catch_up()
        return ids

    def recall(self, query: str, repo: Path, *, k: int = 5, user: str = "ada") -> Answer:
        """Recall with the defaults, which decide themselves how many are shown."""
        if user != "ada":
            raise NotOffered("a store is one person's; a team shares through a hub, which this does not measure")
        recall = self._get_mind(repo, user).recall(query)
        hits = [Hit(id=hit.memory.id, text=hit.memory.text, is_sure=hit.is_sure) for hit in recall.hits]
        for hit in recall.session_hits:
            lines = [f"{line.about} → {line.text}" if line.about else line.text for line in hit.conclusions]
            hits.append(Hit(text="\n".join([*lines, hit.text]), session=hit.session_id, is_sure=hit.is_sure))
        return Answer(hits=tuple(hits), text=recall.text)

    def tell(self, prompt: str, repo: Path) -> str:
        """Return what the prompt hook says in a new session."""
        session_id = f"asked-{time.monotonic_ns()}"
        writer = Writer(actor="claude-code", channel=Channel.AGENT, session_id=session_id)
        with Hivemind.open(directory=repo, settings=self._get_settings("ada"), writer=writer) as mind:
            return mind.on_prompt(prompt).text

    def brief(self, repo: Path) -> str:
        """Return the brief."""
        return self._get_mind(repo, channel=Channel.AGENT).brief().text

    def observe(self, transcripts: Sequence[Path], repo: Path) -> None:
        """Import transcripts from a home directory that has them where Claude Code puts them."""
        home = self._folder / "home"
        folder = home / ".claude" / "projects" / "x"
        folder.mkdir(parents=True, exist_ok=True)
        for path in transcripts:
            lines = (json.loads(line) | {"cwd": str(repo)} for line in path.read_text("utf-8").splitlines())
            (folder / path.name).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        mind = self._get_mind(repo)
        mind.sessions.import_transcripts(["claude-code"], home=home)
        mind.maintenance.catch_up(include_sessions=True)
        # The transcripts belong to the client; the store must not be judged by them.
        shutil.rmtree(home)

    def suggest(self, turns: Sequence[Turn]) -> list[list[str]]:
        """Return what the note with each prompt would quote."""
        sentences = []
        for number, turn in enumerate(turns):
            session_id = f"suggest-{number}"
            writer = Writer(actor="claude-code", channel=Channel.AGENT, session_id=session_id)
            with Hivemind.open(directory=self._folder, settings=self._get_settings("ada"), writer=writer) as mind:
                context = mind._context
                if turn.reply:
                    fact = ObservationMade(
                        agent="claude-code", session_id=session_id, seen=ObservationKind.REPLY, text=turn.reply
                    )
                    context.store.record([context.factory.event(fact, Scope.USER, "")])
                sentences.append(find_suspects(context, turn.prompt)[:MOST_QUOTES])
        return sentences

    def hear(self, turns: Sequence[Turn]) -> list[list[str]]:
        """Return what the detectors propose after a session of each turn."""
        repo, paths = self._folder / "heard", []
        repo.mkdir()
        for number, (prompt, reply) in enumerate(turns):
            messages = [Message("user", "Please look at this."), Message("assistant", reply)] if reply else []
            messages += [Message("user", prompt), Message("assistant", "Done.")]
            paths.append(self._folder / "turns" / f"heard-{number}.jsonl")
            write_transcript(paths[-1], messages, cwd=repo, begin="2026-03-01T10:00:00Z")
        self.observe(paths, repo)
        memories: dict[str, list[str]] = {}
        for memory in self._get_mind(repo).list(statuses=["proposed", "active"], limit=10_000, everywhere=True):
            for session_id in {source.session_id for source in memory.sources}:
                memories.setdefault(session_id, []).append(memory.text)
        return [memories.get(path.stem, []) for path in paths]

    def delete(self, note_id: str, repo: Path) -> None:
        """Erase."""
        self._get_mind(repo).erase(note_id, reason="asked to")

    def check_changes(self, repo: Path) -> Mapping[str, Change]:
        """Return what the code at hand says about linked memories, also about those that only moved."""
        mind = self._get_mind(repo)
        mind.code.stale(wait=True)
        changes: dict[str, Change] = {}
        for memory in mind.list(limit=1000):
            for code in mind.code.behind(memory)[:1]:
                now = code.staleness.now
                changes[memory.id] = Change(
                    asks=code.staleness.must_verify, label=code.staleness.text, place=now.label if now else ""
                )
        return changes

    def list_contradictions(self, repo: Path) -> set[frozenset[str]]:
        """Return what ``remember`` names as contradicting, and what recall labels as possibly so."""
        mind = self._get_mind(repo)
        memories = mind.list(limit=1000)
        pairs: set[frozenset[str]] = {
            frozenset((memory.id, other)) for memory in memories for other in memory.contradicts
        }
        for memory in memories:
            for hit in mind.recall(memory.text).hits:
                pairs |= {frozenset((hit.memory.id, other)) for other in hit.may_conflict}
        return pairs

    def get_hook(self, event: str, repo: Path) -> HookCommand:
        """Return the command that ``hivemind install`` writes, without the shell around it."""
        argv = (sys.executable, "-I", "-S", str(hook.__file__), "claude-code", event)
        return HookCommand(argv=argv, environ={"HIVEMIND_HOME": str(self._folder / "store"), "HIVEMIND_PERSON": "ada"})

    def measure_tools(self) -> tuple[int, int]:
        """Ask the MCP server."""
        processes = Processes({"HIVEMIND_HOME": str(self._folder / "store")})
        server = McpServer(processes, [sys.executable, "-m", "hivemind", "mcp"], self._folder, self._folder / "log")
        try:
            return server.measure_tools()
        finally:
            server.close()
