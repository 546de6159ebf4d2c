"""Ask the product: a store filled with notes, questions through Python, tasks through the prompt hook."""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import hivemind
from hivemind.entrypoints import hook
from hivemind.model.memory import Channel, Writer
from hivemind.model.recall import Hit, Recall
from hivemind.recall.rendering import count_tokens
from hivemind.settings import Settings
from lab.evals.recall.sets import Store

PERSON = "ada"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The notes of an answer in their order, how many of them recall is sure of, and how sure it is."""

    notes: tuple[str, ...]
    sure: int
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The notes that the prompt hook tells an agent, and what that costs."""

    notes: frozenset[str]
    tokens: int
    cpu_ms: float


class FilledStore:
    """A store with notes that can be asked."""

    def __init__(self, store: Store, mind: hivemind.Hivemind, home: Path) -> None:
        self._mind, self._home, self._notes = mind, home, store.notes
        self._hook_calls = 0
        memories = mind.remember_all({"text": text} for text in store.notes.values())
        self._note_of = {memory.id: note for memory, note in zip(memories, store.notes, strict=True)}
        mind.maintenance.catch_up()

    def recall(self, question: str) -> Recall:
        """Recall with the defaults of the product."""
        return self._mind.recall(question)

    def name_note(self, hit: Hit) -> str:
        """Return the note that a hit is."""
        return self._note_of[hit.memory.id]

    def ask(self, question: str) -> Answer:
        """Recall, and return what the measures need of the answer."""
        recall = self.recall(question)
        confidence = max((hit.confidence or 0.0 for hit in recall.hits), default=0.0)
        return Answer(
            notes=tuple(self.name_note(hit) for hit in recall.hits),
            sure=len(recall.answers),
            confidence=confidence,
        )

    def send_prompt(self, prompt: str) -> Reply:
        """Run the hook as an agent does when a person sends a prompt, each time in a new session."""
        self._hook_calls += 1
        payload = {"session_id": f"session-{self._hook_calls}", "cwd": str(self._home), "prompt": prompt}
        event = "UserPromptSubmit"
        command = [sys.executable, "-I", "-S", str(hook.__file__), "--home", str(self._home), "claude-code", event]
        before = _children_seconds()
        process = subprocess.run(
            command,
            input=json.dumps(payload | {"hook_event_name": event}),
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"HIVEMIND_PERSON": PERSON},
        )
        cpu_ms = 1000 * (_children_seconds() - before)
        context = json.loads(process.stdout)["hookSpecificOutput"]["additionalContext"] if process.stdout else ""
        notes = frozenset(note for note, text in self._notes.items() if text in context)
        return Reply(notes=notes, tokens=count_tokens(context) if context else 0, cpu_ms=cpu_ms)


@contextmanager
def fill(store: Store) -> Iterator[FilledStore]:
    """Open a store of its own with the notes in it, as a person who told them all; delete it afterwards."""
    with tempfile.TemporaryDirectory(prefix="hivemind-recall-") as folder:
        home = Path(folder)
        writer = Writer(actor=PERSON, channel=Channel.PERSON)
        with hivemind.open(directory=home, settings=Settings(home=home, person=PERSON), writer=writer) as mind:
            yield FilledStore(store, mind, home)


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
