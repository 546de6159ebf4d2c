"""Measure the import of transcripts: CPU time per megabyte, compared with parsing the same files as JSON.

python -m lab.benchmarks.backfill FOLDER     FOLDER is laid out like a user's home: .claude/projects/…
python -m lab.benchmarks.backfill            generated sessions
"""

import json
import sys
import tempfile
from pathlib import Path

from hivemind import Hivemind
from hivemind.agents import callers
from hivemind.model.memory import Channel, Writer
from hivemind.sessions.transcripts import Transcript, find_transcripts, read_observations
from hivemind.settings import Settings
from lab.benchmarks.measure import cpu_and_wall

SESSIONS, STEPS = 20, 150


def main() -> None:
    """Print the cost of parsing, reading and importing, and of importing the same files again."""
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        home = Path(sys.argv[1]) if len(sys.argv) > 1 else make_sessions(root / "user")
        transcripts = find_transcripts(home, callers.NAMES, None)
        megabytes = sum(transcript.size for transcript in transcripts) / 1e6
        settings = Settings(home=root / "home", person="benchmark")
        writer = Writer(actor="benchmark", channel=Channel.PERSON)
        with Hivemind.open(directory=root, settings=settings, writer=writer) as mind:
            work = {
                "json.loads": lambda: parse(transcripts),
                "read": lambda: sum(1 for _ in read_observations(transcripts, lambda session: False)),
                "backfill": lambda: mind.sessions.import_transcripts(home=home),
                "again": lambda: mind.sessions.import_transcripts(home=home),
            }
            print(f"{len(transcripts)} transcripts, {megabytes:.1f} MB")
            print(f"{'':12} {'CPU s':>8} {'MB/s':>8} {'× json':>8}")
            anchor = 0.0
            for name, call in work.items():
                cpu, _ = cpu_and_wall(call)
                anchor = anchor or cpu
                print(f"{name:12} {cpu / 1000:8.2f} {megabytes / (cpu / 1000):8.1f} {cpu / anchor:8.1f}")
            stats = mind.maintenance.stats()
            print(f"{stats.observations:,} observations, store {stats.bytes / 1e6:.1f} MB")


def parse(transcripts: list[Transcript]) -> int:
    """Parse each line as JSON, the least that any import must do, and return the number of lines."""
    lines = 0
    for transcript in transcripts:
        if transcript.path.suffix == ".jsonl":
            with transcript.path.open(encoding="utf-8", errors="replace") as file:
                lines += sum(bool(json.loads(line)) for line in file if line.startswith("{"))
    return lines


def make_sessions(home: Path) -> Path:
    """Write sessions in Claude Code's format: replies, and commands with outputs of a few kilobytes."""
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
                content = [{"type": "text", "text": f"Step {step}: the check comes next."}, use]
                lines = [
                    {"type": "assistant", "message": {"role": "assistant", "content": content}, **common},
                    {"type": "user", "message": {"role": "user", "content": [result]}, **common},
                ]
                file.writelines(f"{json.dumps(line)}\n" for line in lines)
    return home


if __name__ == "__main__":
    main()
