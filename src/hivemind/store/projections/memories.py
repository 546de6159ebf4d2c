"""Memories as they stand: one row each, the fold of its events."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any

from hivemind.errors import AmbiguousId, NotFound
from hivemind.model.events import EntriesRefused, Event
from hivemind.model.ids import MemoryId, short
from hivemind.model.life import Step, memory_from, steps
from hivemind.model.memory import Memory
from hivemind.model.metadata import NO_METADATA
from hivemind.model.plain import as_json, revived
from hivemind.model.recall import Query
from hivemind.model.scope import Sight
from hivemind.model.text import first_line
from hivemind.store import log
from hivemind.store.database import Database, Row
from hivemind.store.projections import words
from hivemind.store.projections.filters import FITTING, bound
from hivemind.store.visibility import VISIBLE, seen_from

TABLES = ("memories",)
SCHEMA = """
CREATE TABLE memories (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    bucket TEXT NOT NULL,
    text TEXT NOT NULL,
    scope TEXT NOT NULL,
    repo TEXT NOT NULL,           -- empty where it holds everywhere
    owner TEXT NOT NULL,
    channel TEXT NOT NULL,
    trust INTEGER NOT NULL,
    status TEXT NOT NULL,
    recorded_at TEXT NOT NULL,
    revised_at TEXT NOT NULL,
    tags TEXT NOT NULL,           -- JSON, as are sources, links, anchors, supersedes and derived_from
    sources TEXT NOT NULL,
    links TEXT NOT NULL,
    anchors TEXT NOT NULL,
    subject TEXT NOT NULL,
    confidence REAL NOT NULL,
    valid_from TEXT NOT NULL,
    valid_to TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    verify_by TEXT NOT NULL,
    last_verified_at TEXT NOT NULL,
    supersedes TEXT NOT NULL,
    superseded_by TEXT,
    contradicts TEXT NOT NULL,
    derived_from TEXT NOT NULL,
    batch TEXT NOT NULL,
    action TEXT,                  -- of a trace, with reasoning and result
    reasoning TEXT,
    result TEXT,
    version INTEGER NOT NULL,
    head TEXT NOT NULL,           -- the entry of the log that gave this version
    rivals TEXT NOT NULL,         -- JSON: edits of older versions that wait for a decision
    agent TEXT NOT NULL,
    session_id TEXT NOT NULL,
    file_path TEXT NOT NULL,
    metadata TEXT NOT NULL        -- a JSON object
) STRICT;
CREATE INDEX memories_place ON memories (repo, status, recorded_at, scope);
CREATE INDEX memories_time ON memories (recorded_at, id);
CREATE INDEX memories_session ON memories (session_id, recorded_at, id) WHERE session_id <> '';
CREATE INDEX memories_derived ON memories (key) WHERE derived_from <> '[]';
CREATE INDEX memories_anchored ON memories (recorded_at, id) WHERE anchors <> '[]';
CREATE INDEX memories_waiting ON memories (recorded_at, id) WHERE status IN ('proposed', 'disputed');
CREATE INDEX memories_promised ON memories (verify_by) WHERE verify_by <> '';
CREATE INDEX memories_subject ON memories (subject) WHERE subject <> '';
"""
NAMES = [field.name for field in fields(Memory) if field.name != "trace"]
NAMES += ["bucket", "action", "reasoning", "result", "agent", "session_id", "file_path"]
COLUMNS = ", ".join(NAMES)
JSON = [field.name for field in fields(Memory) if field.default in ((), NO_METADATA)]
WHERE = f"SELECT {COLUMNS} FROM memories m WHERE"
NEWEST_FIRST = "recorded_at DESC, id DESC"


def apply(db: Database, event: Event) -> None:
    """Tell the memory's life again, with this event in it."""
    if isinstance(event.fact, EntriesRefused):
        for memory_id in log.things(db, event.fact.bodies):
            _tell_again(db, memory_id)
    elif hasattr(event.fact, "memory_id"):
        _tell_again(db, event.about)


def _tell_again(db: Database, memory_id: str) -> None:
    life = steps(log.about(db, memory_id))
    if life:
        _put(db, life)
    else:
        _remove(db, memory_id)


