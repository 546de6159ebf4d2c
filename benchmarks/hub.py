"""Measure pushes and recalls per second of a hub on Postgres, and of SQLite in the same run.

    python -m benchmarks.hub [--largest 100000] [--teams 1] [--sqlite]

Starts its own Postgres with durable writes. Texts and their vectors are generated and loaded in bulk; the question's
vector is made by the real model. With --teams, each team gets as many memories. Client and server share the machine,
so the CPU time of both is printed beside the elapsed time.
"""

import argparse
import os
import random
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.corpus import sentences
from benchmarks.measure import quantiles
from benchmarks.recall import RandomVectors
from hivemind import Hivemind, Scope
from hivemind.app.context import Context
from hivemind.hub.postgres import connect
from hivemind.hub.store import Hub, HubStore
from hivemind.model.claim import Claim
from hivemind.model.memory import Channel, Writer
from hivemind.model.scope import Repository
from hivemind.recall.embeddings import SemanticIndex
from hivemind.settings import Settings
from hivemind.store import Store
from hivemind.store.projections.vectors import hash_place
from tests.postgres import database, serving

HERE = "remote:git.example/acme/api"
QUESTIONS = 60
PAGE = 5_000
SIZES = (1_000, 10_000, 100_000, 1_000_000)
SERVER = ("shared_buffers=1GB", "max_wal_size=8GB", "maintenance_work_mem=2GB", "effective_cache_size=4GB")
ROWS = """
WITH said AS (
    SELECT text, md5(text || n) AS id, n FROM unnest(?::text[]) WITH ORDINALITY AS t (text, n)
), kept AS (
    INSERT INTO memories (id, kind, bucket, text, scope, repo, owner, channel, trust, status, recorded_at, revised_at,
        tags, sources, links, anchors, subject, confidence, valid_from, valid_to, expires_at, verify_by,
        last_verified_at, supersedes, contradicts, derived_from, batch, version, agent, session_id, file_path)
    SELECT id, 'fact', 'project', text, 'team', ?, 'ada', 'person', 3, 'active', '2026-03-01T12:00:00.000000Z',
        '2026-03-01T12:00:00.000000Z', '[]', '[]', '[]', '[]', '', 1, '', '', '', '', '', '[]', '[]', '[]', '', 1, '',
        '', '' FROM said RETURNING key, text
), cut AS (
    INSERT INTO passages (memory, ordinal, since, until)
    SELECT key, 0, '2026-03-01T12:00:00.000000Z', '' FROM kept RETURNING key, memory
)
SELECT cut.key, kept.text FROM cut JOIN kept ON kept.key = cut.memory
"""
WORDS = """
INSERT INTO words (rowid, text, context, around, stems) SELECT ?, said, '', '',
    setweight(to_tsvector('hivemind.words', said), 'A') || array_to_tsvector(ARRAY[team()::text])
FROM (SELECT ?::text AS said)
"""
COUNTS = "INSERT INTO word_counts (term, doc) SELECT word, ndoc FROM ts_stat('SELECT stems FROM words')"


def main() -> None:
    """Fill a database of each size and measure it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=100_000, help="largest number of memories per team")
    parser.add_argument("--teams", type=int, default=1, help="number of teams that share the database")
    parser.add_argument("--sqlite", action="store_true", help="also measure SQLite; filling it takes minutes")
    options = parser.parse_args()
    print(
        f"{'engine':>9}{'memories':>10}{'what':>10}{'p50 ms':>9}{'p95 ms':>9}{'CPU ms':>9}{'a second':>10}", flush=True
    )
    with tempfile.TemporaryDirectory() as folder, serving(SERVER) as server:
        for size in (size for size in SIZES if size <= options.largest):
            address = database(server, f"with_{size}")
            with Hub.open(address) as hub:
                stores = [hub.open_team(hub.create_team(f"team {number}")) for number in range(options.teams)]
                fill(address, stores, size)
                measure("postgres", size, open_memory(stores[0], folder), server)
                for store in stores:
                    store.close()
            if options.sqlite:
                mind = open_memory(Store.open(Path(folder) / str(size)), folder)
                chance = random.Random(3)
                for _ in range(0, size, PAGE):
                    texts = sentences(chance, min(PAGE, size))
                    mind.remember_all(Claim(text=text, scope=Scope.TEAM) for text in texts)
                mind.maintenance.catch_up()
                measure("sqlite", size, mind)
                mind.close()


def open_memory(store: Store, folder: str) -> Hivemind:
    """Open a team's memory with random vectors."""
    settings = Settings(home=Path(folder), person="ada")
    writer = Writer(actor="ada", channel=Channel.PERSON)
    mind = Hivemind(Context(store, settings, Repository(id=HERE, root=""), writer))
    mind._context.embedder.meaning = SemanticIndex(RandomVectors())
    return mind


