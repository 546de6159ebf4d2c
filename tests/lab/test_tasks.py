"""The five tasks, cold and warm side by side, by the scripted agent; and what a broken memory would look like."""

import json
import sys
from pathlib import Path

import pytest

from lab.evals.tasks import shop
from lab.evals.tasks.__main__ import main
from lab.evals.tasks.conditions import NoMemory
from lab.evals.tasks.harness import Run, run_all
from lab.evals.tasks.report import rows
from lab.evals.tasks.scripted_agent import AgentTools, parse_notes, work
from lab.evals.tasks.task import TASKS


def run_task(task: str, *conditions: str) -> dict[str, Run]:
    return {run.condition: run for run in run_all([task], conditions, "", lambda run: None)}


def run_main(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["lab.evals.tasks", *arguments])
    main()


def successes(runs: dict[str, Run]) -> set[str]:
    return {condition for condition, run in runs.items() if run.success}


def test_a_bug_like_one_fixed_before_is_mended_with_less_searching() -> None:
    runs = run_task("bug", "none", "hivemind", "contradictory")

    assert successes(runs) == {"none", "hivemind", "contradictory"}
    assert "git log KeyError" in runs["none"].searches
    assert "git log KeyError" not in runs["hivemind"].searches


def test_a_convention_stated_once_is_followed_only_by_who_was_told() -> None:
    runs = run_task("convention", "none", "file", "hivemind", "superseded", "adjacent")

    assert successes(runs) == {"file", "hivemind", "superseded"}
    assert (len(runs["none"].reads), len(runs["hivemind"].reads)) == (5, 1)
    assert runs["hivemind"].receipts


def test_a_recipe_gone_stale_misleads_a_file_and_not_a_memory_that_looks_at_the_code() -> None:
    runs = run_task("stale", "none", "file", "hivemind")

    assert successes(runs) == {"none", "hivemind"}
    assert [runs[condition].stale_mistake for condition in ("none", "file", "hivemind")] == [False, True, False]
    assert [runs[condition].harm for condition in ("file", "hivemind")] == [True, False]


def test_a_preference_travels_between_projects_and_a_project_s_own_rule_does_not() -> None:
    runs = run_task("preference", "none", "hivemind", "adjacent", "contradictory")

    assert successes(runs) == {"hivemind", "contradictory"}


def test_what_was_erased_stays_out_although_a_later_session_says_it_again() -> None:
    runs = run_task("erased", "none", "file", "hivemind")

    assert successes(runs) == {"none", "hivemind"}
    assert (runs["file"].deletion_honoured, runs["hivemind"].deletion_honoured) == (False, True)


def test_a_broken_memory_loses() -> None:
    runs = run_task("convention", "none", "hivemind", "broken")

    assert successes(runs) == {"hivemind"}
    assert runs["broken"].memory_tokens == 0 < runs["hivemind"].memory_tokens
    assert [row[-1] for row in rows(list(runs.values()))[:3]] == ["", "", "nothing was shown"]


def test_the_scripted_agent_goes_by_what_it_is_told_even_if_that_is_wrong(tmp_path: Path) -> None:
    class Liar(NoMemory):
        def begin(self, prompt: str) -> str:
            return "- Errors are raised as `KeyError` instead of `ValueError`"

    root = tmp_path / "shop"
    shop.build(root, tmp_path / "garden")

    work(AgentTools(root=root, memory=Liar()), TASKS["convention"].prompt)

    assert "raise KeyError(" in (root / "shop/parse.py").read_text()


def test_notes_are_read_from_a_block_and_from_a_file() -> None:
    block = "- Use x [0a1b2c3d · fix · project · person · 2026-02-03 · trust high · verify before acting]"

    block_note, file_note = parse_notes(f"head\n{block}\n- Use y")

    assert (block_note.text, block_note.is_doubtful, block_note.trust) == ("Use x", True, 3)
    assert (file_note.text, file_note.is_doubtful, file_note.trust) == ("Use y", False, 0)


def test_a_real_agent_is_run_by_its_command_and_the_report_loads_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text(
        "import sys, pathlib\n"
        "form = '%Y-%m-%d' if '%Y-%m-%d' in sys.argv[1] else '%d/%m/%Y'\n"
        "file = pathlib.Path('shop/report.py')\n"
        "file.write_text(file.read_text() + f'\\n\\ndef stamp(moment):\\n    return moment.strftime({form!r})\\n')\n"
    )
    conditions = ["--tasks", "preference", "--conditions", "none,hivemind", "--out", str(tmp_path / "out")]

    run_main(monkeypatch, "--agent", f"{sys.executable} {agent} {{prompt}}", *conditions)

    results = json.loads((tmp_path / "out" / "eval.json").read_text())
    page = (tmp_path / "out" / "eval.html").read_text()
    assert {name: sums["success"] for name, sums in results["totals"].items()} == {"none": 0, "hivemind": 1}
    assert [bool(run["told"]) for run in results["runs"]] == [False, True]
    assert "<svg" in page
    assert not any(sign in page for sign in ("http:", "https:", "<script", "<link", "url("))


def test_a_real_agent_finds_the_parse_notes_the_file_it_loads(tmp_path: Path) -> None:
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
def test_an_unknown_name_is_answered_with_the_known_ones(
    wrong: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run_main(monkeypatch, *wrong)

    assert "choose from" in capsys.readouterr().err
