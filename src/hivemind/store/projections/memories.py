"""The memories table: one row per memory, folded from its events."""

import json
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from hivemind.errors import AmbiguousId, NotFound
from hivemind.model.codec import from_plain, to_json
from hivemind.model.events import EntriesRefused, Event, MemoryFact
from hivemind.model.fold import HistoryStep, build_history, fold_memory
from hivemind.model.ids import MemoryId, Timestamp, shorten_id
from hivemind.model.memory import Kind, Memory
from hivemind.model.metadata import NO_METADATA
from hivemind.model.recall import Query
from hivemind.model.scope import Visibility
from hivemind.store import log
from hivemind.store.conditions import MATCHES_FILTERS, VISIBLE, bind_filters, bind_sight
from hivemind.store.database import Database, Row
from hivemind.store.projections import words
from hivemind.store.review_queue import IN_QUEUE, IS_SAID
from hivemind.text.clean import first_line
from hivemind.text.fence import quote_line

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
    metadata TEXT NOT NULL,       -- a JSON object
    disputed_at TEXT NOT NULL,
    edited_by TEXT NOT NULL,
    edited_through TEXT           -- the channel of the last edit
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
# The id comes first; writing a row relies on that.
NAMES = [field.name for field in fields(Memory) if field.name != "trace"]
NAMES += ["bucket", "action", "reasoning", "result", "agent", "session_id", "file_path"]
COLUMNS = ", ".join(NAMES)
JSON_COLUMNS = [field.name for field in fields(Memory) if field.default in ((), NO_METADATA)]
SELECT_WHERE = f"SELECT {COLUMNS} FROM memories m WHERE"
NEWEST_FIRST = "recorded_at DESC, id DESC"
HAS_TAG = f"EXISTS (SELECT 1 FROM json_each(m.tags) t WHERE t.value IN {log.JSON_VALUES})"
# What came up in several sessions will come up again; one more, so that what came from no session counts too.
SESSIONS_WITH_IT = "(SELECT 1 + count(DISTINCT json_extract(s.value, '$.session_id')) FROM json_each(m.sources) s)"
IS_PENDING = "m.status IN ('proposed', 'disputed')"
"""The condition of an index, which a query uses only if it has the same condition."""
MOST_USEFUL_FIRST = f"{SESSIONS_WITH_IT} * m.confidence DESC, {NEWEST_FIRST}"


class CueFields(NamedTuple):
    """What hooks recognise a memory by."""

    kind: Kind
    text: str
    paths: tuple[str, ...]
    """Files that it is tied to."""
    quotes: tuple[str, ...]
    """What the sources of a fix quote: the error that it fixed."""


def apply_all(db: Database, events: Iterable[Event]) -> None:
    """Fold again the memories that these events are about, each of them once."""
    ids: dict[str, None] = {}
    for event in events:
        if isinstance(event.fact, EntriesRefused):
            ids |= dict.fromkeys(log.find_memories_of_entries(db, event.fact.bodies))
        elif isinstance(event.fact, MemoryFact):
            ids[event.about] = None
    if not ids:
        return
    # From all events and not from the rows, because an event that arrives late may change earlier steps.
    events_by_memory = log.read_events_about_each(db, list(ids))
    histories = {memory_id: build_history(about) for memory_id, about in events_by_memory.items()}
    for memory_id, life in histories.items():
        if not life:
            _remove(db, memory_id)
    _save(db, [life for life in histories.values() if life])