def _put(db: Database, life: Sequence[Step]) -> None:
    memory = life[-1].after
    known = next(iter(_where(db, "id = ?", memory.id)), None)
    key = _write(db, memory, is_new=known is None)
    before, after = _session_mates(db, memory)
    words.put(db, key, life, before.text if before else "", after.text if after else "")
    if known is None or known.text != memory.text:
        _tell(db, before, after)
    if known and (known.session_id, known.recorded_at) != (memory.session_id, memory.recorded_at):
        _tell(db, before, after, *_session_mates(db, known))


def _remove(db: Database, memory_id: str) -> None:
    row = db.one(f"SELECT key, {COLUMNS} FROM memories WHERE id = ?", memory_id)
    if row is None:
        return
    words.remove(db, row[0])
    db.execute("DELETE FROM memories WHERE key = ?", row[0])
    _tell(db, *_session_mates(db, _memory(row[1:])))


def _session_mates(db: Database, memory: Memory) -> tuple[Memory | None, Memory | None]:
    """What was learned just before and just after it in the same session."""
    if not memory.session_id:
        return None, None
    moment = (memory.session_id, memory.recorded_at, memory.id)
    in_session = "session_id = ? AND session_id <> '' AND (recorded_at, id)"
    before = _where(db, f"{in_session} < (?, ?) ORDER BY {NEWEST_FIRST} LIMIT 1", *moment)
    after = _where(db, f"{in_session} > (?, ?) ORDER BY recorded_at, id LIMIT 1", *moment)
    return next(iter(before), None), next(iter(after), None)


def _tell(db: Database, *mates: Memory | None) -> None:
    """Let the words around a memory follow a change beside it."""
    for mate in filter(None, mates):
        before, after = _session_mates(db, mate)
        key = db.value("SELECT key FROM memories WHERE id = ?", mate.id)
        life = steps(log.about(db, mate.id))
        # A rollback of both is in the log already; the mate's own turn comes next, and it goes as a whole.
        if life:
            words.put(db, key, life, before.text if before else "", after.text if after else "")


def get(db: Database, memory_id: MemoryId) -> Memory:
    """The memory of that id, as it stands."""
    found = _where(db, "id = ?", memory_id)
    if not found:
        raise NotFound(f"there is no memory {short(memory_id)}")
    return found[0]


def get_all(db: Database, ids: Iterable[str]) -> list[Memory]:
    """Several memories at once; what does not exist is left out."""
    return _where(db, "id IN (SELECT value FROM json_each(?))", json.dumps(list(ids)))


def get_visible(db: Database, ids: Iterable[str], sight: Sight) -> list[Memory]:
    """Several memories at once; what does not exist or is out of sight is left out."""
    values = {**seen_from(sight), "ids": json.dumps(list(ids))}
    return _where(db, f"id IN (SELECT value FROM json_each(:ids)) AND {VISIBLE}", values)


def standing_texts(db: Database, keys: Iterable[int]) -> list[tuple[MemoryId, str]]:
    """Ids and texts of those memories that stand and are no traces: comparing needs no more of them."""
    rows = db.execute(
        "SELECT id, text FROM memories WHERE key IN (SELECT DISTINCT CAST(value AS BIGINT) FROM json_each(?))"
        " AND status IN ('active', 'disputed', 'proposed') AND action IS NULL",
        json.dumps(list(keys)),
    )
    return [(MemoryId(row[0]), row[1]) for row in rows]


def of_subject(db: Database, subject: str, repo: str) -> list[Memory]:
    """Every memory with that subject in a repository, or of the user, oldest first."""
    of_it = "subject = ? AND subject <> '' AND repo IN ('', ?) ORDER BY recorded_at, id"
    return _where(db, of_it, subject, repo)


def derived_from(db: Database, memory_id: str) -> list[Memory]:
    """Memories that were derived from this one."""
    of_it = "EXISTS (SELECT 1 FROM json_each(m.derived_from) WHERE value = ?)"
    return _where(db, f"m.derived_from <> '[]' AND {of_it}", memory_id)


