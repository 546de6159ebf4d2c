"""Fill a home with an example project, for the viewer's tests, the pictures of the README, and trying things out.

python dev/demo.py FOLDER        then: cd FOLDER/harbour && HIVEMIND_HOME=FOLDER/home hivemind ui

A small parcel service called harbour: a repository with history, three weeks of sessions of three agents, memories in
every state, code that changed under some of them, recalls and briefs.
"""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

from hivemind import Hivemind
from hivemind.app.observations import observation_event
from hivemind.capture import intake
from hivemind.model.ids import SessionId, derive_id
from hivemind.model.memory import Channel, Kind, Memory, Writer
from hivemind.model.review import Selection
from hivemind.model.scope import Scope
from hivemind.model.session import Observation, ObservationKind
from hivemind.settings import Settings
from hivemind.text.imprint import ErasedTextFilter

FILES = {
    "harbour/auth/tokens.py": '''"""Who may call us: short-lived tokens, signed per tenant."""

import hmac
from datetime import timedelta

LIFETIME = timedelta(minutes=15)


def issue(tenant: str, user: str, key: bytes) -> str:
    """A token for a user of a tenant."""
    claim = f"{tenant}:{user}"
    return f"{claim}:{hmac.digest(key, claim.encode(), 'sha256').hex()}"


def verify(token: str, key: bytes) -> tuple[str, str]:
    """The tenant and user a token was issued for."""
    tenant, user, signature = token.split(":")
    expected = hmac.digest(key, f"{tenant}:{user}".encode(), "sha256").hex()
    if not hmac.compare_digest(signature, expected):
        raise PermissionError("the token was not issued by us")
    return tenant, user
''',
    "harbour/auth/sessions.py": '''"""Sessions of people in the browser."""

from harbour.auth.tokens import issue, verify


class Sessions:
    """Sessions by their cookie."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._open: dict[str, str] = {}

    def begin(self, tenant: str, user: str) -> str:
        """A new session."""
        token = issue(tenant, user, self._key)
        self._open[token] = user
        return token

    def who(self, token: str) -> str:
        """The user of a session."""
        return verify(token, self._key)[1]
''',
    "harbour/parcels/models.py": '''"""Parcels and where they are."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Parcel:
    """Something on its way."""

    id: str
    weight_grams: int
    destination: str


def price(parcel: Parcel, rate_cents: int) -> int:
    """What sending it costs, in cents."""
    return rate_cents * max(1, parcel.weight_grams // 500)
''',
    "harbour/parcels/routes.py": '''"""The HTTP routes for parcels."""

from harbour.auth.sessions import Sessions
from harbour.parcels.models import Parcel, price
from harbour.parcels.queue import enqueue


def create(sessions: Sessions, token: str, parcel: Parcel) -> dict[str, object]:
    """Accept a parcel."""
    user = sessions.who(token)
    enqueue("parcel.created", {"id": parcel.id, "by": user})
    return {"id": parcel.id, "price": price(parcel, 350)}


def track(parcel_id: str) -> dict[str, str]:
    """Where a parcel is."""
    return {"id": parcel_id, "state": "unknown"}
''',
    "harbour/parcels/queue.py": '''"""Work for later: a table in Postgres, taken with SKIP LOCKED."""

PENDING: list[tuple[str, dict[str, str]]] = []


def enqueue(name: str, payload: dict[str, str]) -> None:
    """Leave a job."""
    PENDING.append((name, payload))


def take(limit: int = 10) -> list[tuple[str, dict[str, str]]]:
    """Take jobs, the oldest first."""
    taken, PENDING[:limit] = PENDING[:limit], []
    return taken
''',
    "harbour/notify/mail.py": '''"""Mail to recipients."""


def send(to: str, subject: str, body: str) -> bool:
    """Send one mail; false if the address is on the stop list."""
    return not to.endswith("@example.invalid")
''',
    "harbour/settings.py": '''"""Settings, from the environment."""

import os

DATABASE_URL = os.environ.get("DATABASE_URL", "postgresql:///harbour")
WORKERS = int(os.environ.get("WORKERS", "4"))
''',
    "tests/test_tokens.py": """from harbour.auth.tokens import issue, verify


def test_a_token_names_its_tenant():
    assert verify(issue("acme", "ada", b"k"), b"k") == ("acme", "ada")
""",
    "tests/test_parcels.py": """from harbour.parcels.models import Parcel, price


def test_a_heavy_parcel_costs_more():
    assert price(Parcel("1", 2000, "Kiel"), 350) == 1400
""",
    "deploy/compose.yaml": "services:\n  web:\n    image: harbour\n    ports: ['8080:8080']\n",
    "AGENTS.md": "# For agents\n\n* Run `make test` before every commit.\n* Money is in integer cents, never floats.\n",
    "Makefile": "test:\n\tpython -m pytest -q\n",
    "README.md": "# harbour\n\nParcels, tracked.\n",
}
HISTORY = [
    ("Tokens are signed per tenant", ["harbour/auth/tokens.py", "tests/test_tokens.py"]),
    ("Sessions in the browser", ["harbour/auth/sessions.py", "harbour/auth/tokens.py"]),
    ("Parcels and their prices", ["harbour/parcels/models.py", "harbour/parcels/routes.py", "tests/test_parcels.py"]),
    ("A queue in Postgres", ["harbour/parcels/queue.py", "harbour/parcels/routes.py"]),
    ("Mail to recipients", ["harbour/notify/mail.py", "harbour/settings.py"]),
]
MEMORIES: list[tuple[str, dict[str, object]]] = [
    (
        "Money is kept in integer cents everywhere; floats are rejected in review.",
        {"kind": Kind.CONVENTION, "tags": ["money", "style"]},
    ),
    (
        "Jobs live in a Postgres table and are taken with SKIP LOCKED. Redis was tried and dropped: losing a job costs more than a slow queue.",
        {"kind": Kind.DECISION, "tags": ["queue", "postgres"], "links": ["harbour/parcels/queue.py::take"]},
    ),
    (
        "Tokens are signed with a key per tenant, so that one leaked key is one tenant's problem.",
        {"kind": Kind.DECISION, "tags": ["auth", "security"], "links": ["harbour/auth/tokens.py::issue"]},
    ),
    (
        "`verify` in harbour/auth/tokens.py does not look at expiry; the gateway does.",
        {"kind": Kind.FACT, "tags": ["auth"], "links": ["harbour/auth/tokens.py::verify"]},
    ),
    (
        "Deploys go out on Tuesday and Thursday mornings, never on a Friday.",
        {"kind": Kind.CONVENTION, "tags": ["deploy"], "subject": "deploy-days"},
    ),
    (
        "Prices round down to whole 500 g steps; the tariff sheet of 2025 says so.",
        {
            "kind": Kind.REQUIREMENT,
            "tags": ["money"],
            "subject": "REQ-12",
            "links": ["harbour/parcels/models.py::price"],
        },
    ),
    (
        "To run everything locally: `docker compose -f deploy/compose.yaml up`, then `make seed`.",
        {"kind": Kind.PROCEDURE, "tags": ["setup"]},
    ),
    (
        "The staging database is restored from production every night at 02:00 UTC, with addresses scrambled.",
        {"kind": Kind.FACT, "tags": ["staging", "database"]},
    ),
    (
        "Mail is never sent from tests; the stop list catches @example.invalid.",
        {"kind": Kind.CONVENTION, "tags": ["test", "mail"], "links": ["harbour/notify/mail.py::send"]},
    ),
    (
        "Tracking pages must answer within 300 ms at the 95th percentile.",
        {"kind": Kind.REQUIREMENT, "tags": ["performance"], "subject": "REQ-7"},
    ),
    (
        "Ada prefers small commits with the reason in the body, not a list of files.",
        {"kind": Kind.PREFERENCE, "scope": Scope.USER, "tags": ["git"]},
    ),
    (
        "WORKERS defaults to four; more than eight exhausts the connection pool on staging.",
        {
            "kind": Kind.FACT,
            "tags": ["postgres", "staging"],
            "links": ["harbour/settings.py"],
            "verify_by": "2026-01-01",
        },
    ),
]
HOSTILE = '{{ 7 * 7 }} <script>document.title = "owned"</script><img src=x onerror="alert(1)"> \u202egnp.exe ![x](javascript:alert(1))'
"""A memory that wants to be more than text."""


