"""Count how many lasting sentences of real prompts a note would quote, and what the notes cost.

python -m lab.evals.hearing CLONES

CLONES has a bare clone of each repository in ``prompts.tsv``, named ``OWNER+NAME``
(``git clone --bare https://github.com/OWNER/NAME OWNER+NAME``). The prompts are public and not ours to copy, so we keep
where each one is, its checksum, and where its lasting sentences begin and end (``labels.tsv``). A prompt that is
missing or reads differently is left out, and the output says how many are. A lasting sentence counts as covered if it
shares 60 % of the words with a sentence that the note quotes, counted in the shorter one.
"""

import argparse
import csv
import hashlib
import json
import re
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from hivemind.context import Context
from hivemind.hivemind import Hivemind
from hivemind.learning.hearing import LONGEST_QUOTED, MOST_NOTES, PROMPT_NOTE
from hivemind.learning.suspects import MOST_QUOTES, find_suspects
from hivemind.model.events import ObservationMade
from hivemind.model.memory import Channel, Writer
from hivemind.model.scope import Scope
from hivemind.model.session import ObservationKind
from hivemind.recall.rendering import count_tokens
from hivemind.settings import Settings
from hivemind.text.clean import cut_between_words

DATA = Path(__file__).parent
SPLITS = ("dev", "test")
COVERED_SHARE = 0.6
REPLY_CHARACTERS = 1500
"""How much of the end of a reply is kept; only its last sentence is judged."""
CHECKSUM_DIGITS = 12

SPECSTORY_HEADING = re.compile(
    r"^_\*\*(User|Agent|Assistant)\b[^\n]*\*\*_\s*$|^\*\*(User|Agent|Assistant)\*\*\s*$", re.MULTILINE
)
SPECSTORY_RULE = re.compile(r"\n---\s*\Z")
ADDED_BY_CLIENT = re.compile(
    r"<(ide_\w+|system-reminder|command-\w+|local-command-\w+|environment_context|user_info|attached_files"
    r"|open_and_recently_viewed_files)\b.*?</\1>",
    re.DOTALL,
)
REQUEST = re.compile(r"<user_query>(.*?)</user_query>|## My request for Codex:\s*(.*)\Z", re.DOTALL)
"""Where a client puts what the person typed among other text."""
NOT_SPOKEN = re.compile(
    r"<think>.*?</think>|<details>.*?</details>|<tool-use.*?</tool-use>|</?(?:details|summary|think|tool-use)[^>]*>",
    re.DOTALL,
)
"""Reasoning and calls of tools in a reply."""


class Speaker(Enum):
    """Who wrote a part of a history; a break starts a new session in the same file."""

    PERSON = "person"
    AGENT = "agent"
    BREAK = "break"


class Part(NamedTuple):
    """What somebody wrote in a history, up to where the other one goes on."""

    speaker: Speaker
    text: str


class Turn(NamedTuple):
    """A prompt, and the end of the reply before it."""

    prompt: str
    reply: str


Listener = Callable[[str, Turn], tuple[tuple[str, ...], bool]]
"""Takes a session id and a turn; returns the sentences that a note would quote, and whether the encoder had to run."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a prompt is: a row of ``prompts.tsv``."""

    id: str
    split: str
    repository: str
    commit: str
    path: str
    turn: int
    """The number of the prompt in its file, from 1."""
    checksum: str

    @property
    def owner(self) -> str:
        """The owner of the repository, who stands for one person."""
        return self.repository.partition("/")[0]


@dataclass(frozen=True, kw_only=True)
class Label:
    """A sentence that somebody reading the prompt took for lasting: a row of ``labels.tsv``."""

    prompt: str
    begin: int
    end: int
    kind: str
    """As in lab/training/lasting/README.md: rule, correction, preference, fact about the environment, decision."""
    grade: str
    """``keep``, or ``maybe`` if a reader could also say that it is only for the task."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a note would quote of one prompt, and which of its lasting sentences that covers."""

    place: Place
    quotes: tuple[str, ...]
    is_encoder_loaded: bool
    covered: tuple[tuple[Label, bool], ...]


