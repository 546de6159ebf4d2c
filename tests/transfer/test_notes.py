"""Notes that agents keep for themselves, and stores of other memory tools, become proposals with their source."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from hivemind import Hivemind
from hivemind.errors import InvalidInput
from hivemind.memory.claims import strip_local_references
from hivemind.model.events import MemoryRemembered
from hivemind.model.ids import MemoryId
from hivemind.model.memory import Channel, Kind, Memory, Source, Status
from hivemind.model.scope import Scope
from tests.command_line import run, run_json
from tests.conftest import Open

CLAUDE_NOTE = """---
name: Integration tests hit a real database
description: Do not mock the database in integration tests
type: feedback
---

Integration tests must hit a real database, not mocks.

**Why:** last quarter mocked tests passed and the migration failed in production.
**How to apply:** use the compose file in tests/db.
"""
CODEX_HANDBOOK = """# Task Group: Release work
scope: releases of the shop
applies_to: cwd={here}; reuse_rule=safe for this checkout

## Task 1: cut 1.4, success

### rollout_summary_files

- rollout_summaries/a.md (cwd={here}, updated_at=2026-02-12T10:30:00Z, good)

### keywords

- release, changelog, towncrier, version bump, tags

## User preferences

- Keep release notes under ten lines [Task 1]

# Task Group: Another checkout
applies_to: cwd=/somewhere/else; reuse_rule=never elsewhere

## Reusable knowledge

- That project is built with bazel and nothing else
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def claude_folder(user: Path, directory: Path) -> Path:
    return user / ".claude" / "projects" / "".join(c if c.isalnum() else "-" for c in str(directory)) / "memory"


def proposals(mind: Hivemind) -> list[Memory]:
    return [item.memory for item in mind.review.queue() if item.memory.status is Status.PROPOSED]


@pytest.fixture
def user(tmp_path: Path) -> Path:
    return tmp_path / "user"


def test_a_note_of_claude_code_is_proposed_with_its_file_and_told_to_nobody(
    mind: Hivemind, user: Path, tmp_path: Path
) -> None:
    folder = claude_folder(user, tmp_path)
    write(folder / "feedback_testing.md", CLAUDE_NOTE)
    write(folder / "MEMORY.md", "# Memory\n\n- [Real database](feedback_testing.md) — no mocks in integration tests\n")

    report = mind.files.sync_notes(home=user)

    [memory] = proposals(mind)
    [source] = memory.sources
    assert (report.notes, report.new) == (1, 1)
    assert memory.text.startswith("Integration tests must hit a real database")
    assert "How to apply" in memory.text
    assert (memory.kind, memory.scope) == (Kind.CONVENTION, Scope.PROJECT)
    assert (source.actor, source.lines) == ("claude-code", "7-10")
    assert source.file.startswith("~/.claude/projects/")
    assert source.file.endswith("/memory/feedback_testing.md")
    assert mind.brief().text == ""


def test_notes_are_read_again_when_they_change(mind: Hivemind, user: Path, tmp_path: Path) -> None:
    note = write(claude_folder(user, tmp_path) / "MEMORY.md", "- The staging server is called heron\n")
    first, again = mind.files.sync_notes(home=user), mind.files.sync_notes(home=user)
    note.write_text("- The staging server is called heron2 since May\n- Deploys need the VPN to be up\n")

    changed = mind.files.sync_notes(home=user)

    texts = {memory.text for memory in proposals(mind)}
    assert (first.new, again.new) == (1, 0)
    assert (changed.new, changed.gone) == (2, 1)
    assert texts == {"The staging server is called heron2 since May", "Deploys need the VPN to be up"}


def test_what_a_person_decided_about_a_note_stands(mind: Hivemind, user: Path, tmp_path: Path) -> None:
    note = write(
        claude_folder(user, tmp_path) / "MEMORY.md",
        "- Always rebase, never merge main\n- Tabs are used here, not spaces\n",
    )
    mind.files.sync_notes(home=user)
    approved, rejected = sorted(proposals(mind), key=lambda memory: memory.text)
    mind.approve(approved.id)
    mind.reject(rejected.id)

    again = mind.files.sync_notes(home=user)
    note.unlink()
    gone = mind.files.sync_notes(home=user)

    assert (again.new, gone.gone) == (0, 0)
    assert mind.show(approved.id).status is Status.ACTIVE
    assert proposals(mind) == []


