"""A receipt says "done" only where nothing is left, itself included, and an erasure without one is noticed."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.erase.plan import ErasurePlan, count_unfinished, save_plan
from hivemind.errors import HivemindError
from hivemind.model.claim import Claim
from hivemind.model.memory import Channel
from hivemind.paths import ERASURE_PLANS
from tests.command_line import residue, run, run_json
from tests.conftest import Open, Tally
from tests.erase.quoted import left
from tests.erase.test_erase import PADDING, TEXT, TRIALS, eraser, is_there, observe, remaining
from tests.erase.test_stays_out import hook

# -- what receipts and questions hold ------------------------------------------------------------------


def test_a_receipt_does_not_repeat_a_source_that_quotes_the_text(mind: Hivemind, home: Path) -> None:
    memory = mind.remember(TEXT, sources=[f"mail: {TEXT}", "docs/box.md:3-9"])

    receipt = mind.erase(memory.id)

    assert receipt.is_complete
    assert left(home, TEXT) == []
    assert ("docs/box.md", "lines 3-9") in [(place.name, place.detail) for place in receipt.places]


def test_what_quotes_only_the_action_of_a_trace_is_erased_with_it(mind: Hivemind, home: Path) -> None:
    action = "Moved the ledger of Zabrowski to Nordbank"
    trace = mind.store_trace(agent="codex", action=action, reasoning="The old bank has closed. " * 9)
    quoting, other = observe(mind, f"please go on: {action}"), observe(mind, "Moved the ledger to the shelf")

    receipt = mind.erase(trace.id)

    assert receipt.is_complete
    assert [is_there(mind, entry) for entry in (quoting, other)] == [False, True]
    assert left(home, action) == []


def test_a_question_with_a_word_that_only_the_memory_has_is_erased_with_it(mind: Hivemind, home: Path) -> None:
    memory = mind.remember("Zabrowski of Nordbank pays the invoices of the harbour late every second Friday")
    mind.remember("The invoices of the harbour go out on Mondays")
    mind.recall("Zabrowski invoices?")
    mind.recall("invoices harbour")

    assert mind.erase(memory.id).is_complete

    assert not residue(home, b"Zabrowski")
    assert {receipt.query for receipt in mind.history.receipts()} == {"invoices harbour"}


def test_a_session_named_like_the_text_stays_in_the_headers_and_the_receipt_says_so(
    open_mind: Open, home: Path, tmp_path: Path
) -> None:
    mind = open_mind()
    hook(home, tmp_path, "look", session=TEXT)
    mind.sessions.take_in_spool()

    receipt = mind.erase(mind.remember(TEXT).id)

    assert [(place.name, "session" in place.detail) for place in remaining(receipt)] == [("files", True)]


# -- following the advice ------------------------------------------------------------------------------


def test_after_following_a_receipts_advice_erasing_again_succeeds(
    mind: Hivemind, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    memory, other = mind.remember(TEXT), mind.remember(f"He said: {TEXT}, and left")
    lamp = mind.remember("The lamp is by the window")
    mind.review.verify(lamp.id, reason=TEXT)
    mind.maintenance.backup()
    (home / "notes.txt").write_text(TEXT)
    (home / "edited.txt").write_text(TEXT)
    first = mind.erase(memory.id)
    assert {place.name for place in remaining(first)} >= {f"memory {other.id[:8]}", "notes.txt", "files"}
    assert run("erase", memory.id).exit_code == 1

    mind.erase(other.id, also=[lamp.id])
    assert run("erase", memory.id).exit_code == 1
    (home / "notes.txt").unlink()
    (home / "edited.txt").write_text("nothing to see")

    again = run("erase", memory.id)

    assert again.exit_code == 0, again.output
    assert left(home, TEXT) == []
    assert run_json("erase", memory.id)["places"] == run_json("erase", memory.id)["places"]


def test_a_receipt_stays_open_while_its_advice_is_not_followed(mind: Hivemind, home: Path) -> None:
    memory = mind.remember(TEXT)
    (home / "notes.txt").write_text(TEXT)
    first = mind.erase(memory.id)

    assert not first.is_complete
    assert mind.erase(memory.id) == first


# -- lost notes ----------------------------------------------------------------------------------------

DAMAGES: dict[str, Callable[[Path], object]] = {
    "torn": lambda note: note.write_bytes(note.read_bytes()[: note.stat().st_size // 2]),
    "empty": lambda note: note.write_bytes(b""),
    "garbled": lambda note: note.write_bytes(bytes(byte ^ 0x15 for byte in note.read_bytes())),
    "with a changed letter": lambda note: note.write_bytes(note.read_bytes().replace(b"lamp", b"limp")),
    "deleted": lambda note: note.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("has_backup", [True, False], ids=["backup", "no backup"])
def test_an_erasure_whose_note_is_lost_is_finished_by_the_log(
    open_mind: Open, tmp_path: Path, tally: Tally, damage: str, has_backup: bool
) -> None:
    full = tmp_path / "full"
    mind = open_mind(home=full)
    memory = mind.remember(TEXT)
    mind.remember("The lamp is by the window")
    if has_backup:
        mind.maintenance.backup()
    mind.close()
    shutil.copytree(full, tmp_path / "whole")
    steps = int(eraser(tmp_path / "whole", memory.id, -1).stdout)
    interrupted = finished = 0
    for step in range(steps // 3, steps, 5 if TRIALS >= 500 else max(1, steps // 5)):
        home = tmp_path / f"step-{step}"
        shutil.copytree(full, home)
        eraser(home, memory.id, step)
        # A hook wrote it down in the meantime.
        (home / "spool").write_text(f"codex\tStop\t2026-03-01T12:00:00.000000Z\t{json.dumps({'text': TEXT})}\n")
        for note in home.glob(ERASURE_PLANS):
            DAMAGES[damage](note)

        with open_mind(home=home) as again:
            findings = {finding.what: finding for finding in again.maintenance.doctor(quick=True)}
            is_kept = any(one.id == memory.id for one in again.list())
            assert findings["erasures"].is_well, (step, findings["erasures"])
            if not is_kept:
                interrupted, finished = interrupted + 1, finished + 1
                assert again.erase(memory.id).is_complete
                assert left(home, TEXT) == [], (step, damage)
        assert count_unfinished(home) == 0
        shutil.rmtree(home)
    assert interrupted
    tally(f"interrupted erasures with a note that was {damage}, finished", interrupted, finished)


def test_an_erasure_that_is_still_going_on_is_left_to_its_process(open_mind: Open, home: Path) -> None:
    mind = open_mind()
    memory = mind.remember(TEXT)
    plan = ErasurePlan(
        batch="erase-0", at="2026-03-01T12:00:00.000000Z", actor="ada", channel=Channel.PERSON, session="", reason="",
        memories=(memory.id,), entries=(), texts=(TEXT,), places=(),
    )  # fmt: skip
    with save_plan(home, plan):
        assert not next(one for one in open_mind().maintenance.doctor(quick=True) if one.what == "erasures").is_well

    assert next(one for one in open_mind().maintenance.doctor(quick=True) if one.what == "erasures").is_well
    assert mind.list() == ()


# -- every field and every door ------------------------------------------------------------------------

Door = Callable[[Hivemind, str], object]

DOORS: dict[str, Door] = {
    "metadata": lambda mind, text: mind.remember(text, metadata={"customer": text}),
    "metadata of another": lambda mind, text: mind.remember("The till is red", metadata={"customer": text}),
    "subject": lambda mind, text: mind.remember(text, subject=text),
    "tag": lambda mind, text: mind.remember(text, tags=[text]),
    "tag of another": lambda mind, text: mind.remember("The till is blue", tags=[text]),
    "source": lambda mind, text: mind.remember(text, sources=[f"mail: {text}"]),
    "source before the colon": lambda mind, text: mind.remember(text, sources=[f"{text}:12"]),
    "link": lambda mind, text: mind.remember(text, links=[text]),
    "session": lambda mind, text: mind.remember_all([Claim(text=text, session_id=text)]),
    "trace": lambda mind, text: mind.store_trace(agent="codex", action=text, reasoning="Because of the till. " * 9),
    "reason": lambda mind, text: mind.review.verify(mind.remember("The till is old").id, reason=text),
    "own reason": lambda mind, text: mind.review.verify(mind.remember(text).id, reason=text),
    "edit": lambda mind, text: mind.edit(mind.remember(f"{text} once").id, text),
    "prompt": lambda mind, text: observe(mind, f"look at this: {text}"),
    "output": lambda mind, text: observe(mind, "look", output=PADDING + text + PADDING),
    "output as JSON": lambda mind, text: observe(mind, "look", output=json.dumps({"x": json.dumps({"y": text})})),
    "question": lambda mind, text: mind.recall(text),
    "question of few words": lambda mind, text: mind.recall(" ".join(text.split()[:2])),
    "backup": lambda mind, text: mind.maintenance.backup(),
    "reason of an erasure": lambda mind, text: mind.erase(
        mind.remember(f"Till {len(mind.history.log(limit=5000))} is new").id, reason=text
    ),
}


def make_text(chance: random.Random) -> tuple[str, str]:
    """A text of several words, and the one of them that nothing else has."""
    name = "".join(chance.choices("bcdfghjklmnpqrstvwxz", k=11))
    # Of so many words that no other trial has three of them in a row.
    syllables = [first + second for first in "bdfgklmnprst" for second in ("a", "e", "i", "o", "ö", "ñu")]
    words = ["".join(chance.choices(syllables, k=2)) for _ in range(chance.choice([5, 8, 14]))]
    return " ".join([name.capitalize(), *words]), name


def test_random_erasures_through_every_field_and_door_leave_nothing_where_the_receipt_says_done(
    open_mind: Open, home: Path, tally: Tally
) -> None:
    chance = random.Random(23)
    mind = open_mind()
    complete = returned = 0
    for trial in range(TRIALS):
        text, name = make_text(chance)
        first = mind.remember(text)
        doors = chance.sample(list(DOORS), k=chance.choice([1, 2, 4]))
        for door in doors:
            DOORS[door](mind, text)
        mind._context.store.checkpoint()
        others = [one.id for one in mind.list(limit=1000, everywhere=True) if text in one.text and one.id != first.id]

        receipt = mind.erase(first.id, also=others)

        if receipt.is_complete:
            complete += 1
            assert left(home, name) == [], (trial, text, doors, receipt)
        else:
            # Something is said to be left, and it is.
            assert left(home, name), (trial, text, doors, receipt)
        again = chance.choice([door for door in DOORS if not door.startswith(("question", "backup"))])
        before = left(home, name)
        try:
            DOORS[again](mind, text)
        except HivemindError:
            returned += 1
        mind._context.store.checkpoint()
        assert set(left(home, name)) <= set(before), (trial, text, again)
        for file in home.glob("backups/*"):
            file.unlink()
    assert complete >= TRIALS // 3
    tally("erasures through every field and door, done only where nothing is left", TRIALS, TRIALS)
    tally("erased texts that did not come back by a random door", TRIALS, TRIALS)
