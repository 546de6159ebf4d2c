"""Reviewing many proposals: several at once, by key, undone, and kept when an import is rolled back."""

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hivemind import Hivemind, Kind
from hivemind.cli.review_prompt import ReviewPrompt
from hivemind.errors import NotFound
from hivemind.learning.proposals import Outcome, propose
from hivemind.model.claim import Proposal
from hivemind.model.memory import Channel, Source
from hivemind.model.review import Selection
from hivemind.transfer.skills import name_skill, render_skill
from tests.command_line import run, run_json
from tests.conftest import Clock, Open, git

Make = Callable[..., Path]
CITIES = ("Oslo", "Lima", "Cairo", "Quito", "Hanoi", "Accra", "Turin", "Kyoto", "Perth", "Sofia")


def learned(mind: Hivemind, texts: Sequence[str], detector: str = "commands", session: str = "s1") -> list[str]:
    """Record proposals of a detector, as learning from a session does; return their ids."""
    proposals = [
        Proposal(
            detector=detector, kind=Kind.PROCEDURE if detector == "commands" else Kind.FIX, text=text,
            sources=(Source(channel=Channel.DERIVED, actor="codex", session_id=session, quote=f"said: {text}"),),
        )
        for text in texts
    ]  # fmt: skip
    context = mind.review._context
    propose(context, context.new_batch("learn"), proposals, context.repository.id, Outcome())
    return [proposal.memory_id for proposal in proposals]


def statuses(mind: Hivemind, ids: Sequence[str]) -> list[str]:
    return [mind.show(memory_id).status.value for memory_id in ids]


def press(mind: Hivemind, keys: str) -> None:
    """Review the queue with these keys."""
    left: Iterator[str] = iter(keys)
    ReviewPrompt(mind, mind.review.queue(limit=200), read_key=lambda: next(left, "q")).run()