def test_a_rejected_value_stays_out_in_another_note_and_leaves_no_trace_each_day(
    mind: Hivemind, user: Path, tmp_path: Path
) -> None:
    mind.reject(mind.remember("Tabs are used here, not spaces").id)
    write(claude_folder(user, tmp_path) / "MEMORY.md", "- Tabs are used here, not spaces\n")
    before = len(mind.history.log(limit=100))

    reports = [mind.files.sync_notes(home=user) for _ in range(3)]

    assert [(report.new, report.refused) for report in reports] == [(0, 1)] * 3
    assert len(mind.history.log(limit=100)) == before


def test_a_published_note_does_not_tell_the_team_about_the_home_directory() -> None:
    fact = MemoryRemembered(
        memory_id=MemoryId("a" * 32),
        kind=Kind.FACT,
        text="Deploys need the VPN to be up",
        owner="ada",
        sources=(
            Source(
                channel=Channel.IMPORT, actor="claude-code", file="~/.claude/projects/-home-ada/memory/a.md", lines="3"
            ),
            Source(channel=Channel.FILE, file="AGENTS.md", lines="7"),
        ),
    )

    note, rule = strip_local_references(fact, []).sources

    assert (note.file, note.lines) == ("", "")
    assert (rule.file, rule.lines) == ("AGENTS.md", "7")


def test_a_note_that_comes_back_is_proposed_again(mind: Hivemind, user: Path, tmp_path: Path) -> None:
    note = write(claude_folder(user, tmp_path) / "MEMORY.md", "- The staging server is called heron\n")
    mind.files.sync_notes(home=user)
    note.unlink()
    mind.files.sync_notes(home=user)
    write(note, "- The staging server is called heron\n")

    assert mind.files.sync_notes(home=user).new == 1
    assert len(proposals(mind)) == 1


def test_notes_belong_to_the_repository_they_are_about(
    open_mind: Open, make_repository: Any, user: Path, tmp_path: Path
) -> None:
    here, elsewhere = make_repository("here"), make_repository("elsewhere")
    open_mind(elsewhere).remember("seen")
    write(claude_folder(user, elsewhere) / "MEMORY.md", "- The other project is built with bazel\n")
    write(claude_folder(user, tmp_path / "unknown") / "MEMORY.md", "- Nobody knows this folder at all\n")
    mind = open_mind(here)

    report = mind.files.sync_notes(home=user)

    assert report.new == 1
    assert proposals(mind) == []
    assert [memory.text for memory in proposals(open_mind(elsewhere))] == ["The other project is built with bazel"]