def anchored(db: Database, query: Query, paths: Iterable[str] = ()) -> list[Memory]:
    """Memories tied to code that fit the query's filters, newest first; with paths, to code in these files."""
    return _fitting(
        db, query,
        "m.anchors <> '[]' AND (:paths = '[]' OR EXISTS (SELECT 1 FROM json_each(m.anchors) a"
        " WHERE json_extract(a.value, '$.path') IN (SELECT value FROM json_each(:paths))))"
        f" ORDER BY {NEWEST_FIRST}",
        paths=json.dumps(list(paths)),
    )  # fmt: skip


def has_anchors(db: Database, query: Query) -> bool:
    """Whether any memory that fits the query's filters is tied to code."""
    asked = f"SELECT 1 FROM memories m WHERE m.anchors <> '[]' AND {VISIBLE} AND {FITTING} LIMIT 1"
    return db.value(asked, bound(query)) is not None


def as_of(db: Database, memory_id: str, moment: str) -> Memory | None:
    """The memory as it was believed at that moment."""
    return memory_from(event for event in log.about(db, memory_id) if event.at <= moment)


def resolve(db: Database, prefix: str, sight: Sight) -> MemoryId:
    """The id in sight that a shortened one stands for; what is out of sight does not exist."""
    rows = db.execute(
        "SELECT m.id, m.text FROM memories m WHERE m.id >= :prefix AND m.id < :end"
        f" AND {VISIBLE} ORDER BY m.id LIMIT 10",
        {**seen_from(sight), "prefix": prefix, "end": prefix + "g"},
    )
    exact = [row for row in rows if row[0] == prefix]
    if len(exact or rows) > 1:
        raise AmbiguousId(prefix, [f"{row[0][:12]}  {first_line(row[1], 60)}" for row in rows])
    if not rows:
        raise NotFound(f"there is no memory {prefix!r} here; 'hivemind list' shows what there is")
    return MemoryId((exact or rows)[0][0])


def listed(db: Database, query: Query, *, before: str = "") -> list[Memory]:
    """Memories that fit the query's filters, newest first; ``before`` goes on from an earlier page."""
    earlier = "(recorded_at, id) < (SELECT recorded_at, id FROM memories WHERE id = :before)"
    page = f"(:before = '' OR {earlier}) ORDER BY {NEWEST_FIRST} LIMIT :limit"
    return _fitting(db, query, page, before=before, limit=query.limit)


def waiting(db: Database, query: Query) -> list[Memory]:
    """Memories that wait for a verdict, newest first."""
    condition = f"m.status IN ('proposed', 'disputed') ORDER BY {NEWEST_FIRST} LIMIT :limit"
    return _fitting(db, query, condition, limit=query.limit)


def overdue(db: Database, query: Query) -> list[Memory]:
    """Memories that somebody wanted looked at again before now, and nobody has."""
    due = "m.verify_by <> '' AND m.verify_by <= :now AND m.last_verified_at < m.verify_by"
    return _fitting(db, query, f"{due} ORDER BY m.verify_by LIMIT :limit", limit=query.limit)


def most_trusted(db: Database, query: Query) -> list[Memory]:
    """Memories that fit the query's filters, the most trusted first and the newest of those."""
    return _fitting(db, query, f"TRUE ORDER BY trust DESC, {NEWEST_FIRST} LIMIT :limit", limit=query.limit)


def linked(db: Database, query: Query, places: Sequence[str]) -> list[Memory]:
    """Memories in sight that are tied to one of these files or symbols, newest first."""
    return _fitting(
        db, query,
        "(EXISTS (SELECT 1 FROM json_each(m.links) l, json_each(:places) p"
        " WHERE l.value = p.value OR l.value LIKE replace(p.value, '_', '!_') || '::%' ESCAPE '!')"
        # A link may be written in other words than the path that it leads to.
        " OR (m.anchors <> '[]' AND EXISTS (SELECT 1 FROM json_each(m.anchors) a, json_each(:places) p"
        " WHERE p.value IN (json_extract(a.value, '$.path'),"
        " json_extract(a.value, '$.path') || '::' || json_extract(a.value, '$.qualified')))))"
        f" ORDER BY {NEWEST_FIRST} LIMIT :limit",
        places=json.dumps(list(places)), limit=query.limit,
    )  # fmt: skip


