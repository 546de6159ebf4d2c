"""What an erasure promises: nothing is left where the receipt says done, and a crash leaves none half done."""

import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Timer

import pytest

from hivemind import Hivemind, Scope
from hivemind.erase.plan import ErasurePlan, Targets, count_unfinished, save_plan
from hivemind.erase.quotation import Quotation
from hivemind.erase.sweep import erase as erase_targets
from hivemind.model.erasure import ErasedLocation, Erasure
from hivemind.model.events import ObservationMade
from hivemind.model.ids import EventId
from hivemind.model.memory import Channel, Memory
from hivemind.model.session import ObservationKind
from hivemind.paths import ERASURE_PLANS
from tests.command_line import residue, run, run_json
from tests.conftest import Clock, Open, Tally
from tests.erase.quoted import escaped_twice, left

TRIALS = int(os.environ.get("HIVEMIND_ERASURES", "40"))
TEXT = "The pin of the old box is in a red tin can by the lamp"
PADDING = " and then the build went on and printed line after line of its log" * 20
"""Makes an observation long enough to be packed."""


def observe(mind: Hivemind, said: str, output: str = "") -> EventId:
    fact = ObservationMade(agent="claude-code", session_id="s1", seen=ObservationKind.PROMPT, text=said, output=output)
    event = mind._context.factory.event(fact, Scope.PROJECT, mind.repository.id, channel=Channel.TOOL)
    mind._context.store.record([event])
    return event.id


def is_there(mind: Hivemind, entry: EventId) -> bool:
    return any(row[0] == entry for row in mind._context.store.db.execute("SELECT id FROM observations"))


def states(receipt: Erasure) -> dict[str, str]:
    return {place.name: place.state for place in receipt.places}


def remaining(receipt: Erasure) -> list[ErasedLocation]:
    return [place for place in receipt.places if place.state == "remains"]


# -- what counts as a quotation ----------------------------------------------------------------------

QUOTATIONS = {
    "all of it": TEXT,
    "another case": TEXT.upper(),
    "other white space": TEXT.replace(" ", "\n\t "),
    "60 % from its beginning": "The pin of the old box is in a",
    "60 % from its middle": "note: the old box is in a red tin can!",
    "60 % from its end": "IS IN A RED TIN  CAN by the lamp",
    "in JSON in JSON": escaped_twice(TEXT.replace(" in ", "\nin ")),
    "in a long output": PADDING + TEXT.lower() + PADDING,
}
OTHERS = {
    "half of it": "The pin of the old box is lost",
    "its words in another order": "lamp the by can tin red a in is box old the of pin",
    "common speech": "is in a",
    "two halves with another between": "The pin of the old box was found in a red tin can by the lamp",
}


@pytest.mark.parametrize("said", QUOTATIONS.values(), ids=QUOTATIONS)
def test_an_observation_that_quotes_it_goes_from_the_store_and_its_backup(
    mind: Hivemind, home: Path, said: str
) -> None:
    memory = mind.remember(TEXT)
    quoting = observe(mind, "look", output=said)
    mind.maintenance.backup()

    receipt = mind.erase(memory.id)

    assert receipt.is_complete, receipt
    assert not is_there(mind, quoting)
    assert left(home, TEXT) == []


@pytest.mark.parametrize("said", OTHERS.values(), ids=OTHERS)
def test_an_observation_that_merely_shares_words_stays(mind: Hivemind, said: str) -> None:
    memory = mind.remember(TEXT)
    sharing = observe(mind, said)

    receipt = mind.erase(memory.id)

    assert receipt.is_complete, receipt
    assert is_there(mind, sharing)


def test_an_observation_of_what_another_memory_says_stays(mind: Hivemind) -> None:
    wrong = mind.remember("The staging port is 8080")
    mind.remember("The staging port is 9090")
    about_the_other, about_it = observe(mind, "the staging port is 9090"), observe(mind, "the staging PORT is 8080")

    receipt = mind.erase(wrong.id)

    assert receipt.is_complete, receipt
    assert (is_there(mind, about_the_other), is_there(mind, about_it)) == (True, False)