def _save(db: Database, histories: Sequence[Sequence[HistoryStep]]) -> None:
    changed = [life[-1].after for life in histories]
    previous = {memory.id: memory for memory in get_all(db, [memory.id for memory in changed])}
    keys = _write_rows(db, changed, known_ids=previous)
    neighbours = [_find_neighbours(db, memory) for memory in changed]
    words.put(
        db,
        [
            words.IndexedMemory(keys[memory.id], life, *_get_texts(beside))
            for memory, life, beside in zip(changed, histories, neighbours, strict=True)
        ],
    )
    # Passages are indexed with the texts before and after them, so neighbours change too.
    for memory, beside in zip(changed, neighbours, strict=True):
        old = previous.get(memory.id)
        if old is None or old.text != memory.text:
            _refresh_neighbours(db, *beside)
        if old and (old.session_id, old.recorded_at) != (memory.session_id, memory.recorded_at):
            _refresh_neighbours(db, *beside, *_find_neighbours(db, old))


def _remove(db: Database, memory_id: str) -> None:
    row = db.one(f"SELECT key, {COLUMNS} FROM memories WHERE id = ?", memory_id)
    if row is None:
        return
    words.remove(db, row[0])
    db.execute("DELETE FROM memories WHERE key = ?", row[0])
    _refresh_neighbours(db, *_find_neighbours(db, _parse_memory(row[1:])))


def _find_neighbours(db: Database, memory: Memory) -> tuple[Memory | None, Memory | None]:
    """The memories recorded just before and just after it in the same session."""
    if not memory.session_id:
        return None, None
    place_in_session = (memory.session_id, memory.recorded_at, memory.id)
    # The condition session_id <> '' lets the engine use the partial index.
    in_session = "session_id = ? AND session_id <> '' AND (recorded_at, id)"
    before = _select(db, f"{in_session} < (?, ?) ORDER BY {NEWEST_FIRST} LIMIT 1", *place_in_session)
    after = _select(db, f"{in_session} > (?, ?) ORDER BY recorded_at, id LIMIT 1", *place_in_session)
    return next(iter(before), None), next(iter(after), None)


def _refresh_neighbours(db: Database, *neighbours: Memory | None) -> None:
    """Update the indexed surroundings of memories whose neighbour changed."""
    for neighbour in filter(None, neighbours):
        texts = _get_texts(_find_neighbours(db, neighbour))
        key = db.value("SELECT key FROM memories WHERE id = ?", neighbour.id)
        life = build_history(log.read_events_about(db, neighbour.id))
        # Empty if one rollback removes both: the log already has it, and the neighbour is removed in its own turn.
        if life:
            words.put(db, [words.IndexedMemory(key, life, *texts)])


def _get_texts(neighbours: tuple[Memory | None, Memory | None]) -> tuple[str, str]:
    before, after = neighbours
    return before.text if before else "", after.text if after else ""


def get(db: Database, memory_id: MemoryId) -> Memory:
    """The memory with that id."""
    memories = _select(db, "id = ?", memory_id)
    if not memories:
        raise NotFound(f"there is no memory {shorten_id(memory_id)}")
    return memories[0]


def get_all(db: Database, ids: Iterable[str]) -> list[Memory]:
    """Several memories by id; unknown ids are left out."""
    return _select(db, "id IN (SELECT value FROM json_each(?))", json.dumps(list(ids)))


def get_visible(db: Database, ids: Iterable[str], sight: Visibility) -> list[Memory]:
    """Several memories by id; those that do not exist or are out of sight are left out."""
    values = {**bind_sight(sight), "ids": json.dumps(list(ids))}
    return _select(db, f"id IN (SELECT value FROM json_each(:ids)) AND {VISIBLE}", values)


def find_matching(db: Database, ids: Iterable[str], query: Query) -> Iterator[Memory]:
    """Several memories by id, newest first, as the caller asks for more; those that the query excludes are left out."""
    condition = f"m.id IN (SELECT value FROM json_each(:ids)) ORDER BY {NEWEST_FIRST}"
    sql = f"{SELECT_WHERE} {VISIBLE} AND {MATCHES_FILTERS} AND {condition}"
    return map(_parse_memory, db.stream(sql, bind_filters(query) | {"ids": json.dumps(list(ids))}))


