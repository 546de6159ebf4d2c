"""Measure recalls of a hub with many teams of uneven size, beside plain SQL on the same data.

    python -m lab.benchmarks.hub [--memories 100000] [--teams 20] [--clients 8] [--devices 24] [--seconds 20]
        [--server FOLDER | --database URL] [--save]

Starts its own Postgres and a hub in a process of its own, and asks it over HTTP. The n-th team has 1/n as many memories
as the first. Texts and vectors are generated and loaded in bulk; the vectors are as near to each other as those of real
notes. Client, hub and Postgres share the machine, so the CPU time of each is printed beside the elapsed time.

With a million memories (half an hour, 8 GB of disk): python -m lab.benchmarks.hub --memories 1000000

To fill once and measure several times, start a Postgres and name the folder of its socket with --server; the database
``measured`` stays there. ``--database URL`` fills and measures an existing empty database as its owner (and, to load in
bulk, as ``postgres``), so that the address of a Citus coordinator gives the row for Citus. The restart is measured with
the benchmark's own Postgres alone.
"""

import argparse
import http.client
import multiprocessing
import os
import pickle
import random
import socket
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import uvicorn
from numpy.typing import NDArray
from psycopg.conninfo import make_conninfo

from hivemind.hub.access import Limits
from hivemind.hub.host import Host
from hivemind.hub.http import create_application
from hivemind.hub.search import WORD
from hivemind.hub.store import HubDatabase
from hivemind.model.recall import SHIPPED_MODEL
from hivemind.model.scope import Visibility
from hivemind.model.team import Role
from hivemind.settings import Settings
from hivemind.store.projections.vectors import hash_place
from hivemind.text.thesaurus import expand_text
from lab.benchmarks import results
from lab.benchmarks.corpus import sentences
from lab.benchmarks.hub_pressure import Device, make_devices, post, push_all
from lab.benchmarks.hub_restart import measure_restart
from lab.benchmarks.measure import quantiles
from tests.postgres import FAST_SETTINGS, OWNER, database, serving

