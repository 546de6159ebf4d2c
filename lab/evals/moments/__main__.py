"""Ask a model what it does next in 43 short situations, with several wordings of our instructions.

python -m lab.evals.moments --endpoint URL --model NAME           the 16 situations for choosing a wording
python -m lab.evals.moments --endpoint URL --model NAME --test    the 27 that report it (--only NAME: one wording)

A situation is a moment in which an agent should ask the memory (before a task, at an error, when a plan is approved) or
keep something (at a correction), or one in which there is nothing to do for it. One call of the model per situation; it
counts which tool it calls first. The endpoint speaks OpenAI's chat completions.
"""

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from hivemind.agents.config_entries import RULE
from hivemind.mcp.tools import INSTRUCTIONS, TOOLS
from lab.evals.gain.models import Endpoint

FOLDER = Path(__file__).parent
OTHER_TOOLS = {
    "read_file": "Read a file.",
    "run_command": "Run a shell command.",
    "edit_file": "Change a file.",
    "answer": "Answer the user without a tool.",
}
EXPECTED = {
    "task": {"context", "recall"},
    "error": {"context", "recall"},
    "plan": {"context", "recall"},
    "correction": {"remember"},
    "none": set(OTHER_TOOLS),
}
ONE_LINE = "The MCP server `hivemind` has a memory of this project; use its tools when they help.\n"
WORDINGS = {"none": "", "one-line": ONE_LINE, "instructions": INSTRUCTIONS, "rule": RULE}
"""Two to compare with, and ours; others are tried with ``--wording FILE``."""
LONGEST_REPLY = 24
"""Tokens; the name of the tool comes first."""
FORM = (
    "You are a coding agent. Reply with exactly one line: the name of the tool to call next, a space, and its arguments"
    " as a JSON object."
)


def main() -> None:
    """Print for each wording how often the model did the right thing, by moment."""
    parser = argparse.ArgumentParser(prog="python -m lab.evals.moments")
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--key", default="")
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--wording", type=Path, nargs="*", default=[], help="files with other wordings")
    options = parser.parse_args()
    model = Endpoint(options.endpoint, options.model, options.key, workers=1, temperature=0, most_tokens=LONGEST_REPLY)
    file = FOLDER / ("test.jsonl" if options.test else "dev.jsonl")
    cases = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    wordings = WORDINGS | {path.stem: path.read_text("utf-8") for path in options.wording}
    for name in options.only or wordings:
        replies = model.complete([make_conversation(wordings[name], case) for case in cases])
        tools = [find_tool(reply.text) for reply in replies]
        print(f"{name:<14} {format_counts(cases, tools)}", flush=True)


def make_conversation(wording: str, case: dict[str, Any]) -> list[dict[str, str]]:
    """Return the messages of a situation, with a wording and the tools before them."""
    ours = {tool["name"]: tool["description"] for tool in TOOLS if tool["name"] in ("context", "recall", "remember")}
    tools = "\n".join(f"{name}: {what}" for name, what in (OTHER_TOOLS | ours).items())
    system = "\n\n".join(filter(None, (f"{FORM}\n\nTools:\n{tools}", wording)))
    # Small models have no role for a tool's result in their template.
    rest = [
        {"role": "user", "content": f"Result:\n{message['content']}"} if message["role"] == "tool" else message
        for message in case["messages"]
    ]
    return [{"role": "system", "content": system}, *rest]


def find_tool(text: str) -> str:
    """Return the tool that a reply calls; a reply without one is an answer."""
    names = [*OTHER_TOOLS, "context", "recall", "remember"]
    match = re.search(rf"\b({'|'.join(names)})\b", text)
    return match[1] if match else "answer"


def format_counts(cases: list[dict[str, Any]], tools: list[str]) -> str:
    """Return how many were right, by moment and in all."""
    right = Counter(case["moment"] for case, tool in zip(cases, tools, strict=True) if tool in EXPECTED[case["moment"]])
    total = Counter(case["moment"] for case in cases)
    parts = [f"{moment} {right[moment]}/{total[moment]}" for moment in EXPECTED]
    return f"{sum(right.values())}/{len(cases)}  {'  '.join(parts)}"


if __name__ == "__main__":
    main()
