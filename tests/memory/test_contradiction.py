"""What cannot both hold is noticed; what merely speaks of the same thing is not."""

import pytest

from hivemind.text.excluded_text import digest_value, normalise
from tests.conflicts import find_conflict


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("API port is 8080", "API port is 9090"),
        ("The API port is 8080.", "the API port is now 9090"),
        ("we use Jest", "we use Vitest, not Jest"),
        ("We use Jest for unit tests", "We use Vitest instead of Jest"),
        ("deploys use Vercel", "deploys moved to Coolify"),
        ("Deploys run on Fridays", "Deploys run on Mondays"),
        ("The default branch is main", "The default branch is trunk"),
        ("Always run migrations before deploys", "Never run migrations before deploys"),
        ("The staging database is shared", "The staging database is not shared"),
        ("Package manager: npm", "Package manager: pnpm"),
        ("Node version is 18.2", "Node version is 20.1"),
        ("Authentication uses Auth0", "Authentication switched to Clerk"),
        ("We deploy to Heroku and use Redis", "We no longer use Redis"),
        ("use tabs in Go files", "do not use tabs in Go files"),
        ("Tests are in Jest", "We use Vitest, not Jest"),
        ("CI: GitHub Actions", "CI: CircleCI"),
        ("Database: Postgres on Neon, migrations in /db/migrations/", "Database: MySQL"),
        ("We use Redis for caching", "We use Memcached for caching"),
        ("The dashboard is written in React", "The dashboard is written in Svelte"),
        ("We use pnpm, not npm", "Use npm for installs"),
        ("The build language is Go", "The build language is Rust"),
        ("Releases happen every two weeks", "Releases happen every Friday"),
        ("We use Yarn as our package manager", "Our package manager is pnpm"),
        ("The endpoint accepts XML", "The endpoint rejects XML"),
        ("Batches have at most 200 items", "Batches have at most 5,000 items"),
        ("Keys are rotated every quarter", "Keys are rotated every month"),
        ("Check stock before dispatch", "Check stock after dispatch"),
        ("The settings live in etcd", "The settings moved from etcd to Consul"),
        ("Agents may push to main", "Agents must never push to main"),
        ("We are on Ubuntu Jammy", "We are on Ubuntu Noble"),
        ("the v1 api is still up", "v1 api has been removed"),
        ("backups run at midnight", "backups run at 3am"),
        ("dev server on port 8000", "dev server is on port 8001 now"),
        ("http client retries 3 times", "http client retries 5 times now"),
        ("docs are built with Sphinx", "docs are built with MkDocs"),
        ("http timeout 10 s", "timeout for http is 15 s"),
        ("Uploads are retried after 5 minutes, until version 6 is out", "Uploads are retried after 9 minutes, for now"),
    ],
)
def test_what_cannot_both_hold_is_noticed(old: str, new: str) -> None:
    assert find_conflict(new, old)
    assert find_conflict(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("we use Jest", "we use Postgres"),
        ("API port is 8080", "Admin port is 9090"),
        ("Tests run in CI on every push", "Tests need a running Redis"),
        ("The API is written in Go", "The API port is 8080"),
        ("Deploys run on Fridays", "Deploys run from the main branch only"),
        ("auth.py validates tokens", "auth.py refreshes tokens after an hour"),
        ("Rate limit is 100 per minute", "Rate limit is enforced by the gateway"),
        ("The cache is stored in Redis", "The cache is cleared on deploy"),
        ("We chose Postgres because of jsonb", "Postgres runs on Neon"),
        ("Do not edit generated files", "Generated files live in gen/"),
        ("Never commit secrets", "Secrets are rotated weekly"),
        ("Build with make", "Build artifacts are in dist"),
        ("same text", "Same  text!"),
        ("Do not write drafts to the plans folder", "The scope is needed to write text files"),
        ("Aliases: Do not add imports from bare aliases", "fix(packaging): add a verified mirror as fallback"),
        ("Skills: `skills/architecture.md`", "Skills: `skills/theme.md`"),
        ("`mise run test:ci` runs the tests here", "`mise run test:integration` runs the tests here"),
        ("Startup shape: `.zshenv`", "Startup shape: `config.zsh`"),
        ("fix: count remote runs right. Ticket: av-12", "fix: keep the details of a run. Ticket: av-77"),
        ("We use pnpm, not npm", "`npm ERR! ERESOLVE`: delete node_modules and use pnpm install --frozen-lockfile"),
        ("It now finds the real runner instead of just the first", "Run `just` without arguments for all commands"),
        ("Deferring work: **When to use:**", "Deferring work: **When NOT to use:**"),
        ("Staging runs on port 8080", "Production runs on port 9090"),
        ("Q: Read a file\nA: Use open", "Q: Write a file\nA: Use dump"),
        ("Is the port 8080?", "The port is 9090"),
        ("Step 1: write the test", "Step 2: write the code"),
        ("Server 1 is down", "Server 2 is down"),
        ("The key of room 7 is red", "The key of room 8 is red"),
        ("fact number 3", "fact number 4"),
        ("The importer is slow", "The importer is flaky"),
        ("Lint runs in CI", "Lint runs in the editor"),
        ("Weigh the parcel before dispatch", "Print the label after dispatch"),
        ("Ana owns auth", "Bo owns billing"),
        ("The EU cluster is on Kubernetes 1.27", "The US cluster is on Kubernetes 1.29"),
        ("the gateway calls auth", "the gateway calls billing"),
        ("users can upload png", "users can upload svg"),
        ("vpn is needed for ssh", "vpn is needed for kibana"),
        ("Bob owns the payments service", "Bob owns the search service"),
        ("The job caches images, until version 2 is out", "The page stores unknown fields, until version 6 is out"),
        ("The importer skips drafts, since the outage in May", "The cache keeps uploads, since the outage in June"),
        (
            "The release notes use one file per change so that nobody has to merge a list that everybody edits",
            "The release notes use a generated page now, which the pipeline publishes whenever a tag is pushed",
        ),
    ],
)
def test_what_can_both_hold_is_left_alone(old: str, new: str) -> None:
    assert find_conflict(new, old) is None
    assert find_conflict(old, new) is None