DATABASE = "measured"
HERE = "remote:git.example/acme/api"
ENGLISH = "the "
"""With such a word a text counts as English; others are also indexed by grams, which the invented words share."""
PAGE, DIMENSION = 5_000, 384
ENTRIES_EACH = 400
"""Of a device that pushes."""
BRANCHES, SPECTRUM_DECAY = 5, 37
MIDDLE_SHARE, TOPIC_SHARE, NOTE_SHARE = 0.5, 0.58, 0.64
"""How far notes are from each other; see ``TopicTree``."""
QUESTIONS, SCALE = 200, 0.3 / 127
SERVER = (
    "shared_buffers=2GB",
    "max_wal_size=8GB",
    "effective_cache_size=4GB",
    # Enough for the largest team's graph at a million memories.
    "maintenance_work_mem=2GB",
    # The CPU time of one process is easier to compare, and others may use the machine.
    "max_parallel_maintenance_workers=0",
)
MEMORIES = """
INSERT INTO memories (id, kind, bucket, text, scope, repo, owner, channel, trust, status, recorded_at, revised_at,
    tags, sources, links, anchors, subject, confidence, valid_from, valid_to, expires_at, verify_by,
    last_verified_at, supersedes, contradicts, derived_from, batch, version, agent, session_id, file_path)
SELECT md5(text || n), 'fact', 'project', text, 'team', ?, 'ada', 'person', 3, 'active', '2026-03-01T12:00:00.000000Z',
    '2026-03-01T12:00:00.000000Z', '[]', '[]', '[]', '[]', '', 1, '', '', '', '', '', '[]', '[]', '[]', '', 1, '',
    '', '' FROM unnest(?::text[]) WITH ORDINALITY AS t (text, n) RETURNING key, text
"""
PASSAGES = """
INSERT INTO passages (memory, ordinal, since, until)
SELECT key, 0, '2026-03-01T12:00:00.000000Z', '' FROM unnest(?::bigint[]) AS t (key) RETURNING key, memory
"""
WORDS = """
INSERT INTO words (rowid, text, context, around, stems)
SELECT key, text, '', '', setweight(to_tsvector('hivemind.words', text), 'A')
    || setweight(to_tsvector('hivemind.words', parts), 'B') || array_to_tsvector(ARRAY[team()::text])
FROM unnest(?::bigint[], ?::text[], ?::text[]) AS t (key, text, parts) RETURNING rowid
"""
COUNTS = (
    "INSERT INTO word_counts (team_id, term, doc) SELECT team(), word, ndoc FROM ts_stat('SELECT stems FROM words')"
    " RETURNING doc"
)
"""Without RETURNING Citus would use COPY, which is not possible under row-level security."""
VECTORS = (
    "COPY hivemind.vectors (passage, model, scale, numbers, place, embedding, team_id) FROM STDIN WITH (FORMAT binary)"
)
WORD_INDEX = "SELECT pg_get_indexdef('hivemind.words_stems'::regclass)"
EXACT = "SELECT passage FROM vectors WHERE team_id = %s ORDER BY (embedding <=> %s::halfvec) + 0 LIMIT %s"
BY_WORDS = (
    "SELECT w.rowid, w.text FROM words w WHERE w.team_id = %s AND w.stems @@ %s::tsquery"
    " ORDER BY ts_rank(w.stems, %s::tsquery) DESC LIMIT 100"
)
"""What somebody would write who has the tables and no hub: no visibility, no history, no receipt."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class TopicTree:
    """Topics of a team within wider topics, around which its notes lie.

    The shares are fitted to the shipped model's vectors of 1,399 paragraphs and commit messages of this repository.
    Their distances to the nearest, the 20th, the 100th and the median text are .80, .97, 1.04 and 1.17, and their local
    intrinsic dimension is 21; here these are .83, .96, 1.04, 1.19 and 22. Independent noise around topics would have a
    dimension of 46, and no graph finds the neighbours of such vectors.
    """

    middle: Floats
    levels: Sequence[Floats]

    @classmethod
    def grow(cls, numbers: np.random.Generator, size: int) -> "TopicTree":
        """Make the topics of a team with some number of notes."""
        counts = [size // BRANCHES]
        while counts[-1] > BRANCHES:
            counts.append(counts[-1] // BRANCHES)
        return cls(middle=draw_points(numbers, 1), levels=[draw_points(numbers, count + 1) for count in counts])

    def draw(self, numbers: np.random.Generator, count: int) -> Floats:
        """Return the unit vectors of notes, each about a topic of the lowest level."""
        topics = numbers.integers(0, len(self.levels[0]), count)
        rows = MIDDLE_SHARE * self.middle + NOTE_SHARE * draw_points(numbers, count)
        for number, level in enumerate(self.levels):
            rows += TOPIC_SHARE / len(self.levels) ** 0.5 * level[topics // BRANCHES**number]
        unit: Floats = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit


@dataclass(frozen=True, kw_only=True)
class Team:
    """A filled team, a token for it, and questions in words and as vectors."""

    id: str
    token: str
    size: int
    questions: Sequence[str]
    vectors: Floats


def main() -> None:
    """Fill a database, then measure completeness, one client, many clients, plain SQL and a restart."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=100_000, help="in all teams together")
    parser.add_argument("--teams", type=int, default=20)
    parser.add_argument("--clients", type=int, default=8, help="that ask at the same time")
    parser.add_argument("--devices", type=int, default=24, help="of one team that push at once, while others ask")
    parser.add_argument("--seconds", type=float, default=20, help="that each measurement takes")
    parser.add_argument("--server", default="", help="the folder of a running server's socket, where data may stay")
    parser.add_argument("--database", default="", help="the address of an empty database, as its owner")
    parser.add_argument("--save", action="store_true", help="save the figures to lab/evals/results")
    options = parser.parse_args()
    is_own = not (options.server or options.database)
    with serving((*FAST_SETTINGS, *SERVER)) if is_own else nullcontext(options.server) as folder:
        address = options.database or f"postgresql://{OWNER}@/{DATABASE}?host={folder}"
        teams = load_or_fill(folder, address, options)
        superuser = connect_as_superuser(address)
        with HubDatabase.open(address) as hub:
            figures: dict[str, Any] = {"found of the 100 nearest": measure_completeness(hub, superuser, teams)}
            devices = make_devices(hub, options.devices, ENTRIES_EACH)
        service, port = start_hub(address)
        try:
            meter = CpuMeter(service=service.pid or 0, postmasters=list_postmasters(superuser))
            print(f"{'':>22}{'p50 ms':>9}{'p95 ms':>9}{'a second':>10}{'hub CPU':>9}{'PG CPU':>9}")
            for clients in (1, options.clients):
                ask_hub(port, teams, clients, options.seconds / 4, None)
                figures[f"clients: {clients}"] = ask_hub(port, teams, clients, options.seconds, meter)
            figures["noisy neighbour"] = measure_noise(port, teams, devices, options.seconds, meter)
            figures["plain SQL"] = measure_sql(superuser, teams, options.seconds, meter)
            if is_own:
                questions = [(team.token, team.questions[0]) for team in teams[:4]]
                figures["restart"] = measure_restart(port, folder, questions)
        finally:
            service.terminate()
            service.join()
        if options.save:
            data = f"{sum(team.size for team in teams):,} generated memories in {len(teams)} teams"
            results.save("hub", data=data, configuration="client, hub and Postgres on one machine", figures=figures)