def find_standing_texts(db: Database, keys: Iterable[int]) -> list[tuple[MemoryId, str]]:
    """Ids and texts of the memories that are active, disputed or proposed and are not traces.

    Comparing texts needs no other columns, so whole memories are not read.
    """
    rows = db.execute(
        "SELECT id, text FROM memories WHERE key IN (SELECT DISTINCT CAST(value AS BIGINT) FROM json_each(?))"
        " AND status IN ('active', 'disputed', 'proposed') AND action IS NULL",
        json.dumps(list(keys)),
    )
    return [(MemoryId(row[0]), row[1]) for row in rows]


def find_by_subject(db: Database, subject: str, repo: str) -> list[Memory]:
    """Every memory with that subject in a repository or without one, oldest first."""
    condition = "subject = ? AND subject <> '' AND repo IN ('', ?) ORDER BY recorded_at, id"
    return _select(db, condition, subject, repo)


def find_tagged(db: Database, tags: Sequence[str]) -> set[str]:
    """Ids of the memories that have one of these tags."""
    sql = f"SELECT id FROM memories m WHERE {HAS_TAG}"
    return {row[0] for row in db.execute(sql, json.dumps(list(tags)))}


def find_derived(db: Database, memory_id: str) -> list[Memory]:
    """Memories that were derived from this one."""
    is_source = "EXISTS (SELECT 1 FROM json_each(m.derived_from) WHERE value = ?)"
    return _select(db, f"m.derived_from <> '[]' AND {is_source}", memory_id)


def find_anchored(db: Database, query: Query, paths: Iterable[str] = ()) -> list[Memory]:
    """Memories with code anchors that match the query's filters, newest first; with paths, only in these files."""
    return _select_fitting(
        db, query,
        "m.anchors <> '[]' AND (:paths = '[]' OR EXISTS (SELECT 1 FROM json_each(m.anchors) a"
        " WHERE json_extract(a.value, '$.path') IN (SELECT value FROM json_each(:paths))))"
        f" ORDER BY {NEWEST_FIRST}",
        paths=json.dumps(list(paths)),
    )  # fmt: skip


def find_unanchored(db: Database, query: Query) -> list[Memory]:
    """Memories without code anchors that match the query's filters, newest first."""
    return _select_fitting(db, query, f"m.anchors = '[]' ORDER BY {NEWEST_FIRST}")


def find_opposed(db: Database, memory_id: str) -> list[Memory]:
    """Memories that wait for review and contradict this one, whether or not it names them too."""
    is_against = "EXISTS (SELECT 1 FROM json_each(m.contradicts) WHERE value = ?)"
    return _select(db, f"m.status IN ('proposed', 'disputed') AND {is_against} ORDER BY recorded_at, id", memory_id)


def has_anchors(db: Database, query: Query) -> bool:
    """Whether any memory that matches the query's filters has code anchors."""
    sql = f"SELECT 1 FROM memories m WHERE m.anchors <> '[]' AND {VISIBLE} AND {MATCHES_FILTERS} LIMIT 1"
    return db.value(sql, bind_filters(query)) is not None


def has_others(db: Database, query: Query, ids: Iterable[str]) -> bool:
    """Whether any memory besides these matches the query's filters."""
    sql = (
        f"SELECT 1 FROM memories m WHERE {VISIBLE} AND {MATCHES_FILTERS}"
        " AND m.id NOT IN (SELECT value FROM json_each(:ids)) LIMIT 1"
    )
    return db.value(sql, bind_filters(query) | {"ids": json.dumps(list(ids))}) is not None


def count_learned(db: Database, sight: Visibility, since: Timestamp) -> tuple[int, int]:
    """How many visible memories that stand were recorded since then, and how many of them a person said to an agent."""
    [counts] = db.execute(
        f"SELECT count(*), coalesce(sum(CASE WHEN {IS_SAID} THEN 1 ELSE 0 END), 0) FROM memories m"
        f" WHERE m.recorded_at >= :since AND m.status IN ('active', 'disputed') AND {VISIBLE}",
        {**bind_sight(sight), "since": since},
    )
    return counts[0], counts[1]