@pytest.mark.parametrize(
    ("general", "particular"),
    [
        ("Do not use raw SQL", "Use raw SQL in migrations"),
        ("Deploys need approval", "Emergency deploys need no approval"),
    ],
)
def test_an_exception_to_a_rule_does_not_contradict_it(general: str, particular: str) -> None:
    assert find_conflict(particular, general) is None


def test_a_rule_that_forbids_what_was_advised_before_contradicts_the_advice() -> None:
    assert find_conflict("Never use moment", "Use moment for dates")


def test_what_a_service_uses_beside_something_else_is_only_a_possible_conflict() -> None:
    conflict = find_conflict("The API uses Postgres", "The API uses Redis")

    assert conflict is not None
    assert not conflict.is_certain


@pytest.mark.parametrize(
    "disguise",
    [
        "deploys run on fridays",
        "Deploys  run on\nFridays.",
        "D\u0435pl\u043eys run on Frid\u0430ys",
        "De\u200bploys run on Fri\u00addays",
        "\uff24eploys run on Fridays!",
        "Déploys run on Frïdays",
        "“Deploys run on Fridays”",
    ],
)
def test_a_value_is_the_same_in_every_disguise(disguise: str) -> None:
    assert digest_value(disguise, b"secret") == digest_value("Deploys run on Fridays", b"secret")


def test_different_values_stay_different() -> None:
    texts = ["Coverage > 80%", "Coverage < 80%", "we use C", "we use C++", "we use C#", "port 8080", "port 80 80"]

    assert len({normalise(text) for text in texts}) == len(texts)
    assert digest_value("x", b"one") != digest_value("x", b"two")