def connect_as_superuser(address: str) -> "psycopg.Connection[Any]":
    """Connect to the measured database without row-level security."""
    superuser = psycopg.connect(make_conninfo(address, user="postgres"), autocommit=True)
    superuser.execute("SET search_path = hivemind, public")
    return superuser


def load_or_fill(folder: str, address: str, options: argparse.Namespace) -> list[Team]:
    """Return the teams of an earlier run on the server in a folder, or fill a new or the given database."""
    # Tokens and questions cannot be read back from the database.
    file = Path(folder) / "measured_teams.pickle"
    if folder and file.exists():
        teams: list[Team] = pickle.loads(file.read_bytes())
        return teams
    if folder:
        database(folder, DATABASE)
    superuser = connect_as_superuser(address)
    with HubDatabase.open(address) as hub:
        teams = fill(hub, superuser, options.memories, options.teams)
    if folder:
        file.write_bytes(pickle.dumps(teams))
    return teams


def fill(hub: HubDatabase, superuser: "psycopg.Connection[Any]", memories: int, count: int) -> list[Team]:
    """Insert rows as remembering would, but without the log, and build the graphs of large teams."""
    chance, numbers, start = random.Random(3), np.random.default_rng(5), time.perf_counter()
    shares = [1 / (place + 1) for place in range(count)]
    host = Host(hub, Settings(home=Path(), person="hub"))
    # One index built at the end takes a fifth of the time of as many insertions.
    word_index = str(read_value(superuser, WORD_INDEX))
    superuser.execute("DROP INDEX hivemind.words_stems")
    teams = []
    for place, share in enumerate(shares):
        size = max(100, round(memories * share / sum(shares)))
        host.create_team(f"team {place}")
        team_id = host.find_owner(f"team {place}").team
        with host.open_mind(host.find_owner(f"team {place}")) as mind:
            token = mind.admin.tokens.issue(name="asker", role=Role.READER)
        topics = TopicTree.grow(numbers, size)
        texts: list[str] = []
        with hub.open_team(team_id) as store:
            for first in range(0, size, PAGE):
                texts = [ENGLISH + text for text in sentences(chance, min(PAGE, size - first))]
                with store.db.transaction():
                    texts_by_memory: dict[int, str] = dict(store.db.execute(MEMORIES, HERE, texts))
                    passages = store.db.execute(PASSAGES, list(texts_by_memory))
                    keys, stored_texts = [row[0] for row in passages], [texts_by_memory[row[1]] for row in passages]
                    parts = [" ".join(WORD.findall(expand_text(text))) for text in stored_texts]
                    store.db.execute(WORDS, keys, stored_texts, parts)
                # COPY is not possible under row-level security.
                with superuser.cursor().copy(VECTORS) as copy:
                    copy.write(pack_vectors(team_id, keys, topics.draw(numbers, len(keys))))
            with store.db.transaction():
                store.db.execute(COUNTS)
                store.db.execute("UPDATE teams SET model = ?", SHIPPED_MODEL)
        questions = [ENGLISH + " ".join(chance.sample(text.split(), 7)) for text in texts[:QUESTIONS]]
        vectors = topics.draw(numbers, 50)
        teams.append(Team(id=team_id, token=token, size=size, questions=questions, vectors=vectors))
    superuser.execute(word_index)  # type: ignore[arg-type, unused-ignore]
    filled = time.perf_counter()
    for state in hub.list_teams():
        hub.build_graph(state, SHIPPED_MODEL, DIMENSION)
    superuser.execute("VACUUM ANALYZE")
    print(
        f"# {memories:,} memories in {count} teams of {teams[-1].size:,} to {teams[0].size:,}:"
        f" filled in {filled - start:.0f} s, graphs in {time.perf_counter() - filled:.0f} s,"
        f" {read_value(superuser, 'SELECT pg_database_size(current_database())') / memories:,.0f} bytes a memory",
        flush=True,
    )
    return teams


