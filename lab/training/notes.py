"""Train a student further on notes and messages and the ways in which people ask for them.

python -m lab.training.notes START.safetensors OUT.safetensors WORK WRITTEN.jsonl... [--held-out WRITTEN.jsonl...]

A line of WRITTEN is a note of a project, or a message of a conversation, with questions that it answers. Teachers
cannot show what they do not know: that a note about an A100 is about GPUs, which rule a task must follow, or that it
needs none. All other texts are to be found as before: some of rows.json.xz, which ``lab.training.prepare`` wrote to
WORK, are compared with the start in each step. Weights are rounded to 8 bits in each step, as the file has them,
because rounding afterwards takes back half of what is learned.
"""

import argparse
import json
import math
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from hivemind.text.thesaurus import name_concepts
from lab.training import encoder, export
from lab.training.prepare import read_rows
from lab.training.queries import Rows
from lab.training.train import halve, load_student

TEMPERATURE = 0.05
ORDER_TEMPERATURE = 0.04
KIND_POWER = 0.6
REVERSE_WEIGHT = 0.5
"""How much it counts that a note is nearer to what asks for it than to other questions and tasks that need none."""
SAME_SUBJECT = 0.6
"""Notes of two projects that are as near as this may say the same, so neither is a rival of the other."""
TOKENS = 320
CONCEPTS_SHARE = 0.7
"""How often the names of concepts stand behind a text, as they do when the product embeds it."""
SHARES = {"topics": 0.4, "question": 0.2, "task": 0.4, "ramble": 0.2}
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
        return cls(text, asked | ({"question": line["questions"]} if line["questions"] else {}), "message")


@dataclass(slots=True)
class Project:
    """Notes that are rivals of each other, and tasks that need none of them."""

    notes: list[Note] = field(default_factory=list)
    free_tasks: list[str] = field(default_factory=list)


class Student:
    """A model that computes with the weights its file will have."""

    def __init__(self, path: Path, device: str) -> None:
        self.model = load_student(path).to(device)
        self._merges = export.read_merges(path)
        self._tokenizer = Tokenizer.from_str(json.dumps(encoder.make_tokenizer(self._merges)))
        self._device = device
        self._rounded: dict[str, Tensor] = {}
        self.round()

    def round(self) -> None:
        """Round the weights as they are now; gradients pass as if they were not rounded."""
        self._rounded = halve((name, _round(name, value)) for name, value in self.model.named_parameters())

    def embed(self, texts: Sequence[str]) -> Tensor:
        """Return a vector of unit length for each text."""
        packed = encoder.pack(encoder.encode(self._tokenizer, texts, TOKENS)).to(self._device)
        vectors: Tensor = torch.func.functional_call(self.model, self._rounded, (packed,))
        return vectors

    def write(self, path: Path) -> None:
        """Write the file that the package ships."""
        weights = {name: value.detach().cpu().numpy() for name, value in self.model.state_dict().items()}
        path.write_bytes(export.pack(export.quantise(weights), self._merges))


def _round(name: str, value: Tensor) -> Tensor:
    """Round a matrix as ``export.quantise`` does, in torch, because gradients must pass."""
    if value.ndim < 2 or name == "positions.weight":
        return value
    scales = value.detach().abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
    return value + ((value / scales).round() * scales - value).detach()


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
    parser.add_argument("--projects", type=int, default=8, help="in a step")
    parser.add_argument("--anchors", type=int, default=64, help="other queries that are compared with the start")
    parser.add_argument("--anchor-sample", type=int, default=44_000, help="queries that they are drawn from")
    parser.add_argument("--order-weight", type=float, default=6, help="how much it counts that they find the same")
    parser.add_argument("--anchor-weight", type=float, default=20, help="how much it counts that vectors stay")
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--score-every", type=int, default=100)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    student, held_out = Student(options.start, options.device), read_projects(options.held_out)
    print(format_scores("start", score(student, held_out)), flush=True)
    anchors = Anchors(student, read_rows(options.work), options.anchor_sample, options.anchors)
    for step in train(student, read_projects(options.written), anchors, options):
        if step % options.score_every == 0 or step == options.steps:
            student.write(options.out)
            print(format_scores(f"step {step}", score(student, held_out)), flush=True)


def read_projects(paths: Sequence[Path]) -> list[Project]:
    """Return the projects and the conversations in some files."""
    projects: dict[tuple[Path, str], Project] = defaultdict(Project)
    for path in paths:
        for line in map(json.loads, path.read_text("utf-8").splitlines()):
            project = projects[path, line.get("project") or line["conversation"]]
            if "free_tasks" in line:
                project.free_tasks += line["free_tasks"]
            else:
                project.notes.append(Note.parse(line) if "note" in line else Note.parse_message(line))
    return [project for project in projects.values() if project.notes]