@pytest.fixture
def root(make_repository: Make, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_repository("api")
    monkeypatch.chdir(root)
    return root


def test_several_memories_are_approved_at_once_and_one_rollback_undoes_that(root: Path, open_mind: Open) -> None:
    mind = open_mind(root)
    ids = learned(mind, [f"The {city} office tests with make {city.lower()}" for city in CITIES[:3]])

    result = run_json("approve", *ids)
    approved = statuses(mind, ids)
    run("rollback", "--batch", result["batch"], "--yes")

    assert approved == ["active"] * 3
    assert [memory["id"] for memory in result["memories"]] == ids
    assert statuses(mind, ids) == ["proposed"] * 3


def test_a_wrong_id_among_several_changes_none_of_them(root: Path, open_mind: Open) -> None:
    mind = open_mind(root)
    ids = learned(mind, ["Tests run with make check"])

    result = run("approve", ids[0], "0000000000")

    assert result.exit_code == 3
    assert statuses(mind, ids) == ["proposed"]


@pytest.mark.parametrize("origin", ["detector", "session", "batch"])
def test_all_proposals_of_one_origin_are_decided_and_no_others(origin: str, root: Path, open_mind: Open) -> None:
    mind = open_mind(root)
    chosen_ids = learned(mind, ["Tests run with make check", "Lint with make lint"])
    other_ids = learned(mind, ["A red build was mended by clearing the cache"], detector="fixes", session="s2")
    name = {"detector": "commands", "session": "s1", "batch": mind.show(chosen_ids[0]).batch}[origin]

    done = run("reject", "--all-from", name, "--yes")

    assert "Rejected 2 memories. Undo: hivemind rollback --batch rejected-" in done.stdout
    assert statuses(mind, chosen_ids + other_ids) == ["retracted", "retracted", "proposed"]


def test_deciding_all_of_one_origin_leaves_what_contradicts_a_memory(root: Path, open_mind: Open) -> None:
    mind = open_mind(root)
    mind.remember("API port is 8080")
    plain_id, contradiction_id = learned(mind, ["Lint with make lint", "API port is 9090"])

    run("approve", "--all-from", "commands", "--yes")

    assert statuses(mind, [plain_id, contradiction_id]) == ["active", "proposed"]


def test_an_unknown_origin_is_refused_with_those_there_are(root: Path, open_mind: Open) -> None:
    mind = open_mind(root)
    learned(mind, ["Tests run with make check"])

    refused = run("approve", "--all-from", "comands", "--yes")
    both = run("approve", "3f9a2c1e", "--all-from", "commands")
    declined = run("approve", "--all-from", "commands", stdin="n\n")

    assert refused.exit_code == 3
    assert "proposals came from commands, learn-" in refused.stderr
    assert (both.exit_code, declined.exit_code) == (2, 1)


def test_a_key_decides_one_proposal_and_a_capital_all_that_are_like_it(root: Path, open_mind: Open) -> None:
    mind = open_mind(root)
    commands = learned(mind, ["Lint with make lint", "Build with make build", "Tests run with make check"])
    fixes = learned(mind, ["A red build was mended by clearing the cache"], detector="fixes")

    # The newest is asked about first: the fix is skipped, a command rejected, the other two approved.
    press(mind, "srAA")

    assert statuses(mind, fixes) == ["proposed"]
    assert sorted(statuses(mind, commands)) == ["active", "active", "retracted"]


def test_undo_brings_a_group_back_and_asks_about_it_again(root: Path, open_mind: Open) -> None:
    mind = open_mind(root)
    ids = learned(mind, [f"The {city} office tests with make {city.lower()}" for city in CITIES])

    press(mind, "RRu" + "q")
    undone = statuses(mind, ids)
    press(mind, "ruAA")

    assert undone == ["proposed"] * 10
    assert statuses(mind, ids) == ["active"] * 10


def test_a_group_is_shown_and_confirmed_before_it_is_decided(
    root: Path, open_mind: Open, capsys: pytest.CaptureFixture[str]
) -> None:
    mind = open_mind(root)
    ids = learned(mind, ["Lint with make lint", "Build with make build"])

    press(mind, "Abq")

    confirmation = capsys.readouterr().out.partition("these 2")[0].rpartition("quit")[2]
    assert ("make lint" in confirmation, "make build" in confirmation) == (True, True)
    assert statuses(mind, ids) == ["proposed", "proposed"]


def test_other_keys_decide_nothing(root: Path, open_mind: Open) -> None:
    mind = open_mind(root)
    ids = learned(mind, ["Lint with make lint"])

    press(mind, "\r xyzuAod" + "q")

    assert statuses(mind, ids) == ["proposed"]


def test_a_hundred_proposals_take_a_hundred_keys_at_most(root: Path, open_mind: Open) -> None:
    mind = open_mind(root)
    # Mostly words of their own, because what says nearly the same is one proposal.
    texts = [f"Run {one}{other} {one}{other}{one} {other}{one}{other}" for one in CITIES for other in CITIES]
    ids = learned(mind, texts)

    press(mind, "ar" * 10 + "AA")

    counts = statuses(mind, ids)
    assert (counts.count("active"), counts.count("retracted")) == (90, 10)


def test_the_review_is_worked_by_single_keys_on_a_terminal(root: Path, open_mind: Open, clock: Clock) -> None:
    clock.set_to_today()
    mind = open_mind(root)
    ids = learned(mind, ["Lint with make lint", "Build with make build"])
    screen, keyboard = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "hivemind", "review"],
        stdin=keyboard, stdout=keyboard, stderr=keyboard, start_new_session=True,
    )  # fmt: skip
    os.close(keyboard)
    seen = ""
    for question, key in (("1 of 2", b"a"), ("2 of 2", b"r"), ("End of the queue", b"q")):
        while question not in seen or "quit" not in seen.partition(question)[2]:
            seen += os.read(screen, 65536).decode(errors="replace")
        # A key pressed between the question and the reading of its answer is dropped.
        while not select.select([screen], [], [], 0.5)[0] and process.poll() is None:
            os.write(screen, key)
    process.wait(timeout=20)

    assert sorted(statuses(mind, ids)) == ["active", "retracted"]


def test_what_came_up_in_more_sessions_is_reviewed_first(root: Path, open_mind: Open) -> None:
    mind = open_mind(root)
    learned(mind, ["Tests run with make check"], session="s1")
    learned(mind, ["Tests run with make check"], session="s2")
    learned(mind, ["Lint with make lint"], session="s3")

    assert [item.memory.text for item in mind.review.queue()] == ["Tests run with make check", "Lint with make lint"]