def get_as_of(db: Database, memory_id: str, moment: Timestamp) -> Memory | None:
    """The memory as it was at that time; None if it did not exist."""
    return fold_memory(event for event in log.read_events_about(db, memory_id) if event.at <= moment)


def resolve_id(db: Database, prefix: str, sight: Visibility) -> MemoryId:
    """The full id of the visible memory that a prefix stands for."""
    rows = db.execute(
        "SELECT m.id, m.text FROM memories m WHERE m.id >= :prefix AND m.id < :end"
        f" AND {VISIBLE} ORDER BY m.id LIMIT 10",
        # Ids are hexadecimal, so "g" sorts after all that start with the prefix; a range can use the index.
        {**bind_sight(sight), "prefix": prefix, "end": prefix + "g"},
    )
    # A whole id is unambiguous, even if others begin with it.
    exact = [row for row in rows if row[0] == prefix]
    if len(exact or rows) > 1:
        raise AmbiguousId(prefix, [f"{row[0][:12]}  {quote_line(first_line(row[1], 60))}" for row in rows])
    if not rows:
        raise NotFound(f"there is no memory {prefix!r} here; 'hivemind list' shows what there is")
    return MemoryId((exact or rows)[0][0])


def list_memories(db: Database, query: Query, *, before: str = "") -> list[Memory]:
    """Memories that match the query's filters, newest first; ``before`` is the last id of the previous page."""
    is_earlier = "(recorded_at, id) < (SELECT recorded_at, id FROM memories WHERE id = :before)"
    condition = f"(:before = '' OR {is_earlier}) ORDER BY {NEWEST_FIRST} LIMIT :limit"
    return _select_fitting(db, query, condition, before=before, limit=query.limit)


def find_pending(db: Database, query: Query, queue_start: Timestamp) -> list[Memory]:
    """Proposed and disputed memories, which need review, those that are likely to be used most first.

    Proposals from before ``queue_start`` are left out.
    """
    condition = f"{IS_PENDING} AND {IN_QUEUE} ORDER BY {MOST_USEFUL_FIRST} LIMIT :limit"
    return _select_fitting(db, query, condition, limit=query.limit, queue_start=queue_start)


def find_overdue(db: Database, query: Query) -> list[Memory]:
    """Memories whose ``verify_by`` has passed without a verification."""
    is_overdue = "m.verify_by <> '' AND m.verify_by <= :now AND m.last_verified_at < m.verify_by"
    return _select_fitting(db, query, f"{is_overdue} ORDER BY m.verify_by LIMIT :limit", limit=query.limit)


def find_most_trusted(db: Database, query: Query) -> list[Memory]:
    """Memories that match the query's filters, by trust and then newest first."""
    return _select_fitting(db, query, f"TRUE ORDER BY trust DESC, {NEWEST_FIRST} LIMIT :limit", limit=query.limit)


def find_linked(db: Database, query: Query, places: Sequence[str]) -> list[Memory]:
    """Visible memories linked or anchored to one of these files or symbols, newest first."""
    return _select_fitting(
        db, query,
        "(EXISTS (SELECT 1 FROM json_each(m.links) l, json_each(:places) p"
        # An underscore is a wildcard of LIKE, and common in paths.
        " WHERE l.value = p.value OR l.value LIKE replace(p.value, '_', '!_') || '::%' ESCAPE '!')"
        # A link can be written differently from the path that it resolves to, so anchors are searched too.
        " OR (m.anchors <> '[]' AND EXISTS (SELECT 1 FROM json_each(m.anchors) a, json_each(:places) p"
        " WHERE p.value IN (json_extract(a.value, '$.path'),"
        " json_extract(a.value, '$.path') || '::' || json_extract(a.value, '$.qualified')))))"
        f" ORDER BY {NEWEST_FIRST} LIMIT :limit",
        places=json.dumps(list(places)), limit=query.limit,
    )  # fmt: skip