def test_an_observation_that_quotes_the_metadata_is_erased_and_one_with_a_common_word_stays(mind: Hivemind) -> None:
    memory = mind.remember(TEXT, metadata={"ticket": "ACME-20417-B", "language": "Python"})
    about_the_ticket, about_the_language = observe(mind, "work on ACME-20417-B"), observe(mind, "work on Python")

    receipt = mind.erase(memory.id)

    assert receipt.is_complete, receipt
    assert (is_there(mind, about_the_ticket), is_there(mind, about_the_language)) == (False, True)


def test_a_text_in_letters_beyond_ascii_is_found_in_every_spelling(mind: Hivemind, home: Path) -> None:
    text = "Die Schlüssel für größere Räume hängen über der Küchentür"
    memory = mind.remember(text)
    observe(mind, text.upper())
    observe(mind, escaped_twice(text))

    assert mind.erase(memory.id).is_complete
    assert left(home, text) == []


def test_each_script_is_cut_into_words_that_can_be_quoted() -> None:
    text = "我们的数据库密码放在红色盒子里"

    assert Quotation.of([text]).find_runs("注意:数据库密码放在红色盒子里")
    assert not Quotation.of([text]).find_runs("注意:我们的数据库很大")


# -- what the receipt names --------------------------------------------------------------------------


def test_another_memory_or_trace_that_contains_it_is_named_with_its_id(mind: Hivemind, home: Path) -> None:
    memory = mind.remember(TEXT)
    other = mind.remember(f"Remember for later: {TEXT.upper()}, says the cook")
    trace = mind.store_trace(agent="codex", action="Looked around", reasoning=TEXT.lower(), result="found")

    receipt = mind.erase(memory.id)

    named = {f"memory {one.id[:8]}" for one in (other, trace)}
    assert {place.name for place in remaining(receipt)} == {*named, "files"}
    assert not receipt.is_complete
    assert mind.show(other.id) == other
    assert left(home, TEXT) != []
    assert mind.erase(other.id, also=[trace.id]).is_complete
    assert left(home, TEXT) == []


def test_memories_that_contain_it_are_erased_with_it_under_one_receipt(mind: Hivemind, home: Path) -> None:
    memory, other = mind.remember(TEXT), mind.remember(f"Remember for later: {TEXT}, says the cook")
    kept = mind.remember("The lamp is by the window")

    receipt = mind.erase(memory.id, also=[other.id])

    assert receipt.is_complete
    assert set(receipt.memories) == {memory.id, other.id}
    assert left(home, TEXT) == []
    assert [one.id for one in mind.list()] == [kept.id]


def test_a_reason_that_quotes_it_is_named_by_its_log_entry(mind: Hivemind) -> None:
    memory, other = mind.remember(TEXT), mind.remember("The tin can is blue")
    mind.forget(other.id, reason=f"no: {TEXT}")

    receipt = mind.erase(memory.id)

    (entry,) = [one for one in mind.history.log() if one.fact == "memory.retracted"]
    assert entry.event is not None
    assert f"log entry {entry.event.id}" in [place.name for place in remaining(receipt)]


def test_the_reason_of_the_erasure_itself_is_not_recorded_where_it_quotes_it(mind: Hivemind, home: Path) -> None:
    memory = mind.remember(TEXT)

    receipt = mind.erase(memory.id, reason=f"nobody should know: {TEXT}")

    assert receipt.is_complete
    assert left(home, TEXT) == []


def test_a_copy_elsewhere_below_the_home_directory_is_named(mind: Hivemind, home: Path) -> None:
    memory = mind.remember(TEXT)
    (home / "notes.txt").write_text(TEXT.upper())

    assert states(mind.erase(memory.id))["notes.txt"] == "remains"


def test_what_hooks_and_errors_left_loses_what_quotes_it_and_nothing_else(mind: Hivemind, home: Path) -> None:
    memory = mind.remember(TEXT)
    (home / "quarantine").mkdir()
    said = json.dumps({"text": TEXT.upper()})
    (home / "spool").write_text(f"a\tb\t2026\t{said}\na\tb\t2026\t{{}}\n")
    (home / "quarantine" / "0a").write_text(f'{{"door": "hook"}}\n{said}')
    (home / "quarantine" / "0b").write_text('{"door": "hook"}\n{"text": "the old box"}')
    (home / "last-error.txt").write_text(f"ValueError: {TEXT}")

    receipt = mind.erase(memory.id)

    assert receipt.is_complete
    assert (home / "spool").read_text() == "a\tb\t2026\t{}\n"
    assert [file.name for file in (home / "quarantine").iterdir()] == ["0b"]
    assert left(home, TEXT) == []


