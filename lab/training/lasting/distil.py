"""Train the teacher that knows which sentences last, and the small changes to our encoder that imitate it.

    python -m lab.training.lasting.distil sentences.jsonl WORK teach 0     # leaves out a third of the people
    python -m lab.training.lasting.distil sentences.jsonl WORK teach 1
    python -m lab.training.lasting.distil sentences.jsonl WORK check 0     # imitates teacher 0: figures on new people
    python -m lab.training.lasting.distil sentences.jsonl WORK ship        # imitates both; writes the package's files

WORK holds arctic.npz, which ``lab.training.arctic`` makes, and arctic-tokenizer.json. Needs torch and tokenizers. On
one core a teacher takes ten minutes and a student six.
"""

import argparse
import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from hivemind.embedding.embedder import END, START, WORDING_TOKENS, load_default, load_wording
from hivemind.embedding.tokenizer import Tokenizer as OwnTokenizer
from hivemind.embedding.weights import WORDING_FILE, Weights
from hivemind.learning.detectors.corrections import is_statement
from hivemind.learning.lasting_statements import KINDS, WEIGHTS, WIDEST
from hivemind.learning.statement_forms import FORM_NAMES, SpokenSentence, measure_form
from hivemind.text.prose import LONGEST_TYPED
from lab.training.export import pack
from lab.training.lasting import networks
from lab.training.lasting.measure import (
    TEST_SPLIT,
    Row,
    fit,
    fitting_weights,
    logistic,
    make_statement,
    measure_ranking,
    read_rows,
    read_written,
    standardise,
)

THIRDS = 3
TEACHER_TOKENS = 92
OWN_SHARE = 0.4
"""How much of a labelled sentence's target is its label; the rest is the teacher's answer."""
SURE, KEPT_FOR_TEACHER, KEPT_FOR_STUDENT = 0.04, 0.35, 0.25
"""Of sentences that clearly pass only a part is shown in each epoch, with more weight."""
HEAVIEST = 6.0


