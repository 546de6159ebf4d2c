"""Guards: who may set one, when it acts, and what makes it step back."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hivemind import Hivemind
from hivemind.agents.agent import get_agent
from hivemind.errors import InvalidInput, NotFound, Refused
from hivemind.guard.messages import render_reason
from hivemind.model.events import GuardSet, ObservationMade
from hivemind.model.guard import GuardAnswer, GuardState, Trigger
from hivemind.model.scope import Scope
from hivemind.model.session import Observation, ObservationKind
from tests.conftest import AGENT, Clock, git

RULE = "We use pnpm, not npm"
NPM = Trigger(commands=("npm install",))
Open = Callable[..., Hivemind]


def call(command: str = "", file: str = "", diff: str = "", tool: str = "Bash") -> list[Observation]:
    return [
        Observation(
            agent="claude-code", session_id="s1", source_id="1", seen=ObservationKind.TOOL,
            command=command, file=file, diff=diff, tool=tool,
        )
    ]  # fmt: skip


def test_a_guard_answers_a_call_that_matches_and_no_other(mind: Hivemind) -> None:
    memory = mind.remember(RULE)
    mind.guards.set(memory.id, NPM, answer="deny")

    verdict = mind.guards.judge(call("cd web && npm install left-pad"))

    assert verdict is not None
    assert (verdict.memory.id, verdict.answer, verdict.pattern) == (memory.id, GuardAnswer.DENY, "npm install")
    assert mind.guards.judge(call("pnpm install")) is None
    assert mind.guards.judge(call("npm test")) is None


def test_an_exception_lets_a_call_pass(mind: Hivemind) -> None:
    memory = mind.remember("Use uv run pytest, not bare pytest")
    mind.guards.set(memory.id, Trigger(commands=("pytest",), exceptions=("uv run pytest",)), answer="deny")

    assert mind.guards.judge(call("pytest -q"))
    assert mind.guards.judge(call("uv run pytest -q")) is None
    assert mind.guards.judge(call("uv run pytest; pytest")), "the second command is still the guarded one"


def test_files_symbols_and_tools_are_guarded_too(open_mind: Open, make_repository: Callable[..., Path]) -> None:
    root = make_repository("shop")
    (root / "pay.py").write_text("def charge(card):\n    return card\n\n\ndef refund(card):\n    return card\n")
    git(root, "add", ".")
    git(root, "commit", "-m", "pay")
    mind = open_mind(root)
    generated = mind.remember("Never edit generated files in dist/")
    mind.guards.set(generated.id, Trigger(files=("dist/**",)), answer="deny")
    web = mind.remember("Do not fetch pages")
    mind.guards.set(web.id, Trigger(tools=("webfetch", "mcp__github__*")), answer="ask")
    charge = mind.remember("Do not change charge without the auditor")
    mind.guards.set(charge.id, Trigger(symbols=("pay.py::charge",)), answer="ask")

    assert mind.guards.judge(call(file="dist/app/main.js", diff="+x", tool="Edit"))
    assert mind.guards.judge(call(file="src/main.js", diff="+x", tool="Edit")) is None
    assert mind.guards.judge(call(tool="WebFetch"))
    assert mind.guards.judge(call(tool="mcp__github__merge"))
    assert mind.guards.judge(call(tool="mcp__gitlab__merge")) is None
    in_charge = "@@ -1,2 +1,2 @@\n def charge(card):\n-    return card\n+    return None\n"
    assert mind.guards.judge(call(file="pay.py", diff=in_charge, tool="Edit"))
    in_refund = "@@ -5,2 +5,2 @@\n def refund(card):\n-    return card\n+    return None\n"
    assert mind.guards.judge(call(file="pay.py", diff=in_refund, tool="Edit")) is None


@pytest.fixture
def shop(make_repository: Callable[..., Path]) -> Path:
    root = make_repository("shop")
    (root / "pay.py").write_text("def charge(card):\n    return card\n\n\ndef refund(card):\n    return card\n")
    for file in ("dist/app.js", "web/dist/app.js", "web/app.js"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text("old\n")
    git(root, "add", ".")
    git(root, "commit", "-m", "shop")
    return root


def decode(tool: str, directory: Path, **arguments: Any) -> tuple[Observation, ...]:
    payload = {"session_id": "s1", "cwd": str(directory), "hook_event_name": "PreToolUse", "tool_name": tool}
    return get_agent("claude-code").parse_request("PreToolUse", {**payload, "tool_input": arguments}).steps


@pytest.mark.parametrize(
    ("folder", "command", "acts"),
    [
        ("", "sed -i s/old/new/ dist/app.js", True),
        ("web", "sed -i s/old/new/ ../dist/app.js", True),
        ("dist", "echo new > app.js", True),
        ("web", "sed -i s/old/new/ dist/app.js", False),
        ("", "cp web/app.js dist", True),
        ("", "rm -rf dist", True),
        ("", "rm -rf web", False),
        ("", "git checkout -- dist/app.js", True),
        ("", "python - <<EOF\nopen('dist/app.js', 'w').write('new')\nEOF", True),
        ("", "cat dist/app.js > web/app.js", False),
        ("", "echo new > DIST/App.js", True),
    ],
)
def test_a_guard_on_files_reads_the_paths_of_a_command_from_its_folder(
    open_mind: Open, shop: Path, folder: str, command: str, acts: bool
) -> None:
    mind = open_mind(shop)
    mind.guards.set(mind.remember("Never edit generated files").id, Trigger(files=("dist/**",)), answer="deny")

    assert bool(mind.guards.judge(decode("Bash", shop / folder, command=command))) is acts


@pytest.mark.parametrize(
    ("tool", "arguments", "acts"),
    [
        ("NotebookEdit", {"notebook_path": "dist/a.ipynb", "new_source": "x"}, True),
        ("Write", {"file_path": "dist/app.js", "content": ""}, True),
        ("delete_file", {"path": "dist/app.js"}, True),
        ("Read", {"file_path": "dist/app.js"}, False),
        ("str_replace_editor", {"command": "view", "path": "dist/app.js"}, False),
    ],
)
def test_a_guard_on_files_knows_calls_that_change_a_file_from_those_that_read_it(
    open_mind: Open, shop: Path, tool: str, arguments: dict[str, str], acts: bool
) -> None:
    mind = open_mind(shop)
    mind.guards.set(mind.remember("Never edit generated files").id, Trigger(files=("dist/**",)), answer="deny")

    assert bool(mind.guards.judge(decode(tool, shop, **arguments))) is acts


def test_a_guard_on_a_symbol_sees_a_file_that_is_written_anew_and_a_replacement_everywhere(
    open_mind: Open, shop: Path
) -> None:
    mind = open_mind(shop)
    mind.guards.set(mind.remember("charge is audited").id, Trigger(symbols=("pay.py::charge",)), answer="ask")
    source = (shop / "pay.py").read_text()
    new_charge = source.replace("return card", "return None", 1)
    new_refund = "return None".join(source.rsplit("return card", 1))

    for content, acts in ((new_charge, True), ("import os\n", True), (new_refund, False)):
        assert bool(mind.guards.judge(decode("Write", shop, file_path="pay.py", content=content))) is acts
    for old, acts in (("card", True), ("charge", True), ("refund", False)):
        edit = {"file_path": "pay.py", "old_string": old, "new_string": "x", "replace_all": True}
        assert bool(mind.guards.judge(decode("Edit", shop, **edit))) is acts


def test_a_guard_on_a_method_acts_with_and_without_its_class(open_mind: Open, shop: Path) -> None:
    (shop / "cart.py").write_text(
        "class Cart:\n    def add(self):\n        return 1\n\n    def total(self):\n        return 2\n"
    )
    mind = open_mind(shop)
    memory = mind.remember("add is audited")

    for symbol in ("cart.py::Cart.add", "cart.py::add", "cart.py::Cart"):
        mind.guards.set(memory.id, Trigger(symbols=(symbol,)), answer="ask")
        for old, acts in (("return 1", True), ("return 2", symbol == "cart.py::Cart")):
            step = decode("Edit", shop, file_path="cart.py", old_string=old, new_string="return 3")
            assert bool(mind.guards.judge(step)) is acts


def test_only_a_person_sets_pauses_and_lifts_a_guard(open_mind: Open, mind: Hivemind) -> None:
    memory = mind.remember(RULE)
    mind.guards.set(memory.id, NPM)
    agent = open_mind(writer=AGENT)

    with pytest.raises(Refused):
        agent.guards.set(memory.id, NPM, answer="remind")
    with pytest.raises(Refused):
        agent.guards.pause(memory.id, "1h")
    with pytest.raises(Refused):
        agent.guards.lift(memory.id)

    assert agent.guards.judge(call("npm install"))


def test_a_guard_answers_the_command_that_would_lift_it(mind: Hivemind) -> None:
    memory = mind.remember(RULE)
    mind.guards.set(memory.id, NPM, answer="remind")
    lifting = f"env -u CLAUDECODE hivemind guard {memory.id[:8]} --off"
    assert mind.guards.judge(call(lifting)) is None

    mind.guards.set(memory.id, NPM, answer="deny")

    for command in (lifting, f"python -m hivemind guard --pause 1h {memory.id}"):
        assert mind.guards.judge(call(command)).answer is GuardAnswer.DENY  # type: ignore[union-attr]
    for command in ("hivemind guard", "hivemind guard --check 'npm install'", "hivemind guard --help"):
        assert mind.guards.judge(call(command)) is None


HIDING = ("env -u CLAUDECODE", "CLAUDECODE=", "unset CLAUDECODE;", "env -i PATH=$PATH", "env -", "sudo env -i")


TELLING = "hivemind remember 'CI sets CLAUDECODE= and runs env -i'"
SWITCHING = (
    "hivemind off",
    "hivemind-hook claude-code UserPromptSubmit < prompt.json",
    "hivemind uninstall",
    "echo 'memory=\"off\"' > .hivemind.toml",
)


@pytest.mark.parametrize("command", [*(f"{prefix} hivemind edit ID 'We use npm'" for prefix in HIDING), *SWITCHING])
def test_a_guard_answers_an_agent_that_passes_for_the_person_or_switches_it_off(mind: Hivemind, command: str) -> None:
    memory = mind.remember(RULE)
    mind.guards.set(memory.id, NPM, answer="deny")

    assert mind.guards.judge(call(command)).changes_guard  # type: ignore[union-attr]
    for innocent in ("hivemind recall 'what is CLAUDECODE'", "CLAUDECODE= pytest", "env X=1 hivemind brief", TELLING):
        assert mind.guards.judge(call(innocent)) is None
    mind.guards.lift(memory.id)
    assert mind.guards.judge(call(command)) is None


def test_a_guard_answers_an_edit_of_the_file_that_switches_it_off(mind: Hivemind) -> None:
    memory = mind.remember(RULE)
    mind.guards.set(memory.id, NPM, answer="deny")

    assert mind.guards.judge(call(file=".hivemind.toml", diff='+memory = "off"', tool="Write")).changes_guard  # type: ignore[union-attr]
    assert mind.guards.judge(call(file="pyproject.toml", diff="+x", tool="Write")) is None


def test_a_command_that_changes_a_guard_is_answered_by_the_guard_it_names(mind: Hivemind) -> None:
    memory, other = mind.remember(RULE), mind.remember("The registry needs a token")
    mind.guards.set(memory.id, NPM, answer="deny")
    mind.guards.set(other.id, NPM, answer="deny")

    for named in (memory, other):
        verdict = mind.guards.judge(call(f"hivemind guard {named.id[:8]} --pause 1h"))
        assert verdict is not None
        assert (verdict.memory.id, verdict.changes_guard) == (named.id, True)
        assert (RULE in render_reason(verdict), "token" in render_reason(verdict)) == (False, False)
    assert mind.guards.judge(call("hivemind guard nobody --off")).changes_guard  # type: ignore[union-attr]
    assert not mind.guards.judge(call("npm install")).changes_guard  # type: ignore[union-attr]


def test_a_guard_that_does_not_act_leaves_the_command_that_changes_it_alone(mind: Hivemind) -> None:
    memory = mind.remember(RULE)
    mind.guards.set(memory.id, NPM, answer="deny")
    mind.guards.pause(memory.id, "1h")

    assert mind.guards.judge(call(f"hivemind guard {memory.id[:8]} --off")) is None


def test_a_guard_that_an_agent_wrote_into_the_log_does_not_count(open_mind: Open, mind: Hivemind) -> None:
    memory = mind.remember(RULE)
    agent = open_mind(writer=AGENT)
    fact = GuardSet(memory_id=memory.id, trigger=NPM, answer=GuardAnswer.DENY)

    agent._context.record([agent._context.factory.event(fact, Scope.PROJECT, memory.repo)])

    assert mind.guards.judge(call("npm install")) is None


def test_only_a_reviewed_memory_can_be_a_guard(open_mind: Open, mind: Hivemind) -> None:
    memory = open_mind(writer=AGENT).remember(RULE)

    with pytest.raises(InvalidInput, match="nobody has reviewed it"):
        mind.guards.set(memory.id, NPM)

    mind.approve(memory.id)
    assert mind.guards.set(memory.id, NPM).state is GuardState.ARMED


@pytest.mark.parametrize("doubt", ["disputed", "retracted", "edited", "expired", "overdue", "superseded"])
def test_a_guard_steps_back_when_its_memory_is_in_doubt(mind: Hivemind, clock: Clock, doubt: str) -> None:
    memory = mind.remember(
        RULE, expires="2d" if doubt == "expired" else "", verify_by="2d" if doubt == "overdue" else ""
    )
    mind.guards.set(memory.id, NPM, answer="deny")
    assert mind.guards.get(memory.id).state is GuardState.ARMED  # type: ignore[union-attr]

    match doubt:
        case "disputed":
            mind.review.dispute(memory.id, mind.remember("The lockfile is npm's").id)
        case "retracted":
            mind.forget(memory.id)
        case "edited":
            mind.edit(memory.id, "We use pnpm for the web folder")
        case "superseded":
            mind.remember("Everybody uses bun now", replaces=[memory.id])
        case _:
            clock.advance(days=3)
    report = mind.guards.get(memory.id)

    assert report is not None
    assert (report.state, bool(report.why)) == (GuardState.DISARMED, True)
    verdict = mind.guards.judge(call("npm install"))
    assert verdict is None or verdict.answer is GuardAnswer.REMIND


@pytest.mark.parametrize("way", ["says the opposite", "replaces it", "disputes it", "names a reviewed one"])
def test_an_agent_cannot_take_a_guard_away_by_contradicting_its_memory(
    open_mind: Open, mind: Hivemind, way: str
) -> None:
    memory = mind.remember(RULE)
    mind.guards.set(memory.id, NPM, answer="deny")
    agent = open_mind(writer=AGENT)

    match way:
        case "says the opposite":
            claim = agent.remember("We use npm, not pnpm")
        case "replaces it":
            claim = agent.remember("Everybody uses bun now", replaces=[memory.id])
        case "disputes it":
            claim = agent.remember("The lockfile is npm's")
            agent.review.dispute(memory.id, claim.id)
        case _:
            claim = mind.remember("The registry needs a token")
            with pytest.raises(Refused):
                agent.review.dispute(memory.id, claim.id)

    assert mind.guards.check("npm install").answer is GuardAnswer.DENY  # type: ignore[union-attr]
    # As soon as a person says so too, the guard steps back.
    mind.review.dispute(memory.id, claim.id)
    assert mind.guards.check("npm install").answer is GuardAnswer.REMIND  # type: ignore[union-attr]


def test_a_guard_steps_back_when_the_code_of_its_memory_changed(
    open_mind: Open, make_repository: Callable[..., Path]
) -> None:
    root = make_repository("shop")
    (root / "pay.py").write_text("def charge(card):\n    return card.charge(100)\n")
    git(root, "add", ".")
    git(root, "commit", "-m", "pay")
    mind = open_mind(root)
    memory = mind.remember("charge takes 100 cents: never run make refund", links=["pay.py::charge"])
    mind.guards.set(memory.id, Trigger(commands=("make refund",)), answer="deny")
    assert mind.guards.check("make refund").answer is GuardAnswer.DENY  # type: ignore[union-attr]

    (root / "pay.py").write_text("def charge(card):\n    return card.charge(250)\n")

    assert mind.guards.check("make refund").answer is GuardAnswer.REMIND  # type: ignore[union-attr]
    mind.review.verify(memory.id)
    assert mind.guards.check("make refund").answer is GuardAnswer.DENY  # type: ignore[union-attr]


def test_an_agent_cannot_make_a_guard_stale_by_links_of_its_own(
    open_mind: Open, make_repository: Callable[..., Path]
) -> None:
    root = make_repository("shop")
    (root / "pay.py").write_text("def charge(card):\n    return card.charge(100)\n")
    git(root, "add", ".")
    git(root, "commit", "-m", "pay")
    mind, agent = open_mind(root), open_mind(root, AGENT)
    memory = mind.remember(RULE)
    mind.guards.set(memory.id, NPM, answer="deny")

    with pytest.raises(Refused):
        agent.code.link(memory.id, ["pay.py::charge"])
    assert agent.remember(RULE, links=["pay.py::charge"]).id == memory.id
    assert agent.show(memory.id).anchors == ()

    own = agent.remember("Refunds are slow")
    assert agent.code.link(own.id, ["pay.py::charge"]).anchors


def test_the_status_names_guards_that_do_not_act_any_more(mind: Hivemind) -> None:
    memory = mind.remember(RULE)
    mind.guards.set(memory.id, NPM)
    assert "hivemind guard" not in [step.command for step in mind.maintenance.status().next]

    mind.edit(memory.id, "We use pnpm in the web folder")

    assert "hivemind guard" in [step.command for step in mind.maintenance.status().next]


def test_a_pause_and_an_end_let_calls_pass(mind: Hivemind, clock: Clock) -> None:
    memory = mind.remember(RULE)
    mind.guards.set(memory.id, NPM, answer="deny", until="6w")

    assert mind.guards.pause(memory.id, "1h").state is GuardState.PAUSED
    assert mind.guards.check("npm install").answer is GuardAnswer.REMIND  # type: ignore[union-attr]
    clock.advance(hours=2)
    assert mind.guards.check("npm install").answer is GuardAnswer.DENY  # type: ignore[union-attr]
    clock.advance(weeks=7)
    assert mind.guards.check("npm install") is None
    assert mind.guards.list_all()[0].state is GuardState.ENDED


def test_the_strongest_answer_counts_and_a_lifted_guard_says_nothing(mind: Hivemind) -> None:
    asking, refusing = mind.remember(RULE), mind.remember("The registry needs a token")
    mind.guards.set(asking.id, NPM, answer="ask")
    mind.guards.set(refusing.id, NPM, answer="deny")

    assert mind.guards.check("npm install").memory.id == refusing.id  # type: ignore[union-attr]
    mind.guards.lift(refusing.id)
    assert mind.guards.check("npm install").memory.id == asking.id  # type: ignore[union-attr]
    mind.guards.lift(asking.id)
    assert mind.guards.check("npm install") is None
    with pytest.raises(NotFound):
        mind.guards.lift(asking.id)


def test_a_guard_of_another_repository_is_silent_here_and_one_for_everywhere_is_not(
    open_mind: Open, make_repository: Callable[..., Path]
) -> None:
    here, there = open_mind(make_repository("here")), open_mind(make_repository("there"))
    local = there.remember("Never run make deploy there")
    there.guards.set(local.id, Trigger(commands=("make deploy",)))
    everywhere = there.remember("Never force-push", scope="user")
    there.guards.set(everywhere.id, Trigger(commands=("git push --force",)))

    assert here.guards.check("make deploy") is None
    assert here.guards.check("git push -f")


def test_a_guard_that_acts_leaves_a_receipt_and_a_rebuild_keeps_it(mind: Hivemind) -> None:
    memory = mind.remember(RULE)
    mind.guards.set(memory.id, NPM, answer="deny")
    mind.guards.judge(call("npm install"))

    mind.maintenance.rebuild()

    report = mind.guards.list_all()[0]
    assert (report.acts, report.state) == (1, GuardState.ARMED)
    assert [receipt.occasion for receipt in mind.explain(memory.id).receipts] == ["guard-deny"]


def test_erasing_a_memory_erases_its_guard(mind: Hivemind, home: Path) -> None:
    memory = mind.remember("Never run flugelhorn on the cluster")
    mind.guards.set(memory.id, Trigger(commands=("flugelhorn start",)), answer="deny")

    mind.erase(memory.id)
    mind.close()

    assert not [file for file in home.rglob("*") if file.is_file() and b"flugelhorn start" in file.read_bytes()]


def test_a_trigger_is_tried_on_past_sessions(mind: Hivemind) -> None:
    memory = mind.remember(RULE)
    for number, command in enumerate(["npm install x", "npm test", "pnpm install", "echo npm install"]):
        mind._context.store.record(
            [mind._context.factory.event(_observe(command, number), Scope.PROJECT, mind.repository.id)]
        )

    trial = mind.guards.try_on_past(NPM)

    assert trial.sessions == 1
    assert [past.call for past in trial.acts] == ["npm install x"]
    assert [past.call for past in trial.near] == ["npm test"]
    assert mind.guards.propose(memory.id).commands == ("npm",)


def _observe(command: str, number: int) -> ObservationMade:
    return ObservationMade(
        agent="claude-code", session_id="s1", seen=ObservationKind.TOOL, tool="Bash", command=command,
        output=str(number),
    )  # fmt: skip


@pytest.mark.parametrize("pattern", ["", "   ", "-rf", "'npm", "*"])
def test_a_command_pattern_needs_a_program(mind: Hivemind, pattern: str) -> None:
    memory = mind.remember(RULE)

    with pytest.raises(InvalidInput):
        mind.guards.set(memory.id, Trigger(commands=(pattern,)))


@pytest.mark.parametrize("pattern", ["[id].tsx", "app/[id].tsx", "app/**", "*.[jt]sx", "App", "app/"])
def test_a_file_pattern_matches_a_name_with_brackets(open_mind: Open, shop: Path, pattern: str) -> None:
    mind = open_mind(shop)
    mind.guards.set(mind.remember("The router owns these").id, Trigger(files=(pattern,)), answer="deny")

    assert mind.guards.judge(decode("Write", shop, file_path="app/[id].tsx", content="x"))
    assert mind.guards.judge(decode("Write", shop, file_path="lib/i.md", content="x")) is None


@pytest.mark.parametrize("pattern", ["/etc/passwd", "../x", "**", "/"])
def test_a_file_pattern_stays_in_the_repository(mind: Hivemind, pattern: str) -> None:
    memory = mind.remember(RULE)

    with pytest.raises(InvalidInput):
        mind.guards.set(memory.id, Trigger(files=(pattern,)))
    with pytest.raises(InvalidInput, match="needs a trigger"):
        mind.guards.set(memory.id, Trigger())


@pytest.mark.parametrize("symbol", ["charge", "::charge", "pay.py::"])
def test_a_symbol_needs_a_file_and_a_name(mind: Hivemind, symbol: str) -> None:
    memory = mind.remember(RULE)

    with pytest.raises(InvalidInput):
        mind.guards.set(memory.id, Trigger(symbols=(symbol,)))
    report = mind.guards.set(memory.id, Trigger(symbols=("./pay.py::Cart.add", "pay.rs::Cart::add")))
    assert report.guard.trigger.symbols == ("pay.py::Cart.add", "pay.rs::Cart.add")
