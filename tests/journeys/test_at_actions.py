"""What an agent is told at its actions: the memory that concerns them, once, and otherwise nothing."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hivemind import Hivemind
from hivemind.entrypoints import hook as hook_file
from hivemind.maintenance import configuration
from hivemind.model.memory import Kind
from hivemind.model.scope import Scope
from hivemind.recall.rendering import count_tokens
from hivemind.text import cues
from tests.command_line import residue, run, run_json
from tests.conftest import AGENT, Open, git

MODULE = """def charge(card):
    return card.bank.take(card.amount)


def refund(card):
    return card.bank.give(card.amount)
"""
EDIT_CHARGE = {"file_path": "pay.py", "old_string": "take(card.amount)", "new_string": "take(card.total)"}
EDIT_REFUND = {"file_path": "pay.py", "old_string": "give(card.amount)", "new_string": "give(card.total)"}
REFUSED = "Exit code 1\nError: connect ECONNREFUSED 127.0.0.1:5432\n    at TCPConnectWrap"


@pytest.fixture
def project(make_repository: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_repository("project")
    (root / "pay.py").write_text(MODULE)
    git(root, "add", ".")
    git(root, "commit", "-m", "pay")
    monkeypatch.chdir(root)
    return root


def tell(event: str, agent: str = "claude-code", session: str = "s1", **fields: Any) -> str:
    """Run the hook and return the context that it gives the model."""
    fields["tool_use_id"] = uuid4().hex
    payload = {"session_id": session, "cwd": str(Path.cwd()), "hook_event_name": event, **fields}
    command = [sys.executable, "-I", "-S", str(hook_file.__file__), agent, event]
    process = subprocess.run(command, input=json.dumps(payload).encode(), capture_output=True, check=False)
    assert (process.returncode, process.stderr) == (0, b"")
    if not process.stdout:
        return ""
    reply = json.loads(process.stdout)
    assert set(reply) <= {"hookSpecificOutput", "systemMessage"}
    assert set(reply["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}, "no decision, no changed input"
    return str(reply["hookSpecificOutput"]["additionalContext"])


def before(tool: str, session: str = "s1", **fields: Any) -> str:
    return tell("PreToolUse", session=session, tool_name=tool, tool_input=fields)


def run_command(command: str, session: str = "s1") -> str:
    return before("Bash", session, command=command)


def fail(command: str, error: str, session: str = "s1") -> str:
    return tell("PostToolUseFailure", session=session, tool_name="Bash", tool_input={"command": command}, error=error)


def remember(open_mind: Open, project: Path, text: str, kind: Kind, **fields: Any) -> str:
    mind = open_mind(project)
    memory_id = mind.remember(text, kind=kind, **fields).id
    mind.close()
    return memory_id


def test_before_an_edit_the_decision_about_the_symbol_is_told_with_what_is_stale_about_it(
    open_mind: Open, project: Path
) -> None:
    remember(open_mind, project, "Cards are charged once", Kind.DECISION, links=["pay.py::charge"])
    (project / "pay.py").write_text(MODULE.replace("charge(card)", "charge(card, retries)"))

    of_another_symbol = before("Edit", **EDIT_REFUND)
    of_another_file = before("Write", file_path="ship.py", content="x")
    of_the_symbol = before("Edit", **EDIT_CHARGE)
    again = before("Edit", **EDIT_CHARGE)
    in_another_session = before("Edit", "s2", **EDIT_CHARGE)

    assert (of_another_symbol, of_another_file, again) == ("", "", "")
    assert "Cards are charged once" in of_the_symbol
    assert "`card` → `card, retries`" in of_the_symbol
    assert "Cards are charged once" in in_another_session
    assert count_tokens(of_the_symbol) <= 300


def test_a_memory_about_a_file_is_told_before_any_edit_of_it_by_every_way_to_edit(
    open_mind: Open, project: Path
) -> None:
    remember(open_mind, project, "Amounts in here are cents", Kind.CONVENTION, links=["pay.py"])
    patch = "*** Begin Patch\n*** Update File: pay.py\n@@\n-    return 1\n+    return 2\n*** End Patch"

    assert "cents" in before("Edit", "a", **EDIT_REFUND)
    assert "cents" in before("Write", "b", file_path=str(project / "pay.py"), content="x = 1\n")
    assert "cents" in tell("PreToolUse", "codex", "c", tool_name="apply_patch", tool_input={"command": patch})
    assert before("Read", "d", file_path="pay.py") == ""


IMPORT = {"file_path": "pay.py", "old_string": "import os\n", "new_string": "import os\nimport sys\n"}
BEHIND = "    return card.bank.take(card.amount)\n"
SHELL_EDITS = [
    "sed -i 's/take/get/' pay.py",
    "perl -pi -e 's/take/get/' pay.py",
    "cat > pay.py <<'EOF'\nx = 1\nEOF",
    "git apply <<'EOF'\n--- a/pay.py\n+++ b/pay.py\n@@ -1 +1 @@\n-x\n+y\nEOF",
    "git mv pay.py cash.py",
    "cp other.py pay.py",
    "git rm pay.py",
    "cd billing/.. && sed -i -e 's/take/get/' pay.py 2> errors",
    "echo 'x = 1' >> pay.py",
]
OTHER_COMMANDS = ["sed 's/take/get/' pay.py", "cat pay.py > copy.txt", "sed -i 's/a/b/' ship.py", "echo 'a > pay.py'"]
OTHER_COMMANDS += ["cp pay.py copy.py", "cd billing && rm pay.py", "tee copy.py < pay.py"]


def test_an_insertion_concerns_what_it_is_inserted_into_and_nothing_else(open_mind: Open, project: Path) -> None:
    (project / "pay.py").write_text(f"import os\n\n\n{MODULE}")
    remember(open_mind, project, "Cards are charged once", Kind.DECISION, links=["pay.py::charge"])
    new_line = {"file_path": "pay.py", "old_string": BEHIND, "new_string": f"    log(card)\n{BEHIND}"}
    last_line = {"file_path": "pay.py", "old_string": BEHIND, "new_string": f"{BEHIND}    log(card)\n"}
    new_function = {
        "file_path": "pay.py",
        "old_string": BEHIND,
        "new_string": f"{BEHIND}\n\ndef hold(card):\n    pass\n",
    }

    assert before("Edit", "a", **IMPORT) == ""
    assert before("Edit", "b", **new_function) == ""
    assert "charged once" in before("Edit", "c", **new_line)
    assert "charged once" in before("Edit", "d", **last_line)


def test_an_edit_whose_place_is_unclear_concerns_the_names_in_it(open_mind: Open, project: Path) -> None:
    (project / "cart.rb").write_text("class Cart\n  def save!\n  end\n\n  def sell\n    save!\n  end\nend\n")
    remember(open_mind, project, "Carts are saved once", Kind.DECISION, links=["cart.rb::Cart.save!"])
    rename = {"file_path": "cart.rb", "old_string": "save!", "new_string": "store!", "replace_all": True}
    other = {"file_path": "cart.rb", "old_string": "sell", "new_string": "vend", "replace_all": True}

    assert before("Edit", "a", **other) == ""
    assert "saved once" in before("Edit", "b", **rename)


def test_a_memory_about_a_folder_is_told_before_an_edit_of_a_file_in_it(open_mind: Open, project: Path) -> None:
    (project / "billing" / "tax").mkdir(parents=True)
    (project / "billing" / "tax" / "rates.py").write_text("RATE = 19\n")
    remember(open_mind, project, "Amounts in here are cents", Kind.CONVENTION, links=["billing"])

    inside = before("Write", file_path=str(project / "billing/tax/rates.py"), content="RATE = 7\n")

    assert "cents" in inside
    assert before("Write", "s2", file_path=str(project / "pay.py"), content="x\n") == ""


@pytest.mark.parametrize("command", SHELL_EDITS)
def test_a_command_that_edits_a_file_is_an_edit_of_it(open_mind: Open, project: Path, command: str) -> None:
    remember(open_mind, project, "Amounts in here are cents", Kind.CONVENTION, links=["pay.py"])

    assert "cents" in run_command(command)


@pytest.mark.parametrize("command", OTHER_COMMANDS)
def test_a_command_that_does_not_edit_the_file_is_none(open_mind: Open, project: Path, command: str) -> None:
    remember(open_mind, project, "Amounts in here are cents", Kind.CONVENTION, links=["pay.py"])

    assert run_command(command) == ""


@pytest.mark.parametrize("command", [["code", "index", "--background"], ["learn"]])
def test_a_function_that_moved_takes_its_memory_along(open_mind: Open, project: Path, command: list[str]) -> None:
    remember(open_mind, project, "Cards are charged once", Kind.DECISION, links=["pay.py::charge"])
    charge, refund = MODULE.split("\n\n\n")
    (project / "pay.py").write_text(refund)
    (project / "cash.py").write_text(f"{charge}\n")

    run(*command)
    edit = {"file_path": "cash.py", "old_string": "take(card.amount)", "new_string": "take(card.total)"}

    assert "charged once" in before("Edit", **edit)
    assert run_json("list")[0]["anchors"][0]["path"] == "cash.py"


def test_a_function_that_was_renamed_is_still_the_one_that_an_edit_changes(open_mind: Open, project: Path) -> None:
    remember(open_mind, project, "Cards are charged once", Kind.DECISION, links=["pay.py::charge"])
    (project / "pay.py").write_text(MODULE.replace("def charge(", "def take_from("))
    other_edit = {"file_path": "pay.py", "old_string": "def refund(card):", "new_string": "def refund(card, all):"}
    edit = {"file_path": "pay.py", "old_string": "take(card.amount)", "new_string": "take(card.total)"}

    assert before("Edit", "a", **other_edit) == ""
    assert "charged once" in before("Edit", "b", **edit)


def test_after_a_failure_the_fix_of_the_same_error_is_told_and_after_another_nothing(
    open_mind: Open, project: Path
) -> None:
    text = "ECONNREFUSED 127.0.0.1:5432 means that the database is not running; start it with `make db`"
    remember(open_mind, project, text, Kind.FIX)

    other = fail("node app.js", "Exit code 1\nError: Cannot find module 'left-pad'")
    same = fail("node app.js", REFUSED.replace("TCP", "Other"))
    again = fail("node app.js", REFUSED)

    assert (other, again) == ("", "")
    assert "make db" in same


def test_an_output_that_only_quotes_the_error_is_not_answered_and_does_not_silence_the_fix(
    open_mind: Open, project: Path
) -> None:
    remember(open_mind, project, "ECONNREFUSED on port 5432: start the database with make db", Kind.FIX)
    call: dict[str, Any] = {"tool_input": {"command": "cat old.log"}, "tool_response": {"stdout": REFUSED}}

    quoted = tell("PostToolUse", tool_name="Bash", **call)

    assert quoted == ""
    assert "make db" in fail("node app.js", REFUSED)


def test_a_fix_that_was_learned_from_a_session_is_told_with_the_session_it_worked_in(
    open_mind: Open, project: Path
) -> None:
    learned = open_mind(project, writer=AGENT)
    text = "`pytest` failed with: conftest.py:3: ImportError: cannot import name 'Engine'\nFixed in pay.py: pin it"
    memory = learned.remember(text, kind=Kind.FIX)
    learned.close()

    told = fail("pytest -q", "Exit code 1\nE   conftest.py:9: ImportError: cannot import name 'Engine' from 'db'")

    assert memory.id[:8] in told
    assert f"worked in session {AGENT.session_id[:8]}" in told


@pytest.mark.parametrize(
    ("note", "concerned", "not_concerned"),
    [
        ("Use pnpm, not npm, in this repository", "npm install", "pnpm install"),
        ("Use uv instead of pip", "pip install x", "uv add x"),
        ("Tests need the database up", "cd a && pytest -q", "cat tests/test_a.py"),
        ("Never run `make deploy` from a branch", "make deploy", "make test"),
        ("Start the server before running `make e2e`", "make e2e", "make lint"),
        ("Deploys run on Fridays", "", "make deploy"),
        ("Use the cache instead of building a new one", "", "make build"),
        ("Do not use text.StringBuilder as a writer", "", "go build ./..."),
        ("Builds need Node 22", "npm run build", "git commit -m 'a\nbuild of b'"),
        ("Builds need Node 22", "make build", "git commit -F - <<EOF\nbuild\nEOF"),
    ],
)
def test_before_a_command_that_is_wrong_here_the_note_is_told_and_before_another_nothing(
    open_mind: Open, project: Path, note: str, concerned: str, not_concerned: str
) -> None:
    remember(open_mind, project, note, Kind.CONVENTION)

    assert run_command(not_concerned) == ""
    assert not concerned or note in run_command(concerned)


def test_an_agent_that_ignores_context_before_a_call_costs_nothing_there(
    open_mind: Open, project: Path, home: Path
) -> None:
    remember(open_mind, project, "Use pnpm, not npm", Kind.CONVENTION)
    call: dict[str, Any] = {"tool_name": "run_shell_command", "tool_input": {"command": "npm install"}}
    # The first call after a change finds out that there is no guard.
    tell("BeforeTool", "gemini", **call)
    tell("Stop", session="s0")

    unheard = [tell("BeforeTool", "gemini", **call), tell("PreToolUse", "qwen", **call)]
    assert (home / "spool").exists(), "opening the store would have taken it in"

    assert unheard == ["", ""]
    assert "pnpm" in run_command("npm install")


def test_what_is_not_active_or_not_from_here_is_never_told(
    open_mind: Open, project: Path, make_repository: Callable[..., Path]
) -> None:
    elsewhere = make_repository("elsewhere")
    remember(open_mind, elsewhere, "Use yarn, not npm", Kind.CONVENTION, links=["README.md"])
    mind = open_mind(project)
    mind.remember("Use bun, not npm", kind=Kind.CONVENTION, propose=True)
    mind.forget(mind.remember("Use deno, not npm", kind=Kind.CONVENTION).id)
    mind.close()
    nothing = run_command("npm install")

    remember(open_mind, project, "Use pnpm, not npm", Kind.CONVENTION)
    told = run_command("npm install")

    assert nothing == ""
    assert before("Write", file_path="README.md", content="x") == ""
    assert "pnpm" in told
    assert not any(word in told for word in ("yarn", "bun", "deno"))


def test_a_subagent_starts_with_a_brief_that_does_not_count_as_told_to_the_session(
    open_mind: Open, project: Path
) -> None:
    remember(open_mind, project, "Amounts are cents, never floats", Kind.CONVENTION)

    briefs = [tell("SubagentStart", agent_id=name, agent_type="general") for name in ("a1", "a2")]

    assert all("Amounts are cents" in brief and count_tokens(brief) <= 300 for brief in briefs)
    assert "Amounts are cents" in tell("SessionStart", source="startup")


def test_a_subagent_of_an_agent_that_ignores_context_at_its_start_leaves_no_receipt(
    open_mind: Open, project: Path
) -> None:
    remember(open_mind, project, "Amounts are cents, never floats", Kind.CONVENTION)

    assert tell("SubagentStart", "qwen", agent_id="a1", agent_type="general-purpose") == ""

    with open_mind(project) as mind:
        assert not mind.history.receipts()
    assert "Amounts are cents" in tell("SubagentStart", agent_id="a1", agent_type="general")


def test_after_a_compaction_the_session_hears_again_what_it_was_told(open_mind: Open, project: Path) -> None:
    agent = open_mind(project, writer=AGENT)
    agent.remember("ECONNREFUSED on port 5432: the database is not running, start it with make db", kind=Kind.FIX)
    agent.close()
    assert "make db" not in tell("SessionStart", source="startup")
    assert "make db" in fail("node app.js", REFUSED)
    tell("PostCompact", compact_summary="we tried", prompt_id="p")

    assert "make db" in tell("SessionStart", source="compact")
    assert "make db" in fail("node app.js", REFUSED)


def test_each_action_and_all_of_them_can_be_switched_off(open_mind: Open, project: Path) -> None:
    remember(open_mind, project, "Use pnpm, not npm", Kind.CONVENTION, links=["pay.py"])

    configuration.change("actions", "edits")
    only_edits = [run_command("npm install"), before("Edit", **EDIT_CHARGE)]
    configuration.change("action_tokens", "0")
    nothing = [run_command("npm install", "s2"), before("Edit", "s2", **EDIT_CHARGE)]
    configuration.unset("actions")
    configuration.unset("action_tokens")
    both = [run_command("npm install", "s3"), before("Edit", "s3", **EDIT_CHARGE)]

    assert [bool(text) for text in (*only_edits, *nothing, *both)] == [False, True, False, False, True, True]


def test_the_cue_file_has_no_text_and_goes_with_the_memory_that_is_erased(
    open_mind: Open, project: Path, home: Path
) -> None:
    memory = remember(open_mind, project, "Never run `make osprey` here", Kind.CONVENTION, links=["pay.py"])
    assert "osprey" in run_command("make osprey")
    files = list((home / cues.FOLDER).iterdir())
    assert files
    assert not [file for file in files if b"osprey" in file.read_bytes() or b"pay.py" in file.read_bytes()]

    run("erase", memory, "--yes")

    assert not [file for file in (home / cues.FOLDER).iterdir() if file.suffix != cues.ANNOUNCED]
    assert residue(home, b"Never run `make osprey`") == []
    assert run_command("make osprey", "s2") == ""
    assert list((home / cues.FOLDER).iterdir()), "written again, without it"


def test_a_silent_hook_does_not_open_the_store(open_mind: Open, project: Path, home: Path) -> None:
    remember(open_mind, project, "Use pnpm, not npm", Kind.CONVENTION)
    run_command("npm install")
    tell("PostToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_response={"stdout": "a"})

    assert run_command("ls") == ""
    assert run_command("npm install") == ""
    assert (home / "spool").exists(), "opening the store would have taken it in"


def test_receipts_carry_the_occasion_and_status_counts_them(open_mind: Open, project: Path) -> None:
    remember(open_mind, project, "ECONNREFUSED on port 5432: start the database with make db", Kind.FIX)
    remember(open_mind, project, "Use pnpm, not npm", Kind.CONVENTION)
    fail("node app.js", REFUSED)
    run_command("npm install")
    session = run_json("status", "--tokens")[0]

    assert {line["occasion"] for line in run_json("log", "--receipts")} == {"failures", "commands"}
    assert (session["actions"], session["prompts"]) == (2, 0)


def test_rebuilding_the_tables_changes_neither_receipts_nor_cues(mind: Hivemind) -> None:
    mind.remember("Use pnpm, not npm", kind=Kind.CONVENTION, scope=Scope.USER)

    mind.maintenance.rebuild()

    assert [memory.text for memory in mind.list()] == ["Use pnpm, not npm"]


@pytest.mark.parametrize("payload", ["[]", "{}", '{"cwd": "\\u0000"}', '{"cwd": 3, "tool_input": []}', "x" * 10])
def test_no_payload_makes_the_hook_fail_before_a_call(open_mind: Open, project: Path, payload: str) -> None:
    remember(open_mind, project, "Use pnpm, not npm", Kind.CONVENTION)
    command = [sys.executable, "-I", "-S", str(hook_file.__file__), "claude-code", "PreToolUse"]

    process = subprocess.run(command, input=payload.encode(), capture_output=True, check=False)

    assert (process.returncode, process.stdout) == (0, b"")