def of_files(db: Database, repo: str) -> list[Memory]:
    """What the instruction files of a repository said, whether or not they still do."""
    return _where(db, "repo = ? AND channel = 'file'", repo)


def each(db: Database, sight: Sight) -> Iterator[Memory]:
    """Every memory in sight, oldest first."""
    return map(_memory, db.stream(f"{WHERE} {VISIBLE} ORDER BY recorded_at, id", seen_from(sight)))


def counts(db: Database) -> list[Row]:
    """How many memories there are, by scope, kind and status."""
    return db.execute("SELECT scope, kind, status, count(*) FROM memories GROUP BY 1, 2, 3 ORDER BY 1, 2, 3")


def statuses(db: Database, sight: Sight) -> list[Row]:
    """How many memories in sight have which status, the most frequent first."""
    return db.execute(
        f"SELECT status, count(*) FROM memories m WHERE {VISIBLE} GROUP BY 1 ORDER BY 2 DESC, 1", seen_from(sight)
    )


def by_day(db: Database, sight: Sight, since: str) -> list[Row]:
    """How many memories in sight were recorded, per day and by how they stand now; the empty day is all before."""
    return db.execute(
        "SELECT CASE WHEN m.recorded_at >= :since THEN substr(m.recorded_at, 1, 10) ELSE '' END, m.status, count(*)"
        f" FROM memories m WHERE {VISIBLE} GROUP BY 1, 2 ORDER BY 1, 2",
        {**seen_from(sight), "since": since},
    )


def by_repository(db: Database) -> list[Row]:
    """How many memories there are per repository and status, and when the newest was recorded."""
    return db.execute("SELECT repo, status, count(*), max(recorded_at) FROM memories GROUP BY 1, 2 ORDER BY 1, 2")


def of_session(db: Database, session_id: str) -> list[Memory]:
    """What was learned in a session, in order."""
    return _where(db, "session_id = ? AND session_id <> '' ORDER BY recorded_at, id", session_id)


def _where(db: Database, condition: str, *values: Any) -> list[Memory]:
    return [_memory(row) for row in db.execute(f"{WHERE} {condition}", *values)]


def _fitting(db: Database, query: Query, condition: str, **values: Any) -> list[Memory]:
    """Memories in sight that fit the query's filters and one condition more."""
    return _where(db, f"{VISIBLE} AND {FITTING} AND {condition}", bound(query) | values)


def _write(db: Database, memory: Memory, *, is_new: bool) -> int:
    values = _values(memory)
    if is_new:
        sql = f"INSERT INTO memories ({COLUMNS}) VALUES ({', '.join('?' * len(values))}) RETURNING key"
        return int(db.value(sql, *values))
    changes = ", ".join(f"{name} = ?" for name in NAMES[1:])
    return int(db.value(f"UPDATE memories SET {changes} WHERE id = ? RETURNING key", *values[1:], values[0]))


def _values(memory: Memory) -> tuple[Any, ...]:
    trace = memory.trace
    files = [source.file for source in memory.sources if source.file] + [*memory.links, *memory.about]
    derived = {
        "bucket": memory.kind.bucket,
        "trust": int(memory.trust),
        "sources": as_json(memory.sources, terse=True),
        "rivals": as_json(memory.rivals),
        "action": trace.action if trace else None,
        "reasoning": trace.reasoning if trace else None,
        "result": trace.result if trace else None,
        "agent": memory.agent,
        "session_id": memory.session_id or "",
        "file_path": files[0].partition("::")[0] if files else "",
    }
    encoded = {name: as_json(getattr(memory, name)) for name in JSON if name not in derived}
    told = encoded | derived
    return tuple(told[name] if name in told else getattr(memory, name) for name in NAMES)


def _memory(row: Row) -> Memory:
    held = dict(zip(NAMES, row, strict=True))
    if held["action"]:
        held["trace"] = {name: held[name] for name in ("agent", "action", "reasoning", "result")}
    return revived(Memory, held | {name: json.loads(held[name]) for name in JSON})
