"""The scorecard says what the results say."""

import json
import shutil
from pathlib import Path

from lab.benchmarks.retrieval import scores
from lab.evals.peers import FIGURES, PEERS
from lab.evals.scorecard import PAGE, RESULTS, SECTIONS, render_page


def test_the_page_is_what_the_results_say() -> None:
    assert PAGE.read_text() == render_page(RESULTS)


def test_a_changed_result_changes_the_page(tmp_path: Path) -> None:
    folder = shutil.copytree(RESULTS, tmp_path / "results")
    held = json.loads((folder / "staleness.json").read_text())
    held["figures"]["precision %"] = 12.3

    (folder / "staleness.json").write_text(json.dumps(held))

    assert "12.3 %" not in PAGE.read_text()
    assert "12.3 %" in render_page(folder)


def test_every_result_names_its_data_version_configuration_machine_and_command() -> None:
    fields = ("data", "version", "configuration", "machine", "command", "date", "figures")
    held = [json.loads(file.read_text()) for file in RESULTS.glob("*.json")]

    assert held
    assert all(one[field] for one in held for field in fields)


def test_every_figure_of_others_belongs_to_a_row_and_a_peer() -> None:
    rows = {row.key for section in SECTIONS.values() for row in section}

    assert set(FIGURES) <= rows
    assert {peer for row in FIGURES.values() for peer in row} <= set(PEERS)


def test_at_k_looks_at_exactly_the_first_k() -> None:
    order = ["a", "b", "c"]

    assert (scores.recall_any(order, ["b"], 2), scores.recall_any(order, ["c"], 2)) == (1.0, 0.0)
    assert (scores.recall_all(order, ["a", "b"], 2), scores.recall_all(order, ["a", "c"], 2)) == (1.0, 0.0)
    assert scores.ndcg(order, ["c"], 2) == 0.0 < scores.ndcg(order, ["c"], 3)
