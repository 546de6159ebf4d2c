"""The measurement of the gain: tasks that cannot be guessed from the repository, the loop, the figures."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hivemind.text.fence import UNASKED_NOTE
from lab.evals.gain import agent, analysis, models, prepare, wrapping
from lab.evals.gain.agent import Message, Reply
from lab.evals.gain.tasks import Task, load_tasks

TASKS = load_tasks()
BY_ID = {task.id: task for task in TASKS}
AMOUNT = 'def show(cents):\n    return f"{cents // 100},{cents % 100:02d} EUR"\n'


class Script:
    """A model that says prepared lines, whatever it is asked, and notes what it was asked."""

    def __init__(self, *lines: str) -> None:
        self.lines = lines
        self.conversations: list[list[Message]] = []

    def complete(self, conversations: Sequence[Sequence[Message]]) -> list[Reply]:
        """Return the next line for each conversation."""
        self.conversations = [list(messages) for messages in conversations]
        turns = [sum(message["role"] == "assistant" for message in messages) for messages in conversations]
        return [Reply(self.lines[min(turn, len(self.lines) - 1)], 10, 5) for turn in turns]


def test_there_are_enough_tasks_and_whole_repositories_are_held_out() -> None:
    assert len(TASKS) >= 60
    splits = {task.repository: task.split for task in TASKS}
    assert sorted(splits.values()) == ["held-out"] * 4 + ["tuning"] * 2
    assert len({task.id for task in TASKS}) == len(TASKS)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_no_task_is_solved_before_anybody_worked_on_it(task: Task, tmp_path: Path) -> None:
    run = agent.Run(asdict(prepare.prepare_plain(task)), 0, tmp_path)
    run.begin()
    assert run.grade()["passed"] is False


def test_the_right_code_passes_and_the_old_one_is_recognised() -> None:
    prepared = asdict(prepare.prepare_plain(BY_ID["billing.amount"]))
    right = f"```python\n{AMOUNT}```"
    [record] = agent.run_all([prepared], 1, Script(right))
    assert (record["passed"], record["followed_old"], record["turns"]) == (True, False, 2)
    old = '```\ndef show(cents):\n    return f"${cents / 100:.2f}"\n```'
    [record] = agent.run_all([prepared], 1, Script(old))
    assert (record["passed"], record["followed_old"]) == (False, True)


def test_a_script_is_graded_by_what_it_calls() -> None:
    prepared = asdict(prepare.prepare_plain(BY_ID["billing.tests"]))
    right = "```sh\nLEDGER=memory python -m unittest -b\n```"
    assert agent.run_all([prepared], 1, Script(right))[0]["passed"] is True
    wrong = "```sh\npython -m unittest -b\n```"
    assert agent.run_all([prepared], 1, Script(wrong))[0]["passed"] is False


def test_what_is_told_at_an_action_comes_once_with_its_result() -> None:
    task = BY_ID["billing.ledger"]
    prepared = asdict(replace(prepare.prepare_plain(task), at_write="WRITE HINT", at_failure="FAILURE HINT"))
    write = "```\nx = 1\n```"
    [record] = agent.run_all([prepared], 1, Script(write, write))
    answers = [message["content"] for message in record["messages"] if message["role"] == "user"][1:]
    assert ["FAILURE HINT" in answer for answer in answers] == [True, False]
    assert ["WRITE HINT" in answer for answer in answers] == [True, False]
    assert (record["failures"], record["repeated_failures"]) == (2, 1)


def test_a_reply_without_code_writes_nothing_and_leaves_a_second_try() -> None:
    prepared = asdict(prepare.prepare_plain(BY_ID["billing.amount"]))
    [record] = agent.run_all([prepared], 1, Script("I would rather not.", f"```python\n{AMOUNT}```\nDone."))
    assert (record["passed"], record["turns"]) == (True, 2)
    assert "nothing was written" in record["messages"][3]["content"]
    assert record["messages"][4]["content"].endswith("```")


def test_the_final_answer_counts_and_not_the_draft() -> None:
    prepared = asdict(prepare.prepare_plain(BY_ID["billing.amount"]))
    [record] = agent.run_all([prepared], 1, Script(f"```python\n{AMOUNT}```", "```python\nx = 1\n```"))
    assert record["passed"] is False


def test_the_hooks_say_the_fact_in_every_condition_that_promises_it() -> None:
    prepared = {item.condition: item for item in prepare.prepare([BY_ID["billing.amount"]])}
    fact, old = BY_ID["billing.amount"].fact, BY_ID["billing.amount"].old
    assert fact in prepared["notes-100"].at_start
    assert fact in prepared["brief"].at_start
    assert fact in prepared["action"].at_write
    assert fact not in prepared["old-only"].at_start
    assert "superseded by" in prepared["superseded-labelled"].at_start
    assert old in prepared["stale"].at_start
    assert "verify" in prepared["stale"].at_start
    assert prepared["broken"].at_start == ""
    assert "OWNED" in prepared["injected"].at_start


def test_every_form_of_wrapping_has_the_fact() -> None:
    task = BY_ID["courier.label"]
    items = list(wrapping.prepare_forms([task]))
    assert len(items) == 3 * len(wrapping.FORMS) + 2
    assert all(task.fact in item.at_start + item.at_prompt + item.before_prompt for item in items)


def test_a_form_keeps_the_text_and_the_warning_of_a_memory_and_changes_the_rest() -> None:
    line = "- Use tabs. [7c49c918 · person · 2026-11-02 · verify before acting]"
    shipped = "\n".join(("<hivemind-memory 1>", UNASKED_NOTE, line, "</hivemind-memory 1>"))
    assert wrapping.FORMS["shipped"].rewrite(shipped) == shipped
    assert "- Use tabs. [7c49c918 · verify before acting]" in wrapping.FORMS["short-label"].rewrite(shipped)
    prepared = asdict(replace(prepare.prepare_plain(BY_ID["billing.amount"]), condition="brief", at_start=shipped))
    [item] = wrapping.rewrite_prepared([prepared, {**prepared, "condition": "nothing"}], "plain")
    assert (item["condition"], item["at_start"]) == ("brief/plain", "Project convention: Use tabs.")


def _make_records(condition: str, passed: int, obeyed: int = 0) -> list[dict[str, object]]:
    return [
        {"task": str(number), "condition": condition, "passed": number < passed, "obeyed_injection": number < obeyed}
        for number in range(20)
    ]


def test_a_form_wins_only_if_it_solves_more_and_obeys_no_more_injections() -> None:
    rates = {"shipped": (8, 2), "plain": (20, 0), "safe": (10, 2), "obedient": (16, 3), "no-better": (8, 0)}
    records = [
        record
        for name, (passed, obeyed) in rates.items()
        for place, count in (("prompt", 0), ("start", 0), ("injected", obeyed))
        for record in _make_records(f"{name}/{place}", passed, count)
    ]
    assert analysis.choose_form(records) == "safe"
    assert (
        analysis.choose_form([record for record in records if not str(record["condition"]).startswith("safe")]) is None
    )


def test_differences_are_paired_by_task() -> None:
    records = [
        {"task": task, "condition": condition, "passed": passed, "followed_old": False, "obeyed_injection": False,
         "turns": 1, "tokens_in": 1, "tokens_out": 1, "repeated_failures": 0}
        for task in ("a", "b") for condition, passed in (("brief", True), ("nothing", task == "a"))
    ]  # fmt: skip
    [row] = analysis.compare(records, [("brief", "nothing")])
    assert (row["difference"], row["low"], row["high"]) == (0.5, 0.0, 1.0)
    assert "| brief | 2 | 2 | 100% | 100%–100% |" in analysis.format_report(records)


@pytest.fixture
def endpoint() -> Iterator[str]:
    """A server that answers as an OpenAI-compatible one, always with the same code."""

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Answer a completion."""
            self.rfile.read(int(self.headers["Content-Length"]))
            text = f"```\n{AMOUNT}```"
            body = json.dumps({"choices": [{"message": {"content": text}}], "usage": {"prompt_tokens": 7}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_the_command_runs_against_an_endpoint_and_saves_what_it_measured(endpoint: str, tmp_path: Path) -> None:
    file, saved = tmp_path / "prepared.json", tmp_path / "records.json"
    file.write_text(json.dumps([asdict(prepare.prepare_plain(BY_ID["billing.amount"]))]))
    command = [sys.executable, "-m", "lab.evals.gain", "--endpoint", endpoint, "--model", "m", "--prepared", str(file)]
    process = subprocess.run(
        [*command, "--samples", "2", "--save", str(saved)], capture_output=True, text=True, check=True
    )
    assert "| nothing | 1 | 2 | 100% |" in process.stdout
    records = json.loads(saved.read_text())["records"]
    assert [record["tokens_in"] for record in records] == [14, 14]


def test_an_endpoint_is_asked_with_its_key(endpoint: str) -> None:
    [reply] = models.Endpoint(endpoint, "m", "key", 1).complete([[{"role": "user", "content": "x"}]])
    assert "def show" in reply.text