def find_cue_fields(db: Database, query: Query) -> Iterator[CueFields]:
    """What hooks recognise each visible memory by that matches the query's filters."""
    # Not whole memories: reading 10,000 of them takes longer than a hook may.
    rows = db.stream(
        "SELECT m.kind, m.text, m.links, m.anchors, CASE WHEN m.kind = 'fix' THEN m.sources ELSE '[]' END"
        f" FROM memories m WHERE {VISIBLE} AND {MATCHES_FILTERS}",
        bind_filters(query),
    )
    for kind, text, links, anchors, sources in rows:
        paths = [anchor["path"] for anchor in json.loads(anchors)] if anchors != "[]" else []
        paths += [link.partition("::")[0] for link in json.loads(links)] if links != "[]" else []
        quotes = [source["quote"] for source in json.loads(sources) if source.get("quote")]
        yield CueFields(kind=Kind(kind), text=text, paths=tuple(dict.fromkeys(paths)), quotes=tuple(quotes))


def find_from_files(db: Database, repo: str) -> list[Memory]:
    """Memories from the instruction files of a repository, including lines that were since removed."""
    return _select(db, "repo = ? AND channel = 'file'", repo)


def find_by_batch(db: Database, prefix: str) -> list[Memory]:
    """Memories that a batch whose name begins so brought, whatever became of them."""
    return _select(db, "substr(batch, 1, length(?)) = ? ORDER BY recorded_at, id", prefix, prefix)


def iterate_visible(db: Database, sight: Visibility) -> Iterator[Memory]:
    """Every visible memory, oldest first."""
    return map(_parse_memory, db.stream(f"{SELECT_WHERE} {VISIBLE} ORDER BY recorded_at, id", bind_sight(sight)))


def count_by_kind(db: Database) -> list[Row]:
    """Numbers of memories by scope, kind and status."""
    return db.execute("SELECT scope, kind, status, count(*) FROM memories GROUP BY 1, 2, 3 ORDER BY 1, 2, 3")


def count_proposals(db: Database, query: Query, queue_start: Timestamp) -> tuple[int, int]:
    """The numbers of visible proposals that wait for review and of those that have left the queue."""
    [counts] = db.execute(
        f"SELECT count(CASE WHEN {IN_QUEUE} THEN 1 END), count(CASE WHEN NOT {IN_QUEUE} THEN 1 END) FROM memories m"
        f" WHERE {IS_PENDING} AND m.status = 'proposed' AND (m.expires_at = '' OR m.expires_at > :now) AND {VISIBLE}",
        bind_sight(query.sight) | {"now": query.now, "queue_start": queue_start},
    )
    return counts[0], counts[1]


def count_current(db: Database, query: Query) -> tuple[int, int]:
    """The numbers of visible memories that stand and of those that have expired, whatever else the query asks for."""
    [counts] = db.execute(
        "SELECT count(CASE WHEN m.expires_at = '' OR m.expires_at > :now THEN 1 END),"
        " count(CASE WHEN m.expires_at <> '' AND m.expires_at <= :now THEN 1 END)"
        f" FROM memories m WHERE m.status IN ('active', 'disputed') AND {VISIBLE}",
        bind_sight(query.sight) | {"now": query.now},
    )
    return counts[0], counts[1]


def count_by_status(db: Database, sight: Visibility) -> list[Row]:
    """Numbers of visible memories by status, most frequent first."""
    return db.execute(
        f"SELECT status, count(*) FROM memories m WHERE {VISIBLE} GROUP BY 1 ORDER BY 2 DESC, 1", bind_sight(sight)
    )


def count_by_day(db: Database, sight: Visibility, since: Timestamp) -> list[Row]:
    """Numbers of visible memories by day recorded and current status; an empty day stands for all days before."""
    return db.execute(
        "SELECT CASE WHEN m.recorded_at >= :since THEN substr(m.recorded_at, 1, 10) ELSE '' END, m.status, count(*)"
        f" FROM memories m WHERE {VISIBLE} GROUP BY 1, 2 ORDER BY 1, 2",
        {**bind_sight(sight), "since": since},
    )