def fill(address: str, stores: Sequence[HubStore], size: int) -> None:
    """Insert rows as remembering would, but without the log; the vector index is built at the end, which is faster."""
    chance, numbers = random.Random(3), np.random.default_rng(5)
    with connect(address) as owner:
        graph = owner.execute("SELECT pg_get_indexdef('hivemind.vectors_near'::regclass)").fetchone()
        assert graph is not None
        owner.execute("DROP INDEX hivemind.vectors_near")
        for store in stores:
            db = store.db
            for start in range(0, size, PAGE):
                with db.transaction():
                    texts = sentences(chance, min(PAGE, size - start))
                    passages = db.execute(ROWS, texts, HERE)
                    db.many(WORDS, passages)
                    rows = numbers.standard_normal((len(passages), 384)).astype(np.float32)
                    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
                    small = np.rint(unit * 127 / 0.2).clip(-127, 127).astype(np.int8)
                    name, where = "granite-embedding-30m-english", hash_place("team", HERE)
                    db.many(
                        "INSERT INTO vectors VALUES (?, ?, ?, ?, ?, ?::halfvec)",
                        (
                            (key, name, 0.2 / 127, row.tobytes(), where, str(vector.round(4).tolist()))
                            for (key, _), row, vector in zip(passages, small, unit, strict=True)
                        ),
                    )
            with db.transaction():
                db.execute(COUNTS)
        graph_start = time.perf_counter()
        owner.execute(graph[0])
        owner.execute("VACUUM ANALYZE")
        seconds = time.perf_counter() - graph_start
        database_size = owner.execute("SELECT pg_database_size(current_database())").fetchone()
        assert database_size is not None
        count = len(stores) * size
        print(
            f"# {count:,} vectors: graph in {seconds:.0f} s, {database_size[0] / count:,.0f} bytes a memory", flush=True
        )


def measure(engine: str, size: int, mind: Hivemind, server: str = "") -> None:
    """Print a row for recall, push and embedding."""
    chance = random.Random(size)
    questions = [" ".join(chance.sample(text.split(), 7)) for text in sentences(chance, QUESTIONS)]
    texts = sentences(chance, QUESTIONS)
    mind.recall(questions[0])
    for what, works in (
        ("recall", [partial(mind.recall, question) for question in questions]),
        ("push", [partial(mind.remember, text, scope=Scope.TEAM) for text in texts]),
        ("embed", [partial(mind._context.embedder.meaning.embedder.embed, [question]) for question in questions]),  # type: ignore[union-attr]
    ):
        before = cpu(server)
        walls = []
        for work in works:
            start = time.perf_counter()
            work()
            walls.append((time.perf_counter() - start) * 1000)
        cpu_each = (cpu(server) - before) / len(works)
        p50, p95 = quantiles(walls)
        print(f"{engine:>9}{size:>10,}{what:>10}{p50:>9.1f}{p95:>9.1f}{cpu_each:>9.1f}{1000 / p50:>10.0f}", flush=True)


def cpu(server: str) -> float:
    """Return the CPU milliseconds used so far by this process, and by the server's processes if there is one."""
    ours = time.process_time() * 1000
    if not server:
        return ours
    postmaster = (Path(server) / "data" / "postmaster.pid").read_text().split()[0]
    stats = [file.read_text().rpartition(")")[2].split() for file in Path("/proc").glob("[0-9]*/stat")]
    ticks = sum(int(fields[11]) + int(fields[12]) for fields in stats if fields[1] == postmaster)
    return ours + ticks * 1000 / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
