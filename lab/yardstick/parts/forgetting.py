"""Delete a note, then look for it in every file and at every door, and see whether it comes back."""

import random
from pathlib import Path
from typing import Any

from lab.yardstick.adapter import Note
from lab.yardstick.parts import Figures, Run, count, is_absent, list_files, try_out
from lab.yardstick.transcripts import Message, write_transcript

NOTES = (
    "The customer {name} gets a discount of {number} percent until the contract ends",
    "{name} from accounting must approve every refund above {number} euros",
    "Call {name} before the {number} o'clock backup is switched off",
    "The staging password of {name} was changed on day {number}, ask her for the new one",
    "{name} asked us to keep her address out of the export of table {number}",
)
ENCODINGS = ("utf-8", "utf-16-le")
NAMES = 20
"""Names that occur nowhere else, one in each note; every second note is deleted."""


def make_name(number: int) -> str:
    """Return a name of letters that no other text has."""
    chance = random.Random(number)
    return "Zq" + "".join(chance.choice("bcdfghklmnprstvw") + chance.choice("aeiou") for _ in range(5))


def measure(run: Run) -> Figures:
    """Remember notes and sessions that name people, delete half of the notes, and search."""
    names = run.cut(make_name(number) for number in range(NAMES))
    repo = run.make_repo("forgetting")
    with run.open_store("forgetting") as folder:
        ids = {
            name: run.adapter.remember(
                Note(text=NOTES[place % len(NOTES)].format(name=name, number=place + 3), repo=repo)
            )
            for place, name in enumerate(names)
        }
        gone, kept = names[::2], names[1::2]
        outcome = try_out(delete_all, run, [ids[name] for name in gone], repo)
        if is_absent(outcome):
            return {"deleted notes that are still found": outcome}
    # Before anything is asked, because questions name them too, and systems may keep questions.
    residue = find_residue(folder, names)
    with run.open_store("forgetting"):
        found = try_out(lambda: {name: is_shown(run, name, repo) for name in names})
        told = try_out(
            lambda: {name: name in run.adapter.tell(f"What did we agree with {name}?", repo) for name in names}
        )
        brief = try_out(run.adapter.brief, repo)
    figures: Figures = {
        # A store that shows nothing would forget perfectly.
        "notes that were not deleted and are still found": found if is_absent(found) else count(found[name] for name in kept),
        "deleted notes that are still found": found if is_absent(found) else count(found[name] for name in gone),
        "deleted notes that are still told": told if is_absent(told) else count(told[name] or (not is_absent(brief) and name in brief) for name in gone),
        "deleted notes whose name is still in a file": count(name in residue for name in gone),
    }  # fmt: skip
    return figures | {"deleted notes that come back with an old session": measure_return(run, repo, gone)}


def delete_all(run: Run, ids: list[str], repo: Path) -> None:
    """Delete notes."""
    for note_id in ids:
        run.adapter.delete(note_id, repo)


def measure_return(run: Run, repo: Path, gone: list[str]) -> Any:
    """Let an old session that says the same be taken in, and count which of the deleted notes are shown again."""
    path = run.folder / "old-session.jsonl"
    messages = [
        message
        for place, name in enumerate(gone)
        for message in (
            Message("user", NOTES[place * 2 % len(NOTES)].format(name=name, number=place * 2 + 3) + ", remember that."),
            Message("assistant", "Noted."),
        )
    ]
    write_transcript(path, messages, cwd=repo, begin="2026-01-05T10:00:00Z")
    with run.open_store("forgetting"):
        outcome = try_out(run.adapter.observe, [path], repo)
        if is_absent(outcome):
            return outcome
        return try_out(lambda: count(is_shown(run, name, repo) for name in gone))


def is_shown(run: Run, name: str, repo: Path) -> bool:
    """Whether a search for a name shows it."""
    answer = run.adapter.recall(f"{name} discount refund backup password address", repo)
    return any(name in hit.text for hit in answer.hits)


def find_residue(folder: Path, names: list[str]) -> set[str]:
    """Return the names that stand in the bytes of any file below a folder."""
    contents = [path.read_bytes() for path in list_files(folder)]
    return {
        name
        for name in names
        # Search indexes keep words in small letters.
        if any(
            text.encode(code) in content for content in contents for text in (name, name.lower()) for code in ENCODINGS
        )
    }
