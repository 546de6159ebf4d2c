"""The scorecard says what the results say."""

import json
import shutil
from pathlib import Path

from lab.benchmarks.retrieval import scores
from lab.evals.scorecard import PAGE, README, RESULTS, TABLE, YARDSTICK, render_figures, render_page, render_table


def test_the_page_is_what_the_results_say() -> None:
    assert PAGE.read_text() == render_page(RESULTS)
    assert TABLE.read_text() == render_table(YARDSTICK)
    assert render_figures(RESULTS, YARDSTICK) in README.read_text("utf-8")


def test_a_changed_result_changes_the_page(tmp_path: Path) -> None:
    folder = shutil.copytree(RESULTS, tmp_path / "results")
    held = json.loads((folder / "staleness.json").read_text())
    held["figures"]["wrong sentences asked"] = [12, 34567]

    (folder / "staleness.json").write_text(json.dumps(held))

    assert "12 of 34567" not in PAGE.read_text()
    assert "12 of 34567" in render_page(folder)


def test_a_changed_result_changes_the_readme(tmp_path: Path) -> None:
    folder = shutil.copytree(YARDSTICK, tmp_path / "results")
    ours = json.loads((folder / "hivemind.json").read_text())
    ours["parts"]["notes"]["figures"]["tasks: the rule is told unasked"] = {"count": 12, "of": 34567}

    (folder / "hivemind.json").write_text(json.dumps(ours))

    assert "12 of 34567" not in README.read_text("utf-8")
    assert "12 of 34567" in render_figures(RESULTS, folder)


def test_every_result_names_its_data_version_configuration_machine_and_command() -> None:
    fields = ("data", "version", "configuration", "machine", "command", "date", "figures")
    held = [json.loads(file.read_text()) for file in RESULTS.glob("*.json")]

    assert held
    assert all(one[field] for one in held for field in fields)


def test_every_system_of_the_yardstick_has_a_version_a_machine_and_dates() -> None:
    records = [json.loads(file.read_text()) for file in YARDSTICK.glob("*.json")]

    assert {record["system"] for record in records} >= {"hivemind", "fts5", "mem0", "rules-file"}
    assert all(record["machine"] and record["description"]["version"] for record in records)
    assert all(part["date"] and part["commit"] for record in records for part in record["parts"].values())


def test_at_k_looks_at_exactly_the_first_k() -> None:
    order = ["a", "b", "c"]

    assert (scores.recall_any(order, ["b"], 2), scores.recall_any(order, ["c"], 2)) == (1.0, 0.0)
    assert (scores.recall_all(order, ["a", "b"], 2), scores.recall_all(order, ["a", "c"], 2)) == (1.0, 0.0)
    assert scores.ndcg(order, ["c"], 2) == 0.0 < scores.ndcg(order, ["c"], 3)
