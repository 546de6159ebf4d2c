"""What anybody can have without a product: FTS5, grep, and a rules file."""

import hashlib
import re
import sqlite3
import subprocess
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lab.yardstick.adapter import Adapter, Answer, Change, Description, Hit, Note, NotOffered
from lab.yardstick.texts import list_terms
from lab.yardstick.transcripts import list_exchanges, read_messages


def show(hits: Sequence[Hit]) -> Answer:
    """Return hits as a list of texts."""
    return Answer(hits=tuple(hits), text="\n".join(f"- {hit.text}" for hit in hits))


def require_one_user(user: str) -> None:
    """Refuse to search for another user, where a store knows none."""
    if user != "ada":
        raise NotOffered("a store knows no users")


class Fts5(Adapter):
    """SQLite's full-text search with BM25; any word of the question may match."""

    name = "fts5"

    def describe(self) -> Description:
        """Return the version of SQLite."""
        return Description(
            version=f"SQLite {sqlite3.sqlite_version}", doors="Python",
            choices="porter stemming; a column for the repository; sessions by exchange; a note whose file changed"
            " since it was written is asked to be verified",
        )  # fmt: skip

    def open(self, folder: Path) -> None:
        """Open a database."""
        folder.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(folder / "notes.db")
        self._db.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS notes USING fts5"
            "(text, repo UNINDEXED, session UNINDEXED, link UNINDEXED, digest UNINDEXED, tokenize='porter unicode61')"
        )

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def remember(self, note: Note) -> str:
        """Insert a row and commit."""
        return self.remember_all([note])[0]

    def remember_all(self, notes: Iterable[Note]) -> list[str]:
        """Insert rows and commit once."""
        ids = [
            str(self._insert(note.text, note.repo, "", note.link, self._digest(note.repo, note.link))) for note in notes
        ]
        self._db.commit()
        return ids

    def _insert(self, text: str, repo: Path, session: str, link: str = "", digest: str = "") -> int | None:
        statement = "INSERT INTO notes (text, repo, session, link, digest) VALUES (?, ?, ?, ?, ?)"
        return self._db.execute(statement, (text, str(repo), session, link, digest)).lastrowid

    @staticmethod
    def _digest(repo: Path, link: str) -> str:
        file = repo / link.partition("::")[0]
        return hashlib.sha256(file.read_bytes()).hexdigest() if link and file.is_file() else ""

    def recall(self, query: str, repo: Path, *, k: int = 5, user: str = "ada") -> Answer:
        """Search for any of the words."""
        require_one_user(user)
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
        rows = self._db.execute(
            "SELECT rowid, text, session FROM notes WHERE notes MATCH ? AND repo = ? ORDER BY rank LIMIT ?",
            (words, str(repo), k),
        )
        return show([Hit(id=str(row), text=text, session=session) for row, text, session in rows] if words else [])

    def observe(self, transcripts: Sequence[Path], repo: Path) -> None:
        """Insert each prompt with its reply."""
        for path in transcripts:
            for exchange in list_exchanges(read_messages(path)):
                self._insert(exchange, repo, path.stem)
        self._db.commit()

    def delete(self, note_id: str, repo: Path) -> None:
        """Delete the row."""
        self._db.execute("DELETE FROM notes WHERE rowid = ?", (note_id,))
        self._db.commit()

    def check_changes(self, repo: Path) -> Mapping[str, Change]:
        """Ask to verify each note whose file is not as it was."""
        rows = self._db.execute("SELECT rowid, link, digest FROM notes WHERE repo = ? AND link <> ''", (str(repo),))
        return {
            str(row): Change(asks=True, label="the file changed")
            for row, link, digest in rows
            if self._digest(repo, link) != digest
        }


class Grep(Adapter):
    """A folder of notes and grep, as an agent without memory uses it: the notes with most words of the question."""

    name = "grep"

    def describe(self) -> Description:
        """Return the version of grep."""
        version = subprocess.run(["grep", "--version"], capture_output=True, text=True, check=True).stdout
        return Description(
            version=version.splitlines()[0], doors="command line",
            choices="one file for each note; files ordered by how many different words of the question they have",
        )  # fmt: skip

    def open(self, folder: Path) -> None:
        """Make the folder."""
        self._folder = folder

    def _get_folder(self, repo: Path) -> Path:
        folder = self._folder / hashlib.sha256(str(repo).encode()).hexdigest()[:12]
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def remember(self, note: Note) -> str:
        """Write a file."""
        folder = self._get_folder(note.repo)
        path = folder / f"{uuid.uuid4().hex}.md"
        path.write_text(note.text + "\n")
        return str(path)

    def recall(self, query: str, repo: Path, *, k: int = 5, user: str = "ada") -> Answer:
        """Let grep print which words occur in which file, and show the files with most of them."""
        require_one_user(user)
        terms = sorted(list_terms(query))
        if not terms:
            return show([])
        command = ["grep", "-rioE", r"\b(" + "|".join(map(re.escape, terms)) + ")", "."]
        lines = subprocess.run(command, cwd=self._get_folder(repo), capture_output=True, text=True, check=False).stdout
        words: dict[str, set[str]] = {}
        for line in lines.splitlines():
            name, _, word = line.partition(":")
            words.setdefault(name, set()).add(word.lower())
        best = sorted(words, key=lambda name: (-len(words[name]), name))[:k]
        paths = [self._get_folder(repo) / name.removeprefix("./") for name in best]
        return show(
            [Hit(id=str(path), text=path.read_text().strip(), session=path.stem.partition("@")[2]) for path in paths]
        )

    def observe(self, transcripts: Sequence[Path], repo: Path) -> None:
        """Write a file for each prompt with its reply."""
        for path in transcripts:
            for number, exchange in enumerate(list_exchanges(read_messages(path))):
                (self._get_folder(repo) / f"{number}@{path.stem}.md").write_text(exchange + "\n")

    def delete(self, note_id: str, repo: Path) -> None:
        """Remove the file."""
        Path(note_id).unlink()


class RulesFile(Adapter):
    """A file such as CLAUDE.md that an agent loads as a whole at the start of every session."""

    name = "rules-file"

    def describe(self) -> Description:
        """Return what it is."""
        return Description(version="–", doors="a file in the repository", choices="what is told is the whole file")

    def open(self, folder: Path) -> None:
        """Make the folder in which the files are kept."""
        self._folder = folder

    def _get_file(self, repo: Path) -> Path:
        file = self._folder / hashlib.sha256(str(repo).encode()).hexdigest()[:12] / "CLAUDE.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def remember(self, note: Note) -> str:
        """Append a line."""
        with self._get_file(note.repo).open("a") as file:
            file.write(f"- {note.text}\n")
        return note.text

    def tell(self, prompt: str, repo: Path) -> str:
        """Return the file."""
        file = self._get_file(repo)
        return file.read_text() if file.exists() else ""

    def brief(self, repo: Path) -> str:
        """Return the file."""
        return self.tell("", repo)

    def delete(self, note_id: str, repo: Path) -> None:
        """Write the file without the note."""
        file = self._get_file(repo)
        file.write_text(file.read_text().replace(f"- {note_id}\n", ""))