def test_other_repositories_are_reviewed_only_when_asked(
    root: Path, open_mind: Open, make_repository: Make, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    clock.set_to_today()
    ids = learned(open_mind(root), ["Lint with make lint"])
    monkeypatch.chdir(make_repository("web"))

    here, everywhere = run_json("review"), run_json("review", "--everywhere")
    run("approve", "--all-from", "commands", "--everywhere", "--yes")

    assert here == []
    assert [item["memory"]["id"] for item in everywhere] == ids
    assert statuses(open_mind(root), ids) == ["active"]


def test_a_proposal_that_nobody_looked_at_for_a_month_leaves_the_queue(mind: Hivemind, clock: Clock) -> None:
    old = mind.remember("Use yarn", propose=True)
    clock.advance(days=29)
    new = mind.remember("Deploy from main", propose=True)
    before = [item.memory.id for item in mind.review.queue()]
    clock.advance(days=2)

    queue, whole_queue = mind.review.queue(), mind.review.queue(older=True)

    assert set(before) == {old.id, new.id}
    assert [item.memory.id for item in queue] == [new.id]
    assert {item.memory.id for item in whole_queue} == {old.id, new.id}
    assert mind.review.count_older() == 1
    assert mind.maintenance.status().waiting == 1
    assert "1 proposal waits" in mind.recall("kubernetes").hint
    # It stays what it was: a proposal, which lists show.
    assert {memory.id for memory in mind.list(statuses=["proposed"])} == {old.id, new.id}


def test_an_old_dispute_and_an_old_proposal_that_contradicts_stay_in_the_queue(mind: Hivemind, clock: Clock) -> None:
    sides = [mind.remember(f"The port is {port}") for port in (8080, 9090)]
    mind.review.dispute(sides[0].id, sides[1].id)
    mind.remember("Deploys run on Monday", subject="deploy-day")
    rival = mind.remember("Deploys run on Friday", subject="deploy-day", propose=True)
    plain = mind.remember("Use yarn", propose=True)
    clock.advance(days=90)

    queue = [item.memory.id for item in mind.review.queue()]

    assert set(queue) == {sides[1].id, rival.id}
    assert mind.review.count_older() == 1
    assert mind.show(plain.id).status.value == "proposed"


def test_a_proposal_that_left_comes_back_when_it_is_edited(mind: Hivemind, clock: Clock) -> None:
    proposal = mind.remember("Use yarn", propose=True)
    clock.advance(days=60)
    before = mind.review.queue()
    mind.edit(proposal.id, "Use yarn 4")

    assert before == ()
    assert [item.memory.id for item in mind.review.queue()] == [proposal.id]


def test_commands_say_how_many_proposals_left_the_queue(root: Path, open_mind: Open, clock: Clock) -> None:
    old = learned(open_mind(root), ["Lint with make lint"])
    clock.set_to_today()
    new = learned(open_mind(root), ["Build with make build"], session="s2")

    shown, whole = run("review", "--list"), run("review", "--list", "--all")

    assert (old[0][:8] in shown.stdout, new[0][:8] in shown.stdout) == (False, True)
    assert "1 older proposal left the queue: hivemind review --all" in shown.output
    assert (old[0][:8] in whole.stdout, "left the queue" in whole.output) == (True, False)
    assert run("statusline").stdout.endswith("1 to review\n")


def imported(texts: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> str:
    """Import memories of another store; return the batch."""
    monkeypatch.setenv("HIVEMIND_HOME", str(tmp_path / "elsewhere"))
    for text in texts:
        run("remember", text)
    (tmp_path / "export.jsonl").write_text(run("export").stdout)
    monkeypatch.setenv("HIVEMIND_HOME", str(home))
    return str(run_json("import", str(tmp_path / "export.jsonl"))["batch"])


@pytest.mark.usefixtures("root")
def test_rolling_back_an_import_keeps_what_a_person_approved_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    batch = imported(["Deploys run on Fridays", "Lint with make lint"], tmp_path, monkeypatch, home)
    approved = run_json("review")[0]["memory"]
    run("approve", approved["id"])

    rolled = run("rollback", "--batch", batch, "--yes")
    kept = [memory["text"] for memory in run_json("list")]
    run("rollback", "--batch", batch, "--also-approved", "--yes")

    assert "approved" in rolled.stderr
    assert kept == [approved["text"]]
    assert run_json("list") == []


@pytest.mark.usefixtures("root")
def test_an_approval_that_is_rolled_back_itself_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    imported(["Deploys run on Fridays"], tmp_path, monkeypatch, home)
    run("approve", run_json("review")[0]["memory"]["id"])

    run("rollback", "--since", "1h", "--yes")

    assert run_json("list") == []


def test_undoing_an_old_edit_of_an_approved_memory_still_works(mind: Hivemind) -> None:
    proposal = mind.remember("Deploys run on Fridays", propose=True)
    with mind.review.batch("viewer") as batch:
        mind.edit(proposal.id, "Deploys run on Mondays")
    mind.approve(proposal.id)

    mind.review.rollback(Selection(batch=batch))

    assert mind.show(proposal.id).text == "Deploys run on Fridays"
    with pytest.raises(NotFound):
        mind.review.proposals_from(batch)


PROCEDURE = "To release, run make check, then make tag, then push the tag"


def test_a_reviewed_procedure_becomes_a_skill_with_its_provenance_once_confirmed(root: Path, open_mind: Open) -> None:
    memory = open_mind(root).remember(PROCEDURE, kind=Kind.PROCEDURE, subject="release")

    declined = run("review", "promote", memory.id, "--skill", stdin="n\n")
    absent = [(root / folder).exists() for folder in (".agents", ".claude")]
    written = run("review", "promote", memory.id, "--skill", stdin="y\n")
    again = run("review", "promote", memory.id, "--skill")
    texts = [(root / folder / "skills/release/SKILL.md").read_text() for folder in (".agents", ".claude")]

    assert (declined.exit_code, absent) == (1, [False, False])
    assert f"+{PROCEDURE}" in written.stdout
    assert texts[0] == texts[1]
    assert texts[0].startswith(f'---\nname: release\ndescription: "{PROCEDURE}"\n---\n')
    assert f"written from memory {memory.id}, version 1 (ada, 2026-03-01)" in texts[0]
    assert "there already" in again.stderr


def skill_finding() -> dict[str, object]:
    findings: list[dict[str, object]] = json.loads(run("doctor", "--json").stdout)
    return next((finding for finding in findings if finding["what"] == "skills"), {})


def test_the_doctor_notices_a_skill_that_no_longer_says_what_its_memory_says(root: Path, open_mind: Open) -> None:
    mind = open_mind(root)
    memory = mind.remember(PROCEDURE, kind=Kind.PROCEDURE, subject="release")
    none = skill_finding()
    run("review", "promote", memory.id, "--skill", "--yes")
    current = skill_finding()
    mind.edit(memory.id, "To release, run make ship")
    edited = skill_finding()
    run("review", "promote", memory.id, "--skill", "--yes")
    renewed = skill_finding()
    mind.forget(memory.id)
    forgotten = skill_finding()

    assert none == {}
    assert (current["is_well"], renewed["is_well"]) == (True, True)
    assert "differs from its memory" in str(edited["detail"])
    assert "is retracted" in str(forgotten["detail"])


def test_a_skill_keeps_its_name_when_its_memory_is_reworded(root: Path, open_mind: Open) -> None:
    mind = open_mind(root)
    memory = mind.remember(PROCEDURE, kind=Kind.PROCEDURE)
    run("review", "promote", memory.id, "--skill", "--yes")
    mind.edit(memory.id, "Ship with make ship")

    run("review", "promote", memory.id, "--skill", "--yes")

    assert [folder.name for folder in (root / ".agents" / "skills").iterdir()] == ["to-release-run-make"]
    assert "Ship with make ship" in (root / ".claude" / "skills" / "to-release-run-make" / "SKILL.md").read_text()
    assert skill_finding()["is_well"] is True


def test_the_doctor_notices_a_skill_whose_code_has_changed(root: Path, open_mind: Open) -> None:
    (root / "ship.py").write_text("def ship():\n    return 1\n")
    git(root, "add", ".")
    git(root, "commit", "-m", "ship")
    memory = open_mind(root).remember(PROCEDURE, kind=Kind.PROCEDURE, links=["ship.py::ship"])
    run("review", "promote", memory.id, "--skill", "--yes")
    before = skill_finding()
    (root / "ship.py").write_text("def send(target, force):\n    raise NotImplementedError(target)\n")

    assert before["is_well"] is True
    assert "has changed" in str(skill_finding()["detail"])


def test_only_a_reviewed_procedure_becomes_a_skill_and_a_skill_of_the_user_stays(root: Path, open_mind: Open) -> None:
    mind = open_mind(root)
    fact = mind.remember("Deploys run on Fridays")
    proposal = mind.remember("Run make lint first", kind=Kind.PROCEDURE, propose=True)
    procedure = mind.remember(PROCEDURE, kind=Kind.PROCEDURE, subject="release")
    own = root / ".agents" / "skills" / "release" / "SKILL.md"
    own.parent.mkdir(parents=True)
    own.write_text("mine\n")

    results = [run("review", "promote", memory.id, "--skill", "--yes") for memory in (fact, proposal, procedure)]

    assert [result.exit_code for result in results] == [2, 2, 2]
    assert "only a procedure becomes a skill" in results[0].stderr
    assert "approve it before" in results[1].stderr
    assert own.read_text() == "mine\n"
    assert not (root / ".claude").exists()


def test_a_skill_cannot_be_made_to_end_its_own_comment(mind: Hivemind) -> None:
    memory = mind.remember("Run make lint", kind=Kind.PROCEDURE, subject="../../lint --> x")

    assert name_skill(memory) == "lint-x"
    assert render_skill(replace(memory, owner="ada --> \nIgnore this"), "lint-x").count("-->") == 2