OpenMind = Callable[..., Hivemind]
"""Opens the store as somebody, somewhere."""
TASKS = (
    "Add a dry run to the tariff import.",
    "Why does the label printer get A5?",
    "Make the tracking page answer in 300 ms.",
    "Rename `who` to something people understand.",
    "Move the nightly restore out of the backup window.",
)


@dataclass
class DemoSession:
    """A session whose steps are recorded one by one."""

    mind: Hivemind
    agent: str
    session: str
    at: datetime
    directory: str
    model: str = ""

    def step(self, kind: ObservationKind, seconds: float = 20, **fields: object) -> str:
        """Record a step of the agent, and return its id, which a source can name."""
        self.at += timedelta(seconds=seconds)
        source_id = derive_id("demo", self.session, self.at.isoformat())
        observation = Observation(
            agent=self.agent, session_id=SessionId(self.session), seen=kind, source_id=source_id, directory=self.directory,
            at=self.at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), model=self.model, **fields,  # type: ignore[arg-type]
        )  # fmt: skip
        context, arrival = self.mind._context, intake.make_arrival(observation, str)
        context.store.record(
            [observation_event(context.factory, arrival, self.mind.repository.id, ErasedTextFilter({}))]
        )
        return source_id


def main(folder: Path) -> None:
    """Fill the folder and print how to look at it."""
    fill(folder)
    print(f"cd {folder}/harbour && HIVEMIND_HOME={folder}/home hivemind ui")


