"""The five tasks, cold and warm side by side, by the scripted agent; and what a broken memory would look like."""

import json
import sys
from pathlib import Path

import pytest

from hivemind.entrypoints.eval import ground
from hivemind.entrypoints.eval.memory import Nothing
from hivemind.entrypoints.eval.report import rows
from hivemind.entrypoints.eval.running import Run, run_all
from hivemind.entrypoints.eval.scripted import ScriptedDesk, notes_in, work
from hivemind.entrypoints.eval.tasks import TASKS
from tests.doors import run as typed


def runs_of(task: str, *conditions: str) -> dict[str, Run]:
    return {run.condition: run for run in run_all([task], conditions, "", lambda run: None)}


def done_right(runs: dict[str, Run]) -> set[str]:
    return {condition for condition, run in runs.items() if run.success}


def test_a_bug_like_one_fixed_before_is_mended_with_less_searching() -> None:
    runs = runs_of("bug", "none", "hivemind", "contradictory")

    assert done_right(runs) == {"none", "hivemind", "contradictory"}
    assert "git log KeyError" in runs["none"].searches
    assert "git log KeyError" not in runs["hivemind"].searches


def test_a_convention_stated_once_is_followed_only_by_who_was_told() -> None:
    runs = runs_of("convention", "none", "file", "hivemind", "superseded", "adjacent")

    assert done_right(runs) == {"file", "hivemind", "superseded"}
    assert (len(runs["none"].reads), len(runs["hivemind"].reads)) == (5, 1)
    assert runs["hivemind"].receipts


def test_a_recipe_gone_stale_misleads_a_file_and_not_a_memory_that_looks_at_the_code() -> None:
    runs = runs_of("stale", "none", "file", "hivemind")

    assert done_right(runs) == {"none", "hivemind"}
    assert [runs[one].stale_mistake for one in ("none", "file", "hivemind")] == [False, True, False]
    assert [runs[one].harm for one in ("file", "hivemind")] == [True, False]


def test_a_preference_travels_between_projects_and_a_project_s_own_rule_does_not() -> None:
    runs = runs_of("preference", "none", "hivemind", "adjacent", "contradictory")

    assert done_right(runs) == {"hivemind", "contradictory"}


def test_what_was_erased_stays_out_although_a_later_session_says_it_again() -> None:
    runs = runs_of("erased", "none", "file", "hivemind")

    assert done_right(runs) == {"none", "hivemind"}
    assert (runs["file"].deletion_honoured, runs["hivemind"].deletion_honoured) == (False, True)


def test_a_broken_memory_loses() -> None:
    runs = runs_of("convention", "none", "hivemind", "broken")

    assert done_right(runs) == {"hivemind"}
    assert runs["broken"].memory_tokens == 0 < runs["hivemind"].memory_tokens
    assert [row[-1] for row in rows(list(runs.values()))[:3]] == ["", "", "nothing was shown"]


def test_the_scripted_agent_goes_by_what_it_is_told_even_if_that_is_wrong(tmp_path: Path) -> None:
    class Liar(Nothing):
        def begin(self, prompt: str) -> str:
            return "- Errors are raised as `KeyError` instead of `ValueError`"

    root = tmp_path / "shop"
    ground.build(root, tmp_path / "garden")

    work(ScriptedDesk(root=root, memory=Liar()), TASKS["convention"].prompt)

    assert "raise KeyError(" in (root / "shop/parse.py").read_text()


def test_notes_are_read_from_a_block_and_from_a_file() -> None:
    block = "[0a1b2c3d · fix · project · person · 2026-02-03 · trust high · verify before acting] Use x"

    fenced, listed = notes_in(f"head\n{block}\n- Use y")

    assert (fenced.text, fenced.is_doubtful, fenced.trust) == ("Use x", True, 3)
    assert (listed.text, listed.is_doubtful, listed.trust) == ("Use y", False, 0)


def test_a_real_agent_is_run_by_its_command_and_the_report_loads_nothing(tmp_path: Path) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text(
        "import sys, pathlib\n"
        "form = '%Y-%m-%d' if '%Y-%m-%d' in sys.argv[1] else '%d/%m/%Y'\n"
        "file = pathlib.Path('shop/report.py')\n"
        "file.write_text(file.read_text() + f'\\n\\ndef stamp(moment):\\n    return moment.strftime({form!r})\\n')\n"
    )
    conditions = ["--tasks", "preference", "--conditions", "none,hivemind", "--out", str(tmp_path / "out")]

    done = typed("eval", "--agent", f"{sys.executable} {agent} {{prompt}}", *conditions)

    held = json.loads((tmp_path / "out" / "eval.json").read_text())
    page = (tmp_path / "out" / "eval.html").read_text()
    assert done.exit_code == 0, done.output
    assert {name: sums["success"] for name, sums in held["totals"].items()} == {"none": 0, "hivemind": 1}
    assert [bool(one["told"]) for one in held["runs"]] == [False, True]
    assert "<svg" in page
    assert not any(sign in page for sign in ("http:", "https:", "<script", "<link", "url("))


def test_a_real_agent_finds_the_notes_in_the_file_it_loads(tmp_path: Path) -> None:
    agent = tmp_path / "gemini"
    agent.write_text(
        f"#!{sys.executable}\n"
        "import pathlib\n"
        "code = 'HERON-7' if 'HERON-7' in pathlib.Path('GEMINI.md').read_text() else 'NONE'\n"
        "with open('shop/pricing.py', 'a') as file: file.write(f'CUSTOMER_CODE = {code!r}')\n"
    )
    agent.chmod(0o755)

    (run,) = run_all(["erased"], ["file"], f"{agent} {{prompt}}", lambda run: None)

    assert run.reason == "AssertionError"
    assert run.deletion_honoured is False


@pytest.mark.parametrize("wrong", [("--tasks", "nonsense"), ("--conditions", "warm")])
def test_an_unknown_name_is_answered_with_the_known_ones(wrong: tuple[str, str]) -> None:
    done = typed("eval", *wrong)

    assert done.exit_code != 0
    assert "choose from" in str(done.exception) + done.output