def test_the_notes_of_every_agent_that_keeps_readable_ones_are_found(
    mind: Hivemind, user: Path, tmp_path: Path
) -> None:
    write(user / ".codex/memories/MEMORY.md", CODEX_HANDBOOK.format(here=tmp_path))
    write(
        user / ".codex/memories/memory_summary.md",
        "## User Profile\n\nWorks on compilers at night.\n\n## What's in Memory\n\n- shop: release, tags and so on\n",
    )
    write(
        user / ".gemini/GEMINI.md",
        "# My rules\n\n- Written by a person for Gemini\n\n## Gemini Added Memories\n- I prefer short pull requests\n",
    )
    project = hashlib.sha256(str(tmp_path).encode()).hexdigest()
    write(user / ".gemini/tmp" / project / "memory/MEMORY.md", "- The linter is run by the hook\n")
    write(user / ".qwen/QWEN.md", "## Qwen Added Memories\n- I write commit messages in German\n")
    write(user / ".codeium/windsurf/memories/global_rules.md", "- Never touch generated files by hand\n")
    write(tmp_path / ".serena/memories/suggested_commands.md", "# Testing\n\n- Run `pytest -q` from the top folder\n")
    storage = user / ".config/Code/User/workspaceStorage/ab12"
    write(storage / "workspace.json", json.dumps({"folder": tmp_path.as_uri()}))
    write(storage / "GitHub.copilot-chat/memory-tool/memories/repo/env.md", "The venv lies in .direnv/python here.\n")

    report = mind.files.sync_notes(home=user)

    assert dict(report.by_origin) == {
        "codex": 2, "copilot": 1, "gemini": 2, "qwen": 1, "serena": 1, "windsurf": 1,
    }  # fmt: skip
    texts = {(memory.agent, memory.scope, memory.text) for memory in proposals(mind)}
    assert texts == {
        ("codex", Scope.PROJECT, "User preferences: Keep release notes under ten lines"),
        ("codex", Scope.USER, "User Profile: Works on compilers at night."),
        ("copilot", Scope.PROJECT, "The venv lies in .direnv/python here."),
        ("gemini", Scope.USER, "I prefer short pull requests"),
        ("gemini", Scope.PROJECT, "The linter is run by the hook"),
        ("qwen", Scope.USER, "I write commit messages in German"),
        ("serena", Scope.PROJECT, "Testing: Run `pytest -q` from the top folder"),
        ("windsurf", Scope.USER, "Never touch generated files by hand"),
    }


def test_notes_about_a_folder_that_is_not_known_are_not_about_the_person(mind: Hivemind, user: Path) -> None:
    storage = user / ".config/Code/User/workspaceStorage/ab12"
    write(storage / "workspace.json", json.dumps({"folder": "file:///somewhere/else"}))
    write(storage / "GitHub.copilot-chat/memory-tool/memories/repo/env.md", "The venv lies in .direnv/python there.\n")
    write(user / ".gemini/tmp/0000/memory/MEMORY.md", "- The linter is run by another hook\n")

    assert mind.files.sync_notes(home=user).notes == 0


def test_a_link_out_of_the_folder_is_not_followed(mind: Hivemind, user: Path, tmp_path: Path) -> None:
    secret = write(tmp_path / "outside" / "diary.md", "- Nobody should ever read this line\n")
    folder = claude_folder(user, tmp_path)
    write(folder / "MEMORY.md", "- This line may be read by all\n")
    (folder / "linked.md").symlink_to(secret)

    assert mind.files.sync_notes(home=user).new == 1