class Anchors:
    """Queries and texts of all kinds that are to be found as they are at the start."""

    def __init__(self, student: Student, rows: Rows, count: int, size: int) -> None:
        self._student, self._size = student, size
        self._kinds = [self._embed_pairs(rows, numbers) for numbers in sample_by_kind(rows.kinds, count)]

    @torch.no_grad()
    def _embed_pairs(self, rows: Rows, numbers: list[int]) -> list[tuple[list[str], Tensor]]:
        """Return the queries of these numbers and their texts, each with the vectors that they have now."""
        parts = [rows.queries[number] for number in numbers], [rows.texts[rows.owners[number]] for number in numbers]
        starts = range(0, len(numbers), self._size)
        return [
            (part, torch.cat([self._student.embed(part[start : start + self._size]) for start in starts]))
            for part in parts
        ]

    def measure_change(self, rng: random.Random) -> tuple[Tensor, Tensor]:
        """Return how far the order of texts for some queries is from what it was, and how far the vectors are."""
        pairs = rng.choice(self._kinds)
        # Neighbours are mostly of one repository, which makes them rivals.
        start = rng.randrange(max(1, len(pairs[0][0]) - self._size))
        chosen = slice(start, start + self._size)
        queries, texts = (self._student.embed(part[chosen]) for part, _ in pairs)
        old_queries, old_texts = (vectors[chosen] for _, vectors in pairs)
        order = functional.kl_div(
            functional.log_softmax(queries @ texts.T / ORDER_TEMPERATURE, 1),
            functional.log_softmax(old_queries @ old_texts.T / ORDER_TEMPERATURE, 1),
            reduction="batchmean",
            log_target=True,
        )
        distance = 1 - ((queries * old_queries).sum(1).mean() + (texts * old_texts).sum(1).mean()) / 2
        return order, distance


def sample_by_kind(kinds: Sequence[str], count: int) -> list[list[int]]:
    """Return the numbers of about as many rows, in their order, by kind; large kinds count for less than their size."""
    numbers_by_kind: dict[str, list[int]] = defaultdict(list)
    for number, kind in enumerate(kinds):
        numbers_by_kind[kind].append(number)
    sizes = {kind: len(numbers) ** KIND_POWER for kind, numbers in numbers_by_kind.items()}
    rng = random.Random(18)
    return [
        sorted(rng.sample(numbers, min(len(numbers), math.ceil(count * sizes[kind] / sum(sizes.values())))))
        for kind, numbers in numbers_by_kind.items()
    ]


def train(student: Student, projects: list[Project], anchors: Anchors, options: argparse.Namespace) -> Iterator[int]:
    """Train step by step; yields the number of each step."""
    rng = random.Random(options.seed)
    parameters = list(student.model.parameters())
    optimiser = torch.optim.AdamW(parameters, lr=options.rate, weight_decay=0.01)
    started = time.monotonic()
    for step in range(1, options.steps + 1):
        for group in optimiser.param_groups:
            group["lr"] = options.rate * min(1, step / 30, 1.02 - step / options.steps)
        contrast = measure_contrast(student, rng.sample(projects, min(options.projects, len(projects))), rng)
        order, distance = anchors.measure_change(rng)
        optimiser.zero_grad(set_to_none=True)
        (contrast + options.order_weight * order + options.anchor_weight * distance).backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        if step % 25 == 0:
            change = f"order {order.item():.4f}, distance {distance.item():.4f}"
            print(f"step {step}: {contrast.item():.3f}, {change}, {time.monotonic() - started:.0f} s", flush=True)
        student.round()
        yield step


def measure_contrast(student: Student, projects: list[Project], rng: random.Random) -> Tensor:
    """Return how far each note is from the first place for one way of asking for it, and this for the note."""

    def embed(texts: Sequence[str]) -> Tensor:
        return student.embed([name_concepts(text) if rng.random() < CONCEPTS_SHARE else text for text in texts])

    notes = [note for project in projects for note in project.notes]
    kinds = [rng.choices(list(note.asked), [SHARES[kind] for kind in note.asked])[0] for note in notes]
    questions = embed([rng.choice(note.asked[kind]) for note, kind in zip(notes, kinds, strict=True)])
    texts = embed([note.text for note in notes])
    owners = torch.tensor([place for place, project in enumerate(projects) for _ in project.notes])
    is_other = (owners[:, None] != owners).to(texts.device)
    says_the_same = is_other & (texts.detach() @ texts.detach().T > SAME_SUBJECT)
    logits = (questions @ texts.T / TEMPERATURE).masked_fill(says_the_same, -1e4)
    # A task that needs no note is a rival of the questions for those of its project.
    free = [(place, task) for place, project in enumerate(projects) for task in project.free_tasks]
    reverse = logits.T
    if free:
        places = torch.tensor([place for place, _ in free])
        rivals = texts @ embed([task for _, task in free]).T / TEMPERATURE
        reverse = torch.cat([reverse, rivals.masked_fill((owners[:, None] != places).to(texts.device), -1e4)], 1)
    right = torch.arange(len(notes), device=texts.device)
    return functional.cross_entropy(logits, right) + REVERSE_WEIGHT * functional.cross_entropy(reverse, right)


@torch.no_grad()
def score(student: Student, projects: list[Project]) -> dict[str, tuple[float, int]]:
    """Return for each way of asking how often the right one of two projects' notes is first, and of how many."""
    found: dict[str, list[bool]] = defaultdict(list)
    for project, neighbour in zip(projects, [*projects[1:], *projects[:1]], strict=True):
        vectors = student.embed([name_concepts(note.text) for note in [*project.notes, *neighbour.notes]])
        for place, note in enumerate(project.notes):
            for kind, questions in note.asked.items():
                asked = student.embed([name_concepts(text) for text in questions])
                group = {"en": "", "message": ", messages"}.get(note.language, ", other languages")
                found[kind + group] += ((asked @ vectors.T).argmax(1) == place).tolist()
    return {name: (sum(values) / len(values), len(values)) for name, values in sorted(found.items())}


def format_scores(label: str, scores: dict[str, tuple[float, int]]) -> str:
    """Return one line."""
    return f"SCORE {label}: " + " | ".join(f"{name} {share:.3f} of {count}" for name, (share, count) in scores.items())


if __name__ == "__main__":
    main()
