"""Measure what redaction costs compared with baselines of the same run; with a file of samples, what it catches.

python -m lab.benchmarks.redact
python -m lab.benchmarks.redact samples.jsonl     one {"type": …, "text": …, "secret": …} per line
"""

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from hivemind.sessions import redact as module
from hivemind.sessions.redact import redact
from lab.benchmarks.corpus import sentences
from lab.benchmarks.measure import BARE, cpu_of

SIZES = (4_096, 65_536)
ROUNDS = 7
FRAGMENT = 0.6
"""A secret counts as caught if no substring of this share of its length is left."""

PACKAGE = str(Path(module.__file__).parents[2])
IMPORTS = {
    "bare": "pass",
    "re": "import re",
    "hivemind": f"import re, sys; sys.path.insert(0, {PACKAGE!r}); import hivemind.sessions",
    "redact": f"import re, sys; sys.path.insert(0, {PACKAGE!r}); import hivemind.sessions.redact",
}
"""Each does what the previous one does, and one import more."""


def main() -> None:
    """Print the costs, or the share of the samples in a file that is caught."""
    if len(sys.argv) > 1:
        print_catches(Path(sys.argv[1]))
    else:
        print_costs()


def print_costs() -> None:
    """Print CPU milliseconds per text and size, also as a multiple of writing the same text as JSON."""
    print(f"{'text':12} {'bytes':>7} {'redact ms':>10} {'json ms':>9} {'lower ms':>9} {'redact/json':>12}")
    for name, text in texts().items():
        for size in SIZES:
            piece = (text * (size // len(text) + 1))[:size]
            cost = least_cpu(partial(redact, piece))
            as_json, lower = least_cpu(partial(json.dumps, piece)), least_cpu(piece.lower)
            print(f"{name:12} {size:7} {cost:10.3f} {as_json:9.4f} {lower:9.4f} {cost / as_json:12.1f}")
    start_costs = {name: cpu_of([*BARE[:-1], code]) for name, code in IMPORTS.items()}
    print("process ms:", ", ".join(f"{name} {cost:.1f}" for name, cost in start_costs.items()))


def texts() -> dict[str, str]:
    """Return samples of what agents write: prose, code, hook payloads, logs; and a file full of secrets."""
    chance = random.Random(42)
    prose = ". ".join(sentences(chance, 400))
    code = "".join(path.read_text(encoding="utf-8") for path in sorted(Path(json.__file__).parent.glob("*.py")))
    hook = "\n".join(
        json.dumps(
            {"session_id": f"{chance.getrandbits(128):032x}", "cwd": "/src/api", "tool_response": code[at : at + 900]}
        )
        for at in range(0, 60_000, 900)
    )
    log = "".join(
        f"2026-03-01 12:00:{second:02} INFO api.auth request {chance.getrandbits(32):08x} path=/v1/tokens status=200\n"
        for second in range(60)
    )
    env = "".join(f"SERVICE_{number}_TOKEN={chance.getrandbits(160):040x}\n" for number in range(80))
    return {"prose": prose, "code": code, "hook": hook, "log": log, "only secrets": env}


def least_cpu(work: Callable[[], object]) -> float:
    """Return the lowest CPU milliseconds of a call over several rounds, with the least noise of other processes."""
    work()
    rounds = []
    for _ in range(ROUNDS):
        calls, start = 0, time.process_time()
        while (seconds := time.process_time() - start) < 0.02:
            work()
            calls += 1
        rounds.append(seconds / calls * 1000)
    return min(rounds)


def print_catches(samples: Path) -> None:
    """Print the share of samples that are caught, in total and by type, and list those that are not."""
    rows = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines() if line.strip()]
    missed_rows = [row for row in rows if survives(row["secret"], redact(row["text"]))]
    of_type, missed_of_type = Counter(row["type"] for row in rows), Counter(row["type"] for row in missed_rows)
    for kind, count in sorted(of_type.items()):
        print(f"{kind:20} {count - missed_of_type[kind]:5} of {count}")
    print(f"{'all':20} {len(rows) - len(missed_rows):5} of {len(rows)}  {(1 - len(missed_rows) / len(rows)):.2%}")
    for row in missed_rows:
        print(f"missed {row['type']}: {row['text']!r}")


def survives(secret: str, text: str) -> bool:
    """Whether a large enough fragment of the secret is still in the text."""
    length = -int(-len(secret) * FRAGMENT // 1)
    return any(secret[start : start + length] in text for start in range(len(secret) - length + 1))


if __name__ == "__main__":
    main()
