"""Passages of sessions and their full-text index: prompts, replies, commands and names of edited files.

They have an index of words of their own. Sessions say much more than memories, so in one index they would change which
words count as rare, and crowd out memories. Their vectors are stored with those of memories, under negative keys.
"""

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from hivemind.model.events import Event, MemoryErased, ObservationCompleted, ObservationMade, ObservationsDropped
from hivemind.model.ids import EventId, SessionId, Timestamp
from hivemind.model.recall import Query
from hivemind.model.session import ObservationFields, ObservationKind
from hivemind.store.conditions import SESSION_VISIBLE, bind_filters, bind_sight
from hivemind.store.database import Database, Vector
from hivemind.store.projections import sessions, vectors
from hivemind.text.search_terms import MAX_PASSAGE_CHARACTERS, split_identifiers, split_passages

TABLES = ("session_word_counts", "session_words", "session_passages")
SCHEMA = """
CREATE TABLE session_passages (
    key INTEGER PRIMARY KEY,      -- 16 times the observation's position in the log, plus an ordinal
    content BLOB NOT NULL         -- the text and the parts of its identifiers, compressed
) STRICT;
CREATE VIRTUAL TABLE session_words USING fts5 (
    text, parts, content = '', tokenize = "porter unicode61 remove_diacritics 2"
);
INSERT INTO session_words (session_words, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE session_word_counts USING fts5vocab (session_words, row);
"""
"""The index has no copy of the texts: they are stored beside it, compressed, which takes a third of the space.

To delete from such an index, FTS5 must be given exactly what was indexed. The log cannot give that: an erasure has
destroyed the body by then, and a later version may split identifiers differently.
"""

ORDINAL_BITS = 4
MOST_PASSAGES = 1 << ORDINAL_BITS
"""Of one observation, so that the key can hold the ordinal; what follows in a pasted log of 20 kB is not indexed."""
COMMAND_CHARACTERS = 600
"""Of a command; a longer one contains a whole file, and its beginning says what it does."""
MEANINGFUL = "(o.seen IN ('prompt', 'reply') OR o.failed)"
"""Matches observations that get vectors. File names and commands that succeeded are found by their words."""
OBSERVATION = f"JOIN events e ON e.position = p.key >> {ORDINAL_BITS} JOIN observations o ON o.id = e.id"
ITS_PASSAGES = (
    f"JOIN session_passages p ON p.key BETWEEN e.position << {ORDINAL_BITS}"
    f" AND (e.position << {ORDINAL_BITS}) + {MOST_PASSAGES - 1}"
)
VISIBLE_PASSAGE = (
    f"{SESSION_VISIBLE} AND (:agent = '' OR s.agent = :agent) AND (:since = '' OR o.at >= :since)"
    " AND (:until = '' OR o.at < :until) AND (:as_of = '' OR o.at <= :as_of)"
)
"""Matches passages that the reader may see and that match the filters of a query which apply to sessions."""
SELECT_PASSAGES = (
    "SELECT p.key, o.id, s.id, s.agent, s.repo, o.at, o.seen, o.command <> '', o.failed,"
    " o.subagent <> '', p.content"
    f" FROM session_passages p {OBSERVATION} JOIN sessions s ON s.id = o.session_id"
)


@dataclass(frozen=True, slots=True)
class SessionPassage:
    """A passage of a session, with the observation it belongs to."""

    key: int
    observation: EventId
    session_id: SessionId
    agent: str
    repo: str
    at: Timestamp
    seen: ObservationKind
    is_command: bool
    is_failed: bool
    is_subagents: bool
    """Whether a subagent said it, or an agent said it to a subagent."""
    text: str


@dataclass(frozen=True, slots=True)
class TalkPassage:
    """A passage of what was said in a session, or of a command that failed, with its vector."""

    session_id: str
    key: int
    observation: EventId
    at: Timestamp
    seen: ObservationKind
    scale: float | None
    """Of the vector, and its bytes; none while it has no vector yet."""
    numbers: bytes | None
    content: bytes

    @property
    def is_said(self) -> bool:
        """Whether somebody said it."""
        return self.seen in (ObservationKind.PROMPT, ObservationKind.REPLY)

    @property
    def text(self) -> str:
        """What was said; unpacked only where it is needed."""
        return _unpack(self.content)[0]


def apply(db: Database, event: Event) -> None:
    """Index what an observation says; erasures and deletions remove it from the index."""
    match event.fact:
        case ObservationMade() as fact:
            _put(db, event.id, fact)
        case ObservationCompleted(observation=observation_id, exit_code=code) if code:
            # Only now is it known that the command failed, so its output is indexed too.
            observation = sessions.get_observation(db, observation_id)
            if observation:
                _remove(db, [observation_id])
                _put(db, observation_id, observation)
        case MemoryErased() | ObservationsDropped() as fact:
            _remove(db, fact.bodies)


def _put(db: Database, observation_id: str, fields: ObservationFields) -> None:
    texts = _cut_passages(fields)[:MOST_PASSAGES]
    if not texts:
        return
    position = int(db.value("SELECT position FROM events WHERE id = ?", observation_id))
    first_key = position << ORDINAL_BITS
    for key, text in enumerate(texts, start=first_key):
        parts = split_identifiers(text)
        db.execute("INSERT INTO session_passages VALUES (?, ?)", key, _pack(text, parts))
        db.execute("INSERT INTO session_words (rowid, text, parts) VALUES (?, ?, ?)", key, text, parts)
    # The same condition in SQL, so that it exists once.
    if db.value(f"SELECT {MEANINGFUL} FROM observations o WHERE o.id = ?", observation_id):
        for key in range(first_key, first_key + len(texts)):
            vectors.mark_missing(db, [-key])


