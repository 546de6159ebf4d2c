"""Train a student further on notes and messages and the ways in which people ask for them.

python -m training.notes START.safetensors OUT.safetensors WORK WRITTEN.jsonl... [--held-out WRITTEN.jsonl...]

A line of WRITTEN is a note of a project, or a message of a conversation, with questions that it answers. Teachers
cannot show what they do not know: that a note about an A100 is about GPUs, or which rule a task must follow. All other
texts keep the vectors they have: some of rows.json.xz, which ``training.prepare`` wrote to WORK, are compared with the
start in each step. It runs on a CPU: 150 steps take five minutes on two cores.
"""

import argparse
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from hivemind.text.thesaurus import name_concepts
from training import encoder, export
from training.prepare import read_rows
from training.train import load_student

PROJECTS = 8
"""Of which all notes are rivals of each other in a step."""
TEMPERATURE = 0.05
ANCHORS, ANCHOR_TOKENS, ANCHOR_SAMPLE = 64, 96, 10_000
ANCHOR_WEIGHT = 20.0
"""How much it counts that other texts keep their vectors."""
TOKENS = 256
CONCEPTS_SHARE = 0.7
"""How often the names of concepts stand behind a text, as they do when the product embeds it."""
SHARES = {"topics": 0.4, "question": 0.2, "task": 0.2, "ramble": 0.2}
"""How often each way of asking is drawn, where a note has it."""


@dataclass(frozen=True, slots=True)
class Note:
    """A note, what asks for it in each way, and in which language it is."""

    text: str
    asked: dict[str, list[str]]
    language: str

    @classmethod
    def parse(cls, line: dict[str, Any]) -> "Note":
        """Read a note with its questions; one in another language is asked for in English too."""
        asked = {kind: line[kind] for kind in SHARES if line.get(kind)}
        asked = {kind: value if isinstance(value, list) else [value] for kind, value in asked.items()}
        if "question_english" in line:
            asked["question"].append(line["question_english"])
        return cls(line["note"], asked, line.get("language", "en"))

    @classmethod
    def parse_message(cls, line: dict[str, Any]) -> "Note":
        """Read a message with its questions; friends are named, as memories of conversations name them."""
        is_named = line["speaker"].istitle() and line["speaker"] not in {"User", "Assistant"}
        text = f"{line['speaker']}: {line['text']}" if is_named else line["text"]
        asked = {"topics": [line["summary_topic"]]}
        return cls(text, asked | ({"question": line["questions"]} if line["questions"] else {}), "en")