def count_by_repository(db: Database) -> list[Row]:
    """Numbers of memories and the newest time recorded, by repository and status."""
    return db.execute("SELECT repo, status, count(*), max(recorded_at) FROM memories GROUP BY 1, 2 ORDER BY 1, 2")


def count_private(db: Database, *, without_repos: Sequence[str] = (), without_tags: Sequence[str] = ()) -> int:
    """The number of memories that are not the team's, apart from some repositories and tags."""
    is_counted = f"scope <> 'team' AND repo NOT IN {log.JSON_VALUES} AND NOT {HAS_TAG}"
    values = json.dumps(list(without_repos)), json.dumps(list(without_tags))
    return int(db.value(f"SELECT count(*) FROM memories m WHERE {is_counted}", *values))


def find_by_session(db: Database, session_id: str) -> list[Memory]:
    """The memories recorded in a session, in order."""
    return _select(db, "session_id = ? AND session_id <> '' ORDER BY recorded_at, id", session_id)


def _select(db: Database, condition: str, *values: Any) -> list[Memory]:
    return [_parse_memory(row) for row in db.execute(f"{SELECT_WHERE} {condition}", *values)]


def _select_fitting(db: Database, query: Query, condition: str, **values: Any) -> list[Memory]:
    """Visible memories that match the query's filters and one more condition."""
    return _select(db, f"{VISIBLE} AND {MATCHES_FILTERS} AND {condition}", bind_filters(query) | values)


def _write_rows(db: Database, changed: Sequence[Memory], *, known_ids: Container[str]) -> dict[str, int]:
    """Insert or update the rows of memories; return the key of each."""
    rows = {memory.id: _column_values(memory) for memory in changed}
    placeholders = ", ".join("?" * len(NAMES))
    new_rows = [values for memory_id, values in rows.items() if memory_id not in known_ids]
    db.many(f"INSERT INTO memories ({COLUMNS}) VALUES ({placeholders})", new_rows)
    changes = ", ".join(f"{name} = ?" for name in NAMES[1:])
    old_rows = [(*values[1:], memory_id) for memory_id, values in rows.items() if memory_id in known_ids]
    db.many(f"UPDATE memories SET {changes} WHERE id = ?", old_rows)
    return dict(db.execute(f"SELECT id, key FROM memories WHERE id IN {log.JSON_VALUES}", json.dumps([*rows])))


def _column_values(memory: Memory) -> tuple[Any, ...]:
    trace = memory.trace
    files = [source.file for source in memory.sources if source.file] + [*memory.links, *memory.about]
    computed_columns = {
        "bucket": memory.kind.bucket,
        "trust": int(memory.trust),
        "sources": to_json(memory.sources, terse=True),
        "rivals": to_json(memory.rivals),
        "action": trace.action if trace else None,
        "reasoning": trace.reasoning if trace else None,
        "result": trace.result if trace else None,
        "agent": memory.agent,
        "session_id": memory.session_id or "",
        "file_path": files[0].partition("::")[0] if files else "",
    }
    json_columns = {name: to_json(getattr(memory, name)) for name in JSON_COLUMNS if name not in computed_columns}
    columns = json_columns | computed_columns
    return tuple(columns[name] if name in columns else getattr(memory, name) for name in NAMES)


def _parse_memory(row: Row) -> Memory:
    columns = dict(zip(NAMES, row, strict=True))
    # Only traces have an action.
    if columns["action"]:
        columns["trace"] = {name: columns[name] for name in ("agent", "action", "reasoning", "result")}
    # Most lists of a memory are empty.
    parsed_columns = {name: [] if columns[name] == "[]" else json.loads(columns[name]) for name in JSON_COLUMNS}
    return from_plain(Memory, columns | parsed_columns)
