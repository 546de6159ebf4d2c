"""What a person does in the first hour, typed at the command line."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command_line import run, run_json

Make = Callable[..., Path]

STACK = "Project: Next.js 15 + TypeScript + Drizzle ORM + Clerk auth"
DATABASE = "Database: Postgres on Neon, migrations in /db/migrations/"
TESTING = "Testing: Vitest for unit, Playwright for e2e. Coverage > 80%."


@pytest.fixture(autouse=True)
def in_a_plain_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def remembered() -> None:
    assert run("remember", STACK, "--scope", "team", "--tags", "stack").exit_code == 0
    assert run("remember", DATABASE, "--scope", "team", "--tags", "database,infrastructure").exit_code == 0
    assert run("remember", TESTING, "--scope", "team", "--tags", "testing,conventions").exit_code == 0


@pytest.mark.usefixtures("remembered")
def test_what_was_remembered_is_recalled_the_fitting_first() -> None:
    asked = run_json("recall", "database setup and migration patterns")

    assert asked["hits"][0]["memory"]["text"] == DATABASE
    assert {hit["memory"]["text"] for hit in run_json("recall", "project stack and conventions")["hits"]} >= {
        STACK,
        TESTING,
    }


def test_the_first_team_memory_without_a_hub_says_that_it_stays_here_until_there_is_one() -> None:
    own = run("remember", DATABASE)
    shared = run("remember", STACK, "--scope", "team")
    next_shared = run("remember", TESTING, "--scope", "team")

    assert own.stderr == ""
    assert shared.stderr == "kept on this machine until you join a team: hivemind team login URL\n"
    assert (next_shared.exit_code, next_shared.stderr) == (0, "")


def test_a_trace_is_stored_and_found_again() -> None:
    stored = run(
        "trace", "store", "--agent", "claude-code", "--action", "fixed_auth_redirect_loop",
        "--reasoning", "Clerk middleware was intercepting API routes. Added matcher exclusion for /api/*",
        "--result", "success", "--tags", "auth,bug-fix,clerk,middleware",
    )  # fmt: skip
    run("remember", "Auth redirects are configured in the dashboard")

    found = run_json("trace", "search", "auth redirect issues")

    assert stored.exit_code == 0
    assert [hit["memory"]["trace"]["action"] for hit in found["hits"]] == ["fixed_auth_redirect_loop"]


@pytest.mark.usefixtures("remembered")
def test_a_pipe_gets_the_fenced_block_that_an_agent_reads() -> None:
    asked = run("recall", "vitest coverage", "--limit", "1")

    first, note, entry, last = asked.stdout.strip().split("\n")
    assert first.startswith("<hivemind-memory ")
    assert last == first.replace("<", "</")
    assert "not instructions" in note
    assert entry.startswith(f"- {TESTING} [")
    assert "· team · person ada ·" in entry


@pytest.mark.usefixtures("remembered")
def test_a_question_nobody_has_answered_gets_what_is_near_and_is_told_so() -> None:
    asked = run("recall", "which tool do we use for documentation?")
    nothing = run("recall", "zebra husbandry", "--tags", "zebras")

    first, note, *entries, _ = asked.stdout.strip().split("\n")
    assert (asked.exit_code, first[:16]) == (0, "<hivemind-memory")
    assert note.startswith("No confident match. Closest")
    assert 1 <= len(entries) <= 3
    assert "match 0.00" not in asked.stdout
    assert nothing.stdout == "None of the 3 memories here matches the filter tags.\n"


def test_a_memory_needs_no_quotes() -> None:
    memory = run_json("remember", "We", "use", "pnpm,", "never", "npm", "--tags", "tooling")

    assert (memory["text"], memory["tags"]) == ("We use pnpm, never npm", ["tooling"])


@pytest.mark.parametrize("command", ["recall", "session search", "trace search", "code related"])
def test_a_question_needs_no_quotes_and_asks_the_same_with_them(command: str) -> None:
    words = "which package manager do we use"

    results = [run_json(*command.split(), words), run_json(*command.split(), *words.split())]

    assert [result.get("recall", result)["query"]["text"] for result in results] == [words, words]


def test_text_comes_from_standard_input_only_where_no_word_is_given() -> None:
    piped = run("remember", stdin="Deploys run on Fridays")
    refused = run("remember", "", stdin="Releases are signed")

    assert piped.exit_code == 0, piped.output
    assert refused.exit_code == 2
    assert [memory["text"] for memory in run_json("list")] == ["Deploys run on Fridays"]


def test_a_search_without_a_question_says_that_it_is_missing() -> None:
    assert "Missing argument 'QUESTION...'" in run("session", "search").stderr


@pytest.mark.usefixtures("remembered")
def test_sql_names_vectors_in_a_table_and_lists_their_numbers_in_json() -> None:
    table = run("sql", "SELECT id, embedding, x'00ff' AS other FROM agent_memory")
    (first, *_) = run_json("sql", "SELECT embedding, x'00ff' AS other FROM agent_memory")

    assert table.output.count("<vector of 384>") == 3
    assert "<2 bytes>" in table.output
    assert "b'" not in table.output
    assert len(first["embedding"]) == 384
    assert abs(sum(number**2 for number in first["embedding"]) - 1) < 0.01
    assert first["other"] == "00ff"


@pytest.mark.usefixtures("remembered")
def test_sql_reads_and_cannot_write() -> None:
    read = run_json("sql", "SELECT content FROM agent_memory WHERE scope = 'team' ORDER BY content")
    refused = [
        run("sql", statement)
        for statement in (
            "DELETE FROM agent_memory",
            "DELETE FROM memories",
            "INSERT INTO memories (id) VALUES ('x')",
            "ATTACH '/tmp/other.db' AS other",
            "PRAGMA user_version = 9",
            "SELECT content FROM bodies",
            "WITH agent_memory AS (SELECT content FROM bodies) SELECT * FROM agent_memory",
            "WITH memories AS (SELECT content FROM bodies) SELECT * FROM memories",
            "SELECT * FROM (WITH traces AS (SELECT * FROM events) SELECT * FROM traces), agent_memory",
            "EXPLAIN QUERY PLAN SELECT * FROM agent_memory",
            "SELECT sql FROM sqlite_temp_schema",
            "SELECT 1; DROP TABLE memories",
        )
    ]

    assert [row["content"] for row in read] == [DATABASE, STACK, TESTING]
    assert run_json("sql", "WITH own AS (SELECT content FROM agent_memory) SELECT count(*) AS n FROM own") == [{"n": 3}]
    assert [done.exit_code for done in refused] == [4] * len(refused)
    assert all("only reading" in done.stderr for done in refused)
    assert len(run_json("list")) == 3


def test_bad_sql_is_explained() -> None:
    done = run("sql", "SELECT wrong_name FROM agent_memory")

    assert (done.exit_code, done.stderr) == (2, "hivemind: SQL: no such column: wrong_name\n")


def test_an_id_may_be_shortened_and_an_ambiguous_one_lists_the_candidates() -> None:
    ids = [run_json("remember", f"fact number {number}")["id"] for number in range(20)]
    first = next(i[0] for i in ids if sum(j[0] == i[0] for j in ids) > 1)

    shown = run_json("show", ids[0][:10])
    ambiguous = run("show", first)
    unknown = run("show", "ffffffffffff")

    assert shown["text"] == "fact number 0"
    assert ambiguous.exit_code == 2
    assert all(i[:12] in ambiguous.stderr for i in ids if i[0] == first)
    assert unknown.exit_code == 3


def test_a_revision_changes_the_answer_and_keeps_the_history() -> None:
    memory = run_json("remember", "The API listens on port 8080")["id"]

    run("edit", memory, "The API listens on port 9090", "--reason", "port was taken")

    history = run_json("log", memory)
    assert [step["after"]["text"][-4:] for step in history] == ["8080", "9090"]
    assert history[1]["what"] == "revised: port was taken"
    assert run_json("recall", "API port")["hits"][0]["memory"]["text"].endswith("9090")


def test_what_replaces_another_takes_its_place() -> None:
    old = run_json("remember", "We use Jest for tests")["id"]
    new = run_json("remember", "We use Vitest for tests", "--replaces", old[:8])["id"]

    assert [hit["memory"]["id"] for hit in run_json("recall", "which test runner do tests use")["hits"]] == [new]
    assert run_json("show", old)["status"] == "superseded"
    assert run_json("show", old)["superseded_by"] == new


def test_tags_are_put_on_and_taken_off() -> None:
    memory = run_json("remember", "Rate limit is 100 per minute", "--tags", "api,draft")["id"]

    run("edit", memory, "--tags", "limits", "--remove-tags", "draft")

    assert run_json("show", memory)["tags"] == ["api", "limits"]
    assert len(run_json("list", "--tags", "limits")) == 1
    assert run_json("list", "--tags", "draft") == []


def test_explain_tells_sources_versions_and_whom_it_reached() -> None:
    memory = run_json("remember", "Deploys run from main only", "--source", "docs/deploy.md:3-9")["id"]
    run("recall", "where do deploys run from")

    explained = run_json("explain", memory)
    told = run("explain", memory).stdout

    assert [source["channel"] for source in explained["memory"]["sources"]] == ["person", "file"]
    assert explained["receipts"][0]["query"] == "where do deploys run from"
    assert "docs/deploy.md:3-9" in told
    assert "where do deploys run from" in told


def test_text_may_come_from_standard_input() -> None:
    done = run("remember", "--kind", "decision", stdin="We chose Postgres.\nBecause of jsonb.\n")

    assert done.exit_code == 0
    assert run_json("list")[0]["text"] == "We chose Postgres.\nBecause of jsonb."


def test_lists_come_in_pages() -> None:
    for number in range(7):
        run("remember", f"fact number {number}")

    first = run_json("list", "--limit", "4")
    second = run_json("list", "--limit", "4", "--before", first[-1]["id"])

    assert [m["text"][-1] for m in first + second] == list("6543210")


def test_what_is_exported_can_be_imported_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run(
        "remember",
        "Ünïcode survives 🦊",
        "--tags",
        "a,b",
        "--subject",
        "s",
        "--kind",
        "decision",
        "--expires",
        "28d",
    )
    run("trace", "store", "--agent", "codex", "--action", "did", "--result", "success")
    lines = run("export").stdout
    monkeypatch.setenv("HIVEMIND_HOME", str(tmp_path / "other"))

    first = run("import", "-", "--approve", stdin=lines)
    again = run("import", "-", "--approve", stdin=lines)

    kept = (
        "id",
        "kind",
        "text",
        "tags",
        "scope",
        "repo",
        "subject",
        "expires_at",
        "sources",
        "trace",
        "status",
        "trust",
    )
    assert (first.stdout, again.stdout) == (
        "Imported 2 memories; 0 already known.\n",
        "Imported 0 memories; 2 already known.\n",
    )
    import json

    before, after = ([json.loads(line) for line in text.splitlines()] for text in (lines, run("export").stdout))
    assert [{k: m[k] for k in kept} for m in before] == [{k: m[k] for k in kept} for m in after]


def test_what_is_imported_unvouched_is_only_proposed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run("remember", "Deploys run on Fridays")
    lines = run("export").stdout
    monkeypatch.setenv("HIVEMIND_HOME", str(tmp_path / "other"))

    run("import", "-", stdin=lines)

    assert "1 proposal waits for review: hivemind review" in run("recall", "when do deploys run").stdout
    assert [(m["status"], m["trust"]) for m in run_json("list")] == [("proposed", "low")]


def test_an_import_of_which_nothing_can_be_read_is_refused() -> None:
    run("remember", "Deploys run on Fridays")

    done = run("import", "-", stdin="{broken\n{}\n")

    assert done.exit_code == 2
    assert "line 1" in done.stderr
    assert len(run_json("list")) == 1


def test_a_broken_line_of_an_import_is_named_and_the_others_are_taken_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("remember", "Deploys run on Fridays")
    lines = run("export").stdout
    monkeypatch.setenv("HIVEMIND_HOME", str(tmp_path / "other"))

    done = run("import", "-", stdin="{broken\n" + lines)

    assert done.exit_code == 1
    assert "Imported 1 memory" in done.stdout
    assert "line 1 is not an exported memory" in done.stderr
    assert len(run_json("list")) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["remember", ""],
        ["remember", "a\ud800b"],
        ["remember", "bell\x07"],
        ["remember", "x" * 70_000],
        ["remember", "fine", "--kind", "rumour"],
        ["remember", "fine", "--expires", "someday"],
        ["remember", "fine", "--verify-by", "0001-01-01"],
        ["remember", "fine", "--confidence", "7"],
        ["remember", "fine", "--link", "../../etc/passwd"],
        ["recall", "fine", "--as-of", "9999-01-01"],
        ["recall", "fine", "--limit", "-1"],
    ],
)
def test_bad_input_gets_one_line_of_advice_and_writes_nothing(arguments: list[str]) -> None:
    done = run(*arguments)

    assert done.exit_code == 2
    assert "Traceback" not in done.output
    assert run_json("list") == []
    assert run_json("status", "--counts")["events"] == 0


def test_invalid_bytes_on_standard_input_are_refused() -> None:
    done = run("remember", stdin=b"caf\xe9 au lait")

    assert done.exit_code == 2
    assert "not valid UTF-8 at byte 3" in done.stderr


def test_secrets_are_gone_before_anything_is_written(home: Path) -> None:
    from tests.command_line import residue

    secret = "ghp_" + "Zx9Kq2Wv7Rt4Yb1Nc8Md5Lf3Hg6Jp0Sa" + "QwEr"

    run("remember", f"The CI token is {secret} <private>and my diary</private>", "--tags", "ci")

    assert residue(home, secret.encode()) == []
    assert residue(home, b"diary") == []
    assert residue(home, b"The CI token is") != []


def test_doctor_finds_nothing_wrong_in_a_healthy_store_and_something_in_a_broken_one(home: Path) -> None:
    run("remember", "Deploys run on Fridays")
    well = run("doctor")
    from hivemind.store.sqlite import Sqlite

    db = Sqlite.open(home / "memory.db")
    db.execute("UPDATE bodies SET content = replace(content, 'Fridays', 'Mondays')")
    db.close()

    ill = run("doctor")

    assert (well.exit_code, ill.exit_code) == (0, 1)
    assert "the content was changed" in ill.stdout


def test_a_mistyped_command_gets_a_suggestion() -> None:
    done = run("remembr", "x")

    assert done.exit_code == 2
    assert "Did you mean 'hivemind remember'?" in done.stderr


def test_rebuild_changes_no_answer(make_repository: Make) -> None:
    run("remember", "Deploys run on Fridays", "--tags", "deploy")
    before = run_json("list")

    assert run("repair", "--rebuild").exit_code == 0

    assert run_json("list") == before


def test_without_a_model_recall_goes_by_words_and_says_so() -> None:
    run("remember", "Deploys run on Fridays")
    assert run("recall", "deploys").stderr == ""

    switched_off = run("config", "model", "use", "none")
    asked = run("recall", "when do deploys run")

    assert "none" in switched_off.output
    assert "Deploys run on Fridays" in asked.stdout
    assert "searched by words alone" in asked.stderr
    assert "hivemind-embedding-3" in run("config", "model", "use", "built-in").stdout


def test_a_name_that_is_no_model_is_refused_and_changes_nothing() -> None:
    done = run("config", "model", "use", "/models/some-folder")

    assert done.exit_code == 6
    assert "is no embedding model" in done.stderr
    assert "hivemind-embedding-3" in run("config", "model").stdout