def test_a_second_erasure_of_the_same_memory_shows_the_receipt_of_the_first(
    mind: Hivemind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    memory = mind.remember(TEXT)
    first = mind.erase(memory.id)

    assert mind.erase(memory.id[:8]) == first
    assert run_json("erase", memory.id, "--yes")["places"] == run_json("erase", memory.id)["places"]
    assert run("erase", memory.id).exit_code == 0


def test_targets_can_be_entries_and_texts_without_a_memory(mind: Hivemind, home: Path) -> None:
    named, quoting = observe(mind, "a ticket nobody wants"), observe(mind, TEXT.upper())
    kept = observe(mind, "The lamp is by the window")

    receipt = erase_targets(mind._context.store, mind._context.factory, Targets(entries=(named,), texts=(TEXT,)))

    assert receipt.is_complete
    assert [is_there(mind, one) for one in (named, quoting, kept)] == [False, False, True]
    assert left(home, TEXT) == []


# -- crashes -----------------------------------------------------------------------------------------

ERASER = """
import os, signal, sys
from pathlib import Path
from hivemind import Hivemind
from hivemind.model.memory import Channel
from hivemind.model.memory import Writer
from hivemind.settings import Settings

home, memory, last = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
WATCHED = (
    "erase/plan.py", "erase/sweep.py", "erase/residue.py", "erase/receipt.py", "store/backup.py", "store/store.py",
)
seen = {}

def watch(frame, event, value):
    if event in ("call", "return") and frame.f_code.co_filename.endswith(WATCHED):
        step = (event, frame.f_code.co_filename, frame.f_code.co_name)
        if step not in seen:
            seen[step] = len(seen)
            if seen[step] == last:
                os.kill(os.getpid(), signal.SIGKILL)

settings, writer = Settings(home=home, person="ada"), Writer(actor="ada", channel=Channel.PERSON)
with Hivemind.open(directory=home.parent, settings=settings, writer=writer) as mind:
    sys.setprofile(watch)
    mind.erase(memory)
    sys.setprofile(None)
print(len(seen))
"""


def eraser(home: Path, memory: str, last: int) -> "subprocess.CompletedProcess[str]":
    """Erases in a process of its own that is killed at a step; each first call and return of a function is one."""
    line = [sys.executable, "-c", ERASER, str(home), memory, str(last)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_a_kill_at_any_step_leaves_an_erasure_that_the_next_open_finishes(
    open_mind: Open, tmp_path: Path, tally: Tally
) -> None:
    full = tmp_path / "full"
    mind = open_mind(home=full)
    memory = mind.remember(TEXT)
    mind.remember("The lamp is by the window")
    observe(mind, "look", output=PADDING + TEXT.upper() + PADDING)
    mind.maintenance.backup()
    mind.close()
    (full / "spool").write_text(f"a\tb\t2026\t{json.dumps({'text': TEXT})}\n")
    shutil.copytree(full, tmp_path / "whole")
    steps = int(eraser(tmp_path / "whole", memory.id, -1).stdout)
    killed = clean = 0
    for step in range(0, steps, 1 if TRIALS >= 500 else 15):
        home = tmp_path / f"step-{step}"
        shutil.copytree(full, home)
        assert eraser(home, memory.id, step).returncode == -signal.SIGKILL
        was_noted = any(note.stat().st_size for note in home.glob(ERASURE_PLANS))

        with open_mind(home=home) as again:
            was_finished = left(home, TEXT) == []
            is_kept = any(one.id == memory.id for one in again.list())
            # All or nothing: before it was noted, nothing has happened.
            assert is_kept != was_finished, step
            assert was_finished >= was_noted, step
            receipt = again.erase(memory.id)
            assert receipt.is_complete, (step, receipt)
            assert [one.text for one in again.list()] == ["The lamp is by the window"]
            assert again.maintenance.audit() == ()
            assert [one.detail for one in again.maintenance.doctor(quick=True) if not one.is_well] == []
        assert left(home, TEXT) == [], step
        assert count_unfinished(home) == 0
        killed, clean = killed + 1, clean + 1
        shutil.rmtree(home)
    tally("erasures killed at a step, finished on the next open", killed, clean)


def test_an_unfinished_erasure_is_finished_by_whoever_opens_the_store(
    open_mind: Open, home: Path, clock: Clock
) -> None:
    mind = open_mind()
    memory = mind.remember(TEXT)
    plan = ErasurePlan(
        batch="erase-0", at="2026-03-01T12:00:00.000000Z", actor="ada", channel=Channel.PERSON, session="", reason="",
        memories=(memory.id,), entries=(), texts=(TEXT,), places=(),
    )  # fmt: skip
    with save_plan(home, plan):
        assert "not finished" in next(
            one.detail for one in mind.maintenance.doctor(quick=True) if one.what == "erasures"
        )
        # Somebody is still at it.
        assert [one.id for one in open_mind().list()] == [memory.id]

    assert open_mind().list() == ()
    assert open_mind().erase(memory.id).is_complete
    assert left(home, TEXT) == []


def test_a_note_that_cannot_be_carried_out_does_not_keep_the_store_shut(open_mind: Open, home: Path) -> None:
    memory = open_mind().remember(TEXT)
    note = home / ERASURE_PLANS.replace("*", "0")
    note.write_text('{"batch": "from another version"}')

    mind = open_mind()

    assert [one.id for one in mind.list()] == [memory.id]
    assert [one.is_well for one in mind.maintenance.doctor(quick=True) if one.what == "erasures"] == [False]
    note.write_text('{"batch": "torn')
    assert [one.is_well for one in open_mind().maintenance.doctor(quick=True) if one.what == "erasures"] == [True]


def test_a_damaged_backup_is_named_and_stops_nothing(mind: Hivemind, home: Path) -> None:
    memory = mind.remember(TEXT)
    (home / "backups").mkdir()
    (home / "backups" / "old.db").write_bytes(b"SQLite format 3\0" + b"x" * 5000)

    receipt = mind.erase(memory.id)

    assert (states(receipt)["backups/old.db"], states(receipt)["files"]) == ("pending", "done")
    assert not receipt.is_complete


@pytest.mark.parametrize("is_reopened", [True, False], ids=["opened again", "open all the time"])
def test_an_erasure_that_a_reader_holds_up_is_finished_later(open_mind: Open, home: Path, is_reopened: bool) -> None:
    mind, reader = open_mind(), open_mind()
    memory = mind.remember(TEXT)
    with reader._context.store.db.reading():
        reader._context.store.db.execute("SELECT count(*) FROM memories")
        receipt = mind.erase(memory.id)
        assert not receipt.is_complete
        assert [one.is_well for one in mind.maintenance.doctor(quick=True) if one.what == "erasures"] == [False]

    later = open_mind() if is_reopened else mind

    assert [one.is_well for one in later.maintenance.doctor(quick=True) if one.what == "erasures"] == [True]
    assert later.erase(memory.id).is_complete
    assert left(home, TEXT) == []


def test_who_does_not_try_again_waits_for_a_reader(open_mind: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hivemind.store.store.SHORT_TIMEOUT_SECONDS", 0.1)
    mind, reader = open_mind(), open_mind()
    mind.remember(TEXT)
    reading = reader._context.store.db.reading()
    reading.__enter__()
    reader._context.store.db.execute("SELECT count(*) FROM memories")
    mind.remember("Written while somebody reads")
    end = Timer(1, reading.__exit__, (None, None, None))

    was_quick = mind._context.store.try_checkpoint()
    end.start()
    was_patient = mind._context.store.checkpoint()
    end.join()

    assert (was_quick, was_patient) == (False, True)


# -- many --------------------------------------------------------------------------------------------

SHORT = "a an at axe bag bat bed bin box bus can cap car cat cup day den dog ear egg fan fig fox gas gem"
LONG = "deployment pipeline billing gateway customer invoice staging replica password cluster archive migration"
ODD = "größe naïve señal Ærø Straße zażółć"


def made_up(chance: random.Random) -> str:
    """A text that no other trial says: of short words, long ones or letters beyond ASCII."""
    vocabulary = chance.choice([SHORT, LONG, f"{SHORT} {LONG}", f"{SHORT} {ODD}"]).split()
    words = [chance.choice(vocabulary) for _ in range(chance.choice([6, 8, 12, 25, 120]))]
    for _ in range(max(2, len(words) // 6)):
        words[chance.randrange(len(words))] = "".join(
            chance.choices("bcdfghjklmnpqrstvwxz", k=chance.choice([2, 3, 5]))
        )
    return chance.choice([" ", " ", "\n"]).join(words)


def quoted(chance: random.Random, text: str) -> str:
    """A quotation of a text: all or a part of it, in another spelling, among other words."""
    words = text.split()
    length = chance.choice([len(words), math.ceil(0.6 * len(words)), math.ceil(0.8 * len(words))])
    start = chance.randrange(len(words) - length + 1)
    part = chance.choice([" ", "  ", "\n", "\t"]).join(words[start : start + length])
    spelled: list[Callable[[str], str]] = [str, str.upper, str.title, str.swapcase, escaped_twice]
    around = chance.choice(["", PADDING])
    return f"{around} note: {chance.choice(spelled)(part)} . {around}"


def plant(chance: random.Random, mind: Hivemind, home: Path, text: str) -> Memory | None:
    """Leave quotations in some of the places where they come to lie; return another memory if one has it."""
    if chance.random() < 0.6:
        observe(mind, "look", output=quoted(chance, text))
    if chance.random() < 0.3:
        observe(mind, quoted(chance, text))
    if chance.random() < 0.3:
        mind.recall(text if chance.random() < 0.5 else text.upper())
    if chance.random() < 0.3:
        mind.maintenance.backup()
    if chance.random() < 0.3:
        (home / "quarantine").mkdir(exist_ok=True)
        (home / "quarantine" / f"{chance.random()}.json").write_text(json.dumps({"bad": quoted(chance, text)}))
    if chance.random() < 0.3:
        (home / "last-error.txt").write_text(f"ValueError: {text}")
    other = mind.remember(f"Somebody said: {text.swapcase()} !") if chance.random() < 0.15 else None
    if chance.random() < 0.4:
        with (home / "spool").open("a") as spool:
            spool.write(f"codex\tStop\t2026\t{json.dumps({'text': quoted(chance, text)})}\n")
    return other


def test_random_erasures_leave_nothing_where_the_receipt_says_done(open_mind: Open, home: Path, tally: Tally) -> None:
    chance = random.Random(11)
    mind, reader = open_mind(), open_mind()
    clean = named = kept = 0
    for trial in range(TRIALS):
        text = made_up(chance)
        memory = mind.remember(text)
        if chance.random() < 0.3:
            mind.edit(memory.id, f"{text} since {trial}")
        if chance.random() < 0.3:
            mind._context.store.checkpoint()
        other = plant(chance, mind, home, text)
        words = text.split()
        share = " ".join(words[: max(2, len(words) * 4 // 10)])
        neighbour = observe(mind, f"neighbour {trial} has {share} and goes on")
        reader.list(limit=3)

        receipt = mind.erase(memory.id)

        found = left(home, text)
        assert receipt.is_complete == (other is None), (trial, text, receipt)
        assert bool(found) == (other is not None), (trial, text, found, receipt)
        assert other is None or f"memory {other.id[:8]}" in states(receipt), (trial, receipt)
        assert is_there(mind, neighbour), (trial, text)
        clean, named, kept = clean + (not found), named + (other is not None), kept + 1
        for file in home.glob("backups/*"):
            file.unlink()
        if other:
            assert mind.erase(other.id).is_complete
            assert left(home, text) == [], trial
    assert residue(home, b"neighbour 0 has") != []
    assert mind.maintenance.audit() == ()
    tally("erasures, nothing left where the receipt says done", TRIALS, clean + named)
    tally("observations beside them that share words", TRIALS, kept)