def main() -> None:
    """Read the prompts from the clones, and print the figures of each split."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", type=Path)
    parser.add_argument("--data", type=Path, default=DATA, help="a folder with prompts.tsv and labels.tsv, not ours")
    options = parser.parse_args()
    places, labels = read_data(options.data)
    turns = read_turns(options.clones, places)
    if not turns:
        raise SystemExit(f"{options.clones} has no clone with any of the prompts; name the clones OWNER+NAME")
    if len(turns) < len(places):
        print(f"{len(places) - len(turns)} of {len(places)} prompts are missing or read differently, and are left out")
    answers = measure(places, labels, turns)
    for split in SPLITS:
        if chosen := [answer for answer in answers if answer.place.split == split]:
            print(format_figures(split, summarise(chosen)))


def read_data(folder: Path) -> tuple[list[Place], list[Label]]:
    """Read where the prompts are, and which of their sentences last."""
    places = [Place(**row | {"turn": int(row["turn"])}) for row in read_rows(folder / "prompts.tsv")]
    labels = [
        Label(**row | {"begin": int(row["begin"]), "end": int(row["end"])}) for row in read_rows(folder / "labels.tsv")
    ]
    return places, labels


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read a table with tabs between its cells; the first row names the columns."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def read_turns(clones: Path, places: Iterable[Place]) -> dict[str, Turn]:
    """Return the turn of each prompt that the clones have as it was labelled, by its id."""
    by_file: dict[tuple[str, str, str], list[Place]] = defaultdict(list)
    for place in places:
        by_file[place.repository, place.commit, place.path].append(place)
    turns: dict[str, Turn] = {}
    for (repository, commit, path), chosen in by_file.items():
        history = list(pair_turns(parse_history(path, read_blob(clones, repository, commit, path))))
        for place in chosen:
            turn = history[place.turn - 1] if place.turn <= len(history) else None
            if turn and compute_checksum(turn.prompt) == place.checksum:
                turns[place.id] = turn
    return turns


def read_blob(clones: Path, repository: str, commit: str, path: str) -> str:
    """Return a file of a commit; empty if there is no such clone, commit or file."""
    clone = clones / repository.replace("/", "+")
    folders = [folder for folder in (clone, clone / "repo", clone / ".git") if (folder / "HEAD").is_file()]
    if not folders:
        return ""
    # With the folder named, git does not ask to whom the clone belongs.
    command = ["git", f"--git-dir={folders[0]}", "show", f"{commit}:{path}"]
    result = subprocess.run(command, capture_output=True, check=False)
    return "" if result.returncode else result.stdout.decode("utf-8", "replace")


def compute_checksum(prompt: str) -> str:
    """Return the first digits of the SHA-256 of a prompt."""
    return hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest()[:CHECKSUM_DIGITS]


def parse_history(path: str, text: str) -> Iterator[Part]:
    """Yield the parts of a history as SpecStory, aider or Entire wrote it."""
    if path.endswith(".jsonl"):
        return parse_transcript(text)
    return parse_aider(text) if path.endswith(".aider.chat.history.md") else parse_specstory(text)


def parse_specstory(text: str) -> Iterator[Part]:
    """Yield the parts of a Markdown file in ``.specstory/history``."""
    headings = list(SPECSTORY_HEADING.finditer(text))
    for heading, following in zip_longest(headings, headings[1:]):
        end = following.start() if following else len(text)
        body = SPECSTORY_RULE.sub("", text[heading.end() : end].rstrip()).strip()
        yield Part(Speaker.PERSON if "User" in heading.groups() else Speaker.AGENT, body)


def parse_aider(text: str) -> Iterator[Part]:
    """Yield the parts of ``.aider.chat.history.md``, in which lines that the person typed begin with hashes."""
    prompt: list[str] = []
    for line in text.splitlines():
        if line.startswith("#### "):
            prompt.append(line.removeprefix("#### ").rstrip())
            continue
        if prompt:
            yield Part(Speaker.PERSON, "\n".join(prompt))
            prompt = []
        if line.startswith("# aider chat started"):
            yield Part(Speaker.BREAK, "")
        elif not line.startswith("> "):
            yield Part(Speaker.AGENT, line)
    if prompt:
        yield Part(Speaker.PERSON, "\n".join(prompt))


def parse_transcript(text: str) -> Iterator[Part]:
    """Yield the parts of a transcript of Claude Code, as Entire keeps it."""
    for line in text.splitlines():
        entry = json.loads(line) if line.startswith("{") else {}
        message = entry.get("message")
        if not isinstance(message, dict) or entry.get("isSidechain") or entry.get("isMeta"):
            continue
        content = message.get("content") or []
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        said = "\n".join(block["text"] for block in blocks if block["type"] == "text")
        if entry.get("type") == "user" and all(block["type"] != "tool_result" for block in blocks):
            yield Part(Speaker.PERSON, said)
        elif entry.get("type") == "assistant" and said.strip():
            yield Part(Speaker.AGENT, said)


def pair_turns(parts: Iterable[Part]) -> Iterator[Turn]:
    """Yield each prompt, without what the client added, with the end of the reply before it."""
    replies: list[str] = []
    for part in parts:
        match part.speaker:
            case Speaker.AGENT:
                replies.append(NOT_SPOKEN.sub("", part.text).strip())
            case Speaker.BREAK:
                replies = []
            case Speaker.PERSON:
                yield Turn(clean_prompt(part.text), "\n".join(replies)[-REPLY_CHARACTERS:].strip())
                replies = []


def clean_prompt(text: str) -> str:
    """Return what the person typed, without the blocks that a client put around it."""
    prompt = ADDED_BY_CLIENT.sub("", text).strip()
    request = REQUEST.search(prompt)
    return (request[1] or request[2] or "").strip() if request else prompt


def measure(places: Iterable[Place], labels: Iterable[Label], turns: Mapping[str, Turn]) -> list[Answer]:
    """Find out for each prompt what a note would quote, in a store of its own."""
    labels_by_prompt: dict[str, list[Label]] = defaultdict(list)
    for label in labels:
        labels_by_prompt[label.prompt].append(label)
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(home=Path(directory) / "store", person="tester")
        writer = Writer(actor="claude-code", channel=Channel.AGENT, session_id="none")
        with Hivemind.open(settings=settings, directory=directory, writer=writer) as mind:
            hear = make_listener(mind._context)
            return [
                answer_turn(place, labels_by_prompt[place.id], turns[place.id], hear)
                for place in places
                if place.id in turns
            ]


def answer_turn(place: Place, labels: Iterable[Label], turn: Turn, hear: Listener) -> Answer:
    """Find out what a note would quote of one prompt."""
    quotes, is_encoder_loaded = hear(place.id, turn)
    covered = tuple(
        (label, any(is_covered(turn.prompt[label.begin : label.end], quote) for quote in quotes)) for label in labels
    )
    return Answer(place=place, quotes=quotes, is_encoder_loaded=is_encoder_loaded, covered=covered)


def make_listener(context: Context) -> Listener:
    """Return a function that looks for the sentences to quote, as the prompt hook does."""
    encode = context.embedder.encode_wording
    if encode is None:
        raise SystemExit("the embedding model is not installed, and nothing can be judged without it")
    batches: list[int] = []

    def encode_counted(texts: Sequence[str]) -> Any:
        batches.append(len(texts))
        return encode(texts)

    context.embedder.encode_wording = encode_counted

    def hear(session_id: str, turn: Turn) -> tuple[tuple[str, ...], bool]:
        # A session for each prompt, so that the reply before it is the last one.
        context.author = replace(context.author, session_id=session_id)
        if turn.reply:
            fact = ObservationMade(
                agent="claude-code", session_id=session_id, seen=ObservationKind.REPLY, text=turn.reply
            )
            context.store.record([context.factory.event(fact, Scope.USER, "")])
        batches.clear()
        return tuple(find_suspects(context, turn.prompt)[:MOST_QUOTES]), bool(batches)

    return hear


def is_covered(sentence: str, quote: str) -> bool:
    """Whether two sentences share enough of the words of the shorter one."""
    words, quoted_words = (set(re.findall(r"\w+", text.lower())) for text in (sentence, quote))
    shortest = min(len(words), len(quoted_words))
    return bool(shortest) and len(words & quoted_words) >= COVERED_SHARE * shortest


def summarise(answers: Sequence[Answer]) -> dict[str, str | int]:
    """Return the figures of a split."""
    covered = [pair for answer in answers for pair in answer.covered]
    kept = [is_found for label, is_found in covered if label.grade == "keep"]
    noted = [answer for answer in answers if answer.quotes]
    sessions = {(answer.place.repository, answer.place.path) for answer in answers}
    return {
        "people": len({answer.place.owner for answer in answers}),
        "prompts": len(answers),
        "lasting sentences (keep / keep+maybe)": f"{len(kept)} / {len(covered)}",
        "keep covered": format_share(sum(kept), len(kept)),
        "keep+maybe covered": format_share(sum(is_found for _, is_found in covered), len(covered)),
        "notes per 100 prompts": round(100 * len(noted) / len(answers)),
        "prompts that load the encoder": format_share(
            sum(answer.is_encoder_loaded for answer in answers), len(answers)
        ),
        "tokens of notes per session": round(sum(count_note_tokens(noted)) / len(sessions)),
    }


def count_note_tokens(noted: Iterable[Answer]) -> Iterator[int]:
    """Yield the tokens of each note, for as many as a session gets."""
    given: Counter[tuple[str, str]] = Counter()
    for answer in noted:
        session = answer.place.repository, answer.place.path
        given[session] += 1
        if given[session] <= MOST_NOTES:
            quotes = " · ".join(f'"{cut_between_words(quote, LONGEST_QUOTED)}"' for quote in answer.quotes)
            yield count_tokens(PROMPT_NOTE.format(quotes=quotes))


def format_share(part: int, whole: int) -> str:
    """Format a part of a whole, also in percent."""
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "none"


def format_figures(split: str, figures: Mapping[str, str | int]) -> str:
    """Format the figures of a split, one to a line."""
    return "\n".join([split, *(f"  {name:38} {value}" for name, value in figures.items())])


if __name__ == "__main__":
    main()