def _cut_passages(fields: ObservationFields) -> list[str]:
    """What is searchable of an observation: what was said, a command with the end of its failure, or an edited file."""
    if fields.seen in (ObservationKind.PROMPT, ObservationKind.REPLY):
        return split_passages(fields.text)
    if fields.command:
        command = fields.command[:COMMAND_CHARACTERS]
        # The end says what went wrong.
        has_failed = fields.failed or fields.exit_code
        output = fields.output[-(MAX_PASSAGE_CHARACTERS - COMMAND_CHARACTERS) :] if has_failed else ""
        return [f"{command}\n{output}".strip()]
    return [fields.file] if fields.file and fields.diff and not fields.failed else []


def _remove(db: Database, observation_ids: Iterable[str]) -> None:
    sql = f"SELECT p.key, p.content FROM events e {ITS_PASSAGES} WHERE e.id IN (SELECT value FROM json_each(?))"
    for key, content in db.execute(sql, json.dumps(list(observation_ids))):
        delete_sql = "INSERT INTO session_words (session_words, rowid, text, parts) VALUES ('delete', ?, ?, ?)"
        db.execute(delete_sql, key, *_unpack(content))
        vectors.unmark_missing(db, -key)
        db.index.remove(-key)
        db.execute("DELETE FROM session_passages WHERE key = ?", key)


def is_empty(db: Database) -> bool:
    """Whether there is nothing to search; always on a hub."""
    return not db.HAS_SESSIONS or db.one("SELECT 1 FROM session_passages LIMIT 1") is None


def count_roughly(db: Database) -> int:
    """About how many passages there are; counting them would take longer than a search."""
    return int(db.value("SELECT max(key) FROM session_passages") or 0) >> ORDINAL_BITS


def read_visible(db: Database, query: Query, keys: Iterable[int]) -> dict[int, SessionPassage]:
    """Those of the passages that the reader may see and that match the query's filters, by key."""
    rows = db.execute(
        f"{SELECT_PASSAGES} WHERE {VISIBLE_PASSAGE} AND p.key IN (SELECT value FROM json_each(:keys))",
        bind_filters(query) | {"keys": json.dumps(list(keys))},
    )
    fields = ([*row[:6], ObservationKind(row[6]), *map(bool, row[7:-1]), _unpack(row[-1])[0]] for row in rows)
    return {values[0]: SessionPassage(*values) for values in fields}


def read_talk(db: Database, query: Query, model: str, session_ids: Iterable[str], limit: int) -> list[TalkPassage]:
    """What was said and what failed in these sessions, in order, each passage with its vector if it has one.

    Of a longer session, the last passages; only sessions that the reader may see, without forgotten conclusions.
    """
    rows = db.execute(
        "SELECT session_id, key, id, at, seen, scale, numbers, content FROM ("
        "SELECT o.session_id, p.key, o.id, o.seen, o.at, v.scale, v.numbers, p.content,"
        " row_number() OVER (PARTITION BY o.session_id ORDER BY o.at DESC, p.key DESC) AS back"
        f" FROM observations o JOIN events e ON e.id = o.id {ITS_PASSAGES}"
        " JOIN sessions s ON s.id = o.session_id LEFT JOIN vectors v ON v.passage = -p.key AND v.model = :model"
        f" WHERE {SESSION_VISIBLE} AND o.session_id IN (SELECT value FROM json_each(:ids))"
        f" AND {MEANINGFUL} AND o.subagent = '' AND o.id NOT IN (SELECT event FROM forgotten_conclusions))"
        " WHERE back <= :most ORDER BY session_id, at, key",
        {**bind_sight(query.sight), "model": model, "ids": json.dumps(list(session_ids)), "most": limit},
    )
    return [TalkPassage(*(*row[:4], ObservationKind(row[4]), *row[5:])) for row in rows]


def read_visible_vectors(db: Database, query: Query, model: str, vector_keys: Iterable[int]) -> list[Vector]:
    """The vectors of those of the passages that the reader may see and that match the query's filters."""
    rows = db.execute(
        f"SELECT v.passage, v.scale, v.numbers FROM vectors v JOIN session_passages p ON p.key = -v.passage"
        f" {OBSERVATION} JOIN sessions s ON s.id = o.session_id WHERE v.model = :model AND {VISIBLE_PASSAGE}"
        " AND v.passage IN (SELECT value FROM json_each(:keys))",
        bind_filters(query) | {"model": model, "keys": json.dumps(list(vector_keys))},
    )
    return [Vector(*row) for row in rows]


def find_missing_vectors(db: Database, limit: int) -> list[tuple[int, str]]:
    """Vector keys and texts of passages that have no vector yet, newest first."""
    rows = db.execute(
        "SELECT v.passage, p.content FROM vectors_wanted v JOIN session_passages p ON p.key = -v.passage"
        " WHERE v.passage < 0 ORDER BY v.passage LIMIT ?",
        limit,
    ) if db.HAS_SESSIONS else []  # fmt: skip
    return [(row[0], _unpack(row[1])[0]) for row in rows]


def find_meaningful(db: Database) -> list[int]:
    """Vector keys of all passages that should have a vector."""
    sql = f"SELECT -p.key FROM session_passages p {OBSERVATION} WHERE {MEANINGFUL}"
    return [row[0] for row in db.execute(sql)] if db.HAS_SESSIONS else []


def _pack(text: str, parts: str) -> bytes:
    # Split at the last zero byte, because identifiers contain none.
    return zlib.compress(f"{text}\0{parts}".encode())


def _unpack(content: bytes) -> tuple[str, str]:
    text, _, parts = zlib.decompress(content).decode().rpartition("\0")
    return text, parts