@dataclass(frozen=True)
class Sentences:
    """The labelled sentences of people who are not tested on, then all their others."""

    rows: list[Row]
    others: list[SpokenSentence]
    other_owners: list[str]

    @classmethod
    def read(cls, path: Path) -> "Sentences":
        """Read what ``lab.training.lasting.extract`` wrote."""
        labelled = list(read_rows([path]))
        tested = {row.owner for row in labelled if row.split == TEST_SPLIT}
        known = {row.owner for row in labelled} - tested
        rows = [row for row in [*labelled, *read_written()] if row.split != TEST_SPLIT]
        rows = [row for row in rows if is_statement(row.statement.text)]
        texts = {row.statement.text.lower() for row in labelled}
        others, owners = [], []
        with path.open(encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                owner, text = line["repository"].partition("/")[0], line["text"]
                is_new = owner in known and text.lower() not in texts
                if is_new and line["length"] <= LONGEST_TYPED and is_statement(text):
                    texts.add(text.lower())
                    others.append(make_statement(line))
                    owners.append(owner)
        return cls(rows, others, owners)

    @cached_property
    def statements(self) -> list[SpokenSentence]:
        """All sentences, the labelled first."""
        return [*(row.statement for row in self.rows), *self.others]

    @cached_property
    def raw_forms(self) -> NDArray[np.float64]:
        """The form of each sentence."""
        return np.array([measure_form(statement) for statement in self.statements])

    @cached_property
    def scale(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean of each form and its deviation, over the labelled sentences."""
        labelled = self.raw_forms[: len(self.rows)]
        return labelled.mean(axis=0), labelled.std(axis=0) + 1e-3

    @cached_property
    def forms(self) -> NDArray[np.float64]:
        """The form of each sentence in standard deviations."""
        center, scale = self.scale
        forms: NDArray[np.float64] = ((self.raw_forms - center) / scale).clip(-WIDEST, WIDEST)
        return forms

    @cached_property
    def thirds(self) -> NDArray[np.int64]:
        """Which third of the people has said a sentence."""
        owners = [*(row.owner for row in self.rows), *self.other_owners]
        names = sorted(set(owners))
        third_of = dict(zip(names, np.random.RandomState(0).permutation(len(names)) % THIRDS, strict=True))
        return np.array([third_of[owner] for owner in owners])

    @cached_property
    def targets(self) -> NDArray[np.float64]:
        """The share of readers who say that a labelled sentence lasts."""
        return np.array([row.target for row in self.rows])

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """How much each sentence counts."""
        drawn = fitting_weights(np.array([row.weight for row in self.rows]))
        return np.concatenate([drawn, np.ones(len(self.others))])


def main() -> None:
    """Do one of the steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sentences", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("step", choices=["teach", "check", "ship"])
    parser.add_argument("third", type=int, nargs="?", default=-1)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    sentences = Sentences.read(arguments.sentences)
    if arguments.step == "teach":
        teach(sentences, arguments.work, arguments.third)
        return
    teachers = [arguments.third] if arguments.step == "check" else [0, 1]
    answers = [np.load(arguments.work / f"teacher-{third}.npy") for third in teachers]
    student = imitate(sentences, np.mean(logistic(np.array(answers)), axis=0), arguments.third)
    if arguments.step == "ship":
        ship(student, sentences)


def teach(sentences: Sentences, work: Path, third: int) -> None:
    """Train a teacher without a third of the people, and write its score of every sentence."""
    tokenizer = Tokenizer.from_file(str(work / "arctic-tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(TEACHER_TOKENS)
    ids = [encoding.ids for encoding in tokenizer.encode_batch([each.text for each in sentences.statements])]
    known = np.flatnonzero(sentences.thirds[: len(sentences.rows)] != third)
    wording_rows = load_default().encode_wording([row.statement.text for row in sentences.rows]).astype(np.float64)
    features = np.hstack([sentences.raw_forms[: len(sentences.rows)], wording_rows])
    features = standardise(features, features.mean(axis=0), features.std(axis=0) + 1e-3)
    # A regression finds the sentences that clearly pass; the network takes a hundred times as long.
    simple = fit(features[known], sentences.targets[known], sentences.weights[known])
    passes = (logistic(features @ simple) < SURE) & (sentences.targets == 0)
    teacher = networks.make_teacher(work / "arctic.npz", len(FORM_NAMES))
    draw, weights = thin(known, passes, sentences.weights[: len(passes)], KEPT_FOR_TEACHER)
    networks.train(
        teacher, ids, sentences.forms, sentences.targets, weights, draw,
        epochs=2, rate=6e-5, head_rate=2e-3, decay=0.01, seed=1,
    )  # fmt: skip
    scores = networks.score(teacher, ids, sentences.forms)
    report(f"teacher {third}", sentences, scores, third)
    np.save(work / f"teacher-{third}.npy", scores)


def imitate(sentences: Sentences, answers: NDArray[np.float64], third: int) -> networks.JudgeNetwork:
    """Train a student on the answers of teachers, and on the labels, without a third of the people."""
    tokenizer = OwnTokenizer(Weights.read().merges)
    ids = [[START, *tokenizer.encode(each.text, WORDING_TOKENS - 2), END] for each in sentences.statements]
    targets = answers.copy()
    targets[: len(sentences.rows)] *= 1 - OWN_SHARE
    targets[: len(sentences.rows)] += OWN_SHARE * sentences.targets
    known = np.flatnonzero(sentences.thirds != third)
    passes = (answers < SURE) & (targets < 0.1)
    draw, weights = thin(known, passes, sentences.weights, KEPT_FOR_STUDENT)
    student = networks.make_student(len(FORM_NAMES))
    networks.train(
        student, ids, sentences.forms, targets, weights, draw,
        epochs=3, rate=1e-3, head_rate=3e-3, decay=0.02, seed=0,
    )  # fmt: skip
    if third >= 0:
        report(f"student {third}", sentences, networks.score(student, ids, sentences.forms), third)
    return student


def thin(
    known: NDArray[np.int64], passes: NDArray[np.bool_], weights: NDArray[np.float64], share: float
) -> tuple[Any, NDArray[np.float64]]:
    """Return a function that draws the rows of an epoch, and the weights that make up for what it leaves out."""
    random = np.random.RandomState(0)
    hard, easy = known[~passes[known]], known[passes[known]]

    def draw() -> NDArray[np.int64]:
        return np.concatenate([hard, random.choice(easy, int(share * len(easy)), replace=False)])

    return draw, (weights / np.where(passes, share, 1)).clip(max=HEAVIEST)


def report(name: str, sentences: Sentences, scores: NDArray[np.float64], third: int) -> None:
    """Print how well the people are understood who were left out."""
    places = [place for place, row in enumerate(sentences.rows) if sentences.thirds[place] == third and row.is_drawn]
    measure_ranking(name, [sentences.rows[place] for place in places], logistic(scores[places]))


def ship(student: networks.JudgeNetwork, sentences: Sentences) -> None:
    """Write the changes of the encoder and the weights of what it reads, and print their checksums."""
    state = {name: value.numpy() for name, value in student.state_dict().items()}
    tensors = {}
    for name, value in state.items():
        plain = name.replace(".parametrizations.weight.0", ".weight")
        if plain.endswith((".weight.up", ".weight.down")):
            tensors[plain] = value.astype(np.float16)
        elif name.startswith(("layers.", "ln.")) and ".parametrizations." not in name:
            tensors[name] = value.astype(np.float32)
    content = pack(tensors, [])
    WORDING_FILE.write_bytes(content)
    print(f"{WORDING_FILE.name} {len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}")
    rows = weigh(state["head.weight"][0], float(state["head.bias"][0]), sentences)
    np.save(WEIGHTS, rows)
    print(f"{WEIGHTS.name} {rows.shape} sha256 {hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()}")


def weigh(head: NDArray[np.float32], bias: float, sentences: Sentences) -> NDArray[np.float32]:
    """Return center, scale and weights of each measurement, for lasting and for each kind."""
    encode = load_wording(hashlib.sha256(WORDING_FILE.read_bytes()).hexdigest()).encode_wording
    states = encode([row.statement.text for row in sentences.rows]).astype(np.float64)
    state_center, state_scale = states.mean(axis=0), states.std(axis=0) + 1e-3
    state_weights = head[: states.shape[1]].astype(np.float64)
    weights = [*head[states.shape[1] :], *(state_weights * state_scale), bias + state_weights @ state_center]
    center, scale = (np.concatenate(pair) for pair in zip(sentences.scale, (state_center, state_scale), strict=True))
    features = standardise(np.hstack([sentences.raw_forms[: len(states)], states]), center, scale)
    lasting = [place for place, row in enumerate(sentences.rows) if row.lasts]
    kinds = [
        fit(
            features[lasting],
            np.array([sentences.rows[place].kind is kind for place in lasting], float),
            np.ones(len(lasting)),
        )
        for kind in KINDS
    ]
    return np.vstack([[*center, 0], [*scale, 0], weights, *kinds]).astype(np.float32)


if __name__ == "__main__":
    main()