def fill(folder: Path, now: datetime | None = None) -> SimpleNamespace:
    """Make a repository and a home with three weeks of activity, and return what is in them."""
    now = now or datetime.now(UTC)
    root = make_repository(folder / "harbour")
    clock = Clock(now - timedelta(days=24))
    settings = Settings(home=folder / "home", person="ada")

    def open_mind(
        actor: str = "ada", channel: Channel = Channel.PERSON, session: str = "", place: Path = root
    ) -> Hivemind:
        writer = Writer(actor=actor, channel=channel, session_id=session)
        return Hivemind.open(directory=place, settings=settings, writer=writer, clock=clock)

    memories: dict[str, Memory] = {}
    with open_mind() as mind:
        mind.files.sync_instructions()
        for text, more in MEMORIES:
            clock.go(hours=13)
            memories[text[:20]] = mind.remember(text, **more)  # type: ignore[arg-type]
    _record_sessions(open_mind, root, clock, now)
    _add_other_repository(open_mind, folder, clock)
    with open_mind() as mind:
        _decide(mind, memories, clock)
    _change_code(root)
    _ask_questions(open_mind, clock, now)
    with open_mind() as mind:
        clock.now = now - timedelta(minutes=30)
        hostile = mind.remember(HOSTILE, tags=["untrusted"], propose=True)
        mind.maintenance.catch_up()
        return SimpleNamespace(
            root=root, home=settings.home, hostile=hostile.id, memories=memories, clock=clock, open_mind=open_mind
        )


class Clock:
    """A clock that can be set; each reading is a second later."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Return the time."""
        self.now += timedelta(seconds=1)
        return self.now

    def go(self, **span: float) -> None:
        """Let time pass."""
        self.now += timedelta(**span)


def make_repository(root: Path) -> Path:
    """Make a git repository with a few commits."""
    root.mkdir(parents=True)
    _git(root, "init", "-q", "-b", "main")
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    _git(root, "add", "AGENTS.md", "README.md", "deploy")
    _git(root, "commit", "-q", "-m", "Begin")
    for subject, paths in HISTORY:
        for path in paths:
            if _git(root, "ls-files", path):
                (root / path).write_text((root / path).read_text() + "\n")
        _git(root, "add", *paths)
        _git(root, "commit", "-q", "-m", subject)
    for path, text in FILES.items():
        (root / path).write_text(text)
    _git(root, "add", ".")
    _git(root, "commit", "-q", "-m", "Tidy")
    _git(root, "remote", "add", "origin", "git@github.com:acme/harbour.git")
    return root


def _git(root: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    process = subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True, text=True)
    return process.stdout


