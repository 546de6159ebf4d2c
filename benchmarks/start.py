"""What a process of ours costs to start, beside bare Python in the same run.

python -m benchmarks.start
"""

import sys
import tempfile

from benchmarks.measure import BARE, cpu_of

PAYLOAD = b'{"session_id":"s","cwd":"/tmp","hook_event_name":"PostToolUse","tool_name":"Bash",'
PAYLOAD += (
    b'"tool_input":{"command":"pytest -q"},"tool_response":{"stdout":"' + b"ok " * 1200 + b'"},"tool_use_id":"t1"}'
)
HOOK = "from hivemind.entrypoints.hook import main; main()"
CLI = "from hivemind.entrypoints.cli import main; main()"


def main() -> None:
    """Print CPU milliseconds and ratios."""
    bare = cpu_of(BARE)
    print(f"{'what':<34}{'CPU ms':>8}{'x bare':>8}  budget")
    print(f"{'bare python':<34}{bare:>8.1f}{1:>8.1f}")
    with tempfile.TemporaryDirectory() as home:
        environ = {"HIVEMIND_HOME": home}
        cli = [sys.executable, "-c", CLI]
        rows = [
            (
                "hook, one tool use of 4 kB",
                [sys.executable, "-I", "-c", HOOK, "claude-code", "PostToolUse"],
                PAYLOAD,
                "3 x bare",
            ),
            ("hivemind --version", [*cli, "--version"], b"", "120 ms"),
            ("hivemind remember", [*cli, "remember", "Deploys run on Fridays"], b"", ""),
            ("hivemind recall, by words", [*cli, "recall", "when do deploys run"], b"", "500 ms"),
        ]
        for name, command, stdin, budget in rows:
            cost = cpu_of(command, stdin=stdin, environ=environ)
            print(f"{name:<34}{cost:>8.1f}{cost / bare:>8.1f}  {budget}")


if __name__ == "__main__":
    main()
