"""The first examples that people try, word for word, through the real commands, hooks and Python interface.

One section for each group of examples; the README shows the same ones.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.doors import run, run_json

# 1. Project context

# 2. Past work

# 3. SQL and vectors from Python

# 4. Linked to code

# 5. Deploys


@pytest.mark.usefixtures("deploy_repository")
def test_a_deploy_target_that_moved_is_noticed_and_both_are_labelled_with_the_newer_first() -> None:
    older = run_json("remember", "deploys use Vercel", "--source", "docs/deploy.md:1-3", "--verify-by", "30d")
    moved = run("remember", "deploys moved to Coolify", "--source", "docs/deploy.md", "--expires", "90d", "--json")
    newer = json.loads(moved.stdout)

    assert newer["contradicts"] == [older["id"]]
    assert f"contradicts {older['id'][:8]}" in moved.stderr
    assert "hivemind review" in moved.stderr
    assert [source["file"] for source in newer["sources"] if source["file"]] == ["docs/deploy.md"]
    assert (older["sources"][1]["lines"], bool(older["verify_by"]), bool(newer["expires_at"])) == ("1-3", True, True)
    hits = run_json("recall", "where do we deploy?")["hits"]
    assert [hit["memory"]["text"] for hit in hits] == ["deploys moved to Coolify", "deploys use Vercel"]
    assert [hit["labels"][0] for hit in hits] == ["disputed", "disputed"]
    shown = run("recall", "where do we deploy?").stdout
    assert shown.index("Coolify") < shown.index("Vercel")
    assert shown.count("disputed") == 2


@pytest.mark.usefixtures("deploy_repository")
def test_a_deploy_target_that_replaces_another_leaves_nothing_to_settle() -> None:
    older = run_json("remember", "deploys use Vercel")
    run_json("remember", "deploys moved to Coolify", "--replaces", older["id"])

    assert [hit["memory"]["text"] for hit in run_json("recall", "deploys")["hits"]] == ["deploys moved to Coolify"]
    assert run_json("review") == []


@pytest.fixture
def deploy_repository(make_repository: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_repository("shop")
    (root / "docs").mkdir()
    (root / "docs" / "deploy.md").write_text("# Deploys\n\nWe deploy to Vercel.\n")
    monkeypatch.chdir(root)
    return root