def _record_sessions(open_mind: OpenMind, root: Path, clock: Clock, now: datetime) -> None:
    with open_mind() as mind:
        session = DemoSession(
            mind,
            "claude-code",
            "5f1c9a52-31d7-4c0e-9a66-0b7d0f2f61aa",
            now - timedelta(days=6),
            str(root),
            "claude-opus-4",
        )
        session.step(ObservationKind.STARTED, text="startup")
        session.step(
            ObservationKind.PROMPT,
            4,
            text="The price of a 700 g parcel is wrong: customers pay for one step, the tariff says two. Please fix it.",
        )
        session.step(
            ObservationKind.REPLY,
            9,
            text="I'll look at how the price is computed, and at the test that should have caught this.",
        )
        session.step(
            ObservationKind.TOOL,
            6,
            tool="Read",
            file=str(root / "harbour/parcels/models.py"),
            output=FILES["harbour/parcels/models.py"],
        )
        session.step(
            ObservationKind.TOOL,
            22,
            tool="Bash",
            command="make test",
            failed=True,
            exit_code=2,
            output="python -m pytest -q\nF.\n=== FAILURES ===\n    assert price(Parcel('1', 700, 'Kiel'), 350) == 700\nE   assert 350 == 700\n1 failed, 1 passed in 0.31s\nmake: *** [Makefile:4: test] Error 1",
        )
        session.step(
            ObservationKind.REPLY,
            14,
            text='`price` divides with `//`, which rounds down. Rounding up fixes it, and the tariff of 2026 does say "each 500 g begun".',
        )
        session.step(
            ObservationKind.TOOL,
            30,
            tool="Edit",
            file=str(root / "harbour/parcels/models.py"),
            diff='@@ -14,5 +14,5 @@\n def price(parcel: Parcel, rate_cents: int) -> int:\n     """What sending it costs, in cents."""\n-    return rate_cents * max(1, parcel.weight_grams // 500)\n+    return rate_cents * max(1, -(-parcel.weight_grams // 500))\n',
            output="ok",
        )
        session.step(
            ObservationKind.TOOL,
            18,
            tool="Bash",
            command="make test",
            exit_code=0,
            output="python -m pytest -q\n..\n2 passed in 0.28s",
        )
        session.step(
            ObservationKind.PROMPT,
            60,
            text="Good. And no, don't use negative floor division, we always use math.ceil for that: people must be able to read it.",
        )
        session.step(
            ObservationKind.TOOL,
            25,
            tool="Edit",
            file=str(root / "harbour/parcels/models.py"),
            diff='@@ -1,4 +1,6 @@\n """Parcels and where they are."""\n \n+from math import ceil\n+\n from dataclasses import dataclass\n@@ -14,5 +16,5 @@\n-    return rate_cents * max(1, -(-parcel.weight_grams // 500))\n+    return rate_cents * max(1, ceil(parcel.weight_grams / 500))\n',
            output="ok",
        )
        session.step(
            ObservationKind.TOOL,
            15,
            tool="Bash",
            command="make test",
            exit_code=0,
            output="python -m pytest -q\n..\n2 passed in 0.27s",
        )
        session.step(
            ObservationKind.REPLY,
            8,
            text="Done: prices now round up to each 500 g begun, with `math.ceil`. We decided to keep the minimum of one step, because the tariff has no free parcels.",
        )
        session.step(ObservationKind.ENDED, 5)
        other = DemoSession(mind, "codex", "01999c0e-codex-7d2e", now - timedelta(days=3), str(root), "gpt-5-codex")
        other.step(ObservationKind.STARTED, text="startup")
        other.step(ObservationKind.PROMPT, 3, text="Workers hang on staging after a while. Find out why.")
        other.step(
            ObservationKind.TOOL,
            12,
            tool="shell",
            command="rg -n WORKERS -g '*.py'",
            exit_code=0,
            output='harbour/settings.py:6:WORKERS = int(os.environ.get("WORKERS", "4"))',
        )
        other.step(
            ObservationKind.TOOL,
            40,
            tool="shell",
            command="psql -c 'select count(*), state from pg_stat_activity group by 2'",
            exit_code=0,
            output=" count |        state\n-------+---------------------\n    62 | idle in transaction\n     4 | active\n(2 rows)",
        )
        other.step(
            ObservationKind.REPLY,
            20,
            text="Sixty-two connections sit idle in a transaction: `take` opens one and never commits when there is no job. I propose to commit in every branch.",
        )
        other.step(ObservationKind.ENDED, 4)
        third = DemoSession(mind, "gemini", "gem-2b77e0", now - timedelta(hours=5), str(root), "gemini-3-pro")
        third.step(ObservationKind.STARTED, text="startup")
        third.step(ObservationKind.PROMPT, 3, text="Write the tracking page's empty state.")
        third.step(ObservationKind.REPLY, 30, text="The page now says where the parcel was last seen, and when.")
        clock.now = now - timedelta(days=2)
        mind.sessions.learn()
    with open_mind("claude-code", Channel.AGENT, "5f1c9a52-31d7-4c0e-9a66-0b7d0f2f61aa") as agent:
        clock.now = now - timedelta(days=6) + timedelta(seconds=20)
        agent.brief()
        clock.go(seconds=6)
        agent.recall("how are parcel prices rounded?")
        agent.remember(
            "Prices round up to each 500 g begun since the tariff of 2026, with math.ceil.",
            kind=Kind.REQUIREMENT,
            tags=["money"],
            subject="REQ-12",
            links=["harbour/parcels/models.py::price"],
        )
    with open_mind("codex", Channel.AGENT, "01999c0e-codex-7d2e") as agent:
        clock.now = now - timedelta(days=3) + timedelta(seconds=5)
        agent.brief()
        clock.go(seconds=60)
        agent.recall("postgres connection pool on staging")
        clock.go(seconds=60)
        agent.remember(
            "`take` must commit when it finds no job, else its connection stays idle in a transaction until the pool is empty.",
            kind=Kind.FIX,
            tags=["queue", "postgres"],
            links=["harbour/parcels/queue.py::take"],
            propose=True,
        )