def read_value(connection: "psycopg.Connection[Any]", sql: str) -> Any:
    """Return the first value of a statement's first row."""
    row = connection.execute(sql).fetchone()  # type: ignore[arg-type, unused-ignore]
    return row[0] if row else None


def pack_vectors(team: str, passages: Sequence[int], rows: Floats) -> bytes:
    """Return rows of the table ``vectors`` in the binary format of COPY, where each value follows its length."""
    model, team_bytes = SHIPPED_MODEL.encode(), UUID(team).bytes
    row_type = np.dtype(
        [
            ("columns", ">i2"),
            ("passage_length", ">i4"), ("passage", ">i8"),
            ("model_length", ">i4"), ("model", f"S{len(model)}"),
            ("scale_length", ">i4"), ("scale", ">f8"),
            ("numbers_length", ">i4"), ("numbers", "i1", DIMENSION),
            ("place_length", ">i4"), ("place", ">i8"),
            ("embedding_length", ">i4"), ("dimensions", ">i2"), ("unused", ">i2"), ("embedding", ">f2", DIMENSION),
            ("team_length", ">i4"), ("team", "V16"),
        ]
    )  # fmt: skip
    table = np.zeros(len(passages), row_type)
    table["columns"] = 7
    for name in ("passage", "scale", "place"):
        table[f"{name}_length"] = 8
    table["model_length"], table["numbers_length"], table["team_length"] = len(model), DIMENSION, 16
    table["embedding_length"], table["dimensions"] = 4 + 2 * DIMENSION, DIMENSION
    table["passage"], table["model"], table["scale"] = passages, model, SCALE
    table["numbers"] = np.rint(rows / SCALE).clip(-127, 127)
    table["place"], table["embedding"] = hash_place("team", HERE), rows
    table["team"] = np.void(team_bytes)
    return b"PGCOPY\n\xff\r\n\0" + bytes(8) + table.tobytes() + b"\xff\xff"


def draw_points(numbers: np.random.Generator, count: int) -> Floats:
    """Return random vectors of length one on average, most of whose variance is in few directions."""
    spectrum = np.exp(-np.arange(DIMENSION) / (2 * SPECTRUM_DECAY))
    points: Floats = numbers.standard_normal((count, DIMENSION), np.float32)
    points *= (spectrum / np.linalg.norm(spectrum)).astype(np.float32)
    return points


