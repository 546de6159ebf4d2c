"""How quickly the past is taken in: CPU time per megabyte of transcripts, beside parsing the same files as JSON.

python -m benchmarks.backfill FOLDER     FOLDER is laid out like a user's home: .claude/projects/…
python -m benchmarks.backfill            sessions made up for the purpose
"""

import json
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import cpu_and_wall
from hivemind import Hivemind, agents
from hivemind.capture import backfill
from hivemind.model.memory import Channel
from hivemind.model.writer import Writer
from hivemind.settings import Settings

SESSIONS, STEPS = 20, 150


def main() -> None:
    """Print the cost of parsing, of reading, and of taking in, with and without what was known before."""
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        home = Path(sys.argv[1]) if len(sys.argv) > 1 else made_up(place / "user")
        found = backfill.transcripts(home, agents.NAMES, None)
        megabytes = sum(one.size for one in found) / 1e6
        settings = Settings(home=place / "home", person="benchmark")
        writer = Writer(actor="benchmark", channel=Channel.PERSON)
        with Hivemind.open(directory=place, settings=settings, writer=writer) as mind:
            work = {
                "json.loads": lambda: parse(found),
                "read": lambda: sum(1 for _ in backfill.observations(found, lambda session: False)),
                "backfill": lambda: mind.sessions.import_transcripts(home=home),
                "again": lambda: mind.sessions.import_transcripts(home=home),
            }
            print(f"{len(found)} transcripts, {megabytes:.1f} MB")
            print(f"{'':12} {'CPU s':>8} {'MB/s':>8} {'× json':>8}")
            anchor = 0.0
            for name, call in work.items():
                cpu, _ = cpu_and_wall(call)
                anchor = anchor or cpu
                print(f"{name:12} {cpu / 1000:8.2f} {megabytes / (cpu / 1000):8.1f} {cpu / anchor:8.1f}")
            stats = mind.maintenance.stats()
            print(f"{stats.observations:,} observations, store {stats.bytes / 1e6:.1f} MB")


def parse(found: list[backfill.Transcript]) -> int:
    """The least that can be done with transcripts: each line as JSON."""
    lines = 0
    for one in found:
        if one.path.suffix == ".jsonl":
            with one.path.open(encoding="utf-8", errors="replace") as file:
                lines += sum(bool(json.loads(line)) for line in file if line.startswith("{"))
    return lines


def made_up(home: Path) -> Path:
    """Sessions in Claude Code's format: prompts, replies, and commands with outputs of a few kilobytes."""
    folder = home / ".claude" / "projects" / "-repo"
    folder.mkdir(parents=True)
    output = "".join(f"tests/test_api.py::test_{number} PASSED in 0.0{number % 9} s\n" for number in range(60))
    for session in range(SESSIONS):
        common = {"sessionId": f"s{session}", "cwd": str(home), "timestamp": "2026-03-01T10:00:00Z"}
        with (folder / f"s{session}.jsonl").open("w") as file:
            for step in range(STEPS):
                own_id = f"s{session}-{step}"
                use = {"type": "tool_use", "id": own_id, "name": "Bash", "input": {"command": f"make check-{step}"}}
                result = {"type": "tool_result", "tool_use_id": own_id, "content": output}
                said = [{"type": "text", "text": f"Step {step}: the check comes next."}, use]
                lines = [
                    {"type": "assistant", "message": {"role": "assistant", "content": said}, **common},
                    {"type": "user", "message": {"role": "user", "content": [result]}, **common},
                ]
                file.writelines(f"{json.dumps(line)}\n" for line in lines)
    return home


if __name__ == "__main__":
    main()