def main() -> None:
    """Train, score what was held out, and write the student."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("start", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("written", type=Path, nargs="+")
    parser.add_argument("--held-out", type=Path, nargs="*", default=[])
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--score-every", type=int, default=100)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    model, merges = load_student(options.start), export.read_merges(options.start)
    tokenizer = Tokenizer.from_str(json.dumps(encoder.make_tokenizer(merges)))
    held_out = read_projects(options.held_out)
    print(format_scores("start", score(model, tokenizer, held_out)), flush=True)
    for step in train(model, tokenizer, read_projects(options.written), sample_anchors(options.work), options):
        if step % options.score_every == 0 or step == options.steps:
            weights = {name: value.detach().numpy() for name, value in model.state_dict().items()}
            options.out.write_bytes(export.pack(export.quantise(weights), merges))
            # The file is scored: rounding to 8 bits takes back part of what a few steps change.
            print(format_scores(f"step {step}", score(load_student(options.out), tokenizer, held_out)), flush=True)


def read_projects(paths: Sequence[Path]) -> list[list[Note]]:
    """Return the notes of each project, and the messages of each conversation."""
    projects: dict[tuple[Path, str], list[Note]] = defaultdict(list)
    for path in paths:
        for line in map(json.loads, path.read_text("utf-8").splitlines()):
            if "conversation" in line:
                projects[path, line["conversation"]].append(Note.parse_message(line))
            elif "note" in line:
                projects[path, line["project"]].append(Note.parse(line))
    return list(projects.values())


def sample_anchors(work: Path) -> list[str]:
    """Return texts and queries of all kinds."""
    rows, rng = read_rows(work), random.Random(18)
    return [text for part in (rows.texts, rows.queries) for text in rng.sample(part, min(ANCHOR_SAMPLE, len(part)))]


def train(
    model: encoder.Encoder,
    tokenizer: Tokenizer,
    projects: list[list[Note]],
    anchors: list[str],
    options: argparse.Namespace,
) -> Iterator[int]:
    """Train step by step; yields the number of each step."""
    rng = random.Random(options.seed)
    # Texts of like length are compared together, because attention takes as long as for the longest.
    anchors = sorted(anchors, key=len)
    parts = [anchors[start : start + ANCHORS] for start in range(0, len(anchors), ANCHORS)]
    with torch.no_grad():
        kept = torch.cat([embed(model, tokenizer, part, ANCHOR_TOKENS) for part in parts])
    optimiser = torch.optim.AdamW(model.parameters(), lr=options.rate, weight_decay=0.01)
    started = time.monotonic()
    for step in range(1, options.steps + 1):
        for group in optimiser.param_groups:
            group["lr"] = options.rate * min(1, step / 30, 1.02 - step / options.steps)
        notes = [note for project in rng.sample(projects, min(PROJECTS, len(projects))) for note in project]
        place = rng.randrange(0, len(anchors) - ANCHORS + 1)
        compared = slice(place, place + ANCHORS)
        change = 1 - (embed(model, tokenizer, anchors[compared], ANCHOR_TOKENS) * kept[compared]).sum(1).mean()
        contrast = measure_contrast(model, tokenizer, notes, rng)
        optimiser.zero_grad(set_to_none=True)
        (contrast + ANCHOR_WEIGHT * change).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % 25 == 0:
            seconds = time.monotonic() - started
            print(f"step {step}: {contrast.item():.3f}, anchors {change.item():.4f}, {seconds:.0f} s", flush=True)
        yield step


def measure_contrast(model: encoder.Encoder, tokenizer: Tokenizer, notes: list[Note], rng: random.Random) -> Tensor:
    """Return how far each note is from the first place for one way of asking for it."""

    def add_concepts(text: str) -> str:
        return name_concepts(text) if rng.random() < CONCEPTS_SHARE else text

    kinds = [rng.choices(list(note.asked), [SHARES[kind] for kind in note.asked])[0] for note in notes]
    questions = [add_concepts(rng.choice(note.asked[kind])) for note, kind in zip(notes, kinds, strict=True)]
    texts = embed(model, tokenizer, [add_concepts(note.text) for note in notes])
    logits = embed(model, tokenizer, questions) @ texts.T / TEMPERATURE
    return functional.cross_entropy(logits, torch.arange(len(notes)))


def embed(model: encoder.Encoder, tokenizer: Tokenizer, texts: Sequence[str], limit: int = TOKENS) -> Tensor:
    """Return a vector of unit length for each text."""
    vectors: Tensor = model(encoder.pack(encoder.encode(tokenizer, texts, limit)))
    return vectors


@torch.no_grad()
def score(model: encoder.Encoder, tokenizer: Tokenizer, projects: list[list[Note]]) -> dict[str, tuple[float, int]]:
    """Return for each way of asking how often the right one of two projects' notes is first, and of how many."""
    found: dict[str, list[bool]] = defaultdict(list)
    for project, neighbour in zip(projects, [*projects[1:], *projects[:1]], strict=True):
        texts = [name_concepts(note.text) for note in [*project, *neighbour]]
        vectors = embed(model, tokenizer, texts)
        for place, note in enumerate(project):
            for kind, questions in note.asked.items():
                asked = embed(model, tokenizer, [name_concepts(text) for text in questions])
                name = kind if note.language == "en" else f"{kind}, other languages"
                found[name] += ((asked @ vectors.T).argmax(1) == place).tolist()
    return {name: (sum(values) / len(values), len(values)) for name, values in sorted(found.items())}


def format_scores(label: str, scores: dict[str, tuple[float, int]]) -> str:
    """Return one line."""
    return f"SCORE {label}: " + " | ".join(f"{name} {share:.3f} of {count}" for name, (share, count) in scores.items())


if __name__ == "__main__":
    main()