def format_vector(row: Floats) -> str:
    """Return a vector as Postgres reads it."""
    return "[" + ",".join(f"{number:.4g}" for number in row) + "]"


def measure_completeness(
    hub: HubDatabase, superuser: "psycopg.Connection[Any]", teams: Sequence[Team]
) -> dict[str, float]:
    """Print and return the share of the 100 nearest passages that the hub finds, for each team."""
    shares: dict[str, float] = {}
    lowest = 1.0
    for team in teams:
        with hub.open_team(team.id) as store:
            found_shares = []
            for vector in team.vectors:
                exact = superuser.execute(EXACT, [team.id, format_vector(vector), 100]).fetchall()
                sight = Visibility(repos=(), everywhere=True)
                likely = store.db.index.find_likely(SHIPPED_MODEL, vector, sight, 200)
                found_shares.append(len({row[0] for row in exact} & set(likely)) / len(exact))
        shares[f"{team.size:,}"] = float(np.mean(found_shares))
        lowest = min(lowest, *found_shares)
    worst = min(shares, key=lambda size: shares[size])
    print(
        f"# found of the 100 nearest: {np.mean(list(shares.values())):.3f} on average over teams, {shares[worst]:.3f}"
        f" in the worst team ({worst} memories), {lowest:.2f} for the worst question",
        flush=True,
    )
    return shares


def start_hub(address: str) -> tuple[Any, int]:
    """Start a hub in a process of its own and return it with its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    # Here, because the child imports NumPy before its first line; threads that wait busily would take most of the CPU.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(address, port), daemon=True)
    process.start()
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.1)
        else:
            return process, port


def serve(address: str, port: int) -> None:
    """Run a hub without limits of requests, which one client would exceed."""
    host = Host.open(address, limits=Limits(per_token=1_000_000_000))
    uvicorn.run(create_application(host, f"http://127.0.0.1:{port}"), port=port, log_level="warning")


@dataclass(frozen=True, kw_only=True)
class CpuMeter:
    """Reads the CPU time of the hub and of all processes of Postgres."""

    service: int
    postmasters: Sequence[str]

    def read(self) -> tuple[float, float]:
        """Return the CPU milliseconds of both so far."""
        stats = [_read_stat(file) for file in Path("/proc").glob("[0-9]*/stat")]
        # Sessions that have ended are counted with their parent.
        server = sum(int(fields[11]) + int(fields[12]) for fields in stats if fields and fields[1] in self.postmasters)
        for postmaster in self.postmasters:
            own = _read_stat(Path(f"/proc/{postmaster}/stat"))
            server += int(own[13]) + int(own[14]) if own else 0
        hub = _read_stat(Path(f"/proc/{self.service}/stat"))
        tick = 1000 / os.sysconf("SC_CLK_TCK")
        return (int(hub[11]) + int(hub[12])) * tick if hub else 0.0, server * tick


def list_postmasters(superuser: "psycopg.Connection[Any]") -> list[str]:
    """Return the process numbers of the database's servers on this machine; Citus has several."""
    has_citus = read_value(superuser, "SELECT count(*) FROM pg_extension WHERE extname = 'citus'")
    every_server = "SELECT result FROM run_command_on_all_nodes('SHOW data_directory')"
    folders = superuser.execute(every_server if has_citus else "SHOW data_directory").fetchall()
    files = [Path(folder) / "postmaster.pid" for (folder,) in folders]
    return [file.read_text().split()[0] for file in files if file.exists()]


def _read_stat(file: Path) -> list[str]:
    try:
        return file.read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def ask_hub(port: int, teams: Sequence[Team], clients: int, seconds: float, meter: CpuMeter | None) -> dict[str, float]:
    """Ask the hub from some clients at once for a while; with a meter, print and return what it took."""
    before, start = meter.read() if meter else (0.0, 0.0), time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        times = [
            took
            for batch in pool.map(lambda client: ask(port, teams, client, seconds), range(clients))
            for took in batch
        ]
    if meter is None:
        return {}
    return print_row(f"hub, {clients} clients", times, time.perf_counter() - start, before, meter.read())