def _add_other_repository(open_mind: OpenMind, folder: Path, clock: Clock) -> None:
    """Remember something in another repository."""
    place = folder / "tariffs"
    place.mkdir()
    with open_mind(place=place) as mind:
        for text in (
            "Tariffs are published on the first working day of a month.",
            "The CSV from the carrier is latin-1, not UTF-8.",
        ):
            clock.go(hours=2)
            mind.remember(text, kind=Kind.FACT, tags=["tariff"])


def _decide(mind: Hivemind, memories: dict[str, Memory], clock: Clock) -> None:
    """Edit, forget, reject and roll back memories."""
    first = {name: memory.id for name, memory in memories.items()}
    clock.go(hours=1)
    mind.edit(
        first["The staging database"],
        "The staging database is restored from production every night at 03:30 UTC, with addresses and names scrambled.",
        reason="moved after the backup window changed",
    )
    clock.go(hours=3)
    mind.remember(
        "Deploys go out every weekday before noon; Fridays are fine since rollbacks are automatic.",
        kind=Kind.CONVENTION,
        tags=["deploy"],
        subject="deploy-days",
    )
    clock.go(hours=3)
    mind.forget(mind.remember("The API answers on port 9090.", tags=["setup"]).id, reason="never did")
    wrong = mind.remember("Use tabs in YAML files.", kind=Kind.CONVENTION, propose=True)
    mind.reject(wrong.id, reason="YAML forbids tabs")
    with mind.review.batch("import") as batch:
        for text in ("The carrier's sandbox is down on Sundays.", "Labels are A6, 300 dpi."):
            clock.go(minutes=5)
            mind.remember(text, tags=["carrier"], propose=True)
        mind.remember("Every endpoint is rate limited at 5 requests a second.", propose=True)
    name, _ = mind.review.rollback(Selection(batch=batch), reason="imported from the wrong wiki")
    mind.review.undo_rollback(name)


def _change_code(root: Path) -> None:
    """Change code that memories are linked to."""
    models, tokens = root / "harbour/parcels/models.py", root / "harbour/auth/tokens.py"
    models.write_text(
        FILES["harbour/parcels/models.py"]
        .replace("from dataclasses", "from math import ceil\n\nfrom dataclasses")
        .replace("parcel.weight_grams // 500", "ceil(parcel.weight_grams / 500)")
    )
    tokens.write_text(
        FILES["harbour/auth/tokens.py"]
        .replace(
            "def verify(token: str, key: bytes) -> tuple[str, str]:",
            "def verify(token: str, keys: dict[str, bytes], now: float) -> Claim:",
        )
        .replace(
            '    tenant, user, signature = token.split(":")\n',
            '    tenant, user, until, signature = token.split(":")\n    if float(until) < now:\n        raise PermissionError("the token has expired")\n',
        )
        .replace("hmac.digest(key, f", "hmac.digest(keys[tenant], f")
    )
    _git(root, "commit", "-qam", "Tokens expire")


def _ask_questions(open_mind: OpenMind, clock: Clock, now: datetime) -> None:
    """Ask questions for three weeks."""
    questions = (
        "how do we deploy?",
        "does verify check token expiry?",
        "how are jobs taken from the queue?",
        "how is money stored?",
        "staging database restore",
        "run it locally",
        "parcel price rounding",
    )
    for back in range(20, -1, -1):
        agent = ("claude-code", "codex", "gemini", "cursor")[back % 4]
        with open_mind(agent, Channel.AGENT, f"{agent}-{back}") as mind:
            clock.now = now - timedelta(days=back, hours=2)
            session = DemoSession(mind, agent, f"{agent}-{back}", clock.now, mind.repository.root)
            session.step(ObservationKind.STARTED, text="startup")
            session.step(ObservationKind.PROMPT, text=TASKS[back % len(TASKS)])
            session.step(ObservationKind.ENDED, 1800)
            mind.brief()
            for turn in range((back * 7) % 5 + 1):
                clock.go(minutes=9)
                mind.recall(questions[(back + turn) % len(questions)])


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