def test_notes_are_imported_and_undone_from_the_command_line(
    user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(claude_folder(Path.home(), tmp_path) / "MEMORY.md", "- The staging server is called heron\n")

    offered = run("import").output
    previewed = run("import", "notes", "--dry-run").output
    report = run_json("import", "notes")
    undone = run("rollback", "--batch", report["batch"], "--yes")
    unknown = run("import", "notes", "claud-code")

    assert "1 note (1 of claude-code): 1 new" in offered
    assert previewed.startswith("Would import 1 note")
    assert report["new"] == 1
    assert undone.exit_code == 0
    assert run_json("review") == []
    assert "Did you mean claude-code?" in unknown.output


def test_learning_reads_notes_too(mind: Hivemind, tmp_path: Path) -> None:
    write(claude_folder(Path.home(), tmp_path) / "MEMORY.md", "- The staging server is called heron\n")

    report = mind.learning.learn()

    assert report.proposed == 1
    assert [memory.text for memory in proposals(mind)] == ["The staging server is called heron"]


def make_claude_mem(path: Path, project: str) -> None:
    """Make a store with the columns of claude-mem 13."""
    import apsw

    db = apsw.Connection(str(path))
    db.execute(
        "CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL,"
        " project TEXT NOT NULL, text TEXT, type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT,"
        " concepts TEXT, files_read TEXT, files_modified TEXT, prompt_number INTEGER,"
        " discovery_tokens INTEGER DEFAULT 0, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL,"
        " content_hash TEXT, merged_into_project TEXT)"
    )
    db.execute(
        "CREATE TABLE session_summaries (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL,"
        " project TEXT NOT NULL, request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT,"
        " files_read TEXT, files_edited TEXT, notes TEXT, prompt_number INTEGER, created_at TEXT NOT NULL,"
        " created_at_epoch INTEGER NOT NULL)"
    )
    add = (
        "INSERT INTO observations (memory_session_id, project, type, title, facts, narrative, created_at,"
        " created_at_epoch) VALUES ('m1', ?, ?, ?, ?, ?, '2026-02-01T00:00:00Z', 1769904000000)"
    )
    db.execute(add, (project, "decision", "Queue in Postgres", '["SKIP LOCKED"]', "One system less to run."))
    db.execute(add, (project, "discovery", "Orders are immutable", '["Corrections are new rows."]', None))
    db.execute(add, (project, "change", "Renamed a file", "[]", "It was renamed."))
    db.execute(add, ("stranger", "decision", "Not ours", "[]", "It is of another project."))
    db.execute(
        "INSERT INTO session_summaries (memory_session_id, project, learned, created_at, created_at_epoch)"
        " VALUES ('m1', ?, 'The importer retries three times.', '2026-02-01T00:00:00Z', 1769904000000)",
        (project,),
    )
    db.close()


def test_a_store_of_claude_mem_is_imported_by_project(mind: Hivemind, tmp_path: Path) -> None:
    make_claude_mem(tmp_path / "claude-mem.db", tmp_path.name)

    report = mind.files.import_from("claude-mem", tmp_path / "claude-mem.db")
    again = mind.files.import_from("claude-mem", tmp_path)

    memories = {memory.text: memory for memory in proposals(mind)}
    assert set(memories) == {
        "Queue in Postgres: One system less to run.",
        "Orders are immutable: Corrections are new rows.",
        "The importer retries three times.",
    }
    decision = memories["Queue in Postgres: One system less to run."]
    assert (decision.kind, decision.valid_from[:10], decision.agent) == (Kind.DECISION, "2026-02-01", "claude-mem")
    assert (report.new, again.new) == (3, 0)
    assert dict(report.skipped) == {
        "an observation that only says what was done": 1,
        "of project 'stranger', which is no repository that Hivemind has seen": 1,
    }


def test_exports_of_other_tools_are_imported(mind: Hivemind, tmp_path: Path) -> None:
    mem0 = {"results": [{"id": "1", "memory": "Uses pnpm for all packages", "created_at": "2026-01-02T03:04:05-08:00"}]}
    agentmemory = {
        "version": "0.3.0",
        "memories": [
            {"type": "bug", "title": "Login loop", "content": "Cookies need SameSite=None.", "isLatest": True},
            {"type": "bug", "title": "Login loop", "content": "Old version of it.", "isLatest": False},
        ],
        # As its server without a database stores them.
        "mem:memories": {"mem_1": {"type": "workflow", "title": "Tag", "content": "Tag, then push", "isLatest": True}},
        "lessons": [
            {"content": "Rebuild the index after a merge", "project": str(tmp_path)},
            {"content": "Something about another project", "project": "/somewhere/else"},
        ],
    }
    graph = [
        {"type": "entity", "name": "Billing", "entityType": "service", "observations": ["runs on Fridays only"]},
        {"type": "relation", "from": "Billing", "to": "Ledger", "relationType": "depends_on"},
    ]
    note = (
        "---\ntitle: Coffee API\ntype: note\n---\n\n## Observations\n- [decision] Cache beans for an hour #cache\n"
        "- [ ] a task\n\n## Relations\n- requires [[Grinder]]\n"
    )
    stores = {
        "mem0": write(tmp_path / "mem0.json", json.dumps(mem0)),
        "agentmemory": write(tmp_path / "agentmemory.json", json.dumps(agentmemory)),
        "mcp-memory": write(tmp_path / "memory.jsonl", "\n".join(map(json.dumps, graph)) + "\nbroken\n"),
        "basic-memory": write(tmp_path / "notes" / "coffee.md", note).parent,
    }

    reports = {tool: mind.files.import_from(tool, path) for tool, path in stores.items()}

    memories = {memory.text: memory for memory in proposals(mind)}
    assert {text: memory.agent for text, memory in memories.items()} == {
        "Uses pnpm for all packages": "mem0",
        "Login loop: Cookies need SameSite=None.": "agentmemory",
        "Tag, then push": "agentmemory",
        "Rebuild the index after a merge": "agentmemory",
        "Billing: runs on Fridays only": "mcp-memory",
        "Billing depends on Ledger": "mcp-memory",
        "Coffee API: Cache beans for an hour #cache": "basic-memory",
    }
    coffee = memories["Coffee API: Cache beans for an hour #cache"]
    assert (coffee.kind, coffee.sources[0].file, coffee.sources[0].lines) == (Kind.DECISION, "coffee.md", "7")
    assert memories["Login loop: Cookies need SameSite=None."].kind is Kind.FIX
    assert dict(reports["mcp-memory"].skipped) == {"not a line of JSON": 1}


def test_the_history_of_mem0_tells_what_each_memory_is_now(mind: Hivemind, tmp_path: Path) -> None:
    import apsw

    db = apsw.Connection(str(tmp_path / "history.db"))
    db.execute(
        "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,"
        " created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)"
    )
    rows = [
        ("h1", "m1", None, "Lives in Oslo", "ADD", 0),
        ("h2", "m1", "Lives in Oslo", "Lives in Bergen now", "UPDATE", 0),
        ("h3", "m2", None, "Wants tabs everywhere", "ADD", 0),
        ("h4", "m2", "Wants tabs everywhere", None, "DELETE", 1),
    ]
    add = "INSERT INTO history (id, memory_id, old_memory, new_memory, event, is_deleted) VALUES (?, ?, ?, ?, ?, ?)"
    db.executemany(add, rows)
    db.close()

    mind.files.import_from("mem0", tmp_path / "history.db")

    assert [memory.text for memory in proposals(mind)] == ["Lives in Bergen now"]


def make_engram(path: Path, project: str) -> None:
    """Make a store with the columns of engram 1."""
    import apsw

    db = apsw.Connection(str(path))
    db.execute(
        "CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id TEXT, session_id TEXT NOT NULL,"
        " type TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL, tool_name TEXT, project TEXT,"
        " scope TEXT NOT NULL DEFAULT 'project', topic_key TEXT, normalized_hash TEXT,"
        " revision_count INTEGER NOT NULL DEFAULT 1, duplicate_count INTEGER NOT NULL DEFAULT 1, last_seen_at TEXT,"
        " created_at TEXT NOT NULL, updated_at TEXT NOT NULL, deleted_at TEXT)"
    )
    add = (
        "INSERT INTO observations (session_id, type, title, content, project, scope, created_at, updated_at,"
        " deleted_at) VALUES ('s1', ?, ?, ?, ?, ?, '2026-02-01 23:30:00', '2026-02-01 23:30:00', ?)"
    )
    db.execute(add, ("decision", "Queue", "In Postgres: one system less.", project.lower(), "project", None))
    db.execute(add, ("preference", "Tabs", "I want tabs.", project, "personal", None))
    db.execute(add, ("bugfix", "Gone", "It was deleted.", project, "project", "2026-02-02 00:00:00"))
    db.execute(add, ("session_summary", "Summary", "Did things.", project, "project", None))
    db.execute(add, ("pattern", "Foreign", "Of another project.", "stranger", "project", None))
    db.close()


def test_a_store_of_engram_is_imported_by_project_and_scope(mind: Hivemind, tmp_path: Path) -> None:
    make_engram(tmp_path / "engram.db", tmp_path.name)
    exported_rows = [
        {"type": "bugfix", "title": "Loop", "content": "Set SameSite.", "created_at": "2026-02-01 10:00:00"}
    ]
    export = write(tmp_path / "engram.json", json.dumps({"version": "0.1.0", "observations": exported_rows}))

    report = mind.files.import_from("engram", tmp_path / "engram.db")
    mind.files.import_from("engram", export)

    memories = {memory.text: memory for memory in proposals(mind)}
    assert {text: (memory.kind, memory.scope) for text, memory in memories.items()} == {
        "Queue: In Postgres: one system less.": (Kind.DECISION, Scope.PROJECT),
        "Tabs: I want tabs.": (Kind.PREFERENCE, Scope.USER),
        "Loop: Set SameSite.": (Kind.FIX, Scope.PROJECT),
    }
    assert memories["Queue: In Postgres: one system less."].valid_from == "2026-02-01T23:30:00.000000Z"
    assert dict(report.skipped) == {
        "an observation that only says what was done": 1,
        "of project 'stranger', which is no repository that Hivemind has seen": 1,
    }


def test_the_last_word_of_each_note_of_deja_vu_is_imported(mind: Hivemind, tmp_path: Path) -> None:
    def promote(session: str, text: str, state: str) -> dict[str, str]:
        common = {"ts": "2026-02-03T10:00:00Z", "src_ts": "2026-02-01T10:00:00Z", "project": tmp_path.name}
        return {**common, "text": text, "kind": "promoted", "session": session, "state": state, "title": "Queue"}

    lines = [
        {
            "ts": "2026-02-01T10:00:00.5Z",
            "project": tmp_path.name,
            "text": "Uses pnpm for all packages",
            "tags": ["npm"],
        },
        promote("claude:1", "It runs on Redis", "accepted"),
        promote("claude:1", "It runs on Postgres", "accepted"),
        promote("claude:2", "Celery", "rejected"),
    ]
    notes = write(tmp_path / "notes.jsonl", "\n".join(map(json.dumps, lines)) + "\nbroken\n")

    report = mind.files.import_from("deja-vu", notes)

    memories = {memory.text: memory for memory in proposals(mind)}
    assert {text: memory.sources[0].lines for text, memory in memories.items()} == {
        "Uses pnpm for all packages": "1",
        "Queue: It runs on Postgres": "3",
    }
    assert memories["Queue: It runs on Postgres"].valid_from[:10] == "2026-02-01"
    assert dict(report.skipped) == {"a note that is rejected": 1, "not a line of JSON": 1}


@pytest.mark.parametrize(
    ("tool", "content", "problem"),
    [
        ("mem0", "not json", "not JSON"),
        ("agentmemory", "[]", "holds nothing that agentmemory has written"),
        ("mcp-memory", "", "holds nothing that mcp-memory has written"),
    ],
)
def test_a_file_of_another_kind_is_refused_with_the_reason(
    mind: Hivemind, tmp_path: Path, tool: str, content: str, problem: str
) -> None:
    with pytest.raises(InvalidInput, match=problem):
        mind.files.import_from(tool, write(tmp_path / "export.json", content))
    assert proposals(mind) == []


@pytest.mark.parametrize("tool", ["mem0", "agentmemory", "claude-mem", "engram", "deja-vu", "mcp-memory"])
def test_a_folder_without_a_store_is_refused(mind: Hivemind, tmp_path: Path, tool: str) -> None:
    with pytest.raises(InvalidInput, match="give the file that the tool exported"):
        mind.files.import_from(tool, tmp_path)


def test_the_folder_of_a_tool_means_its_store(mind: Hivemind, tmp_path: Path) -> None:
    memory = {"type": "fact", "title": "Packages", "content": "Uses pnpm for all packages"}
    write(tmp_path / ".agentmemory" / "standalone.json", json.dumps({"mem:memories": {"mem_1": memory}}))

    assert mind.files.import_from("agentmemory", tmp_path / ".agentmemory").new == 1


def test_another_tools_store_is_imported_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    export = write(tmp_path / "mem0.json", json.dumps([{"memory": "Uses pnpm for all packages"}]))

    shown = run("import", "--from", "mem0", str(export))
    missing = run("import", "--from", "claude-mem")

    assert "Imported 1 note (1 of mem0): 1 new." in shown.output
    assert "hivemind rollback --batch import-mem0-" in shown.output
    assert "give its path: hivemind import --from claude-mem PATH" in missing.output
    assert [item["memory"]["text"] for item in run_json("review")] == ["Uses pnpm for all packages"]