def ask(port: int, teams: Sequence[Team], client: int, seconds: float) -> list[float]:
    """Ask questions of all teams in turn for some seconds; return how many milliseconds each took."""
    connection, times = http.client.HTTPConnection("127.0.0.1", port), []
    end = time.perf_counter() + seconds
    for team, question in list_questions(teams, client):
        start = time.perf_counter()
        recall = {"query": question, "repo": "git.example/acme/api"}
        status, body = post(connection, team.token, "/v1/recall", recall)
        assert status == 200, body
        times.append((time.perf_counter() - start) * 1000)
        if time.perf_counter() > end:
            break
    return times


def measure_noise(
    port: int, teams: Sequence[Team], devices: Sequence[Device], seconds: float, meter: CpuMeter
) -> dict[str, float]:
    """Print and return how long two clients wait while all devices of another team push, beside a quiet time."""
    quiet = ask_hub(port, teams, 2, seconds / 2, meter)
    before, start = meter.read(), time.perf_counter()
    with ThreadPoolExecutor(3) as pool:
        pushing = pool.submit(push_all, port, devices)

        def ask_meanwhile(client: int) -> list[float]:
            times: list[float] = []
            while not pushing.done():
                times += ask(port, teams, client, 0.2)
            return times

        times = [took for batch in pool.map(ask_meanwhile, range(2)) for took in batch]
    noisy = print_row(f"{len(devices)} devices push", times, time.perf_counter() - start, before, meter.read())
    entries = sum(len(device.entries) for device in devices)
    rate, ratio = entries / pushing.result(), noisy["p95 ms"] / quiet["p95 ms"]
    print(f"# {rate:,.0f} entries a second were pushed; p95 of the others was {ratio:.2f} times its quiet value")
    return noisy | {"entries a second": rate, "p95 by quiet p95": ratio}


def list_questions(teams: Sequence[Team], seed: int) -> Iterator[tuple[Team, str]]:
    """Yield teams in a random order again and again, each with one of its questions."""
    chance = random.Random(seed)
    for team in cycle(chance.sample(teams, len(teams))):
        yield team, chance.choice(team.questions)


def measure_sql(
    superuser: "psycopg.Connection[Any]", teams: Sequence[Team], seconds: float, meter: CpuMeter
) -> dict[str, float]:
    """Search by words and by vectors in plain SQL, one client."""
    times: list[float] = []
    before, start = meter.read(), time.perf_counter()
    for team, question in list_questions(teams, 1):
        begun = time.perf_counter()
        tsquery = " | ".join(f"'{word}'" for word in question.split())
        superuser.execute(BY_WORDS, [team.id, tsquery, tsquery]).fetchall()
        superuser.execute(EXACT, [team.id, format_vector(team.vectors[len(times) % 50]), 100]).fetchall()
        times.append((time.perf_counter() - begun) * 1000)
        if time.perf_counter() - start > seconds:
            break
    return print_row("plain SQL, 1 client", times, time.perf_counter() - start, before, meter.read())


def print_row(
    name: str, times: list[float], elapsed: float, before: tuple[float, float], after: tuple[float, float]
) -> dict[str, float]:
    """Print and return times and CPU per question."""
    p50, p95 = quantiles(times)
    hub, server = ((end - begin) / len(times) for begin, end in zip(before, after, strict=True))
    rate = len(times) / elapsed
    print(f"{name:>22}{p50:>9.1f}{p95:>9.1f}{rate:>10.1f}{hub:>9.1f}{server:>9.1f}", flush=True)
    return {"p50 ms": p50, "p95 ms": p95, "a second": rate, "hub CPU ms": hub, "Postgres CPU ms": server}


if __name__ == "__main__":
    main()
